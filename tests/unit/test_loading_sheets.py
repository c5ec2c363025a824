"""Spreadsheets and delimited values become sentences with the names of the columns."""

import time
from collections.abc import Mapping, Sequence
from io import BytesIO
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from graphreader.documents import Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading import formats, workbook
from graphreader.ingestion.loading.number_formats import shown_number
from graphreader.ingestion.loading.parser_process import parse
from graphreader.ingestion.loading.sheets import read_table, read_workbook
from graphreader.offline.facts import facts_of


# Each row is a sentence with the names of its columns, whatever parts the values; what stands
# before the header, and a table without one, is kept as it is.
@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            "Station,Height\nVoss,56\nOslo,23\n",
            "Station; Height.|Station: Voss; Height: 56.|Station: Oslo; Height: 23.",
        ),
        ("Name;Note\nAda;1,5 m\nPer;\n", "Name; Note.|Name: Ada; Note: 1,5 m.|Name: Per."),
        ("a\tb\n1\t2\n", "a; b.|a: 1; b: 2."),
        ('Who,Said\nAda,"She left,\n""soon""."\n', 'Who; Said.|Who: Ada; Said: She left, "soon".'),
        (
            "Report of 1931\n\nMill,Owner\nVoss,Ada\nMoss,Per\n",
            "Report of 1931.|Mill; Owner.|Mill: Voss; Owner: Ada.|Mill: Moss; Owner: Per.",
        ),
        ("Oslo,1050\nVoss,1091\n", "Oslo; 1050.|Voss; 1091."),
        ("a,b\n1,2,3\n4\n", "a; b.|a: 1; b: 2; 3.|a: 4."),
        ("站点,高度\n卑尔根,12\n", "站点; 高度.|站点: 卑尔根; 高度: 12."),
        (
            'Mill,Text\nVoss,"never closed\nMoss,x\n',
            "Mill; Text.|Mill: Voss; Text: never closed Moss,x.",
        ),
        ("only a line of text", "only a line of text."),
    ],
)
def test_tables(table: str, text: str) -> None:
    assert read_table(table.encode(), "a.csv").text.split("\n\n") == text.split("|")


# Equal values side by side are all kept, and equal names are numbered, unless they are values.
@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("1,red,red,blue\n", "1; red; red; blue."),
        ("Bob,no,no,no\nAnn,no,yes,no\n", "Bob; no; no; no.|Ann; no; yes; no."),
        ("Name,Notes,Notes\nAnn,yes,yes\n",
         "Name; Notes; Notes.|Name: Ann; Notes: yes; Notes 2: yes."),
    ],
)  # fmt: skip
def test_equal_values(table: str, text: str) -> None:
    assert read_table(table.encode(), "a.csv").text.split("\n\n") == text.split("|")
    rows = [line.split(",") for line in table.split()]
    body = "".join(row(number, *values) for number, values in enumerate(rows, 1))
    assert read_workbook(xlsx({"A": body}), "a").text.split("\n\n")[1:] == text.split("|")


# The first row of a table is not a second line of its header, although that has spaces.
@pytest.mark.parametrize(
    ("table", "sentences"),
    [
        (",role,city,born\nAnn,boss,Oslo,\nBob,clerk,Voss,1990\n",
         "Ann; role: boss; city: Oslo.|Bob; role: clerk; city: Voss; born: 1990."),
        ("Station,Remark,Remark,Height\nVoss,dry,cold,\nMo,wet,warm,12\n",
         "Station: Voss; Remark: dry; Remark 2: cold.|"
         "Station: Mo; Remark: wet; Remark 2: warm; Height: 12."),
    ],
)  # fmt: skip
def test_first_rows(table: str, sentences: str) -> None:
    assert read_table(table.encode(), "a.csv").text.split("\n\n")[1:] == sentences.split("|")
    rows = [[one or None for one in line.split(",")] for line in table.split()]
    body = "".join(row(number, *values) for number, values in enumerate(rows, 1))
    assert read_workbook(xlsx({"A": body}), "a").text.split("\n\n")[2:] == sentences.split("|")


