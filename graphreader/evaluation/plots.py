"""Plots of the tables, as PNG and SVG, in Okabe and Ito's colours for colour-blind people."""

import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from graphreader.evaluation.measures import DEFAULT, NATIVE
from graphreader.evaluation.metrics.answers import import_extra
from graphreader.evaluation.tables import Cell, Section, Table, TableRow, format_cell
from graphreader.files import atomic_write

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
YELLOW, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#8C8C8C"

_READER_COLOURS: Mapping[str, str] = {
    **{"graphreader": ORANGE, "full-text": GREEN, "chunk-read": YELLOW, "search-agent": BLACK},
    **dict.fromkeys(("bm25", "rag-bm25", "rag-pages-bm25"), BLUE),
    **dict.fromkeys(("embedding", "rag-embedding", "rag-pages-embedding"), SKY),
    **dict.fromkeys(("read-agent", "gistmem"), PINK),
}
"""Colours by the beginnings of readers' names; golden and other readers are grey."""

_SCORE_COLOURS: Mapping[str, str] = {"LR-1": ORANGE, "F1": BLUE, "FCR": GREEN}
_MARKERS, _STROKES = "osD^vP", ("-", "--", "-.")

_NO_VALUE = Cell()
_LINE = 0.22  # inches of height for a name

_LONGEST = 38  # characters of a name; a longer one loses its middle

_MOST_SERIES = 6  # the largest number of distinguishable lines; the table has the others
_LEAST_ROWS = 9  # rows that the names of a picture of costs have at least


@dataclass(frozen=True, slots=True)
class Dot:
    """A named line of a dot plot: our value, and the value that a paper prints."""

    name: str
    ours: Cell = _NO_VALUE
    paper: Cell = _NO_VALUE
    colour: str = GREY
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a plot; `points` are (x, value). The line of a paper is dotted."""

    name: str
    points: Sequence[tuple[int, Cell]]
    colour: str = GREY
    paper: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a plot: a value over the tokens that it cost, with a name."""

    name: str
    tokens: float
    value: Cell
    colour: str = GREY
    ranked: bool = True


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of a plot: the height of its axes in inches, and a function that draws its marks."""

    title: str
    height: float
    draw: Callable[[Any, Sequence[Any]], None]
    marks: Sequence[Any]
    x_label: str = ""


def _percent(cell: Cell) -> float:
    return 100 * (cell.number or 0.0)


def _reach(cell: Cell) -> tuple[float, float]:
    """The distances from a cell's value to the ends of its interval, in percent points."""
    value = _percent(cell)
    low, high = (value if end is None else 100 * end for end in (cell.low, cell.high))
    return max(0.0, value - low), max(0.0, high - value)


# ------------------------------------------------------------------ kinds of marks


def _draw_dots(axes: Any, dots: Sequence[Dot]) -> None:
    """Draw each dot in a line of its own, the first on top; hollow diamonds are of the paper."""
    for at, dot in enumerate(dots):
        if dot.ours.number is not None:
            reach = [[one] for one in _reach(dot.ours)]
            axes.errorbar(_percent(dot.ours), at, xerr=reach, fmt="o", color=dot.colour, ms=5)
        if dot.paper.number is not None:
            axes.plot(_percent(dot.paper), at, "D", mfc="white", mec=GREY, ms=5, zorder=1)
    axes.set_yticks(range(len(dots)), [_shorten(dot.name) for dot in dots])
    axes.set_ylim(len(dots) - 0.4, -0.6)
    for label, dot in zip(axes.get_yticklabels(), dots, strict=True):
        label.set_fontweight("bold" if dot.highlighted else "normal")
    axes.set_xlim(-2, 102)
    _clear_axes(axes, "x")
    if any(dot.paper.number is not None for dot in dots):
        axes.set_title("◇ the paper's", loc="right", fontsize=8, color=GREY)


