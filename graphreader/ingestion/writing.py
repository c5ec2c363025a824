"""What was extracted is written: all that is ready in one transaction, over all documents."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from graphreader.ingestion.embedding import Embedding
from graphreader.ingestion.report import ChunksRead, Failed, Progress
from graphreader.ingestion.work import Work
from graphreader.store.deleter import Deleter
from graphreader.store.writer import GraphWriter, ReadChunk

CHUNKS_A_WRITE = 50

AT_ONCE = 2

Item = tuple[Work, ReadChunk | None]


class Writing:
    """Writes chunks as they come, and puts each document in order once all of it is there."""

    def __init__(
        self,
        writer: GraphWriter,
        deleter: Deleter,
        embedding: Embedding,
        chunk_tokens: int,
        written: Callable[[int], None],
        progress: Progress,
    ) -> None:
        self._writer = writer
        self._deleter = deleter
        self._embedding = embedding
        self._chunk_tokens = chunk_tokens
        self._written = written
        self._progress = progress
        self._ready: asyncio.Queue[Item | None] = asyncio.Queue()

    def put(self, work: Work, read: ReadChunk | None) -> None:
        """Hand over a chunk, or a document of which nothing is missing."""
        self._ready.put_nowait((work, read))

    def end(self) -> None:
        """Say that nothing more comes."""
        self._ready.put_nowait(None)

    async def run(self, begin: Callable[[], Awaitable[None]]) -> None:
        """Write until the end; `begin` is called before anything else is written.

        While the graph takes one part in, the next is packed and on its way.
        """
        first = await self._ready.get()
        self._ready.put_nowait(first)
        if first is not None:
            await begin()
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._run())
        await self._embedding.end()

    async def _run(self) -> None:
        while items := await self._next():
            await self._write(items)

    async def _next(self) -> list[Item]:
        """All that is ready, of whatever document; nothing at the end."""
        items: list[Item] = []
        one = await self._ready.get()
        while one is not None:
            items.append(one)
            if len(items) == CHUNKS_A_WRITE or self._ready.empty():
                return items
            one = self._ready.get_nowait()
        self._ready.put_nowait(None)  # for the others
        return items

    async def _write(self, items: Sequence[Item]) -> None:
        works = {id(work): work for work, _ in items}.values()
        beginning = [work.document for work in works if work.begins and not work.begun]
        read = [one for _, one in items if one is not None]
        written = await self._writer.write_chunks(read, beginning, self._chunk_tokens)
        for work in works:
            work.begun = True
            if work.is_new and work.document.id in written.shared:
                work.order = work.missing  # another process reads the same: not chained blindly
        await self._embedding.put(written.unembedded)
        for work, one in items:
            if one is not None:
                self._count(work, one)
        self._written(len(items))
        await self._finish([work for work in works if work.done])

    def _count(self, work: Work, read: ReadChunk) -> None:
        """A chunk is safe."""
        work.written += 1
        work.facts += len(read.facts)
        if read.error is not None:
            work.failed.append(Failed(read.chunk.index, read.error))
        self._progress(ChunksRead(work.document.title, 1, len(read.facts), read.chunk.tokens))

    async def _finish(self, works: Sequence[Work]) -> None:
        """Put documents in order, and let them be completed when their vectors are there."""
        new = [work.version for work in works if work.is_new]
        if new:
            await self._writer.chain(new)
        for work in works:
            if work.order is not None:
                stale = await self._writer.arrange(work.version, work.order)
                await self._deleter.delete_chunks(stale)
            if not work.is_new:
                await self._embedding.put(await self._writer.unembedded(work.document.id))
            await self._embedding.finish(work)
