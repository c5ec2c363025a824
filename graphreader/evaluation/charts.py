"""Three kinds of pictures: dots with intervals, lines with intervals, bars of parts.

They draw on axes that they are given and know nothing of evaluations. Colours are those of Okabe
and Ito, which colour-blind people tell apart; what is told by colour is told by a name beside, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#8C8C8C"
_MARKS = "osD^vP*"


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
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A named line; `points` are (place on the x axis, value). What a paper prints is dotted."""

    name: str
    points: tuple[tuple[float, Point], ...]
    paper: bool = False
    stands_out: bool = False


def dots(axes: Any, rows: Sequence[Dot]) -> None:
    """One line a row, the first on top; a hollow diamond is the paper's."""
    for at, row in enumerate(rows):
        colour = COLOURS[1] if row.stands_out else COLOURS[0]
        if row.ours:
            down, up = row.ours.reach
            axes.errorbar(
                row.ours.value, at, xerr=[[down], [up]], fmt="o", color=colour, ms=5, lw=1.5
            )
        if row.paper is not None:
            axes.plot(row.paper, at, "D", mfc="white", mec=GREY, ms=5, zorder=1)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row.stands_out:
            label.set_fontweight("bold")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-2, 102)
    _bare(axes, "x")


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
    """A line a series, named at its end; what stands out is orange and on top."""
    apart = 0.05  # intervals at the same place would hide each other
    ours = [one for one in series if not one.paper]
    colours = _colours(ours)
    for number, one in enumerate(ours):
        shift = (number - (len(ours) - 1) / 2) * apart
        reach = [point.reach for _, point in one.points]
        axes.errorbar(
            [at + shift for at, _ in one.points],
            [point.value for _, point in one.points],
            yerr=[[down for down, _ in reach], [up for _, up in reach]],
            color=colours[one.name],
            ecolor=(colours[one.name], 0.45),
            marker=_MARKS[number % len(_MARKS)],
            ms=5,
            lw=2.4 if one.stands_out else 1.4,
            elinewidth=1.2,
            zorder=4 if one.stands_out else 3,
        )
    for one in series:
        if one.paper:
            x = [at for at, _ in one.points]
            axes.plot(x, [point.value for _, point in one.points], ":", color=GREY, lw=1.6)
    axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks])
    axes.set_xlim(ticks[0][0] - 0.3, ticks[-1][0] + 0.25)
    most = max((point.value + point.reach[1] for one in series for _, point in one.points))
    axes.set_ylim(0, min(102, most * 1.04 + 1))
    _bare(axes, "y")
    _name_ends(axes, series, colours, ticks[-1][0])


def _colours(series: Sequence[Series]) -> dict[str, str]:
    """What stands out is orange, nothing else is, unless nothing stands out."""
    first, *rest = [COLOURS[1], COLOURS[0], *COLOURS[2:]]
    rest = rest if any(one.stands_out for one in series) else [*rest, first]
    others = [one.name for one in series if not one.stands_out]
    told = {name: rest[at % len(rest)] for at, name in enumerate(others)}
    return told | {one.name: first for one in series if one.stands_out}


def _name_ends(
    axes: Any, series: Sequence[Series], colours: Mapping[str, str], right: float
) -> None:
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
            one.name,
            (right + 0.25, place - over),
            (4, 0),
            textcoords="offset points",
            color=GREY if one.paper else colours[one.name],
            va="center",
            fontsize=8,
            annotation_clip=False,
            style="italic" if one.paper else "normal",
            weight="bold" if one.stands_out else "normal",
        )


def bars(
    axes: Any, names: Sequence[str], parts: Sequence[tuple[str, Sequence[float]]], legend: bool
) -> None:
    """A bar a name, made of parts, the sum at its end; with `legend` the parts' names above."""
    ends = [0.0] * len(names)
    for number, (part, values) in enumerate(parts):
        axes.barh(
            range(len(names)),
            values,
            left=list(ends),
            color=COLOURS[number % len(COLOURS)],
            label=part,
            height=0.7,
            edgecolor="white",
        )
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    for at, end in enumerate(ends):
        axes.annotate(
            _thousands(end), (end, at), (4, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_yticks(range(len(names)), names)
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


def _thousands(value: float) -> str:
    return f"{value / 1000:,.1f}k".replace(".0k", "k") if value >= 1000 else f"{value:,.0f}"


def _bare(axes: Any, grid: str) -> None:
    """Nothing but what helps to read a value."""
    axes.grid(axis=grid, color="#E3E3E3", lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
