"""PDF files: text by its place on the page, and all else that a reader of the file sees."""

import io
import time
from collections.abc import Callable
from pathlib import Path

import pypdf
import pytest
from pypdf.constants import PageLabelStyle
from pypdf.generic import ArrayObject, NameObject, NumberObject

from graphreader.documents import Heading, Place
from graphreader.errors import DocumentError
from graphreader.ingestion.loading import parser_process
from graphreader.ingestion.loading.pdf import read_pdf
from graphreader.text.lines import one_line
from graphreader.text.sentences import sentence_spans
from tests.unit.loading import reasons, write
from tests.unit.pdfs import (
    add_page,
    annotate,
    at,
    dictionary,
    drawn,
    lines,
    pdf,
    picture,
    string,
    written,
)

LEFT = """\
The keeper of the lower lock
was Mara Lenz, who came to
the river in the spring of
1921 and never left it."""
RIGHT = """\
Her sister Ada kept a shop
of ropes and lamps beside
the bridge, where the boats
lay over in the winter."""
THIRD = """\
The third of them went away
to sea on a ship of grain and
wrote letters from the ports
of the north until 1940."""


def text_of(data: bytes) -> str:
    return read_pdf(data, "a.pdf").text


def sentences(text: str) -> list[str]:
    return [one_line(text[start:end], text) for start, end in sentence_spans(text)]


# A PDF has page starts, its outline as headings and its metadata; a bad page is skipped, and
# so is a bad date.
def test_pdf(capfd: pytest.CaptureFixture[str]) -> None:
    data = pdf("Joan was born.", "", "She fought.", outline=[("fought", 3), ("A", 1)])
    content = read_pdf(data, "a.pdf")

    assert content.text == "Joan was born.\n\nShe fought."
    assert content.places == Place.pages((0, 14, 16))
    assert content.headings == (
        Heading(0, "A"),
        Heading(content.text.index("fought"), "fought"),
    )
    assert content.metadata == {"title": "untitled.doc", "author": "Vera Holm"}
    assert content.title == ""
    assert content.skipped == ()
    assert capfd.readouterr().err == ""


# A word of several pieces is one word, whatever their order in the file; a space that is only a
# gap is a space.
def test_pieces_of_words() -> None:
    page = "".join(
        at(x, y, words, font="C")  # 6 points a letter
        for x, y, words in (
            (50, 700, "a large v"),
            (284, 686, "of rivals."),
            (104, 700, "ariety"),
            (50, 686, "The market is"),
            (134, 686, "evolving. There are many"),
        )
    )

    assert text_of(drawn(page)) == (
        "a large variety\nThe market is evolving. There are many of rivals."
    )


# Columns of text come one after the other below a heading over both, and a sentence runs on from
# one to the next.
@pytest.mark.parametrize("shift", [0, 5])
def test_two_columns(shift: int) -> None:
    page = at(50, 740, "A history of the locks and of those who kept them", 14)
    rows = zip(LEFT.split("\n"), RIGHT.split("\n"), strict=True)
    for number, (left, right) in enumerate(rows):  # row by row in the file
        page += at(50, 700 - 12 * number, left) + at(320, 700 - shift - 12 * number, right)
    title, *found = text_of(drawn(page)).split("\n\n")

    assert title == "A history of the locks and of those who kept them"
    assert found == [one_line(LEFT), one_line(RIGHT)]


# The columns may begin at other heights, as below a heading within one of them.
@pytest.mark.parametrize("shifts", [(0, 0, 0), (0, 6, 0), (0, 6, 3)])
def test_three_columns(shifts: tuple[int, int, int]) -> None:
    parts = [LEFT, RIGHT, THIRD]
    page = "".join(
        lines(40 + 185 * number, 700 - shift, part)
        for number, (shift, part) in enumerate(zip(shifts, parts, strict=True))
    )

    assert text_of(drawn(page)).split("\n\n") == [one_line(part) for part in parts]


