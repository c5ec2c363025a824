"""What a reader of one format finds in a source, and the document that becomes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from graphreader.documents import Document, Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.encodings import clean
from graphreader.ingestion.loading.metadata import plain
from graphreader.sentences import language_of


@dataclass(frozen=True, slots=True)
class Content:
    """A text, and what came with it; positions count its characters.

    `title` is empty where the source names none; `metadata` may hold anything.
    """

    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    headings: tuple[tuple[int, str], ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that gives no document, and why, in one sentence that says how to mend it."""

    title: str
    source: str
    reason: str


def why_not(error: Exception, shown: str) -> str:
    """Why something cannot be read, in one sentence, whatever was raised: libraries raise a lot."""
    if isinstance(error, DocumentError):
        return str(error)
    return f"{shown} cannot be read ({told_by(error)}): is it damaged?"


def told_by(error: Exception) -> str:
    """What an exception says, in one line that is not too long; else its kind."""
    return clean(" ".join(str(error).split()))[:200] or type(error).__name__


def is_blank(text: str) -> bool:
    """Whether there is nothing but white space."""
    return not text.lstrip("\ufeff").strip()


def document_of(
    content: Content, title: str, corpus: str, source: str, shown: str = ""
) -> Document:
    """The document of a content; `title` is for one that names none.

    The id comes from `corpus` and `source`; an error names it as `shown`, where that is another.
    The text is cleaned of lone surrogates and NULs. Metadata become plain JSON values, and what of
    them finds no room is named in `skipped`. Raises DocumentError where there is nothing but white
    space.
    """
    text, source = clean(content.text), clean(source)
    if is_blank(text):
        raise DocumentError(f"{shown or source} has no text in it: leave it out or fill it.")
    metadata, left_out = plain(content.metadata)
    return Document(
        corpus=corpus,
        id=sha256(f"{clean(corpus)}\0{source}".encode()).hexdigest()[:24],
        title=clean(content.title or title),
        source=source,
        text=text,
        sha256=sha256(text.encode()).hexdigest(),
        language=language_of(text),
        metadata=metadata,
        page_starts=content.page_starts,
        headings=tuple((start, clean(heading)) for start, heading in content.headings),
        skipped=(*content.skipped, *left_out),
    )


def from_text(text: str, title: str, corpus: str, source: str) -> Document:
    """A document out of a text at hand. Raises DocumentError where it is blank."""
    return document_of(Content(text), title, corpus, source)


def joined(parts: Sequence[str]) -> tuple[str, list[int]]:
    """The parts with a blank line between them, and where each begins; empty ones take no room."""
    text = "\n\n".join(part for part in parts if part)
    starts = []
    start = 0
    for part in parts:
        starts.append(min(start, len(text)))
        start += len(part) + 2 if part else 0
    return text, starts
