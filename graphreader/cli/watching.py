"""Showing a run while it goes on: the plan, the paths, the answer as it is written."""

import shlex
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from graphreader.agent.events import (
    AnswerToken,
    CandidatesFound,
    ChunkRead,
    Event,
    FactsRead,
    FunctionChosen,
    NeighborsSeen,
    NodesChosen,
    NoteTaken,
    PathEnded,
    PlanMade,
    QuestionAnswered,
    RunBegan,
)
from graphreader.cli.failing import Interrupted
from graphreader.cli.printing import as_line, as_text, plural
from graphreader.cli.reading_printed import (
    STOPPED,
    call_in_words,
    chunks_in_words,
    print_plan,
    print_reading,
)
from graphreader.reading import Reading

_PathEvent = FactsRead | ChunkRead | NeighborsSeen | NoteTaken | FunctionChosen | PathEnded
_NAME = 24  # characters of an initial node's name
_ROOM = 6  # lines that are left for other things than the paths


def watch(events: Iterable[Event], console: Console | None = None) -> Reading:
    """Draw the events until the reading is there, then print it whole.

    In a terminal two lines a path show where it is and what it noted last, and below them the
    answer grows; these lines go when the reading comes. Who interrupts a run that is kept is told
    how to go on with it.
    """
    out = console or Console(highlight=False)
    reading: Reading | None = None
    picture = _Picture()
    try:
        with Live(picture, console=out, refresh_per_second=8, transient=True) as live:
            if not out.is_terminal:
                live.stop()
            for event in events:
                match event:
                    case PlanMade(plan=plan, needs=needs):
                        print_plan(out, plan, needs)
                    case QuestionAnswered(reading=found):
                        reading = found
                picture.take(event)
    except Interrupted as error:
        if picture.run:
            command = f"graphreader runs resume {shlex.quote(picture.run)}"
            error.add_note(f"Go on with `{command}`.")
        raise
    if reading is None:
        raise AssertionError("a run ends with its answer")
    print_reading(out, reading)
    return reading


class _Path:
    """What one path does just now, what it noted last, how many functions it chose."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.now = Text("…", "dim")
        self.note = ""
        self.calls = 0
        self.ended = False

    def take(self, event: _PathEvent) -> None:
        """Add what happened."""
        match event:
            case FactsRead(node=node, facts=facts, chunks=chunks):
                where = chunks_in_words("; ".join(chunks))
                begin = f"looks at {plural(len(facts), 'fact')} of "
                self.now = Text(begin) + as_line(node, "cyan") + as_line(f"  {where}", "dim")
            case ChunkRead(document=document, chunk=chunk):
                self.now = Text("reads ") + as_line(f"{document}, chunk {chunk}", "cyan")
            case NeighborsSeen(neighbors=neighbors):
                self.now = Text("looks at neighbors: ") + as_line(", ".join(neighbors), "cyan")
            case NoteTaken(notebook=notebook):
                self.note = _last_line(notebook)
            case FunctionChosen(call=call):
                self.calls, self.now = self.calls + 1, call_in_words(call)
            case PathEnded(stopped=stopped):
                self.now, self.ended = STOPPED[stopped], True


class _Picture:
    """What lives in the terminal; `run` is the id of a run that is kept."""

    def __init__(self) -> None:
        self.run = ""
        self._paths: list[_Path] = []
        self._answer = ""
        self._spinner = Spinner("dots", "Planning")

    def take(self, event: Event) -> None:
        """Add what happened."""
        match event:
            case RunBegan(run=run):
                self.run = run
            case PlanMade():
                self._spinner.update(text="Looking for candidates")
            case CandidatesFound(nodes=nodes):
                found = plural(len(nodes), "candidate")
                self._spinner.update(text=f"Choosing where to begin, out of {found}")
            case NodesChosen(nodes=nodes):
                self._paths = [_Path(node) for node in nodes]
                self._spinner.update(text="Exploring" if nodes else "Answering")
            case AnswerToken(text=text, begins=begins):
                self._answer = text if begins else self._answer + text
            case _ if isinstance(event, _PathEvent):
                self._paths[event.path - 1].take(event)
                if all(path.ended for path in self._paths):
                    self._spinner.update(text="Answering")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        notes = len(self._paths) * 2 + _ROOM <= console.height
        parts: list[RenderableType] = [self._table(notes), self._spinner]
        if self._answer:
            room = max(1, console.height - _ROOM - len(self._paths) * (2 if notes else 1))
            written = as_text(self._answer, "bold").wrap(console, options.max_width - 4)
            parts.append(Padding(Text("\n").join(written[-room:]), (0, 0, 0, 2)))
        yield Padding(Group(*parts), (0, 0, 0, 2))

    def _table(self, notes: bool) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, expand=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=_NAME, style="bold")
        table.add_column(justify="right", no_wrap=True, style="dim")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for number, path in enumerate(self._paths, 1):
            shown = Text("\n").join([path.now, as_line(path.note, "dim italic")])
            calls = str(path.calls)
            table.add_row(str(number), as_line(path.node), calls, shown if notes else path.now)
        return table


def _last_line(notebook: str) -> str:
    """The last line of a notebook that says something."""
    lines = [line for line in notebook.splitlines() if line.strip()]
    return lines[-1].strip().removeprefix("- ") if lines else ""
