"""`graphreader report`: what a person sees of it, and a program."""

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.terminal import Terminal
from tests.unit.evaluated_report import as_line


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Terminal:
    return Terminal(monkeypatch, capsys, tmp_path)


def evaluated(folder: Path, *lines: str) -> None:
    (folder / "readings.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


# The main table is printed with its intervals, and then the names of all files.
def test_printed(terminal: Terminal) -> None:
    evaluated(terminal.folder, as_line(id="a", f1=0.5), as_line(id="b", f1=1.0, window=4096))
    outcome = terminal.run("report", ".")

    assert (outcome.code, outcome.err) == (0, "")
    assert "75.0 (50.0–100.0)" in outcome.out
    assert "paper: GraphReader" in outcome.out
    assert Path("report/report.md").as_posix() in outcome.out
    assert (terminal.folder / "report" / "scores.csv").exists()


# In a terminal no line is wider than it is, whatever it takes: first the intervals go, then the
# columns that tell least; the files' names say where the rest is.
@pytest.mark.parametrize(
    ("columns", "there", "gone"),
    [
        (60, ["LR-1", "F1"], ["Window", "Answered", "(50.0"]),
        (80, ["LR-1", "LR-2", "EM", "F1"], ["Window", "(50.0"]),
        (100, ["Window", "Answered", "F1"], ["(50.0"]),
        (160, ["Window", "Answered", "75.0 (50.0–100.0)"], []),
    ],
)
def test_narrow(terminal: Terminal, columns: int, there: list[str], gone: list[str]) -> None:
    told = {"window": 4096, "model": "offline"}
    evaluated(terminal.folder, as_line(id="a", f1=0.5, **told), as_line(id="b", f1=1.0, **told))
    terminal.set(COLUMNS=str(columns), FORCE_COLOR="1", TERM="xterm")
    outcome = terminal.run("report", ".")

    shown = re.sub(r"\x1b\[[0-9;]*m", "", outcome.out)
    assert max(map(cell_len, shown.splitlines())) <= columns
    assert shown.startswith("No language model answered here")
    head = next(line for line in shown.splitlines() if line.startswith("Reader"))
    assert all(one in head or one in shown for one in there)
    assert not any(one in shown for one in gone)
    assert "report/report.md" in shown
    assert "Pictures there" not in shown  # one reader is compared with nobody


# What somebody named a reader or dataset is shown, never obeyed.
def test_hostile(terminal: Terminal) -> None:
    evaluated(terminal.folder, as_line(dataset="a\x1b[2Jb", reader="[red]x[/red]\x1b[31m"))
    outcome = terminal.run("report", ".")

    assert outcome.code == 0
    assert "\x1b" not in outcome.out
    assert "[red]x[/red]" in outcome.out


# A program gets the main table and the files as one object.
def test_json(terminal: Terminal) -> None:
    evaluated(terminal.folder, as_line())
    told = terminal.run("report", ".", "--json").json

    assert told["name"] == "scores"
    assert {row["source"] for row in told["sections"][0]["rows"]} == {"ours", "paper"}
    assert "report/report.json" in told["files"]


# A folder that is no evaluation is named, with what to do, as wrong usage.
@pytest.mark.parametrize("folder", [".", "missing"])
def test_no_evaluation(terminal: Terminal, folder: str) -> None:
    outcome = terminal.run("report", folder)

    assert outcome.code == 2
    assert outcome.out == ""
    assert "graphreader evaluate --out" in outcome.err
    assert len(outcome.err.splitlines()) == 1
