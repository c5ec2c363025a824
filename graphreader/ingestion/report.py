"""Reports, progress events and log messages of an ingest; texts are logged only at DEBUG."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from graphreader.documents import Skipped, without_controls
from graphreader.errors import DocumentError
from graphreader.ingestion.normalization.merging import Merge
from graphreader.llm.batches import BatchStatus
from graphreader.usage import Usage
from graphreader.waiting import Waiting, listening

logger = logging.getLogger("graphreader.ingestion")


@dataclass(frozen=True, slots=True)
class FailedChunk:
    """A chunk without facts: its index in the document, and the reason."""

    chunk: int
    reason: str


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """The outcome for one document, or for a source without a document.

    Status "unchanged": it was complete already; "incomplete": the chunks in `failed` have no
    facts, and the next run asks again; "waiting": the replies to `waiting` chunks come with a
    batch; "refused": `error` is the reason. `asked` chunks were extracted; those `without_facts`
    (their indexes) have text, but no fact was found in it. `notes` are sentences about the reading.
    """

    title: str
    source: str
    status: Literal["read", "unchanged", "incomplete", "waiting", "refused"]
    id: str | None = None
    chunks: int = 0
    asked: int = 0
    facts: int = 0
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[FailedChunk, ...] = ()
    error: str | None = None
    waiting: int = 0
    notes: tuple[str, ...] = ()
    without_facts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedJoin:
    """A name that means another key element within one document, decided `by` rules or a model."""

    name: str
    into_name: str
    by: str


@dataclass(frozen=True, slots=True)
class NormalizationReport:
    """The changes by a normalization (or planned by a dry run), and all merges.

    `merged` and `parted` are ids whose merge is new or undone; `compared` counts new key
    elements, `moved` merged key elements with new facts. `joins` are those of the names of the
    documents in which they changed, with the documents' ids.
    """

    corpus: str
    stages: tuple[str, ...]
    dry_run: bool = False
    compared: int = 0
    merges: tuple[Merge, ...] = ()
    merged: frozenset[str] = frozenset()
    parted: frozenset[str] = frozenset()
    moved: int = 0
    joins: Mapping[str, tuple[NamedJoin, ...]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    @property
    def changed(self) -> bool:
        """Whether the graph was (or would be) changed."""
        return bool(self.merged or self.parted or self.moved or self.joins)

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
            "joins": [
                {"document": document, **asdict(one)}
                for document, joins in self.joins.items()
                for one in joins
            ],
            "usage": asdict(self.usage),
        }


LISTED_SUFFIXES = 10


def unread_note(unread: Mapping[str, int]) -> str:
    """The sentence that names files of unknown formats, by the numbers of their suffixes."""
    most = sorted(unread.items(), key=lambda one: (-one[1], one[0]))[:LISTED_SUFFIXES]
    parts = [
        f"{number:,} {without_controls(name)[:20] or 'without a suffix'}" for name, number in most
    ]
    if more := sum(unread.values()) - sum(number for _, number in most):
        parts.append(f"{more:,} more")
    return f"Not read, since their formats are not known: {', '.join(parts)}."


SHOWN = 3  # largest number of reasons in a message


class NothingReadError(DocumentError):
    """No source could be read; `report` has the reasons."""

    def __init__(self, report: "IngestReport") -> None:
        errors = [one.error or "" for one in report.documents]
        more = f" And {len(errors) - SHOWN:,} more." if len(errors) > SHOWN else ""
        super().__init__(" ".join(errors[:SHOWN]) + more)
        self.report = report


def without_facts_note(documents: Iterable[DocumentReport]) -> list[str]:
    """Return a note that names the chunks of text in which no fact was found, if there are any."""
    chunks = [f"{one.title}, chunk {index}" for one in documents for index in one.without_facts]
    if not chunks:
        return []
    more = f"; and {len(chunks) - SHOWN:,} more" if len(chunks) > SHOWN else ""
    number = "1 chunk" if len(chunks) == 1 else f"{len(chunks):,} chunks"
    return [f"No fact was found in {number} of text: {'; '.join(chunks[:SHOWN])}{more}"]


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The outcome of an ingest.

    `dropped` counts key elements that are not in their facts, `unknown_sentences` numbers of
    sentences that do not exist, `without_source` facts whose sentences were not found. `batches`
    are unfinished batches; `submitted` requests were added to them, for about `submitted_dollars`
    (None: not known).
    """

    corpus: str
    documents: tuple[DocumentReport, ...]
    usage: Usage
    decider: str
    notes: tuple[str, ...] = ()
    dropped: int = 0
    unknown_sentences: int = 0
    without_source: int = 0
    normalization: NormalizationReport | None = None
    batches: tuple[BatchStatus, ...] = ()
    submitted: int = 0
    submitted_dollars: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every source is completely in the graph."""
        return all(one.status in ("read", "unchanged") for one in self.documents)

    @property
    def facts(self) -> int:
        """The number of facts that this call extracted."""
        return sum(one.facts for one in self.documents)

    @property
    def asked_chunks(self) -> int:
        """The number of chunks that this call extracted."""
        return sum(one.asked for one in self.documents)

    @property
    def reused_chunks(self) -> int:
        """The number of chunks that had facts already."""
        return sum(one.chunks - one.asked - one.waiting for one in self.documents)

    @property
    def waiting(self) -> int:
        """The number of chunks whose replies come with a batch."""
        return sum(one.waiting for one in self.documents)

    def after(self, earlier: "IngestReport") -> "IngestReport":
        """Combine this report with the report of an `earlier` pass over the same sources."""
        before = {one.id: one for one in earlier.documents}
        documents = []
        for one in self.documents:
            if one.id and (first := before.get(one.id)):
                status = first.status if one.status == "unchanged" else one.status
                asked, facts = one.asked + first.asked, one.facts + first.facts
                one = replace(one, status=status, asked=asked, facts=facts)
            documents.append(one)
        return replace(
            self,
            documents=tuple(documents),
            usage=self.usage + earlier.usage,
            dropped=self.dropped + earlier.dropped,
            unknown_sentences=self.unknown_sentences + earlier.unknown_sentences,
            without_source=self.without_source + earlier.without_source,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types. Keys may be added in later versions; none is ever removed."""
        return {
            "corpus": self.corpus,
            "documents": [_as_dict(one) for one in self.documents],
            "asked_chunks": self.asked_chunks,
            "reused_chunks": self.reused_chunks,
            "waiting_chunks": self.waiting,
            "batches": [asdict(one) for one in self.batches],
            "submitted": self.submitted,
            "submitted_dollars": self.submitted_dollars,
            "facts": self.facts,
            "dropped": self.dropped,
            "unknown_sentences": self.unknown_sentences,
            "without_source": self.without_source,
            "decider": self.decider,
            "notes": list(self.notes),
            "normalization": self.normalization.as_dict() if self.normalization else None,
            "usage": asdict(self.usage),
            "seconds": self.usage.seconds,
        }


