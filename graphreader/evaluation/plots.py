"""Pictures of the tables, PNG and SVG. They show what stands in the tables and compute nothing.

`draw_plots` draws each table of `_PANELS`: a function there makes a panel of a section, which is a
dot plot, lines or bars. The same tables give the same SVG, byte by byte. matplotlib, of the extra
`evaluate`, is imported when the first picture is drawn.

A colour has the same meaning in every picture. The colours are those of Okabe and Ito, which
colour-blind people tell apart, and a name stands beside each. Readers of one kind share a colour.
"""

import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from graphreader.evaluation.measures import DEFAULT, NATIVE, PAPER, PHASES
from graphreader.evaluation.metrics.answers import import_extra
from graphreader.evaluation.paper_figures import paper_figures
from graphreader.evaluation.tables import Cell, Section, Table, TableRow
from graphreader.files import atomic_write

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
YELLOW, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#8C8C8C"

_READER_COLOURS: Mapping[str, str] = {
    "graphreader": ORANGE,
    "bm25": BLUE,
    "rag-bm25": BLUE,
    "rag-pages-bm25": BLUE,
    "embedding": SKY,
    "rag-embedding": SKY,
    "rag-pages-embedding": SKY,
    "full-text": GREEN,
    "chunk-read": YELLOW,
    "read-agent": PINK,
    "gistmem": PINK,
    "search-agent": BLACK,
}
"""By the beginnings of their names; golden and other readers are grey."""

_PHASE_COLOURS = dict(zip(PHASES, (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY), strict=True))
_SCORE_COLOURS: Mapping[str, str] = {"LR-1": ORANGE, "F1": BLUE, "FCR": GREEN}

_MARKERS = "osD^vP*"
_STROKES = ("-", "--", "-.", (0, (1, 1)))
"""For series of the same colour."""

_LINE = 0.22
"""Inches of height for a name."""

_LONGEST = 44
"""Characters of a name; a longer one loses its middle."""

_PAPER = "paper: "

_MOST_SERIES = 6
"""Lines that can be told apart in one picture; the others stand in the table."""

_FIRST = (DEFAULT, "full-text", "read-agent-s", "rag-embedding-3", "rag-bm25-3", PAPER)
"""Readers whose lines are drawn first; `graphreader` is highlighted."""


def reader_colour(name: str) -> str:
    """The colour of a reader."""
    kinds = _READER_COLOURS.items()
    return next((colour for kind, colour in kinds if name.startswith(kind)), GREY)


@dataclass(frozen=True, slots=True)
class Point:
    """A value in percent, perhaps with its interval."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, cell: Cell) -> "Point | None":
        """The point of a cell; None if the cell has no number."""
        if cell.number is None:
            return None
        return cls(100 * cell.number, _percent(cell.low), _percent(cell.high))

    @property
    def reach(self) -> tuple[float, float]:
        """How far the interval goes down and up."""
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        return max(0.0, self.value - low), max(0.0, high - self.value)


@dataclass(frozen=True, slots=True)
class Dot:
    """A named line of a dot plot: our value, and the one that a paper prints for the same."""

    name: str
    ours: Point | None
    paper: float | None = None
    colour: str = GREY
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A named line; `points` are (place on the x axis, value). A paper's is dotted."""

    name: str
    points: tuple[tuple[float, Point], ...]
    colour: str = GREY
    paper: bool = False
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of a picture: the height of its axes in inches, and what draws in them."""

    height: float
    draw: Callable[[Any], None]


# ------------------------------------------------------------------ kinds of charts


def _draw_dots(axes: Any, dots: Sequence[Dot]) -> None:
    """One line a dot, the first on top; a hollow diamond is the paper's."""
    for at, dot in enumerate(dots):
        if dot.ours:
            reach = [[one] for one in dot.ours.reach]
            axes.errorbar(dot.ours.value, at, xerr=reach, fmt="o", color=dot.colour, ms=5, lw=1.5)
        if dot.paper is not None:
            axes.plot(dot.paper, at, "D", mfc="white", mec=GREY, ms=5, zorder=1)
    axes.set_yticks(range(len(dots)), [_shorten(dot.name) for dot in dots])
    for label, dot in zip(axes.get_yticklabels(), dots, strict=True):
        if dot.highlighted:
            label.set_fontweight("bold")
    axes.set_ylim(len(dots) - 0.4, -0.6)
    axes.set_xlim(-2, 102)
    _clear_axes(axes, "x")


