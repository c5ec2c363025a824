"""What a table is, before it is Markdown, CSV, JSON or a picture: sections of rows of cells."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from graphreader.evaluation.metrics.intervals import Interval

Style = Literal["text", "percent", "count", "decimal", "tokens", "seconds", "dollars"]
"""How numbers are written. Shares are 0 to 1 in a cell, also the paper's, and percent on paper."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `ranked`: more is better, and the best of a section stands out.

    `missing` says why there may be nothing in it; such a column is shown, and the reason told,
    where others are left out.
    """

    name: str
    style: Style = "text"
    ranked: bool = False
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, perhaps with its 95 % interval. None is written as a dash."""

    value: float | str | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, found: Interval | None) -> "Cell":
        """The mean and its interval."""
        return cls(found.mean, found.low, found.high) if found else cls()


@dataclass(frozen=True, slots=True)
class Row:
    """As many cells as the table has columns. `paper` rows are printed in a paper, not measured.

    Rows that are not `ranked` (golden) take no part in what is best.
    """

    cells: tuple[Cell, ...]
    paper: bool = False
    ranked: bool = True

    @classmethod
    def of(
        cls,
        *values: "Cell | Interval | float | str | None",
        paper: bool = False,
        ranked: bool = True,
    ) -> "Row":
        """A row of values, cells and intervals as they come."""
        return cls(tuple(map(_cell, values)), paper, ranked and not paper)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that are compared with each other: those of one dataset and length, for example."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `name` is that of its file; `notes` say what a reader of it must know."""

    name: str
    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = field(default=())

    def place(self, column: str) -> int:
        """Where a column stands."""
        return [one.name for one in self.columns].index(column)


def shown(table: Table, section: Section) -> list[int]:
    """The columns in which the section has anything, or that say why they have nothing."""
    return [
        place
        for place, column in enumerate(table.columns)
        if column.missing or any(row.cells[place].value is not None for row in section.rows)
    ]


def reasons(table: Table) -> list[str]:
    """Why there are dashes, for the columns in which we have nothing at all."""
    ours = [row for section in table.sections for row in section.rows if not row.paper]
    lacking = [
        column.missing
        for place, column in enumerate(table.columns)
        if column.missing and all(row.cells[place].value is None for row in ours)
    ]
    return list(dict.fromkeys(lacking))


def best(section: Section, place: int) -> tuple[float | None, float | None]:
    """The greatest and the second greatest value of the ranked rows, as they are printed.

    None where there are fewer than two rows to compare, or where all are alike.
    """
    values = _numbers(row.cells[place].value for row in section.rows if row.ranked)
    distinct = sorted({round(value, 3) for value in values}, reverse=True)
    if len(values) < 2 or len(distinct) < 2:
        return None, None
    return distinct[0], distinct[1]


def _numbers(values: Iterable[float | str | None]) -> Sequence[float]:
    return [value for value in values if isinstance(value, int | float)]


def _cell(value: Cell | Interval | float | str | None) -> Cell:
    if isinstance(value, Cell):
        return value
    return Cell.of(value) if isinstance(value, Interval) else Cell(value)
