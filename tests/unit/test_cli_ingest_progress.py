"""What a person sees while texts are read in, in a terminal and in a log."""

import io
import re
import sys
from contextlib import redirect_stderr

import pytest

from graphreader.cli.ingest_progress import IngestDisplay, IngestThroughput
from graphreader.documents import Skipped
from graphreader.ingestion.report import (
    ChunkProgress,
    DocumentEnd,
    DocumentReport,
    DocumentStart,
    EmbeddingProgress,
    FailedChunk,
    IngestEvent,
    NormalizationStage,
    SourceCount,
    SourceEnd,
)
from tests.clock import Clock

EVENTS: list[IngestEvent] = [
    SourceCount(5, 5000),
    DocumentEnd(DocumentReport("x", "x.txt", "refused", error="x.txt is [binary]: leave it.")),
    DocumentStart("life [1]", 12, 3),
    ChunkProgress("life [1]", 2, 20),
    ChunkProgress("life [1]", 1, 5),
    DocumentEnd(DocumentReport("life [1]", "life.txt", "read", chunks=12, asked=3)),
    DocumentEnd(DocumentReport("贞德", "z.txt", "unchanged", chunks=1)),
    DocumentEnd(
        DocumentReport(
            "odd\x1b[31m\n",
            "odd.txt",
            "incomplete",
            chunks=4,
            asked=4,
            failed=(FailedChunk(0, "No sense."), FailedChunk(2, "Cut off.")),
            error="No sense.",
        )
    ),
    DocumentEnd(
        DocumentReport(
            "paper",
            "paper.pdf",
            "read",
            chunks=1,
            asked=1,
            skipped=tuple(Skipped(f"page {page}", "It is a picture.") for page in range(3, 8)),
        )
    ),
    EmbeddingProgress(7, 30),
    EmbeddingProgress(30, 30),
    *[SourceEnd(1000)] * 5,
    NormalizationStage("semantic"),
]
LINES = [
    "refused    x.txt is [binary]: leave it.",
    "read       life [1]  12 chunks, 3 of them new",
    "unchanged  贞德  1 chunk",
    "incomplete odd [31m   4 chunks, 2 without facts",
    "           No sense.",
    "read       paper  1 chunk, 5 parts skipped",
    "           page 3: It is a picture.",
    "           page 4: It is a picture.",
    "           page 5: It is a picture.",
    "           and 2 more",
]


class Screen(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    return Screen()


def draw(events: list[IngestEvent], screen: Screen | None = None) -> None:
    with redirect_stderr(screen or sys.stderr), IngestDisplay() as drawing:
        for event in events:
            drawing(event)


def seen(screen: Screen) -> list[str]:
    """The lines as written, without what styles them or moves the cursor, or stands at an end."""
    text = re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", screen.getvalue())
    return [line.rstrip() for line in text.splitlines()]


# A log of a short run has a line for each document, and nothing else: no cursor is moved.
@pytest.mark.parametrize("colours", [False, True], ids=["plain", "colours"])
def test_a_short_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, colours: bool
) -> None:
    if colours:
        monkeypatch.setenv("FORCE_COLOR", "1")
    draw(EVENTS)
    out, err = capsys.readouterr()

    assert out == ""
    assert ("\x1b[32m" in err) == colours
    assert re.sub(r"\x1b\[[\d;]*m", "", err).split("\n") == [*LINES, ""]


