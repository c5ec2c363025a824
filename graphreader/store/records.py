"""The records of the graph for the agent and for users: nodes, facts, chunks. Plain data."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A key element as the agent sees it."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Element:
    """A key element with all its wordings; `facts` counts the facts that name it."""

    id: str
    name: str
    aliases: tuple[str, ...]
    facts: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk in full: index, title and source of its document, start and end in characters."""

    id: str
    document: str
    document_id: str
    source: str
    chunk: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The casefolded wordings of a node; ids of its facts unless many, and of some chunks."""

    aliases: frozenset[str]
    facts: frozenset[str] | None
    total: int = 0
    chunks: frozenset[str] = frozenset()
    titles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A node that shares facts with another one; `unread`: it has facts in unread chunks.

    `shared` counts the facts that name both; `similarity` is a cosine, 0 without a vector.
    """

    node: Node
    unread: bool
    shared: int
    facts: int
    similarity: float


@dataclass(frozen=True, slots=True)
class StoredFact:
    """An atomic fact; `index` is its position among those of its chunk."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A chunk that a search returns: its matching `facts`, and of how many `chunks` it is."""

    id: str
    index: int
    document: str
    document_id: str
    tokens: int
    text: str
    facts: tuple[StoredFact, ...]
    score: float
    chunks: int = 1


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """Facts of one chunk, in their order; `headed`: the document has headings."""

    chunk: str
    index: int
    document: str
    document_id: str
    facts: tuple[StoredFact, ...]
    headed: bool = False


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Facts of one node in the order of the texts; `total` counts all of its facts."""

    groups: tuple[ChunkFacts, ...]
    total: int

    @property
    def unlisted(self) -> int:
        """How many facts the groups leave out."""
        return max(0, self.total - sum(len(group.facts) for group in self.groups))


@dataclass(frozen=True, slots=True)
class Context:
    """The heading of a chunk, and the preceding fact by the index of each requested fact."""

    heading: str | None
    before: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """The part of a chunk that a run was shown: all of it, or facts, by their indexes in it."""

    read: bool
    facts: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ShownTexts:
    """The texts of a `ShownChunk`; `text` is the whole chunk, from `start` of its document on."""

    document_id: str
    start: int
    text: str | None
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk in full; `previous` and `subsequent` are (id, index), or None at the edges.

    `index` counts from 0. `start`, `page_starts` and those of `headings` (start, text) are
    characters of the document; `first_page` is the page on which the chunk begins, 0 without pages.
    """

    id: str
    index: int
    document: str
    document_id: str
    start: int
    text: str
    tokens: int
    previous: tuple[str, int] | None
    subsequent: tuple[str, int] | None
    first_page: int = 0
    page_starts: tuple[int, ...] = ()
    headings: tuple[tuple[int, str], ...] = ()

    def page(self, position: int) -> int | None:
        """The page number of a position in it, None where the document has no pages."""
        return self.first_page + bisect_right(self.page_starts, position) or None

    def heading(self, position: int) -> str | None:
        """Return the last heading that begins at a position in it or before."""
        return next((title for at, title in reversed(self.headings) if at <= position), None)


@dataclass(frozen=True, slots=True)
class FactLocation:
    """An atomic fact and its place: `chunk` is the index of its chunk in the document."""

    text: str
    document: str
    document_id: str
    chunk: int


@dataclass(frozen=True, slots=True)
class ElementFacts:
    """The facts of a key element in the order of the texts; of a hub only some of the `total`."""

    element: Element
    facts: tuple[FactLocation, ...]
    total: int


@dataclass(frozen=True, slots=True)
class NeighborElement:
    """A key element that `shared` facts name as well; `facts` is how many it has in all."""

    id: str
    name: str
    shared: int
    facts: int
