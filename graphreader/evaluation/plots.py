"""Three kinds of pictures: dots with intervals, lines with intervals, bars of parts.

They draw on axes that they are given, in colours that they are given, and know nothing of
evaluations.

How each table is drawn: what of it, as which kind of chart, and how much room that takes.

How tables are drawn that vary one number: initial nodes, a chunk's size, most pages.

Pictures of the tables, PNG and SVG. They show what stands in the tables and compute nothing.

matplotlib is imported when the first picture is drawn; without it there are no pictures. The same
tables give the same SVG, byte by byte.

Which colour means what: the same one in every picture, whatever else is drawn there.

The colours are those of Okabe and Ito, which colour-blind people tell apart; what is told by colour
is told by a name beside, too. Readers of one kind share a colour, for there are more readers than
colours that can be told apart.
"""

import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from graphreader.evaluation import paper_tables
from graphreader.evaluation import tables as tables_module
from graphreader.evaluation.metrics.answers import package
from graphreader.evaluation.paper_tables import PHASES as PHASES_paper_tables
from graphreader.evaluation.tables import NATIVE, Cell, Row, Section, Table, varies
from graphreader.files import atomic_write

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
YELLOW, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#8C8C8C"

_READERS: Mapping[str, str] = {
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
"""By how their names begin; golden and what somebody named otherwise are grey."""

PHASES: Mapping[str, str] = {
    "plan": BLUE,
    "select": ORANGE,
    "explore": GREEN,
    "look_up": PINK,
    "read": YELLOW,
    "answer": SKY,
}

SCORES: Mapping[str, str] = {"LR-1": ORANGE, "F1": BLUE, "FCR": GREEN}


def of_reader(name: str) -> str:
    """The colour of a reader."""
    return next((colour for kind, colour in _READERS.items() if name.startswith(kind)), GREY)


_MARKS = "osD^vP*"

_STROKES = ("-", "--", "-.", (0, (1, 1)))
"""For series of the same colour."""

LINE = 0.22
"""Inches that a name takes in height."""

_LONGEST = 44
"""Characters of a name; what is longer loses its middle."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value of percent, perhaps with its interval."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def reach(self) -> tuple[float, float]:
        """How far the interval goes down and up."""
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        return max(0.0, self.value - low), max(0.0, high - self.value)


@dataclass(frozen=True, slots=True)
class Dot:
    """A named line of a dot plot: our value, and what a paper prints for the same."""

    name: str
    ours: Point | None
    paper: float | None = None
    colour: str = GREY
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A named line; `points` are (place on the x axis, value). What a paper prints is dotted."""

    name: str
    points: tuple[tuple[float, Point], ...]
    colour: str = GREY
    paper: bool = False
    stands_out: bool = False


def dots(axes: Any, rows: Sequence[Dot]) -> None:
    """One line a row, the first on top; a hollow diamond is the paper's."""
    for at, row in enumerate(rows):
        if row.ours:
            down, up = row.ours.reach
            reach = [[down], [up]]
            axes.errorbar(row.ours.value, at, xerr=reach, fmt="o", color=row.colour, ms=5, lw=1.5)
        if row.paper is not None:
            axes.plot(row.paper, at, "D", mfc="white", mec=GREY, ms=5, zorder=1)
    axes.set_yticks(range(len(rows)), [shortened(row.name) for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row.stands_out:
            label.set_fontweight("bold")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-2, 102)
    _bare(axes, "x")


def display_name(axes: Any, dataset: str, rest: str) -> None:
    """Say above the axes, on the left, what is in them."""
    axes.set_title(shortened(dataset) + rest, loc="left")


def explain(axes: Any, words: str) -> None:
    """Say above the axes, on the right, what a sign means."""
    axes.annotate(
        words,
        (1, 1),
        (0, 4),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color=GREY,
    )


def lines(axes: Any, series: Sequence[Series], ticks: Sequence[tuple[float, str]]) -> None:
    """A line a series, named at its end; what stands out is thick and on top."""
    apart = 0.05  # intervals at the same place would hide each other
    ours = [one for one in series if not one.paper]
    alike: Counter[str] = Counter()
    for number, one in enumerate(ours):
        shift = (number - (len(ours) - 1) / 2) * apart
        reach = [point.reach for _, point in one.points]
        axes.errorbar(
            [at + shift for at, _ in one.points],
            [point.value for _, point in one.points],
            yerr=[[down for down, _ in reach], [up for _, up in reach]],
            color=one.colour,
            ecolor=(one.colour, 0.45),
            linestyle=_STROKES[alike[one.colour] % len(_STROKES)],
            marker=_MARKS[number % len(_MARKS)],
            ms=5,
            lw=2.4 if one.stands_out else 1.4,
            elinewidth=1.2,
            zorder=4 if one.stands_out else 3,
        )
        alike[one.colour] += 1
    for one in series:
        if one.paper:
            x = [at for at, _ in one.points]
            axes.plot(x, [point.value for _, point in one.points], ":", color=GREY, lw=1.6)
    axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks])
    axes.set_xlim(ticks[0][0] - 0.3, ticks[-1][0] + 0.25)
    most = max((point.value + point.reach[1] for one in series for _, point in one.points))
    top = min(102, most * 1.04 + 1)
    axes.set_ylim(-0.015 * top, top)  # room for the marks of what is 0
    _bare(axes, "y")
    _name_ends(axes, series, ticks[-1][0])


