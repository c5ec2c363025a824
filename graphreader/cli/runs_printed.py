"""Kept runs as a person reads them: a list of them, and one with all its steps."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from graphreader.agent.events import FunctionChosen, NodesChosen, NoteTaken, PathEnded, PlanMade
from graphreader.agent.run_store import RunSummary, Status
from graphreader.cli.printing import as_line, as_text
from graphreader.cli.reading_printed import STOPPED, call_in_words, print_outcome, print_plan
from graphreader.runs import KeptRun

_STATUS: Mapping[Status, str] = {
    "running": "cyan",
    "finished": "green",
    "failed": "red",
    "interrupted": "yellow",
}


def print_runs(out: Console, runs: Iterable[RunSummary]) -> None:
    """One line a run, newest first; where it is too narrow, only the question is cut."""
    rows = list(runs)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    corpus = min(20, max((len(one.corpus) for one in rows), default=0))
    widths = {
        "Run": max((len(one.id) for one in rows), default=0),
        "Began": len(_when(0)),
        "Status": max(len(one) for one in _STATUS),
        "Corpus": max(corpus, len("Corpus")),
    }
    taken = sum(widths.values()) + 2 * len(widths)
    for name, width in {**widths, "Question": max(10, out.width - taken - 2)}.items():
        table.add_column(name, width=width, overflow="ellipsis", no_wrap=True)
    for run in rows:
        status = Text(run.status, _STATUS[run.status])
        table.add_row(
            as_line(run.id),
            _when(run.began),
            status,
            as_line(run.corpus),
            as_line(run.question),
        )
    out.print(table)


def print_run(out: Console, kept: KeptRun) -> None:
    """What was asked, every step of every path with its reason, and the answer if there is one."""
    run = kept.summary
    out.print(
        Text.assemble(
            "Run ",
            as_line(run.id, "bold"),
            as_line(f" of corpus {run.corpus}, {_when(run.began)}, "),
            (run.status, _STATUS[run.status]),
        )
    )
    out.print(Padding(as_text(run.question, "bold"), (0, 0, 1, 2)))
    for event in kept.events:
        if isinstance(event, PlanMade):
            print_plan(out, event.plan, event.needs)
    _print_paths(out, kept)
    if kept.reading:
        print_outcome(out, kept.reading)
    if run.error:
        out.print(as_text(run.error, "red"))
    if kept.steps:
        steps = ", ".join(f"{number} {name}" for number, name in kept.steps.items())
        out.print(as_line(f"Steps, for `runs resume {run.id} --from N`: {steps}", "dim"))


def _print_paths(out: Console, kept: KeptRun) -> None:
    nodes = next((one.nodes for one in kept.events if isinstance(one, NodesChosen)), ())
    for path, node in enumerate(nodes, 1):
        out.print(Rule(Text.assemble(f"Path {path}, from ", as_line(node, "bold")), align="left"))
        number, notebook = 0, ""
        end = Text("not over", "yellow")
        for event in kept.events:
            match event:
                case FunctionChosen(path=where, call=call) if where == path:
                    number += 1
                    words = Text.assemble(f"{number:2} ", as_line(call.at, "dim"), "  ")
                    out.print(Padding(words + call_in_words(call), (0, 0, 0, 2)))
                    out.print(Padding(as_text(call.rationale, "italic"), (0, 0, 0, 5)))
                case NoteTaken(path=where, notebook=noted) if where == path:
                    notebook = noted
                case PathEnded(path=where, stopped=stopped, error=error) if where == path:
                    end = STOPPED[stopped] + as_text(f": {error}" if error else "")
        out.print(Padding(end, (0, 0, 0, 5)))
        words = Text.assemble(("Notebook: ", "dim"), as_text(notebook or "(empty)"))
        out.print(Padding(words, (0, 0, 1, 5)))


def _when(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")
