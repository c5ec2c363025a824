"""The table of all file formats, and the parsers of PDF, DOCX and EPUB.

READERS maps each file extension to a function from bytes to `Content`; a file without an extension
is plain text. An unreadable file raises a DocumentError with the remedy. A PDF needs a text layer.
"""

import logging
import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from graphreader.documents import Document, Heading, Skipped
from graphreader.errors import DocumentError
from graphreader.files import file_source
from graphreader.ingestion.loading.content import (
    MAX_HEADINGS,
    Content,
    clean,
    document_of,
    join_parts,
    read_as,
    read_text,
)
from graphreader.ingestion.loading.html import declared_encoding, read_html
from graphreader.ingestion.loading.markdown import read_markdown
from graphreader.ingestion.loading.parser_process import FileParser, parse
from graphreader.ingestion.loading.records import read_email, read_json, read_table

MAX_BYTES = 64 * 1024 * 1024


def load(
    path: Path,
    corpus: str,
    real: str = "",
    source: str = "",
    *,
    encoding: str = "",
    parse: FileParser = parse,
) -> Document:
    """Load a file as one document of `corpus`. Raises DocumentError, or a library's error.

    The title is taken from the file, else from its name; `source` is by default the absolute path
    with links resolved. `encoding` is that of texts that do not declare one, "" if it is to be
    recognized. `parse` parses the bytes.
    """
    shown = clean(source or str(path))
    with open_file(path, shown, real) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise DocumentError(
            f"{shown} has more than the limit of {MAX_BYTES / 2**20:,.0f} MiB: cut it into smaller "
            "files."
        )
    suffix = path.suffix.lower() or ".txt"
    reader, read = READERS[suffix], partial(parse, suffix)
    declares = reader is read_html and declared_encoding(data)
    if encoding and reader in _ENCODED and not declares:
        content = read_as(encoding, read, data, shown)
    else:
        content = read(data, shown)
    return document_of(content, path.stem, corpus, source or file_source(path), shown)


@contextmanager
def open_file(path: Path, shown: str, real: str = "") -> Iterator[BinaryIO]:
    """Open a regular file of a known format for reading bytes. Raises DocumentError.

    If `real` is given, the opened file must be at this path, which contains no link.
    """
    try:
        if path.is_dir():
            os.listdir(path)  # raises if the folder cannot be opened
            raise DocumentError(
                f"{shown} holds no {_FORMATS} file that is wanted: name a folder that does, other "
                "patterns, or the files themselves."
            )
        found = os.stat(path)
        if path.suffix and path.suffix.lower() not in SUFFIXES:
            raise DocumentError(
                f"{shown} is not a {_FORMATS} file, and no other is supported: save its text as "
                "one of these."
            )
        _check_regular(found, shown)  # even opening a device may have an effect
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NONBLOCK)) as file:
            status = os.fstat(file.fileno())  # the path may have changed meanwhile
            _check_regular(status, shown)
            if real and not (
                os.path.realpath(path) == real and os.path.samestat(status, os.lstat(real))
            ):
                raise DocumentError(
                    f"{shown} now leads to another file than when the reading began: read it in "
                    "again."
                )
            yield file
    except FileNotFoundError:
        raise DocumentError(f"{shown} does not exist: check the path.") from None
    except OSError as error:
        raise DocumentError(
            f"{shown} cannot be opened ({error.strerror}): check the path and its permissions."
        ) from None


_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_SYSTEM = ("/proc", "/sys")  # their files reveal the environment of processes, with API keys


def _check_regular(status: os.stat_result, shown: str) -> None:
    """Raise DocumentError for anything but a regular file outside of /proc and /sys."""
    system = {os.stat(folder).st_dev for folder in _SYSTEM if os.path.ismount(folder)}
    if not stat.S_ISREG(status.st_mode) or status.st_dev in system:
        raise DocumentError(f"{shown} is not a regular file: copy its text into one.")


