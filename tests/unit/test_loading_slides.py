"""Presentations give the text of each slide in reading order, with notes and comments."""

import time
from pathlib import Path

from graphreader.documents import Heading, Place
from graphreader.ingestion.loading.slides import read_pptx
from tests.unit.loading import reasons, write
from tests.unit.office_files import NAMES, A, P, pptx, relations

FRAME = '<a:off x="{}" y="{}"/><a:ext cx="100" cy="{}"/>'
TREE = f"{{}} {NAMES}><p:cSld><p:spTree>{{}}</p:spTree></p:cSld>"


def lines(*texts: str, properties: str = "") -> str:
    return "".join(
        f"<a:p><a:pPr>{properties}</a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>" for text in texts
    )


def shape(
    text: str, kind: str = "", left: int = 0, top: int = 0, high: int = 100, index: int = 0
) -> str:
    place = f'<p:ph type="{kind}" idx="{index}"/>' if kind else ""
    frame = f"<a:xfrm>{FRAME.format(left, top, high)}</a:xfrm>" if top >= 0 else ""
    paragraphs = text if text.startswith("<") or not text else lines(text)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="S"/><p:nvPr>{place}</p:nvPr></p:nvSpPr>'
        f"<p:spPr>{frame}</p:spPr><p:txBody><a:bodyPr/>{paragraphs}</p:txBody></p:sp>"
    )


def picture(text: str = "", inside: str = "") -> str:
    return (
        f'<p:pic><p:nvPicPr><p:cNvPr id="1" name="P" descr="{text}"/><p:nvPr>{inside}</p:nvPr>'
        "</p:nvPicPr></p:pic>"
    )


def graphic(inside: str) -> str:
    return (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="1" name="G"/><p:nvPr/>'
        f"</p:nvGraphicFramePr><a:graphic>{inside}</a:graphic></p:graphicFrame>"
    )


# Each slide is a place with its title as a heading; shapes are read row by row; groups keep their
# shapes together; numbers of slides are left out, a footer is read once.
def test_order() -> None:
    million = 1_000_000
    group = (
        f'<p:grpSp><p:nvGrpSpPr><p:cNvPr id="1" name="G"/></p:nvGrpSpPr><p:grpSpPr><a:xfrm>'
        f"{FRAME.format(0, 5 * million, 100)}</a:xfrm></p:grpSpPr>"
        f"{shape('Second of group', top=20)}{shape('First of group', high=5)}</p:grpSp>"
    )
    footer = shape("ACME", "ftr", top=9 * million) + shape("3", "sldNum", top=9 * million)
    slide = (
        group
        + shape("Right", left=4 * million, top=2 * million + 10, high=million)
        + shape("Left", left=0, top=2 * million + 20, high=million)
        + shape("Top", top=million)
        + shape(lines("The", "plan"), "title", top=8 * million)
        + footer
    )
    content = read_pptx(pptx(slide, shape("Costs", "ctrTitle") + footer), "a.pptx")

    assert content.text == (
        "The\nplan\n\nTop\n\nLeft\n\nRight\n\nFirst of group\n\nSecond of group\n\nACME\n\nCosts"
    )
    assert content.headings == (Heading(0, "The plan"), Heading(len(content.text) - 5, "Costs"))
    assert content.places == (Place(0, "slide 1"), Place(len(content.text) - 5, "slide 2"))
    assert content.skipped == ()


# Bullets and numbers come from paragraphs, or from what the layout or the master says.
def test_bullets() -> None:
    number = '<a:buAutoNum type="{}"/>'
    own = shape(
        lines("One", "Two", properties=number.format("arabicPeriod"))
        + lines("Point", properties='<a:buChar char="•"/>')
        + lines("Again", properties=number.format("alphaLcParenBoth"))
        + lines("Plain"),
        top=50_000_000,
    )
    body = shape(
        lines("From the master") + lines("Bare", properties="<a:buNone/>"), "body", index=1
    )
    layout = TREE.format("<p:sldLayout", shape("", "body", top=1, index=1))
    master = (
        f"{TREE.format('<p:sldMaster', '')}<p:txStyles><p:bodyStyle><a:lvl1pPr><a:buChar/>"
        "</a:lvl1pPr></p:bodyStyle></p:txStyles>"
    )
    data = pptx(
        own + body,
        **{
            "ppt/slides/_rels/slide1.xml.rels": relations(("slideLayout", "../l.xml")),
            "ppt/l.xml": f"{layout}</p:sldLayout>",
            "ppt/_rels/l.xml.rels": relations(("slideMaster", "m.xml")),
            "ppt/m.xml": f"{master}</p:sldMaster>",
        },
    )

    assert read_pptx(data, "a.pptx").text == (
        "- From the master\n\nBare\n\n1. One\n2. Two\n- Point\n(a) Again\n\nPlain"
    )