# Rows of words behind a blank row get no names of the columns of numbers above; other rows do.
def test_blank_rows() -> None:
    table = "Item,Price\nA,5\nB,7\n\nC,8\n\nD,n/a\nE,9\n,\nPerson,Role\nAnn,boss\n"
    lines = read_table(table.encode(), "a.csv").text.split("\n\n")
    assert lines[2:] == [
        "Item: B; Price: 7.",
        "Item: C; Price: 8.",
        "Item: D; Price: n/a.",
        "Item: E; Price: 9.",
        "Person; Role.",
        "Ann; boss.",
    ]
    spaced = "Item,Price\n\nA,5\n\nB,7\n\nC,none\n"
    assert read_table(spaced.encode(), "a.csv").text.endswith("\n\nItem: C; Price: none.")


# A single value has the name of its column, except in the first: that is a line between the rows.
def test_single_values() -> None:
    table = "Name,Phone,City,Country\nAnn,5,Oslo,Norway\n,,,Chile\nFriends\nBob,6,Mo,Sweden\n"
    kept = ["Country: Chile.", "Friends"]
    lines = read_table(table.encode(), "a.csv").text.split("\n\n")
    assert lines[2:4] == [kept[0], f"{kept[1]}."]
    rows = [[one or None for one in line.split(",")] for line in table.split()]
    body = "".join(row(number, *values) for number, values in enumerate(rows, 1))
    assert read_workbook(xlsx({"A": body}), "a").text.split("\n\n")[3:5] == kept


# The rows of a table are facts without a model, and a large table is read in linear time.
def test_rows_are_facts() -> None:
    table = "Station,Height,Opened\n" + "".join(f"Voss {n},{n},1890\n" for n in range(100_000))
    start = time.monotonic()
    text = read_table(table.encode(), "a.csv").text

    assert time.monotonic() - start < 20
    facts = [one.fact for one in facts_of(text[:2_000])]
    assert "Station: Voss 7; Height: 7; Opened: 1890." in facts


# A place is the line of the file, counted from 1, also behind blank lines and quoted line ends.
def test_places_of_rows() -> None:
    content = read_table(b'Report\n\nWho,Said\nAda,"She\nleft"\nPer,yes\n', "a.csv")

    assert [(content.text[one.start :][:8], one.name) for one in content.places] == [
        ("Report.\n", "row 1"),
        ("Who; Sai", "row 3"),
        ("Who: Ada", "row 4"),
        ("Who: Per", "row 6"),
    ]


# Headers of several lines, as statistical offices publish them, and years as names.
@pytest.mark.parametrize(
    ("table", "last"),
    [
        (";Sex;Sex\n;male;female\n1980;5;7\n1981;6;8\n", "1981; male: 6; female: 8."),
        (";Oslo;;Voss;\n;men;women;men;women\n1980;5;7;1;2\n1981;6;8;3;4\n",
         "1981; Oslo men: 6; Oslo women: 8; Voss men: 3; Voss women: 4."),
        ("No.:,Rev.:\n5,A\n6,B\n", "No.: 6; Rev.: B."),
        ("Item,2020,2021\nRent,5,6\nFood,7,8\n", "Item: Food; 2020: 7; 2021: 8."),
        ("Oslo,1890,1920\nVoss,1891,1921\n", "Voss; 1891; 1921."),
        ("Oslo,5,6\nVoss,7,8\nSource: the census\n", "Source: the census."),
    ],
)  # fmt: skip
def test_headers(table: str, last: str) -> None:
    assert read_table(table.encode(), "a.csv").text.split("\n\n")[-1] == last


Cells = Mapping[str, str | float]
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
FORMATS = ("General", "yyyy-mm-dd", "0.0%", '"$"#,##0.00', "d.m.yy h:mm")


def cell(place: str, value: str | float, style: int = 0) -> str:
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}" s="{style}"><v>{value!r}</v></c>'


def row(number: int, *values: str | float | tuple[float, int] | None, more: str = "") -> str:
    """The XML of a row: texts, numbers, and numbers with a format."""
    cells = [
        cell(f"{chr(65 + at)}{number}", *(one if isinstance(one, tuple) else (one,)))
        for at, one in enumerate(values)
        if one is not None
    ]
    return f'<row r="{number}"{more}>{"".join(cells)}</row>'


