"""Reading files into one corpus: load, chunk, extract, write, arrange, embed.

Documents are read side by side, and so are the chunks of each. What was extracted is written while
the next chunks are asked for, so a run that breaks off loses little, and the next one asks only for
what is missing: chunks are known by their content.
"""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.deciding.embedder import Embedder
from graphreader.documents import Chunk, Document
from graphreader.errors import DecisionError, DocumentError
from graphreader.ingestion.chunking import split
from graphreader.ingestion.embedding import EmbeddingAlong, embed_missing
from graphreader.ingestion.extraction import extract
from graphreader.ingestion.loading import find_all, load
from graphreader.ingestion.report import (
    ChunksRead,
    DocumentBegun,
    DocumentEnded,
    DocumentReport,
    IngestReport,
    Progress,
    quiet,
)
from graphreader.store.library import DocumentSummary
from graphreader.store.writer import GraphWriter, ReadChunk
from graphreader.usage import Usage

DOCUMENTS_AT_ONCE = 4
WRITTEN_AT_ONCE = 64
"""Chunks of a document that may wait to be written."""

T = TypeVar("T")


class Pipeline:
    """Reads files into the corpus of a writer."""

    def __init__(
        self,
        writer: GraphWriter,
        decider: Decider,
        embedder: Embedder,
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
        # Twice as many as may be asked at once: while some prepare or pause, others ask.
        self._turn = asyncio.Semaphore(2 * decider.concurrency)
        self._usage = Usage()
        self._facts = 0
        self._dropped = 0
        self._failure: DecisionError | None = None
        self._embedding = EmbeddingAlong(writer, embedder)

    async def run(self, paths: Iterable[Path], known: Sequence[DocumentSummary]) -> IngestReport:
        """Read files and folders; `known` are the documents that the corpus has.

        A file that cannot be read is reported and the others are read all the same.
        """
        began = time.monotonic()
        files, refusals = find_all(paths)
        refused = [
            DocumentReport(path.stem, str(path), "refused", error=str(error))
            for path, error in refusals.items()
        ]
        for report in refused:
            self._progress(DocumentEnded(report))
        await self._writer.finish_deletes()
        by_id = {summary.id: summary for summary in known}
        gate = asyncio.Semaphore(DOCUMENTS_AT_ONCE)
        async with self._embedding:
            ended = await together(self._file(file, by_id, gate) for file in files)
        if self._failure:
            self._failure.spent = self._usage
            raise self._failure
        await self._finish([document for document, _ in ended if document])
        reports = (*refused, *(report for _, report in ended))
        usage = replace(self._usage, seconds=round(time.monotonic() - began, 3))
        return IngestReport(
            self._writer.corpus,
            reports,
            self._facts,
            usage,
            self._decider.name,
            dropped=self._dropped,
        )

    async def _file(
        self, file: Path, known: dict[str, DocumentSummary], gate: asyncio.Semaphore
    ) -> tuple[str | None, DocumentReport]:
        """Read one file in its turn, and tell what became of it."""
        async with gate:
            try:
                id_, report = await self._outcome(file, known)
            except DecisionError as error:
                self._failure = self._failure or error
                return None, DocumentReport(file.stem, str(file), "incomplete", error=str(error))
            self._progress(DocumentEnded(report))
            return id_, report

    async def _outcome(
        self, file: Path, known: dict[str, DocumentSummary]
    ) -> tuple[str | None, DocumentReport]:
        """Read one file: the id of its document, if it was written, and what became of it."""
        try:
            document = await asyncio.to_thread(load, file, self._writer.corpus)
        except DocumentError as error:
            return None, DocumentReport(file.stem, str(file), "refused", error=str(error))
        summary = known.get(document.id)
        if summary and self._is_unchanged(document, summary):
            title, source = document.title, document.source
            return None, DocumentReport(title, source, "unchanged", summary.chunks)
        return document.id, await self._document(document)

    def _is_unchanged(self, document: Document, summary: DocumentSummary) -> bool:
        return (
            summary.status == "complete"
            and summary.sha256 == document.sha256
            and summary.chunk_tokens == self._chunk_tokens
        )

    async def _document(self, document: Document) -> DocumentReport:
        """Extract what is missing of a document and put its chunks in their order."""
        chunks = await asyncio.to_thread(split, document, self._chunk_tokens)
        extracted = await self._writer.extracted(document.id)
        missing = [chunk for chunk in chunks if chunk.id not in extracted]
        self._progress(DocumentBegun(document.title, len(chunks), len(missing)))
        if not missing:
            await self._begin(document)
        errors = await self._chunks(document, missing)
        await self._writer.arrange(document.id, chunks)
        return DocumentReport(
            document.title,
            document.source,
            "incomplete" if errors else "read",
            chunks=len(chunks),
            asked=len(missing),
            failed=len(errors),
            error=errors[0] if errors else None,
        )

    async def _begin(self, document: Document) -> None:
        """Write the corpus and the document, once there is something to write into them.

        So a service that refuses everything leaves nothing behind.
        """
        await self._writer.begin_corpus(
            decider=self._decider.name,
            prompts=self._decider.prompts,
            embedding=self._embedder.name,
            dimension=self._embedder.dimension,
        )
        await self._writer.begin_document(document, self._chunk_tokens)

    async def _chunks(self, document: Document, chunks: Sequence[Chunk]) -> list[str]:
        """Extract chunks and write them as they come; returns the errors of those that failed."""
        ready: asyncio.Queue[ReadChunk | None] = asyncio.Queue(WRITTEN_AT_ONCE)
        writing = asyncio.create_task(self._write(document, ready))
        try:
            await together(self._extract(document, chunk, ready, writing) for chunk in chunks)
        finally:
            # Also when it breaks off here: what was extracted was paid for.
            await _hand_over(None, ready, writing)
            errors = await writing
        if self._failure:
            raise self._failure
        return [error for _, error in sorted(errors.items())]

    async def _extract(
        self,
        document: Document,
        chunk: Chunk,
        ready: "asyncio.Queue[ReadChunk | None]",
        writing: "asyncio.Task[dict[int, str]]",
    ) -> None:
        async with self._turn:
            if writing.done() or self._failure:  # nothing more is to be paid for
                return
            try:
                found = await extract(self._decider, document, chunk, self._budget)
            except DecisionError as error:
                # Not raised: what the others are waiting for is paid, and shall be written.
                self._usage += error.spent
                self._failure = self._failure or error
                return
        self._usage += found.usage
        self._dropped += found.dropped
        await _hand_over(found.read, ready, writing)

    async def _write(
        self, document: Document, ready: "asyncio.Queue[ReadChunk | None]"
    ) -> dict[int, str]:
        """Write what is ready, all of it in one go, until None comes; returns errors by chunk."""
        errors: dict[int, str] = {}
        begun = ended = False
        while not ended:
            part = [await ready.get()]
            while not ready.empty():
                part.append(ready.get_nowait())
            ended = part[-1] is None
            read = [one for one in part if one is not None]
            if not read:
                continue
            if not begun:
                await self._begin(document)
                begun = True
            await self._writer.write_chunks(document.id, read)
            self._embedding.go_on()
            errors |= {one.chunk.index: one.error for one in read if one.error}
            facts = sum(len(one.facts) for one in read)
            self._facts += facts
            self._progress(ChunksRead(document.title, len(read), facts))
        return errors

    async def _finish(self, documents: Sequence[str]) -> None:
        """Settle names, embed what has no vector yet, mark documents as complete."""
        await self._writer.settle()
        await embed_missing(self._writer, self._embedder, self._progress)
        await self._writer.complete(documents)


async def _hand_over(
    item: ReadChunk | None,
    ready: "asyncio.Queue[ReadChunk | None]",
    writing: "asyncio.Task[dict[int, str]]",
) -> None:
    """Put it into the queue when there is room, unless nobody takes anything out any more."""
    put = asyncio.ensure_future(ready.put(item))
    await asyncio.wait({put, writing}, return_when=asyncio.FIRST_COMPLETED)
    put.cancel()


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all at once, results in order; the first failure ends the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
