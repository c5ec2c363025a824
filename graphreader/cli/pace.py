"""How far reading texts in has come, how fast it goes, and how long it will still take."""

import time
from collections import deque
from collections.abc import Callable

from graphreader.cli.printing import plural, roughly
from graphreader.ingestion.report import (
    ChunkProgress,
    DocumentStart,
    EmbeddingProgress,
    IngestEvent,
    NormalizationStage,
    SourceCount,
    SourceEnd,
)

_WINDOW = 60.0  # what the rate is the mean of: pauses of a service and kept replies pass by
_SOON = 3.0  # no rate is told before so many seconds

_Mark = tuple[float, int, int]
"""A moment, and the chunks and tokens that were read then."""


class Pace:
    """Counts events; `clock` tells seconds.

    Events may come from one thread while another asks: every figure by itself is right then.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._marks: deque[_Mark] = deque()
        self._size = self._size_ended = 0
        # The sources before the first one that lacks anything tell nothing about the rest: a run
        # that goes on where another broke off begins with them.
        self._size_known = 0
        self._density: float | None = None
        self.sources = self.sources_ended = 0
        self.missing = self.chunks = self.facts = self.tokens = 0
        self.vectors = self.vectors_found = 0
        self.stage = ""

    def take(self, event: IngestEvent) -> None:
        """Count what happened."""
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
                self.vectors, self.vectors_found = done, total
            case NormalizationStage(stage):
                self.stage = stage

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    @property
    def is_counted(self) -> bool:
        """Whether all sources were looked at, so that no further chunks turn up."""
        return self.sources_ended >= self.sources

    @property
    def is_read(self) -> bool:
        """Whether no chunk is to be read any more."""
        return self.is_counted and self.chunks >= self.missing

    @property
    def expected(self) -> int:
        """The chunks to be read in all: those that are known, and as many for the other sources."""
        if self.is_counted or self._density is None:
            return self.missing
        return max(self.missing, round(self._density * (self._size - self._size_known)))

    @property
    def rate(self) -> tuple[float, float] | None:
        """Chunks and tokens a second in the last minute; nothing at the beginning and the end."""
        if not self._marks or not self.chunks or self.is_read:
            return None
        at, chunks, tokens = self._marks[0]
        seconds = self._clock() - at
        if seconds < _SOON:
            return None
        return (self.chunks - chunks) / seconds, (self.tokens - tokens) / seconds

    @property
    def left(self) -> float | None:
        """Seconds until all chunks are read, where that can be known."""
        rate = self.rate
        if not rate or not rate[0] or (self._density is None and not self.is_counted):
            return None
        return (self.expected - self.chunks) / rate[0]

    def _end_source(self, size: int) -> None:
        self.sources_ended += 1
        self._size_ended += size
        if not self.missing:
            self._size_known = self._size_ended
        elif self._size_ended > self._size_known:
            self._density = self.missing / (self._size_ended - self._size_known)

    def _mark(self) -> None:
        """Keep one mark a second, and the last one that is older than the window."""
        now = self._clock()
        if not self._marks or now - self._marks[-1][0] >= 1:
            self._marks.append((now, self.chunks, self.tokens))
        while len(self._marks) > 1 and self._marks[1][0] <= now - _WINDOW:
            self._marks.popleft()


def progress_of(pace: Pace) -> str:
    """`120 of about 400 chunks`: "about" while not all sources were looked at."""
    if pace.is_counted:
        return f"{pace.chunks:,} of {plural(pace.missing, 'chunk')}"
    return f"{pace.chunks:,} of about {roughly(max(pace.expected, pace.chunks))} chunks"


def figures_of(pace: Pace) -> list[str]:
    """`2,400 facts`, `48,000 tokens`, `3.2 chunks/s`, `1,300 tokens/s`."""
    told = [plural(pace.facts, "fact"), plural(pace.tokens, "token")]
    if rate := pace.rate:
        chunks, tokens = rate
        told.append(
            f"{_few(chunks)} chunks/s" if chunks >= 1 else f"{_few(60 * chunks)} chunks/min"
        )
        told.append(f"{roughly(round(tokens))} tokens/s")
    return told


def duration(seconds: float) -> str:
    """`9 s`, `1 min 27 s`, `2 h 5 min`, `3 d 4 h`; a second at least."""
    whole = max(1, round(seconds))
    for unit, name, small, smaller in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= unit:
            rest = whole % unit // small
            return f"{whole // unit} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"


def _few(rate: float) -> str:
    return f"{rate:,.1f}" if rate < 10 else f"{rate:,.0f}"
