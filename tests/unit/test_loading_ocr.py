"""OCR of scanned pages and of pictures, by the real engines where they are installed."""

import io
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pypdf
import pytest
from PIL import Image, ImageDraw, ImageFont

from graphreader.documents import Document, Skipped
from graphreader.errors import DocumentError, UsageError
from graphreader.ingestion.loading import ocr
from graphreader.ingestion.loading.content import Content
from graphreader.ingestion.loading.parser_process import parse
from graphreader.ingestion.loading.pdf import read_pdf
from tests.unit.loading import read, reasons, write

A5 = (875, 1240)  # pixels at 150 dpi
STROKES = {  # of Chinese characters, on a grid of 10
    "中": ((2, 3, 8, 3), (2, 3, 2, 7), (8, 3, 8, 7), (2, 7, 8, 7), (5, 1, 5, 10)),
    "王": ((2, 2, 8, 2), (2.5, 5, 7.5, 5), (1.5, 9, 8.5, 9), (5, 2, 5, 9)),
    "田": ((2, 2, 8, 2), (2, 2, 2, 9), (8, 2, 8, 9), (2, 9, 8, 9), (5, 2, 5, 9), (2, 5.5, 8, 5.5)),
    "三": ((2, 2, 8, 2), (2.5, 5.5, 7.5, 5.5), (1.5, 9, 8.5, 9)),
    "上": ((5, 1.5, 5, 9), (5, 5, 8, 5), (1.5, 9, 8.5, 9)),
    "土": ((2.5, 4, 7.5, 4), (5, 1.5, 5, 9), (1.5, 9, 8.5, 9)),
}
LEFT = ("The keeper of the lamp", "was Ines Holt, who came", "to Vevey in 1912 and")
RIGHT = ("Her brother sailed with", "the first ship to Bergen", "and wrote every winter")


def words(content: Content | Document) -> str:
    """The text in one line."""
    return " ".join(content.text.split())


