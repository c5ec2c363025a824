"""What looking into a corpus finds: nodes, facts, chunks. Plain records, no queries."""

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
    """A key element with all its wordings; `facts` is how many facts name it."""

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
    """By what a node is told apart from others.

    `aliases` are all of its wordings and its name, casefolded; `facts` the ids of its facts, None
    where there are too many to be compared.
    """

    aliases: frozenset[str]
    facts: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A node that shares facts with another one.

    `unread` if a fact of it stands in a chunk that is not read. `shared` counts the facts that
    both are in, among those that were looked at; `facts` all facts of the neighbor. `likeness` is
    the cosine of its embedding and a vector, -1 to 1, and 0 where one of the two is missing.
    """

    node: Node
    unread: bool
    shared: int
    facts: int
    likeness: float


@dataclass(frozen=True, slots=True)
class StoredFact:
    """An atomic fact; `index` is its place among those of its chunk."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """Facts that stand in one chunk, in their order; `index` is the chunk's in its document.

    `headed`: the document has headings. `holds` are those of the words asked for that stand in the
    chunk or in the document's title.
    """

    chunk: str
    index: int
    document: str
    document_id: str
    facts: tuple[StoredFact, ...]
    headed: bool = False
    holds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Facts of one node in the order of the texts; `total` is how many it has in all."""

    groups: tuple[ChunkFacts, ...]
    total: int

    @property
    def unlisted(self) -> int:
        """How many of them are not among the groups."""
        return max(0, self.total - sum(len(group.facts) for group in self.groups))


@dataclass(frozen=True, slots=True)
class Context:
    """What stands before facts of one chunk, so that they can be understood.

    `heading` is the one in force where the chunk begins; `before` has the text of the fact right
    before, by the index of the fact that was asked for (the first one has none).
    """

    heading: str | None
    before: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """What a run was shown of a chunk: all of it, or facts, by their indexes among its own."""

    read: bool
    facts: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ShownTexts:
    """The same as texts; `text` is the whole chunk, which begins at `start` of its document."""

    document_id: str
    start: int
    text: str | None
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk in full. `previous` and `subsequent` are (id, index), or None at the edges.

    `first_page` is the number of the page on which it begins, 0 where the document has none, and
    `page_starts` are the beginnings of further ones; `headings` are those in it and the last one
    before it. All positions count characters of the document.
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
        """The number of the page of a position in it, None where the document has no pages."""
        return self.first_page + bisect_right(self.page_starts, position) or None

    def heading(self, position: int) -> str | None:
        """The last heading that begins at a position in it or before."""
        return next((title for at, title in reversed(self.headings) if at <= position), None)
