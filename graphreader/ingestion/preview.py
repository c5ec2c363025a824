"""The preview of texts: what is read of each file, part by part, before anything is spent."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from os import PathLike
from typing import Any

from graphreader.documents import Document, Place
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import SourceLike, sources_of

_CORPUS = "preview"  # of the documents, which are stored nowhere


def preview(
    *inputs: SourceLike,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    follow_links: Sequence[str | PathLike[str]] = (),
    id: str | None = None,
    encoding: str | None = None,
    allow_private: bool = False,
    ocr: bool | str = False,
    unread: Counter[str] | None = None,
) -> Iterator[Document | Refused]:
    """Yield the documents that an ingest of these sources would read, and the refused sources.

    No database and no model is needed. The arguments are those of `GraphReader.ingest`; `unread`
    counts the files of unknown formats by their suffixes. Blocks while a file is parsed.
    """
    for source in sources_of(
        *(inputs, include, exclude),
        id=id,
        follow_links=follow_links,
        encoding=encoding,
        allow_private=allow_private,
        ocr=ocr,
        unread=unread,
    ):
        yield from source.documents(_CORPUS)


def parts_of(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the places of a document with their texts; a text before the first place has ""."""
    first = document.places[0].start if document.places else len(document.text)
    places = [Place(0, "")] * (first > 0) + list(document.places)
    for place, following in pairwise([*places, Place(len(document.text), "")]):
        yield place.name, document.text[place.start : following.start]


def as_dict(document: Document) -> dict[str, Any]:
    """Plain JSON types: the text in its parts, and all that a loader says about it."""
    names = ("title", "source", "language", "encoding", "metadata", "date", "tags", "notes")
    return {
        **{name: getattr(document, name) for name in names},
        "characters": len(document.text),
        "parts": [{"place": name, "text": text} for name, text in parts_of(document)],
        "headings": [heading._asdict() for heading in document.headings],
        "skipped": [asdict(part) for part in document.skipped],
    }
