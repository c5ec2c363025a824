"""Parts of a corpus: the documents of a scope; a key element's facts, neighbors and profile."""

from dataclasses import dataclass
from typing import Any

from graphreader.documents import AtomicFact, ChunkFacts, ChunkRef, KeyElement, KeyElementRef
from graphreader.scope import Scope

SCANNED_CHUNKS = 200
"""Largest number of chunks at which a scan of their vectors is as fast as a search of an index."""


@dataclass(frozen=True, slots=True)
class DocumentsInScope:
    """The ids of the documents of a corpus in a scope, and the number of their chunks."""

    scope: Scope
    ids: list[str]
    chunks: int

    @property
    def is_small(self) -> bool:
        """Whether a search looks at all facts or vectors of these documents, without an index."""
        return self.chunks <= SCANNED_CHUNKS


@dataclass(frozen=True, slots=True)
class Profile:
    """The casefolded wordings of a key element, the ids of its facts unless many, some titles."""

    aliases: frozenset[str]
    facts: frozenset[str] | None
    total: int = 0
    titles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Facts of one key element by chunk, in the order of the texts; `total` counts all."""

    groups: tuple[ChunkFacts[ChunkRef], ...]
    total: int

    @property
    def unlisted(self) -> int:
        """The number of facts that the groups leave out."""
        return max(0, self.total - sum(len(group.facts) for group in self.groups))


@dataclass(frozen=True, slots=True)
class ElementFacts:
    """The facts of a key element in the order of the texts; of a hub only some of the `total`."""

    element: KeyElement
    facts: tuple[AtomicFact, ...]
    total: int

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        facts = [fact.as_dict() for fact in self.facts]
        return {"element": self.element.as_dict(), "facts": facts, "total": self.total}


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """A chunk without its text: id, document's id, index in the document, and tokens."""

    id: str
    document_id: str
    index: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Neighbor(KeyElementRef):
    """A key element that shares facts with another one; `unread`: it has facts in unread chunks.

    `leads_on`: it, or one of its unvisited neighbors, has facts in unread chunks. `shared` counts
    the facts that name both, `facts` all of the neighbor; `similarity` is a cosine with the open
    questions, 0 without a vector.
    """

    unread: bool
    leads_on: bool
    shared: int
    facts: int
    similarity: float

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types, without the fields that depend on a run."""
        return {"id": self.id, "name": self.name, "shared": self.shared, "facts": self.facts}


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """A part of a corpus: documents by id, ranges of chunks, days; an empty field limits nothing.

    A range is (document id, first chunk, last chunk). `since` and `until` are days, months or years
    as ISO dates; a fact lies between them if its time overlaps them.
    """

    documents: tuple[str, ...] = ()
    ranges: tuple[tuple[str, int, int], ...] = ()
    since: str = ""
    until: str = ""

    @property
    def has_days(self) -> bool:
        """Whether only some days are meant."""
        return bool(self.since or self.until)

    def has_time(self, when: str) -> bool:
        """Whether the time of a fact overlaps the days; a fact without a time does not."""
        first, *_, last = [*when.split("/"), when.rpartition("/")[2]]
        return bool(when) and first <= f"{self.until}{_AFTER}" and f"{last}{_AFTER}" >= self.since


_AFTER = "~"  # it comes after the digits and signs of dates, so that "2023-06" has "2023-06-30"


@dataclass(frozen=True, slots=True)
class DocumentCount:
    """The number of facts in one document, or of occurrences of words, and of their chunks.

    `indexes` are the indexes of these chunks in the document, if they are known.
    """

    id: str
    title: str
    number: int
    chunks: int
    indexes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document of a list with its size, its main headings, and a sentence about its beginning."""

    id: str
    title: str
    chunks: int
    tokens: int
    headings: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class FactList:
    """A page of a list of facts, with the numbers of all of them and of their chunks.

    `documents` counts all documents, `by_document` has a page of them, most facts first.
    """

    groups: tuple[ChunkFacts[ChunkRef], ...]
    facts: int
    chunks: int
    documents: int
    by_document: tuple[DocumentCount, ...]


@dataclass(frozen=True, slots=True)
class ValueList:
    """A page of the speakers or times of facts: (value, facts, chunks); `total` counts the values.

    `facts` is the number of facts with a value, `of` that of all; `first` and `last` are the ends
    of the whole list.
    """

    rows: tuple[tuple[str, int, int], ...]
    total: int
    facts: int
    of: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class WordCount:
    """The number of occurrences of words in the texts, by their forms and by document."""

    forms: tuple[tuple[str, int], ...]
    by_document: tuple[DocumentCount, ...]
    chunks: int
    at_least: bool

    @property
    def total(self) -> int:
        """The number of all occurrences."""
        return sum(number for _, number in self.forms)
