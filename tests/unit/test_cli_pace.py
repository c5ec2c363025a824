"""How far reading is, how fast it goes and how long it will still take, by a clock of our own."""

import pytest

from graphreader.cli.pace import Pace, duration, figures_of, progress_of
from graphreader.ingestion.report import (
    ChunkProgress,
    DocumentEnd,
    DocumentReport,
    DocumentStart,
    SourceCount,
    SourceEnd,
)
from tests.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(clock.now)


def read(pace: Pace, chunks: int) -> None:
    pace.take(ChunkProgress("life", chunks, 20 * chunks, 400 * chunks))


# Of one text all is known: what is left is what is missing, at the rate so far.
def test_one_text(pace: Pace, clock: Clock) -> None:
    pace.take(SourceCount(1, 4000))
    pace.take(DocumentStart("life", 450, 400, 160_000))
    pace.take(SourceEnd(4000))
    clock.go_on(40)
    read(pace, 128)

    assert progress_of(pace) == "128 of 400 chunks"
    assert figures_of(pace) == ["2,560 facts", "51,200 tokens", "3.2 chunks/s", "1,300 tokens/s"]
    assert pace.left == pytest.approx(272 / 3.2)


# In the first seconds, and while no chunk is read, nobody can say how long it takes.
def test_too_soon(pace: Pace, clock: Clock) -> None:
    pace.take(SourceCount(1, 4000))
    pace.take(DocumentStart("life", 10, 10))
    pace.take(SourceEnd(4000))
    clock.go_on(30)
    before = pace.rate, pace.left
    clock.go_on(-28)
    read(pace, 2)
    soon = pace.rate, pace.left
    clock.go_on(2)

    assert before == soon == (None, None)
    assert pace.left == pytest.approx(8 / (2 / 4))


# The chunks of sources that were not looked at yet are judged by bytes, from those that were.
def test_sources_to_come(pace: Pace, clock: Clock) -> None:
    pace.take(SourceCount(4, 10_000))
    pace.take(DocumentStart("a", 10, 10))
    unknown = pace.expected, pace.left
    pace.take(SourceEnd(1000))
    pace.take(DocumentStart("b", 20, 20))
    clock.go_on(10)
    read(pace, 20)

    assert unknown == (10, None)
    assert pace.expected == 100
    assert progress_of(pace) == "20 of about 100 chunks"
    assert pace.left == pytest.approx(80 / 2)


# A run that goes on where another broke off is not judged by the texts that were complete.
def test_going_on(pace: Pace) -> None:
    pace.take(SourceCount(10, 10_000))
    for _ in range(5):
        pace.take(DocumentEnd(DocumentReport("old", "old.txt", "unchanged", chunks=10)))
        pace.take(SourceEnd(1000))
    pace.take(DocumentStart("new", 10, 10))
    pace.take(SourceEnd(1000))

    assert pace.expected == 50


# Sources of unknown size are no reason to guess.
def test_unknown_sizes(pace: Pace, clock: Clock) -> None:
    pace.take(SourceCount(2, 0))
    pace.take(DocumentStart("a", 10, 10))
    pace.take(SourceEnd(0))
    clock.go_on(10)
    read(pace, 5)
    before = pace.expected, pace.left
    pace.take(SourceEnd(0))

    assert before == (10, None)
    assert pace.left == pytest.approx(10)


# The rate is that of the last minute, so that a pause, or kept replies at the start, pass by.
def test_the_rate_of_the_last_minute(pace: Pace, clock: Clock) -> None:
    pace.take(DocumentStart("life", 10_000, 10_000))
    read(pace, 1000)
    for _ in range(90):
        clock.go_on(1)
        read(pace, 2)
    steady = pace.rate
    clock.go_on(60)

    assert steady == (pytest.approx(2), pytest.approx(800))
    assert pace.rate == (pytest.approx(1), pytest.approx(400))


# Less than a chunk a second is told a minute; at the end there is no rate any more.
def test_slow_and_over(pace: Pace, clock: Clock) -> None:
    pace.take(DocumentStart("life", 4, 4))
    clock.go_on(30)
    read(pace, 3)
    slow = figures_of(pace)
    read(pace, 1)

    assert slow == ["60 facts", "1,200 tokens", "6.0 chunks/min", "40 tokens/s"]
    assert figures_of(pace) == ["80 facts", "1,600 tokens"]
    assert pace.left is None


# Times are told in two units at most.
@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.2, "1 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (87.2, "1 min 27 s"),
        (3600 + 65, "1 h 1 min"),
        (3 * 86_400 + 4 * 3600 + 1, "3 d 4 h"),
    ],
)
def test_durations(seconds: float, told: str) -> None:
    assert duration(seconds) == told
