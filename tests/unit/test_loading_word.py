"""Word documents give the text that a person sees, with numbers, notes, tables and formulas."""

import time
from pathlib import Path

import pytest

from graphreader.documents import Heading
from graphreader.errors import DocumentError
from graphreader.ingestion.loading import archives
from graphreader.ingestion.loading.numbering import written
from graphreader.ingestion.loading.office import symbol
from graphreader.ingestion.loading.word import read_docx
from tests.unit.loading import reasons, write
from tests.unit.office_files import NAMES, docx, paragraph, run

DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"


def text(body: str, *links: tuple[str, str], **parts: str | bytes) -> str:
    return read_docx(docx(body, *links, **parts), "a.docx").text


def skipped(body: str, *links: tuple[str, str], **parts: str | bytes) -> list[str]:
    return [one.part for one in read_docx(docx(body, *links, **parts), "a.docx").skipped]


def table(*rows: list[str]) -> str:
    cells = ("".join(f"<w:tc>{cell}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


# In a Word document styles count by their names, tables become rows, the metadata are read.
def test_docx() -> None:
    about = f'<p xmlns:dc="{DUBLIN_CORE}"><dc:creator>Vera</dc:creator><dc:title>T</dc:title></p>'
    data = docx(
        paragraph("Joan", "berschrift1")
        + paragraph("She was born.")
        + table([paragraph("Paris"), paragraph("1431")])
        + paragraph("End."),
        **{"docProps/core.xml": about},
    )
    content = read_docx(data, "a.docx")

    assert content.text == "Joan\n\nShe was born.\n\nParis | 1431\n\nEnd."
    assert content.headings == (Heading(0, "Joan"),)
    assert content.metadata == {"creator": "Vera", "title": "T"}
    assert (content.title, content.skipped) == ("", ())
    assert text("") == ""


# Headings are known by the name of a style, by its outline level or the paragraph's own, also
# through the style that it is based on; a clause in such a style is text.
def test_headings() -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="a"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="b"><w:basedOn w:val="a"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="c"><w:pPr><w:outlineLvl w:val="2"/></w:pPr>'
        '</w:style><w:style w:type="paragraph" w:styleId="loop"><w:basedOn w:val="loop"/></w:style>'
    )
    content = read_docx(
        docx(
            paragraph("One", "a")
            + paragraph("Two", "b")
            + paragraph("Three", "c")
            + paragraph("Four", "", '<w:outlineLvl w:val="0"/>')
            + paragraph("Text", "a", '<w:outlineLvl w:val="9"/>')
            + paragraph("Text", "loop")
            + paragraph("The buyer pays the whole price on the first day.", "a")
            + paragraph("word " * 60, "a")
            + table([paragraph("Cell", "a"), paragraph("Other")]),
            styles=styles,
        ),
        "a.docx",
    )

    assert [(one.title, one.level) for one in content.headings] == [
        *(("One", 2), ("Two", 2), ("Three", 3), ("Four", 1))
    ]
    assert content.text.endswith("\n\nCell | Other")


def level(at: int, text: str, kind: str = "decimal", more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def numbered(text: str, at: int = 0, number: int = 1, style: str = "") -> str:
    return paragraph(
        text, style, f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{number}"/></w:numPr>'
    )


def definition(number: int, *levels: str) -> str:
    return f'<w:abstractNum w:abstractNumId="{number}">{"".join(levels)}</w:abstractNum>'


NUM = '<w:num w:numId="{0}"><w:abstractNumId w:val="{1}"/>{2}</w:num>'
RESTART = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="{}"/></w:lvlOverride>'


# Numbers of lists and clauses stand as Word shows them: through paragraphs between them, with
# levels, letters, Roman numerals, brackets; a list begins anew where it says so.
def test_list_numbers() -> None:
    numbering = (
        definition(
            1,
            level(0, "%1."),
            level(1, "%1.%2"),
            level(2, "(%3)", "lowerLetter"),
            level(3, "%1.%4", "lowerRoman", "<w:isLgl/>"),
        )
        + definition(
            2,
            level(0, "Article %1.", "upperRoman"),
            level(1, "o", "bullet"),
            level(2, "☐", "bullet"),
        )
        + NUM.format(1, 1, "")
        + NUM.format(2, 2, "")
        + NUM.format(3, 1, RESTART.format(7))
    )
    body = (
        numbered("The seller delivers.")
        + paragraph("It is paid.")
        + numbered("The buyer pays.")
        + numbered("At once.", 1)
        + numbered("In gold;", 2)
        + numbered("in silver.", 2)
        + numbered("Later.", 1)
        + numbered("In coins.", 2)
        + numbered("Deep.", 3)
        + numbered("The end.")
        + numbered("One", 0, 2)
        + numbered("Point", 1, 2)
        + numbered("Box", 2, 2)
        + numbered("Two", 0, 2)
        + numbered("New.", 0, 3)
        + numbered("No list.", 0, 0)
        + numbered("Old.", 0, 1)
    )

    empty = numbered("One.") + numbered("") + paragraph("") + numbered("Three.")
    assert text(empty, numbering=numbering) == "1. One.\n\n2.\n\n3. Three."
    assert text(body, numbering=numbering) == (
        "1. The seller delivers.\n\nIt is paid.\n\n2. The buyer pays.\n2.1 At once.\n(a) In gold;\n"
        "(b) in silver.\n2.2 Later.\n(a) In coins.\n2.1 Deep.\n3. The end.\nArticle I. One\n"
        "- Point\n[ ] Box\nArticle II. Two\n7. New.\n\nNo list.\n\n8. Old."
    )


# Styles number their paragraphs, headings too; a skipped level counts as begun.
def test_numbers_of_styles() -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="h1"><w:name w:val="heading 1"/><w:pPr><w:numPr>'
        '<w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="h2"><w:name w:val="heading 2"/><w:basedOn '
        'w:val="h1"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="h3"><w:name w:val="heading 3"/><w:basedOn '
        'w:val="h1"/></w:style>'
        '<w:style w:type="numbering" w:styleId="list"><w:pPr><w:numPr><w:numId w:val="1"/>'
        "</w:numPr></w:pPr></w:style>"
    )
    numbering = (
        definition(
            1,
            level(0, "§ %1", "decimal", '<w:pStyle w:val="h1"/>'),
            level(1, "%1.%2", "decimal", '<w:pStyle w:val="h2"/>'),
            level(2, "%1.%2.%3", "decimal", '<w:pStyle w:val="h3"/>'),
        )
        + '<w:abstractNum w:abstractNumId="2"><w:numStyleLink w:val="list"/></w:abstractNum>'
        + NUM.format(1, 1, "")
        + NUM.format(2, 2, "")
    )
    content = read_docx(
        docx(
            paragraph("Costs", "h1")
            + paragraph("Rent", "h3")
            + paragraph("Tax", "h2")
            + numbered("Linked", 0, 2),
            styles=styles,
            numbering=numbering,
        ),
        "a.docx",
    )

    assert [one.title for one in content.headings] == ["§ 1 Costs", "1.1.1 Rent", "1.2 Tax"]
    assert content.text.endswith("§ 2 Linked")


@pytest.mark.parametrize(
    ("number", "kind", "shown"),
    [
        (28, "lowerLetter", "bb"),
        (4, "upperRoman", "IV"),
        (7, "decimalZero", "07"),
        (1, "ordinalText", "First"),
        (42, "ordinalText", "Forty-second"),
        (20, "ordinalText", "Twentieth"),
        (12, "cardinalText", "Twelve"),
        (11, "ordinal", "11th"),
        (3, "decimalFullWidth", "3"),
        (21, "chineseCountingThousand", "二十一"),
        (2, "decimalEnclosedCircle", "②"),
        (3, "russianLower", "в"),
        (5, "none", ""),
        (9, "unheard", "9"),
        (999_999_999, "upperLetter", "999999999"),
    ],
)
def test_number_formats(number: int, kind: str, shown: str) -> None:
    assert written(number, kind) == shown


REFERENCE = '<w:{0}Reference w:id="{1}"/>'
NOTE = '<w:{0} w:id="{1}"><w:p><w:r><w:{0}Ref/></w:r><w:r><w:t>{2}</w:t></w:r></w:p></w:{0}>'


# Marks of notes stand in the text and at the notes, as Word numbers them; separators are no notes.
def test_notes() -> None:
    body = (
        "<w:p>"
        + run("Sold in 1821")
        + run(REFERENCE.format("footnote", 7))
        + run(" by Ann")
        + run(REFERENCE.format("endnote", 2))
        + run(" and Bo")
        + run('<w:footnoteReference w:id="4" w:customMarkFollows="1"/><w:t>*</w:t>')
        + run(REFERENCE.format("footnote", 5))
        + run(".")
        + "</w:p>"
    )
    notes = {
        "footnotes": '<w:footnote w:id="0" w:type="separator"><w:p/></w:footnote>'
        + NOTE.format("footnote", 5, "A letter.")
        + NOTE.format("footnote", 7, "Deed.")
        + NOTE.format("footnote", 4, "A sign.")
        + NOTE.format("footnote", 9, "No one cites it."),
        "endnotes": NOTE.format("endnote", 2, "The wife."),
    }

    assert text(body, **notes) == (
        "Sold in 1821 [1] by Ann [i] and Bo [*][2].\n\n[1] Deed.\n\n[*] A sign.\n\n[2] A letter."
        "\n\n[i] The wife."
    )


def formula(*content: str) -> str:
    return f"<w:p><m:oMath>{''.join(content)}</m:oMath></w:p>"


def r(letters: str) -> str:
    return f"<m:r><m:t>{letters}</m:t></m:r>"


def m(name: str, properties: str = "", **arguments: str) -> str:
    inside = "".join(f"<m:{key}>{value}</m:{key}>" for key, value in arguments.items())
    return f"<m:{name}><m:{name}Pr>{properties}</m:{name}Pr>{inside}</m:{name}>"


# Formulas are plain text.
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (m("f", num=r("a+b"), den=r("c")), "(a+b)/c"),
        (r("E=m") + m("sSup", e=r("c"), sup=r("2")), "E=mc^2"),
        (m("sSub", e=r("x"), sub=r("1")), "x1"),
        (m("rad", deg="", e=r("x+1")), "√(x+1)"),
        (m("nary", '<m:chr m:val="∑"/>', sub=r("k=1"), sup=r("n"), e=r("k")), "∑_(k=1)^n k"),
        (m("d", '<m:begChr m:val="["/><m:endChr m:val="]"/>', e=r("a,b")), "[a,b]"),
        (m("func", fName=r("sin"), e=r("x")), "sin x"),
        (m("acc", e=r("x")), "x\u0302"),
        (m("m", mr=f"<m:e>{r('1')}</m:e><m:e>{r('2')}</m:e>"), "1 2"),
        (m("eqArr", e=r("x&amp;=1#(4)")), "x=1 (4)"),
    ],
)
def test_formulas(content: str, shown: str) -> None:
    assert text(formula(content)) == shown