def _as_dict(report: DocumentReport) -> dict[str, Any]:
    values = asdict(report)
    names = ("skipped", "failed", "without_facts", "notes")
    lists = {name: list(values[name]) for name in names}
    return {"id": report.id, **values, **lists}


@dataclass(frozen=True, slots=True)
class SourceCount:
    """The number of sources to read."""

    sources: int


@dataclass(frozen=True, slots=True)
class DocumentStart:
    """A document has `chunks`, of which `missing` (with `tokens`) are to be extracted."""

    title: str
    chunks: int
    missing: int
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChunkProgress:
    """Chunks of a document are stored in the graph; `usage` is the cost of the run so far.

    `tokens` is the size of the chunks' texts.
    """

    title: str
    chunks: int
    facts: int
    tokens: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class DocumentEnd:
    """A document is finished, with any outcome."""

    report: DocumentReport


@dataclass(frozen=True, slots=True)
class SourceEnd:
    """All documents of a source are loaded."""


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """`done` of `total` new key elements have vectors; the total grows during the run."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class NormalizationProgress:
    """Key elements are being merged: `done` of `total` new key elements are compared."""

    done: int
    total: int


IngestEvent = (
    SourceCount
    | DocumentStart
    | ChunkProgress
    | DocumentEnd
    | SourceEnd
    | EmbeddingProgress
    | NormalizationProgress
    | Waiting
)

Progress = Callable[[IngestEvent], None]


def no_progress(event: IngestEvent) -> None:
    """Ignore progress events."""


def with_waits(progress: Progress) -> AbstractContextManager[None]:
    """Pass waits (for a model, limit or Neo4j) to `progress` too, unless it is `no_progress`."""
    return nullcontext() if progress is no_progress else listening(progress)


def log_document_end(report: DocumentReport) -> None:
    """Log the outcome of a document."""
    levels = {"read": logging.INFO, "waiting": logging.INFO, "unchanged": logging.DEBUG}
    level = levels.get(report.status, logging.WARNING)
    if report.status == "refused":
        logger.log(level, "Document %r is refused: %s", report.title, report.error)
        return
    outcome = (
        "Document %(id)s is %(status)s: %(chunks)d chunks, %(asked)d extracted, %(facts)d facts"
    )
    logger.log(level, outcome, asdict(report))
    if report.error:
        logger.debug("Problem with %r of %s: %s", report.title, report.source, report.error)


def log_ingest(report: IngestReport) -> None:
    """Log the outcome of an ingest."""
    statuses = Counter(one.status for one in report.documents).most_common()
    logger.info(
        "Reading into corpus %r by %s ends after %.1f s: documents: %s; %d facts, %d calls",
        report.corpus,
        report.decider,
        report.usage.seconds,
        ", ".join(f"{number} {status}" for status, number in statuses) or "none",
        report.facts,
        report.usage.calls,
    )
