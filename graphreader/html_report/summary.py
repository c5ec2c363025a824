"""The paths side by side: a lane a path, a step a chosen function.

What a run cost, as tables: phase by phase, path by path.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from graphreader.reading import FunctionCall, Path, Reading, Stopped
from graphreader.usage import Phase, Usage

COLOURS = 8
"""Colours that the style sheet has for paths; further paths have them again."""

_IN_WORDS = {
    "read_chunk": "Read in full",
    "stop_and_read_neighbor": "Look at the neighbors",
    "next_page": "Turn the page",
    "search_more": "Search on",
    "read_previous_chunk": "Read the chunk before",
    "read_subsequent_chunk": "Read the chunk after",
    "read_neighbor_node": "Go to a neighbor",
    "termination": "End the path",
}

_OF_CHUNKS = ("read_chunk", "read_previous_chunk", "read_subsequent_chunk")

_ENDED: dict[Stopped, str] = {
    "termination": "ended by its own choice",
    "call_limit": "ended at the call limit",
    "nothing_left": "ended with nothing left to look at",
    "budget": "ended by the budget",
    "error": "failed",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One chosen function. `icon` is that of a known function, else empty.

    `short` is as much of the argument as fits a cell: of chunks their indexes.
    """

    function: str
    words: str
    icon: str
    argument: str
    short: str
    of_chunks: bool
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One path; `colour` counts from 1."""

    number: int
    colour: int
    node: str
    steps: tuple[Step, ...]
    notebook: str
    ended: str
    stopped: Stopped
    error: str


def lanes(paths: Sequence[Path]) -> list[Lane]:
    """The paths in their order, numbered from 1."""
    return [
        Lane(
            number,
            (number - 1) % COLOURS + 1,
            path.initial_node,
            tuple(_step(call) for call in path.functions),
            path.notebook.strip(),
            _ENDED[path.stopped],
            path.stopped,
            path.error or "",
        )
        for number, path in enumerate(paths, 1)
    ]


def _step(call: FunctionCall) -> Step:
    short = call.argument
    if call.name in _OF_CHUNKS:  # "title, chunk 3; title, chunk 5"
        short = ", ".join(part.rpartition("chunk ")[2] for part in call.argument.split("; "))
    return Step(
        call.name,
        _IN_WORDS.get(call.name, call.name),
        call.name if call.name in _IN_WORDS else "",
        call.argument,
        short,
        call.name in _OF_CHUNKS and "chunk " in call.argument,
        call.rationale,
        call.at,
    )


_PHASES: dict[Phase, str] = {
    "extract": "Facts",
    "plan": "Rational plan",
    "select": "Initial nodes",
    "explore": "Paths",
    "answer": "Answer",
    "paginate": "Pages",
    "gist": "Gists",
    "look_up": "Look-up",
    "read": "Reading",
    "rate": "Rating",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line; `colour` is that of a path, else 0."""

    name: str
    cells: tuple[str, ...]
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """Columns that say something: what is nowhere known or nowhere used has none."""

    columns: tuple[str, ...]
    phases: tuple[Row, ...]
    paths: tuple[Row, ...]
    total: Row
    seconds: str
    notes: tuple[str, ...]


def spent(reading: Reading, colours: Sequence[int]) -> Spent:
    """The cost of a reading; `colours` are those of its paths."""
    whole = reading.usage
    all_of_it = [whole, *reading.phases.values(), *(path.usage for path in reading.paths)]
    columns = [name for name in _COLUMNS if any(_value(one, name) for one in all_of_it)]

    def row(name: str, usage: Usage, colour: int = 0) -> Row:
        return Row(name, tuple(_cell(usage, column) for column in columns), colour)

    return Spent(
        tuple(columns),
        tuple(row(_PHASES[phase], usage) for phase, usage in reading.phases.items()),
        tuple(
            row(path.initial_node, path.usage, colour)
            for path, colour in zip(reading.paths, colours, strict=True)
        ),
        row("In all", whole),
        f"{whole.seconds:.1f} s",
        tuple(_notes(whole)),
    )


_COLUMNS = {
    "Calls": "calls",
    "Tokens in": "input_tokens",
    "Tokens out": "output_tokens",
    "Cached tokens": "cached_tokens",
    "Reused": "reused",
    "Dollars": "dollars",
}


def _value(usage: Usage, column: str) -> float:
    return float(getattr(usage, _COLUMNS[column]))


def _cell(usage: Usage, column: str) -> str:
    value = _value(usage, column)
    if column == "Dollars":
        digits = 2 if value >= 1 else 6 if 0 < value < 0.001 else 4
        return f"{value:,.{digits}f}" if value else "0"
    return f"{value:,.0f}"


def _notes(usage: Usage) -> list[str]:
    """What the figures are, where that is not plain."""
    notes = []
    if not usage.tokens:
        notes.append("No tokens: no language model was paid for these calls.")
    if usage.estimated:
        notes.append("Some tokens are our own count, because the service tells none.")
    if usage.unpriced:
        notes.append("The price of some calls is not known and not in the sum.")
    if usage.cached_tokens:
        notes.append("Cached tokens are those of the input that the service had at hand.")
    if usage.reused:
        notes.append("Reused decisions were kept from earlier and cost nothing.")
    return notes
