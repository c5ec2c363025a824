"""Reading one corpus as the agent explores it. Read-only transactions; every answer is bounded."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphreader.store.connection import Connection, Row
from graphreader.store.full_text import lucene

EXACT_UP_TO = 10_000
"""Key elements that a scan compares with a vector faster than an over-fetching index finds them."""

WORDINGS_OF_A_NODE = 2
"""Key elements that are looked at for each one wanted: some are merged into the same node."""

FACTS_OF_A_NODE = 2_000
"""Facts that are looked at for one node: a hub has more, and costs no more than that."""


@dataclass(frozen=True, slots=True)
class Node:
    """A key element as the agent sees it."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A node that shares a fact with another; `unread` if a chunk with facts of it is not read."""

    node: Node
    unread: bool


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """The facts of one node that stand in one chunk; `index` is the chunk's in its document."""

    chunk: str
    index: int
    document: str
    document_id: str
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


class GraphExplorer:
    """Looks into one corpus, never out of it."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self.connection = connection
        self.corpus = corpus

    async def count(self) -> int:
        """How many key elements there are."""
        rows = await self.connection.read("read/count_key_elements", corpus=self.corpus)
        return int(rows[0]["number"])

    async def nodes(self, limit: int) -> list[Node]:
        """Key elements, those with the most facts first."""
        return _nodes(
            await self.connection.read("read/key_elements", corpus=self.corpus, limit=limit)
        )

    async def nearest(self, vector: Sequence[float], limit: int) -> list[Node]:
        """The key elements whose embeddings are nearest to a vector, nearest first."""
        values: dict[str, Any] = {"corpus": self.corpus, "vector": list(vector), "limit": limit}
        wide = limit * WORDINGS_OF_A_NODE
        if self.connection.dialect == "2026":
            return _nodes(await self.connection.read("read/search_by_vector", wide=wide, **values))
        size = await self.count()
        further = limit * 4
        while size > EXACT_UP_TO and further <= EXACT_UP_TO:
            rows = await self.connection.read("read/search_by_vector", wide=further, **values)
            if len(rows) == limit:
                return _nodes(rows)
            further *= 4
        return _nodes(await self.connection.read("read/scan_by_vector", wide=wide, **values))

    async def matching(self, text: str, limit: int) -> list[Node]:
        """The key elements whose names hold words of `text`, best first; any text is fine."""
        query = lucene(text, self.corpus)
        if query is None:
            return []
        rows = await self.connection.read(
            "read/search_by_words", corpus=self.corpus, query=query, limit=limit, wide=limit * 10
        )
        return _nodes(rows)

    async def facts(self, node: str) -> list[ChunkFacts]:
        """The facts of a node by its id, grouped by chunk in the order of the texts."""
        rows = await self.connection.read(
            "read/atomic_facts", corpus=self.corpus, id=node, limit=FACTS_OF_A_NODE
        )
        return [
            ChunkFacts(
                row["id"], row["index"], row["document"], row["document_id"], tuple(row["facts"])
            )
            for row in rows
        ]

    async def chunk(self, id_: str) -> StoredChunk | None:
        """Return a chunk by its id, or None if it is gone."""
        rows = await self.connection.read("read/chunk", corpus=self.corpus, id=id_)
        if not rows:
            return None
        row = rows[0]
        return StoredChunk(
            row["id"],
            row["index"],
            row["document"],
            row["document_id"],
            row["start"],
            row["text"],
            _beside(row["previous"]),
            _beside(row["subsequent"]),
            row["first_page"],
            tuple(row["page_starts"]),
            tuple(zip(row["heading_starts"], row["headings"], strict=True)),
        )

    async def neighbors(
        self, node: str, visited: Sequence[str], read: Sequence[str], limit: int
    ) -> list[Neighbor]:
        """The nodes that share a fact with a node, but for the visited ones.

        Those with facts in chunks that are not read yet come first, then those that share the most
        facts, then the rarest.
        """
        rows = await self.connection.read(
            "read/neighbors",
            corpus=self.corpus,
            id=node,
            visited=list(visited),
            read=list(read),
            facts=FACTS_OF_A_NODE,
            limit=limit,
        )
        return [Neighbor(Node(row["id"], row["name"]), row["unread"]) for row in rows]


def _nodes(rows: Sequence[Row]) -> list[Node]:
    return [Node(row["id"], row["name"]) for row in rows]


def _beside(row: Row | None) -> tuple[str, int] | None:
    return None if row is None else (row["id"], row["index"])
