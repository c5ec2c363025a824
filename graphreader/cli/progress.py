"""What a person sees while texts are read in: a bar for chunks and vectors, a line a document."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from graphreader.cli.printing import plural
from graphreader.ingestion.report import (
    ChunksRead,
    DocumentBegun,
    DocumentEnded,
    DocumentReport,
    Embedded,
    ReadingEvent,
)

_STYLES = {"read": "green", "unchanged": "dim", "incomplete": "yellow", "refused": "red"}


class IngestDrawing:
    """Draws on stderr; give it to `ingest` or `reindex` as its progress.

    A terminal gets bars that go away at the end; anything else only the lines. Without `chunks`
    there is no bar for them.
    """

    def __init__(self, chunks: bool = True) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._bars = Progress(*columns, console=self._console, transient=True)
        self._chunks = self._bars.add_task("Chunks", total=None, visible=chunks)
        self._vectors = self._bars.add_task("Key elements", total=0, visible=False)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._bars.stop()

    def __call__(self, event: ReadingEvent) -> None:
        """Draw what happened."""
        match event:
            case DocumentBegun(missing=missing):
                total = self._bars.tasks[self._chunks].total or 0
                self._bars.update(self._chunks, total=total + missing)
            case ChunksRead(chunks=chunks):
                self._bars.advance(self._chunks, chunks)
            case Embedded(done=done, total=total):
                self._bars.update(self._vectors, completed=done, total=total, visible=True)
            case DocumentEnded(report=report):
                self._console.print(_line(report))


def _line(report: DocumentReport) -> Text:
    line = Text.assemble((f"{report.status:<11}", _STYLES[report.status]))
    if report.status == "refused":
        return line.append(report.error or "")
    line.append(report.title)
    line.append(f"  {plural(report.chunks, 'chunk')}", "dim")
    if report.failed:
        line.append(f", {report.failed} without facts: the same command asks again", "yellow")
    if report.error:
        line.append(f"\n{'':<11}{report.error}")
    return line
