"""What a database holds: corpora, documents, sizes. Reads only."""

import os
from dataclasses import dataclass
from typing import Literal

from graphreader.documents import Document
from graphreader.errors import UnknownCorpusError, UnknownDocumentError
from graphreader.store.connection import Connection

Status = Literal["complete", "incomplete", "deleting"]


@dataclass(frozen=True, slots=True)
class CorpusRecord:
    """How a corpus was made, and by what."""

    decider: str
    prompts: str
    embedding: str
    dimension: int


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """One line of a list of corpora; `incomplete` counts documents."""

    corpus: str
    documents: int
    chunks: int
    incomplete: int
    decider: str
    embedding: str


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """One line of a list of documents; `failed` counts chunks that have no facts yet."""

    id: str
    title: str
    source: str
    sha256: str
    language: str
    chunk_tokens: int
    chunks: int
    tokens: int
    failed: int
    status: Status


@dataclass(frozen=True, slots=True)
class Stats:
    """Sizes of a corpus, as in the paper's table 8. `busiest` are (name, facts).

    `merged` are wordings that were key elements of their own, and are not counted as such any more.
    """

    corpus: str
    documents: int
    chunks: int
    tokens: int
    facts: int
    key_elements: int
    merged: int
    hubs: int
    facts_per_element: float
    most_facts: int
    neighbors_per_element: float
    most_neighbors: int
    busiest: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """How many documents a corpus has, which are not complete, what a chunk of it may have."""

    documents: int
    unfinished: tuple[str, ...]
    chunk_tokens: int


class Library:
    """Looks at a whole database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def corpora(self) -> list[CorpusSummary]:
        """Every corpus, by name."""
        rows = await self._connection.read("read/corpora")
        return [CorpusSummary(**row) for row in rows]

    async def corpus(self, name: str) -> CorpusRecord:
        """How a corpus was made. Raises UnknownCorpusError, which names those that there are."""
        rows = await self._connection.read("read/corpus", corpus=name)
        if rows:
            return CorpusRecord(**rows[0])
        known = ", ".join(one.corpus for one in await self.corpora())
        raise UnknownCorpusError(
            f"There is no corpus {name!r}"
            + (f"; there are: {known}." if known else " and no other one.")
            + " Read texts into it with `graphreader ingest PATH --corpus NAME`."
        )

    async def documents(self, corpus: str) -> list[DocumentSummary]:
        """The documents of a corpus, by title."""
        rows = await self._connection.read("read/documents", corpus=corpus)
        return [DocumentSummary(**row) for row in rows]

    async def texts(self, corpus: str) -> list[Document]:
        """The documents themselves, by title, as their chunks give them back.

        Without metadata. One that is only being read in is left out.
        """
        rows = await self._connection.read("read/texts", corpus=corpus)
        return [
            Document(
                corpus=corpus,
                **row["document"],
                text="".join(row["texts"]),
                page_starts=tuple(row["page_starts"]),
                headings=tuple(zip(row["heading_starts"], row["headings"], strict=True)),
            )
            for row in rows
        ]

    async def extent(self, corpus: str) -> Extent:
        """How much there is to ask in a corpus."""
        row = (await self._connection.read("read/extent", corpus=corpus))[0]
        return Extent(row["documents"], tuple(sorted(row["titles"])), row["chunk_tokens"])

    async def largest_chunk(self, corpus: str) -> int:
        """How many tokens the largest chunk of a corpus has; it looks at each."""
        return int((await self._connection.read("read/largest_chunk", corpus=corpus))[0]["tokens"])

    async def find(self, corpus: str, name: str) -> str:
        """Return the id of the one document that an id, a path or a title means.

        Raises UnknownDocumentError where it means none, or several (they are named).
        """
        name = name.encode("utf-8", "replace").decode().replace("\0", "")
        paths = [name, os.path.abspath(name), os.path.realpath(name)]
        rows = await self._connection.read(
            "read/find_document", corpus=corpus, name=name, paths=paths
        )
        exact = [row["id"] for row in rows if row["id"] == name or row["source"] in paths]
        ids = exact or [row["id"] for row in rows]
        if len(ids) == 1:
            return str(ids[0])
        if not ids:
            raise UnknownDocumentError(
                f"The corpus {corpus!r} has no document {name!r}: `graphreader list --corpus "
                f"{corpus}` shows what it has."
            )
        matches = "; ".join(f"{row['id']} ({row['source']})" for row in rows)
        raise UnknownDocumentError(
            f"{name!r} means several documents, name one by its id: {matches}."
        )

    async def stats(self, corpus: str, busiest: int = 10) -> Stats:
        """Sizes of a corpus and its busiest key elements."""
        sizes = (await self._connection.read("read/stats", corpus=corpus))[0]
        neighbors = (await self._connection.read("read/neighbor_stats", corpus=corpus))[0]
        top = await self._connection.read("read/key_elements", corpus=corpus, limit=busiest)
        return Stats(
            corpus=corpus,
            busiest=tuple((row["name"], row["facts"]) for row in top),
            **sizes,
            **neighbors,
        )
