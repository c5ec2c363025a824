"""Giving new key elements their vectors while texts are read.

Nobody who extracts or writes waits for a vector, unless they are far behind.

Embedding a corpus anew after the embeddings were changed; no text is read again.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from graphreader.errors import DecisionError
from graphreader.ingestion.normalization.merging import is_comparable
from graphreader.ingestion.report import DocumentJob, Embedded, Progress, no_progress
from graphreader.llm.protocols import Embedder
from graphreader.store import schema
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.writer import GraphWriter, UnembeddedElement

EMBEDDED_AT_ONCE = 500

WAITING = 200
"""Lists of new key elements, and documents, that may wait to be looked at."""

DOCUMENTS_WAITING = 50
"""Documents that wait for the vectors before them until fewer key elements are embedded at once."""

PATIENCE = 1.0
"""Seconds after which fewer key elements than that are embedded."""


class Embedding:
    """Embeds what it is given in the order in which it comes.

    A document that comes is therefore complete when its turn is: what it names came before it.
    Without an embedder no vectors are made.
    """

    def __init__(
        self,
        writer: GraphWriter,
        embedder: Embedder | None,
        completed: Callable[[DocumentJob, bool], None],
        failed: Callable[[DecisionError], None],
        progress: Progress,
    ) -> None:
        self._writer = writer
        self._embedder = embedder
        self._completed = completed
        self._failed = failed
        self._progress = progress
        self._coming: asyncio.Queue[Sequence[UnembeddedElement] | DocumentJob | None] = (
            asyncio.Queue(WAITING)
        )
        self._elements: dict[str, UnembeddedElement] = {}
        self._works: deque[tuple[int, DocumentJob]] = (
            deque()
        )  # and how many key elements come before
        self._done = 0

    async def put(self, elements: Sequence[UnembeddedElement]) -> None:
        """Hand over key elements without a vector; waits where too many wait already."""
        if elements and self._embedder:
            await self._coming.put(elements)

    async def finish(self, work: DocumentJob) -> None:
        """Hand over a document of which all chunks are in order."""
        await self._coming.put(work)

    async def end(self) -> None:
        """Say that nothing more comes."""
        await self._coming.put(None)

    async def run(self) -> None:
        """Embed until the end. Where no vectors can be had, `failed` is told why.

        It is not raised: what others are waiting for is paid, and shall be written.
        """
        ended = useless = False
        while not ended:
            ended, waited = await self._take()
            if useless:
                self._elements.clear()
                self._works.clear()
                continue
            try:
                while len(self._elements) >= EMBEDDED_AT_ONCE:
                    await self._embed()
                if ended or waited or len(self._works) >= DOCUMENTS_WAITING:
                    await self._embed()
                await self._complete()
            except DecisionError as error:
                useless = True
                self._failed(error)

    async def _take(self) -> tuple[bool, bool]:
        """Take in what comes next: whether that was the end, whether nothing came for a while."""
        something = self._elements or self._works
        try:
            async with asyncio.timeout(PATIENCE if something else None):
                item = await self._coming.get()
        except TimeoutError:
            return False, True
        if isinstance(item, DocumentJob):
            self._works.append((self._done + len(self._elements), item))
        elif item is not None:  # the same one comes with many chunks
            self._elements |= {one.id: one for one in item}
        return item is None, False

    async def _embed(self) -> None:
        part = list(self._elements.values())[:EMBEDDED_AT_ONCE]
        if not part or not self._embedder:
            return
        # Since they were handed over, others of the same text may have brought them here before.
        lacking = await self._writer.unembedded_among([one.id for one in part])
        await embed(self._writer, self._embedder, [one for one in part if one.id in lacking])
        for one in part:
            del self._elements[one.id]
        self._done += len(part)
        self._progress(Embedded(self._done, self._done + len(self._elements)))

    async def _complete(self) -> None:
        """Complete the documents whose key elements have their vectors."""
        works = []
        while self._works and self._works[0][0] <= self._done:
            works.append(self._works.popleft()[1])
        if not works:
            return
        done = await self._writer.complete([one.version for one in works])
        for work in works:
            self._completed(work, work.document.id in done)
            work.ended.set()


async def embed(
    writer: GraphWriter, embedder: Embedder, elements: Sequence[UnembeddedElement]
) -> None:
    """Embed key elements; those that may have near-duplicates are to be compared with the others.

    Raises DecisionError.
    """
    for start in range(0, len(elements), EMBEDDED_AT_ONCE):
        part = elements[start : start + EMBEDDED_AT_ONCE]
        vectors = await embedder.embed([one.key for one in part])
        await writer.write_embeddings(
            [(one.id, vector) for one, vector in zip(part, vectors, strict=True)],
            fresh={one.id for one in part if is_comparable(one.name, one.key)},
        )


async def reindex(
    connection: Connection, embedder: Embedder, corpus: str, progress: Progress = no_progress
) -> list[str]:
    """Embed a corpus anew with another embedder; no text is read again. Returns what was embedded.

    The vector index serves all corpora: those whose vectors have another length are embedded as
    well, and what an earlier run that was cut off left undone. Raises UnknownCorpusError.
    """
    library = Catalog(connection)
    await library.corpus(corpus)
    if await schema.dimension(connection) != embedder.dimension:
        await schema.rebuild(connection, embedder.dimension)
    done = []
    for one in await library.corpora():
        record = await library.corpus(one.corpus)
        begun = record.embedding == embedder.name
        if one.corpus == corpus or begun or record.dimension != embedder.dimension:
            writer = GraphWriter(connection, one.corpus)
            await writer.change_embedding(embedder.name, embedder.dimension)
            embedded = await _embed_all(writer, embedder, progress)
            if embedded or one.corpus == corpus:
                done.append(one.corpus)
    return done


async def _embed_all(writer: GraphWriter, embedder: Embedder, progress: Progress) -> int:
    """How many key elements had no vector."""
    missing = await writer.unembedded()
    for start in range(0, len(missing), EMBEDDED_AT_ONCE):
        part = missing[start : start + EMBEDDED_AT_ONCE]
        await embed(writer, embedder, part)
        progress(Embedded(start + len(part), len(missing)))
    return len(missing)
