"""What a person sees of an evaluation: rows as they fill, what it will cost."""

from typing import Any

import pytest
from rich.console import Console

from graphreader.cli.evaluate import (
    EvaluationDisplay,
    print_costs,
    results_table,
    total_spending,
)
from graphreader.estimate import Spending
from graphreader.evaluation.costs import Cost
from graphreader.evaluation.results import EvaluationProgress, ReadingKey


def key(
    n: int = 0, reader: str = "golden", dataset: str = "d", model: str = "offline"
) -> ReadingKey:
    return ReadingKey(dataset, f"q{n}", "native", reader, model, 0)


def line(of: ReadingKey, error: str | None = None, **more: Any) -> dict[str, Any]:
    named = {name: getattr(of, name) for name in ReadingKey.__slots__}
    figures = {
        "em": 1.0,
        "f1": 0.5,
        "documents_read": [1, 2],
        "gold_documents": [2],
        "tokens_read": 100,
        "usage": {"calls": 3},
        "seconds": 2.0,
    }
    return {**named, **figures, "error": error, **more}


def drawn(progress: EvaluationProgress, width: int = 80, lines: int | None = None) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(results_table(progress, lines))
    return [one.rstrip() for one in capture.get().splitlines()]


class Clock:
    """Seconds that a test moves on."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def progress() -> EvaluationProgress:
    progress = EvaluationProgress()
    progress.expect(key(n) for n in range(4))
    return progress


# Means are of what is there; what failed counts as wrong, but not for what was read.
def test_means(progress: EvaluationProgress) -> None:
    progress.add(line(key(0)))
    progress.add(line(key(1), em=0.0, documents_read=[1], tokens_read=300))
    progress.add(line(key(2), "No.", em=0.0, f1=0.0, documents_read=[], tokens_read=0, seconds=0.0))
    row = progress.rows[0]

    assert (row.done, row.total, row.failed) == (3, 4, 1)
    assert row.mean("em") == pytest.approx(1 / 3)
    assert row.mean("fcr") == pytest.approx(1 / 3)
    assert row.mean("tokens") == 200
    assert row.mean("seconds") == 2.0


# What failed and is asked again takes its own place; lines of an earlier run count if asked for.
def test_earlier_lines() -> None:
    progress = EvaluationProgress()
    progress.expect([key(0), key(1)])
    progress.add(line(key(0), "No."))
    progress.add(line(key(0)))
    progress.add(line(key(7)))
    progress.add(line(key(1), "No."))

    assert (progress.done, progress.total, progress.failed) == (2, 2, 1)


# Where nothing is measured a dash stands, not a nought.
def test_dashes(progress: EvaluationProgress) -> None:
    progress.add(line(key(0), em=None, f1=None, gold_documents=[]))

    assert drawn(progress)[-1].split() == ["golden", "1/4", "-", "-", "-", "100", "3.0", "2.0", "0"]


# Readers stand below their dataset and length; a model is named where there are several.
def test_headings() -> None:
    progress = EvaluationProgress()
    progress.expect([key(0), key(0, "full-text"), key(0, dataset="e")])
    one = drawn(progress)
    progress.expect([key(0, model="a:b")])
    several = drawn(progress)

    assert [text.split()[0] for text in one[1:]] == ["d,", "golden", "full-text", "e,", "golden"]
    assert "d, native, a:b" in several
    assert "d, native, offline" in several


# The longest names of readers leave lines for all columns at 80 characters.
def test_width() -> None:
    progress = EvaluationProgress()
    progress.expect(key(n, "graphreader-no-normalization") for n in range(300))
    for n in range(300):
        progress.add(
            line(key(n, "graphreader-no-normalization"), tokens_read=128_000, seconds=99.0)
        )
    rows = drawn(progress)

    assert all(len(row) <= 80 for row in rows)
    assert "128,000" in " ".join(rows)
    assert "300/300" in " ".join(rows)


# In a low terminal the rows that are under way are shown, with how many others there are.
@pytest.mark.parametrize("lines", [6, 10, 18])
@pytest.mark.parametrize("done", [0, 9, 19, 20])
def test_little_lines(lines: int, done: int) -> None:
    progress = EvaluationProgress()
    keys = [key(0, f"reader-{n}", f"set-{n // 5}") for n in range(20)]
    progress.expect(keys)
    for one in keys[:done]:
        progress.add(line(one))
    rows = drawn(progress, lines=lines)

    assert len(rows) <= lines + 1
    assert f"reader-{min(done, 19)} " in "\n".join(rows)
    assert "rows more" in rows[-1]


# How far it is and how fast is told as soon as anything is known.
def test_progress(progress: EvaluationProgress) -> None:
    clock = Clock()
    display = EvaluationDisplay(progress, clock=clock)
    first = display.line()
    for n in range(2):
        clock.now += 30
        one = line(key(n), "No." if n else None)
        progress.add(one)
        display.add(one)

    assert first == "0 of 4 readings"
    assert display.line() == "2 of 4 readings, 1 failed, 2.0 a minute, about 1 min left"


# In a log a line comes now and then, and the first failures with their reasons.
def test_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    clock, progress = Clock(), EvaluationProgress()
    progress.expect(key(n) for n in range(10))
    with EvaluationDisplay(progress, clock=clock) as display:
        for n in range(9):
            clock.now += 6
            one = line(key(n), "The [model]\nwent away." if n < 7 else None)
            progress.add(one)
            display.add(one)
    told = capsys.readouterr().err.splitlines()

    assert told.count("golden, q1: The [model] went away.") == 1
    assert sum("went away" in one for one in told) == 5
    assert sum("further failures" in one for one in told) == 1
    assert sum(one.startswith("evaluate: ") for one in told) == 4


@pytest.fixture
def costs() -> list[Cost]:
    asking = Spending(10, 90_000, 10_000, 1.5)
    return [
        Cost("graphreader", "a:b", 5, Spending(100, 1_000_000, 0, 2.0), asking, Spending()),
        Cost("golden", "a:b", 5, Spending(), asking, Spending(10, 900, 100, None)),
    ]


# Each reader's cost is told in its parts; where a price is not known none is told, nor of all.
def test_costs(costs: list[Cost], capsys: pytest.CaptureFixture[str]) -> None:
    print_costs(costs, to_stderr=False)
    rows = [one.split() for one in capsys.readouterr().out.splitlines()]

    assert rows[1] == ["graphreader", "5", "1,000,000", "100,000", "-", "110", "$3.50"]
    assert rows[2][-2:] == ["not", "known"]
    assert rows[3][0] == "all"
    assert total_spending(costs).calls == 130
    assert total_spending(costs).dollars is None
    assert total_spending(costs[:1]).dollars == 3.5
