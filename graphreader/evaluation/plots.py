"""Pictures of the tables, PNG and SVG. They show values of the tables and compute nothing.

`draw_plots` draws the tables that `_PANELS` names: a function makes a panel of a section, whose
marks are dots, lines or bars. The same tables give the same SVG, byte by byte. matplotlib, of the
extra `evaluate`, is imported when the first picture is drawn.

A colour has the same meaning in every picture. The colours are those of Okabe and Ito, which
colour-blind people tell apart, and each is labelled. Readers of one kind share a colour.
"""

import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from graphreader.evaluation.measures import DEFAULT, NATIVE, PAPER, PHASES
from graphreader.evaluation.metrics.answers import import_extra
from graphreader.evaluation.tables import Cell, Section, Table, TableRow
from graphreader.files import atomic_write

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
YELLOW, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#8C8C8C"

_READER_COLOURS: Mapping[str, str] = {
    **{"graphreader": ORANGE, "full-text": GREEN, "chunk-read": YELLOW, "search-agent": BLACK},
    **dict.fromkeys(("bm25", "rag-bm25", "rag-pages-bm25"), BLUE),
    **dict.fromkeys(("embedding", "rag-embedding", "rag-pages-embedding"), SKY),
    **dict.fromkeys(("read-agent", "gistmem"), PINK),
}
"""By the beginnings of their names; golden and other readers are grey."""

_PHASE_COLOURS = dict(zip(PHASES.values(), (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY), strict=True))
_SCORE_COLOURS: Mapping[str, str] = {"LR-1": ORANGE, "F1": BLUE, "FCR": GREEN}

_MARKERS = "osD^vP*"
_STROKES = ("-", "--", "-.", (0, (1, 1)))
"""For series of the same colour."""

_NO_VALUE = Cell()
_LINE = 0.22
"""Inches of height for a name."""

_LONGEST = 44
"""Characters of a name; a longer one loses its middle."""

_PAPER = "paper: "

_MOST_SERIES = 6
"""The largest number of distinguishable lines; the table has the others."""

_FIRST = (DEFAULT, "full-text", "read-agent-s", "rag-embedding-3", "rag-bm25-3", PAPER)
"""Readers whose lines are drawn first; `graphreader` is highlighted."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A named line of a dot plot: our value, and the one that a paper prints for the same."""

    name: str
    ours: Cell
    paper: Cell = _NO_VALUE
    colour: str = GREY
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A named line; `points` are (place on the x axis, value). A paper's is dotted."""

    name: str
    points: Sequence[tuple[float, Cell]]
    colour: str = GREY
    paper: bool = False
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A named bar, made of the tokens of each phase."""

    name: str
    phases: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of a picture: the height of its axes in inches, and the marks that `draw` draws."""

    title: str
    height: float
    draw: Callable[[Any, Sequence[Any]], None]
    marks: Sequence[Any]
    x_label: str = ""


def _percent(cell: Cell) -> float:
    return 100 * (cell.number or 0.0)


def _reach(cell: Cell) -> tuple[float, float]:
    """How far the interval goes down and up, in percent points."""
    value = _percent(cell)
    low, high = (value if end is None else 100 * end for end in (cell.low, cell.high))
    return max(0.0, value - low), max(0.0, high - value)


# ------------------------------------------------------------------ kinds of marks


def _draw_dots(axes: Any, dots: Sequence[Dot]) -> None:
    """One line a dot, the first on top; a hollow diamond is the paper's."""
    for at, dot in enumerate(dots):
        if dot.ours.number is not None:
            reach = [[one] for one in _reach(dot.ours)]
            style = {"fmt": "o", "color": dot.colour, "ms": 5, "lw": 1.5}
            axes.errorbar(_percent(dot.ours), at, xerr=reach, **style)
        if dot.paper.number is not None:
            axes.plot(_percent(dot.paper), at, "D", mfc="white", mec=GREY, ms=5, zorder=1)
    _name_rows(axes, [dot.name for dot in dots])
    for label, dot in zip(axes.get_yticklabels(), dots, strict=True):
        if dot.highlighted:
            label.set_fontweight("bold")
    axes.set_xlim(-2, 102)
    _clear_axes(axes, "x")
    if any(dot.paper.number is not None for dot in dots):
        place = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right"}
        axes.annotate("◇ the paper's", (1, 1), (0, 4), fontsize=8, color=GREY, **place)


