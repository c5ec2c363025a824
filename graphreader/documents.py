"""The parts of a text: documents, chunks, atomic facts, key elements (paper, section 3.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from graphreader.errors import UsageError

MAX_CORPUS_NAME = 200


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a source that could not be read ("page 7", "line 12"), and why."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its metadata; a path gives one document per corpus.

    `id` follows from the corpus and the path; `sha256` is that of the text in UTF-8; `language` is
    "zh" for mostly Chinese characters, otherwise "en". `metadata` are plain JSON values, such as a
    front matter. `page_starts` are the positions of the pages (page n at index n - 1), `headings`
    those of the headings with their words, in characters of the text. `skipped` are the parts of
    the source that could not be read.
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

    `start` and `end` count characters of the document's text, and `text` is exactly that slice:
    joined in the order of `index`, the chunks give the document back. `id` follows from the
    document, the chunk's text and the number of equal chunks before it, not from `index`.
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
    """A noun, verb, adjective, name, number or date in a fact.

    `key` is the normalized form, one node per corpus; `surface` is the wording in this fact.
    """

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
    """The text without lone surrogates, which no driver, model or file accepts.

    They come from JSON and from a command line that is not UTF-8.
    """
    return text.encode("utf-8", "replace").decode()
