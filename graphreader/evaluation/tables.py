"""Tables of an evaluation, and how they are written: Markdown, CSV and plain JSON types.

A table has sections of rows of cells. Shares are 0 to 1 in cells, CSV and JSON, and percent for
people. Names of readers and datasets are data: they never become markup or a formula.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from graphreader.evaluation.metrics.evidence import Interval

if TYPE_CHECKING:
    from pandas import DataFrame

Style = Literal["text", "percent", "count", "decimal", "tokens", "seconds", "dollars"]
"""How people see the numbers of a column."""

DASH = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, perhaps with its 95 % interval; None is written as a dash.

    `n` is the number of questions behind a mean, if these are not all questions of the row.
    """

    value: float | str | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @property
    def number(self) -> float | None:
        """The value, if it is a number."""
        return self.value if isinstance(self.value, int | float) else None

    @classmethod
    def of(cls, value: "CellValue", questions: int | None = None) -> "Cell":
        """A cell of any value; an interval has an `n` if it is not over all `questions`."""
        if isinstance(value, Cell):
            return value
        if not isinstance(value, Interval):
            return cls(value)
        n = None if questions in (None, value.number) else value.number
        return cls(value.mean, value.low, value.high, n)


CellValue = Cell | Interval | float | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `ranked`: more is better, and the best of a section is in bold.

    `aggregate` makes the cell of a group of readings, given the group and the name of the column
    of the readings, which is `of` if it is not the column's name.
    `missing` says why the column may be empty: it is shown all the same, with that note, where
    others are left out. People see a `varied` one only if our rows differ in it.
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
    """Cells by the names of their columns. `paper` rows are printed in a paper, not measured.

    Rows that are not `ranked` (golden) are never the best.
    """

    cells: Mapping[str, Cell]
    paper: bool = False
    ranked: bool = True

    def __getitem__(self, column: str) -> Cell:
        """The cell of a column, empty if the row has none."""
        return self.cells.get(column) or Cell()

    def with_cells(self, values: Mapping[str, CellValue]) -> "TableRow":
        """The row with more cells."""
        cells = {name: Cell.of(value) for name, value in values.items()}
        return replace(self, cells={**self.cells, **cells})


def row(
    values: Mapping[str, CellValue],
    *,
    paper: bool = False,
    ranked: bool = True,
    questions: int | None = None,
) -> TableRow:
    """A row of values by the names of their columns; `questions` is how many it is about."""
    cells = {name: Cell.of(value, questions) for name, value in values.items()}
    return TableRow(cells, paper, ranked and not paper)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that are compared with each other, such as those of one dataset and length."""

    title: str
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Its files have its `name`; `notes` stand below it, the `warning` above it."""

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
        """The rows that were measured here."""
        return [row for row in self.rows if not row.paper]

    @property
    def has_paper_rows(self) -> bool:
        """Whether figures of a paper stand in the table."""
        return any(row.paper for row in self.rows)

    def varies(self, column: str) -> bool:
        """Whether our rows have several values in a column."""
        return len({row[column].value for row in self.own_rows}) > 1


def visible_columns(table: Table, section: Section) -> list[Column]:
    """The columns in which the section has a value, or that say why they are empty."""
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
    """The table's notes, the reasons of empty columns, and the meaning of n; each once."""
    own = table.own_rows
    reasons = [
        column.missing
        for column in table.columns
        if column.missing and all(row[column.name].value is None for row in own)
    ]
    has_n = any(cell.n is not None for row in own for cell in row.cells.values())
    n = ["n in brackets: over so many questions, not over all of the row."] if has_n else []
    return list(dict.fromkeys((*table.notes, *reasons, *n)))


def best_values(section: Section, column: str) -> tuple[float | None, float | None]:
    """The highest and second highest value of the ranked rows, rounded as they are printed.

    None if fewer than two rows can be compared, or if all are equal.
    """
    values = [row[column].number for row in section.rows if row.ranked]
    known = [round(value, 3) for value in values if value is not None]
    distinct = sorted(set(known), reverse=True)
    return (distinct[0], distinct[1]) if len(distinct) > 1 else (None, None)


def format_cell(cell: Cell, style: Style, *, interval: bool = True) -> str:
    """The cell for people: `45.0 (38.2–52.1; n 38)`, `4,096`, `9.4k`, or a dash."""
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