# A row of a table is a line with its label and its numbers, in their columns, with their signs.
def test_table() -> None:
    rows = [
        ("", "2020", "2019", "2018"),
        ("Net sales", "$ 1,204", "$ 1,150", "$ 998"),
        ("Cost of sales", "803", "", "701"),
        ("Net income (loss)", "(12)", "45", "39"),
        ("Margin", "12.5 %", "3.9 %", "4.1 %"),
    ]
    page = at(50, 740, "The table shows the income of the company over three years of trade.")
    for column in range(4):  # column by column in the file
        for number, row in enumerate(rows):
            page += at(50 + 120 * column, 700 - 14 * number, row[column]) if row[column] else ""
    table = text_of(drawn(page)).partition("\n\n")[2]

    assert table.split("\n") == [
        "| 2020 | 2019 | 2018",
        "Net sales | $1,204 | $1,150 | $998",
        "Cost of sales | 803 | | 701",
        "Net income (loss) | (12) | 45 | 39",
        "Margin | 12.5% | 3.9% | 4.1%",
    ]


# Tables right below each other have columns of their own; an empty cell before a number stays.
def test_tables_below_each_other() -> None:
    first = (
        ("Net assets", "4,981,663,905.19", "4,647,275,880.19"),
        ("Total", "6,278,282,683.24", "5,585,879,172.02"),
    )
    second = (("Per share", "0.36", "up by 0.2 points", "0.67"), ("Diluted", "", "", "0.66"))
    third = (
        ("Without others", "0.35", "up by 0.1 points", "0.65"),
        ("Weighted", "8.37", "up by 0.3 points", "15.56"),
    )
    page = ""
    for number, row in enumerate((*first, *second, *third)):
        edges = (50, 200, 256, 430) if len(row) > 3 else (50, 200, 310)
        for left, text in zip(edges, row, strict=True):
            page += at(left, 700 - 14 * number, text) if text else ""
    rows = text_of(drawn(page)).split("\n")

    assert rows[1] == "Total | 6,278,282,683.24 | 5,585,879,172.02"
    assert rows[3:5] == ["Diluted | | | 0.66", "Without others | 0.35 | up by 0.1 points | 0.65"]


# A sign at the end of a cell belongs to the number of the next.
def test_signs_at_ends() -> None:
    page = ""
    for number, row in enumerate((("Revenue $", "86 $", "79"), ("Costs", "45", "(39)"))):
        for column, text in enumerate(row):
            page += at(50 + 120 * column, 700 - 14 * number, text)

    assert text_of(drawn(page)).split("\n") == ["Revenue | $86 | $79", "Costs | 45 | (39)"]


# A sign of a currency in a column of its own is no column, and lines between two rules are one row.
def test_signs_and_rules() -> None:
    rows = (("Cash", "$", "2,853"), ("Shares and other", "", "380"), ("Total", "$", "3,233"))
    page = ""
    for number, (label, sign, amount) in enumerate(rows):
        page += at(50, 700 - 30 * number, label) + at(300, 700 - 30 * number, amount)
        page += at(250, 700 - 30 * number, sign) if sign else ""
        page += f"50 {712 - 30 * number} m 400 {712 - 30 * number} l S\n"
    page += at(50, 660, "securities") + "50 622 m 400 622 l S\n"

    assert text_of(drawn(page)).split("\n") == [
        "Cash | $2,853",
        "Shares and other securities | 380",
        "Total | $3,233",
    ]


# Lines of a paragraph are joined by their places, so also before a capital; a word that a hyphen
# divides becomes whole in its sentence.
def test_paragraphs() -> None:
    text = (
        "The ministry of trans-\nport sold the whole of the land to Mr.\n"
        "Holm of Bergen, who built a lock.\nA list:"
    )
    page = lines(50, 700, text) + at(50, 640, "A second paragraph stands here.")
    found = text_of(drawn(page))

    assert sentences(found) == [
        "The ministry of transport sold the whole of the land to Mr. Holm of Bergen, who built a "
        "lock.",
        "A list:",
        "A second paragraph stands here.",
    ]


