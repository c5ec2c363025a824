"""Tables of an evaluation: made from readings, and formatted for people."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from graphreader.evaluation.measures import GOLDEN, grouped, questions, value
from graphreader.evaluation.metrics.evidence import Interval

if TYPE_CHECKING:
    from pandas import DataFrame

Style = Literal["text", "percent", "count", "decimal", "tokens", "seconds", "dollars"]
"""The number format of a column."""

DASH = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: a value (None: a dash), its 95 % interval, and the number `n` of questions."""

    value: float | str | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @property
    def number(self) -> float | None:
        """The value if it is a number, else None."""
        return self.value if isinstance(self.value, int | float) else None

    @classmethod
    def of(cls, value: "CellValue", questions: int | None = None) -> "Cell":
        """Make a cell; `n` is set if an interval is not over all `questions`."""
        if isinstance(value, Cell):
            return value
        if not isinstance(value, Interval):
            return cls(value)
        n = None if questions in (None, value.number) else value.number
        return cls(value.mean, value.low, value.high, n)


CellValue = Cell | Interval | float | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; `ranked`: more is better, and the best of a section is in bold.

    `aggregate` makes a cell from the column `of` (or its name) of the readings. `missing` says why
    a shown column may be empty. A `varied` column is shown only if our rows differ in it.
    """

    name: str
    style: Style = "text"
    aggregate: Callable[["DataFrame", str], CellValue] | None = None
    of: str = ""
    ranked: bool = False
    missing: str = ""
    varied: bool = False


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: cells by columns; `paper`: a paper prints it. Golden is not `ranked`."""

    cells: Mapping[str, Cell]
    paper: bool = False
    ranked: bool = True

    def __getitem__(self, column: str) -> Cell:
        """The cell of a column, empty if the row has none."""
        return self.cells.get(column) or Cell()

    def with_cells(self, values: Mapping[str, CellValue]) -> "TableRow":
        """Copy the row with more cells."""
        cells = {name: Cell.of(value) for name, value in values.items()}
        return replace(self, cells={**self.cells, **cells})


def row(
    values: Mapping[str, CellValue],
    *,
    paper: bool = False,
    ranked: bool = True,
    questions: int | None = None,
) -> TableRow:
    """Make a row of values by column; `questions` is the number of its questions."""
    cells = {name: Cell.of(value, questions) for name, value in values.items()}
    return TableRow(cells, paper, ranked and not paper)


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a table: rows that are compared, for example of one dataset and length."""

    title: str
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its files have its `name`, `notes` stand below it, the `warning` above it."""

    name: str
    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = field(default=())
    warning: str = ""

    @property
    def rows(self) -> list[TableRow]:
        """The rows of all sections."""
        return [row for section in self.sections for row in section.rows]

    @property
    def own_rows(self) -> list[TableRow]:
        """The rows that we measured."""
        return [row for row in self.rows if not row.paper]

    def varies(self, column: str) -> bool:
        """Whether our rows have several values in a column."""
        return len({row[column].value for row in self.own_rows}) > 1


def visible_columns(table: Table, section: Section) -> list[Column]:
    """The columns that a section shows: with a value, or with a reason for being empty."""
    return [
        column
        for column in table.columns
        if column.missing
        or (
            any(row[column.name].value is not None for row in section.rows)
            and (not column.varied or table.varies(column.name))
        )
    ]


def footnotes(table: Table) -> list[str]:
    """List the notes below a table: its own, reasons for empty columns, the meaning of n."""
    own = table.own_rows
    empty = [one for one in table.columns if all(row[one.name].value is None for row in own)]
    notes = [*table.notes, *(column.missing for column in empty if column.missing)]
    if any(cell.n is not None for row in own for cell in row.cells.values()):
        notes.append(
            "n in brackets: the number of questions with a value, if not all of the row have one."
        )
    return list(dict.fromkeys(notes))


def best_values(section: Section, column: str) -> tuple[float | None, float | None]:
    """The highest two values of the ranked rows, rounded; (None, None) if all are equal."""
    values = [row[column].number for row in section.rows if row.ranked]
    known = [round(value, 3) for value in values if value is not None]
    distinct = sorted(set(known), reverse=True)
    return (distinct[0], distinct[1]) if len(distinct) > 1 else (None, None)


