"""The progress of reading texts in: throughput, time left, a live display and lines for a log."""

import time
from collections import deque
from collections.abc import Callable, Iterator

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from graphreader.cli.console import LiveDisplay, duration, plural, rounded, single_line
from graphreader.ingestion.report import (
    ChunkProgress,
    DocumentEnd,
    DocumentReport,
    DocumentStart,
    EmbeddingProgress,
    IngestEvent,
    NormalizationStage,
    SourceCount,
    SourceEnd,
)

_RATE_WINDOW = 60.0  # seconds; long enough to even out pauses of a service and cached replies
_RATE_SECONDS = 3.0  # before that no rate is shown
_LOG_SECONDS, _LOG_SHARE = 10.0, 0.05  # at least so long, and so much of all, between log lines
_LISTED = 20  # documents without problems that are listed in a terminal
_LISTED_PARTS = 3  # skipped parts of one document that are listed
_STATUS_WIDTH = 11
_STATUS_STYLES = {"read": "green", "unchanged": "dim", "incomplete": "yellow", "refused": "red"}
_READING, _EMBEDDING = "reading", "embedding key elements"


class IngestThroughput:
    """Counts the events of an ingestion; `clock` returns seconds.

    Events may come from one thread while another asks: each figure by itself is right then.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._marks: deque[tuple[float, int, int]] = deque()  # time, chunks, tokens
        self._size = self._ended_size = 0
        # The sources before the first one with missing chunks say nothing about the rest: a
        # continued ingestion begins with the sources that are read already.
        self._complete_size = 0
        self._chunks_per_byte: float | None = None
        self.sources = self.ended_sources = 0
        self.missing = self.chunks = self.facts = self.tokens = 0
        self.vectors = self.all_vectors = 0
        self.stage = ""

    def add(self, event: IngestEvent) -> None:
        """Count an event."""
        match event:
            case SourceCount(sources, size):
                self.sources += sources
                self._size += size
            case SourceEnd(size):
                self._end_source(size)
            case DocumentStart(missing=missing):
                self.missing += missing
                if missing and not self._marks:
                    self._marks.append((self._clock(), 0, 0))
            case ChunkProgress(chunks=chunks, facts=facts, tokens=tokens):
                self.chunks += chunks
                self.facts += facts
                self.tokens += tokens
                self._mark()
            case EmbeddingProgress(done, total):
                self.vectors, self.all_vectors = done, total
            case NormalizationStage(stage):
                self.stage = stage

    def _end_source(self, size: int) -> None:
        self.ended_sources += 1
        self._ended_size += size
        if not self.missing:
            self._complete_size = self._ended_size
        elif self._ended_size > self._complete_size:
            self._chunks_per_byte = self.missing / (self._ended_size - self._complete_size)

    def _mark(self) -> None:
        """Keep one mark a second, and the last one that is older than the window."""
        now = self._clock()
        if not self._marks or now - self._marks[-1][0] >= 1:
            self._marks.append((now, self.chunks, self.tokens))
        while len(self._marks) > 1 and self._marks[1][0] <= now - _RATE_WINDOW:
            self._marks.popleft()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._started

    @property
    def is_counted(self) -> bool:
        """Whether all sources are loaded, so that the number of chunks is final."""
        return self.ended_sources >= self.sources

    @property
    def is_read(self) -> bool:
        """Whether all chunks are read."""
        return self.is_counted and self.chunks >= self.missing

    @property
    def expected(self) -> int:
        """Chunks to read: the known ones, and an estimate for the sources not loaded yet."""
        if self.is_counted or self._chunks_per_byte is None:
            return self.missing
        return max(self.missing, round(self._chunks_per_byte * (self._size - self._complete_size)))

    @property
    def rate(self) -> tuple[float, float] | None:
        """Chunks and tokens a second in the last minute; None at the beginning and at the end."""
        if not self._marks or not self.chunks or self.is_read:
            return None
        moment, chunks, tokens = self._marks[0]
        seconds = self._clock() - moment
        if seconds < _RATE_SECONDS:
            return None
        return (self.chunks - chunks) / seconds, (self.tokens - tokens) / seconds

    @property
    def left(self) -> float | None:
        """Seconds until all chunks are read, None if that is not known."""
        rate = self.rate
        if not rate or not rate[0] or (self._chunks_per_byte is None and not self.is_counted):
            return None
        return (self.expected - self.chunks) / rate[0]

    @property
    def activity(self) -> str:
        """What is being done."""
        if self.stage:
            return f"merging key elements ({self.stage})"
        return _EMBEDDING if self.is_read and self.all_vectors else _READING

    def chunk_count(self) -> str:
        """`120 of about 400 chunks`: "about" while not all sources are loaded."""
        if self.is_counted:
            return f"{self.chunks:,} of {plural(self.missing, 'chunk')}"
        return f"{self.chunks:,} of about {rounded(max(self.expected, self.chunks))} chunks"

    def vector_count(self) -> str:
        """`40 of 200` key elements."""
        return f"{self.vectors:,} of {self.all_vectors:,}"

    def figures(self) -> list[str]:
        """`2,400 facts`, `48,000 tokens`, `3.2 chunks/s`, `1,300 tokens/s`."""
        figures = [plural(self.facts, "fact"), plural(self.tokens, "token")]
        if rate := self.rate:
            chunks, tokens = rate
            a_second = chunks >= 1
            number = chunks if a_second else 60 * chunks
            figures += [
                f"{number:,.{1 if number < 10 else 0}f} chunks/{'s' if a_second else 'min'}",
                f"{rounded(round(tokens))} tokens/s",
            ]
        return figures

    def time_left(self) -> list[str]:
        """`about 3 min left`, if that is known."""
        return [f"about {duration(self.left)} left"] if self.left else []


class IngestDisplay(LiveDisplay):
    """Shows an ingestion on stderr; `ingest`, `retry_failed` and `reindex` call it with events.

    A terminal shows bars and figures, and above them the documents: the first twenty, then only
    those with a problem; unchanged documents are only counted. A log gets a line for each document,
    and from time to time a line with the progress of `command`. `clock` returns seconds.
    """

    def __init__(
        self, command: str = "ingest", *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(self)
        self._command = command
        self._throughput = IngestThroughput(clock)
        self._spinner = Spinner("dots")
        self._listed = 0
        self._logged_at, self._logged_chunks, self._logged_activity = 0.0, 0, _READING

    def __call__(self, event: IngestEvent) -> None:
        """Show an event."""
        self._throughput.add(event)
        if isinstance(event, DocumentEnd) and self._is_listed(event.report):
            self._print_document(event.report)
        if not self.live and self._is_log_due():
            self._log()

    def _is_listed(self, report: DocumentReport) -> bool:
        if not self.live or report.status not in ("read", "unchanged") or report.skipped:
            return True
        if report.status == "unchanged":
            return False
        self._listed += 1
        if self._listed == _LISTED + 1:
            self.console.print(Text("... from here on only documents with a problem", "dim"))
        return self._listed <= _LISTED

    def _print_document(self, report: DocumentReport) -> None:
        """Print the lines of a document; a log wraps none of them."""
        status = Text(f"{report.status:<{_STATUS_WIDTH}}", _STATUS_STYLES[report.status])
        for line in _document_lines(report):
            if self.live:
                columns = Table.grid()
                columns.add_column(width=_STATUS_WIDTH)
                columns.add_column(overflow="fold")
                columns.add_row(status, line)
                self.console.print(columns)
            else:
                self.console.print(status + line, soft_wrap=True)
            status = Text(" " * _STATUS_WIDTH)

    def _is_log_due(self) -> bool:
        """Whether enough has happened since the last line; a short ingestion logs nothing."""
        now = self._throughput
        if now.elapsed < _LOG_SECONDS:
            return False
        if now.activity != self._logged_activity:
            return True
        enough = now.chunks - self._logged_chunks >= max(1, _LOG_SHARE * now.expected)
        late = now.elapsed - self._logged_at >= _LOG_SECONDS
        return late and (enough or now.activity != _READING)

    def _log(self) -> None:
        now = self._throughput
        self._logged_at, self._logged_chunks = now.elapsed, now.chunks
        self._logged_activity = now.activity
        if now.activity == _READING:
            parts = [now.chunk_count(), *now.figures(), *now.time_left()]
        else:
            parts = [now.activity, *([now.vector_count()] if now.activity == _EMBEDDING else [])]
        line = f"{self._command}: {', '.join(parts)}"
        self.console.print(line, markup=False, soft_wrap=True)

    def __rich__(self) -> RenderableType:
        now = self._throughput
        bars = Table.grid(padding=(0, 2, 0, 0), expand=True)
        bars.add_column(no_wrap=True)
        bars.add_column(ratio=1)
        bars.add_column(no_wrap=True, justify="right")
        if now.sources > 1:
            count = f"{now.ended_sources:,} of {now.sources:,}"
            bars.add_row("Sources", _bar(now.ended_sources, now.sources), count)
        if now.missing:
            bars.add_row("Chunks", _bar(now.chunks, now.expected), now.chunk_count())
        if now.all_vectors:
            bars.add_row("Key elements", _bar(now.vectors, now.all_vectors), now.vector_count())
        status = Table.grid(padding=(0, 1, 0, 0))
        status.add_column(no_wrap=True)
        status.add_column(overflow="fold")
        time_text = ", ".join([duration(now.elapsed), *now.time_left()])
        status.add_row(self._spinner, Text(f"{now.activity.capitalize()}: {time_text}"))
        if now.missing:
            status.add_row("", Text(", ".join(now.figures())))
        return Group(bars, status)


def _bar(done: int, total: int) -> ProgressBar:
    return ProgressBar(total=max(total, 1), completed=min(done, total))


def _document_lines(report: DocumentReport) -> Iterator[Text]:
    """What became of a document, then which parts of it could not be read."""
    if report.status == "refused":
        yield Text(single_line(report.error or ""))
        return
    line = Text(single_line(report.title)).append(f"  {plural(report.chunks, 'chunk')}", "dim")
    if 0 < report.asked < report.chunks:
        line.append(f", {report.asked:,} of them new", "dim")
    if report.failed:
        line.append(f", {len(report.failed):,} without facts", "yellow")
    if report.skipped:
        line.append(f", {plural(len(report.skipped), 'part')} skipped", "yellow")
    yield line
    if report.error:
        yield Text(single_line(report.error))
    for part in report.skipped[:_LISTED_PARTS]:
        yield Text(single_line(f"{part.part}: {part.reason}"))
    if len(report.skipped) > _LISTED_PARTS:
        yield Text(f"and {len(report.skipped) - _LISTED_PARTS:,} more")