# Running heads and page numbers are left out, with a note, and do not cut a sentence; lines of the
# text that only resemble each other stay.
def test_running_heads() -> None:
    names = ("Mara Lenz", "Tom Vik", "Ada Moe", "Per Lie")
    pages = [
        at(50, 770, f"ACME annual report 2019, page {number}")
        + lines(
            50,
            730,
            "the river basin for the whole year of the reform.\n"
            f"The keeper of lock {number} was {name}.\n"
            "In that time the board decided on new rules for",
        )
        + at(290, 30, str(number))
        for number, name in enumerate(names, 1)
    ]
    content = read_pdf(drawn(*pages), "a.pdf")

    assert content.text.count("ACME") == 1
    assert content.text.startswith("ACME annual report 2019, page 1\n\n")
    assert sentences(content.text)[3:5] == [
        "In that time the board decided on new rules for the river basin for the whole year of the "
        "reform.",
        "The keeper of lock 2 was Tom Vik.",
    ]
    note = (
        "Running heads and page numbers of 4 pages are left out: “ACME annual report 2019, page 2”."
    )
    assert content.notes == (note,)
    assert [content.text[one.start :][:15] for one in content.places[1:]] == ["the river basin"] * 3


# Lines at the edges of pages whose numbers do not count the pages are their contents.
def test_no_running_heads() -> None:
    amounts = ("1,017.50", "2,013.75", "880.00", "1,204.10")
    letters = [
        at(50, 770, f"Invoice No. {4711 + number}")
        + at(50, 750, f"Opening balance {amount}")
        + lines(50, 700, f"We thank you for your order of {number + 7} lamps of brass.")
        + at(50, 30, f"Amount due: {amount} EUR")
        for number, amount in enumerate(amounts)
    ]
    slides = [at(50, 700, f"Day {number}", 30) + at(50, 500, "Walk") for number in range(1, 5)]
    numbers = [at(50, 700 - 8 * number, f"Row {number} has 12.") for number in range(1, 5)]
    read = read_pdf(drawn(*letters), "a.pdf")

    assert read.notes == ()
    assert [read.text.count(amount) for amount in amounts] == [2] * 4
    assert "Invoice No. 4714" in read.text
    assert [f"Day {number}" in text_of(drawn(*slides)) for number in range(1, 5)] == [True] * 4
    assert text_of(drawn(*numbers)).count("Row") == 4


# Slanted text, such as a watermark, is read in the order of the file; a number that a
# line end parts is whole.
def test_slanted_text_and_parted_numbers() -> None:
    angle = "0.7071 0.7071 -0.7071 0.7071"
    mark = f"BT /F1 30 Tf {angle} 100 400 Tm (DRAFT COPY) Tj ET\n"
    text = "The keeper called the office in the docket FAA-2020–\n0686 of the year."
    found = text_of(drawn(mark + lines(50, 700, text)))

    assert "DRAFT COPY" in found
    assert "2020–0686 of the year." in found


# Superscripts are marks of notes or powers; text that is turned is read, letters that are printed
# twice are read once, and what lies outside of the page is not.
def test_signs() -> None:
    page = (
        at(50, 700, "The dam was sold in 1921")
        + at(50 + 113.5, 704, "2", 6)
        + at(50 + 118, 700, "by the state.")
        + at(50, 680, "BOLD", font="B")
        + at(50.3, 680, "BOLD", font="B")
        + "BT /F 10 Tf 0 1 -1 0 560 300 Tm (Read me from below) Tj ET\n"
        + "BT /F 10 Tf 3 Tr 50 660 Td (Invisible text of a scan) Tj ET\n"
        + at(50, -40, "Never seen")
    )
    found = text_of(drawn(page))

    assert "sold in 1921 [2] by the state." in found
    assert found.count("BOLD") == 1
    assert "\n\nRead me from below" in found
    assert "Invisible text of a scan" in found
    assert "Never" not in found