def _draw_lines(axes: Any, series: Sequence[Series], ticks: Sequence[tuple[float, str]]) -> None:
    """A line a series, named at its end; a highlighted one is thick and on top."""
    apart = 0.05  # intervals at the same place would hide each other
    ours = [one for one in series if not one.paper]
    same_colour: Counter[str] = Counter()
    for number, one in enumerate(ours):
        shift = (number - (len(ours) - 1) / 2) * apart
        reach = [point.reach for _, point in one.points]
        axes.errorbar(
            [at + shift for at, _ in one.points],
            [point.value for _, point in one.points],
            yerr=[[down for down, _ in reach], [up for _, up in reach]],
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
            x = [at for at, _ in one.points]
            axes.plot(x, [point.value for _, point in one.points], ":", color=GREY, lw=1.6)
    axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks])
    axes.set_xlim(ticks[0][0] - 0.3, ticks[-1][0] + 0.25)
    most = max(point.value + point.reach[1] for one in series for _, point in one.points)
    top = min(102, most * 1.04 + 1)
    axes.set_ylim(-0.015 * top, top)  # room for the marks of 0
    _clear_axes(axes, "y")
    _name_line_ends(axes, series, ticks[-1][0])


def _name_line_ends(axes: Any, series: Sequence[Series], right: float) -> None:
    """Each series' name beside its last point, at least a line of text from the next one."""
    bottom, top = axes.get_ylim()
    line = (top - bottom) * 0.052
    ends = sorted((one.points[-1][1].value, at) for at, one in enumerate(series) if one.points)
    low = bottom - line
    places = []
    for value, at in ends:
        low = max(value, low + line)
        places.append((low, at))
    over = max(0.0, (places[-1][0] if places else 0.0) - top)
    for place, at in places:
        one = series[at]
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


def _draw_bars(axes: Any, names: Sequence[str], parts: Mapping[str, Sequence[float]]) -> None:
    """A bar a name, made of phases, the sum at its end; the first axes have the legend."""
    ends = [0.0] * len(names)
    for phase, values in parts.items():
        axes.barh(
            range(len(names)),
            values,
            left=list(ends),
            color=_PHASE_COLOURS[phase],
            label=PHASES[phase],
            height=0.7,
            edgecolor="white",
        )
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    for at, end in enumerate(ends):
        place = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(_thousands(end), (end, at), fontsize=8, **place)
    axes.set_yticks(range(len(names)), list(map(_shorten, names)))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, max(ends, default=0) * 1.12 or 1)
    axes.xaxis.set_major_formatter(lambda value, _: _thousands(value))
    if axes.figure.axes[0] is axes:
        axes.figure.legend(
            *axes.get_legend_handles_labels(),
            loc="outside upper left",
            ncols=len(parts),
            frameon=False,
            fontsize=8,
            handlelength=1,
        )
    _clear_axes(axes, "x")


def _set_title(axes: Any, dataset: str, rest: str) -> None:
    axes.set_title(_shorten(dataset) + rest, loc="left")


def _shorten(name: str) -> str:
    """The name, without its middle if it is too long."""
    if len(name) <= _LONGEST:
        return name
    half = _LONGEST // 2
    return f"{name[:half]}…{name[-half + 1 :]}"


def _thousands(value: float) -> str:
    return f"{value / 1000:,.1f}k".replace(".0k", "k") if value >= 1000 else f"{value:,.0f}"


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


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


def _row_name(table: Table, row: TableRow) -> str:
    """The reader, with its window, and its model if there are several."""
    columns = ("Reader", "Model", "Window") if table.varies("Model") else ("Reader", "Window")
    return ", ".join(str(value) for name in columns if (value := row[name].value))


def _common_score(section: Section, names: Sequence[str]) -> str:
    """The first of the scores that all of our rows have, else the last."""
    ours = [row for row in section.rows if not row.paper]
    full = (name for name in names if all(row[name].value is not None for row in ours))
    return next(full, names[-1])


def _score_panel(table: Table, section: Section, names: Sequence[str]) -> Panel | None:
    """Readers below each other, with one score of them, the paper's in the same line."""
    score = _common_score(section, names)
    dots = score_dots(table, section, score)
    if sum(dot.ours is not None for dot in dots) < 2:
        return None

    def draw(axes: Any) -> None:
        _draw_dots(axes, dots)
        _set_title(axes, section.title, f": {score}, %")
        if any(dot.paper is not None for dot in dots):
            axes.annotate(
                "◇ the paper's",
                (1, 1),
                (0, 4),
                xycoords="axes fraction",
                textcoords="offset points",
                ha="right",
                fontsize=8,
                color=GREY,
            )

    return Panel(_LINE * len(dots), draw)


