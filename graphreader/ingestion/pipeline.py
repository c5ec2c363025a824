"""Reading sources into one corpus: load, cut, extract, write, embed, each beside the others.

Everything on the way is bounded, so that memory does not grow with the corpus, and a chunk counts
as read when it is safe in the graph. The next run asks only for what is missing there.

From sources to documents with their chunks, and what of each is missing in the graph.

Sources are read in a thread, a few documents ahead of those that are worked on, so that memory does
not grow with the corpus.

What was extracted is written: all that is ready in one transaction, over all documents.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from graphreader.documents import Chunk, Document
from graphreader.errors import DecisionError
from graphreader.ingestion import report as report_module
from graphreader.ingestion.chunking import rechunk, split
from graphreader.ingestion.embedding import Embedding
from graphreader.ingestion.extraction import extract
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import Source
from graphreader.ingestion.report import (
    ChunksRead,
    DocumentBegun,
    DocumentEnded,
    DocumentJob,
    DocumentReport,
    Failed,
    IngestReport,
    Progress,
    SourceEnded,
    SourcesFound,
    no_progress,
)
from graphreader.llm.protocols import Budget, Decider, Embedder
from graphreader.store.catalog import DocumentState, DocumentStatus
from graphreader.store.writer import Deleter, GraphWriter, ReadChunk, metadata_of
from graphreader.usage import Usage

AHEAD = 8
"""Documents that are loaded before they are worked on, and looked up at once."""

Loaded = tuple[Document | Refused | None, int | None]
"""A document, if there is one, and the size of its source, if nothing more comes of that."""


class Intake:
    """Takes up the documents of sources, one after the other."""

    def __init__(
        self,
        states: DocumentStatus,
        deleter: Deleter,
        corpus: str,
        chunk_tokens: int,
        progress: Progress,
    ) -> None:
        self._states = states
        self._deleter = deleter
        self._corpus = corpus
        self._chunk_tokens = chunk_tokens
        self._progress = progress
        self._taken: dict[str, DocumentJob] = {}

    async def works(
        self, sources: Sequence[Source]
    ) -> AsyncGenerator[DocumentJob | DocumentReport]:
        """What is to be done for each document; a report where there is nothing to do."""
        self._progress(SourcesFound(len(sources), sum(source.size for source in sources)))
        ahead: asyncio.Queue[Loaded | None] = asyncio.Queue(AHEAD)
        loading = asyncio.create_task(self._load(sources, ahead))
        try:
            while items := await _next(ahead, loading):
                ids = [one.id for one, _ in items if isinstance(one, Document)]
                states = await self._states.of(ids)
                for one, size in items:
                    taken = await self._take(one, states) if one else None
                    if isinstance(taken, DocumentJob):
                        self._progress(taken.begun_event())
                    if size is not None:
                        self._progress(SourceEnded(size))
                    if taken:
                        yield taken
        finally:
            loading.cancel()

    async def _load(self, sources: Sequence[Source], ahead: "asyncio.Queue[Loaded | None]") -> None:
        for source in sources:
            documents = source.documents(self._corpus)
            last = await asyncio.to_thread(next, documents, None)
            while last and (one := await asyncio.to_thread(next, documents, None)):
                await ahead.put((last, None))
                last = one
            await ahead.put((last, source.size))
        await ahead.put(None)

    async def _take(
        self, document: Document | Refused, states: Mapping[str, DocumentState]
    ) -> DocumentJob | DocumentReport:
        """What is to be done for one document."""
        if isinstance(document, Refused):
            return DocumentReport(document.title, document.source, "refused", error=document.reason)
        state = states.get(document.id)
        before = self._taken.get(document.id)
        if before:  # the same document once more: it begins when the first one is through
            await before.ended.wait()  # also where it failed: see give_up
            state = (await self._states.of([document.id])).get(document.id)
        if state and state.deleting:
            await self._deleter.finish_deletes()
            state = None
        if state and self._is_unchanged(document, state):
            return DocumentReport(
                document.title,
                document.source,
                "unchanged",
                id=document.id,
                chunks=state.chunks,
                skipped=document.skipped,
            )
        work = await self._work(document, state)
        self._taken = {id_: one for id_, one in self._taken.items() if not one.ended.is_set()}
        self._taken[document.id] = work
        return work

    def _is_unchanged(self, document: Document, state: DocumentState) -> bool:
        return (
            state.complete
            and state.sha256 == document.sha256
            and state.chunk_tokens == self._chunk_tokens
            and state.title == document.title
            and state.metadata == metadata_of(document)
        )

    async def _work(self, document: Document, state: DocumentState | None) -> DocumentJob:
        if state is None or not state.chunks:
            chunks = await asyncio.to_thread(split, document, self._chunk_tokens)
            return DocumentJob(document, self._chunk_tokens, len(chunks), chunks)
        chunks = await self._cut(document, state)
        known = await self._states.chunks(document.id)
        # What an edit left that was cut off: half of its facts may be gone.
        await self._deleter.delete_chunks([chunk.id for chunk in known if chunk.retired])
        extracted = {c.id for c in known if c.error is None and not c.retired}
        missing = [chunk for chunk in chunks if chunk.id not in extracted]
        return DocumentJob(document, self._chunk_tokens, len(chunks), missing, chunks)

    def give_up(self) -> None:
        """Say that what was taken up comes to no end any more: nobody shall wait for it."""
        for work in self._taken.values():
            work.ended.set()

    async def _cut(self, document: Document, state: DocumentState) -> list[Chunk]:
        """Its chunks: those of its former text stay where nothing changed."""
        old = []
        if state.arranged and state.chunk_tokens == self._chunk_tokens:
            old = await self._states.arranged(document.id)
        return await asyncio.to_thread(rechunk, document, self._chunk_tokens, old)


async def _next(
    ahead: "asyncio.Queue[Loaded | None]", loading: "asyncio.Task[None]"
) -> list[Loaded]:
    """All that is loaded by now, at least one; nothing at the end. Raises what loading raised."""
    getting = asyncio.ensure_future(ahead.get())
    try:
        await asyncio.wait({getting, loading}, return_when=asyncio.FIRST_COMPLETED)
        if not getting.done() and not loading.cancelled() and loading.exception():
            await loading
        items = [await getting]
    finally:
        getting.cancel()
    while not ahead.empty() and items[-1] is not None:
        items.append(ahead.get_nowait())
    if items[-1] is None and len(items) > 1:
        ahead.put_nowait(None)
    return [one for one in items if one is not None]


CHUNKS_A_WRITE = 50
AT_ONCE = 2
Item = tuple[DocumentJob, ReadChunk | None]


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

    def put(self, work: DocumentJob, read: ReadChunk | None) -> None:
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

    def _count(self, work: DocumentJob, read: ReadChunk) -> None:
        """A chunk is safe."""
        work.written += 1
        work.facts += len(read.facts)
        if read.error is not None:
            work.failed.append(Failed(read.chunk.index, read.error))
        self._progress(ChunksRead(work.document.title, 1, len(read.facts), read.chunk.tokens))

    async def _finish(self, works: Sequence[DocumentJob]) -> None:
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


Works = AsyncGenerator[DocumentJob | DocumentReport]


class Pipeline:
    """Reads into the corpus of a writer, once. Without an embedder key elements get no vectors."""

    def __init__(
        self,
        writer: GraphWriter,
        decider: Decider,
        embedder: Embedder | None,
        *,
        chunk_tokens: int,
        budget: Budget | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self._writer = writer
        self._decider = decider
        self._embedder = embedder
        self._chunk_tokens = chunk_tokens
        self._budget = budget
        self._progress = progress
        self._states = DocumentStatus(writer.connection, writer.corpus)
        self._deleter = Deleter(writer.connection, writer.corpus)
        # Twice as many as may be asked at once: while some prepare or pause, others ask.
        self._turn = asyncio.Semaphore(2 * decider.concurrency)
        self._in_flight = 2 * (CHUNKS_A_WRITE + decider.concurrency)  # others wait to be written
        self._slots = asyncio.Semaphore(self._in_flight)
        self._embedding = Embedding(writer, embedder, self._ended, self._fail, progress)
        self._intake = Intake(self._states, self._deleter, writer.corpus, chunk_tokens, progress)
        self._writing = Writing(
            writer, self._deleter, self._embedding, chunk_tokens, self._written, progress
        )
        self._reports: list[DocumentReport | None] = []
        self._usage = Usage()
        self._dropped = 0
        self._failure: DecisionError | None = None

    async def run(self, sources: Sequence[Source]) -> IngestReport:
        """Read sources. What cannot be read is reported, and the others are read all the same.

        Raises DecisionError where nobody answers; what was read until then is kept.
        """
        await self._deleter.finish_deletes()
        return await self._read(self._intake.works(sources))

    async def retry(self) -> IngestReport:
        """Ask again for the chunks of the corpus that have no facts, and for nothing else."""
        return await self._read(self._failed())

    async def _failed(self) -> Works:
        documents = await self._states.failed()
        self._progress(SourcesFound(len(documents), 0))
        for one in documents:
            self._progress(DocumentBegun(one.title, one.failed, one.failed, one.tokens))
            self._progress(SourceEnded(0))
        for one in documents:
            if found := await self._states.failed_chunks(one.id):
                document, tokens = found.document, found.chunk_tokens
                yield DocumentJob(document, tokens, found.chunks, found.failed, begins=False)

    async def _read(self, works: Works) -> IngestReport:
        began = time.monotonic()
        try:
            async with asyncio.TaskGroup() as group, aclosing(works):
                group.create_task(self._embedding.run())
                group.create_task(self._writing.run(self._begin_corpus))
                async for work in works:
                    await self._take_up(work, group)
                    if self._failure:  # nothing more is to be paid for
                        break
                for _ in range(self._in_flight):  # all are free: all is written
                    await self._slots.acquire()
                self._writing.end()
        except BaseExceptionGroup as failures:
            raise _first(failures) from None
        if self._failure:
            self._failure.spent = self._usage
            raise self._failure
        report = IngestReport(
            self._writer.corpus,
            tuple(report for report in self._reports if report),
            replace(self._usage, seconds=round(time.monotonic() - began, 3)),
            self._decider.name,
            dropped=self._dropped,
        )
        report_module.log_ingest(report)
        return report

    async def _begin_corpus(self) -> None:
        """Write the corpus, once there is something to write into it.

        So a service that refuses everything leaves nothing behind.
        """
        await self._writer.begin_corpus(
            decider=self._decider.name,
            prompts=self._decider.prompts,
            embedding=self._embedder.name if self._embedder else "none",
            dimension=self._embedder.dimension if self._embedder else 0,
        )

    async def _take_up(self, work: DocumentJob | DocumentReport, group: asyncio.TaskGroup) -> None:
        """Begin what is missing of a document, as fast as there is room for it."""
        if isinstance(work, DocumentReport):
            self._reports.append(work)
            report_module.log_document_end(work)
            self._progress(DocumentEnded(work))
            return
        report_module.log_document_start(work)
        work.place = len(self._reports)
        self._reports.append(None)
        if not work.missing:
            await self._slots.acquire()
            self._writing.put(work, None)
        for chunk in work.missing:
            await self._slots.acquire()
            group.create_task(self._extract(work, chunk))

    async def _extract(self, work: DocumentJob, chunk: Chunk) -> None:
        """Extract one chunk and hand it over, unless it is of no use any more."""
        async with self._turn:
            if self._failure:
                self._slots.release()
                return
            try:
                found = await extract(self._decider, work.document, chunk, self._budget)
            except DecisionError as error:
                # Not raised: what the others are waiting for is paid, and shall be written.
                self._usage += error.spent
                self._fail(error)
                self._slots.release()
                return
        self._usage += found.usage
        self._dropped += found.dropped
        self._writing.put(work, replace(found.read, pending=work.order is not None))

    def _fail(self, error: DecisionError) -> None:
        """Take up nothing more: the first failure is raised when all on its way is written."""
        self._failure = self._failure or error
        self._intake.give_up()

    def _written(self, chunks: int) -> None:
        """Make room for as many chunks as are safe now."""
        for _ in range(chunks):
            self._slots.release()

    def _ended(self, work: DocumentJob, complete: bool) -> None:
        """A document is through."""
        report = work.report(complete)
        self._reports[work.place] = report
        report_module.log_document_end(report)
        self._progress(DocumentEnded(report))


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first failure of those that came together."""
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
