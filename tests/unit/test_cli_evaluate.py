"""What a person sees of an evaluation and of its report: rows as they fill, costs, tables."""

import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from graphreader.cli.evaluate import ReadingProgress, print_costs, results_table
from graphreader.estimate import Spending
from graphreader.evaluation.costs import Cost
from graphreader.evaluation.results import EvaluationProgress, ReadingKey
from tests.clock import Clock
from tests.terminal import Terminal
from tests.unit.evaluated_report import as_line


def key(n: int = 0, reader: str = "golden", dataset: str = "d", model: str = "o") -> ReadingKey:
    return ReadingKey(dataset, f"q{n}", "native", reader, model, 0)


def line(of: ReadingKey, error: str | None = None, **more: Any) -> dict[str, Any]:
    figures = {
        "em": 1.0,
        "f1": 0.5,
        "documents_read": [1, 2],
        "gold_documents": [2],
        "tokens_read": 100,
        "usage": {"calls": 3},
        "seconds": 2.0,
    }
    names = {name: getattr(of, name) for name in ReadingKey.__slots__}
    return {**names, **figures, "error": error, **more}


def drawn(progress: EvaluationProgress, lines: int | None = None) -> list[str]:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(results_table(progress, lines))
    return [one.rstrip() for one in capture.get().splitlines()]


@pytest.fixture
def progress() -> EvaluationProgress:
    progress = EvaluationProgress()
    progress.expect(key(n) for n in range(10))
    return progress


# Means are of what is there; what failed counts as wrong, but not for what was read. Where nothing
# is measured a dash stands, not a nought.
def test_rows(progress: EvaluationProgress) -> None:
    progress.add(line(key(0), em=None, f1=None, gold_documents=[]))
    dashes = drawn(progress)[-1].split()
    progress.add(line(key(0)))
    progress.add(line(key(1), em=0.0, documents_read=[1], tokens_read=300))
    progress.add(line(key(2), "No.", em=0.0, f1=0.0, documents_read=[], tokens_read=0, seconds=0.0))

    assert dashes == ["golden", "1/10", "-", "-", "-", "100", "3.0", "2.0", "0"]
    row = ["golden", "3/10", "33.3", "33.3", "33.3", "200", "3.0", "2.0", "1"]
    assert drawn(progress)[-1].split() == row


# Readers stand below their dataset and length, long names in 80 columns; a model is named where
# there are several.
def test_headings() -> None:
    progress = EvaluationProgress()
    name = "graphreader-no-normalization"
    progress.expect([key(0), key(0, name), key(0, dataset="e")])
    progress.add(line(key(0, name), tokens_read=128_000, seconds=99.0))
    one = drawn(progress)
    progress.expect([key(0, model="a:b")])
    several = drawn(progress)

    first = [text.split()[0] for text in one[1:] if not text.startswith("    ")]
    assert [word[:15] for word in first if word != "on"] == [
        "d,", "golden", name[:15], "e,", "golden",
    ]  # fmt: skip
    assert max(map(len, one)) <= 80
    assert {"d, native, a:b", "d, native, o"} <= {*several}


# In a low terminal the rows that are under way are shown.
def test_little_lines() -> None:
    progress = EvaluationProgress()
    keys = [key(0, f"reader-{n}", f"set-{n // 5}") for n in range(20)]
    progress.expect(keys)
    for one in keys[:9]:
        progress.add(line(one))
    rows = drawn(progress, lines=10)

    assert len(rows) <= 11
    assert "reader-9 " in "\n".join(rows)
    assert "reader-8 " not in "\n".join(rows)


# A continued evaluation counts what is asked or rated once more as still to come. The log says how
# far it is, how fast, and why readings failed.
def test_progress(progress: EvaluationProgress, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    for n in range(10):
        progress.add(line(key(n), "No." if n < 3 else None))
    with ReadingProgress(progress, unrated=2, clock=clock.now) as display:
        told = [display.status()]
        for n in range(5):
            clock.go_on(6)
            one = line(key(n), "The [model]\nwent away." if n == 2 else None)
            progress.add(one)
            display.add(one)
            told.append(display.status())
    log = capsys.readouterr().err.splitlines()

    assert told[0] == "5 of 10 readings, 3 failed"
    assert told[2] == "7 of 10 readings, 1 failed, 10.0 a minute, about 18 s left"
    assert told[5] == "10 of 10 readings, 1 failed"
    assert log.count("golden, q2: The [model] went away.") == 1


# Each reader's cost is told in its parts; where a price is not known none is told, nor of all.
def test_costs(capsys: pytest.CaptureFixture[str]) -> None:
    asking = Spending(10, 90_000, 10_000, 1.5)
    costs = [
        Cost("graphreader", "a:b", 5, Spending(100, 1_000_000, 0, 2.0), asking, Spending()),
        Cost("golden", "a:b", 5, Spending(), asking, Spending(10, 900, 100, None)),
    ]
    total = print_costs(costs, to_stderr=False)
    rows = [one.split() for one in capsys.readouterr().out.splitlines()]

    assert rows[1] == ["graphreader", "5", "1,000,000", "100,000", "-", "110", "$3.50"]
    assert rows[2][-2:] == ["not", "known"]
    assert rows[3][0] == "all"
    assert (total.calls, total.dollars) == (130, None)


def evaluated(folder: Path, *lines: str) -> None:
    (folder / "readings.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


# The report's main table is printed, then the name of the page; a program gets it as one object.
# What somebody named a dataset or reader is shown, never obeyed.
def test_report(terminal: Terminal) -> None:
    evaluated(
        terminal.folder,
        as_line(id="a", f1=0.5),
        as_line(id="b", f1=1.0, window=4096),
        as_line(dataset="a\x1b[2Jb", reader="[red]x[/red]\x1b[31m"),
    )
    outcome = terminal.run("report", ".")
    encoded = terminal.run("report", ".", "--json").json

    assert (outcome.code, outcome.err[:16]) == (0, "An older version")  # whose readings lack much
    assert "75.0" in outcome.out
    assert "paper, other texts: GraphReader" in outcome.out
    assert "[red]x[/red]" in outcome.out
    assert "\x1b" not in outcome.out
    assert Path("report/report.html").as_posix() in outcome.out
    assert (terminal.folder / "report" / "scores.csv").exists()
    assert encoded["name"] == "scores"
    rows = [row for section in encoded["sections"] for row in section["rows"]]
    assert {row["source"] for row in rows} == {"ours", "paper"}
    assert "report/report.json" in encoded["files"]


# In a terminal the columns that say least are left out, and no line is wider than it is.
def test_width(terminal: Terminal) -> None:
    figures = {"window": 4096, "model": "offline"}
    lines = [as_line(id=id_, f1=f1, **figures) for id_, f1 in (("a", 0.5), ("b", 1.0))]
    evaluated(terminal.folder, *lines)
    terminal.set(COLUMNS="80", FORCE_COLOR="1", TERM="xterm")
    text = re.sub(r"\x1b\[[0-9;]*m", "", terminal.run("report", ".").out)

    assert max(map(cell_len, text.splitlines())) <= 80
    assert text.startswith("No language model answered here")
    assert all(one in text for one in ("LR-1", "LR-2", "EM", "F1"))
    assert "Window" not in text