_PARTS = ("low", "high", "n")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: Table) -> str:
    """One line a row, with its section and source; intervals and n have columns of their own."""
    columns = [
        (column.name, part)
        for column in table.columns
        for part in ("value", *_PARTS)
        if (column.missing and part == "value")
        or any(getattr(row[column.name], part) is not None for row in table.rows)
    ]
    heads = [name if part == "value" else f"{name} {part}" for name, part in columns]
    lines: list[Sequence[Any]] = [("section", "source", *heads)]
    for section in table.sections:
        for row in section.rows:
            values = (_rounded(getattr(row[name], part)) for name, part in columns)
            lines.append((section.title, _source(row), *values))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows(map(_escape_formula, line) for line in lines)
    return file.getvalue()


def as_json(table: Table) -> Mapping[str, Any]:
    """Plain JSON types; a cell is its value, or an object of value, low, high and n."""
    sections = [
        {
            "title": section.title,
            "rows": [
                {
                    "source": _source(row),
                    "cells": {one.name: _json_cell(row[one.name]) for one in table.columns},
                }
                for row in section.rows
            ],
        }
        for section in table.sections
    ]
    return {
        "name": table.name,
        "title": table.title,
        "warning": table.warning,
        "sections": sections,
        "notes": footnotes(table),
    }


def _source(row: TableRow) -> str:
    return "paper" if row.paper else "ours"


def _json_cell(cell: Cell) -> Any:
    parts = {part: _rounded(getattr(cell, part)) for part in _PARTS}
    known = {part: value for part, value in parts.items() if value is not None}
    return {"value": _rounded(cell.value), **known} if known else _rounded(cell.value)


def _rounded(value: float | str | None) -> float | str | None:
    """Six digits after the point: no figure is known more exactly."""
    return round(value, 6) if isinstance(value, float) else value


def _escape_formula(value: Any) -> Any:
    """A text in one line, quoted if a spreadsheet would take it for a formula."""
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    return f"'{text}" if text.startswith(_FORMULA) else text


_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&@]|(?<=:)/(?=/)|(?<=www)\.)")
"""Characters that GitHub turns into links or mentions."""


def escape_markdown(text: str) -> str:
    """The text in one line, without anything that Markdown or HTML takes for markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def as_markdown(
    title: str, lead: Sequence[str], tables: Iterable[Table], pictures: Iterable[str]
) -> str:
    """The whole report. A picture, a file beside it, follows the table of the same name."""
    files = {name.rpartition("/")[2].partition(".")[0]: name for name in pictures}
    parts = [f"# {escape_markdown(title)}", *lead]
    for table in tables:
        parts += _table_parts(table)
        if table.name in files:
            parts.append(f"![{escape_markdown(table.title)}]({files[table.name]})")
    return "\n\n".join(parts) + "\n"


def _table_parts(table: Table) -> Iterator[str]:
    yield f"## {escape_markdown(table.title)}"
    if table.warning:
        yield escape_markdown(table.warning)
    for section in table.sections:
        if section.rows and section.title:
            yield f"### {escape_markdown(section.title)}"
        if section.rows:
            yield _markdown_section(table, section)
    if notes := footnotes(table):
        yield "\n".join(f"- {escape_markdown(note)}" for note in notes)


def _markdown_section(table: Table, section: Section) -> str:
    columns = visible_columns(table, section)
    heads = [escape_markdown(column.name) for column in columns]
    rules = ["---" if column.style == "text" else "---:" for column in columns]
    best = {one.name: best_values(section, one.name) for one in columns if one.ranked}
    rows = [
        [_markdown_cell(row, column, best.get(column.name, (None, None))) for column in columns]
        for row in section.rows
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rules, *rows))


def _markdown_cell(row: TableRow, column: Column, best: tuple[float | None, float | None]) -> str:
    """The best value in bold, the second underlined, a paper's in italics."""
    cell = row[column.name]
    text = escape_markdown(format_cell(cell, column.style))
    if row.paper:
        return f"*{text}*" if cell.value is not None else DASH
    if not row.ranked or cell.number is None or best[0] is None:
        return text
    value, space, rest = text.partition(" ")
    rounded = round(cell.number, 3)
    if rounded == best[0]:
        value = f"**{value}**"
    elif rounded == best[1]:
        value = f"<ins>{value}</ins>"
    return f"{value}{space}{rest}"