# A log of a long run says how far it is, not before ten seconds and 5 % have passed again.
def test_a_long_log(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with IngestDisplay(clock=clock.now) as drawing:
        drawing(SourceCount(1, 900_000))
        drawing(DocumentStart("life", 400, 400, 160_000))
        drawing(SourceEnd(900_000))
        for _ in range(100):
            clock.go_on(1)
            drawing(ChunkProgress("life", 4, 80, 1600))
        for done in (100, 200, 300):
            clock.go_on(6)
            drawing(EmbeddingProgress(done, 300))
        for stage in ("semantic", "association"):
            clock.go_on(1)
            drawing(NormalizationStage(stage))
    lines = capsys.readouterr().err.splitlines()

    assert lines[0] == (
        "ingest: 40 of 400 chunks, 800 facts, 16,000 tokens, 4.0 chunks/s, 1,600 tokens/s, "
        "about 1 min 30 s left"
    )
    assert [line.partition(",")[0] for line in lines[:9]] == [
        f"ingest: {40 * number} of 400 chunks" for number in range(1, 10)
    ]
    assert lines[9:] == [
        "ingest: 400 of 400 chunks, 8,000 facts, 160,000 tokens",
        "ingest: embedding key elements, 100 of 300",
        "ingest: embedding key elements, 300 of 300",
        "ingest: merging key elements (semantic)",
        "ingest: merging key elements (association)",
    ]


# Where chunks come slowly, a line waits for 5 % of them, so that a log of days stays short.
def test_a_slow_log(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with IngestDisplay(clock=clock.now) as drawing:
        drawing(DocumentStart("life", 400, 400))
        for _ in range(100):
            clock.go_on(60)
            drawing(ChunkProgress("life", 1, 20))
    lines = capsys.readouterr().err.splitlines()

    assert [line.partition(" chunks,")[0] for line in lines] == [
        f"ingest: {done} of 400" for done in (20, 40, 60, 80, 100)
    ]
    assert "1.0 chunks/min, 0 tokens/s, about 5 h left" in lines[-1]


# In a terminal there are bars and figures that go away at the end, and above them the documents
# that have something to tell, in lines that fit.
def test_in_a_terminal(screen: Screen) -> None:
    draw(EVENTS, screen)
    lines = seen(screen)

    assert not any("贞德" in line for line in lines)
    assert all(line in lines for line in LINES if "贞德" not in line)
    assert any("3 of 3 chunks" in line for line in lines)
    assert any("30 of 30" in line for line in lines)
    assert any("Merging key elements (semantic): 1 s" in line for line in lines)
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back
    assert screen.getvalue().endswith("\x1b[2K")  # the last of the lines is wiped out
    assert max(map(len, lines)) <= 60


# Of a thousand documents a terminal lists the first ones, and then those that went wrong.
def test_a_thousand_documents_in_a_terminal(screen: Screen) -> None:
    report = DocumentReport("life", "life.txt", "read", chunks=1, asked=1)
    well: list[IngestEvent] = [DocumentEnd(report)] * 500
    draw([*well, EVENTS[1], *well], screen)
    lines = seen(screen)

    assert lines.count("read       life  1 chunk") == 20
    assert sum("only documents with a problem" in line for line in lines) == 1
    assert LINES[0] in lines


# A terminal that cannot move its cursor gets what a log gets.
def test_in_a_dumb_terminal(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")

    draw(EVENTS, screen)

    assert screen.getvalue().splitlines() == LINES


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> IngestThroughput:
    return IngestThroughput(clock.now)


def read(progress: IngestThroughput, chunks: int) -> None:
    progress.add(ChunkProgress("life", chunks, 20 * chunks, 400 * chunks))


# Of one text all is known: what is left is what is missing, at the rate so far.
def test_one_text(progress: IngestThroughput, clock: Clock) -> None:
    progress.add(SourceCount(1, 4000))
    progress.add(DocumentStart("life", 450, 400, 160_000))
    progress.add(SourceEnd(4000))
    clock.go_on(40)
    read(progress, 128)

    assert progress.chunk_count() == "128 of 400 chunks"
    assert progress.figures() == ["2,560 facts", "51,200 tokens", "3.2 chunks/s", "1,300 tokens/s"]
    assert progress.left == pytest.approx(272 / 3.2)


# In the first seconds, and while no chunk is read, nobody can say how long it takes.
def test_too_soon(progress: IngestThroughput, clock: Clock) -> None:
    progress.add(SourceCount(1, 4000))
    progress.add(DocumentStart("life", 10, 10))
    progress.add(SourceEnd(4000))
    clock.go_on(30)
    before = progress.rate, progress.left
    clock.go_on(-28)
    read(progress, 2)
    soon = progress.rate, progress.left
    clock.go_on(2)

    assert before == soon == (None, None)
    assert progress.left == pytest.approx(8 / (2 / 4))


# The chunks of sources that were not looked at yet are judged by bytes, from those that were.
def test_sources_to_come(progress: IngestThroughput, clock: Clock) -> None:
    progress.add(SourceCount(4, 10_000))
    progress.add(DocumentStart("a", 10, 10))
    unknown = progress.expected, progress.left
    progress.add(SourceEnd(1000))
    progress.add(DocumentStart("b", 20, 20))
    clock.go_on(10)
    read(progress, 20)

    assert unknown == (10, None)
    assert progress.expected == 100
    assert progress.chunk_count() == "20 of about 100 chunks"
    assert progress.left == pytest.approx(80 / 2)


# A run that goes on where another broke off is not judged by the texts that were complete.
def test_going_on(progress: IngestThroughput) -> None:
    progress.add(SourceCount(10, 10_000))
    for _ in range(5):
        progress.add(DocumentEnd(DocumentReport("old", "old.txt", "unchanged", chunks=10)))
        progress.add(SourceEnd(1000))
    progress.add(DocumentStart("new", 10, 10))
    progress.add(SourceEnd(1000))

    assert progress.expected == 50


# Sources of unknown size are no reason to guess.
def test_unknown_sizes(progress: IngestThroughput, clock: Clock) -> None:
    progress.add(SourceCount(2, 0))
    progress.add(DocumentStart("a", 10, 10))
    progress.add(SourceEnd(0))
    clock.go_on(10)
    read(progress, 5)
    before = progress.expected, progress.left
    progress.add(SourceEnd(0))

    assert before == (10, None)
    assert progress.left == pytest.approx(10)


# The rate is that of the last minute, so that a pause, or kept replies at the start, pass by.
def test_the_rate_of_the_last_minute(progress: IngestThroughput, clock: Clock) -> None:
    progress.add(DocumentStart("life", 10_000, 10_000))
    read(progress, 1000)
    for _ in range(90):
        clock.go_on(1)
        read(progress, 2)
    steady = progress.rate
    clock.go_on(60)

    assert steady == (pytest.approx(2), pytest.approx(800))
    assert progress.rate == (pytest.approx(1), pytest.approx(400))


# Less than a chunk a second is told a minute; at the end there is no rate any more.
def test_slow_and_over(progress: IngestThroughput, clock: Clock) -> None:
    progress.add(DocumentStart("life", 4, 4))
    clock.go_on(30)
    read(progress, 3)
    slow = progress.figures()
    read(progress, 1)

    assert slow == ["60 facts", "1,200 tokens", "6.0 chunks/min", "40 tokens/s"]
    assert progress.figures() == ["80 facts", "1,600 tokens"]
    assert progress.left is None
