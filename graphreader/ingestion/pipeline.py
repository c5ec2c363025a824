"""Reading sources into one corpus: load, cut, extract, write, embed, each beside the others.

Everything on the way is bounded, so that memory does not grow with the corpus, and a chunk counts
as read when it is safe in the graph. The next run asks only for what is missing there.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.deciding.embedder import Embedder
from graphreader.documents import Chunk
from graphreader.errors import DecisionError
from graphreader.ingestion import logbook
from graphreader.ingestion.embedding import Embedding
from graphreader.ingestion.extraction import extract
from graphreader.ingestion.intake import Intake
from graphreader.ingestion.loading.sources import Source
from graphreader.ingestion.report import (
    DocumentBegun,
    DocumentEnded,
    DocumentReport,
    IngestReport,
    Progress,
    SourceEnded,
    SourcesFound,
    quiet,
)
from graphreader.ingestion.work import Work
from graphreader.ingestion.writing import CHUNKS_A_WRITE, Writing
from graphreader.store.deleter import Deleter
from graphreader.store.states import States
from graphreader.store.writer import GraphWriter
from graphreader.usage import Usage

Works = AsyncGenerator[Work | DocumentReport]


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
        progress: Progress = quiet,
    ) -> None:
        self._writer = writer
        self._decider = decider
        self._embedder = embedder
        self._chunk_tokens = chunk_tokens
        self._budget = budget
        self._progress = progress
        self._states = States(writer.connection, writer.corpus)
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
                yield Work(document, tokens, found.chunks, found.failed, begins=False)

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
        logbook.read(report)
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

    async def _take_up(self, work: Work | DocumentReport, group: asyncio.TaskGroup) -> None:
        """Begin what is missing of a document, as fast as there is room for it."""
        if isinstance(work, DocumentReport):
            self._reports.append(work)
            logbook.ended(work)
            self._progress(DocumentEnded(work))
            return
        logbook.begun(work)
        work.place = len(self._reports)
        self._reports.append(None)
        if not work.missing:
            await self._slots.acquire()
            self._writing.put(work, None)
        for chunk in work.missing:
            await self._slots.acquire()
            group.create_task(self._extract(work, chunk))

    async def _extract(self, work: Work, chunk: Chunk) -> None:
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

    def _ended(self, work: Work, complete: bool) -> None:
        """A document is through."""
        report = work.report(complete)
        self._reports[work.place] = report
        logbook.ended(report)
        self._progress(DocumentEnded(report))


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first failure of those that came together."""
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