def _draw_lines(axes: Any, series: Sequence[Series], ticks: Mapping[int, str]) -> None:
    """Draw a line for each series, shifted so that no interval hides another interval."""
    for number, one in enumerate(series):
        places, cells = zip(*one.points, strict=True)
        style = (
            {"linestyle": ":", "color": GREY}
            if one.paper
            else {
                "linestyle": _STROKES[number % len(_STROKES)],
                "marker": _MARKERS[number % len(_MARKERS)],
                "color": one.colour,
            }
        )
        axes.errorbar(
            [place + 0.05 * (number - len(series) / 2) for place in places],
            [_percent(cell) for cell in cells],
            yerr=list(zip(*map(_reach, cells), strict=True)),
            label=_shorten(one.name),
            elinewidth=1,
            **style,
        )
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_ylim(bottom=-1)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
    _clear_axes(axes, "y")


def _draw_points(axes: Any, points: Sequence[Point]) -> None:
    """Draw values over tokens (logarithmic), with names at the right and lines to them.

    A grey step line joins the readers that no other reader beats in value and in tokens.
    """
    ends = [100 * (end or 0) for one in points for end in (one.value.low, one.value.high)]
    values = [*ends, *(_percent(one.value) for one in points)]
    gap = max((max(values) - min(values)) / 20, 5)
    low, high = min(values) - gap, max(values) + gap
    left, right = (f(one.tokens for one in points) for f in (min, max))
    left, right = left / 1.3, right * 1.3
    axes.set(xscale="log", xlim=(left, right), ylim=(low, high))
    steps = (1, 2, 5) if right < 100 * left else (1,)
    ticks = [step * 10**power for power in range(12) for step in steps]
    shown = [tick for tick in ticks if left <= tick <= right]
    axes.set_xticks(
        shown, [format_cell(Cell(tick), "tokens").replace(".0k", "k") for tick in shown]
    )
    axes.minorticks_off()
    best: list[Point] = []
    for one in sorted(points, key=lambda one: (one.tokens, -_percent(one.value))):
        if one.ranked and (not best or _percent(one.value) > _percent(best[-1].value)):
            best.append(one)
    places = [one.tokens for one in best], [_percent(one.value) for one in best]
    axes.step(*places, where="post", color="#B0B0B0", lw=1.5, zorder=1)
    ranks = sorted(points, key=lambda one: (_percent(one.value), -one.tokens))
    distance = (high - low) / max(len(points) - 1, _LEAST_ROWS)
    heights: list[float] = []
    for at, one in enumerate(ranks):
        least = heights[-1] + distance if heights else low
        most = high - distance * (len(ranks) - 1 - at)
        heights.append(min(max(_percent(one.value), least), most))
    for one, height in zip(ranks, heights, strict=True):
        reach = [[end] for end in _reach(one.value)]
        place = one.tokens, _percent(one.value)
        axes.errorbar(*place, yerr=reach, fmt="o", color=one.colour, ms=6, elinewidth=1)
        axes.annotate(
            _shorten(one.name, 22),
            place,
            (1.04, (height - low) / (high - low)),
            textcoords="axes fraction",
            color=one.colour,
            fontsize=9,
            va="center",
            arrowprops={
                "arrowstyle": "-",
                "relpos": (0, 0.5),
                "color": one.colour,
                "lw": 0.5,
                "alpha": 0.5,
            },
        )
    _clear_axes(axes, "both")


