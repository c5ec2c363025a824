"""The records of a text's parts: documents, chunks, atomic facts, key elements (section 3.2).

Ingestion makes them, the graph stores them, and searches return them. A part has a reference
(`ChunkRef`), a record (`Chunk`) and, as a search hit, `Scored`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any, Generic, NamedTuple, Self, TypeVar

from graphreader.errors import UsageError

MAX_CORPUS_NAME = 200
_SENTENCE_NUMBER = re.compile(r"<\d{1,5}>")
_PAGE = re.compile(r"page (\d{1,9})\b")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a source that could not be read ("page 7", "line 12"), and why."""

    part: str
    reason: str


class Place(NamedTuple):
    """A part of a document that a person finds in the file: its first character, and its name.

    Names are such as "page 12 (iv)", with the printed label in brackets, "slide 3", "sheet Costs,
    row 7", "attachment plan.pdf, page 2". A place ends where the next one begins.
    """

    start: int
    name: str

    @classmethod
    def pages(cls, starts: Iterable[int]) -> tuple[Self, ...]:
        """Make the places "page 1", "page 2", ... from their first characters."""
        return tuple(cls(start, f"page {number}") for number, start in enumerate(starts, 1))

    @property
    def page(self) -> int | None:
        """The number of a page from 1, None for another place."""
        match = _PAGE.match(self.name)
        return int(match[1]) if match else None


class Heading(NamedTuple):
    """A heading: its first character in the document, its words, and its level from 1."""

    start: int
    title: str
    level: int = 1

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> tuple[Self, ...]:
        """Make the headings of a document from the lists of its row."""
        return tuple(map(cls, row["heading_starts"], row["headings"], row["heading_levels"]))


def heading_paths(
    headings: Iterable[Heading], positions: Iterable[int]
) -> Iterator[tuple[Heading, ...]]:
    """Yield the headings over each of some ascending positions, the highest level first."""
    path: list[Heading] = []
    left = iter(headings)
    following = next(left, None)
    for position in positions:
        while following and following.start <= position:
            while path and path[-1].level >= following.level:
                path.pop()
            path.append(following)
            following = next(left, None)
        yield tuple(path)


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its metadata; `id` follows from the corpus and the path of its source.

    `sha256` is that of the UTF-8 text, `language` "zh" or else "en", `metadata` plain JSON
    values, `date` an ISO date, month, year or interval, if one is known. `skipped` could not be
    read. `encoding` is empty for UTF-8 and for formats that have
    none; `notes` are sentences about the reading.
    """

    corpus: str
    id: str
    title: str
    source: str
    text: str
    sha256: str
    language: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    headings: tuple[Heading, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    encoding: str = ""
    notes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    date: str = ""

    @property
    def page_starts(self) -> tuple[int, ...]:
        """The first characters of the pages, () without pages."""
        return tuple(place.start for place in self.places if place.page)

    def place_at(self, position: int) -> Place | None:
        """Return the place of a character, None if none is known."""
        before = bisect_right(self.places, position, key=lambda place: place.start)
        return self.places[before - 1] if before else None


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """The place of a chunk: its id, its index in the document from 0, the document's title and id.

    `id` follows from document, text and the number of equal chunks before it, not from `index`.
    `start` is the chunk's first character in the document, `heading_path` has the titles of the
    headings before it that it stands below, the highest level first.
    """

    id: str
    index: int
    document: str
    document_id: str
    start: int
    heading_path: tuple[str, ...] = field(default=(), kw_only=True)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Make a chunk of a map projection such as `c {.*, document: d.title}`."""
        values = {one.name: row[one.name] for one in fields(cls) if one.name in row}
        lists = {name: tuple(values.get(name) or ()) for name in _LISTS if name in values}
        return cls(**{**values, **lists})

    @property
    def section(self) -> str:
        """The headings over the chunk in one line, without the document's title: "Costs › 2021"."""
        titles = (one for one in self.heading_path if one.casefold() != self.document.casefold())
        return " › ".join(" ".join(one.split()) for one in titles)