def _draw_lines(axes: Any, series: Sequence[Series], ticks: Mapping[float, str]) -> None:
    """A line a series, named at its end; a highlighted one is thick and on top."""
    apart = 0.05  # intervals at the same place would hide each other
    ours = [one for one in series if not one.paper]
    same_colour: Counter[str] = Counter()
    for number, one in enumerate(ours):
        shift = (number - (len(ours) - 1) / 2) * apart
        axes.errorbar(
            [at + shift for at, _ in one.points],
            [_percent(cell) for _, cell in one.points],
            yerr=list(zip(*(_reach(cell) for _, cell in one.points), strict=True)),
            color=one.colour,
            ecolor=(one.colour, 0.45),
            linestyle=_STROKES[same_colour[one.colour] % len(_STROKES)],
            marker=_MARKERS[number % len(_MARKERS)],
            ms=5,
            lw=2.4 if one.highlighted else 1.4,
            elinewidth=1.2,
            zorder=4 if one.highlighted else 3,
        )
        same_colour[one.colour] += 1
    for one in series:
        if one.paper:
            x, y = zip(*((at, _percent(cell)) for at, cell in one.points), strict=True)
            axes.plot(x, y, ":", color=GREY, lw=1.6)
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_xlim(min(ticks) - 0.3, max(ticks) + 0.25)
    most = max(_percent(cell) + _reach(cell)[1] for one in series for _, cell in one.points)
    top = min(102, most * 1.04 + 1)
    axes.set_ylim(-0.015 * top, top)  # room for the marks of 0
    _clear_axes(axes, "y")
    _name_line_ends(axes, series, max(ticks))


def _name_line_ends(axes: Any, series: Sequence[Series], right: float) -> None:
    """Each series' name next to its last point, at least a line of text from the next one."""
    bottom, top = axes.get_ylim()
    line = (top - bottom) * 0.052
    low = bottom - line
    places = []
    for one in sorted(series, key=lambda one: _percent(one.points[-1][1])):
        low = max(_percent(one.points[-1][1]), low + line)
        places.append((low, one))
    over = max(0.0, low - top)
    for place, one in places:
        axes.annotate(
            _shorten(one.name),
            (right + 0.25, place - over),
            (4, 0),
            textcoords="offset points",
            color=GREY if one.paper else one.colour,
            va="center",
            fontsize=8,
            annotation_clip=False,
            style="italic" if one.paper else "normal",
            weight="bold" if one.highlighted else "normal",
        )


def _draw_bars(axes: Any, bars: Sequence[Bar]) -> None:
    """A bar a reader, made of phases, the sum at its end; the first axes have the legend."""
    rows = range(len(bars))
    ends = [0.0] * len(bars)
    for phase in bars[0].phases:
        values = [bar.phases[phase] for bar in bars]
        style = {"color": _PHASE_COLOURS[phase], "height": 0.7, "edgecolor": "white"}
        axes.barh(rows, values, left=list(ends), label=phase, **style)
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    for at, end in enumerate(ends):
        place = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(_thousands(end), (end, at), fontsize=8, **place)
    _name_rows(axes, [bar.name for bar in bars])
    axes.set_xlim(0, max(ends, default=0) * 1.12 or 1)
    axes.xaxis.set_major_formatter(lambda value, _: _thousands(value))
    if axes.figure.axes[0] is axes:
        axes.figure.legend(
            *axes.get_legend_handles_labels(),
            loc="outside upper left",
            ncols=len(bars[0].phases),
            frameon=False,
            fontsize=8,
            handlelength=1,
        )
    _clear_axes(axes, "x")


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    """The names at the left, the first on top."""
    axes.set_yticks(range(len(names)), list(map(_shorten, names)))
    axes.set_ylim(len(names) - 0.4, -0.6)


