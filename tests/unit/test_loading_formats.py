"""HTML, DOCX, EPUB and PDF become text, with what is told of them."""

import io
import sys
import zipfile
from collections.abc import Sequence
from typing import Any

import pypdf
import pytest

from graphreader.errors import DocumentError
from graphreader.ingestion.loading import formats
from graphreader.ingestion.loading.content import Content, join_parts
from graphreader.ingestion.loading.formats import read_docx, read_epub, read_pdf
from graphreader.ingestion.loading.html import read_html

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"


def html(body: str) -> Content:
    return read_html(body.encode(), "a.html")


def zipped(**files: str | bytes) -> bytes:
    """A zip archive; "__" stands for "/" in names."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def docx(body: str, **more: str) -> bytes:
    return zipped(
        **{
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/styles.xml": f'<w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" '
            'w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="r1" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body>'
            "</w:document>",
            **more,
        }
    )


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def epub(pages: dict[str, str | bytes], order: Sequence[str], about: str = "") -> bytes:
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in order
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in order)
    return zipped(
        **{
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": "<container><rootfiles>"
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": f'<package xmlns:dc="{DUBLIN_CORE}"><metadata>{about}</metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{f"OEBPS/{name}.xhtml": page for name, page in pages.items()},
        }
    )


def pdf(*pages: str, broken: Sequence[int] = (), outline: Sequence[tuple[str, int]] = ()) -> bytes:
    """Pages of one line each; the streams of those in `broken` are none."""
    writer = pypdf.PdfWriter()
    for number, text in enumerate(pages, 1):
        page = writer.add_blank_page(300, 300)
        stream = pypdf.generic.StreamObject()
        stream.set_data(f"BT /F 12 Tf 20 200 Td ({text}) Tj ET".encode("latin-1"))
        name = pypdf.generic.NameObject
        if number in broken:
            stream[name("/Filter")] = name("/Unheard")
        page[name("/Contents")] = writer._add_object(stream)
        font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
        fonts = pypdf.generic.DictionaryObject(
            {
                name("/F"): pypdf.generic.DictionaryObject(
                    {name(key): name(value) for key, value in font.items()}
                )
            }
        )
        page[name("/Resources")] = pypdf.generic.DictionaryObject({name("/Font"): fonts})
    for title, number in outline:
        writer.add_outline_item(title, number - 1)
    writer.add_metadata({"/Title": "untitled.doc", "/Author": "Vera Holm"})
    data = io.BytesIO()
    writer.write(data)
    return data.getvalue()


# Blocks of a page become paragraphs; the title, the headings and what the head tells are kept.
def test_html() -> None:
    content = html(
        '<!doctype html><html lang="en"><head><title> The\n Seine </title>'
        '<meta name="author" content="Vera"><style>p {}</style><script>var a = "<p>no</p>"</script>'
        "</head><body><nav><ul><li>Home</ul></nav><h1>A <em>river</em></h1><p>It rises in\n"
        "<b>Burgundy</b>,&nbsp;near Dijon.<p>It is long.<br>Very.<br><br>Indeed, un&shy;usual."
        "<div hidden>secret</div><h2>End</h2>Le Havre</body></html>"
    )

    assert content.text == (
        "A river\n\nIt rises in Burgundy,\xa0near Dijon.\n\nIt is long.\nVery.\n\n"
        "Indeed, unusual.\n\nEnd\n\nLe Havre"
    )
    assert content.title == "The Seine"
    assert content.metadata == {"language": "en", "author": "Vera"}
    assert content.headings == ((0, "A river"), (content.text.index("End"), "End"))


# Lists and tables stay readable; a table that lays out a page becomes paragraphs.
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<ul><li>one<li>two<ul><li>deep</ul></ul>end", "- one\n- two\n- deep\n\nend"),
        ("<ol><li><p>one</p></li><li><p>two</p></li></ol>", "- one\n\n- two"),
        ("<table><tr><th>a<th>b<tr><td>1<td><p>2</p></table>", "a | b\n1 | 2"),
        ("<table><tr><td><td></tr></table>x", "x"),
        ("<table><tr><td><h2>A</h2>b<td>c</table>", "A\n\nb\n\nc"),
        (f"<table><tr><td><p>{'x' * 1001}</p><td>c</table>", f"{'x' * 1001}\n\nc"),
        ("<pre>\na\n  <b>b</b>\n</pre>", "a\n  b\n"),
        ("<p>a<span> b</span> <i> c</i>d</p>", "a b cd"),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\nb\nc\nd"),
        ("a<svg><title>icon</title></svg>b &lt;&amp;&#x4f60;", "ab <&你"),
        ("<p>never closed <b>bold", "never closed bold"),
        ("</p></div>stray", "stray"),
        ("<script src='a'/>after", "after"),
        ("no markup at all", "no markup at all"),
        ("", ""),
    ],
)
def test_html_blocks(body: str, text: str) -> None:
    assert html(body).text == text


# A page says its encoding itself; UTF-8 that is called otherwise is UTF-8 all the same.
def test_html_encoding() -> None:
    page = '<meta charset="{}"><p>却说 naïve'
    declared = read_html(page.format("gb2312").encode("gb18030"), "a.html")
    wrong = read_html(page.format("iso-8859-1").encode(), "a.html")

    assert declared.text == wrong.text == "却说 naïve"
    assert (declared.metadata, wrong.metadata) == ({"encoding": "gb18030"}, {})


# A Word document: styles by their names, tables as rows, pictures left out, what is told of it.
def test_docx() -> None:
    cells = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("Paris", "1431"))
    about = f'<p xmlns:dc="{DUBLIN_CORE}"><dc:creator>Vera</dc:creator><dc:title>T</dc:title></p>'
    data = docx(
        paragraph("Joan", "berschrift1") + paragraph("She was born.") + f"<w:tbl><w:tr>{cells}"
        "</w:tr></w:tbl>" + paragraph("End."),
        **{"docProps/core.xml": about},
    )
    content = read_docx(data, "a.docx")

    assert content.text == "Joan\n\nShe was born.\n\nParis | 1431\n\nEnd."
    assert content.headings == ((0, "Joan"),)
    assert content.metadata == {"creator": "Vera", "title": "T"}
    assert content.title == ""
    assert read_docx(docx(""), "a.docx").text == ""


# A book: its pages in their order, its headings where they stand, bad pages passed over.
def test_epub() -> None:
    pages: dict[str, str | bytes] = {
        "one": "<html><head><title>p1</title></head><body><h1>One</h1><p>Text.</p></body></html>",
        "two": '<?xml version="1.0"?><html><body><h1>Two</h1>More.</body></html>',
        "empty": "<html><body><nav>contents</nav></body></html>",
        "noise": b"\x00\x01\x02" * 50,
    }
    about = (
        "<dc:title>The Book</dc:title><dc:creator>A</dc:creator><dc:creator>B</dc:creator>"
        "<dc:date>1899</dc:date>"
    )
    content = read_epub(epub(pages, ("two", "empty", "noise", "one", "gone"), about), "a.epub")

    assert content.text == "Two\n\nMore.\n\nOne\n\nText."
    assert content.headings == ((0, "Two"), (content.text.index("One"), "One"))
    assert content.title == "The Book"
    assert content.metadata == {"title": "The Book", "creator": ["A", "B"], "date": "1899"}
    assert [one.part for one in content.skipped] == ["OEBPS/noise.xhtml", "OEBPS/gone.xhtml"]


# A PDF: where its pages begin, its outline as headings, what is told of it; a bad page is skipped.
def test_pdf(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    data = pdf(
        "Joan was born.", "", "broken", "She fought.", broken=[3], outline=[("fought", 4), ("A", 1)]
    )
    content = read_pdf(data, "a.pdf")

    assert content.text == "Joan was born.\n\nShe fought."
    assert content.page_starts == (0, 16, 16, 16)
    assert content.headings == ((0, "A"), (content.text.index("fought"), "fought"))
    assert content.metadata["author"] == "Vera Holm"
    assert content.title == ""
    assert [one.part for one in content.skipped] == ["page 3"]
    assert capfd.readouterr().err == ""


# What cannot be read says why, in one sentence with the file's name.
@pytest.mark.parametrize(
    ("read", "data", "message"),
    [
        (read_pdf, b"%PDF-1.7\n", "cannot be read as PDF .*damaged"),
        (read_pdf, b"no pdf", "cannot be read as PDF"),
        (read_pdf, pdf("Joan.")[:300], "cannot be read as PDF|no page can be read|only pictures"),
        (read_pdf, pdf("", ""), "no text, only pictures: run OCR"),
        (read_docx, b"PK\3\4", "cannot be read as DOCX .*damaged"),
        (read_docx, zipped(**{"a.txt": "x"}), "cannot be read as DOCX"),
        (read_docx, docx("<w:p>"), "cannot be read as DOCX"),
        (read_docx, b"\xd0\xcf\x11\xe0" + b"\0" * 600, "protected by a password or an old .doc"),
        (read_epub, zipped(mimetype="application/epub+zip"), "cannot be read as EPUB"),
        (read_epub, epub({"a": b"\0\1" * 99}, ["a"]), "no page that can be read"),
        (read_html, b"\0\1\2\3" * 99, "is binary"),
    ],
)
def test_unreadable(read: Any, data: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        read(data, "/a/file")

    assert "/a/file" in str(caught.value)
    assert "\n" not in str(caught.value)


# A PDF that only its owner may change is read; one that needs a password is refused.
@pytest.mark.parametrize(("password", "refused"), [("", False), ("secret", True)])
def test_encrypted_pdf(password: str, refused: bool) -> None:
    writer = pypdf.PdfWriter(io.BytesIO(pdf("Joan was born.")))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    data = io.BytesIO()
    writer.write(data)

    if refused:
        with pytest.raises(DocumentError, match="protected by a password: save it without one"):
            read_pdf(data.getvalue(), "a.pdf")
    else:
        assert read_pdf(data.getvalue(), "a.pdf").text == "Joan was born."


# What a small archive would unpack to is looked at first.
def test_zip_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_XML", 100_000)
    monkeypatch.setattr(formats, "MAX_UNPACKED", 200_000)
    large = docx(paragraph("x" * 100_001))
    book = epub({"a": "<p>" + "x" * 200_001}, ["a"])

    assert len(large) < 5_000
    with pytest.raises(DocumentError, match="when it is unpacked"):
        read_docx(large, "a.docx")
    with pytest.raises(DocumentError, match="when it is unpacked"):
        read_epub(book, "a.epub")


# Entities that stand for each other again and again are no way to fill the memory.
def test_xml_bombs() -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE x [<!ENTITY e0 "lol">{entities}]>'
    book = epub({"a": "<p>x</p>"}, ["a"], "<dc:title>&e11;</dc:title>")
    files = zipfile.ZipFile(io.BytesIO(book))
    opf = bomb + files.read("OEBPS/book.opf").decode()
    package = {name: files.read(name) for name in files.namelist()} | {"OEBPS/book.opf": opf}

    with pytest.raises(DocumentError, match="cannot be read as EPUB"):
        read_epub(zipped(**package), "a.epub")


# Without its package one sentence says what to install.
@pytest.mark.parametrize(("package", "read"), [("pypdf", read_pdf), ("mammoth", read_docx)])
def test_extra_missing(package: str, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(DocumentError, match=rf"a\.b needs .*: pip install {package}$"):
        read(b"", "a.b")


# Parts are joined by blank lines; an empty one begins where the next one does.
def test_joined() -> None:
    assert join_parts(["", "ab", "", "c", ""]) == ("ab\n\nc", [0, 0, 4, 4, 5])
    assert join_parts(["", ""]) == ("", [0, 0])
