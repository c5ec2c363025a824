"""Kept runs as a person sees them."""

import io

import pytest
from rich.console import Console

from graphreader.agent.events import FunctionChosen, NodesChosen, NoteTaken, PathEnded, PlanMade
from graphreader.agent.run_store import RunSummary
from graphreader.cli import runs as runs_module
from graphreader.cli.watch import print_run
from graphreader.reading import FunctionCall
from graphreader.runs import KeptRun

HOSTILE = "odd\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe"
OBEYED = set("\x1b\x07\x9b\u202e")


def summary(text: str, run: str) -> RunSummary:
    return RunSummary(run, text, text, "failed", 1.0, 2.0, "offline", error=text)


def listed(*runs: RunSummary, width: int = 200) -> str:
    """What `runs list` prints in a terminal of this width."""
    file = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_module, "wide_console", lambda: Console(file=file, width=width))
        runs_module._print_runs(runs)
    return file.getvalue()


# An id that looks like markup is printed as it is.
def test_ids_like_markup() -> None:
    text = listed(summary("Who?", "q[/x]"), summary("Why?", "[b]q"))

    assert "q[/x]" in text
    assert "[b]q" in text


# In a narrow terminal only the question is cut: the id is needed to continue.
@pytest.mark.parametrize("width", [72, 80])
def test_narrow_terminals(width: int) -> None:
    run = RunSummary("98e01db5c7aa", "books", "Who? " * 30, "interrupted", 1.0, 2.0, "offline")
    text = listed(run, width=width)

    assert all(
        whole in text for whole in ("98e01db5c7aa", "1970-01-01 ", "interrupted", "books", "Who?")
    )


# A terminal obeys nothing that is kept of a run.
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
    print_run(Console(file=file, width=400), kept)
    text = file.getvalue() + listed(kept.summary, width=400)

    assert not OBEYED & set(text)
    assert text.count("owned") == 16