def format_cell(cell: Cell, style: Style, *, interval: bool = True) -> str:
    """Format a cell for people: `45.0 (38.2–52.1; n 38)`, `4,096`, `9.4k`, or a dash."""
    brackets = []
    if interval and cell.low is not None and cell.high is not None:
        to = "–" if cell.low >= 0 else " to "
        brackets.append(f"{_format_value(cell.low, style)}{to}{_format_value(cell.high, style)}")
    if cell.n is not None:
        brackets.append(f"n {cell.n:,}")
    value = _format_value(cell.value, style)
    return f"{value} ({'; '.join(brackets)})" if brackets else value


def _format_value(value: float | str | None, style: Style) -> str:
    if value is None:
        return DASH
    return value if isinstance(value, str) else _FORMATS[style](value)


_FORMATS: Mapping[Style, Callable[[float], str]] = {
    "text": str,
    "percent": lambda value: f"{round(100 * value, 1) + 0.0:.1f}",  # no minus before a zero
    "count": lambda value: f"{value:,.0f}",
    "decimal": lambda value: f"{value:,.2f}" if abs(value) < 10 else f"{value:,.1f}",
    "tokens": lambda value: f"{value / 1000:,.1f}k" if abs(value) >= 1000 else f"{value:,.0f}",
    "seconds": lambda value: f"{value:,.2f}",
    "dollars": lambda value: f"{value:,.4f}",
}


@dataclass(frozen=True, slots=True)
class TableSpec:
    """The declaration of a table in `paper_tables.toml`.

    `prepare` changes the readings of a section, of which `rows` makes the rows.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    notes: Sequence[str | Mapping[str, Any]]
    prepare: "Prepare"
    rows: "MakeRows"
    readings: Mapping[str, Any] = field(default_factory=lambda: {"study": False})
    sections: Sequence[str] = ("dataset", "length")
    section_title: str = "{set}"
    by: Sequence[str] = ("reader", "model")


Prepare = Callable[["DataFrame"], "DataFrame"]
MakeRows = Callable[[TableSpec, "DataFrame"], list[TableRow]]


def make_table(spec: TableSpec, frame: "DataFrame") -> Table | None:
    """Make a table of readings by its declaration; None if it has no row."""
    readings = _select(frame, spec.readings)
    rows: dict[str, list[TableRow]] = {}
    for group in grouped(readings, *spec.sections):
        section = spec.prepare(group)
        if len(section) and (made := spec.rows(spec, section)):
            title = spec.section_title.format_map(section.iloc[0])
            rows.setdefault(title, []).extend(made)
    filled = tuple(Section(title, tuple(its)) for title, its in rows.items())
    table = Table(spec.name, spec.title, spec.columns, filled)
    return replace(table, notes=tuple(_notes(spec, readings, table))) if rows else None


def _select(readings: "DataFrame", values: Mapping[str, Any]) -> "DataFrame":
    mask = np.full(len(readings), True)
    for name, one in values.items():
        mask &= (readings[name] == one).to_numpy()
    return readings if mask.all() else readings[mask]


def _notes(spec: TableSpec, readings: "DataFrame", table: Table) -> Iterable[str]:
    """Yield the notes of a table whose condition `when`, if any, is met by readings or rows."""
    for note in spec.notes:
        if isinstance(note, str):
            yield note
            continue
        when = dict(note["when"])
        is_wanted = not when.pop("paper", False) or len(table.rows) > len(table.own_rows)
        if is_wanted and len(meant := _select(readings, when)):
            yield note["text"].replace("{sets}", "; ".join(dict.fromkeys(meant["set"])))


def group_row(columns: Iterable[Column], group: "DataFrame", **cells: CellValue) -> TableRow:
    """Make the row of a group of readings, from the columns with a measure and `cells`."""
    ranked = value(group, "reader") != GOLDEN
    return row({**group_cells(columns, group), **cells}, ranked=ranked, questions=questions(group))


def group_cells(columns: Iterable[Column], group: "DataFrame") -> dict[str, CellValue]:
    """Compute the cells of a group of readings in the columns that have a measure."""
    return {one.name: one.aggregate(group, one.of or one.name) for one in columns if one.aggregate}


def group_rows(spec: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Make a row for each group of readings with equal values in the columns `by`."""
    return [group_row(spec.columns, group) for group in grouped(section, *spec.by)]
