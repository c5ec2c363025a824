"""The records of the graph for the agent and for users: nodes, facts, chunks. Plain data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from graphreader.documents import AtomicFact, ChunkFacts, ChunkRef


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
class NodeFacts:
    """Facts of one node in the order of the texts; `total` counts all of its facts."""

    groups: tuple[ChunkFacts[ChunkRef], ...]
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
class ElementFacts:
    """The facts of a key element in the order of the texts; of a hub only some of the `total`."""

    element: Element
    facts: tuple[AtomicFact, ...]
    total: int

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        facts = [fact.as_dict() for fact in self.facts]
        return {"element": asdict(self.element), "facts": facts, "total": self.total}


@dataclass(frozen=True, slots=True)
class NeighborElement:
    """A key element that `shared` facts name as well; `facts` is how many it has in all."""

    id: str
    name: str
    shared: int
    facts: int
