"""Pictures of the tables, PNG and SVG. They show what stands in the tables and compute nothing.

matplotlib is imported when the first picture is drawn; without it there are no pictures. The same
tables give the same SVG, byte by byte.
"""

import textwrap
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
_DOTS = 160
"""An inch has as many: laid out for others, words would be cut."""
_AROUND, _ABOVE = 0.65, 0.3
"""Inches of the title and the ticks of a panel; of a legend above all of them."""
_LINE, _LINE_HEIGHT = 120, 0.2
"""Characters of a line of words above the panels, and inches that it takes."""


class Panels(Protocol):
    """Draws sections of one table."""

    def height(self, section: Section) -> float:
        """Of the axes alone, in inches; 0 where there is nothing to draw."""
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
            figure = figure_of(figures, table) if table.name in _KINDS else None
            if figure:
                made += [_saved(figure, folder / f"{table.name}.{kind}") for kind in FORMATS]
    return made


def _saved(figure: Any, path: Path) -> Path:
    with whole(path) as file:
        dated = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(file, format=path.suffix[1:], dpi=_DOTS, metadata=dated)
    return path


def figure_of(figures: Any, table: Table) -> Any:
    """The picture of a table, laid out; None where there is nothing to draw.

    `figures` is the module `matplotlib.figure`.
    """
    of = _KINDS[table.name](table)
    sections = [one for one in table.sections if of.height(one)]
    if not sections:
        return None
    heights = [of.height(one) for one in sections]
    warning = textwrap.fill(table.warning, _LINE) if table.name in _BESIDE_A_PAPER else ""
    above = _ABOVE + _LINE_HEIGHT * len(warning.splitlines())
    height = sum(heights) + _AROUND * len(heights) + above
    figure = figures.Figure((_WIDTH, height), dpi=_DOTS, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    panels = figure.subplots(len(sections), 1, squeeze=False, height_ratios=heights)
    for (axes,), section in zip(panels, sections, strict=True):
        of.draw(axes, section)
    if warning:
        figure.suptitle(warning, x=0.01, ha="left", fontsize=8, style="italic")
    _settle(figure)
    return figure


def _settle(figure: Any) -> None:
    """Lay out once and for all: the solver's last digits differ from time to time."""
    figure.draw_without_rendering()
    places = [axes.get_position().bounds for axes in figure.axes]
    figure.set_layout_engine("none")
    for axes, place in zip(figure.axes, places, strict=True):
        axes.set_position([round(value, 4) for value in place])


_BESIDE_A_PAPER = ("scores", "score_by_length", "read_agent")
"""Pictures in which a paper's figures are drawn."""
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