SPAN = '<w:tcPr><w:gridSpan w:val="{}"/></w:tcPr>'
MERGED = '<w:tcPr><w:vMerge w:val="restart"/></w:tcPr>'
GOES_ON = "<w:tcPr><w:vMerge/></w:tcPr>"


# Merged cells are repeated in each of their places; a table in a cell is read by itself.
def test_tables() -> None:
    merged = table(
        [paragraph("Rent"), SPAN.format(2) + paragraph("800")],
        [MERGED + paragraph("Fee"), paragraph("May"), paragraph("5")],
        [GOES_ON + paragraph("", ""), paragraph("June"), paragraph("6")],
        [paragraph("Tax"), paragraph("all"), paragraph("7")],
    )
    nested = table([paragraph("Out") + table([paragraph("a"), paragraph("b")]), paragraph("Next")])

    assert text(merged) == "Rent | 800 | 800\nFee | May | 5\nFee | June | 6\nTax | all | 7"
    assert text(nested) == "Out\n\na | b\n\nNext"


BOX = (
    '<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="{}"/></w14:checkbox></w:sdtPr>'
    "<w:sdtContent>{}</w:sdtContent></w:sdt>"
)
FORM = '<w:fldChar w:fldCharType="begin"><w:ffData>{}</w:ffData></w:fldChar>'
END = run('<w:fldChar w:fldCharType="separate"/>') + run('<w:fldChar w:fldCharType="end"/>')


