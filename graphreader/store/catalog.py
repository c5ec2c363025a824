"""What a database holds: corpora, documents, sizes. Reads only.

How far documents are: what of them is in the graph already. Reads only.

What a run touched in the graph, and how it hangs together: to be drawn, not to be decided on.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from graphreader.documents import Chunk, Document
from graphreader.errors import UnknownCorpusError, UnknownDocumentError
from graphreader.store.connection import Connection, Row
from graphreader.store.records import Node

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


class Catalog:
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


@dataclass(frozen=True, slots=True)
class DocumentState:
    """A document as the graph has it; `metadata` is JSON.

    `arranged`: its chunks stood in their order once, so that an edit keeps those it can.
    """

    id: str
    sha256: str
    title: str
    metadata: str | None
    chunk_tokens: int
    complete: bool
    arranged: bool
    deleting: bool
    chunks: int


@dataclass(frozen=True, slots=True)
class KnownChunk:
    """A chunk that the graph has.

    `error` says why it has no facts; one that is `retired` is being deleted, perhaps half of it.
    """

    id: str
    error: str | None
    retired: bool


@dataclass(frozen=True, slots=True)
class ArrangedChunk:
    """A run of a document's former text; `start` counts characters of it."""

    start: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """How many chunks of a document have no facts, and how many tokens they have together."""

    id: str
    title: str
    failed: int
    tokens: int


@dataclass(frozen=True, slots=True)
class FailedDocument:
    """A document, without its text, and its chunks that have no facts, out of all its `chunks`."""

    document: Document
    chunk_tokens: int
    chunks: int
    failed: tuple[Chunk, ...]


class DocumentStatus:
    """Looks at the documents of one corpus."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def of(self, documents: Sequence[str]) -> dict[str, DocumentState]:
        """The states of those documents that there are, by their ids."""
        rows = await self._connection.read("read/document_states", documents=list(documents))
        return {row["id"]: DocumentState(**row) for row in rows}

    async def chunks(self, document: str) -> list[KnownChunk]:
        """All chunks of a document, also those of an edit that was not finished."""
        rows = await self._connection.read("read/document_chunks", document=document)
        return [KnownChunk(**row) for row in rows]

    async def arranged(self, document: str) -> list[ArrangedChunk]:
        """The chunks of a document as they were put in order last, with their texts."""
        rows = await self._connection.read("read/arranged_chunks", document=document)
        return [ArrangedChunk(**row) for row in rows]

    async def failed(self) -> list[FailedSummary]:
        """The documents with chunks that have no facts, by title."""
        rows = await self._connection.read("read/failed_documents", corpus=self._corpus)
        return [FailedSummary(**row) for row in rows]

    async def failed_chunks(self, document: str) -> FailedDocument | None:
        """One of them with the texts of these chunks, if there are any by now."""
        rows = await self._connection.read("read/failed_chunks", document=document)
        return self._failed(rows[0]) if rows else None

    def _failed(self, row: Row) -> FailedDocument:
        about = {name: row[name] for name in ("id", "title", "source", "sha256", "language")}
        document = Document(corpus=self._corpus, text="", **about)
        chunks = [Chunk(document=row["id"], **chunk) for chunk in row["failed"]]
        return FailedDocument(document, row["chunk_tokens"], row["chunks"], tuple(chunks))


FACTS_OF_AN_ELEMENT = 250
"""Facts of one key element among which those are found that name another one, too."""


@dataclass(frozen=True, slots=True)
class TouchedChunk:
    """A chunk without its text; `index` is its place in the document of that title."""

    id: str
    index: int
    document: str
    document_id: str


@dataclass(frozen=True, slots=True)
class Edge:
    """Two that hang together, by their ids, and by how many facts; `fact` is one of these.

    Either the chunk in which the facts stand and a key element that they name, or two key elements
    that they both name.
    """

    one: str
    other: str
    facts: int
    fact: str


@dataclass(frozen=True, slots=True)
class RunSubgraph:
    """Those that are in the graph still, in the order in which they were asked for, each once.

    `merged` has, by the ids of key elements that were merged, those of what they went into: these
    are among `elements` in their place.
    """

    elements: tuple[Node, ...] = ()
    chunks: tuple[TouchedChunk, ...] = ()
    ties: tuple[Edge, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict)


async def run_subgraph(connection: Connection, corpus: str, ids: Sequence[str]) -> RunSubgraph:
    """Look up key elements and chunks of a corpus by their ids, in one statement.

    Between hubs, of which only FACTS_OF_AN_ELEMENT facts are looked at, there may be more facts.
    """
    values = {"corpus": corpus, "ids": list(dict.fromkeys(ids)), "most": FACTS_OF_AN_ELEMENT}
    row = (await connection.read("read/touched", **values))[0]
    elements = {one["id"]: Node(one["id"], one["name"]) for one in row["elements"]}
    return RunSubgraph(
        tuple(elements.values()),
        tuple(TouchedChunk(**one) for one in row["chunks"]),
        tuple(_once([*row["named"], *row["shared"]])),
        {one["asked"]: one["id"] for one in row["elements"] if one["asked"] != one["id"]},
    )


def _once(rows: Sequence[Row]) -> list[Edge]:
    """Each pair once: two key elements are found from both sides, and from a hub's not wholly."""
    ties: dict[frozenset[str], Edge] = {}
    for row in rows:
        pair = frozenset((row["one"], row["other"]))
        if pair not in ties or ties[pair].facts < row["facts"]:
            ties[pair] = Edge(**row)
    return list(ties.values())