def xlsx(
    sheets: Mapping[str, str], hidden: Sequence[str] = (), files: Mapping[str, str] | None = None
) -> bytes:
    """A workbook of sheets, each with the XML of its rows and of what stands around them."""
    numbers = list(enumerate(sheets, 1))
    listed = "".join(
        f'<sheet name="{name}" sheetId="{at}" xmlns:r="{_OFFICE}" r:id="rId{at}"'
        f"{' state=chr34hiddenchr34'.replace('chr34', chr(34)) if name in hidden else ''}/>"
        for at, name in numbers
    )
    relations = "".join(
        f'<Relationship Id="rId{at}" Type="{_OFFICE}/worksheet" Target="worksheets/s{at}.xml"/>'
        for at, _ in numbers
    )
    codes = "".join(
        f'<numFmt numFmtId="{164 + at}" formatCode="{escape(code, {chr(34): "&quot;"})}"/>'
        for at, code in enumerate(FORMATS)
    )
    styles = "".join(f'<xf numFmtId="{164 + at}"/>' for at in range(len(FORMATS)))
    parts = {
        "_rels/.rels": f'<Relationships><Relationship Id="a" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f"<workbook {_MAIN}><sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships>{relations}<Relationship Id="s" '
        f'Type="{_OFFICE}/styles" Target="/xl/styles.xml"/></Relationships>',
        "xl/styles.xml": f"<styleSheet {_MAIN}><numFmts>{codes}</numFmts><cellXfs>{styles}"
        "</cellXfs></styleSheet>",
    }
    for at, name in numbers:
        body = (
            sheets[name]
            if "<sheetData>" in sheets[name]
            else (f"<sheetData>{sheets[name]}</sheetData>")
        )
        parts[f"xl/worksheets/s{at}.xml"] = f"<worksheet {_MAIN}>{body}</worksheet>"
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        for path, text in {**parts, **(files or {})}.items():
            archive.writestr(path, text)
    return data.getvalue()


# Each sheet stands below its name, with titles above its tables, numbers as its cells show them,
# and places by the numbers of its rows.
def test_sheets() -> None:
    costs = (
        row(1, "Costs of the station")
        + row(3, "Item", "Due", "Share", "Paid")
        + row(4, "Rent", (45093, 1), (0.125, 2), (1250, 3))
        + row(5, "Coal", (45093.604166667, 4), (1, 2), 0.1 + 0.2)
        + row(7, "Source: the ledger.")
    )
    content = read_workbook(xlsx({"Costs": costs, "Empty": "", "Old": row(1, "x")}, ["Old"]), "a")

    assert content.text.split("\n\n") == [
        "Costs",
        "Costs of the station",
        "Item; Due; Share; Paid.",
        "Item: Rent; Due: 2023-06-16; Share: 12.5%; Paid: $1,250.00.",
        "Item: Coal; Due: 2023-06-16 14:30; Share: 100.0%; Paid: 0.3.",
        "Source: the ledger.",
    ]
    assert [one.name for one in content.places] == ["sheet Costs"] + [
        f"sheet Costs, row {number}" for number in (1, 3, 4, 5, 7)
    ]
    assert [(one.title, one.level) for one in content.headings] == [
        ("Costs", 1),
        ("Costs of the station", 2),
    ]
    assert content.skipped == (Skipped("sheet Old", workbook.HIDDEN),)