def _main_score_panel(table: Table, section: Section) -> Panel | None:
    """The shortest length of each dataset: others have a picture by length."""
    dataset = section.title.partition(", ")[0]
    first = next(one for one in table.sections if one.title.partition(", ")[0] == dataset)
    names = "LR-1", "Accuracy", "F1*", "F1"
    return _score_panel(table, section, names) if section is first else None


def score_dots(table: Table, section: Section, score: str) -> list[Dot]:
    """A dot for each reader; a reader that only the paper has gets a line of its own."""
    readers = {
        f"{_PAPER}{row['label']}": row["reader"]
        for row in paper_figures("graphreader")["table_2"]["rows"]
    }
    paper = {readers.get(_reader(row), ""): row for row in section.rows if row.paper}
    own = {_reader(row) for row in section.rows if not row.paper}
    dots = []
    for row in section.rows:
        reader = _reader(row)
        if not row.paper:
            beside = _percent(paper[reader][score].number) if reader in paper else None
            point, colour = Point.of(row[score]), reader_colour(reader)
            highlighted = reader.startswith(DEFAULT)
            dots.append(Dot(_row_name(table, row), point, beside, colour, highlighted))
        elif readers.get(reader, "") not in own and row[score].value is not None:
            dots.append(Dot(reader, None, _percent(row[score].number)))
    return dots


def _equal_reading_panel(table: Table, section: Section) -> Panel:
    dots = equal_reading_dots(section)

    def draw(axes: Any) -> None:
        _draw_dots(axes, dots)
        _set_title(axes, section.title, ": FCR, %")

    return Panel(_LINE * len(dots), draw)


def equal_reading_dots(section: Section) -> list[Dot]:
    """A reader's FCR once, and below it that of each retrieval with the same token budget."""
    dots: dict[str, Dot] = {}
    for row in section.rows:
        reader, retrieval = _reader(row), str(row["Retrieval"].value)
        own, other = Point.of(row["FCR of reader"]), Point.of(row["FCR of retrieval"])
        colour = reader_colour(reader)
        dots.setdefault(reader, Dot(reader, own, colour=colour, highlighted=True))
        name = f"{retrieval}, as much as {reader}"
        dots[name] = Dot(name, other, colour=reader_colour(retrieval))
    return list(dots.values())


def _length_panel(table: Table, section: Section) -> Panel | None:
    """A line a reader, over the lengths of the texts."""
    series = length_series(table, section)
    if not series:
        return None
    used = {at for one in series for at, _ in one.points}

    def draw(axes: Any) -> None:
        _draw_lines(axes, series, [tick for tick in _length_ticks(table) if tick[0] in used])
        _set_title(axes, section.title, ", %")
        axes.set_xlabel("Length of the text, tokens")

    return Panel(3.2, draw)


def _length_ticks(table: Table) -> list[tuple[float, str]]:
    columns = enumerate(table.columns)
    return [(float(at), column.name) for at, column in columns if column.style == "percent"]


def length_series(table: Table, section: Section) -> list[Series]:
    """The most important readers that were asked at several lengths, and the paper's own."""
    series = []
    for row in sorted(section.rows, key=_drawing_order):
        reader = _reader(row)
        points = tuple(
            (at, point)
            for at, name in _length_ticks(table)
            if name != NATIVE and (point := Point.of(row[name]))
        )
        if len(points) > 1 and (not row.paper or reader == f"{_PAPER}GraphReader"):
            name, colour = _row_name(table, row), reader_colour(reader)
            series.append(Series(name, points, colour, row.paper, reader == DEFAULT))
    ours = [one for one in series if not one.paper][:_MOST_SERIES]
    return ours + [one for one in series if one.paper]


def _drawing_order(row: TableRow) -> int:
    reader = _reader(row)
    return _FIRST.index(reader) if reader in _FIRST else len(_FIRST)


def _sweep_panel(table: Table, section: Section) -> Panel | None:
    """Scores over the numbers of the first column."""
    varied = table.columns[0].name
    numbers = sorted({row[varied].number or 0 for row in section.rows})
    if len(numbers) < 2:
        return None

    def draw(axes: Any) -> None:
        ticks = [(float(at), f"{number:g}") for at, number in enumerate(numbers)]
        _draw_lines(axes, sweep_series(table, section, numbers), ticks)
        _set_title(axes, section.title, ", %")
        axes.set_xlabel(varied)

    return Panel(2.4, draw)


