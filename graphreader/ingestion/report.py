"""What is told while texts are read in, and after it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from graphreader.usage import Usage


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """What became of one file.

    "read": it is in the graph and complete; "unchanged": it was already; "incomplete": some of its
    chunks have no facts yet, `error` says why and the next run asks for them again; "refused": it
    cannot be read as a text, `error` says why. `asked` counts the chunks that were extracted.
    """

    title: str
    source: str
    status: Literal["read", "unchanged", "incomplete", "refused"]
    chunks: int = 0
    asked: int = 0
    failed: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of one call. `dropped` counts key elements that did not stand in their facts."""

    corpus: str
    documents: tuple[DocumentReport, ...]
    facts: int
    usage: Usage
    decider: str
    notes: tuple[str, ...] = ()
    dropped: int = 0

    @property
    def complete(self) -> bool:
        """Whether every file of the call is in the graph as it should be."""
        return all(one.status in ("read", "unchanged") for one in self.documents)


@dataclass(frozen=True, slots=True)
class DocumentBegun:
    """A file was cut into chunks, of which `missing` are to be extracted."""

    title: str
    chunks: int
    missing: int


@dataclass(frozen=True, slots=True)
class ChunksRead:
    """Chunks of a document were extracted and are safe in the graph."""

    title: str
    chunks: int
    facts: int


@dataclass(frozen=True, slots=True)
class DocumentEnded:
    """A file is done, for better or worse."""

    report: DocumentReport


@dataclass(frozen=True, slots=True)
class Embedded:
    """`done` of `total` new key elements have their vectors."""

    done: int
    total: int


ReadingEvent = DocumentBegun | ChunksRead | DocumentEnded | Embedded
Progress = Callable[[ReadingEvent], None]


def quiet(event: ReadingEvent) -> None:
    """Tell nobody."""
