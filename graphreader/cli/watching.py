"""Showing a run in a terminal: the plan, the paths as they go, the answer, what it rests on."""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.rule import Rule
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from graphreader.agent.events import (
    Event,
    FunctionChosen,
    NodesChosen,
    PathEnded,
    PlanMade,
    QuestionAnswered,
)
from graphreader.cli.printing import cost, plural
from graphreader.reading import Citation, FunctionCall, Path, Reading, Stopped
from graphreader.usage import Phase, Usage

_STOPPED: dict[Stopped, Text] = {
    "termination": Text("done", "green"),
    "call_limit": Text("call limit", "yellow"),
    "nothing_left": Text("nothing left", "yellow"),
    "budget": Text("budget", "yellow"),
    "error": Text("error", "red"),
}
_CHUNK = re.compile(r"(.+), chunk (\d+)")


def watch(events: Iterable[Event], console: Console | None = None) -> Reading:
    """Draw the events until the reading is there, then print it whole.

    In a terminal a line a path shows where it is; these lines go when the answer comes.
    """
    out = console or Console(highlight=False)
    reading: Reading | None = None
    progress = _Progress()
    with Live(progress, console=out, refresh_per_second=8, transient=True) as live:
        if not out.is_terminal:
            live.stop()
        for event in events:
            match event:
                case PlanMade(plan=plan):
                    _print_plan(out, plan)
                case QuestionAnswered(reading=found):
                    reading = found
            progress.take(event)
    if reading is None:
        raise AssertionError("a run ends with its answer")
    _print_paths(out, reading.paths)
    _print_answer(out, reading)
    return reading


class _Progress:
    """One line a path: where it began, how many calls, what it does, how it ended."""

    def __init__(self) -> None:
        self._nodes: tuple[str, ...] = ()
        self._calls: dict[int, list[FunctionCall]] = {}
        self._ends: dict[int, Stopped] = {}
        self._spinner = Spinner("dots", "Planning")

    def take(self, event: Event) -> None:
        """Add what happened."""
        match event:
            case PlanMade():
                self._spinner.update(text="Choosing where to begin")
            case NodesChosen(nodes=nodes):
                self._nodes = nodes
                self._spinner.update(text="Exploring")
            case FunctionChosen(path=path, call=call):
                self._calls.setdefault(path, []).append(call)
            case PathEnded(path=path, stopped=stopped):
                self._ends[path] = stopped
                if len(self._ends) == len(self._nodes):
                    self._spinner.update(text="Answering")

    def __rich__(self) -> RenderableType:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=24, style="bold")
        table.add_column(justify="right", no_wrap=True, style="dim")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for number, node in enumerate(self._nodes, 1):
            calls = self._calls.get(number, [])
            end = self._ends.get(number)
            now = _STOPPED[end] if end else _call(calls[-1]) if calls else Text("…", "dim")
            table.add_row(str(number), Text(node), str(len(calls)), now)
        return Padding(Group(table, self._spinner), (0, 0, 0, 2))


def _print_plan(out: Console, plan: str) -> None:
    out.print(Rule("Plan", align="left"))
    out.print(Padding(Text(plan), (0, 0, 1, 2)))


def _print_paths(out: Console, paths: Iterable[Path]) -> None:
    out.print(Rule("Paths", align="left"))
    for number, path in enumerate(paths, 1):
        calls = (f"  {plural(path.calls, 'call')}, ", "dim")
        title = Text.assemble(f"{number} ", (path.initial_node, "bold"), calls)
        out.print(Padding(title + _STOPPED[path.stopped], (0, 0, 0, 2)))
        if path.functions:
            out.print(Padding(_trail(path.functions), (0, 0, 0, 4)))
        if path.error and path.stopped == "error":  # the budget is the same for all: a note says it
            out.print(Padding(Text(path.error, "red"), (0, 0, 0, 4)))
    out.print()


def _trail(functions: Iterable[FunctionCall]) -> Text:
    """The calls in their order, equal neighbors as one."""
    steps = []
    for _, same in groupby(functions, key=lambda call: (call.name, call.argument)):
        calls = list(same)
        times = Text(f" ×{len(calls)}", "dim") if len(calls) > 1 else Text()
        steps.append(_call(calls[0]) + times)
    return Text(" → ", "dim").join(steps)


def _call(call: FunctionCall) -> Text:
    if not call.argument:
        return Text(call.name)
    return Text.assemble(f"{call.name}(", (_argument(call.argument), "cyan"), ")")


def _argument(argument: str) -> str:
    """Chunks of one document in a row share its name: `life, chunk 0; life, chunk 3` is shorter."""
    chunks = [_CHUNK.fullmatch(part) for part in argument.split("; ")]
    if len(chunks) < 2 or not all(chunks):
        return argument
    pairs = [(chunk[1], chunk[2]) for chunk in chunks if chunk]
    shown = []
    for title, group in groupby(pairs, key=lambda pair: pair[0]):
        numbers = [number for _, number in group]
        shown.append(f"{title}, chunk{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}")
    return "; ".join(shown)


def _print_answer(out: Console, reading: Reading) -> None:
    """The answer, its citations, what a person should know, what it cost."""
    title = "Answer" if reading.answered else "Not answered"
    out.print(Rule(title, align="left"))
    out.print(Padding(Text(reading.answer, style="bold"), (0, 0, 1, 2)))
    if reading.citations:
        out.print(Rule("Citations", align="left"))
        for number, citation in enumerate(reading.citations, 1):
            _print_citation(out, number, citation)
    out.print(
        Text(f"{reading.decider}: {cost(reading.usage)}, {reading.usage.seconds:.1f} s", "dim")
    )
    if reading.usage.tokens and reading.phases:
        out.print(Text(_phases(reading.phases), "dim"))
    for note in reading.notes:
        out.print(Text(note, "yellow"))


def _phases(phases: Mapping[Phase, Usage]) -> str:
    """What was spent for what; nothing is said of a phase that was free."""
    told = [
        f"{one} {spent.calls} ({spent.tokens:,})" for one, spent in phases.items() if spent.calls
    ]
    return f"calls (tokens): {', '.join(told)}"


def _print_citation(out: Console, number: int, citation: Citation) -> None:
    page = f", page {citation.page}" if citation.page else ""
    heading = f", “{citation.heading}”" if citation.heading else ""
    where = Text.assemble(
        (f"{number} ", "bold"),
        (citation.document, "cyan"),
        f"{page}{heading}, chunk {citation.chunk}",
        (f"  characters {citation.start}-{citation.end}", "dim"),
    )
    out.print(Padding(where, (0, 0, 0, 2)))
    quote = " ".join(citation.quote.split())
    out.print(Padding(Text(f"“{quote}”", style="italic"), (0, 0, 1, 4)))