# A placeholder without a place of its own has the one of its layout.
def test_places_of_the_layout() -> None:
    layout = shape("", "body", top=9_000_000, index=1) + shape("", "body", top=10, index=2)
    data = pptx(
        shape("Below", "body", top=-1, index=1) + shape("Above", "body", top=-1, index=2),
        **{
            "ppt/slides/_rels/slide1.xml.rels": relations(("slideLayout", "../l.xml")),
            "ppt/l.xml": f"{TREE.format('<p:sldLayout', layout)}</p:sldLayout>",
        },
    )

    assert read_pptx(data, "a.pptx").text == "Above\n\nBelow"


# Notes and comments, in the old form and the new one, stand behind their slide; hidden slides are
# read with a note.
def test_notes_and_comments() -> None:
    notes = shape("Say it slowly.", "body") + shape("7", "sldNum") + shape("", "sldImg")
    comments = f'<p:cmLst {NAMES}><p:cm authorId="1"><p:text>Too long?</p:text></p:cm></p:cmLst>'
    replies = (
        f'<n:cmLst xmlns:n="n" xmlns:a="{A}"><n:cm authorId="1"><n:replyLst><n:reply authorId="9">'
        f"<n:txBody>{lines('No.')}</n:txBody></n:reply></n:replyLst></n:cm></n:cmLst>"
    )
    data = pptx(
        "hidden" + shape("Plan", "title"),
        **{
            "ppt/_rels/presentation.xml.rels": relations(
                ("slide", "slides/slide1.xml"), ("commentAuthors", "authors.xml")
            ),
            "ppt/authors.xml": f'<p:l xmlns:p="{P}"><p:cmAuthor id="1" name="Ann"/></p:l>',
            "ppt/slides/_rels/slide1.xml.rels": relations(
                ("notesSlide", "n.xml"), ("comments", "c.xml"), ("comments", "d.xml")
            ),
            "ppt/slides/n.xml": f"{TREE.format('<p:notes', notes)}</p:notes>",
            "ppt/slides/c.xml": comments,
            "ppt/slides/d.xml": replies,
        },
    )
    content = read_pptx(data, "a.pptx")

    assert content.text == (
        "Plan\n\nNotes: Say it slowly.\n\n[Comment by Ann: Too long?]\n\n[Comment: No.]"
    )
    assert content.notes == ("Hidden slides are read, too: 1.",)


# Tables with merged cells, charts, formulas, superscripts and links are read.
def test_content() -> None:
    cells = (
        f'<a:tr><a:tc gridSpan="2"><a:txBody>{lines("Rent")}</a:txBody></a:tc><a:tc hMerge="1"/>'
        f"<a:tc><a:txBody>{lines('Tax')}</a:txBody></a:tc></a:tr><a:tr>"
        + "".join(f"<a:tc><a:txBody>{lines(one)}</a:txBody></a:tc>" for one in ("May", "5", "2"))
        + "</a:tr>"
    )
    chart = (
        f"<c:chartSpace {NAMES}><c:ser><c:tx><c:v>Wild</c:v></c:tx><c:cat><c:pt idx='0'><c:v>2019"
        "</c:v></c:pt></c:cat><c:val><c:pt idx='0'><c:v>120</c:v></c:pt></c:val></c:ser>"
        "</c:chartSpace>"
    )
    formula = (
        "<a:p><a:r><a:t>So </a:t></a:r><mc:AlternateContent><mc:Choice><m:oMath><m:sSup><m:e><m:r>"
        "<m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
        "</mc:Choice></mc:AlternateContent><a:r><a:t> of 10</a:t></a:r><a:r><a:rPr "
        'baseline="30000"/><a:t>6</a:t></a:r><a:r><a:rPr strike="sngStrike"/><a:t> no</a:t></a:r>'
        '<a:r><a:rPr><a:sym typeface="Wingdings"/></a:rPr><a:t>à</a:t></a:r>'
        '<a:r><a:t> at </a:t></a:r><a:r><a:rPr><a:hlinkClick r:id="r2"/></a:rPr><a:t>home</a:t>'
        "</a:r></a:p>"
    )
    slide = (
        graphic(f"<a:graphicData><a:tbl>{cells}</a:tbl></a:graphicData>")
        + graphic('<a:graphicData><c:chart r:id="r1"/></a:graphicData>')
        + f"<mc:AlternateContent><mc:Choice>{shape(formula)}</mc:Choice></mc:AlternateContent>"
    )
    data = pptx(
        slide,
        **{
            "ppt/slides/_rels/slide1.xml.rels": relations(
                ("chart", "../c.xml"), ("hyperlink", "https://example.org")
            ),
            "ppt/c.xml": chart,
        },
    )
    content = read_pptx(data, "a.pptx")

    assert content.text == (
        "Rent | Rent | Tax\nMay | 5 | 2\n\n| Wild\n2019 | 120\n\nSo x^2 of 10^6→ at home "
        "[home](https://example.org)"
    )
    assert [(one.part, one.reason) for one in content.skipped] == [
        ("slide 1", "1 struck passage: left out as deleted")
    ]


