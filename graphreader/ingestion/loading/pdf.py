"""PDF becomes text, page by page, by pypdf. What is only a picture of text is not read."""

import logging
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from graphreader.documents import Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import Content, joined
from graphreader.ingestion.loading.encodings import clean
from graphreader.ingestion.loading.optional import optional

_TOLD = ("title", "author", "subject", "keywords", "creation_date")
_MOST_HEADINGS = 5_000


def read_pdf(data: bytes, shown: str) -> Content:
    """The text of the pages, a blank line between them, and the outline's entries as headings.

    A page that cannot be read is skipped and counts as an empty one. What the file tells of itself
    is metadata; its title is not taken, it is rarely the text's. Raises DocumentError.
    """
    pypdf = optional("pypdf", shown)
    logger = logging.getLogger("pypdf")
    if not logger.handlers:  # else its complaints go to a terminal where nobody set up logging
        logger.addHandler(logging.NullHandler())
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        locked = reader.is_encrypted and not reader.decrypt("")
        number = 0 if locked else len(reader.pages)
    except pypdf.errors.DependencyError as error:
        raise DocumentError(
            f"{shown} is encrypted: save it without encryption, or pip install cryptography."
        ) from error
    except Exception as error:  # pypdf has its own, and many others slip through
        why = " ".join(str(error).split()) or type(error).__name__
        raise DocumentError(f"{shown} cannot be read as PDF ({why}): is it damaged?") from error
    if locked:
        raise DocumentError(f"{shown} is protected by a password: save it without one.")
    return _content(reader, number, shown)


def _content(reader: Any, number: int, shown: str) -> Content:
    """All pages, one after the other."""
    pages: list[str] = []
    skipped: list[Skipped] = []
    for index in range(number):
        try:
            pages.append(clean(reader.pages[index].extract_text().strip()))
        except Exception as error:  # one page, of which there may be hundreds
            pages.append("")
            why = " ".join(str(error).split()) or type(error).__name__
            skipped.append(Skipped(f"page {index + 1}", f"cannot be read ({why[:200]})"))
    if not any(pages):
        why = f"no page can be read ({skipped[0].reason})" if skipped else "no text, only pictures"
        raise DocumentError(f"{shown} has {why}: run OCR on it first, for example with ocrmypdf.")
    text, starts = joined(pages)
    return Content(
        text,
        metadata=_told(reader),
        page_starts=tuple(starts),
        headings=tuple(sorted(_headings(reader, pages, starts))),
        skipped=tuple(skipped),
    )


def _told(reader: Any) -> dict[str, Any]:
    """What the file tells of itself, as far as it can be read."""
    told = {}
    for name in _TOLD:
        try:
            value = getattr(reader.metadata, name, None)
        except Exception:  # a date that is none, a name that is no text
            continue
        if value:
            told[name] = value
    return told


def _headings(reader: Any, pages: list[str], starts: list[int]) -> Iterator[tuple[int, str]]:
    """The entries of the outline, where they stand on their page, else where it begins."""
    try:
        entries = list(_entries(reader.outline))[:_MOST_HEADINGS]
    except Exception:  # an outline is no reason to refuse a text
        return
    for entry in entries:
        try:
            page = reader.get_destination_page_number(entry)
            title = " ".join(clean(str(entry.title)).split())
        except Exception:
            continue
        if title and page is not None and 0 <= page < len(pages):
            yield starts[page] + max(pages[page].find(title), 0), title


def _entries(outline: Any) -> Iterator[Any]:
    """The entries of an outline and of all outlines in it."""
    for entry in outline:
        if isinstance(entry, list):
            yield from _entries(entry)
        else:
            yield entry
