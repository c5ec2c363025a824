"""How a cell is written for people: 45.0 (38.2–52.1), 4,096, 9.4k; a dash for nothing."""

from collections.abc import Callable, Mapping

from graphreader.evaluation.tables.table import Cell, Style

DASH = "–"


def written(cell: Cell, style: Style) -> str:
    """The value, with its interval where it has one."""
    value = figure(cell.value, style)
    if cell.low is None or cell.high is None:
        return value
    between = "–" if cell.low >= 0 else " to "
    return f"{value} ({figure(cell.low, style)}{between}{figure(cell.high, style)})"


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
