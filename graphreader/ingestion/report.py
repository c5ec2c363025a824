"""What is told while texts are read in, and after it.

What becomes of texts that are read in, in the log: ids and counts; titles and texts at DEBUG.

What normalization made of a corpus.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from graphreader.documents import Chunk, Document, Skipped
from graphreader.ingestion.normalization.merging import Merge
from graphreader.store.writer import DocumentVersion
from graphreader.usage import Usage


@dataclass(frozen=True, slots=True)
class NormalizationReport:
    """The changes that a normalization made, or after a dry run would make, and all merges.

    `merges` are all that the graph has afterwards; `merged` and `parted` are the ids of key
    elements whose merge is new or undone. `compared` counts key elements that were compared with
    all others for the first time, `moved` those that were merged already and had new facts.
    """

    corpus: str
    stages: tuple[str, ...]
    dry_run: bool = False
    compared: int = 0
    merges: tuple[Merge, ...] = ()
    merged: frozenset[str] = frozenset()
    parted: frozenset[str] = frozenset()
    moved: int = 0

    @property
    def changed(self) -> bool:
        """Whether the graph is (or would be) different from before."""
        return bool(self.merged or self.parted or self.moved)

    def and_then(self, later: "NormalizationReport") -> "NormalizationReport":
        """Both reports as one, where `later` is of another look at the same corpus."""
        hold = {one.element.id for one in later.merges}
        return replace(
            later,
            compared=self.compared + later.compared,
            merged=(self.merged | later.merged) & hold,
            parted=(self.parted | later.parted) - hold,
            moved=self.moved + later.moved,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types. Keys may be added in later versions; none is ever removed."""
        return {
            "corpus": self.corpus,
            "stages": list(self.stages),
            "dry_run": self.dry_run,
            "changed": self.changed,
            "compared": self.compared,
            "merges": [
                {
                    "id": one.element.id,
                    "name": one.element.name,
                    "facts": one.element.facts,
                    "into": one.into.id,
                    "into_name": one.into.name,
                    "stage": one.stage,
                    "score": round(one.score, 4),
                    "new": one.element.id in self.merged,
                }
                for one in self.merges
            ],
            "parted": sorted(self.parted),
            "moved": self.moved,
        }


@dataclass(frozen=True, slots=True)
class Failed:
    """A chunk, by its index in the document, that has no facts, and why."""

    chunk: int
    reason: str


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """What became of one document; of one source, where no document could be made of it.

    "read": it is in the graph and complete; "unchanged": it was already; "incomplete": some of its
    chunks have no facts yet, `failed` says which and the next run asks for them again; "refused":
    it cannot be read as a text, `error` says why. `asked` counts the chunks that were extracted,
    `facts` those that they gave, `skipped` what of the source could not be read.
    """

    title: str
    source: str
    status: Literal["read", "unchanged", "incomplete", "refused"]
    id: str | None = None
    chunks: int = 0
    asked: int = 0
    facts: int = 0
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failed, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of one call. `dropped` counts key elements that did not stand in their facts."""

    corpus: str
    documents: tuple[DocumentReport, ...]
    usage: Usage
    decider: str
    notes: tuple[str, ...] = ()
    dropped: int = 0
    normalization: NormalizationReport | None = None

    @property
    def complete(self) -> bool:
        """Whether every source of the call is in the graph as it should be."""
        return all(one.status in ("read", "unchanged") for one in self.documents)

    @property
    def facts(self) -> int:
        """The facts that were found by this call."""
        return sum(one.facts for one in self.documents)

    @property
    def asked_chunks(self) -> int:
        """The chunks that were extracted by this call."""
        return sum(one.asked for one in self.documents)

    @property
    def reused_chunks(self) -> int:
        """The chunks that had their facts already."""
        return sum(one.chunks - one.asked for one in self.documents)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types. Keys may be added in later versions; none is ever removed."""
        documents = [
            {
                "id": one.id,
                "title": one.title,
                "source": one.source,
                "status": one.status,
                "chunks": one.chunks,
                "asked": one.asked,
                "facts": one.facts,
                "skipped": [asdict(part) for part in one.skipped],
                "failed": [asdict(chunk) for chunk in one.failed],
                "error": one.error,
            }
            for one in self.documents
        ]
        return {
            "corpus": self.corpus,
            "documents": documents,
            "asked_chunks": self.asked_chunks,
            "reused_chunks": self.reused_chunks,
            "facts": self.facts,
            "dropped": self.dropped,
            "decider": self.decider,
            "notes": list(self.notes),
            "normalization": self.normalization.as_dict() if self.normalization else None,
            "usage": asdict(self.usage),
            "seconds": self.usage.seconds,
        }


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """So many files (or other sources) are to be read, of so many bytes where that is known."""

    sources: int
    size: int


