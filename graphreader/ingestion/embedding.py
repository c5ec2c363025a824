"""Giving new key elements their vectors while texts are read.

Nobody who extracts or writes waits for a vector, unless they are far behind.
"""

import asyncio
from collections.abc import Callable, Sequence

from graphreader.deciding.embedder import Embedder
from graphreader.errors import DecisionError
from graphreader.ingestion.normalization.semantic import is_compared
from graphreader.ingestion.report import Embedded, Progress
from graphreader.ingestion.work import Work
from graphreader.store.writer import GraphWriter, Unembedded

EMBEDDED_AT_ONCE = 1000
WAITING = 200
"""Lists of new key elements, and documents, that may wait for their vectors."""


class Embedding:
    """Embeds what it is given in the order in which it comes.

    A document that comes is therefore complete when its turn is: what it names came before it.
    Without an embedder no vectors are made.
    """

    def __init__(
        self,
        writer: GraphWriter,
        embedder: Embedder | None,
        completed: Callable[[Work, bool], None],
        progress: Progress,
    ) -> None:
        self._writer = writer
        self._embedder = embedder
        self._completed = completed
        self._progress = progress
        self._waiting: asyncio.Queue[Sequence[Unembedded] | Work | None] = asyncio.Queue(WAITING)
        self._known: set[str] = set()  # of those that wait: the same one comes with many chunks
        self._done = self._total = 0
        self.failure: DecisionError | None = None

    async def put(self, elements: Sequence[Unembedded]) -> None:
        """Hand over key elements without a vector; waits where too many wait already."""
        new = [one for one in elements if one.id not in self._known]
        if new and self._embedder:
            self._known.update(one.id for one in new)
            self._total += len(new)
            await self._waiting.put(new)

    async def finish(self, work: Work) -> None:
        """Hand over a document of which all chunks are in order."""
        await self._waiting.put(work)

    async def end(self) -> None:
        """Say that nothing more comes."""
        await self._waiting.put(None)

    async def run(self) -> None:
        """Embed until the end. Where no vectors can be had, `failure` says why.

        It is not raised: what others are waiting for is paid, and shall be written.
        """
        ended = False
        while not ended:
            works: list[Work] = []
            elements: list[Unembedded] = []
            item = await self._waiting.get()
            while True:
                if item is None:
                    ended = True
                elif isinstance(item, Work):
                    works.append(item)
                else:
                    elements += item
                if ended or self._waiting.empty() or len(elements) >= EMBEDDED_AT_ONCE:
                    break
                item = self._waiting.get_nowait()
            try:
                if not self.failure:
                    await self._embed(elements)
                    await self._complete(works)
            except DecisionError as error:
                self.failure = error

    async def _embed(self, elements: Sequence[Unembedded]) -> None:
        if not elements or not self._embedder:
            return
        await embed(self._writer, self._embedder, elements)
        self._known.difference_update(one.id for one in elements)
        self._done += len(elements)
        self._progress(Embedded(self._done, self._total))

    async def _complete(self, works: Sequence[Work]) -> None:
        if not works:
            return
        done = await self._writer.complete(
            {one.document.id: (one.document.sha256, one.chunks) for one in works}
        )
        for work in works:
            self._completed(work, work.document.id in done)
            work.ended.set()


async def embed(writer: GraphWriter, embedder: Embedder, elements: Sequence[Unembedded]) -> None:
    """Embed key elements; those that may have near-duplicates are to be compared with the others.

    Raises DecisionError.
    """
    for start in range(0, len(elements), EMBEDDED_AT_ONCE):
        part = elements[start : start + EMBEDDED_AT_ONCE]
        vectors = await embedder.embed([one.key for one in part])
        await writer.write_embeddings(
            [(one.id, vector) for one, vector in zip(part, vectors, strict=True)],
            fresh={one.id for one in part if is_compared(one.name, one.key)},
        )
