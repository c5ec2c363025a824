"""How far documents are: what of them is in the graph already. Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphreader.documents import Chunk, Document
from graphreader.store.connection import Connection, Row


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


class States:
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
