"""The parts of a text: documents, chunks, atomic facts, key elements (paper, section 3.2)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from graphreader.errors import UsageError

MAX_CORPUS_NAME = 200
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a source that could not be read ("page 7", "line 12"), and why."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its metadata; `id` follows from the corpus and the path of its source.

    `sha256` is that of the UTF-8 text, `language` "zh" or else "en", `metadata` plain JSON
    values. `page_starts` and `headings` (start, words) count characters; `skipped` could not be
    read.
    """

    corpus: str
    id: str
    title: str
    source: str
    text: str
    sha256: str
    language: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    headings: tuple[tuple[int, str], ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of whole paragraphs of a document, at most L tokens (paper, section 3.2).

    `text` is the document's slice from `start` to `end`; all chunks joined give the text back.
    `id` follows from document, text and the number of equal chunks before it, not from `index`.
    """

    id: str
    document: str
    index: int
    start: int
    end: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class KeyElement:
    """A noun, verb, adjective, name, number or date in a fact, worded there as `surface`."""

    id: str
    key: str
    surface: str


@dataclass(frozen=True, slots=True)
class AtomicFact:
    """One indivisible statement of a chunk with its key elements."""

    id: str
    chunk: str
    index: int
    text: str
    key_elements: tuple[KeyElement, ...]


def identity(*parts: str) -> str:
    """An id that follows from the content: 24 hexadecimal digits."""
    return sha256("\0".join(parts).encode()).hexdigest()[:24]


def check_corpus_name(corpus: str) -> str:
    """Return the name of a corpus if it can be stored, shown and typed; else raise UsageError."""
    if not corpus.strip() or len(corpus) > MAX_CORPUS_NAME or not corpus.isprintable():
        raise UsageError(
            f"A corpus's name has 1 to {MAX_CORPUS_NAME} characters, all of them printable: choose "
            "another."
        )
    return corpus


def without_surrogates(text: str) -> str:
    """The text without lone surrogates, which no driver, model or file accepts."""
    return text.encode("utf-8", "replace").decode()


def without_controls(text: str, instead: str = "") -> str:
    """The text without control characters, changes of direction (UAX 9) and lone surrogates.

    Tab and newline stay. So a terminal or page shows it as it is, without escape sequences and
    reversed text. With a space `instead` of each all positions stay.
    """
    return _CONTROLS.sub(instead, text)
