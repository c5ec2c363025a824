"""How each table is drawn: what of it, as which kind of chart, and how much room that takes."""

from collections.abc import Sequence
from typing import Any

from graphreader.evaluation import charts, colours, papers
from graphreader.evaluation.charts import Dot, Part, Point, Series
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.costs import PHASES
from graphreader.evaluation.tables.lines import NATIVE
from graphreader.evaluation.tables.table import Cell, Row, Section, Table, varies

_PAPER = "paper: "
_MOST_SERIES = 6
"""Lines that can be told apart in one picture; the others stand in the table."""
_FIRST = (
    grouping.DEFAULT,
    "full-text",
    "read-agent-s",
    "rag-embedding-3",
    "rag-bm25-3",
    grouping.PAPER,
)
"""Readers whose lines are drawn first; `graphreader` stands out."""


class Dots:
    """Readers below each other, one score of them with its interval, the paper's in the same line.

    With `shortest` one section a dataset is drawn: others by length have a picture of their own.
    """

    def __init__(self, table: Table, names: Sequence[str], *, shortest: bool = False) -> None:
        self._table = table
        self._names = names
        first = {_dataset(one): one for one in reversed(table.sections)}
        self._drawn = list(first.values()) if shortest else list(table.sections)
        self._readers: dict[str, str] = {
            f"{_PAPER}{row['label']}": row["reader"]
            for row in papers.graphreader("table_2")["rows"]
        }

    def height(self, section: Section) -> float:
        """In inches; 0 where there is nothing to draw."""
        rows = self._rows(section)
        is_drawn = section in self._drawn and sum(row.ours is not None for row in rows) > 1
        return charts.LINE * len(rows) if is_drawn else 0

    def draw(self, axes: Any, section: Section) -> None:
        """The section in these axes."""
        rows = self._rows(section)
        charts.dots(axes, rows)
        charts.name(axes, section.title, f": {self._name(section)}, %")
        if any(row.paper is not None for row in rows):
            charts.explain(axes, "◇ the paper's")

    def _name(self, section: Section) -> str:
        """The first of the scores that all of ours have."""
        ours = [row for row in section.rows if not row.paper]
        for name in self._names:
            place = self._table.place(name)
            if all(row.cells[place].value is not None for row in ours):
                return name
        return self._names[-1]

    def _rows(self, section: Section) -> list[Dot]:
        place = self._table.place(self._name(section))
        printed = {
            self._readers.get(str(row.cells[0].value), ""): row for row in section.rows if row.paper
        }
        own = {str(row.cells[0].value) for row in section.rows if not row.paper}
        alone = [row for reader, row in printed.items() if reader not in own]
        found: list[Dot] = []
        for row in section.rows:
            name, reader = _name(self._table, row), str(row.cells[0].value)
            if not row.paper:
                beside = printed.get(reader)
                paper = _percent(beside.cells[place].value) if beside else None
                colour = colours.of_reader(reader)
                found.append(Dot(name, point(row.cells[place]), paper, colour, _is_own(reader)))
            elif row in alone and row.cells[place].value is not None:
                found.append(Dot(reader, None, _percent(row.cells[place].value)))
        return found


class Lines:
    """A line a reader, over the columns (`ticks`) of its row."""

    def __init__(self, table: Table, axis: str) -> None:
        self._table = table
        self._axis = axis
        self._ticks = [
            (place, column.name)
            for place, column in enumerate(table.columns)
            if column.style == "percent"
        ]

    def height(self, section: Section) -> float:
        """In inches; 0 where there is nothing to draw."""
        return 3.2 if self._series(section) else 0

    def draw(self, axes: Any, section: Section) -> None:
        """The section in these axes."""
        series = self._series(section)
        used = {place for one in series for place, _ in one.points}
        charts.lines(axes, series, [tick for tick in self._ticks if tick[0] in used])
        charts.name(axes, section.title, ", %")
        axes.set_xlabel(self._axis)

    def _series(self, section: Section) -> list[Series]:
        found = []
        for row in sorted(section.rows, key=_telling):
            reader, is_best = str(row.cells[0].value), row.cells[0].value == grouping.DEFAULT
            points = self._points(row)
            if len(points) > 1 and (not row.paper or reader == f"{_PAPER}GraphReader"):
                colour = colours.of_reader(reader)
                found.append(Series(_name(self._table, row), points, colour, row.paper, is_best))
        ours = [one for one in found if not one.paper][:_MOST_SERIES]
        return ours + [one for one in found if one.paper]

    def _points(self, row: Row) -> tuple[tuple[float, Point], ...]:
        points = ((place, point(row.cells[place])) for place, name in self._ticks if name != NATIVE)
        return tuple((place, point) for place, point in points if point)


