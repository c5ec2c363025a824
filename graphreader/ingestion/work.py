"""One document on its way into the graph: what is missing of it, and what became of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from graphreader.documents import Chunk, Document
from graphreader.ingestion.report import DocumentBegun, DocumentReport, Failed
from graphreader.store.writer import Version


@dataclass(slots=True)
class Work:
    """A document, cut into `chunks` of at most `chunk_tokens`; `missing` are to be extracted.

    `order` is all of them where the graph has some already: they are put in order at the end. A
    document that is new is only chained; one whose failed chunks are retried (`begins` is false)
    stays as it is. `place` is that of its report.
    """

    document: Document
    chunk_tokens: int
    chunks: int
    missing: Sequence[Chunk]
    order: Sequence[Chunk] | None = None
    begins: bool = True
    place: int = 0
    facts: int = 0
    failed: list[Failed] = field(default_factory=list)
    begun: bool = False
    written: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_new(self) -> bool:
        """Whether the graph had nothing of it."""
        return self.begins and self.order is None

    @property
    def done(self) -> bool:
        """Whether all that was missing is written."""
        return self.written == len(self.missing)

    @property
    def version(self) -> Version:
        """What the graph must have of it to be complete."""
        document = self.document
        return Version.of(document.id, document.sha256, self.chunk_tokens, self.chunks)

    def begun_event(self) -> DocumentBegun:
        """What is told when it begins."""
        tokens = sum(chunk.tokens for chunk in self.missing)
        return DocumentBegun(self.document.title, self.chunks, len(self.missing), tokens)

    def report(self, complete: bool) -> DocumentReport:
        """What became of it; it is not complete where a chunk failed, or somebody deleted it."""
        self.failed.sort(key=lambda one: one.chunk)
        error = None
        if self.failed:
            error = self.failed[0].reason
        elif not complete:
            error = (
                "It is not in the graph as it should be: its reading in was cut off before, or "
                "another process changed it meanwhile. Run the same `graphreader ingest` again."
            )
        return DocumentReport(
            self.document.title,
            self.document.source,
            "read" if complete else "incomplete",
            id=self.document.id,
            chunks=self.chunks,
            asked=len(self.missing),
            facts=self.facts,
            skipped=self.document.skipped,
            failed=tuple(self.failed),
            error=error,
        )