def add_form(writer: pypdf.PdfWriter) -> None:
    field = {"Subtype": "Widget", "FT": "Tx"}
    annotate(writer, 0, (120, 695, 320, 712), T=string("name"), V=string("Ines Holt"), **field)
    annotate(writer, 0, (120, 675, 320, 692), T=string("rent"), **field)
    annotate(writer, 0, (300, 400, 420, 415), T=string("Town"), V=string("Voss"), **field)
    for name, bottom, state in (("a", 655, "Yes"), ("b", 635, "Off")):
        boxes = dictionary(N=dictionary(Yes=dictionary(), Off=dictionary()))
        box = {"Subtype": "Widget", "FT": "Btn", "V": state, "AS": state, "AP": boxes}
        annotate(writer, 0, (50, bottom, 60, bottom + 10), T=string(name), **box)


# The values of a form stand at their labels, or after their names where the page has no label.
def test_form() -> None:
    page = (
        at(50, 700, "Name:")
        + at(50, 680, "Rent:")
        + at(70, 656, "Furnished")
        + at(70, 636, "Heated")
    )
    found = text_of(drawn(page, change=add_form))

    assert found.split("\n") == [
        "Name: Ines Holt",
        "Rent:",
        "[x] Furnished",
        "[ ] Heated",
        "",
        "Town: Voss",
    ]


# Comments stand behind the paragraph that they are about, with their author; words typed onto a
# page stand in their place; hidden annotations are not read.
def test_comments() -> None:
    def comment(writer: pypdf.PdfWriter) -> None:
        note = {"T": string("Ann"), "Contents": string("Is this\nright?")}
        annotate(writer, 0, (300, 700, 310, 710), Subtype="Text", **note)
        annotate(writer, 0, (50, 550, 150, 560), Subtype="Highlight", Contents=string("Good"))
        annotate(writer, 0, (50, 500, 200, 514), Subtype="FreeText", Contents=string("Typed here"))
        annotate(writer, 0, (50, 400, 90, 410), Subtype="Popup", Contents=string("Twice"))

    page = lines(50, 700, "The lock was sold in the year\nof the flood.") + at(
        50, 552, "It was rebuilt."
    )

    assert text_of(drawn(page, change=comment)).split("\n\n") == [
        "The lock was sold in the year of the flood.",
        "[Comment by Ann: Is this right?]",
        "It was rebuilt.",
        "[Comment: Good]",
        "Typed here",
    ]


# Places have the printed label of a page where it is not its number.
def test_page_labels() -> None:
    def label(writer: pypdf.PdfWriter) -> None:
        writer.set_page_label(0, 1, PageLabelStyle.LOWERCASE_ROMAN)
        writer.set_page_label(2, 2, PageLabelStyle.DECIMAL, start=3)

    pages = [at(50, 700, f"Text of {name}.") for name in ("one", "two", "three")]
    content = read_pdf(drawn(*pages, change=label), "a.pdf")

    assert [one.name for one in content.places] == ["page 1 (i)", "page 2 (ii)", "page 3"]
    assert [one.page for one in content.places] == [1, 2, 3]


# What is not read is named with its page: pictures of pages, pictures on pages, files, bad pages.
def test_skipped() -> None:
    def add(writer: pypdf.PdfWriter) -> None:
        picture(writer, 1, 600, 800, 0, 0)
        picture(writer, 2, 500, 600, 50, 50)
        picture(writer, 3, 50, 50, 500, 700)
        writer.add_attachment("plan.txt", b"secret")

    texts = ("One.", "", "Three has a map.", "Four has a stamp.")
    data = drawn(*(at(50, 750, one) if one else "" for one in texts), change=add)
    content = read_pdf(data, "a.pdf")

    assert [(one.part, one.reason.partition(":")[0]) for one in content.skipped] == [
        ("page 2", "has no text, only pictures"),
        ("page 3", "has a picture, whose text is not read"),
        ("attachment plan.txt", "is a file within the PDF and not read"),
    ]


def unnamed_font(writer: pypdf.PdfWriter) -> None:
    """Give page 2 a font whose letters have no names: a mere order of glyphs."""
    font = dictionary(
        Type="Font",
        Subtype="Type0",
        BaseFont="Unnamed",
        Encoding="Identity-H",
        DescendantFonts=ArrayObject(
            [
                dictionary(
                    Type="Font",
                    Subtype="CIDFontType2",
                    BaseFont="Unnamed",
                    CIDSystemInfo=dictionary(
                        Registry=string("Adobe"),
                        Ordering=string("Identity"),
                        Supplement=NumberObject(0),
                    ),
                )
            ]
        ),
    )
    codes = "".join(f"{code:04x}" for code in range(4, 64))
    page = add_page(writer, f"BT /U 10 Tf 50 700 Td <{codes}> Tj ET")
    page["/Resources"]["/Font"][NameObject("/U")] = font  # type: ignore[index]