def _optional_package(name: str, shown: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise DocumentError(f"{shown} needs a further package: pip install {package}") from error


_PDF_METADATA = ("title", "author", "subject", "keywords", "creation_date")


def read_pdf(data: bytes, shown: str) -> Content:
    """Parse a PDF: the pages' text, with the outline as headings.

    The title in the metadata is ignored: it is rarely the title of the text.
    """
    pypdf = _optional_package("pypdf", shown)
    logger = logging.getLogger("pypdf")
    if not logger.handlers:  # without logging, its warnings would go to stderr
        logger.addHandler(logging.NullHandler())
    reader = pypdf.PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentError(f"{shown} is protected by a password: save it without one.")
    pages: list[str] = []
    skipped: list[Skipped] = []
    for index in range(len(reader.pages)):
        try:
            pages.append(clean(reader.pages[index].extract_text().strip()))
        except Exception:  # one unreadable page of perhaps hundreds
            pages.append("")
            skipped.append(Skipped(f"page {index + 1}", "cannot be read"))
    if not any(pages):
        why = "no page that can be read" if skipped else "no text, only pictures"
        raise DocumentError(f"{shown} has {why}: run OCR on it first, for example with ocrmypdf.")
    text, starts = join_parts(pages)
    metadata = {}
    for name in _PDF_METADATA:
        with suppress(Exception):  # an invalid date makes neither pages nor author unreadable
            metadata[name] = getattr(reader.metadata, name, None)
    return Content(
        text,
        metadata={name: value for name, value in metadata.items() if value},
        page_starts=tuple(starts),
        headings=tuple(sorted(_pdf_headings(reader, pages, starts), key=lambda one: one.start)),
        skipped=tuple(skipped),
    )


def _pdf_headings(reader: Any, pages: list[str], starts: list[int]) -> Iterator[Heading]:
    """Yield the outline's entries, each at its words on the page, else at the page's start."""
    try:
        entries = list(_outline_entries(reader.outline))[: MAX_HEADINGS + 1]
    except Exception:  # a broken outline does not make the text unreadable
        return
    for level, entry in entries:
        try:
            page = reader.get_destination_page_number(entry)
            title = " ".join(clean(str(entry.title)).split())
        except Exception:
            continue
        if title and page is not None and 0 <= page < len(pages):
            yield Heading(starts[page] + max(pages[page].find(title), 0), title, level)


def _outline_entries(outline: Any, level: int = 1) -> Iterator[tuple[int, Any]]:
    """Yield the entries of an outline with their levels from 1; deeper lists are one level down."""
    for entry in outline:
        if isinstance(entry, list):
            yield from _outline_entries(entry, level + 1)
        else:
            yield level, entry


MAX_UNPACKED = 32 * 1024 * 1024
"""Largest unpacked size of the parsed files of a DOCX or EPUB in bytes: XML takes forty times its
size in memory.

All entries that begin like markup are counted, since a manifest can name any file.
"""

_PARSED = (".xml", ".rels", ".opf", ".ncx", ".html", ".xhtml", ".htm")
_ENCRYPTED = 1  # flag of a zip entry
_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0"  # beginning of .doc, and of .docx with a password
_STYLES = "p[style-name='Title'] => h1:fresh"
_DUBLIN_CORE = re.compile(
    "title|creator|subject|description|publisher|contributor|date|language|identifier|created"
    "|modified|keywords"
)


def read_docx(data: bytes, shown: str) -> Content:
    """Parse a Word document, converted to HTML by mammoth; its notes stand at the end.

    Items of lists have bullets, since mammoth counts numbers anew in each part of a list.
    """
    mammoth = _optional_package("mammoth", shown)
    if data.startswith(_OLE_SIGNATURE):
        raise DocumentError(
            f"{shown} is protected by a password or an old .doc file: save it as .docx without one."
        )
    with _open_archive(data, shown) as archive:
        metadata = _xml_metadata(archive, "docProps/core.xml")
    html = mammoth.convert_to_html(
        BytesIO(data),
        style_map=_STYLES,
        include_embedded_style_map=False,
        convert_image=mammoth.images.img_element(lambda image: {}),
    )
    bullets = html.value.replace("<ol>", "<ul>").replace("</ol>", "</ul>")  # it knows no numbers
    content = read_html(bullets.encode(), shown)
    return Content(content.text, metadata=metadata, headings=content.headings)


def read_epub(data: bytes, shown: str) -> Content:
    """Parse an EPUB book: its pages in reading order, with title and metadata."""
    with _open_archive(data, shown) as archive:
        container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
        package = next(
            one.attrib["full-path"] for one in container.iter() if "full-path" in one.attrib
        )
        metadata = _xml_metadata(archive, package)
        names = list(dict.fromkeys(_epub_page_names(archive, package)))
        _check_unpacked(archive, names, shown)
        parts, skipped = _epub_pages(archive, names)
    if skipped and not parts:
        raise DocumentError(
            f"{shown} has no page that can be read, it is damaged or protected: save it anew."
        )
    text, starts = join_parts([part.text for part in parts])
    headings = (
        heading._replace(start=start + heading.start)
        for start, part in zip(starts, parts, strict=True)
        for heading in part.headings
    )
    title = metadata.get("title", "")
    return Content(
        text,
        title if isinstance(title, str) else title[0],
        metadata,
        headings=tuple(headings),
        skipped=tuple(skipped),
    )


def _open_archive(data: bytes, shown: str) -> ZipFile:
    """Open a zip archive. Raises DocumentError where it is too large when unpacked."""
    archive = ZipFile(BytesIO(data))
    parsed = (one.filename for one in archive.infolist() if _is_parsed(archive, one))
    _check_unpacked(archive, parsed, shown)
    return archive


def _is_parsed(archive: ZipFile, entry: ZipInfo) -> bool:
    if entry.filename.lower().endswith(_PARSED):
        return True
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return False  # no parser reads it either
    with archive.open(entry) as file:
        start = file.read(1000).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
    return not start or start.startswith(b"<")


def _check_unpacked(archive: ZipFile, names: Iterable[str], shown: str) -> None:
    """Raise DocumentError if the entries have more than MAX_UNPACKED bytes in total."""
    entries = archive.NameToInfo
    size = sum(entries[name].file_size for name in names if name in entries)
    if size > MAX_UNPACKED:
        raise DocumentError(
            f"{shown} holds {size / 2**20:,.0f} MiB when it is unpacked, more than can be read: "
            "cut it into smaller files."
        )


def _xml_metadata(archive: ZipFile, name: str) -> dict[str, str | list[str]]:
    """Read the Dublin Core elements of an XML file; a repeated element gives a list."""
    values: dict[str, list[str]] = {}
    try:
        root = ElementTree.fromstring(archive.read(name))
    except (KeyError, ElementTree.ParseError):
        return {}
    for element in root.iter():
        tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        value = " ".join((element.text or "").split())
        if _DUBLIN_CORE.fullmatch(tag) and value and value not in values.setdefault(tag, []):
            values[tag].append(value)
    return {tag: texts[0] if len(texts) == 1 else texts for tag, texts in values.items()}


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


READERS: dict[str, Callable[[bytes, str], Content]] = {
    ".csv": read_table,
    ".docx": read_docx,
    ".eml": read_email,
    ".epub": read_epub,
    ".htm": read_html,
    ".html": read_html,
    ".json": read_json,
    ".log": read_text,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".mdx": read_markdown,
    ".org": read_text,
    ".pdf": read_pdf,
    ".rst": read_text,
    ".srt": read_text,
    ".tex": read_text,
    ".tsv": read_table,
    ".txt": read_text,
    ".vtt": read_text,
    ".xhtml": read_html,
}


# Formats in the encoding that the user names; the others say theirs.
_ENCODED = (read_html, read_json, read_markdown, read_table, read_text)

JSON_LINES = ".jsonl"  # a file of many documents, see sources.py
SUFFIXES = tuple(sorted((*READERS, JSON_LINES)))
_FORMATS = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
