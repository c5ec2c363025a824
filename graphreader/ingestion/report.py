"""What is told while texts are read in, and after it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from graphreader.documents import Skipped
from graphreader.ingestion.normalization.normalization_report import NormalizationReport
from graphreader.usage import Usage


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


def quiet(event: ReadingEvent) -> None:
    """Tell nobody."""
