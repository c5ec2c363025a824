"""Files of each format become documents, or say in one sentence why not."""

import io
import os
import sys
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pypdf
import pytest

from graphreader.errors import DocumentError
from graphreader.ingestion.loading import formats
from graphreader.ingestion.loading.content import document_of
from graphreader.ingestion.loading.formats import (
    load,
    read_docx,
    read_epub,
    read_markdown,
    read_pdf,
)
from graphreader.ingestion.loading.html import read_html
from tests.unit.loading import nobody, write


# A document is one path in one corpus: its id comes from both, links resolved.
def test_identity(tmp_path: Path) -> None:
    path = write(tmp_path / "joan_of_arc.v2.txt")
    (tmp_path / "link.txt").symlink_to(path)
    document = load(path, "saints")
    expected = sha256(f"saints\0{path.resolve()}".encode()).hexdigest()[:24]

    assert (document.id, document.title) == (expected, "joan_of_arc.v2")
    assert (document.corpus, document.source) == ("saints", str(path.resolve()))
    assert document.sha256 == sha256(b"Joan was born.\n").hexdigest()
    assert load(tmp_path / "link.txt", "saints").id == document.id
    assert load(path, "others").id != document.id


# The text is what open() reads: line ends are newlines, and a byte order mark stays.
@pytest.mark.parametrize("name", ["a.txt", "a.md"])
@pytest.mark.parametrize(
    "data",
    [
        b"a\r\nb\rc\nd",
        "\ufeffJoan of Arc\r\n".encode(),
        "却说唐太宗\u2028…😀\x0b\x85x".encode(),
        b"\r\r\n\n\rx",
        b"---\r\ntitle: x\r\n---\r\n# A #\r\n",
        "مرحبا بالعالم e\u0301 \u202eabc".encode(),
    ],
)
def test_text_is_what_open_reads(tmp_path: Path, name: str, data: bytes) -> None:
    path = write(tmp_path / name, data)

    assert load(path, "c").text == path.read_text(encoding="utf-8")


# What is no text is refused with one sentence that names the file, the reason and the way out.
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"", "has no text in it"),
        ("a.txt", b" \n\t\n", "has no text in it"),
        ("a.txt", b"\xef\xbb\xbf\n", "has no text in it"),
        ("a.md", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\6\0\0\0", "is binary"),
        ("a.txt", sha256(b"x").digest() * 40, "is binary"),
        ("a.txt", b"\0" * 50, "is binary"),
        ("a.xyz", b"text", r"is not a \.docx, \.epub, .*\.txt or \.xhtml file"),
        ("a", b"text", "and no other is supported"),
    ],
)
def test_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = write(tmp_path / name, data)
    with pytest.raises(DocumentError, match=message) as caught:
        load(path, "c")

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


# A missing file, a folder, a pipe, a path that cannot be, a file of others: each says what it is.
def test_not_a_readable_file(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.txt")
    secret.chmod(0)
    os.mkfifo(tmp_path / "pipe.txt")
    for path, message in (
        (tmp_path / "missing.txt", "does not exist"),
        (tmp_path, "is a folder, not a file"),
        (tmp_path / "pipe.txt", "is not a regular file"),
        (tmp_path / ("n" * 300 + ".txt"), "cannot be opened"),
        (tmp_path / "nul\0.txt", "cannot be opened"),
        (secret / "a.txt", "cannot be opened"),
    ):
        with pytest.raises(DocumentError, match=message):
            load(path, "c")
    with nobody(), pytest.raises(DocumentError, match=r"cannot be opened \(Permission denied\)"):
        load(secret, "c")


# A file of exactly the limit is read; one byte more is too large, and both sizes are said.
def test_too_large(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"x" * 2**20)

    assert len(load(path, "c", max_bytes=2**20).text) == 2**20
    with pytest.raises(DocumentError, match=r"has 1\.0 MiB, more than the limit of 0\.5 MiB"):
        load(path, "c", max_bytes=2**19)


def headings(text: str) -> list[str]:
    found = read_markdown(text.encode(), "a.md").headings
    for start, title in found:
        assert title in text[start : start + len(title) + 12]
    return [title for _, title in found]


# A front matter becomes metadata and gives the title; the text stays whole.
def test_front_matter() -> None:
    text = "---\ntitle: The Seine\ndate: 2024-03-01\ntags: [river, 2]\nx: .nan\n---\n# One\nText.\n"
    content = read_markdown(text.encode(), "a.md")
    document = document_of(content, "a", "c", "/a.md")

    assert document.text == text
    assert document.title == "The Seine"
    assert document.metadata == {
        "title": "The Seine",
        "date": "2024-03-01",
        "tags": ["river", 2],
        "x": "nan",
    }
    assert document.headings == ((text.index("# One"), "One"),)
    assert document.skipped == ()


# A front matter that is none is text like any other; one that is broken is reported.
@pytest.mark.parametrize(
    ("text", "reported", "found"),
    [
        ("---\nJust a line.\n---\n\n# A\n", 0, ["Just a line.", "A"]),
        ("---\n# A\n", 0, ["A"]),
        ("text\n\n---\na: 1\n---\n", 0, ["a: 1"]),
        ("---\na: [1\n---\n# A\n", 1, ["A"]),
        ("---\nd: 2024-13-45\n---\n# A\n", 1, ["A"]),
        ("---\na: !!python/object/apply:os.getcwd []\n---\n# A\n", 1, ["A"]),
        (f"---\na: {'x' * 70_000}\n---\n# A\n", 1, ["A"]),
        ("---\na: !!bool maybe\n---\n# A\n", 1, ["A"]),
        ("---\na: !!int ''\n---\n# A\n", 1, ["A"]),
        ("---\na: !!timestamp foo\n---\n# A\n", 1, ["A"]),
    ],
)
def test_no_front_matter(text: str, reported: int, found: list[str]) -> None:
    content = read_markdown(text.encode(), "a.md")

    assert content.metadata == {}
    assert len(content.skipped) == reported
    assert [title for _, title in content.headings][-len(found) :] == found


# Headings are marked with # or underlined; what only looks so is none.
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# One\n## Two ##\n###### Six\n", ["One", "Two", "Six"]),
        ("#hash\n####### seven\n    # code\n#\n", []),
        ("   # C#\n# F # #\n", ["C#", "F #"]),
        ("One\n===\n\nTwo\n---\n", ["One", "Two"]),
        ("\n---\n\n- item\n---\n> quote\n---\n| a |\n---\n", []),
        ("```\n# code\n```\n# One\n~~~ python\n# code\n```\n~~~~\n# Two", ["One", "Two"]),
        ("````\n```\n# code\n````\n# One\n", ["One"]),
        ("```never closed\n# code\n", []),
        ("`inline` # no\n# `code` *here*\n", ["`code` *here*"]),
        ("# 标题\n正文\n", ["标题"]),
    ],
)
def test_headings(text: str, found: list[str]) -> None:
    assert headings(text) == found


# Lines that are all marks and spaces take no more time than others.
def test_long_lines() -> None:
    evil = "# a" + " " * 200_000 + "#" * 200_000 + " x\n" + "---\n" + "`" * 200_000 + "\n"

    assert len(headings(evil)) == 1


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

PACKAGE = "http://schemas.openxmlformats.org/package/2006"

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"


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
        (read_html, b"<p>One.<![so[ <p>Two.", "cannot be read as HTML .*damaged"),
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
