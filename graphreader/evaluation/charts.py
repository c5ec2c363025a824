"""Three kinds of pictures: dots with intervals, lines with intervals, bars of parts.

They draw on axes that they are given, in colours that they are given, and know nothing of
evaluations.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphreader.evaluation.colours import GREY

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


def name(axes: Any, dataset: str, rest: str) -> None:
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