def sweep_series(table: Table, section: Section, numbers: Sequence[float]) -> list[Series]:
    """Each score of each model."""
    series: dict[tuple[str, str], list[tuple[float, Point]]] = {}
    for row in section.rows:
        at = float(numbers.index(row[table.columns[0].name].number or 0))
        for score in _SCORE_COLOURS:
            if point := Point.of(row[score]):
                name = f"{score}, {row['Model'].value}" if table.varies("Model") else score
                series.setdefault((score, name), []).append((at, point))
    return [
        Series(name, tuple(points), _SCORE_COLOURS[score])
        for (score, name), points in series.items()
    ]


def _cost_panel(table: Table, section: Section) -> Panel | None:
    """Tokens a question, phase by phase."""
    phases = [
        phase for phase, name in PHASES.items() if any(row[name].number for row in table.rows)
    ]
    rows = [
        row
        for row in section.rows
        if not row.paper and any(row[PHASES[phase]].number for phase in phases)
    ]
    parts = {phase: [row[PHASES[phase]].number or 0.0 for row in rows] for phase in phases}

    def draw(axes: Any) -> None:
        _draw_bars(axes, [_row_name(table, row) for row in rows], parts)
        _set_title(axes, section.title, ": tokens by phase")

    return Panel(_LINE * len(rows), draw) if rows else None


_MOST_PAGES = re.compile(
    r"(?:read-agent-(?P<ours>[ps])(?:-(?P<up>\d{1,3}))?$"
    r"|paper: ReadAgent-(?P<theirs>[PS]), up to (?P<to>\d+)(?P<part>.*)$)"
)

_DEFAULT_PAGES = 5
"""Pages that `read-agent-p` and `read-agent-s` look up at most."""


def _pages_panel(table: Table, section: Section) -> Panel | None:
    """ReadAgent's score by how many pages it may look up (its table 1)."""
    score = _common_score(section, ("Accuracy", "LR-1", "ROUGE-L"))
    series = pages_series(table, section, score)
    if all(one.paper for one in series):
        return None

    def draw(axes: Any) -> None:
        numbers = sorted({int(at) for one in series for at, _ in one.points})
        _draw_lines(axes, series, [(at, str(at)) for at in numbers])
        _set_title(axes, section.title, f": {score}, %")
        axes.set_xlabel("Pages looked up at most")

    return Panel(2.4, draw)


def pages_series(table: Table, section: Section, score: str) -> list[Series]:
    """ReadAgent-P and -S, ours and the paper's, each that has several numbers of pages."""
    series: dict[tuple[str, bool], list[tuple[float, Point]]] = {}
    for row in section.rows:
        match, point = _MOST_PAGES.match(_reader(row)), Point.of(row[score])
        if not match or not point:
            continue
        if match["ours"]:
            model = f", {row['Model'].value}" if table.varies("Model") else ""
            name, pages = f"ReadAgent-{match['ours'].upper()}{model}", match["up"] or _DEFAULT_PAGES
        else:
            name, pages = f"{_PAPER}ReadAgent-{match['theirs']}{match['part']}", match["to"]
        series.setdefault((name, row.paper), []).append((int(pages), point))
    return [
        Series(name, tuple(sorted(points, key=lambda one: one[0])), PINK, paper)
        for (name, paper), points in series.items()
        if len(points) > 1
    ]


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
    make = _PANELS.get(table.name)
    panels = [panel for one in table.sections if make and (panel := make(table, one))]
    if not panels:
        return None
    warning = textwrap.fill(table.warning, _WARNING_LENGTH)
    if table.name not in _WITH_PAPER_FIGURES:
        warning = ""
    heights = [panel.height for panel in panels]
    above = _ABOVE + _WARNING_HEIGHT * len(warning.splitlines())
    height = sum(heights) + _AROUND * len(heights) + above
    figure = figures.Figure((_WIDTH, height), dpi=_DPI, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    subplots = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
    for (axes,), panel in zip(subplots, panels, strict=True):
        panel.draw(axes)
    if warning:
        figure.suptitle(warning, x=0.01, ha="left", fontsize=8, style="italic")
    _fix_layout(figure)
    return figure


def _fix_layout(figure: Any) -> None:
    """Lay out once: the solver's last digits differ from time to time."""
    figure.draw_without_rendering()
    places = [axes.get_position().bounds for axes in figure.axes]
    figure.set_layout_engine("none")
    for axes, place in zip(figure.axes, places, strict=True):
        axes.set_position([round(value, 4) for value in place])