@dataclass(frozen=True, slots=True)
class Chunk(ChunkRef):
    """A run of whole paragraphs of a document, at most L tokens (paper, section 3.2).

    `text` is the document's slice from `start` to `end`; all chunks joined give the text back.
    `source` is the document's, `summary` a sentence about the chunk for outlines, `error` the
    reason why it has no facts. `place_names` are the places of its characters from each of
    `place_starts` on, which are relative to the chunk. Every field after `document_id` but `source`
    is a property of the node in the graph, so a further field is stored and read without a change
    of a statement. One that depends on more than the chunk's own text belongs to `place` too.
    """

    end: int
    text: str
    tokens: int
    source: str = ""
    summary: str = ""
    error: str | None = None
    place_starts: tuple[int, ...] = ()
    place_names: tuple[str, ...] = ()

    def place_at(self, position: int) -> Place | None:
        """Return the place of a character of the document, None if none is known."""
        before = bisect_right(self.place_starts, position - self.start)
        return Place(position, self.place_names[before - 1]) if before else None

    @property
    def places(self) -> str:
        """The first and last place of the chunk: "page 3 to page 5"; "" if none is known."""
        return " to ".join(dict.fromkeys([*self.place_names[:1], *self.place_names[-1:]]))

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types, where `chunk` is the index. No key is ever removed."""
        place = {"id": self.id, "document": self.document, "document_id": self.document_id}
        span = {"chunk": self.index, "start": self.start, "end": self.end}
        around = {"heading_path": list(self.heading_path), "places": self.places}
        return {**place, "source": self.source, **span, **around, "text": self.text}

    @property
    def properties(self) -> dict[str, Any]:
        """The properties of the node in the graph; an empty summary is None, so not stored."""
        names = (one.name for one in fields(self) if one.name not in _OF_DOCUMENT)
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {**values, **self.place, "summary": self.summary or None}

    @property
    def place(self) -> dict[str, Any]:
        """The properties that an edit elsewhere in the document changes."""
        span = {"index": self.index, "start": self.start, "end": self.end}
        places = {"place_starts": self.place_starts, "place_names": self.place_names}
        lists = {"heading_path": self.heading_path, **places}
        return {**span, **{name: list(values) or None for name, values in lists.items()}}


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a chunk for searches, some 250 tokens, with its ends relative to the chunk.

    `text` is the chunk's slice, which the graph does not store again. `id` follows from the chunk
    and the two ends.
    """

    id: str
    chunk: Chunk
    start: int
    end: int
    text: str

    @property
    def with_title(self) -> str:
        """The title of the document and the text, as they are embedded."""
        return f"{self.chunk.document}: {self.text}"

    @property
    def searched(self) -> str:
        """The text with the title and headings over its chunk, as their words are searched."""
        return "\n".join([self.chunk.document, *self.chunk.heading_path, self.text])


@dataclass(frozen=True, slots=True)
class ChunkInDocument(Chunk):
    """A chunk with its surroundings: the adjacent chunks, None at the edges, pages and headings.

    `page_starts` are characters of the document; `first_page` is the page on which the chunk
    begins, 0 without pages: chunks of earlier versions have no names of places.
    """

    previous: ChunkRef | None = None
    subsequent: ChunkRef | None = None
    first_page: int = 0
    page_starts: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()

    def place_at(self, position: int) -> Place | None:
        """Return the place of a character of the document, None if none is known."""
        if place := Chunk.place_at(self, position):
            return place
        page = self.first_page + bisect_right(self.page_starts, position)
        return Place(position, f"page {page}") if page else None

    def heading(self, position: int) -> str | None:
        """Return the last heading that begins at a position in the chunk or before."""
        return next((one.title for one in reversed(self.headings) if one.start <= position), None)


_LISTS = ("heading_path", "place_starts", "place_names")  # as Neo4j gives them
_OF_DOCUMENT = ("document", "document_id", "source")


C = TypeVar("C", bound=ChunkRef, covariant=True)
T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True)
class ChunkFacts(Generic[C]):
    """Facts of one chunk: all that were extracted, or some, in their order or the best first.

    `chunk` is a `Chunk` where its text is at hand, else a reference.
    """

    chunk: C
    facts: tuple["AtomicFact", ...] = ()


@dataclass(frozen=True, slots=True)
class Scored(Generic[T]):
    """A search result, a chunk with matching facts or a key element; a high score is good."""

    item: T
    score: float