# Checkboxes have their state, lists of a form their choice, in the new form and the old one.
def test_forms() -> None:
    choice = (
        '<w:ddList><w:result w:val="1"/><w:listEntry w:val="Bergen"/><w:listEntry w:val="Voss"/>'
        "</w:ddList>"
    )
    body = (
        f"<w:p>{BOX.format(1, run('☒'))}{run(' paid')}</w:p>"
        f"<w:p>{BOX.format(0, run('☐'))}{run(' sent')}</w:p>"
        f"<w:p>{run(FORM.format('<w:checkBox><w:default/></w:checkBox>'))}{END}{run(' old')}</w:p>"
        f"<w:p>{run('At ')}{run(FORM.format(choice))}{END}{run('.')}</w:p>"
        "<w:sdt><w:sdtPr><w:dropDownList/></w:sdtPr><w:sdtContent>"
        f"{paragraph('Per Lie')}</w:sdtContent></w:sdt>"
    )

    assert text(body) == "[x] paid\n\n[ ] sent\n\n[x] old\n\nAt Voss.\n\nPer Lie"


# Tracked changes are read as accepted, moved text once; struck and hidden text is named.
def test_changes() -> None:
    body = (
        f"<w:p>{run('Rent ')}<w:del>{run('<w:delText>900</w:delText>')}</w:del>"
        f"<w:ins>{run('800')}</w:ins>{run('.')}{run(' Or 5.', '<w:strike/>')}"
        f"{run(' Secret', '<w:vanish/>')}{run(' still.', '<w:vanish/>')}{run(' Open.')}</w:p>"
        f"<w:p><w:moveFrom>{run('Moved.')}</w:moveFrom></w:p>"
        f"<w:p><w:moveTo>{run('Moved.')}</w:moveTo></w:p>"
        "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>One </w:t></w:r></w:p>"
        + paragraph("line.")
    )

    assert text(body) == "Rent 800. Open.\n\nMoved.\n\nOne line."
    assert skipped(body) == ["1 deletion", "1 struck passage", "1 hidden passage"]


