"""How tables are drawn that vary one number: initial nodes, a chunk's size, most pages."""

import re
from collections.abc import Sequence
from typing import Any

from graphreader.evaluation import charts, colours
from graphreader.evaluation.charts import Point, Series
from graphreader.evaluation.panels import point
from graphreader.evaluation.tables.table import Row, Section, Table, varies

_MOST_PAGES = re.compile(
    r"(?:read-agent-(?P<ours>[ps])(?:-(?P<up>\d{1,3}))?$"
    r"|paper: ReadAgent-(?P<theirs>[PS]), up to (?P<to>\d+)(?P<part>.*)$)"
)
_UNNUMBERED = 5
"""Pages that `read-agent-p` and `read-agent-s` look up at most."""
_READ_AGENT = colours.of_reader("read-agent")


class Sweep:
    """Scores over the numbers of the first column."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def height(self, section: Section) -> float:
        """In inches; 0 where there is nothing to draw."""
        return 2.4 if len({_varied(row) for row in section.rows}) > 1 else 0

    def draw(self, axes: Any, section: Section) -> None:
        """The section in these axes."""
        numbers = sorted({_varied(row) for row in section.rows})
        ticks = [(float(at), f"{number:g}") for at, number in enumerate(numbers)]
        charts.lines(axes, self._series(section, numbers), ticks)
        charts.name(axes, section.title, ", %")
        axes.set_xlabel(self._table.columns[0].name)

    def _series(self, section: Section, numbers: Sequence[float]) -> list[Series]:
        """Each score of each model."""
        model = self._table.place("Model")
        several = varies(self._table, model)
        found: dict[tuple[str, str], list[tuple[float, Point]]] = {}
        for row in section.rows:
            for score in colours.SCORES:
                if value := point(row.cells[self._table.place(score)]):
                    name = f"{score}, {row.cells[model].value}" if several else score
                    at = float(numbers.index(_varied(row)))
                    found.setdefault((score, name), []).append((at, value))
        return [
            Series(name, tuple(points), colours.SCORES[score])
            for (score, name), points in found.items()
        ]


class Pages:
    """ReadAgent's score by how many pages it may look up (its table 1)."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def height(self, section: Section) -> float:
        """In inches; 0 where there is nothing to draw."""
        return 2.4 if any(not one.paper for one in self._series(section)) else 0

    def draw(self, axes: Any, section: Section) -> None:
        """The section in these axes."""
        series = self._series(section)
        numbers = sorted({int(at) for one in series for at, _ in one.points})
        charts.lines(axes, series, [(at, str(at)) for at in numbers])
        charts.name(axes, section.title, f": {self._score(section)}, %")
        axes.set_xlabel("Pages looked up at most")

    def _score(self, section: Section) -> str:
        """The first of these that all of ours have."""
        ours = [row for row in section.rows if not row.paper]
        for name in ("Accuracy", "LR-1"):
            if all(row.cells[self._table.place(name)].value is not None for row in ours):
                return name
        return "ROUGE-L"

    def _series(self, section: Section) -> list[Series]:
        """ReadAgent-P and -S, ours and the paper's, each that has several numbers."""
        place, model = map(self._table.place, (self._score(section), "Model"))
        several = varies(self._table, model)
        found: dict[tuple[str, bool], list[tuple[float, Point]]] = {}
        for row in section.rows:
            told, value = _told(row), point(row.cells[place])
            if told and value:
                of = f", {row.cells[model].value}" if several and not row.paper else ""
                found.setdefault((told[0] + of, row.paper), []).append((told[1], value))
        return [
            Series(name, tuple(sorted(points, key=lambda one: one[0])), _READ_AGENT, paper)
            for (name, paper), points in found.items()
            if len(points) > 1
        ]


def _varied(row: Row) -> float:
    """The number that is varied."""
    value = row.cells[0].value
    return value if isinstance(value, int | float) else 0


def _told(row: Row) -> tuple[str, int] | None:
    """Whose row it is, and of how many pages."""
    found = _MOST_PAGES.match(str(row.cells[0].value))
    if found is None:
        return None
    if found["ours"]:
        return f"ReadAgent-{found['ours'].upper()}", int(found["up"] or _UNNUMBERED)
    return f"paper: ReadAgent-{found['theirs']}{found['part']}", int(found["to"])