@dataclass(frozen=True, slots=True)
class DocumentBegun:
    """A document was cut into chunks, of which `missing` (of `tokens`) are to be extracted."""

    title: str
    chunks: int
    missing: int
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChunksRead:
    """Chunks of a document were extracted and are safe in the graph."""

    title: str
    chunks: int
    facts: int
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class DocumentEnded:
    """A document is done, for better or worse."""

    report: DocumentReport


@dataclass(frozen=True, slots=True)
class SourceEnded:
    """Everything in one source was taken up; `size` is its bytes, as counted in SourcesFound."""

    size: int


@dataclass(frozen=True, slots=True)
class Embedded:
    """`done` of `total` new key elements have their vectors; the total grows as more are found."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Normalizing:
    """Key elements are being compared and merged; `stage` says how."""

    stage: str


ReadingEvent = (
    SourcesFound | DocumentBegun | ChunksRead | DocumentEnded | SourceEnded | Embedded | Normalizing
)

Progress = Callable[[ReadingEvent], None]


def no_progress(event: ReadingEvent) -> None:
    """Tell nobody."""


@dataclass(slots=True)
class DocumentJob:
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
    def version(self) -> DocumentVersion:
        """What the graph must have of it to be complete."""
        document = self.document
        return DocumentVersion.of(document.id, document.sha256, self.chunk_tokens, self.chunks)

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


logger = logging.getLogger("graphreader.ingestion")


def log_document_start(work: DocumentJob) -> None:
    """A document is taken up."""
    missing, id_ = len(work.missing), work.document.id
    logger.info("Document %s begins: %d of its %d chunks to read", id_, missing, work.chunks)
    logger.debug("Document %s is %r of %s", id_, work.document.title, work.document.source)


def log_document_end(report: DocumentReport) -> None:
    """A document is done, for better or worse."""
    level = {"read": logging.INFO, "unchanged": logging.DEBUG}.get(report.status, logging.WARNING)
    logger.log(
        level,
        "Document %s is %s: %d chunks, %d read anew, %d facts, %d chunks without facts",
        report.id or "-",
        report.status,
        report.chunks,
        report.asked,
        report.facts,
        len(report.failed),
    )
    if report.error:
        logger.debug("What is wrong with %r of %s: %s", report.title, report.source, report.error)


def log_ingest(report: IngestReport) -> None:
    """All is read."""
    usage, ends = report.usage, Counter(one.status for one in report.documents)
    logger.info(
        "Reading into corpus %r by %s ends after %.1f s: documents: %s; %d facts, %d calls, "
        "%d tokens, %d kept replies",
        report.corpus,
        report.decider,
        usage.seconds,
        ", ".join(f"{number} {end}" for end, number in ends.most_common()) or "none",
        report.facts,
        usage.calls,
        usage.tokens,
        usage.reused,
    )


def log_normalization(report: NormalizationReport) -> None:
    """The graph is in its normal form."""
    logger.info(
        "Corpus %r is normalized (%s): %d key elements merged, %d parted",
        report.corpus,
        ", ".join(report.stages) or "no stage",
        len(report.merged),
        len(report.parted),
    )