DRAWN = "<w:drawing><wp:inline>{}</wp:inline></w:drawing>"
PICTURE = '<pic:pic><pic:nvPicPr><pic:cNvPr id="1" name="P" descr="{}"/></pic:nvPicPr></pic:pic>'
TEXT_BOX = "<w:txbxContent>{}</w:txbxContent>"


# A text box in both forms is read once, behind its paragraph; pictures have their alternative
# text or are counted, and so are embedded objects.
def test_drawings() -> None:
    both = (
        f"<mc:AlternateContent><mc:Choice>{DRAWN.format(TEXT_BOX.format(paragraph('Due May.')))}"
        f"</mc:Choice><mc:Fallback><w:pict><v:textbox>{TEXT_BOX.format(paragraph('Due May.'))}"
        "</v:textbox></w:pict></mc:Fallback></mc:AlternateContent>"
    )
    old = (
        f"<w:pict><v:shape><v:textbox>{TEXT_BOX.format(paragraph('Old box.'))}</v:textbox>"
        "</v:shape></w:pict>"
    )
    pictures = (
        run(DRAWN.format(PICTURE.format("A mill by the sea")))
        + run(DRAWN.format(PICTURE.format("mill 2.png")))
        + run(DRAWN.format(PICTURE.format("")))
    )
    body = (
        f"<w:p>{run('The tenant')}{run(both)}{run(' pays.')}</w:p><w:p>{run(old)}</w:p>"
        f"<w:p>{pictures}</w:p><w:p>{run('<w:object><o:OLEObject/></w:object>')}</w:p>"
    )

    assert text(body) == "The tenant pays.\n\nDue May.\n\nOld box.\n\nA mill by the sea"
    assert skipped(body) == ["2 pictures", "1 embedded object"]


