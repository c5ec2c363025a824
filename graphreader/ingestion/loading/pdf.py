"""The parser of PDF files. A PDF needs a text layer."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any

from graphreader.documents import Heading, Place, Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import (
    MAX_HEADINGS,
    Content,
    clean,
    join_parts,
    optional_package,
)

_PDF_METADATA = ("title", "author", "subject", "keywords", "creation_date")


def read_pdf(data: bytes, shown: str) -> Content:
    """Parse a PDF: the pages' text, with the outline as headings.

    The title in the metadata is ignored: it is rarely the title of the text.
    """
    pypdf = optional_package("pypdf", shown)
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
        places=Place.pages(starts),
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
