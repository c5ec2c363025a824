"""The summary of a run: its paths as lanes of a timeline, and its cost as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphreader.agent.functions import FUNCTIONS
from graphreader.reading import FunctionCall, Path, Reading, Stopped
from graphreader.usage import Phase, Usage

COLOURS = 8  # the number of colours that the style sheet has for paths; further paths repeat them

_ENDINGS: dict[Stopped, str] = {
    "termination": "ended by its own choice",
    "call_limit": "ended at the call limit",
    "nothing_left": "ended with nothing left to look at",
    "budget": "ended by the budget",
    "error": "failed",
}


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """A function call of a path; `argument` names what it leads to, `short` fits a cell.

    `turn` is the turn that chose it, as the page names it, or empty on a path.
    """

    call: FunctionCall
    title: str
    icon: str
    argument: str
    short: str
    has_chunks: bool
    turn: str


@dataclass(frozen=True, slots=True)
class TimelineLane:
    """One path, or the turns of mode `adaptive`; `colour` counts from 1."""

    number: int
    colour: int
    path: Path
    steps: tuple[TimelineStep, ...]
    ending: str
    is_turns: bool


def path_colour(number: int) -> int:
    """The colour of a path; both count from 1."""
    return (number - 1) % COLOURS + 1


def is_turns(path: Path) -> bool:
    """Whether these are the turns of mode `adaptive`, which begin at the question."""
    return path.initial_node == "question" and not path.node_id


def timeline(
    paths: Sequence[Path],
    names: Mapping[str, str] | None = None,
    endings: Mapping[int, str] | None = None,
) -> list[TimelineLane]:
    """The paths in their order, numbered from 1; `names` of key elements and chunks by their ids.

    `endings` are the words for paths that have not come to their end, by their numbers.
    """
    return [
        TimelineLane(
            number,
            path_colour(number),
            path,
            tuple(_step(call, names or {}, is_turns(path)) for call in path.functions),
            (endings or {}).get(number) or _ENDINGS[path.stopped],
            is_turns(path),
        )
        for number, path in enumerate(paths, 1)
    ]


def _step(call: FunctionCall, names: Mapping[str, str], in_turns: bool) -> TimelineStep:
    argument, has_chunks = call.argument, False
    if in_turns and call.name != "search":
        argument = names.get(call.id, argument)
    short = argument
    function = FUNCTIONS.get(call.name)
    if function and function.reads:  # "title, chunk 3; title, chunk 5"
        short = ", ".join(part.rpartition("chunk ")[2] for part in argument.split("; "))
        has_chunks = "chunk " in argument
    icon = function.icon if function else ""
    title = function.title if function else call.name
    turn = ""
    if in_turns:
        turn = "First search" if call.at == "question" else call.at
    return TimelineStep(call, title, icon, argument, short, has_chunks, turn)


_PHASES: dict[Phase, str] = {
    "extract": "Facts",
    "plan": "Rational plan",
    "select": "Initial nodes",
    "explore": "Paths",
    "answer": "Answer",
}


@dataclass(frozen=True, slots=True)
class CostRow:
    """A line of a table; `colour` is the colour of a path, else 0."""

    name: str
    cells: tuple[str, ...]
    colour: int = 0


@dataclass(frozen=True, slots=True)
class CostTables:
    """The cost of a run by phase and by path; a column that is 0 everywhere is left out."""

    columns: tuple[str, ...]
    phases: tuple[CostRow, ...]
    paths: tuple[CostRow, ...]
    total: CostRow
    seconds: str
    notes: tuple[str, ...]


_COLUMNS = {
    "Calls": "calls",
    "Tokens in": "input_tokens",
    "Tokens out": "output_tokens",
    "Cached tokens": "cached_tokens",
    "Reused": "reused",
    "Dollars": "dollars",
}


def cost_tables(reading: Reading) -> CostTables:
    """The cost of a reading."""
    total = reading.usage
    usages = [total, *reading.phases.values(), *(path.usage for path in reading.paths)]
    columns = {
        title: name
        for title, name in _COLUMNS.items()
        if any(getattr(usage, name) for usage in usages)
    }

    def row(name: str, usage: Usage, colour: int = 0) -> CostRow:
        cells = {column: getattr(usage, column) for column in columns.values()}
        return CostRow(name, tuple(_cell(*cell) for cell in cells.items()), colour)

    notes = {
        "No tokens: no language model was paid for these calls.": not total.tokens,
        "Some tokens are our own count, because the service tells none.": total.estimated,
        "The price of some calls is not known and not in the sum.": total.unpriced,
        "Cached tokens are those of the input that the service had at hand.": total.cached_tokens,
        "Reused decisions were kept from earlier and cost nothing.": total.reused,
    }
    paths = enumerate(reading.paths, 1)
    return CostTables(
        tuple(columns),
        tuple(row(_PHASES.get(phase, phase), usage) for phase, usage in reading.phases.items()),
        tuple(row(path.initial_node, path.usage, path_colour(number)) for number, path in paths),
        row("In all", total),
        f"{total.seconds:.1f} s",
        tuple(note for note, applies in notes.items() if applies),
    )


def _cell(column: str, value: float) -> str:
    if column == "dollars":
        digits = 2 if value >= 1 else 6 if 0 < value < 0.001 else 4
        return f"{value:,.{digits}f}" if value else "0"
    return f"{value:,}"