def _shorten(name: str) -> str:
    """The name, without its middle if it is too long."""
    if len(name) <= _LONGEST:
        return name
    half = _LONGEST // 2
    return f"{name[:half]}…{name[-half + 1 :]}"


def _thousands(value: float) -> str:
    return f"{value / 1000:,.1f}k".replace(".0k", "k") if value >= 1000 else f"{value:,.0f}"


def _clear_axes(axes: Any, grid: str) -> None:
    """Keep only a grid to read values by."""
    axes.grid(axis=grid, color="#E3E3E3", lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


# ------------------------------------------------------------------ panels of the tables


def _reader(row: TableRow) -> str:
    return str(row["Reader"].value)


def _colour(reader: str) -> str:
    kinds = _READER_COLOURS.items()
    return next((colour for kind, colour in kinds if reader.startswith(kind)), GREY)


def _row_name(table: Table, row: TableRow) -> str:
    """The reader, with its window, and its model if there are several."""
    columns = ("Reader", "Model", "Window") if table.varies("Model") else ("Reader", "Window")
    return ", ".join(str(value) for name in columns if (value := row[name].value))


def _common_score(section: Section, names: Sequence[str]) -> str:
    """The first of the scores that all of our rows have, else the last."""
    ours = [row for row in section.rows if not row.paper]
    full = (name for name in names if all(row[name].value is not None for row in ours))
    return next(full, names[-1])


def _dot_panel(section: Section, score: str, dots: Sequence[Dot]) -> Panel:
    return Panel(f"{_shorten(section.title)}: {score}, %", _LINE * len(dots), _draw_dots, dots)


def _score_panel(table: Table, section: Section, names: Sequence[str]) -> Panel | None:
    """A dot for each reader, the paper's in the same line; others of the paper in their own."""
    score = _common_score(section, names)
    paper = {row["reader"].value: row[score] for row in section.rows if row.paper}
    own = {_reader(row) for row in section.rows if not row.paper}
    dots = []
    for row in section.rows:
        reader = _reader(row)
        if not row.paper:
            colour, highlighted = _colour(reader), reader.startswith(DEFAULT)
            beside = paper.get(reader, Cell())
            dots.append(Dot(_row_name(table, row), row[score], beside, colour, highlighted))
        elif row["reader"].value not in own and row[score].value is not None:
            dots.append(Dot(reader, Cell(), row[score]))
    several = sum(dot.ours.number is not None for dot in dots) > 1
    return _dot_panel(section, score, dots) if several else None


def _main_score_panel(table: Table, section: Section) -> Panel | None:
    """The shortest length of each dataset: others have a picture by length."""
    dataset = section.title.partition(", ")[0]
    first = next(one for one in table.sections if one.title.partition(", ")[0] == dataset)
    names = "LR-1", "Accuracy", "F1*", "F1"
    return _score_panel(table, section, names) if section is first else None


def _equal_reading_panel(_: Table, section: Section) -> Panel:
    """A reader's FCR once, and below it that of each retrieval with the same token budget."""
    dots: dict[str, Dot] = {}
    for row in section.rows:
        reader, retrieval = _reader(row), str(row["Retrieval"].value)
        own = Dot(reader, row["FCR of reader"], colour=_colour(reader), highlighted=True)
        dots.setdefault(reader, own)
        name = f"{retrieval}, as much as {reader}"
        dots[name] = Dot(name, row["FCR of retrieval"], colour=_colour(retrieval))
    return _dot_panel(section, "FCR", list(dots.values()))


def _line_panel(
    section: Section, title: str, series: Sequence[Series], ticks: Mapping[float, str], label: str
) -> Panel:
    draw = partial(_draw_lines, ticks=ticks)
    return Panel(_shorten(section.title) + title, 2.4, draw, series, label)


def _length_panel(table: Table, section: Section) -> Panel | None:
    """A line for each of the most important readers over the lengths, and the paper's own."""
    lengths = [column.name for column in table.columns if column.ranked]
    ours, papers = [], []
    for row in sorted(section.rows, key=_drawing_order):
        points = [
            (float(at), row[name])
            for at, name in enumerate(lengths)
            if name != NATIVE and row[name].number is not None
        ]
        name, reader = _row_name(table, row), _reader(row)
        if len(points) > 1 and not row.paper:
            ours.append(Series(name, points, _colour(reader), highlighted=reader == DEFAULT))
        elif len(points) > 1 and reader == f"{_PAPER}GraphReader":
            papers.append(Series(name, points, paper=True))
    series = ours[:_MOST_SERIES] + papers
    used = {at for one in series for at, _ in one.points}
    ticks = {float(at): name for at, name in enumerate(lengths) if at in used}
    panel = _line_panel(section, ", %", series, ticks, "Length of the text, tokens")
    return replace(panel, height=3.2) if series else None


def _drawing_order(row: TableRow) -> int:
    reader = _reader(row)
    return _FIRST.index(reader) if reader in _FIRST else len(_FIRST)


def _sweep_panel(table: Table, section: Section) -> Panel | None:
    """A line for each score of each model over the numbers of the first column."""
    varied = table.columns[0].name
    numbers = sorted({row[varied].number or 0 for row in section.rows})
    series: dict[tuple[str, str], list[tuple[float, Cell]]] = {}
    for row in section.rows:
        at = float(numbers.index(row[varied].number or 0))
        for score in _SCORE_COLOURS:
            if row[score].number is not None:
                name = f"{score}, {row['Model'].value}" if table.varies("Model") else score
                series.setdefault((score, name), []).append((at, row[score]))
    lines = [
        Series(name, points, _SCORE_COLOURS[score]) for (score, name), points in series.items()
    ]
    ticks = {float(at): f"{number:g}" for at, number in enumerate(numbers)}
    return _line_panel(section, ", %", lines, ticks, varied) if len(numbers) > 1 else None


def _cost_panel(table: Table, section: Section) -> Panel | None:
    """Tokens a question, phase by phase."""
    phases = [name for name in PHASES.values() if any(row[name].number for row in table.rows)]
    bars = [
        Bar(_row_name(table, row), {name: row[name].number or 0.0 for name in phases})
        for row in section.rows
        if not row.paper and any(row[name].number for name in phases)
    ]
    title = f"{_shorten(section.title)}: tokens by phase"
    return Panel(title, _LINE * len(bars), _draw_bars, bars) if bars else None


_MOST_PAGES = re.compile(
    r"(?:read-agent-(?P<ours>[ps])(?:-(?P<up>\d{1,3}))?$"
    r"|paper: ReadAgent-(?P<theirs>[PS]), up to (?P<to>\d+)(?P<part>.*)$)"
)

_DEFAULT_PAGES = 5
"""Pages that `read-agent-p` and `read-agent-s` look up at most."""


def _pages_panel(table: Table, section: Section) -> Panel | None:
    """ReadAgent's score by how many pages it may look up (its table 1), ours and the paper's."""
    score = _common_score(section, ("Accuracy", "LR-1", "ROUGE-L"))
    points: dict[tuple[str, bool], list[tuple[float, Cell]]] = {}
    for row in section.rows:
        match = _MOST_PAGES.match(_reader(row))
        if not match or row[score].number is None:
            continue
        if match["ours"]:
            model = f", {row['Model'].value}" if table.varies("Model") else ""
            name, pages = f"ReadAgent-{match['ours'].upper()}{model}", match["up"] or _DEFAULT_PAGES
        else:
            name, pages = f"{_PAPER}ReadAgent-{match['theirs']}{match['part']}", match["to"]
        points.setdefault((name, row.paper), []).append((int(pages), row[score]))
    series = [
        Series(name, sorted(of, key=lambda one: one[0]), PINK, paper)
        for (name, paper), of in points.items()
        if len(of) > 1
    ]
    if all(one.paper for one in series):
        return None
    numbers = sorted({int(at) for one in series for at, _ in one.points})
    ticks = {float(at): str(at) for at in numbers}
    return _line_panel(section, f": {score}, %", series, ticks, "Pages looked up at most")


_PANELS: dict[str, Callable[[Table, Section], Panel | None]] = {
    "scores": _main_score_panel,
    "evidence": partial(_score_panel, names=("FCR",)),
    "equal_reading": _equal_reading_panel,
    "score_by_length": _length_panel,
    "recall_by_length": _length_panel,
    "initial_nodes": _sweep_panel,
    "chunk_size": _sweep_panel,
    "costs": _cost_panel,
    "read_agent": _pages_panel,
}


def panels(table: Table) -> list[Panel]:
    """The panels of a table's sections that have something to compare."""
    make = _PANELS.get(table.name)
    return [panel for one in table.sections if make and (panel := make(table, one))]


_WITH_PAPER_FIGURES = ("scores", "score_by_length", "read_agent")
"""Pictures in which a paper's figures are drawn."""

# ------------------------------------------------------------------ files

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

_DPI = 160
"""Also for the layout: at another resolution, words would be cut."""

_AROUND, _ABOVE = 0.65, 0.3
"""Inches of the title and the ticks of a panel; of a legend above all of them."""

_WARNING_LENGTH, _WARNING_HEIGHT = 120, 0.2
"""Characters of a line of the warning above the panels, and inches that it takes."""


def draw_plots(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Draw the tables that have pictures; return the files, a PNG and an SVG each.

    Raises UsageError, which names the extra, without matplotlib.
    """
    matplotlib = import_extra("matplotlib", "A plot")
    figures = import_extra("matplotlib.figure", "A plot")
    paths = []
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        for table in tables:
            if figure := draw_table(figures, table):
                paths += [_save(figure, folder / f"{table.name}.{kind}") for kind in FORMATS]
    return paths


def _save(figure: Any, path: Path) -> Path:
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=_DPI, metadata=metadata)
    return path


def draw_table(figures: Any, table: Table) -> Any:
    """The figure of a table, laid out; None if there is nothing to draw.

    `figures` is the module `matplotlib.figure`.
    """
    parts = panels(table)
    if not parts:
        return None
    shown = table.warning if table.name in _WITH_PAPER_FIGURES else ""
    warning = textwrap.fill(shown, _WARNING_LENGTH)
    heights = [panel.height for panel in parts]
    above = _ABOVE + _WARNING_HEIGHT * len(warning.splitlines())
    height = sum(heights) + _AROUND * len(heights) + above
    figure = figures.Figure((_WIDTH, height), dpi=_DPI, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    subplots = figure.subplots(len(parts), 1, squeeze=False, height_ratios=heights)
    for (axes,), panel in zip(subplots, parts, strict=True):
        panel.draw(axes, panel.marks)
        axes.set_title(panel.title, loc="left")
        axes.set_xlabel(panel.x_label)
    if warning:
        figure.suptitle(warning, x=0.01, ha="left", fontsize=8, style="italic")
    figure.draw_without_rendering()  # once: the solver's last digits differ from time to time
    places = [axes.get_position().bounds for axes in figure.axes]
    figure.set_layout_engine("none")
    for axes, place in zip(figure.axes, places, strict=True):
        axes.set_position([round(value, 4) for value in place])
    return figure