class Bars:
    """Tokens a question, phase by phase."""

    def __init__(self, table: Table) -> None:
        self._table = table
        rows = [row for section in table.sections for row in section.rows]
        places = {phase: table.place(name) for phase, name in PHASES.items()}
        self._places = {
            phase: place
            for phase, place in places.items()
            if any(_number(row.cells[place]) for row in rows)
        }

    def height(self, section: Section) -> float:
        """In inches; 0 where there is nothing to draw."""
        rows = self._rows(section)
        return charts.LINE * len(rows)

    def draw(self, axes: Any, section: Section) -> None:
        """The section in these axes."""
        rows = self._rows(section)
        parts = [
            Part(
                PHASES[phase],
                colours.PHASES[phase],
                tuple(_number(row.cells[place]) for row in rows),
            )
            for phase, place in self._places.items()
        ]
        is_first = axes.figure.axes[0] is axes
        charts.bars(axes, [_name(self._table, row) for row in rows], parts, legend=is_first)
        charts.name(axes, section.title, ": tokens by phase")

    def _rows(self, section: Section) -> list[Row]:
        return [
            row
            for row in section.rows
            if not row.paper and any(_number(row.cells[one]) for one in self._places.values())
        ]


class Pairs:
    """A reader's FCR and that of retrieval at equal reading, one above the other."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def height(self, section: Section) -> float:
        """In inches."""
        return charts.LINE * len(self._rows(section))

    def draw(self, axes: Any, section: Section) -> None:
        """The section in these axes."""
        charts.dots(axes, self._rows(section))
        charts.name(axes, section.title, ": FCR, %")

    def _rows(self, section: Section) -> list[Dot]:
        ours, theirs = self._table.place("FCR of reader"), self._table.place("FCR of retrieval")
        found: dict[str, Dot] = {}
        for row in section.rows:
            reader, retrieval = (
                str(row.cells[self._table.place(one)].value) for one in ("Reader", "Retrieval")
            )
            own, other = map(colours.of_reader, (reader, retrieval))
            found.setdefault(
                reader, Dot(reader, point(row.cells[ours]), colour=own, stands_out=True)
            )
            beside = f"{retrieval}, as much as {reader}"
            found[beside] = Dot(beside, point(row.cells[theirs]), colour=other)
        return list(found.values())


def _telling(row: Row) -> int:
    """Which rows to draw where not all can be."""
    reader = str(row.cells[0].value)
    return _FIRST.index(reader) if reader in _FIRST else len(_FIRST)


def _is_own(reader: str) -> bool:
    return reader.startswith(grouping.DEFAULT)


def _dataset(section: Section) -> str:
    """The section's title without its length."""
    return section.title.partition(", ")[0]


def _name(table: Table, row: Row) -> str:
    """The reader, with its window, and its model where there are several."""
    model, window = (table.place(one) for one in ("Model", "Window"))
    places = (0, model, window) if varies(table, model) else (0, window)
    return ", ".join(str(value) for one in places if (value := row.cells[one].value))


def point(cell: Cell) -> Point | None:
    """The value of a cell in percent, with its interval."""
    if not isinstance(cell.value, int | float):
        return None
    return Point(100 * cell.value, _percent(cell.low), _percent(cell.high))


def _percent(value: float | str | None) -> float | None:
    return 100 * value if isinstance(value, int | float) else None


def _number(cell: Cell) -> float:
    return float(cell.value) if isinstance(cell.value, int | float) else 0.0