CHART = (
    f"<c:chartSpace {NAMES}><c:chart><c:title><a:p><a:r><a:t>Ducks</a:t></a:r></a:p></c:title>"
    "<c:ser><c:tx><c:v>Wild</c:v></c:tx><c:cat>{0}</c:cat><c:val>{1}</c:val></c:ser></c:chart>"
    "</c:chartSpace>"
)


def points(*values: str) -> str:
    return "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))


# Charts are tables, diagrams the words of their shapes.
def test_graphics() -> None:
    body = (
        "<w:p>"
        + run(DRAWN.format('<a:graphicData><c:chart r:id="r1"/></a:graphicData>'))
        + run(DRAWN.format('<a:graphicData><dgm:relIds r:dm="r2"/></a:graphicData>'))
        + "</w:p>"
    )
    shape = '<dgm:pt modelId="{0}"><dgm:t><a:p><a:r><a:t>{0}</a:t></a:r></a:p></dgm:t></dgm:pt>'
    lead = '<dgm:cxn srcId="{}" destId="{}" srcOrd="{}"/>'
    diagram = (
        f"<dgm:dataModel {NAMES}>"
        + "".join(map(shape.format, ("Sell", "Price", "Plan", "Date")))
        + '<dgm:pt modelId="0" type="doc"/>'
        + "".join(
            lead.format(*one)
            for one in (
                ("0", "Sell", 1),
                ("0", "Plan", 0),
                ("Plan", "Date", 0),
                ("Date", "Plan", 0),
            )
        )
        + "</dgm:dataModel>"
    )
    parts = {
        "word/charts/c.xml": CHART.format(points("2019", "2020"), points("120", "130")),
        "word/d.xml": diagram,
    }
    links = (("chart", "charts/c.xml"), ("diagramData", "d.xml"))

    assert (
        text(body, *links, **parts)
        == "Ducks\n\n| Wild\n2019 | 120\n2020 | 130\n\nPlan\nDate\nSell\nPrice"
    )
    assert skipped(body, *links) == ["2 charts"]


# Values of charts are written as they are shown, dates and percentages too.
def test_values_of_charts() -> None:
    drawing = '<a:graphicData><c:chart r:id="r1"/></a:graphicData>'
    days = f"<c:numRef><c:formatCode>m/d/yyyy</c:formatCode>{points('39448')}</c:numRef>"
    shares = f"<c:numRef><c:formatCode>0.0%</c:formatCode>{points('0.125')}</c:numRef>"
    prices = f"<c:numRef><c:formatCode>$#,##0.00</c:formatCode>{points('1250')}</c:numRef>"
    whole = f"<c:numRef>{points('4.4000000000000004', 'n/a')}</c:numRef>"
    body = f"<w:p>{run(DRAWN.format(drawing))}</w:p>"
    charts = [
        text(body, ("chart", "c.xml"), **{"word/c.xml": CHART.format(*both)})
        for both in ((days, shares), (days, prices), (points("a", "b"), whole))
    ]

    assert charts == [
        "Ducks\n\n| Wild\n2008-01-01 | 12.5%",
        "Ducks\n\n| Wild\n2008-01-01 | $1,250.00",
        "Ducks\n\n| Wild\na | 4.4\nb | n/a",
    ]


