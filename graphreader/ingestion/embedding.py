"""Embedding of key elements and passages, during an ingest or for a whole corpus again."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence

from graphreader.documents import KeyElement, Passage
from graphreader.errors import DecisionError
from graphreader.ingestion.chunking import with_heading_paths
from graphreader.ingestion.normalization.merging import is_comparable
from graphreader.ingestion.report import EmbeddingProgress, Progress, no_progress
from graphreader.llm.protocols import Embedder
from graphreader.store import schema
from graphreader.store.catalog import Catalog, DocumentStatus
from graphreader.store.connection import Connection
from graphreader.store.writer import (
    EMBEDDINGS_PER_WRITE,
    DocumentVersion,
    GraphWriter,
)

DOCUMENTS_PER_PAGE = 50  # documents that are reindexed at once

_QUEUE_SIZE = 50  # lists of new key elements and passages, and documents
_MAX_DOCUMENTS_WAITING = 50  # waiting documents from which a smaller batch is embedded
_MAX_WAIT = 1.0  # seconds without new items after which a smaller batch is embedded

Unembedded = KeyElement | Passage
Vectors = Sequence[tuple[Unembedded, list[float]]]
_Completion = tuple[DocumentVersion, Callable[[bool], None]]


class EmbeddingQueue:
    """A queue of new key elements and passages that are embedded in order of arrival.

    A document is complete when all earlier items have vectors. After `on_failure` nothing more is
    embedded or completed, but extracted chunks are still written.
    """

    def __init__(
        self,
        writer: GraphWriter,
        embedder: Embedder | None,
        progress: Progress,
        on_failure: Callable[[DecisionError], None],
    ) -> None:
        self._writer = writer
        self._embedder = embedder
        self._progress = progress
        self._on_failure = on_failure
        self._queue: asyncio.Queue[Sequence[Unembedded] | _Completion | None]
        self._queue = asyncio.Queue(_QUEUE_SIZE)
        self._waiting: dict[str, Unembedded] = {}
        self._writing: dict[str, Unembedded] = {}
        self._write: asyncio.Task[None] | None = None
        # Each document with the number of key elements and passages that came before it.
        self._documents: deque[tuple[int, _Completion]] = deque()
        self._embedded = 0
        self.refused = 0  # texts to which the service gave no vector

    async def put(self, items: Sequence[Unembedded]) -> None:
        """Queue items without vectors; waits while the queue is full."""
        if self._embedder is None:
            return
        every_kind = embeds_passages(self._embedder)
        wanted = [one for one in items if every_kind or isinstance(one, KeyElement)]
        if wanted:
            await self._queue.put(wanted)

    async def complete(self, document: DocumentVersion, on_end: Callable[[bool], None]) -> None:
        """Queue a written document for completion; `on_end` receives whether it is complete."""
        await self._queue.put((document, on_end))

    async def end(self) -> None:
        """Mark the end of the queue."""
        await self._queue.put(None)

    async def run(self) -> None:
        """Embed items and complete documents to the end; embedding and writing overlap."""
        ended = failed = False
        async with asyncio.TaskGroup() as group:
            while not ended:
                ended, timed_out = await self._receive()
                if failed:
                    self._waiting.clear()
                    self._documents.clear()
                    continue
                try:
                    while len(batch := self._next_batch()) < len(self._waiting):
                        await self._embed_batch(batch, group)
                    if len(self._documents) >= _MAX_DOCUMENTS_WAITING:
                        await self._written()
                        await self._complete_documents()
                    if ended or timed_out or len(self._documents) >= _MAX_DOCUMENTS_WAITING:
                        await self._embed_batch(batch, group)
                        await self._written()
                except DecisionError as error:
                    failed = True
                    self._on_failure(error)
                    await self._written()
                await self._complete_documents()

    async def _receive(self) -> tuple[bool, bool]:
        """Take new items; return whether the queue has ended, and whether no item came in time."""
        try:
            async with asyncio.timeout(_MAX_WAIT if self._waiting or self._documents else None):
                item = await self._queue.get()
        except TimeoutError:
            return False, True
        while item is not None:
            if isinstance(item, tuple):
                before = self._embedded + len(self._writing) + len(self._waiting)
                self._documents.append((before, item))
            else:  # the same key element comes with many chunks
                self._waiting |= {one.id: one for one in item if one.id not in self._writing}
            if self._queue.empty():
                return False, False
            item = self._queue.get_nowait()
        return True, False

    def _next_batch(self) -> list[Unembedded]:
        """Return the next batch: waiting items in order, until one kind reaches its limit."""
        batch, numbers = list[Unembedded](), Counter[type[Unembedded]]()
        for one in self._waiting.values():
            if numbers[type(one)] == EMBEDDINGS_PER_WRITE:
                break
            numbers[type(one)] += 1
            batch.append(one)
        return batch

    async def _embed_batch(self, batch: Sequence[Unembedded], group: asyncio.TaskGroup) -> None:
        """Embed a batch, wait until the previous batch is written, and start to write it."""
        if not batch or not self._embedder:
            return
        # Another chunk or process may already have embedded some key elements.
        elements = [one.id for one in batch if isinstance(one, KeyElement)]
        lacking = await self._writer.unembedded_among(elements)
        wanted = [one for one in batch if not isinstance(one, KeyElement) or one.id in lacking]
        vectors = await embed(self._embedder, wanted)
        self.refused += len(wanted) - len(vectors)
        await self._written()
        self._writing = {one.id: self._waiting.pop(one.id) for one in batch}
        self._write = group.create_task(write_vectors(self._writer, vectors))

    async def _written(self) -> None:
        """Wait until the current write of a batch has ended."""
        if self._write:
            await self._write
            self._embedded += len(self._writing)
            self._writing, self._write = {}, None
            self._progress(EmbeddingProgress(self._embedded, self._embedded + len(self._waiting)))

    async def _complete_documents(self) -> None:
        """Complete the documents whose key elements and passages all have vectors."""
        ready: list[_Completion] = []
        while self._documents and self._documents[0][0] <= self._embedded:
            ready.append(self._documents.popleft()[1])
        if not ready:
            return
        complete = await self._writer.complete([document for document, _ in ready])
        for document, on_end in ready:
            on_end(document.id in complete)


def embeds_passages(embedder: Embedder) -> bool:
    """Whether passages get vectors: false for an embedder that only compares words."""
    return not getattr(embedder, "compares_words", False)


async def embed(embedder: Embedder, batch: Sequence[Unembedded]) -> Vectors:
    """Return the vectors of a batch, without items that got none. Raises DecisionError."""
    texts = [one.key if isinstance(one, KeyElement) else one.with_title for one in batch]
    vectors = await embedder.embed(texts) if texts else []
    return [(one, vector) for one, vector in zip(batch, vectors, strict=True) if vector]


async def write_vectors(writer: GraphWriter, vectors: Vectors) -> None:
    """Write vectors, and mark new key elements for normalization."""
    elements = [one for one, _ in vectors if isinstance(one, KeyElement)]
    await writer.write_embeddings(
        [(one.id, vector) for one, vector in vectors if isinstance(one, KeyElement)],
        fresh={one.id for one in elements if is_comparable(one.name, one.key)},
    )
    await writer.write_passage_embeddings(
        [(one.id, vector) for one, vector in vectors if isinstance(one, Passage)]
    )


async def reindex(
    connection: Connection, embedder: Embedder, corpus: str, progress: Progress = no_progress
) -> int:
    """Index a corpus again with vectors of this embedder; return the number of new vectors.

    Chunks of an earlier version get the headings above them.

    A repeated call continues after an interruption. Raises UnknownCorpusError, DecisionError,
    SettingsError (vectors too long for Neo4j).
    """
    catalog = Catalog(connection)
    await catalog.corpus(corpus)
    await schema.prepare(connection)
    writer = GraphWriter(connection, corpus)
    await writer.change_embedding(embedder.name, embedder.dimension)
    status = DocumentStatus(connection, corpus)
    for document in await status.without_headings():
        if stored := await status.stored(document):
            headings = stored.document.headings
            await writer.place(list(with_heading_paths(stored.chunks, headings)))
    documents = await renew_terms(connection, corpus)
    embedded = documents if embeds_passages(embedder) else []
    return await _embed_missing(writer, embedder, embedded, progress)


async def renew_terms(connection: Connection, corpus: str) -> list[str]:
    """Index the words of titles, facts and passages in the present version; return document ids."""
    writer = GraphWriter(connection, corpus)
    documents = [document.id for document in await Catalog(connection).documents(corpus)]
    for start in range(0, len(documents), DOCUMENTS_PER_PAGE):
        page = documents[start : start + DOCUMENTS_PER_PAGE]
        await writer.index_terms(page)
        await writer.index_passages(page)
    await writer.finish_terms()
    return documents


async def _embed_missing(
    writer: GraphWriter, embedder: Embedder, documents: Sequence[str], progress: Progress
) -> int:
    """Embed key elements and passages of documents that have no vector; return their number."""
    total = done = 0
    async for missing in _missing(writer, documents):
        total += len(missing)
        for start in range(0, len(missing), EMBEDDINGS_PER_WRITE):
            batch = missing[start : start + EMBEDDINGS_PER_WRITE]
            await write_vectors(writer, await embed(embedder, batch))
            done += len(batch)
            progress(EmbeddingProgress(done, total))
    return total


async def _missing(
    writer: GraphWriter, documents: Sequence[str]
) -> AsyncIterator[Sequence[Unembedded]]:
    """Yield pages of items without vectors: all key elements, then passages of documents."""
    yield await writer.unembedded()
    for start in range(0, len(documents), DOCUMENTS_PER_PAGE):
        yield await writer.unembedded_passages(documents[start : start + DOCUMENTS_PER_PAGE])