# Tables side by side and one below the other are apart; the sections of one table have its header;
# a column of numbers behind a blank column belongs to the labels.
@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        (
            [("Income", None, None, "Summary"), ("Item", "Paid", None, "Total", "Rest"),
             ("Rent", 5, None, "All", 7), ("Milk", 6, None, "Some", 8)],
            ["Item: Rent; Paid: 5.", "Total: All; Rest: 7."],
        ),
        (
            [("", "2020", None, "2021"), ("Rent", 5, None, 6), ("Milk", 7, None, 8)],
            ["Rent; 2020: 5; 2021: 6."],
        ),
        (
            [("Item", "2020", "2021"), (), ("Assets",), ("Cash", 5, 6), (), ("Debts",),
             ("Loan", 7, 8)],
            ["Item: Cash; 2020: 5; 2021: 6.", "Item: Loan; 2020: 7; 2021: 8."],
        ),
        (
            [("Item", "Paid", "Due"), ("Rent", 5, 6), (), ("Who", "Age", "Size"), ("Ada", 7, 8)],
            ["Item: Rent; Paid: 5; Due: 6.", "Who: Ada; Age: 7; Size: 8."],
        ),
        (
            [("Mill", "Wheels", "Owners"), (5, 5, 5), ("yes", "yes", "yes"), (7, 7, None)],
            ["Mill: 5; Wheels: 5; Owners: 5.", "Mill: yes; Wheels: yes; Owners: yes."],
        ),
        (  # a second table of words behind a blank row, and a signature
            [("Item", "Price"), ("A", 5), ("B", 7), (), ("Person", "Role"), ("Ann", "boss"), (),
             ("Prepared by", "Ann Holm")],
            ["Item: B; Price: 7.", "Person; Role.", "Ann; boss.", "Prepared by; Ann Holm."],
        ),
        (  # groups of a table of words
            [("Person", "Role"), ("Ann", "boss"), ("Bob", "clerk"), (), ("Cy", "cook"),
             ("Dee", "clerk")],
            ["Person: Ann; Role: boss.", "Person: Cy; Role: cook.", "Person: Dee; Role: clerk."],
        ),
        (  # a header behind a blank row, with names above the last of their columns
            [("In crowns", None, "2021", None, None, "2020"),
             (None, "Rent", "Coal", None, "Rent", "Coal"), (),
             ("Voss", 1, 2, None, 3, 4), ("Oslo", 5, 6, None, 7, 8)],
            ["In crowns: Voss; 2021 Rent: 1; 2021 Coal: 2; 2020 Rent: 3; 2020 Coal: 4."],
        ),
        (  # an upper line with the only name of a column, and numbers that count on
            [("No.", "Year", "Week"), ("of row", None, 1, 2, 3, 4, 5),
             (1, "2021", 50, 60, 70, 80, 90), (2, "2022", 51, 61, 71, 81, 91)],
            ["No. of row: 2; Year: 2022; Week 1: 51; Week 2: 61; Week 3: 71; Week 4: 81; "
             "Week 5: 91."],
        ),
    ],
)  # fmt: skip
def test_tables_of_a_sheet(
    rows: Sequence[Sequence[str | float | None]], sentences: Sequence[str]
) -> None:
    body = "".join(
        row(number, *(one or None for one in values)) for number, values in enumerate(rows, 1)
    )
    found = read_workbook(xlsx({"A": body}), "a").text.split("\n\n")

    assert [one for one in sentences if one not in found] == [], found