def _shorten(name: str, longest: int = _LONGEST) -> str:
    """Shorten a long name in its middle."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half + 1 :]}"


def _clear_axes(axes: Any, grid: str) -> None:
    axes.grid(axis=grid, color="#E3E3E3", lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)


# ------------------------------------------------------------------ panels of the tables


def _reader(row: TableRow) -> str:
    return str(row["Reader"].value)


def _colour(reader: str) -> str:
    kinds = _READER_COLOURS.items()
    return next((colour for kind, colour in kinds if reader.startswith(kind)), GREY)


def _row_name(table: Table, row: TableRow) -> str:
    columns = ("Reader", "Model", "Window") if table.varies("Model") else ("Reader", "Window")
    return ", ".join(str(value) for name in columns if (value := row[name].value))


def _dot_panel(section: Section, score: str, dots: Sequence[Dot]) -> Panel:
    return Panel(f"{_shorten(section.title)}: {score}, %", _LINE * len(dots), _draw_dots, dots)


def _score_panel(table: Table, section: Section, names: Sequence[str]) -> Panel | None:
    """Plot a dot for each reader, by the first score that all have, with the paper's value."""
    ours = [row for row in section.rows if not row.paper]
    complete = (name for name in names if all(row[name].value is not None for row in ours))
    score = next(complete, names[-1])
    paper = {row["reader"].value: row[score] for row in section.rows if row.paper}
    own = {_reader(row) for row in ours}
    dots = []
    for row in section.rows:
        reader = _reader(row)
        if not row.paper:
            colour, highlighted = _colour(reader), reader.startswith(DEFAULT)
            printed = paper.get(reader, _NO_VALUE)
            dots.append(Dot(_row_name(table, row), row[score], printed, colour, highlighted))
        elif row["reader"].value not in own and row[score].value is not None:
            dots.append(Dot(reader, paper=row[score]))
    several = sum(dot.ours.number is not None for dot in dots) > 1
    return _dot_panel(section, score, dots) if several else None


def _main_score_panel(table: Table, section: Section) -> Panel | None:
    """Plot the scores at the shortest length of each dataset: another plot has all lengths."""
    dataset = section.title.partition(", ")[0]
    first = next(one for one in table.sections if one.title.partition(", ")[0] == dataset)
    names = "LR-1", "Accuracy", "F1*", "F1"
    return _score_panel(table, section, names) if section is first else None


def _points(table: Table, section: Section) -> list[Point]:
    return [
        Point(_row_name(table, row), tokens, row["Quality"], _colour(_reader(row)), row.ranked)
        for row in section.rows
        if (tokens := row["Tokens a question"].number) and row["Quality"].number is not None
    ]


def _cost_panel(table: Table, section: Section) -> Panel | None:
    """Plot quality over tokens a question, for all sets or the first with several readers."""
    first = next((one for one in table.sections if len(_points(table, one)) > 1), None)
    if section is not first:
        return None
    points = _points(table, section)
    height = max(2.6, _LINE * len(points))
    label = "Tokens a question (log)"
    return Panel(f"{_shorten(section.title)}, %", height, _draw_points, points, label)


def _equal_reading_panel(_: Table, section: Section) -> Panel:
    """Plot the FCR of a reader, and below it of each retrieval with an equal token budget."""
    dots: dict[str, Dot] = {}
    for row in section.rows:
        reader, retrieval = _reader(row), str(row["Retrieval"].value)
        own = Dot(reader, row["FCR of reader"], colour=_colour(reader), highlighted=True)
        dots.setdefault(reader, own)
        name = f"{retrieval}, as much as {reader}"
        dots[name] = Dot(name, row["FCR of retrieval"], colour=_colour(retrieval))
    return _dot_panel(section, "FCR", list(dots.values()))


def _line_panel(
    section: Section, series: Sequence[Series], places: Sequence[str], label: str
) -> Panel | None:
    """Plot lines over named places; None without a line of two points."""
    lines = [one for one in series if len(one.points) > 1]
    used = {at for one in lines for at, _ in one.points}
    draw = partial(_draw_lines, ticks={at: places[at] for at in sorted(used)})
    return Panel(f"{_shorten(section.title)}, %", 2.8, draw, lines, label) if lines else None


