"""What a person sees while texts are read in: how far it is, and what became of each document."""

import time
from collections.abc import Callable, Iterator

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from graphreader.cli.living import Living
from graphreader.cli.pace import Pace, duration, figures_of, progress_of
from graphreader.cli.printing import plural, printable
from graphreader.ingestion.report import DocumentEnd, DocumentReport, IngestEvent

_STYLES = {"read": "green", "unchanged": "dim", "incomplete": "yellow", "refused": "red"}
_INDENT = 11
_LISTED = 20  # documents that went well and are listed in a terminal
_SKIPPED = 3  # parts of one document whose reasons are told
_SECONDS, _SHARE = 10.0, 0.05  # so long, and so much of all chunks, between two lines of a log
_READING, _EMBEDDING = "reading", "embedding key elements"


class IngestDrawing(Living):
    """Draws on stderr; give it to `ingest`, `retry_failed` or `reindex` as its progress.

    A terminal gets a few lines that live and go away at the end, and above them the documents,
    after the first ones only those with a problem; what is unchanged is only counted. Anything
    else, a log for instance, gets a line for each document, and from time to time one that says how
    far `command` is; never a sign that moves the cursor. `clock` tells seconds.
    """

    def __init__(
        self, command: str = "ingest", *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pace = Pace(clock)
        super().__init__(_Picture(self._pace))
        self._log = _Log(self._pace, command)
        self._listed = 0

    def __call__(self, event: IngestEvent) -> None:
        """Draw what happened."""
        self._pace.take(event)
        if isinstance(event, DocumentEnd) and self._is_listed(event.report):
            self._print(event.report)
        if not self.lives and (line := self._log.line()):
            self.console.print(line, markup=False, soft_wrap=True)

    def _is_listed(self, report: DocumentReport) -> bool:
        """Whether there is to be a line about the document."""
        well = report.status in ("read", "unchanged") and not report.skipped
        if not self.lives or not well:
            return True
        if report.status == "unchanged":
            return False
        self._listed += 1
        if self._listed == _LISTED + 1:
            self.console.print(Text("... from here on only documents with a problem", "dim"))
        return self._listed <= _LISTED

    def _print(self, report: DocumentReport) -> None:
        """Its lines, below each other; a log breaks none of them."""
        status = Text(f"{report.status:<{_INDENT}}", _STYLES[report.status])
        for line in _told(report):
            if self.lives:
                columns = Table.grid()
                columns.add_column(width=_INDENT)
                columns.add_column(overflow="fold")
                columns.add_row(status, line)
                self.console.print(columns)
            else:
                self.console.print(status + line, soft_wrap=True)
            status = Text(" " * _INDENT)


class _Picture:
    """What lives in a terminal: a bar for each thing that is counted, and the figures."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._spinner = Spinner("dots")

    def __rich__(self) -> RenderableType:
        pace = self._pace
        bars = Table.grid(padding=(0, 2, 0, 0), expand=True)
        bars.add_column(no_wrap=True)
        bars.add_column(ratio=1)
        bars.add_column(no_wrap=True, justify="right")
        if pace.sources > 1:
            count = f"{pace.sources_ended:,} of {pace.sources:,}"
            bars.add_row("Sources", _bar(pace.sources_ended, pace.sources), count)
        if pace.missing:
            bars.add_row("Chunks", _bar(pace.chunks, pace.expected), progress_of(pace))
        if pace.vectors_found:
            bars.add_row("Key elements", _bar(pace.vectors, pace.vectors_found), _vectors(pace))
        now = Table.grid(padding=(0, 1, 0, 0))
        now.add_column(no_wrap=True)
        now.add_column(overflow="fold")
        left = f", about {duration(pace.left)} left" if pace.left else ""
        doing = f"{_doing(pace).capitalize()}: {duration(pace.elapsed)}{left}"
        now.add_row(self._spinner, Text(doing))
        if pace.missing:
            now.add_row("", Text(", ".join(figures_of(pace))))
        return Group(bars, now)


class _Log:
    """Says from time to time how far it is, to something that is no terminal."""

    def __init__(self, pace: Pace, command: str) -> None:
        self._pace = pace
        self._command = command
        self._at = 0.0
        self._chunks = 0
        self._doing = _READING

    def line(self) -> str | None:
        """A line, if it is time for one."""
        pace, doing = self._pace, _doing(self._pace)
        if not self._is_due(doing):
            return None
        self._at, self._chunks, self._doing = pace.elapsed, pace.chunks, doing
        if doing == _READING:
            told = [progress_of(pace), *figures_of(pace)]
            told += [f"about {duration(pace.left)} left"] if pace.left else []
        else:
            told = [doing, _vectors(pace)] if doing == _EMBEDDING else [doing]
        return f"{self._command}: {', '.join(told)}"

    def _is_due(self, doing: str) -> bool:
        """Whether enough has gone on since the last line; of a short run nothing is told."""
        pace = self._pace
        if pace.elapsed < _SECONDS:
            return False
        if doing != self._doing:
            return True
        enough = pace.chunks - self._chunks >= max(1, _SHARE * pace.expected)
        return pace.elapsed - self._at >= _SECONDS and (enough or doing != _READING)


def _doing(pace: Pace) -> str:
    """What is being done just now."""
    if pace.stage:
        return f"merging key elements ({pace.stage})"
    if pace.is_read and pace.vectors_found:
        return _EMBEDDING
    return _READING


def _vectors(pace: Pace) -> str:
    return f"{pace.vectors:,} of {pace.vectors_found:,}"


def _bar(done: int, total: int) -> ProgressBar:
    return ProgressBar(total=max(total, 1), completed=min(done, total))


def _told(report: DocumentReport) -> Iterator[Text]:
    """What became of a document, and below it what of it could not be read."""
    if report.status == "refused":
        yield Text(printable(report.error or ""))
        return
    line = Text(printable(report.title)).append(f"  {plural(report.chunks, 'chunk')}", "dim")
    if 0 < report.asked < report.chunks:
        line.append(f", {report.asked:,} of them new", "dim")
    if report.failed:
        line.append(f", {len(report.failed):,} without facts", "yellow")
    if report.skipped:
        line.append(f", {plural(len(report.skipped), 'part')} passed over", "yellow")
    yield line
    if report.error:
        yield Text(printable(report.error))
    for part in report.skipped[:_SKIPPED]:
        yield Text(printable(f"{part.part}: {part.reason}"))
    if len(report.skipped) > _SKIPPED:
        yield Text(f"and {len(report.skipped) - _SKIPPED:,} more")
