"""The ingestion pipeline: load, chunk, extract, write, embed and complete documents.

The stages run in parallel, joined by bounded queues. A chunk counts as read once it is in the
graph; the next run extracts only the chunks that are missing there.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

from graphreader.documents import AtomicFact, Chunk, ChunkFacts, Document
from graphreader.errors import DecisionError, DeletedError, PendingError
from graphreader.ingestion.chunking import rechunk, split
from graphreader.ingestion.context import DocumentContext
from graphreader.ingestion.embedding import EmbeddingQueue
from graphreader.ingestion.extraction import extract
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.parser_process import FileParser, parse
from graphreader.ingestion.loading.sources import Source
from graphreader.ingestion.loading.web import RETRIEVED
from graphreader.ingestion.report import (
    SHOWN,
    ChunkProgress,
    DocumentEnd,
    DocumentReport,
    DocumentStart,
    FailedChunk,
    IngestReport,
    Progress,
    SourceCount,
    SourceEnd,
    log_document_end,
    log_ingest,
    logger,
    no_progress,
    without_facts_note,
)
from graphreader.llm.protocols import Budget, Decider, Embedder
from graphreader.settings import OFFLINE
from graphreader.store.catalog import DocumentState, DocumentStatus
from graphreader.store.writer import Deleter, DocumentVersion, GraphWriter, metadata_of
from graphreader.usage import Usage

LOADED_AT_ONCE, CHARACTERS_AT_ONCE = 8, 50_000
"""Largest number and size of documents that are loaded and looked up together."""

CHUNKS_PER_WRITE = 100
FILLING_SECONDS = 0.25
"""Longest wait of a write for running extractions: many small writes cost more."""
WRITERS = 2  # while Neo4j processes one transaction, the next is prepared and sent

LOOK_SECONDS = 0.5
"""Time in which chunks are extracted without another look at the corpus: a look before each of
them would double the time of a quick model."""

_DELETED = "It was deleted while it was being read."
_CHANGED = "It is incomplete or was changed meanwhile: run the same `graphreader ingest` again."


@dataclass(slots=True)
class DocumentJob:
    """The work on a document: its `chunks`, of which `missing` are to be extracted in `context`.

    `arrangement` lists all chunks of a document that the graph has in part; the chunks of a new
    document are linked when they are written.
    """

    context: DocumentContext
    chunk_tokens: int
    chunks: int
    missing: Sequence[Chunk]
    arrangement: Sequence[Chunk] | None = None
    is_retry: bool = False
    report_index: int = 0
    facts: int = 0
    failed: list[FailedChunk] = field(default_factory=list)
    without_facts: list[int] = field(default_factory=list)
    waiting: int = 0
    has_node: bool = False
    arranged: bool = False
    sent: int = 0
    written: int = 0
    is_deleted: bool = False
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def document(self) -> Document:
        """The document itself."""
        return self.context.document

    @property
    def is_new(self) -> bool:
        """Whether the graph had nothing of the document."""
        return not self.is_retry and self.arrangement is None

    @property
    def is_in_graph(self) -> bool:
        """Whether the graph has the document, unless it was deleted since."""
        return self.has_node or not self.is_new

    @property
    def is_written(self) -> bool:
        """Whether all missing chunks are in the graph."""
        return self.written == len(self.missing)

    @property
    def version(self) -> DocumentVersion:
        """The version of the document in the graph once it is complete."""
        document = self.document
        return DocumentVersion.of(document.id, document.sha256, self.chunk_tokens, self.chunks)

    def report(self, complete: bool) -> DocumentReport:
        """Make the report; a document is incomplete if chunks failed or its nodes changed."""
        self.failed.sort(key=lambda one: one.chunk)
        error = self.failed[0].reason if self.failed else None
        if self.is_deleted:
            error = _DELETED
        if not (complete or self.waiting):
            error = error or _CHANGED
        return DocumentReport(
            self.document.title,
            self.document.source,
            "read" if complete else "waiting" if self.waiting else "incomplete",
            id=self.document.id,
            chunks=self.chunks,
            asked=len(self.missing) - self.waiting,
            waiting=self.waiting,
            facts=self.facts,
            skipped=self.document.skipped,
            notes=self.document.notes,
            failed=tuple(self.failed),
            without_facts=tuple(sorted(self.without_facts)),
            error=error,
        )


_Jobs = AsyncGenerator[DocumentJob | DocumentReport]

_Extracted = tuple[DocumentJob, ChunkFacts[Chunk] | None]
"""A chunk with its facts; None for a document of which no chunk is missing."""

_Loaded = tuple[Document | Refused | None, bool]
"""A document or refusal, and whether it is the last of its source."""


class Pipeline:
    """An ingest into the corpus of a writer. Without an embedder key elements get no vectors."""

    def __init__(
        self,
        writer: GraphWriter,
        decider: Decider,
        embedder: Embedder | None,
        *,
        chunk_tokens: int,
        budget: Budget | None = None,
        parse: FileParser = parse,
        progress: Progress = no_progress,
    ) -> None:
        self._writer = writer
        self._decider = decider
        self._embedder = embedder
        self._chunk_tokens = chunk_tokens
        self._budget = budget
        self._parse = parse
        self._progress = progress
        self._status = DocumentStatus(writer.connection, writer.corpus)
        self._deleter = Deleter(writer.connection, writer.corpus)
        self._embedding = EmbeddingQueue(writer, embedder, progress, self._fail)
        self._jobs: dict[str, DocumentJob] = {}  # unfinished jobs by document id
        # Twice the decider's number: some prepare prompts or pause while others wait for replies.
        self._deciding = asyncio.Semaphore(2 * decider.concurrency)
        # Chunks from the start of their extraction until they are written.
        self._max_in_flight = 2 * (CHUNKS_PER_WRITE + decider.concurrency)
        self._in_flight = asyncio.Semaphore(self._max_in_flight)
        self._extracted: asyncio.Queue[_Extracted | None]
        self._extracted = asyncio.Queue()  # bounded by _in_flight
        self._filling = asyncio.Lock()
        self._extracting = 0  # chunks whose extraction has begun
        self._reports: list[DocumentReport | None] = []
        self._usage = Usage()
        self._dropped = 0
        self._unknown_sentences = 0
        self._without_source = 0
        self._failure: DecisionError | None = None
        self._again = False
        self._created = ""  # when the corpus was created; empty: it is not in the graph yet
        self._looking = asyncio.Lock()
        self._looked = -LOOK_SECONDS

    async def run(self, sources: Sequence[Source], again: bool = False) -> IngestReport:
        """Read sources; report the outcome of each. Raises DecisionError; written chunks stay.

        With `again` documents that the graph has are deleted first.
        """
        self._again = again
        await self._deleter.finish_deletes()
        return await self._read(self._source_jobs(sources))

    async def retry(self) -> IngestReport:
        """Extract again only the chunks of the corpus that have no facts."""
        return await self._read(self._retry_jobs())

    async def _read(self, jobs: _Jobs) -> IngestReport:
        started = time.monotonic()
        try:
            async with asyncio.TaskGroup() as group, aclosing(jobs):
                group.create_task(self._embedding.run())
                group.create_task(self._write())
                async for job in jobs:
                    await self._start(job, group)
                    if self._failure:  # no further request
                        break
                for _ in range(self._max_in_flight):  # wait until all chunks are written
                    await self._in_flight.acquire()
                self._extracted.put_nowait(None)
        except BaseExceptionGroup as errors:
            raise _first_error(errors) from None
        ended = await self._ended()
        if not self._failure and ended and all(one.error == _DELETED for one in ended):
            titles = ", ".join(repr(one.title) for one in ended[:SHOWN])
            self._failure = DeletedError(f"Deleted while being read: {titles}.")
        if self._failure:
            self._failure.spent = self._usage
            raise self._failure
        notice = self._decider.notice if self._decider.name != OFFLINE else ""  # for the report
        report = IngestReport(
            self._writer.corpus,
            tuple(ended),
            replace(self._usage, seconds=round(time.monotonic() - started, 3)),
            self._decider.name,
            notes=(*filter(None, [notice]), *without_facts_note(ended)),
            dropped=self._dropped,
            unknown_sentences=self._unknown_sentences,
            without_source=self._without_source,
        )
        log_ingest(report)
        return report

    @property
    def _is_gone(self) -> bool:
        """Whether the corpus was deleted, so that nothing is written any more."""
        return isinstance(self._failure, DeletedError)

    @property
    def budget(self) -> Budget | None:
        """The budget of the ingest."""
        return self._budget

    @property
    def refused(self) -> int:
        """The number of texts to which the embeddings service gave no vector."""
        return self._embedding.refused

    async def _look_again(self, seconds: float = 0.0) -> None:
        """Look what was deleted meanwhile, unless a look is less than some seconds old.

        Chunks that wait share one look. Raises DeletedError for the corpus; a deleted document ends
        by itself.
        """
        clock = asyncio.get_running_loop().time
        asked = clock()
        async with self._looking:
            if self._looked > asked - seconds:
                return
            self._looked = clock()
            jobs = [one for one in self._jobs.values() if one.is_in_graph]
            jobs = [one for one in jobs if not one.finished.is_set()]
            created, present = await self._status.present([one.document.id for one in jobs])
            if self._created and created != self._created:
                raise DeletedError(
                    f"The corpus {self._writer.corpus!r} was deleted while texts were read into it."
                )
            self._created = created
            for job in jobs:
                if job.document.id not in present:
                    job.is_deleted = True
                    self._end(job, complete=False)

    async def _ended(self) -> list[DocumentReport]:
        """The reports of all documents, also of those deleted after their last chunk was read."""
        reports = [report for report in self._reports if report]
        changed = [one.id for one in reports if one.id and one.error == _CHANGED]
        if not changed:
            return reports
        _, present = await self._status.present(changed)
        deleted = set(changed) - present
        return [replace(one, error=_DELETED) if one.id in deleted else one for one in reports]

    def _fail(self, error: DecisionError) -> None:
        """Stop new work; the first failure is raised once all extracted chunks are written."""
        self._failure = self._failure or error
        for job in self._jobs.values():
            job.finished.set()  # wake all who wait for it

    # Load documents, and look up which of their chunks are missing in the graph.

    async def _source_jobs(self, sources: Sequence[Source]) -> _Jobs:
        """Yield a job for each document, or a report if nothing is to be done."""
        self._progress(SourceCount(len(sources)))
        loaded = _loaded(sources, self._writer.corpus, self._parse)
        while batch := await asyncio.to_thread(_next_batch, loaded):
            ids = [one.id for one, _ in batch if isinstance(one, Document)]
            states = await self._status.of(ids)
            for document, is_last in batch:
                job = await self._job(document, states) if document else None
                if isinstance(job, DocumentJob):
                    tokens, missing = sum(one.tokens for one in job.missing), len(job.missing)
                    self._progress(DocumentStart(job.document.title, job.chunks, missing, tokens))
                if is_last:
                    self._progress(SourceEnd())
                if job:
                    yield job

    async def _job(
        self, document: Document | Refused, states: Mapping[str, DocumentState]
    ) -> DocumentJob | DocumentReport:
        if isinstance(document, Refused):
            return DocumentReport(document.title, document.source, "refused", error=document.reason)
        state = states.get(document.id)
        if earlier := self._jobs.get(document.id):  # the same document is named twice
            await earlier.finished.wait()
            state = (await self._status.of([document.id])).get(document.id)
        if state and self._again and not earlier:
            await self._deleter.delete([document.id])
            state = None
        elif state and state.deleting:
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
                notes=document.notes,
            )
        if state and state.chunks:
            job = await self._update_job(document, state)
        else:
            chunks = await asyncio.to_thread(split, document, self._chunk_tokens)
            job = await self._document_job(document, chunks, chunks)
        self._jobs = {id_: one for id_, one in self._jobs.items() if not one.finished.is_set()}
        self._jobs[document.id] = job
        return job

    def _is_unchanged(self, document: Document, state: DocumentState) -> bool:
        return (
            state.complete
            and state.sha256 == document.sha256
            and state.chunk_tokens == self._chunk_tokens
            and state.title == document.title
            and _lasting(state.metadata) == _lasting(metadata_of(document))
            and state.encoding == document.encoding
        )

    async def _update_job(self, document: Document, state: DocumentState) -> DocumentJob:
        """Make the job for a document with chunks in the graph: unchanged chunks are kept."""
        former = []
        if state.arranged and state.chunk_tokens == self._chunk_tokens:
            former = await self._status.arranged(document.id)
        chunks = await asyncio.to_thread(rechunk, document, self._chunk_tokens, former)
        known = await self._status.chunks(document.id)
        # An interrupted edit retired these chunks, and half of their facts may be deleted.
        await self._deleter.delete_chunks([id_ for id_ in known if known[id_] == "retired"])
        missing = [chunk for chunk in chunks if known.get(chunk.id) != "extracted"]
        job = await self._document_job(document, chunks, missing)
        job.arrangement = chunks
        return job

    async def _document_job(
        self, document: Document, chunks: Sequence[Chunk], missing: Sequence[Chunk]
    ) -> DocumentJob:
        context = await asyncio.to_thread(
            DocumentContext, document, for_model=self._decider.name != OFFLINE
        )
        return DocumentJob(context, self._chunk_tokens, len(chunks), missing)

    async def _retry_jobs(self) -> _Jobs:
        documents = await self._status.failed()
        self._progress(SourceCount(len(documents)))
        for id_ in documents:
            record = await self._status.stored(id_)
            if record and record.failed:
                failed, tokens = len(record.failed), sum(one.tokens for one in record.failed)
                self._progress(DocumentStart(record.document.title, failed, failed, tokens))
            self._progress(SourceEnd())
            if record and record.failed:
                job = await self._document_job(record.document, record.chunks, record.failed)
                job.chunk_tokens, job.is_retry = record.chunk_tokens, True
                yield job

    # Extract the missing chunks.

    async def _start(self, job: DocumentJob | DocumentReport, group: asyncio.TaskGroup) -> None:
        """Start the extraction of the missing chunks, as far as the limits allow."""
        if isinstance(job, DocumentReport):
            self._reports.append(job)
            log_document_end(job)
            self._progress(DocumentEnd(job))
            return
        document = job.document
        numbers = document.id, len(job.missing), job.chunks
        logger.info("Document %s begins: %d of its %d chunks to read", *numbers)
        logger.debug("Document %s is %r of %s", document.id, document.title, document.source)
        job.report_index = len(self._reports)
        self._reports.append(None)
        if not job.missing:
            await self._in_flight.acquire()
            self._extracted.put_nowait((job, None))
        for chunk in job.missing:
            await self._in_flight.acquire()
            self._extracting += 1
            group.create_task(self._extract(job, chunk))

    async def _extract(self, job: DocumentJob, chunk: Chunk) -> None:
        """Extract one chunk and queue it for writing, unless the run has failed."""
        try:
            async with self._deciding:
                if self._budget:
                    await self._budget.check_holder()
                await self._look_again(LOOK_SECONDS)
                if self._failure or job.is_deleted:
                    self._in_flight.release()
                    return
                result = await extract(self._decider, job.context, chunk, self._budget)
        except PendingError as error:
            self._usage += error.spent
            job.waiting += 1
            self._in_flight.release()
            self._end_waiting(job)
        except DecisionError as error:
            # Not raised here: other replies are already paid for, and must be written.
            self._usage += error.spent
            self._fail(error)
            self._in_flight.release()
        else:
            self._usage += result.usage
            self._dropped += result.dropped
            self._unknown_sentences += result.unknown_sentences
            self._without_source += result.without_source
            self._extracted.put_nowait((job, result.extracted))
        finally:
            self._extracting -= 1

    # Write the extracted chunks: all available chunks of all documents in one transaction.

    async def _write(self) -> None:
        """Write batches to the end; a service that refuses every request leaves no corpus."""
        first = await self._extracted.get()
        self._extracted.put_nowait(first)
        if first is not None:
            await self._writer.begin_corpus(
                decider=self._decider.name,
                prompts=self._decider.prompts,
                embedding=self._embedder.name if self._embedder else "none",
                dimension=self._embedder.dimension if self._embedder else 0,
            )
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITERS):
                group.create_task(self._write_batches())
        await self._embedding.end()

    async def _write_batches(self) -> None:
        while batch := await self._next_batch():
            await self._write_batch(batch)

    async def _next_batch(self) -> list[_Extracted]:
        """Return the chunks of the next transaction; empty at the end. The writers take turns."""
        batch: list[_Extracted] = []
        async with self._filling:
            with suppress(TimeoutError):
                async with asyncio.timeout(None) as filling:
                    while len(batch) < CHUNKS_PER_WRITE:
                        if batch and self._extracted.empty() and not self._extracting:
                            break
                        item = await self._extracted.get()
                        if item is None:
                            self._extracted.put_nowait(None)  # so that both writers see the end
                            break
                        if not batch:
                            filling.reschedule(asyncio.get_running_loop().time() + FILLING_SECONDS)
                        batch.append(item)
        return batch

    async def _write_batch(self, batch: Sequence[_Extracted]) -> None:
        try:
            await self._look_again()
        except DecisionError as error:
            self._fail(error)
        kept = [one for one in batch if not (one[0].is_deleted or self._is_gone)]
        for _ in range(len(batch) - len(kept)):
            self._in_flight.release()
        if not (batch := kept):
            return
        jobs = list({id(job): job for job, _ in batch}.values())
        new_nodes = [job.document for job in jobs if not (job.is_retry or job.has_node)]
        chunks = [chunk for _, chunk in batch if chunk is not None]
        for job, _ in batch:
            job.sent += 1
        pending = [job.document.id for job in jobs if job.arrangement is not None]
        whole = [job.version for job in jobs if job.is_new and job.sent == len(job.missing)]
        result = await self._writer.write_chunks(
            chunks, new_nodes, self._chunk_tokens, pending=pending, whole=whole
        )
        for job in jobs:
            job.has_node = True
            job.arranged = job.arranged or job.document.id in result.arranged
            if job.is_new and job.document.id in result.shared:
                job.arrangement = job.missing  # another process reads this document too
        await self._embedding.put(result.unembedded)
        for job, one in batch:
            if one is not None:
                job.written += 1
                job.facts += len(one.facts)
                if one.chunk.error is not None:
                    job.failed.append(FailedChunk(one.chunk.index, one.chunk.error))
                elif not one.facts and any(map(str.isalnum, one.chunk.text)):
                    job.without_facts.append(one.chunk.index)
                title, tokens = job.document.title, one.chunk.tokens
                self._progress(ChunkProgress(title, 1, len(one.facts), tokens, self._usage))
            self._in_flight.release()
        await self._finish([job for job in jobs if job.is_written])
        for job in jobs:
            self._end_waiting(job)

    async def _finish(self, jobs: Sequence[DocumentJob]) -> None:
        """Link the chunks of documents in order; queue the documents for completion."""
        # The last batch of a document may have been written before an earlier batch.
        if unlinked := [job.version for job in jobs if job.is_new and not job.arranged]:
            await self._writer.write_chunks([], whole=unlinked)
        for job in jobs:
            if job.arrangement is not None:
                replaced = await self._writer.arrange(job.version, job.arrangement)
                await self._deleter.delete_chunks(replaced)
                facts = await self._status.facts(job.document.id)
                moved = await asyncio.to_thread(_moved, job.context, facts)
                await self._writer.place_facts(moved)
            if not job.is_new:
                id_ = job.document.id
                await self._writer.index_passages([id_])
                await self._embedding.put(await self._writer.unembedded(id_))
                await self._embedding.put(await self._writer.unembedded_passages([id_]))
            await self._embedding.complete(job.version, partial(self._end, job))

    def _end_waiting(self, job: DocumentJob) -> None:
        """End a document that is written except for chunks that wait for a batch."""
        is_last = job.written + job.waiting == len(job.missing)
        if job.waiting and is_last and not job.finished.is_set():
            self._end(job, complete=False)

    def _end(self, job: DocumentJob, complete: bool) -> None:
        if job.is_deleted and job.finished.is_set():
            return
        report = job.report(complete)
        self._reports[job.report_index] = report
        log_document_end(report)
        self._progress(DocumentEnd(report))
        job.finished.set()


def _lasting(metadata: str | None) -> str | None:
    """The metadata, as JSON, without the time of retrieval, by which a web page always differs."""
    values = json.loads(metadata or "{}")
    if "address" not in values or values.pop(RETRIEVED, None) is None:
        return metadata
    return json.dumps(values, sort_keys=True)


def _moved(context: DocumentContext, facts: Iterable[AtomicFact]) -> list[AtomicFact]:
    """Return the facts with another heading, speaker or time in the present text of a document."""
    return [one for fact in facts if (one := context.placed(fact)) != fact]


def _loaded(sources: Sequence[Source], corpus: str, parse: FileParser) -> Iterator[_Loaded]:
    """Load documents in order; each is delayed until it is known whether it is a source's last.

    The next sources are loaded meanwhile.
    """
    threads, left = ThreadPoolExecutor(LOADED_AT_ONCE, "loading"), iter(sources)
    begun: deque[Future[tuple[Document | Refused | None, Iterator[Document | Refused]]]] = deque()
    try:
        while True:
            for source in islice(left, LOADED_AT_ONCE - len(begun)):
                begun.append(threads.submit(_begin, source, corpus, parse))
            if not begun:
                return
            last, documents = begun.popleft().result()
            for document in documents:
                yield last, False
                last = document
            yield last, True
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _begin(
    source: Source, corpus: str, parse: FileParser
) -> tuple[Document | Refused | None, Iterator[Document | Refused]]:
    """Return the first document of a source, and an iterator over the others."""
    documents = source.documents(corpus, parse)
    return next(documents, None), documents


def _next_batch(loaded: Iterator[_Loaded]) -> list[_Loaded]:
    """Return the next documents: some small documents, or a large one."""
    batch: list[_Loaded] = []
    characters = 0
    for document, is_last in loaded:
        batch.append((document, is_last))
        characters += len(document.text) if isinstance(document, Document) else 0
        if len(batch) == LOADED_AT_ONCE or characters > CHARACTERS_AT_ONCE:
            break
    return batch


def _first_error(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