# Comments stand behind their paragraphs, headers and footers once each, without page numbers.
def test_margins_and_comments() -> None:
    page = '<w:fldSimple w:instr=" PAGE "><w:r><w:t>7</w:t></w:r></w:fldSimple>'
    sections = "".join(
        f'<w:{kind}Reference r:id="r{number}"/>'
        for number, kind in ((1, "header"), (2, "header"), (3, "footer"), (4, "footer"))
    )
    body = (
        f"<w:p>{run('The rent')}{run(REFERENCE.format('comment', 3))}{run(' is 5.')}</w:p>"
        f"{paragraph('End.')}<w:sectPr>{sections}</w:sectPr>"
    )
    links = tuple((one[:6], f"{one}.xml") for one in ("header1", "header2", "footer1", "footer2"))
    comment = f'<w:comment w:id="3" w:author="Ann &amp; Bo">{paragraph("Too high?")}</w:comment>'
    parts = {
        "comments": comment,
        "word/header1.xml": f"<w:hdr {NAMES}>{paragraph('Draft 7')}</w:hdr>",
        "word/header2.xml": f"<w:hdr {NAMES}>{paragraph('Draft 7')}</w:hdr>",
        "word/footer1.xml": f"<w:ftr {NAMES}>{paragraph('Matter no. 4711')}</w:ftr>",
        "word/footer2.xml": f"<w:ftr {NAMES}><w:p>{run('Page ')}{page}{run(' of 9')}</w:p></w:ftr>",
    }

    assert text(body, *links, **parts) == (
        "Header: Draft 7\n\nThe rent is 5.\n\n[Comment by Ann & Bo: Too high?]\n\nEnd.\n\n"
        "Footer: Matter no. 4711"
    )


FIELD = '<w:fldChar w:fldCharType="{}"/>'


# Signs, fields with their results, links, superscripts and initials read as Word shows them.
def test_signs() -> None:
    code = "<w:instrText> {} </w:instrText>"
    field = (
        run(FIELD.format("begin"))
        + run(code.format("IF "))
        + run(FIELD.format("begin"))
        + run(code.format("MERGEFIELD x"))
        + run(FIELD.format("separate"))
        + run("inner")
        + run(FIELD.format("end"))
        + run(FIELD.format("separate"))
        + run("4.2")
        + run(FIELD.format("end"))
    )
    link = (
        run(FIELD.format("begin"))
        + run(code.format('HYPERLINK "https://example.org/b"'))
        + run(FIELD.format("separate"))
        + run("there")
        + run(FIELD.format("end"))
    )
    hyphens = (
        "<w:t>non</w:t><w:noBreakHyphen/><w:t>stop so</w:t><w:softHyphen/><w:t>ft</w:t><w:tab/>"
        "<w:t>tab</w:t>"
    )
    alpha = '<w:sym w:font="Symbol" w:char="F061"/>'
    box, font = "\uf0fe", '<w:rFonts w:ascii="Wingdings"/>'
    raised = '<w:vertAlign w:val="superscript"/>'
    body = (
        f"<w:p>{run('See clause ')}{field}{run('.')}</w:p>"
        f"<w:p><w:hyperlink r:id='r1'>{run('Here')}</w:hyperlink>{run(' or ')}{link}</w:p>"
        f"<w:p>{run(hyphens)}{run(alpha)}{run(box, font)}</w:p>"
        f"<w:p>{run('10')}{run('3', raised)}{run('0', raised)}{run(' m')}</w:p>"
        + paragraph("O", "", '<w:framePr w:dropCap="drop"/>')
        + paragraph("nce.")
    )

    assert text(body, ("hyperlink", "https://example.org/a")) == (
        "See clause 4.2.\n\nHere or there [Here](https://example.org/a) "
        "[there](https://example.org/b)\n\nnon-stop soft tabα[x]\n\n10^30 m\n\nOnce."
    )
    assert symbol("Symbol", 0xF0A3) == "≤"
    assert symbol("Webdings", 0xF0A3) == "•"


