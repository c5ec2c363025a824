"""Zip archives that hold a document (Office files, EPUB), with a limit of their unpacked size."""

import re
from collections.abc import Iterable
from io import BytesIO
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from graphreader.errors import DocumentError

MAX_UNPACKED = 32 * 1024 * 1024
"""Largest unpacked size of the parsed files of an archive in bytes: XML takes forty times its size
in memory.

All entries that begin like markup are counted, since a manifest can name any file.
"""

_PARSED = (".xml", ".rels", ".opf", ".ncx", ".html", ".xhtml", ".htm")
_ENCRYPTED = 1  # flag of a zip entry
_DUBLIN_CORE = re.compile(
    "title|creator|subject|description|publisher|contributor|date|language|identifier|created"
    "|modified|keywords"
)


def open_archive(data: bytes, shown: str, limit: int | None = None) -> ZipFile:
    """Open a zip archive. Raises DocumentError where its parsed files have more bytes than `limit`.

    The limit is by default MAX_UNPACKED.
    """
    archive = ZipFile(BytesIO(data))
    parsed = (one.filename for one in archive.infolist() if _is_parsed(archive, one))
    check_unpacked(archive, parsed, shown, limit)
    return archive


def _is_parsed(archive: ZipFile, entry: ZipInfo) -> bool:
    if entry.flag_bits & _ENCRYPTED:
        return False  # no parser reads it either
    unusual = entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED)
    if unusual or entry.filename.lower().endswith(_PARSED):
        return True
    with archive.open(entry) as file:
        start = file.read(1000).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
    return not start or start.startswith(b"<")


def check_unpacked(
    archive: ZipFile, names: Iterable[str], shown: str, limit: int | None = None
) -> None:
    """Raise DocumentError if the entries have more than `limit` bytes, by default MAX_UNPACKED."""
    entries = archive.NameToInfo
    size = sum(entries[name].file_size for name in names if name in entries)
    if size > (MAX_UNPACKED if limit is None else limit):
        raise DocumentError(
            f"{shown} holds {size / 2**20:,.0f} MiB when it is unpacked, more than can be read: "
            "cut it into smaller files."
        )


def xml_metadata(archive: ZipFile, name: str) -> dict[str, str | list[str]]:
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