@dataclass(frozen=True, slots=True)
class KeyElementRef:
    """A key element as the agent sees it: a node of the graph by its id, and its name."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class KeyElement(KeyElementRef):
    """A noun, verb, adjective, name, number or date that facts are about (paper, section 3.2).

    `key` is its normalized form, from which `id` follows with the corpus. `name` is its most
    frequent wording, `aliases` are all of them; in a fact `name` is the wording of the fact.
    `facts` counts the facts that name it. Statements leave out what their readers do not need.
    """

    key: str = ""
    aliases: tuple[str, ...] = ()
    facts: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Make the key element of a map projection such as `k {.id, .name, .aliases}`."""
        values = {name: row[name] for name in cls.__match_args__ if name in row}
        return cls(**{**values, "aliases": tuple(row.get("aliases", ()))})

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types, without the key."""
        named = {"id": self.id, "name": self.name, "aliases": list(self.aliases)}
        return {**named, "facts": self.facts}


@dataclass(frozen=True, slots=True)
class AtomicFact:
    """One indivisible statement of a chunk with its key elements; `index` counts from 0.

    It rests on the sentences from `start` to `end` of the chunk's text, in characters; None where
    they are not known. `heading` is the last heading above them within the chunk, `speaker` the
    name before these words in a transcript, `when` the time of the fact as an ISO date, month, year
    or interval, each "" if the text has none. Statements that only show facts leave the key
    elements out.
    """

    id: str
    chunk: ChunkRef
    index: int
    text: str
    key_elements: tuple[KeyElement, ...] = ()
    start: int | None = None
    end: int | None = None
    heading: str = ""
    speaker: str = ""
    when: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any], chunk: ChunkRef) -> Self:
        """Make the fact of a map projection such as `f {.id, .index, .text, .start}`."""
        values = {name: row[name] for name in cls.__match_args__ if row.get(name) is not None}
        return cls(chunk=chunk, **values)

    @property
    def span_in_chunk(self) -> tuple[int, int] | None:
        """The first character of its sentences in the chunk and the end; None: not known."""
        return None if self.start is None or self.end is None else (self.start, self.end)

    @property
    def span(self) -> tuple[int, int] | None:
        """The first character of its sentences in the document and the end; None: not known."""
        own = self.span_in_chunk
        return (self.chunk.start + own[0], self.chunk.start + own[1]) if own else None

    @property
    def attributed(self) -> str:
        """The text after its speaker and time, unless it names them: "John, 2023-06-16: ..."."""
        is_century = self.when[4:5] == "/" and self.when[2:4] == "01" and self.when[-2:] == "00"
        is_dated = is_century or self.when[:4].lstrip("-0") in self.text
        context = [
            self.speaker if self.speaker not in self.text else "",
            "" if is_dated else self.when,
        ]
        return ": ".join(filter(None, [", ".join(filter(None, context)), self.text]))

    @property
    def place(self) -> dict[str, Any]:
        """The properties of the node about its sentences; None if not known, so not stored."""
        context = {name: getattr(self, name) or None for name in ("heading", "speaker", "when")}
        return {"start": self.start, "end": self.end, **context}

    @property
    def searched(self) -> str:
        """The text with what is searched besides: heading, speaker and time."""
        return " ".join(filter(None, [self.heading, self.speaker, self.when, self.text]))

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types: the text and its place, where `chunk` is the index of the chunk.

        `start` and `end` are characters of the document. No key is ever removed.
        """
        place = {"document": self.chunk.document, "document_id": self.chunk.document_id}
        start, end = self.span or (None, None)
        span = {"chunk": self.chunk.index, "start": start, "end": end}
        context = {"heading": self.heading, "speaker": self.speaker, "when": self.when}
        return {"text": self.text, **place, **span, **context}


def identity(*parts: str) -> str:
    """An id that follows from the content: 24 hexadecimal digits."""
    return sha256("\0".join(parts).encode()).hexdigest()[:24]


def check_corpus_name(corpus: str, *, is_new: bool = False) -> str:
    """Return the name of a corpus if it can be stored, shown and typed; else raise UsageError.

    The name of a new corpus must also be one part of an address.
    """
    if not corpus.strip() or len(corpus) > MAX_CORPUS_NAME or not corpus.isprintable():
        raise UsageError(
            f"A corpus's name has 1 to {MAX_CORPUS_NAME} characters, all of them printable: choose "
            "another."
        )
    if is_new and (corpus in (".", "..") or "/" in corpus or "\\" in corpus):
        raise UsageError(
            f"A new corpus cannot be named {corpus}: its name stands in addresses of pages, so "
            "choose another without / or \\, not . or .."
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


def without_numbers(text: str) -> str:
    """The text without numbers of sentences, such as "<12>", which a model may copy."""
    return _SENTENCE_NUMBER.sub("", text)
