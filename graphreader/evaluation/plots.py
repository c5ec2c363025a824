"""Pictures of the tables, PNG and SVG. They show what stands in the tables and compute nothing.

matplotlib is imported when the first picture is drawn; without it there are no pictures. The same
tables give the same SVG, byte by byte.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from graphreader.evaluation.metrics.packages import package
from graphreader.evaluation.panels import Bars, Dots, Lines, Pairs
from graphreader.evaluation.sweep_panels import Pages, Sweep
from graphreader.evaluation.tables.table import Section, Table
from graphreader.whole_file import whole

FORMATS = ("png", "svg")
_STYLE = {
    "svg.hashsalt": "graphreader",
    "svg.fonttype": "path",
    "text.parse_math": False,  # a name with a dollar sign is no formula
    "font.family": "DejaVu Sans",
    "axes.titlesize": 10,
    "axes.labelsize": 9,
}
_WIDTH = 8.0


class Panels(Protocol):
    """Draws sections of one table."""

    def height(self, section: Section) -> float:
        """In inches; 0 where there is nothing to draw."""
        ...

    def draw(self, axes: Any, section: Section) -> None:
        """Draw the section in these axes of matplotlib."""
        ...


def draw_plots(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Draw what can be drawn of these tables; return the files, a PNG and an SVG each.

    Raises UsageError, which names the extra, without matplotlib.
    """
    matplotlib = package("matplotlib", "A plot")
    figures = package("matplotlib.figure", "A plot")
    made = []
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        for table in tables:
            if table.name in _KINDS:
                made += _draw(figures, table, folder)
    return made


def _draw(figures: Any, table: Table, folder: Path) -> list[Path]:
    of = _KINDS[table.name](table)
    sections = [one for one in table.sections if of.height(one)]
    if not sections:
        return []
    heights = [of.height(one) for one in sections]
    figure = figures.Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    panels = figure.subplots(len(sections), 1, squeeze=False, height_ratios=heights)
    for (axes,), section in zip(panels, sections, strict=True):
        of.draw(axes, section)
    _settle(figure)
    made = []
    for kind in FORMATS:
        path = folder / f"{table.name}.{kind}"
        with whole(path) as file:
            dated = {"Date": None} if kind == "svg" else {"Software": None}
            figure.savefig(file, format=kind, dpi=160, metadata=dated)
        made.append(path)
    return made


def _settle(figure: Any) -> None:
    """Lay out once and for all: the solver's last digits differ from time to time."""
    figure.draw_without_rendering()
    places = [axes.get_position().bounds for axes in figure.axes]
    figure.set_layout_engine("none")
    for axes, place in zip(figure.axes, places, strict=True):
        axes.set_position([round(value, 4) for value in place])


_SCORES = ("LR-1", "Accuracy", "F1*", "F1")
_KINDS: dict[str, Callable[[Table], Panels]] = {
    "scores": lambda table: Dots(table, _SCORES, shortest=True),
    "evidence": lambda table: Dots(table, ("FCR",)),
    "equal_reading": Pairs,
    "score_by_length": lambda table: Lines(table, "Length of the text, tokens"),
    "recall_by_length": lambda table: Lines(table, "Length of the text, tokens"),
    "initial_nodes": Sweep,
    "chunk_size": Sweep,
    "costs": Bars,
    "read_agent": Pages,
}
