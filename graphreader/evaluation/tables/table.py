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
    where others are left out. A `varied` one is shown to people only where our rows differ in it.
    """

    name: str
    style: Style = "text"
    ranked: bool = False
    missing: str = ""
    varied: bool = False


MODEL = Column("Model", varied=True)


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, perhaps with its 95 % interval. None is written as a dash.

    `n` is of how many questions it is the mean, where not of all of its row.
    """

    value: float | str | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @classmethod
    def of(cls, found: Interval | None, n: int | None = None) -> "Cell":
        """The mean and its interval; `n` is how many questions there are, if that is to be told."""
        if found is None:
            return cls()
        told = found.number if n not in (None, found.number) else None
        return cls(found.mean, found.low, found.high, told)


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
        n: int | None = None,
    ) -> "Row":
        """A row of values, cells and intervals as they come; `n` is how many questions it is of."""
        return cls(tuple(_cell(value, n) for value in values), paper, ranked and not paper)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that are compared with each other: those of one dataset and length, for example."""

    title: str
    rows: tuple[Row, ...]


def has_printed(sections: Iterable[Section]) -> bool:
    """Whether a row of them is what a paper prints."""
    return any(row.paper for section in sections for row in section.rows)


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `name` is that of its file; `notes` say what a reader of it must know.

    `warning` is what must be known before anything else.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = field(default=())
    warning: str = ""

    @property
    def is_beside_a_paper(self) -> bool:
        """Whether a paper's figures stand in it."""
        return has_printed(self.sections)

    def place(self, column: str) -> int:
        """Where a column stands."""
        return [one.name for one in self.columns].index(column)


def shown(table: Table, section: Section) -> list[int]:
    """The columns in which the section has anything, or that say why they have nothing."""
    return [
        place
        for place, column in enumerate(table.columns)
        if column.missing
        or (
            any(row.cells[place].value is not None for row in section.rows)
            and (not column.varied or varies(table, place))
        )
    ]


def varies(table: Table, place: int) -> bool:
    """Whether our rows have several values in a column."""
    return len({row.cells[place].value for row in _ours(table)}) > 1


def footnotes(table: Table) -> list[str]:
    """Its notes; why there are dashes, for the columns in which we have nothing at all; what n is.

    No note stands there twice.
    """
    ours = _ours(table)
    lacking = [
        column.missing
        for place, column in enumerate(table.columns)
        if column.missing and all(row.cells[place].value is None for row in ours)
    ]
    of_some = any(cell.n is not None for row in ours for cell in row.cells)
    told = ["n in brackets: over so many questions, not over all of the row."] if of_some else []
    return list(dict.fromkeys((*table.notes, *lacking, *told)))


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


def _ours(table: Table) -> list[Row]:
    return [row for section in table.sections for row in section.rows if not row.paper]


def _cell(value: Cell | Interval | float | str | None, n: int | None) -> Cell:
    if isinstance(value, Cell):
        return value
    return Cell.of(value, n) if isinstance(value, Interval) else Cell(value)