# A field without its end hides nothing, whatever part it stands in; a deleted end is an end.
def test_broken_fields() -> None:
    begin, separate, end = (run(FIELD.format(one)) for one in ("begin", "separate", "end"))
    page = begin + run("<w:instrText> PAGE </w:instrText>")
    deleted = "<w:del>{}</w:del>"
    unclosed = f"<w:p>{page}{run('One.')}</w:p>" + paragraph("Two.")
    removed = f"<w:p>{page}{deleted.format(separate + run('7') + end)}{run('Three.')}</w:p>"
    opened = f"<w:p>{deleted.format(begin)}{separate}{run('Four.')}{end}</w:p>"
    row = f"<w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p>{end}</w:p></w:tc></w:tr>"
    in_row = f"<w:p>{page}</w:p><w:tbl>{row}</w:tbl>" + paragraph("Five.")
    margin = '<w:sectPr><w:headerReference r:id="r1"/></w:sectPr>'
    header = {"word/header1.xml": f"<w:hdr {NAMES}><w:p>{run('Draft')}{page}</w:p></w:hdr>"}
    comment = f'<w:comment w:id="3"><w:p>{run("Why?")}{page}</w:p></w:comment>'
    cited = f"<w:p>{run(REFERENCE.format('comment', 3))}{run('Six.')}</w:p>" + paragraph("Seven.")

    assert text(unclosed) == "One.\n\nTwo."
    assert text(removed + opened) == "Three.\n\nFour."
    assert text(in_row) == "Five."
    assert text(paragraph("Joan.") + margin, ("header", "header1.xml"), **header) == (
        "Header: Draft\n\nJoan."
    )
    assert text(cited, comments=comment) == "Six.\n\n[Comment: Why?]\n\nSeven."


# The line of a paragraph whose end is deleted stays before a table, in its cell, and at the end.
def test_deleted_ends() -> None:
    ending = paragraph("One", "", "<w:rPr><w:del/></w:rPr>")
    body = ending + table([paragraph("a") + ending, paragraph("b")]) + ending

    assert text(body) == "One\n\na One | b\n\nOne"


# A comment to which no text refers is counted.
def test_comments_of_nothing() -> None:
    comments = f'<w:comment w:id="1">{paragraph("Too high?")}</w:comment>'

    assert skipped(paragraph("Joan."), comments=comments) == ["1 comment"]


# Other Office files of Word are read, the strict variant too; an old file is refused.
def test_kinds_of_files(tmp_path: Path) -> None:
    data = docx(paragraph("Joan."))
    strict = docx(
        "",
        **{
            "word/document.xml": '<d:document xmlns:d="http://purl.oclc.org/ooxml/wordprocessingml/'
            'main"><d:body><d:p><d:r><d:t>Strict.</d:t></d:r></d:p></d:body></d:document>'
        },
    )

    assert all(reasons(write(tmp_path / f"a{one}", data)) == [] for one in (".docm", ".dotx"))
    assert read_docx(strict, "a.docx").text == "Strict."
    for broken, message in (
        (b"PK\3\4", "cannot be read, it is damaged"),
        (docx("<w:p>"), "cannot be read, it is damaged"),
        (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "protected by a password or an old .doc file"),
    ):
        (reason,) = reasons(write(tmp_path / "b.docx", broken))
        assert message in reason


ENTITY = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
BOMB = "<!DOCTYPE d [<!ENTITY e0 'lol'>{}]>".format(
    "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
)


# Entities are never read or expanded, deep nesting is refused, and so is what is too large when it
# is unpacked; pictures are not counted.
@pytest.mark.parametrize(
    "document",
    [
        f"{ENTITY}<w:document {NAMES}><w:body>{paragraph('&x;')}</w:body></w:document>",
        f"{BOMB}<w:document {NAMES}><w:body>{paragraph('&e11;')}</w:body></w:document>",
        f"<w:document {NAMES}><w:body>"
        + "<w:tbl><w:tr><w:tc>" * 2_000
        + "</w:tc></w:tr></w:tbl>" * 2_000
        + "</w:body></w:document>",
        "<w:document xmlns:w='x'><w:body/></w:document",
    ],
    ids=["entity", "bomb", "deep", "broken"],
)
def test_attacks(tmp_path: Path, document: str) -> None:
    began = time.monotonic()
    data = docx("", **{"word/document.xml": document})
    (reason,) = reasons(write(tmp_path / "a.docx", data))

    assert "damaged" in reason
    assert time.monotonic() - began < 20