def _length_panel(table: Table, section: Section) -> Panel | None:
    """Plot a line over the lengths for each reader, GraphReader first, and for the paper."""
    lengths = [column.name for column in table.columns if column.ranked and column.name != NATIVE]
    rows = sorted(section.rows, key=lambda row: not _reader(row).startswith(DEFAULT))
    series = [
        Series(
            _row_name(table, row),
            [(at, row[name]) for at, name in enumerate(lengths) if row[name].number is not None],
            GREY if row.paper else _colour(_reader(row)),
            row.paper,
        )
        for row in rows
    ]
    ours = [one for one in series if not one.paper][:_MOST_SERIES]
    paper = [one for one in series if one.paper and "GraphReader" in one.name]
    return _line_panel(section, ours + paper, lengths, "Length of the text, tokens")


def _sweep_panel(table: Table, section: Section) -> Panel | None:
    """Plot a line for each score of each model over the numbers of the first column."""
    varied = table.columns[0].name
    numbers = sorted({row[varied].number or 0 for row in section.rows})
    points: dict[tuple[str, str], list[tuple[int, Cell]]] = {}
    for row in section.rows:
        for score in _SCORE_COLOURS:
            if row[score].number is not None:
                name = f"{score}, {row['Model'].value}" if table.varies("Model") else score
                at = numbers.index(row[varied].number or 0)
                points.setdefault((score, name), []).append((at, row[score]))
    lines = [Series(name, some, _SCORE_COLOURS[score]) for (score, name), some in points.items()]
    return _line_panel(section, lines, [f"{number:g}" for number in numbers], varied)


_PANELS: dict[str, Callable[[Table, Section], Panel | None]] = {
    "quality_and_cost": _cost_panel,
    "scores": _main_score_panel,
    "evidence": partial(_score_panel, names=("FCR",)),
    "equal_reading": _equal_reading_panel,
    "score_by_length": _length_panel,
    "recall_by_length": _length_panel,
    "initial_nodes": _sweep_panel,
    "chunk_size": _sweep_panel,
}


def panels(table: Table) -> list[Panel]:
    """Make the panels of a table's sections that have something to compare."""
    make = _PANELS.get(table.name)
    return [panel for one in table.sections if make and (panel := make(table, one))]


# ------------------------------------------------------------------ files

_STYLE = {
    "svg.hashsalt": "graphreader",
    "text.parse_math": False,  # a name with a dollar sign is no formula
    "axes.titlesize": 10,
    "axes.labelsize": 9,
}
_WIDTHS = {"quality_and_cost": 4.0}  # inches, where not 8: to be read on a telephone
_AROUND = 0.65  # inches of the title and the ticks of a panel


def draw_plots(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Draw the tables that have plots, each as PNG and SVG. Raises UsageError."""
    matplotlib = import_extra("matplotlib", "A plot")
    figures = import_extra("matplotlib.figure", "A plot")
    paths = []
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        for table in tables:
            figure = draw_table(figures, table)
            for kind in ("png", "svg") if figure else ():
                path = folder / f"{table.name}.{kind}"
                with atomic_write(path) as file:
                    figure.savefig(file, format=kind, dpi=160)
                paths.append(path)
    return paths


def draw_table(figures: Any, table: Table) -> Any:
    """Draw the figure of a table with the module `matplotlib.figure`; None without panels."""
    parts = panels(table)
    if not parts:
        return None
    width = _WIDTHS.get(table.name, 8.0)
    warning = textwrap.fill(table.warning, int(15 * width))
    heights = [panel.height for panel in parts]
    height = sum(heights) + _AROUND * len(heights) + _LINE * len(warning.splitlines())
    figure = figures.Figure((width, height), dpi=160, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    subplots = figure.subplots(len(parts), 1, squeeze=False, height_ratios=heights)
    for (axes,), panel in zip(subplots, parts, strict=True):
        panel.draw(axes, panel.marks)
        axes.set_title(panel.title, loc="left")
        axes.set_xlabel(panel.x_label)
    if warning:
        figure.suptitle(warning, x=0.01, ha="left", fontsize=8, style="italic")
    return figure
