"""Kept runs as a person sees them, and the files into which they are exported."""

import io

import pytest
from rich.console import Console

from graphreader.agent.events import FunctionChosen, NodesChosen, NoteTaken, PathEnded, PlanMade
from graphreader.agent.run_store import RunSummary
from graphreader.cli.runs_printed import print_run, print_runs
from graphreader.reading import FunctionCall
from graphreader.runs import KeptRun

HOSTILE = "odd\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe"
OBEYED = set("\x1b\x07\x9b\u202e")


def summary(text: str, run: str) -> RunSummary:
    return RunSummary(run, text, text, "failed", 1.0, 2.0, "offline", error=text)


# An id that looks like markup stands in the list as it is.
def test_ids_like_markup() -> None:
    file = io.StringIO()
    print_runs(Console(file=file, width=200), [summary("Who?", "q[/x]"), summary("Why?", "[b]q")])

    assert "q[/x]" in file.getvalue()
    assert "[b]q" in file.getvalue()


# In a narrow terminal only the question is cut: the id is what one goes on with.
@pytest.mark.parametrize("width", [72, 80])
def test_narrow_terminals(width: int) -> None:
    file = io.StringIO()
    run = RunSummary("98e01db5c7aa", "books", "Who? " * 30, "interrupted", 1.0, 2.0, "offline")
    print_runs(Console(file=file, width=width), [run])

    for whole in ("98e01db5c7aa", "1970-01-01 ", "interrupted", "books", "Who?"):
        assert whole in file.getvalue()


# Nothing that is kept of a run is obeyed by a terminal.
def test_hostile_texts() -> None:
    call = FunctionCall("read_chunk", HOSTILE, HOSTILE, HOSTILE)
    events = (
        PlanMade(HOSTILE, (HOSTILE,)),
        NodesChosen((HOSTILE,)),
        FunctionChosen(1, HOSTILE, call),
        NoteTaken(1, HOSTILE),
        PathEnded(1, "error", HOSTILE, HOSTILE),
    )
    kept = KeptRun(summary(HOSTILE, HOSTILE), events, None, {1: "plan"})
    file = io.StringIO()
    console = Console(file=file, width=400)
    print_runs(console, [kept.summary])
    print_run(console, kept)
    text = file.getvalue()

    assert not OBEYED & set(text)
    assert text.count("owned") == 16
