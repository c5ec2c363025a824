"""Tables for programs: CSV, one file each, and plain JSON types. Shares stay 0 to 1 there."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from graphreader.evaluation.tables.table import Cell, Row, Table, reasons

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: Table) -> str:
    """One line a row, with its section and source; an interval has two columns of its own."""
    kept = [place for place in range(len(table.columns)) if _is_told(table, place)]
    wide = {
        place for place in kept if any(row.cells[place].low is not None for row in _rows(table))
    }
    heads = ["section", "source"]
    for place in kept:
        name = table.columns[place].name
        heads += [name, f"{name} low", f"{name} high"] if place in wide else [name]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_harmless, heads))
    for section in table.sections:
        for row in section.rows:
            values: list[Any] = [section.title, _source(row)]
            for place in kept:
                values += _values(row.cells[place], place in wide)
            writer.writerow(map(_harmless, values))
    return file.getvalue()


def as_json(table: Table) -> Mapping[str, Any]:
    """Plain JSON types; a cell is its value, or value, low and high."""
    names = [column.name for column in table.columns]
    return {
        "name": table.name,
        "title": table.title,
        "sections": [
            {
                "title": section.title,
                "rows": [
                    {
                        "source": _source(row),
                        "cells": dict(zip(names, map(_told, row.cells), strict=True)),
                    }
                    for row in section.rows
                ],
            }
            for section in table.sections
        ],
        "notes": [*table.notes, *reasons(table)],
    }


def _rows(table: Table) -> Iterable[Row]:
    return (row for section in table.sections for row in section.rows)


def _is_told(table: Table, place: int) -> bool:
    column = table.columns[place]
    return bool(column.missing) or any(row.cells[place].value is not None for row in _rows(table))


def _source(row: Row) -> str:
    return "paper" if row.paper else "ours"


def _values(cell: Cell, with_interval: bool) -> list[float | str | None]:
    values = (cell.value, cell.low, cell.high) if with_interval else (cell.value,)
    return [_exact(value) for value in values]


def _told(cell: Cell) -> Any:
    if cell.low is None or cell.high is None:
        return _exact(cell.value)
    return {"value": _exact(cell.value), "low": _exact(cell.low), "high": _exact(cell.high)}


def _exact(value: float | str | None) -> float | str | None:
    """Six digits behind the point are more than anything here is known by."""
    return round(value, 6) if isinstance(value, float) else value


def _harmless(value: Any) -> Any:
    """A text that a spreadsheet would calculate is told to be one; lines stay lines."""
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    return f"'{text}" if text.startswith(_FORMULA) else text