class Sheet:
    """A page that is drawn as a picture."""

    def __init__(self, size: tuple[int, int] = A5) -> None:
        self.image = Image.new("RGB", size, "white")
        self._draw = ImageDraw.Draw(self.image)

    def lines(self, texts: Sequence[str], left: int = 60, top: int = 80, size: int = 26) -> "Sheet":
        for number, text in enumerate(texts):
            place = left, top + 1.5 * size * number
            self._draw.text(place, text, "black", ImageFont.load_default(size))
        return self

    def chinese(self, text: str, left: int = 60, top: int = 80, size: int = 60) -> "Sheet":
        for number, sign in enumerate(text):
            for *start, right, low in STROKES[sign]:
                ends = (*start, right, low)
                points = [
                    at * size / 10 + (left + size * number, top)[n % 2] for n, at in enumerate(ends)
                ]
                self._draw.line(points, "black", max(size // 14, 2))
        return self

    def scribble(self) -> "Sheet":
        for number in range(9):
            self._draw.ellipse((90 * number, 300, 90 * number + 300, 900), outline="gray", width=3)
        return self

    def saved(self, form: str, *more: "Sheet") -> bytes:
        data = io.BytesIO()
        pages = [one.image for one in more]
        options: dict[str, Any] = {"save_all": True, "append_images": pages} if more else {}
        self.image.save(data, form, **options)
        return data.getvalue()


def pdf_of(*pages: Sheet | str) -> bytes:
    """A PDF of pages with text, and of scans."""
    name, dictionary = pypdf.generic.NameObject, pypdf.generic.DictionaryObject
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    fonts = dictionary({name("/F"): dictionary({name(k): name(v) for k, v in font.items()})})
    writer = pypdf.PdfWriter()
    for one in pages:
        if isinstance(one, Sheet):
            writer.append(io.BytesIO(one.saved("PDF")))
            continue
        page = writer.add_blank_page(420, 595)
        stream = pypdf.generic.StreamObject()
        stream.set_data(f"BT /F 12 Tf 20 400 Td ({one}) Tj ET".encode("latin-1"))
        page[name("/Contents")] = writer._add_object(stream)
        page[name("/Resources")] = dictionary({name("/Font"): fonts})
    data = io.BytesIO()
    writer.write(data)
    return data.getvalue()


# Only the pages without text are recognized, only if OCR is asked for, with their confidence; a
# blank page has nothing to tell, a page without letters is named.
def test_mixed_pdf() -> None:
    data = pdf_of("Joan was born.", Sheet().lines(LEFT), "", Sheet().scribble(), "She fought.")
    without = read_pdf(data, "a.pdf")
    content = read_pdf(data, "a.pdf", "auto")

    assert without.text == "Joan was born.\n\nShe fought."
    assert without.skipped == tuple(
        Skipped(part, "has no text, only pictures: read it with --ocr")
        for part in ("page 2", "page 4")
    )
    assert words(content) == f"Joan was born. {' '.join(LEFT)} She fought."
    assert [one.name for one in content.places] == [f"page {number}" for number in range(1, 6)]
    assert content.text[content.places[1].start :].startswith("The keeper")
    (note,) = content.notes
    assert re.fullmatch(r"Page 2 was read by OCR \(rapidocr\), confidence (0\.9\d|1\.00)\.", note)
    assert content.skipped == (Skipped("page 4", "OCR has recognized no text"),)


# One note says how many pages were recognized, with the lowest confidence.
def test_many_pages() -> None:
    pages = [Sheet().lines([f"Letter {number} from Bergen"]) for number in range(1, 4)]
    data = Sheet().lines(LEFT).saved("TIFF", *pages)
    content = ocr.read_picture(data, "a.tiff", "auto")

    assert content.text.split("\n\n")[1:] == [f"Letter {n} from Bergen" for n in range(1, 4)]
    assert [one.name for one in content.places] == ["page 1", "page 2", "page 3", "page 4"]
    (note,) = content.notes
    assert re.fullmatch(
        r"4 pages were read by OCR \(rapidocr\), confidence [01]\.\d\d, lowest [01]\.\d\d "
        r"\(page \d\)\.",
        note,
    )


# Columns come one after the other, rows of a table stay whole, as in a PDF with text.
def test_columns_and_tables() -> None:
    more = ("stayed all her life. She", "lit the lamp each night", "until the war was over.")
    last = ("to her. His letters are", "kept in the town museum", "of Vevey to this day. He")
    columns = Sheet((1100, 800)).lines(LEFT + more).lines(RIGHT + last, left=600)
    table = Sheet((1100, 800))
    rows = [("Station", "Height", "Opened"), ("Voss", "56", "1883"), ("Finse", "1222", "1908")]
    rows += [("Myrdal", "866", "1908"), ("Geilo", "794", "1907")]
    for number, column in enumerate(zip(*rows, strict=True)):
        table.lines(column, left=60 + 350 * number)

    content = ocr.read_picture(columns.saved("PNG"), "a.png", "auto")
    assert words(content) == " ".join(LEFT + more + RIGHT + last)
    text = ocr.read_picture(table.saved("PNG"), "a.png", "auto").text
    assert text == "\n".join(" | ".join(row) for row in rows)


def test_chinese() -> None:
    text = ocr.read_picture(Sheet().chinese("三王上田中土").saved("PNG"), "a.png", "auto").text
    assert text == "三王上田中土"


# A page that was scanned on its side or upside down is turned, one that is a little skewed is read
# in straight lines.
@pytest.mark.parametrize("angle", [90, 180, 270, 2])
def test_turned_page(angle: int) -> None:
    sheet = Sheet().lines(LEFT + RIGHT)
    sheet.image = sheet.image.rotate(angle, expand=True, fillcolor="white", resample=3)

    content = ocr.read_picture(sheet.saved("JPEG"), "a.jpg", "auto")

    assert words(content) == " ".join(LEFT + RIGHT)


# Text on a photograph, and behind a transparent ground, is read; the camera's turn is known.
def test_kinds_of_pictures() -> None:
    sheet = Sheet().lines(LEFT)
    gray, palette = sheet.image.convert("L"), sheet.image.convert("P")
    clear = Image.new("RGBA", A5, (0, 0, 0, 0))
    clear.paste((0, 0, 0, 255), mask=gray.point(lambda value: 255 - value))
    turned = sheet.image.rotate(90, expand=True)
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    for image, form in ((gray, "TIFF"), (palette, "PNG"), (clear, "PNG"), (turned, "JPEG")):
        data = io.BytesIO()
        image.save(data, form, **({"exif": exif} if image is turned else {}))
        content = ocr.read_picture(data.getvalue(), f"a.{form.lower()}", "auto")
        assert words(content) == " ".join(LEFT), form


# Pictures are read only if OCR is asked for: in a folder they are counted, else refused.
def test_pictures_are_asked_for(tmp_path: Path) -> None:
    scan = write(tmp_path / "scan.PNG", Sheet().lines(LEFT).saved("PNG"))
    write(tmp_path / "a.txt")
    unread = Counter[str]()
    assert len(read(tmp_path, unread=unread)) == 1
    assert unread == {".png": 1}
    assert reasons(scan) == [f"{scan} is a picture: read it with --ocr."]
    _, found = read(tmp_path, ocr=True)
    assert isinstance(found, Document)
    assert (found.title, words(found)) == ("scan", " ".join(LEFT))
    assert "confidence" in found.notes[0]


# Scans that are attached to mail are read where they stand, in a mailbox, too.
@pytest.mark.parametrize("suffix", [".eml", ".mbox"])
def test_attached_scan(tmp_path: Path, suffix: str) -> None:
    mail = EmailMessage()
    mail["Subject"], mail["From"] = "The lease", "Ines Holt <ines@example.org>"
    mail.set_content("Here it is.")
    scan = pdf_of(Sheet().lines(LEFT))
    mail.add_attachment(scan, maintype="application", subtype="pdf", filename="lease.pdf")
    start = b"From ines@example.org Mon Jan  1 10:00:00 2024\n" if suffix == ".mbox" else b""
    path = write(tmp_path / f"a{suffix}", start + mail.as_bytes())

    (without,) = read(path)
    (found,) = read(path, ocr=True)

    assert isinstance(without, Document)
    assert isinstance(found, Document)
    assert [one.reason for one in without.skipped]
    assert " ".join(LEFT) in words(found)
    assert not found.skipped
    assert any("read by OCR" in note for note in found.notes)


# Files that are no pictures, or too large ones, are refused in the process of the parser.
def test_hostile_pictures(tmp_path: Path) -> None:
    whole = Sheet().lines(LEFT).saved("PNG")
    huge = io.BytesIO()
    Image.new("1", (20_000, 6_000)).save(huge, "PNG")
    for name, data, message in (
        ("half.png", whole[: len(whole) // 2], "is damaged"),
        ("text.png", b"Joan was born.", "is damaged"),
        ("huge.png", huge.getvalue(), "more than 100 megapixels"),
        ("blank.png", Sheet().saved("PNG"), "OCR has recognized no text"),
    ):
        (reason,) = reasons(write(tmp_path / name, data), ocr=True)
        assert message in reason


# A page of any size is drawn with bounded sides.
def test_huge_page() -> None:
    writer = pypdf.PdfWriter(io.BytesIO(pdf_of(Sheet().lines(LEFT, size=30))))
    writer.pages[0].scale_by(20)
    data = io.BytesIO()
    writer.write(data)

    content = parse(".pdf", data.getvalue(), "a.pdf", "auto")

    assert words(content) == " ".join(LEFT)


# The time for one file is limited: the pages that are left are named.
def test_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "MAX_OCR_SECONDS", -1.0)
    data = Sheet().lines(LEFT).saved("TIFF", Sheet().lines(RIGHT))
    with pytest.raises(DocumentError, match="no text"):
        ocr.read_picture(data, "a.tiff", "auto")
    content = read_pdf(pdf_of("Joan was born.", Sheet().lines(LEFT)), "a.pdf", "auto")
    assert content.text == "Joan was born."
    assert [one.part for one in content.skipped] == ["page 2"]
    assert "cut it into smaller files" in content.skipped[0].reason


# Without an engine, and for languages that are none, a clear sentence comes before any reading.
def test_missing_engines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert ocr.ocr_of(False) == ocr.ocr_of("") == ""
    assert ocr.ocr_of(True) == "auto"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="Tesseract, which is not on the PATH"):
        ocr.ocr_of("deu")
    for wrong in ("../eng", "-c", "en g", "a+b"):
        with pytest.raises(UsageError, match="does not name languages"):
            ocr.ocr_of(wrong)
    monkeypatch.setattr(ocr, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="the extra 'ocr' brings"):
        ocr.ocr_of(True)


TABLE = """\
level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext
1\t1\t0\t0\t0\t0\t0\t0\t875\t1240\t-1\t
4\t1\t1\t1\t1\t0\t60\t80\t300\t30\t-1\t
5\t1\t1\t1\t1\t1\t60\t80\t80\t30\t90.5\tИнес
5\t1\t1\t1\t1\t2\t150\t80\t90\t30\t70.5\tХольт
4\t1\t1\t1\t2\t0\t60\t125\t300\t30\t-1\t
5\t1\t1\t1\t2\t1\t60\t125\t200\t30\t95.0\tхранила
5\t1\t1\t1\t2\t2\t270\t125\t90\t30\t95.0\tлампу.
"""


@pytest.fixture
def tesseract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put a program that speaks the interface of Tesseract on the PATH; it runs a shell script."""

    def install(script: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "tesseract"
        program.write_text(
            f'#!/bin/sh\ncat > {tmp_path}/picture\necho "$@" > {tmp_path}/given\n{script}'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    ocr._engine_of.cache_clear()
    yield install
    ocr._engine_of.cache_clear()


# Tesseract gets a gray picture and the languages; its table of words becomes lines.
@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_tesseract(tmp_path: Path, tesseract: Callable[[str], None]) -> None:
    (tmp_path / "table").write_text(TABLE, encoding="utf-8")
    tesseract(f"cat {tmp_path}/table")
    content = ocr.read_picture(Sheet().lines(LEFT).saved("PNG"), "a.png", ocr.ocr_of("rus+eng"))

    assert words(content) == "Инес Хольт хранила лампу."
    assert content.notes == ("The picture was read by OCR (Tesseract, rus+eng), confidence 0.89.",)
    assert (tmp_path / "given").read_text().split()[:4] == ["stdin", "stdout", "-l", "rus+eng"]
    assert (tmp_path / "picture").read_bytes().startswith(b"P5 875 1240 255\n\xff")


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_tesseract_fails(
    tmp_path: Path, tesseract: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Sheet().lines(LEFT).saved("PNG")
    tesseract("echo 'Failed loading language xyz' >&2; exit 1")
    with pytest.raises(DocumentError, match="cannot read in xyz: install its data"):
        ocr.read_picture(data, "a.png", "xyz")
    tesseract("sleep 60")
    monkeypatch.setattr(ocr, "_PAGE_SECONDS", 0.2)
    content = read_pdf(pdf_of("Joan was born.", Sheet().lines(LEFT)), "a.pdf", "eng")
    assert content.skipped == (Skipped("page 2", "OCR takes more than 0 s"),)


@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
def test_installed_tesseract(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", pdf_of(Sheet().lines(LEFT), Sheet().lines(RIGHT)))
    (document,) = read(path, ocr="eng")

    assert isinstance(document, Document)
    assert words(document) == " ".join(LEFT + RIGHT)
    assert "Tesseract, eng" in document.notes[0]
