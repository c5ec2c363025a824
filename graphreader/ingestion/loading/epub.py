"""The parser of EPUB books."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from graphreader.documents import Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.archives import check_unpacked, open_archive, xml_metadata
from graphreader.ingestion.loading.content import Content, join_contents
from graphreader.ingestion.loading.html import read_html


def read_epub(data: bytes, shown: str) -> Content:
    """Parse an EPUB book: its pages in reading order, with title and metadata."""
    with open_archive(data, shown) as archive:
        container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
        package = next(
            one.attrib["full-path"] for one in container.iter() if "full-path" in one.attrib
        )
        metadata = xml_metadata(archive, package)
        names = list(dict.fromkeys(_epub_page_names(archive, package)))
        check_unpacked(archive, names, shown)
        parts, skipped = _epub_pages(archive, names)
    if skipped and not parts:
        raise DocumentError(
            f"{shown} has no page that can be read, it is damaged or protected: save it anew."
        )
    title = metadata.get("title", "")
    return replace(
        join_contents(parts),
        title=title if isinstance(title, str) else title[0],
        metadata=metadata,
        skipped=tuple(skipped),
    )


def _epub_pages(archive: ZipFile, names: Sequence[str]) -> tuple[list[Content], list[Skipped]]:
    """Parse the pages of a book; return those with text, and the unreadable pages."""
    parts: list[Content] = []
    skipped: list[Skipped] = []
    for name in names:
        try:
            part = read_html(archive.read(name), name)
        except Exception:  # one unreadable page of many
            skipped.append(Skipped(name, "cannot be read"))
            continue
        skipped += [Skipped(f"{name}, {one.part}", one.reason) for one in part.skipped]
        if part.text:
            parts.append(part)
    return parts, skipped


def _epub_page_names(archive: ZipFile, package: str) -> Iterator[str]:
    root = ElementTree.fromstring(archive.read(package))
    folder = posixpath.dirname(package)
    files = {
        one.attrib["id"]: one.attrib["href"]
        for one in root.iter()
        if {"id", "href", "media-type"} <= one.attrib.keys() and "html" in one.attrib["media-type"]
    }
    for one in root.iter():
        if one.attrib.get("idref") in files:
            yield posixpath.normpath(posixpath.join(folder, unquote(files[one.attrib["idref"]])))
