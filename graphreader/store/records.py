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
    """A chunk in full; `chunk` is its index in the document of that title.

    `start` and `end` count characters of the document, which was read from `source`.
    """

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
    """The casefolded wordings of a node, and the ids of its facts, None where there are many.

    `total` counts its facts, `chunks` are the ids of some chunks that have them, and `titles` are
    those of the first documents with them.
    """

    aliases: frozenset[str]
    facts: frozenset[str] | None
    total: int = 0
    chunks: frozenset[str] = frozenset()
    titles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A node that shares facts with another one.

    `unread`: a fact of it is in an unread chunk. `shared` counts the facts that name both, `facts`
    all facts of the neighbor. `similarity` is a cosine, and 0 where a vector is missing.
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
    """A chunk that a search returns; `facts` are those that match, best first.

    `index` is its position among the `chunks` of its document. Scores of one query compare.
    """

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
    """Facts of one chunk, in their order; `index` is the chunk's position in its document.

    `headed`: the document has headings.
    """

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
    """A chunk in full. `previous` and `subsequent` are (id, index), or None at the edges.

    `first_page` is the number of the page on which it begins, 0 where there are no pages;
    `headings` include the last one before it. Positions count characters of the document.
    """

    id: str
    index: int
    document: str
    document_id: str
    start: int
    text: str
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
