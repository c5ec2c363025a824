"""How a cell is written for people: 45.0 (38.2–52.1; n 38), 4,096, 9.4k; a dash for nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from graphreader.evaluation.tables.table import Cell, Style

DASH = "–"


def written(cell: Cell, style: Style) -> str:
    """The value, with its interval where it has one, and its n."""
    beside = []
    if cell.low is not None and cell.high is not None:
        between = "–" if cell.low >= 0 else " to "
        beside.append(f"{figure(cell.low, style)}{between}{figure(cell.high, style)}")
    if cell.n is not None:
        beside.append(f"n {cell.n:,}")
    value = figure(cell.value, style)
    return f"{value} ({'; '.join(beside)})" if beside else value


def briefly(cell: Cell, style: Style) -> str:
    """The same without the interval."""
    return written(replace(cell, low=None), style)


def figure(value: float | str | None, style: Style) -> str:
    """The value alone."""
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    return _FIGURES[style](value)


def _decimal(value: float) -> str:
    return f"{value:,.2f}" if abs(value) < 10 else f"{value:,.1f}"


def _tokens(value: float) -> str:
    return f"{value / 1000:,.1f}k" if abs(value) >= 1000 else f"{value:,.0f}"


_FIGURES: Mapping[Style, Callable[[float], str]] = {
    "text": str,
    "percent": lambda value: _no_minus(100 * value),
    "count": lambda value: f"{value:,.0f}",
    "decimal": _decimal,
    "tokens": _tokens,
    "seconds": lambda value: f"{value:,.2f}",
    "dollars": lambda value: f"{value:,.4f}",
}


def _no_minus(value: float) -> str:
    """One digit behind the point, and no minus before a zero."""
    return f"{round(value, 1) + 0.0:.1f}"
