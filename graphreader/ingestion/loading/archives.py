"""DOCX and EPUB: zip archives of markup.

A DOCX is turned into HTML by mammoth. An EPUB is a list of pages, read in their order. An archive
that would grow too large is refused before it is unpacked.
"""

import posixpath
import re
from collections.abc import Iterator
from io import BytesIO
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from graphreader.documents import Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import Content, joined
from graphreader.ingestion.loading.markup import read_html
from graphreader.ingestion.loading.optional import optional

MAX_UNPACKED = 256 * 1024 * 1024
MAX_XML = 32 * 1024 * 1024
"""Bytes of the XML in a DOCX: all of it is held in memory, at forty times its size."""

_OLD_OFFICE = b"\xd0\xcf\x11\xe0"  # how .doc begins, and .docx with a password
_STYLES = "p[style-name='Title'] => h1:fresh"
_TOLD = re.compile(  # of the whole, in words of the Dublin Core
    "title|creator|subject|description|publisher|contributor|date|language|identifier|created"
    "|modified|keywords"
)


def read_docx(data: bytes, shown: str) -> Content:
    """The text of a Word document: paragraphs, lists, tables, notes at the end.

    What it tells of itself is metadata; its title is not taken, it is rarely the text's.
    """
    mammoth = optional("mammoth", shown)
    if data.startswith(_OLD_OFFICE):
        raise DocumentError(
            f"{shown} is protected by a password or an old .doc file: save it as .docx without one."
        )
    try:
        with _opened(data, shown, MAX_XML) as archive:
            metadata = _told(archive, "docProps/core.xml")
        html = mammoth.convert_to_html(
            BytesIO(data),
            style_map=_STYLES,
            include_embedded_style_map=False,
            convert_image=mammoth.images.img_element(lambda image: {}),
        )
    except DocumentError:
        raise
    except Exception as error:  # mammoth has no exceptions of its own
        raise _damaged(shown, "DOCX", error) from error
    content = read_html(html.value.encode(), shown)
    return Content(content.text, metadata=metadata, headings=content.headings)


def read_epub(data: bytes, shown: str) -> Content:
    """The text of an electronic book: its pages in their order, titled as it says."""
    try:
        with _opened(data, shown) as archive:
            package = _package(archive)
            metadata = _told(archive, package)
            parts, skipped = _pages(archive, package, shown)
    except DocumentError:
        raise
    except Exception as error:  # of zip files, of XML, of what is missing in them
        raise _damaged(shown, "EPUB", error) from error
    if skipped and not parts:
        raise DocumentError(
            f"{shown} has no page that can be read ({skipped[0].reason}): is it protected?"
        )
    text, starts = joined([part.text for part in parts])
    headings = [
        (start + at, heading)
        for start, part in zip(starts, parts, strict=True)
        for at, heading in part.headings
    ]
    title = metadata.get("title", "")
    return Content(
        text,
        title if isinstance(title, str) else title[0],
        metadata,
        headings=tuple(headings),
        skipped=tuple(skipped),
    )


def _opened(data: bytes, shown: str, max_xml: int = MAX_UNPACKED) -> ZipFile:
    """The archive, if it is not too large when unpacked."""
    archive = ZipFile(BytesIO(data))
    sizes = [(one.filename, one.file_size) for one in archive.infolist()]
    whole = sum(size for _, size in sizes)
    xml = sum(size for name, size in sizes if name.lower().endswith((".xml", ".rels")))
    if whole > MAX_UNPACKED or xml > max_xml:
        raise DocumentError(
            f"{shown} holds {whole / 2**20:,.0f} MiB when it is unpacked, more than can be read: "
            "cut it into smaller files."
        )
    return archive


def _told(archive: ZipFile, name: str) -> dict[str, str | list[str]]:
    """What the XML file of that name tells of the whole, as far as it does; lists where twice."""
    found: dict[str, list[str]] = {}
    try:
        root = ElementTree.fromstring(archive.read(name))
    except (KeyError, ElementTree.ParseError):
        return {}
    for element in root.iter():
        tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        value = " ".join((element.text or "").split())
        if _TOLD.fullmatch(tag) and value and value not in found.setdefault(tag, []):
            found[tag].append(value)
    return {tag: values[0] if len(values) == 1 else values for tag, values in found.items()}


def _package(archive: ZipFile) -> str:
    """The file that lists the pages."""
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    return next(one.attrib["full-path"] for one in container.iter() if "full-path" in one.attrib)


def _pages(archive: ZipFile, package: str, shown: str) -> tuple[list[Content], list[Skipped]]:
    """The pages of the book, and those that cannot be read."""
    parts: list[Content] = []
    skipped: list[Skipped] = []
    for name in _names_of_pages(archive, package):
        try:
            part = read_html(archive.read(name), name)
        except Exception as error:  # one page, of which there are many
            skipped.append(Skipped(name, f"cannot be read ({str(error) or type(error).__name__})"))
            continue
        skipped += [Skipped(f"{name}, {one.part}", one.reason) for one in part.skipped]
        if part.text:
            parts.append(part)
    return parts, skipped


def _names_of_pages(archive: ZipFile, package: str) -> Iterator[str]:
    """The names of the pages in their order, each once."""
    root = ElementTree.fromstring(archive.read(package))
    folder = posixpath.dirname(package)
    files = {
        one.attrib["id"]: one.attrib["href"]
        for one in root.iter()
        if {"id", "href", "media-type"} <= one.attrib.keys() and "html" in one.attrib["media-type"]
    }
    order = [one.attrib["idref"] for one in root.iter() if "idref" in one.attrib]
    for id_ in dict.fromkeys(order):
        if id_ in files:
            yield posixpath.normpath(posixpath.join(folder, unquote(files[id_])))


def _damaged(shown: str, form: str, error: Exception) -> DocumentError:
    why = " ".join(str(error).split()) or type(error).__name__
    return DocumentError(f"{shown} cannot be read as {form} ({why[:200]}): is it damaged?")