# A merged cell stands in each of its rows; hidden rows and columns, formulas that were never
# calculated, charts and pictures are named; comments and text boxes stand at their rows.
def test_what_is_not_read() -> None:
    body = (
        '<cols><col min="3" max="3" hidden="1"/></cols><sheetData>'
        + row(1, "Place", "Year", "Secret", "Sum")
        + row(2, "Voss", 1, 2)
        + row(3, None, 3)
        + row(4, "Oslo", 5, more=' hidden="1"')
        + '<row r="5"><c r="A5" t="e"><v>#REF!</v></c><c r="B5"><v>7</v></c>'
        "<c r='D5'><f>1+1</f></c></row></sheetData>"
        '<mergeCells><mergeCell ref="A2:A3"/></mergeCells>'
        "<headerFooter><oddHeader>&amp;L&amp;8Draft &amp;P</oddHeader></headerFooter>"
    )
    drawing = (
        '<d xmlns:a="a" xmlns:x="x"><x:twoCellAnchor><x:from><x:row>1</x:row></x:from><x:sp>'
        "<a:p><a:r><a:t>A box</a:t></a:r></a:p></x:sp></x:twoCellAnchor><x:oneCellAnchor>"
        "<x:pic/><x:graphicFrame/></x:oneCellAnchor></d>"
    )
    files = {
        "xl/worksheets/_rels/s1.xml.rels": f'<r><a Type="{_OFFICE}/comments" Target="../c.xml"/>'
        f'<a Id="b" Type="{_OFFICE}/drawing" Target="../d.xml"/></r>',
        "xl/c.xml": f"<comments {_MAIN}><authors><author>Ada</author></authors><commentList>"
        '<comment ref="B3" authorId="0"><text><r><t>Ada:</t></r><r><t>\nsure?</t></r></text>'
        '</comment><comment ref="C2" authorId="0"><text><t>no</t></text></comment></commentList>'
        "</comments>",
        "xl/d.xml": drawing,
        "xl/vbaProject.bin": "x",
    }
    content = read_workbook(xlsx({"A": body}, files=files), "a.xlsm")

    assert content.text.split("\n\n") == [
        "A",
        "Place; Year; Sum.",
        "Place: Voss; Year: 1.",
        "A box",
        "Place: Voss; Year: 3.",
        "Comment on B3 (Ada): sure?",
        "Place: #REF!; Year: 7.",
    ]
    assert {one.part: one.reason for one in content.skipped} == {
        "sheet A, header or footer of the print": "not read",
        "sheet A, row 4": "hidden, not read",
        "sheet A, column C": "hidden, not read",
        "sheet A, 1 formula (D5)": "have no stored value: open the file in a spreadsheet program "
        "and save it",
        "sheet A, 1 chart": "not read",
        "sheet A, 1 picture": "not read",
        "macros": "not read",
    }


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (1 / 3, "General", "0.333333333333"),
        (1e20, "General", "1E+20"),
        (4111111111111111, "0", "4111111111111111"),
        (4111111111111111, "#,##0", "4,111,111,111,111,111"),
        (1e21, "0", "1E+21"),
        (-1250.5, "#,##0.00_);[Red]\\(#,##0.00\\)", "(1,250.50)"),
        (0, '_($* #,##0_);_($* (#,##0);_($* "-"??_);_(@_)', "$-"),
        (12.5, "#,##0.00 [$€-407]", "12.50 €"),
        (1234567, '#,##0.0,,"M"', "1.2M"),
        (1.005, "0.00", "1.01"),
        (5, "00000", "00005"),
        (5551234567, "(000) 000-0000", "(555) 123-4567"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (50, "[<10]0.0;0", "50"),
        (3, 'General "km"', "3 km"),
        (45093, '[$-407]d. mmmm yyyy;@', "2023-06-16"),
        (45093, "mmm yy", "2023-06"),
        (1.5, "[h]:mm", "36:00"),
        (0.604166667, "h:mm AM/PM", "14:30"),
        (0.604166667, "hh:mm:ss", "14:30:00"),
        (9e9, "yyyy-mm-dd", "9000000000"),
        (1e300, "#,##0.00", "1E+300"),
        (float("inf"), "0", "inf"),
    ],
)  # fmt: skip
def test_numbers(value: float, code: str, shown: str) -> None:
    assert shown_number(value, code) == shown


# Bombs, broken parts and passwords are refused by a message; a broken sheet leaves the others.
def test_hostile_workbooks(monkeypatch: pytest.MonkeyPatch) -> None:
    entities = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    bomb = f'<!DOCTYPE x [<!ENTITY a0 "ha">{entities}]><x><si><t>&a9;</t></si></x>'
    strings = {
        "xl/_rels/workbook.xml.rels": f'<r><a Id="s" Type="{_OFFICE}/sharedStrings" '
        f'Target="b.xml"/><a Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/s1.xml"/></r>',
    }
    shared = '<row><c t="s"><v>0</v></c></row>'
    began = time.monotonic()
    for body in (bomb, '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x><si><t>a</si>'):
        with pytest.raises(DocumentError, match="damaged"):
            parse(".xlsx", xlsx({"A": shared}, files={**strings, "xl/b.xml": body}), "a.xlsx")
    outside = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x><si><t>a&e;</t></si></x>'
    data = xlsx({"A": shared}, files={**strings, "xl/b.xml": outside})
    assert parse(".xlsx", data, "a.xlsx").text == "A\n\na"

    many = "".join(f'<row r="{n}" s="1"/>' for n in range(1, 1_048_577))
    assert parse(".xlsx", xlsx({"A": row(1, "x") + many}), "a.xlsx").text == "A\n\nx"
    wide = row(1, "x") + "".join(f'<row r="{n}">{cell(f"XFD{n}", 1)}</row>' for n in (2, 1048576))
    assert parse(".xlsx", xlsx({"A": wide}), "a.xlsx").text == "A\n\nx\n\n1\n\n1"
    assert time.monotonic() - began < 60

    broken = xlsx({"A": "<row><c><v>1</c>", "B": row(1, "y")})
    content = read_workbook(broken, "a.xlsx")
    assert (content.text, content.skipped) == ("B\n\ny", (Skipped("sheet A", workbook.DAMAGED),))
    with pytest.raises(DocumentError, match="no sheet can be read"):
        read_workbook(xlsx({"A": "<row>"}), "a.xlsx")
    with pytest.raises(DocumentError, match="password"):
        read_workbook(b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "a.xlsx")
    with pytest.raises(DocumentError, match="damaged"):
        parse(".xls", b"\xd0\xcf\x11\xe0" + bytes(600), "a.xls")

    long = "<x><si><t>" + "a" * 1000 + "</t></si></x>"
    monkeypatch.setattr(workbook, "MAX_TEXT", 0)
    monkeypatch.setattr(workbook.CellBudget.__init__, "__defaults__", (10, 5_000))
    for rows in (
        row(1, *range(1, 12)),
        f"<row>{'<c t=chr34schr34><v>0</v></c>' * 6}</row>".replace("chr34", '"'),
    ):
        with pytest.raises(DocumentError, match="cut it into smaller"):
            read_workbook(xlsx({"A": rows}, files={**strings, "xl/b.xml": long}), "a.xlsx")


