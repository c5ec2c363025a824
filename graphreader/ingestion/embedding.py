"""Vectors for key elements: in the background of an ingest, or for a whole corpus again.

Extraction and writing do not wait for vectors unless these are far behind.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from graphreader.errors import DecisionError
from graphreader.ingestion.normalization.merging import is_comparable
from graphreader.ingestion.report import EmbeddingProgress, Progress, no_progress
from graphreader.llm.protocols import Embedder
from graphreader.store import schema
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.writer import DocumentVersion, GraphWriter, UnembeddedElement

BATCH = 500
"""Key elements that are embedded at once."""

_QUEUE_SIZE = 200  # lists of new key elements, and documents
_MAX_DOCUMENTS_WAITING = 50  # before key elements are embedded in a smaller batch
_MAX_WAIT = 1.0  # seconds without news before key elements are embedded in a smaller batch

_Completion = tuple[DocumentVersion, Callable[[bool], None]]


class EmbeddingQueue:
    """Embeds new key elements in the order in which they come.

    A document that is handed over is marked as complete when the key elements that came before it
    have vectors. `on_failure` is called where the embedder fails; from then on nothing is embedded
    or completed, and nothing is raised, so that extracted chunks are still written.
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
        self._queue: asyncio.Queue[Sequence[UnembeddedElement] | _Completion | None]
        self._queue = asyncio.Queue(_QUEUE_SIZE)
        self._elements: dict[str, UnembeddedElement] = {}
        # Each document with the number of key elements that came before it.
        self._documents: deque[tuple[int, _Completion]] = deque()
        self._embedded = 0

    async def put(self, elements: Sequence[UnembeddedElement]) -> None:
        """Hand over key elements without a vector; waits while the queue is full."""
        if elements and self._embedder:
            await self._queue.put(elements)

    async def complete(self, document: DocumentVersion, on_end: Callable[[bool], None]) -> None:
        """Hand over a fully written document; `on_end` gets whether it is complete."""
        await self._queue.put((document, on_end))

    async def end(self) -> None:
        """Say that nothing more comes."""
        await self._queue.put(None)

    async def run(self) -> None:
        """Embed and complete until the end."""
        ended = failed = False
        while not ended:
            ended, timed_out = await self._receive()
            if failed:
                self._elements.clear()
                self._documents.clear()
                continue
            try:
                while len(self._elements) >= BATCH:
                    await self._embed_batch()
                if ended or timed_out or len(self._documents) >= _MAX_DOCUMENTS_WAITING:
                    await self._embed_batch()
                await self._complete_documents()
            except DecisionError as error:
                failed = True
                self._on_failure(error)

    async def _receive(self) -> tuple[bool, bool]:
        """Take the next item; return whether it was the end, and whether none came in time."""
        try:
            async with asyncio.timeout(_MAX_WAIT if self._elements or self._documents else None):
                item = await self._queue.get()
        except TimeoutError:
            return False, True
        if isinstance(item, tuple):
            self._documents.append((self._embedded + len(self._elements), item))
        elif item is not None:  # the same key element comes with many chunks
            self._elements |= {one.id: one for one in item}
        return item is None, False

    async def _embed_batch(self) -> None:
        batch = list(self._elements.values())[:BATCH]
        if not batch or not self._embedder:
            return
        # Another chunk or process may have brought some of them here before.
        lacking = await self._writer.unembedded_among([one.id for one in batch])
        await embed(self._writer, self._embedder, [one for one in batch if one.id in lacking])
        for one in batch:
            del self._elements[one.id]
        self._embedded += len(batch)
        self._progress(EmbeddingProgress(self._embedded, self._embedded + len(self._elements)))

    async def _complete_documents(self) -> None:
        """Complete the documents whose key elements have vectors."""
        ready: list[_Completion] = []
        while self._documents and self._documents[0][0] <= self._embedded:
            ready.append(self._documents.popleft()[1])
        if not ready:
            return
        complete = await self._writer.complete([document for document, _ in ready])
        for document, on_end in ready:
            on_end(document.id in complete)


async def embed(
    writer: GraphWriter, embedder: Embedder, elements: Sequence[UnembeddedElement]
) -> None:
    """Embed key elements and mark those that normalization compares. Raises DecisionError."""
    for start in range(0, len(elements), BATCH):
        batch = elements[start : start + BATCH]
        vectors = await embedder.embed([one.key for one in batch])
        await writer.write_embeddings(
            [(one.id, vector) for one, vector in zip(batch, vectors, strict=True)],
            fresh={one.id for one in batch if is_comparable(one.name, one.key)},
        )


async def reindex(
    connection: Connection, embedder: Embedder, corpus: str, progress: Progress = no_progress
) -> list[str]:
    """Embed a corpus again with another embedder; return all corpora that were embedded.

    All corpora share one vector index: those whose vectors have another dimension are embedded as
    well, and those that an interrupted reindex left unfinished.
    """
    catalog = Catalog(connection)
    await catalog.corpus(corpus)
    if await schema.dimension(connection) != embedder.dimension:
        await schema.rebuild(connection, embedder.dimension)
    done = []
    for one in await catalog.corpora():
        record = await catalog.corpus(one.corpus)
        has_begun = record.embedding == embedder.name
        if one.corpus == corpus or has_begun or record.dimension != embedder.dimension:
            writer = GraphWriter(connection, one.corpus)
            await writer.change_embedding(embedder.name, embedder.dimension)
            missing = await writer.unembedded()
            for start in range(0, len(missing), BATCH):
                batch = missing[start : start + BATCH]
                await embed(writer, embedder, batch)
                progress(EmbeddingProgress(start + len(batch), len(missing)))
            if missing or one.corpus == corpus:
                done.append(one.corpus)
    return done