def _name_ends(axes: Any, series: Sequence[Series], right: float) -> None:
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
            shortened(one.name),
            (right + 0.25, place - over),
            (4, 0),
            textcoords="offset points",
            color=GREY if one.paper else one.colour,
            va="center",
            fontsize=8,
            annotation_clip=False,
            style="italic" if one.paper else "normal",
            weight="bold" if one.stands_out else "normal",
        )


@dataclass(frozen=True, slots=True)
class Part:
    """A part of each bar of a chart."""

    name: str
    colour: str
    values: tuple[float, ...]


def bars(axes: Any, names: Sequence[str], parts: Sequence[Part], legend: bool) -> None:
    """A bar a name, made of parts, the sum at its end; with `legend` the parts' names above."""
    ends = [0.0] * len(names)
    for part in parts:
        axes.barh(
            range(len(names)),
            part.values,
            left=list(ends),
            color=part.colour,
            label=part.name,
            height=0.7,
            edgecolor="white",
        )
        ends = [end + value for end, value in zip(ends, part.values, strict=True)]
    for at, end in enumerate(ends):
        axes.annotate(
            _thousands(end), (end, at), (4, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_yticks(range(len(names)), list(map(shortened, names)))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, max(ends, default=0) * 1.12 or 1)
    axes.xaxis.set_major_formatter(lambda value, _: _thousands(value))
    if legend:
        axes.figure.legend(
            *axes.get_legend_handles_labels(),
            loc="outside upper left",
            ncols=len(parts),
            frameon=False,
            fontsize=8,
            handlelength=1,
        )
    _bare(axes, "x")


def shortened(name: str) -> str:
    """The name, without its middle where there is no room for all of it."""
    if len(name) <= _LONGEST:
        return name
    half = _LONGEST // 2
    return f"{name[:half]}…{name[-half + 1 :]}"


def _thousands(value: float) -> str:
    return f"{value / 1000:,.1f}k".replace(".0k", "k") if value >= 1000 else f"{value:,.0f}"


def _bare(axes: Any, grid: str) -> None:
    """Nothing but what helps to read a value."""
    axes.grid(axis=grid, color="#E3E3E3", lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


_PAPER = "paper: "

_MOST_SERIES = 6
"""Lines that can be told apart in one picture; the others stand in the table."""

_FIRST = (
    tables_module.DEFAULT,
    "full-text",
    "read-agent-s",
    "rag-embedding-3",
    "rag-bm25-3",
    tables_module.PAPER,
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
            for row in paper_tables.graphreader("table_2")["rows"]
        }

    def height(self, section: Section) -> float:
        """In inches; 0 where there is nothing to draw."""
        rows = self._rows(section)
        is_drawn = section in self._drawn and sum(row.ours is not None for row in rows) > 1
        return LINE * len(rows) if is_drawn else 0

    def draw(self, axes: Any, section: Section) -> None:
        """The section in these axes."""
        rows = self._rows(section)
        dots(axes, rows)
        display_name(axes, section.title, f": {self._name(section)}, %")
        if any(row.paper is not None for row in rows):
            explain(axes, "◇ the paper's")

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
                colour = of_reader(reader)
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
        lines(axes, series, [tick for tick in self._ticks if tick[0] in used])
        display_name(axes, section.title, ", %")
        axes.set_xlabel(self._axis)

    def _series(self, section: Section) -> list[Series]:
        found = []
        for row in sorted(section.rows, key=_telling):
            reader, is_best = str(row.cells[0].value), row.cells[0].value == tables_module.DEFAULT
            points = self._points(row)
            if len(points) > 1 and (not row.paper or reader == f"{_PAPER}GraphReader"):
                colour = of_reader(reader)
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
        places = {phase: table.place(name) for phase, name in PHASES_paper_tables.items()}
        self._places = {
            phase: place
            for phase, place in places.items()
            if any(_number(row.cells[place]) for row in rows)
        }

    def height(self, section: Section) -> float:
        """In inches; 0 where there is nothing to draw."""
        rows = self._rows(section)
        return LINE * len(rows)

    def draw(self, axes: Any, section: Section) -> None:
        """The section in these axes."""
        rows = self._rows(section)
        parts = [
            Part(
                PHASES_paper_tables[phase],
                PHASES[phase],
                tuple(_number(row.cells[place]) for row in rows),
            )
            for phase, place in self._places.items()
        ]
        is_first = axes.figure.axes[0] is axes
        bars(axes, [_name(self._table, row) for row in rows], parts, legend=is_first)
        display_name(axes, section.title, ": tokens by phase")

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
        return LINE * len(self._rows(section))

    def draw(self, axes: Any, section: Section) -> None:
        """The section in these axes."""
        dots(axes, self._rows(section))
        display_name(axes, section.title, ": FCR, %")

    def _rows(self, section: Section) -> list[Dot]:
        ours, theirs = self._table.place("FCR of reader"), self._table.place("FCR of retrieval")
        found: dict[str, Dot] = {}
        for row in section.rows:
            reader, retrieval = (
                str(row.cells[self._table.place(one)].value) for one in ("Reader", "Retrieval")
            )
            own, other = map(of_reader, (reader, retrieval))
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
    return reader.startswith(tables_module.DEFAULT)


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


_MOST_PAGES = re.compile(
    r"(?:read-agent-(?P<ours>[ps])(?:-(?P<up>\d{1,3}))?$"
    r"|paper: ReadAgent-(?P<theirs>[PS]), up to (?P<to>\d+)(?P<part>.*)$)"
)

_UNNUMBERED = 5
"""Pages that `read-agent-p` and `read-agent-s` look up at most."""

_READ_AGENT = of_reader("read-agent")


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
        lines(axes, self._series(section, numbers), ticks)
        display_name(axes, section.title, ", %")
        axes.set_xlabel(self._table.columns[0].name)

    def _series(self, section: Section, numbers: Sequence[float]) -> list[Series]:
        """Each score of each model."""
        model = self._table.place("Model")
        several = varies(self._table, model)
        found: dict[tuple[str, str], list[tuple[float, Point]]] = {}
        for row in section.rows:
            for score in SCORES:
                if value := point(row.cells[self._table.place(score)]):
                    name = f"{score}, {row.cells[model].value}" if several else score
                    at = float(numbers.index(_varied(row)))
                    found.setdefault((score, name), []).append((at, value))
        return [
            Series(name, tuple(points), SCORES[score]) for (score, name), points in found.items()
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
        lines(axes, series, [(at, str(at)) for at in numbers])
        display_name(axes, section.title, f": {self._score(section)}, %")
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
    with atomic_write(path) as file:
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