# Letters that the fonts do not name are left out and named, not read as garbage.
def test_unreadable_letters() -> None:
    content = read_pdf(drawn(at(50, 700, "Page one is fine."), change=unnamed_font), "a.pdf")

    assert content.text == "Page one is fine."
    assert [(one.part, one.reason[:26]) for one in content.skipped] == [
        ("page 2", "its letters cannot be read")
    ]
    with pytest.raises(DocumentError, match="no letters that can be read"):
        read_pdf(drawn(change=unnamed_font), "a.pdf")


# A PDF that only its owner may change is read; one that needs a password is refused.
@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_encrypted_pdf(algorithm: str) -> None:
    def encrypted(password: str) -> bytes:
        writer = pypdf.PdfWriter(io.BytesIO(pdf("Joan was born.")))
        writer.encrypt(password, "owner", algorithm=algorithm)
        return written(writer)

    assert text_of(encrypted("")) == "Joan was born."
    with pytest.raises(DocumentError, match="protected by a password: save it without one"):
        read_pdf(encrypted("secret"), "a.pdf")


def with_outline_cycle(writer: pypdf.PdfWriter) -> None:
    first = writer.add_outline_item("A", 0)
    second = writer.add_outline_item("B", 0, parent=first)
    item = second.get_object()
    assert isinstance(item, dict)
    item[NameObject("/First")] = first
    item[NameObject("/Next")] = first


def with_own_form(writer: pypdf.PdfWriter) -> None:
    """Draw a form that draws itself twice."""
    from pypdf.generic import StreamObject  # noqa: PLC0415

    form = StreamObject()
    form.set_data(b"/X Do /X Do")
    reference = writer._add_object(form)
    resources = dictionary(XObject=dictionary(X=reference))
    form.update(dictionary(Type="XObject", Subtype="Form", Resources=resources))
    form[NameObject("/BBox")] = ArrayObject(map(NumberObject, (0, 0, 600, 800)))
    page = writer.pages[0]
    page["/Resources"][NameObject("/XObject")] = dictionary(X=reference)  # type: ignore[index]
    contents = page["/Contents"].get_object()
    contents.set_data(contents.get_data() + b"/X Do")  # type: ignore[attr-defined]


def with_giant_page(writer: pypdf.PdfWriter) -> None:
    writer.pages[-1].mediabox.upper_right = (10**9, 10**9)
    picture(writer, -1, 10**9, 10**9, 0, 0)


def with_many_annotations(writer: pypdf.PdfWriter) -> None:
    for _ in range(6_000):
        annotate(writer, 0, (0, 0, 1, 1), Subtype="Text", Contents=string("x"))


# Files made to harm are read in seconds in the process of the parser, or refused.
@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (with_outline_cycle, 0),
        (with_own_form, 1),
        (with_giant_page, 0),
        (with_many_annotations, 0),
    ],
)
def test_attacks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[pypdf.PdfWriter], object],
    refused: int,
) -> None:
    monkeypatch.setattr(parser_process, "MAX_SECONDS", 5.0 if refused else 60.0)
    start = time.monotonic()
    found = reasons(write(tmp_path / "a.pdf", drawn(at(50, 700, "Joan was born."), change=change)))

    assert len(found) == refused
    assert all("takes more than 5 s" in one for one in found)
    assert time.monotonic() - start < 30


# A page of very many letters in one place is read in bounded time.
def test_crowded_page() -> None:
    crowd = "".join(at(50 + number % 7, 700 - number % 5, f"w{number}") for number in range(20_000))
    start = time.monotonic()

    assert "w1" in text_of(drawn(crowd))
    assert time.monotonic() - start < 30