# A row in two pieces is one row; a cell that names no shared string is blank, the others are read.
def test_broken_rows() -> None:
    body = (
        f'<row r="1">{cell("B1", "Height")}</row><row r="1">{cell("A1", "Station")}</row>'
        + row(2, "Voss", 56)
        + f'<row r="3">{cell("A3", "Mo")}<c r="B3" t="s"><v>-</v></c></row>'
    )
    content = read_workbook(xlsx({"A": body}), "a")

    assert content.text.split("\n\n")[1:] == [
        "Station; Height.",
        "Station: Voss; Height: 56.",
        "Station: Mo.",
    ]
    assert content.skipped == ()


# Parts are found whatever the case of their names and the slashes before them; a DTD is refused.
def test_names_of_parts() -> None:
    def relations(**targets: str) -> str:
        each = (
            f'<r Id="rId1" Type="{_OFFICE}/{kind}" Target="{name}"/>'
            for kind, name in targets.items()
        )
        return f"<rs>{''.join(each)}</rs>"

    comments = (
        f'<comments {_MAIN}><commentList><comment ref="A1"><text><t>sure?</t></text></comment>'
        "</commentList></comments>"
    )
    files = {
        "xl/_rels/workbook.xml.rels": relations(worksheet="worksheets\\S1.XML"),
        "xl/worksheets/_rels/s1.xml.rels": relations(comments="..\\Notes.xml"),
        "xl/notes.xml": comments,
    }
    text = read_workbook(xlsx({"A": row(1, "x")}, files=files), "a").text
    assert text == "A\n\nx\n\nComment on A1: sure?"

    files = {"xl/styles.xml": f"<!DOCTYPE x [<!ENTITY a 'b'>]><styleSheet {_MAIN}/>"}
    with pytest.raises(DocumentError, match="damaged"):
        parse(".xlsx", xlsx({"A": row(1, "x")}, files=files), "a.xlsx")


# The formats of other programs are read by calamine, with a note about what it does not give.
def test_other_spreadsheets() -> None:
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    rows = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="float" office:value="{one}"><text:p>{one}'
            "</text:p></table:table-cell>"
            if isinstance(one, float)
            else f'<table:table-cell office:value-type="string"><text:p>{one}</text:p>'
            "</table:table-cell>"
            for one in values
        )
        + "</table:table-row>"
        for values in (("Place", "Height"), ("Voss", 56.5))
    )
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        manifest = f'<m:manifest xmlns:m="{office}manifest:1.0"/>'
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{office}office:1.0" '
            f'xmlns:text="{office}text:1.0" xmlns:table="{office}table:1.0"><office:body>'
            "<office:spreadsheet><table:table "
            f'table:name="A">{rows}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        )
    content = formats.READERS[".ods"](data.getvalue(), "a.ods")

    assert content.text == "A\n\nPlace; Height.\n\nPlace: Voss; Height: 56.5."
    assert content.places[-1].name == "sheet A, row 2"
    assert "without their formats" in content.notes[0]
