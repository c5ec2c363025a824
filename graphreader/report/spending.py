"""What a run cost, as tables: phase by phase, path by path."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphreader.reading import Reading
from graphreader.usage import Phase, Usage

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
