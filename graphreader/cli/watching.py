"""Showing a run in a terminal: the plan, the paths as they go, the answer, what it rests on."""

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
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
from graphreader.reading import FunctionCall, Reading

STOPPED = {
    "termination": "[green]done[/green]",
    "call_limit": "[yellow]call limit[/yellow]",
    "nothing_left": "[yellow]nothing left[/yellow]",
    "budget": "[yellow]budget[/yellow]",
    "error": "[red]error[/red]",
}


def watch(events: Iterable[Event], console: Console | None = None) -> Reading:
    """Draw the events until the reading is there, and print it. Without a terminal: lines."""
    out = console or Console()
    paths = _Paths()
    with Live(paths, console=out, refresh_per_second=8, transient=False) as live:
        if not out.is_terminal:
            live.stop()
        for event in events:
            match event:
                case PlanMade(plan=plan):
                    out.print(Rule("Plan", align="left"))
                    out.print(Padding(escape(plan), (0, 0, 1, 2)))
                case QuestionAnswered(reading=reading):
                    live.stop()
                    if not out.is_terminal:
                        out.print(paths)
                    _print_answer(out, reading)
                    return reading
                case _:
                    paths.take(event)
                    live.update(paths)
    raise AssertionError("a run ends with its answer")


class _Paths:
    """A table of the paths: where each began, what it did, how it ended."""

    def __init__(self) -> None:
        self._nodes: tuple[str, ...] = ()
        self._trails: dict[int, list[str]] = {}
        self._ends: dict[int, str] = {}

    def take(self, event: Event) -> None:
        """Add what happened."""
        match event:
            case NodesChosen(nodes=nodes):
                self._nodes = nodes
            case FunctionChosen(path=path, call=call):
                self._trails.setdefault(path, []).append(_words(call))
            case PathEnded(path=path, stopped=stopped, error=error):
                self._ends[path] = STOPPED[stopped] + (f"\n{escape(error)}" if error else "")

    def __rich__(self) -> RenderableType:
        if not self._nodes:
            return Text("")
        table = Table(box=None, padding=(0, 2, 0, 0), expand=False)
        table.add_column("", style="bold")
        table.add_column("Initial node", style="cyan", overflow="fold", max_width=24)
        table.add_column("Functions", overflow="fold")
        table.add_column("", overflow="fold", min_width=8)
        for number, node in enumerate(self._nodes, 1):
            trail = " → ".join(self._trails.get(number, [])) or "…"
            table.add_row(str(number), escape(node), trail, self._ends.get(number, "…"))
        return Group(Rule("Paths", align="left"), Padding(table, (0, 0, 1, 2)))


def _words(call: FunctionCall) -> str:
    argument = call.argument if len(call.argument) < 60 else call.argument[:57] + "…"
    return f"{call.name}" + (f"([cyan]{escape(argument)}[/cyan])" if argument else "")


def _print_answer(out: Console, reading: Reading) -> None:
    """The answer, its citations, what a person should know, what it cost."""
    title = "Answer" if reading.answered else "Not answered"
    out.print(Rule(title, align="left"))
    out.print(Padding(Text(reading.answer, style="bold"), (0, 0, 1, 2)))
    if reading.citations:
        out.print(Rule("Citations", align="left"))
        for number, one in enumerate(reading.citations, 1):
            quote = " ".join(one.quote.split())
            where = f"[cyan]{escape(one.document)}[/cyan], chunk {one.chunk}"
            span = f"[dim]characters {one.start}-{one.end}[/dim]"
            out.print(Padding(f"[bold]{number}[/bold] {where}  {span}", (0, 0, 0, 2)))
            out.print(Padding(Text(f"“{quote}”", style="italic"), (0, 0, 1, 4)))
    usage = reading.usage
    tokens = usage.input_tokens + usage.output_tokens
    cost = f"{usage.calls} decisions, {tokens:,} tokens, {usage.seconds:.1f} s"
    out.print(f"[dim]{escape(reading.decider)}: {cost}[/dim]")
    for note in reading.notes:
        out.print(f"[yellow]{escape(note)}[/yellow]")