# Pictures without an alternative text, recordings and embedded objects are counted; a slide of
# nothing but pictures is named.
def test_skipped() -> None:
    film = picture("film", '<a:videoFile r:link="r1"/>')
    embedded = graphic("<a:graphicData><p:oleObj/></a:graphicData>")
    hidden = shape("Secret").replace('name="S"', 'name="S" hidden="1"')
    data = pptx(picture("A mill") + film + hidden + embedded, picture() + picture("mill.png"), "")
    content = read_pptx(data, "a.pptx")

    assert content.text == "A mill"
    assert [(one.part, one.reason.partition(": not")[0]) for one in content.skipped] == [
        ("slide 1", "1 recording"),
        ("slide 1", "1 hidden shape"),
        ("slide 1", "1 embedded object"),
        ("slide 2", "2 pictures"),
        ("slide 2", "has no text, only pictures"),
    ]


# A struck passage of two runs counts once; a date that is typed is read, one that is filled in not.
def test_struck_passages_and_dates() -> None:
    struck = '<a:r><a:rPr strike="sngStrike"/><a:t>{}</a:t></a:r>'
    phrase = f"<a:p>{struck.format('old ')}{struck.format('words')}<a:r><a:t>New</a:t></a:r></a:p>"
    filled = '<a:p><a:fld type="datetime1"><a:t>4 May 2024</a:t></a:fld></a:p>'
    typed = shape("Berlin, 3 May 2024", "dt", top=9)
    content = read_pptx(pptx(shape(phrase) + typed, typed + shape(filled, "dt")), "a.pptx")

    assert content.text == "New\n\nBerlin, 3 May 2024"
    assert [one.reason for one in content.skipped] == ["1 struck passage: left out as deleted"]


# An unreadable slide is named, the others are read.
def test_damaged_slides() -> None:
    content = read_pptx(pptx(shape("One"), "<p:sp>", shape("Three")), "a.pptx")

    assert (content.text, content.places[2]) == ("One\n\nThree", Place(5, "slide 3"))
    assert [(one.part, one.reason) for one in content.skipped] == [("slide 2", "cannot be read")]


# An old or damaged file is refused with the reason; other kinds of presentations are read.
def test_kinds_of_files(tmp_path: Path) -> None:
    data = pptx(shape("Plan"))

    assert all(reasons(write(tmp_path / f"a{one}", data)) == [] for one in (".ppsx", ".pptm"))
    for broken, message in (
        (b"PK\3\4", "cannot be read, it is damaged"),
        (pptx("<p:sp>"), "no slide that can be read"),
        (pptx("<p:grpSp>" * 2_000 + "</p:grpSp>" * 2_000), "no slide that can be read"),
        (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "protected by a password or an old .ppt file"),
        (pptx(""), "no text in it"),
    ):
        (reason,) = reasons(write(tmp_path / "b.pptx", broken))
        assert message in reason


# Slides, layouts and charts that are named again and again are read once; entities are refused.
def test_attacks(tmp_path: Path) -> None:
    began = time.monotonic()
    many = "".join('<p:sldId r:id="r1"/>' for _ in range(20_000))
    repeated = {
        "ppt/presentation.xml": f"<p:presentation {NAMES}><p:sldIdLst>{many}</p:sldIdLst>"
        "</p:presentation>",
        "ppt/slides/_rels/slide1.xml.rels": relations(("slideLayout", "slide1.xml")),
        "ppt/slides/_rels/slide2.xml.rels": relations(("slideLayout", "slide2.xml")),
    }
    content = read_pptx(pptx(shape("word " * 10_000, "title"), **repeated), "a.pptx")
    notes = {
        f"ppt/slides/_rels/slide{number}.xml.rels": relations(
            ("notesSlide", "n.xml"), ("comments", "c.xml")
        )
        for number in range(1, 101)
    }
    long = "word " * 5_000
    spoken = f"{TREE.format('<p:notes', shape(long, 'body'))}</p:notes>"
    said = f"<p:l {NAMES}><p:cm><p:text>{long}</p:text></p:cm></p:l>"
    parts = {"ppt/slides/n.xml": spoken, "ppt/slides/c.xml": said}
    shared = pptx(*[shape("One")] * 100, **notes, **parts)
    assert read_pptx(shared, "a.pptx").text.count("word") == 10_000
    entity = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
    slide = f"{entity}<p:sld {NAMES}>{lines('&x;')}</p:sld>"
    data = pptx("", **{"ppt/slides/slide1.xml": slide})

    assert content.text.count("word") == 10_000
    assert "damaged" in reasons(write(tmp_path / "a.pptx", data))[0]
    assert time.monotonic() - began < 20