# A damaged part without which the text can be read is named.
def test_damaged_parts() -> None:
    body = f"<w:p>{run('Joan.')}{run(REFERENCE.format('comment', 1))}</w:p>"
    content = read_docx(docx(body, comments="<w:p>"), "a.docx")

    assert content.text == "Joan."
    assert [one.part for one in content.skipped] == ["1 part of the file"]


def test_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 100_000)
    for data in (
        docx(paragraph("x" * 100_001)),
        docx("", **{"word/media/a.emf": "\n<p>" + "x" * 100_001}),
    ):
        with pytest.raises(DocumentError, match="when it is unpacked"):
            read_docx(data, "a.docx")
    media = dict.fromkeys(("word/fonts/a.ttf", "word/media/a.emf"), "x" * 100_001)
    assert text(paragraph("Joan."), **media) == "Joan."


# Parts that name each other in a circle, and small parts that are named again and again, neither
# stall the parser nor make a text many times the file's size.
def test_circles_and_repeats() -> None:
    began = time.monotonic()
    styles = (
        '<w:style w:styleId="a"><w:basedOn w:val="b"/></w:style><w:style w:styleId="b"><w:basedOn '
        'w:val="a"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        '<w:style w:styleId="l"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    numbering = (
        '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="l"/></w:abstractNum>'
        + definition(2, level(0, "%1" * 5_000, "upperLetter").replace('"1"', '"700"'))
        + NUM.format(1, 1, "")
        + NUM.format(2, 2, "")
    )
    long = "word " * 20_000
    cited = run(REFERENCE.format("footnote", 1)) + run('<w:commentReference w:id="1"/>')
    body = (
        paragraph("Joan.", "a")
        + numbered("Many") * 2_000
        + numbered("Large", 0, 2) * 2_000
        + f"<w:p>{cited * 2_000}</w:p>"
        + table([SPAN.format(999_999_999) + paragraph("x")], [paragraph("y")])
    )
    content = docx(
        body,
        styles=styles,
        numbering=numbering,
        footnotes=f'<w:footnote w:id="1">{paragraph(long)}<w:p>{cited}</w:p></w:footnote>',
        comments=f'<w:comment w:id="1">{paragraph(long)}</w:comment>',
    )
    shown = read_docx(content, "a.docx").text
    begin = run(FIELD.format("begin"))
    many = '<w:lvl w:ilvl="{}"/>' * 20_000
    chain = "".join(
        f'<w:style w:styleId="s{at}"><w:basedOn w:val="s{at + 1}"/></w:style>'
        for at in range(20_000)
    )

    with pytest.raises(ValueError, match="nested too deeply"):
        text(f"<w:p>{begin * 200}{run(FIELD.format('end')) * 200}</w:p>")
    levels = many.format(*range(20_000))
    lists = definition(1, levels) + NUM.format(1, 1, "")
    assert text(numbered("Joan.") * 2_000, numbering=lists).count("Joan.") == 2_000
    assert text(paragraph("Joan.", "s0"), styles=chain) == "Joan."
    assert shown.count("word") == 40_000
    assert len(shown) < 1_000_000
    assert time.monotonic() - began < 20


# A long document with tables is read within seconds.
def test_speed() -> None:
    body = (paragraph("word " * 100) + table([paragraph("a"), paragraph("b")] * 5)) * 2_000
    began = time.monotonic()

    assert len(text(body)) > 1_000_000
    assert time.monotonic() - began < 20
