"""Tables for programs: CSV, one file each, and plain JSON types. Shares stay 0 to 1 there."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from graphreader.evaluation.tables.table import Cell, Row, Table, footnotes

_BESIDE = ("low", "high", "n")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: Table) -> str:
    """One line a row, with its section and source.

    An interval has two columns of its own, and the n of a column's means one, where they have any.
    """
    kept = [place for place in range(len(table.columns)) if _is_told(table, place)]
    parts = {place: _parts(table, place) for place in kept}
    heads = ["section", "source"]
    for place in kept:
        name = table.columns[place].name
        heads += [name, *(f"{name} {part}" for part in parts[place])]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_harmless, heads))
    for section in table.sections:
        for row in section.rows:
            values: list[Any] = [section.title, _source(row)]
            for place in kept:
                cell = row.cells[place]
                values += [
                    _exact(cell.value),
                    *(_exact(getattr(cell, one)) for one in parts[place]),
                ]
            writer.writerow(map(_harmless, values))
    return file.getvalue()


def as_json(table: Table) -> Mapping[str, Any]:
    """Plain JSON types; a cell is its value, or value, low and high, and n."""
    names = [column.name for column in table.columns]
    return {
        "name": table.name,
        "title": table.title,
        "warning": table.warning,
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
        "notes": footnotes(table),
    }


def _rows(table: Table) -> Iterable[Row]:
    return (row for section in table.sections for row in section.rows)


def _is_told(table: Table, place: int) -> bool:
    column = table.columns[place]
    return bool(column.missing) or any(row.cells[place].value is not None for row in _rows(table))


def _source(row: Row) -> str:
    return "paper" if row.paper else "ours"


def _parts(table: Table, place: int) -> list[str]:
    """What a column's cells have beside their values."""
    cells = [row.cells[place] for row in _rows(table)]
    return [part for part in _BESIDE if any(getattr(cell, part) is not None for cell in cells)]


def _told(cell: Cell) -> Any:
    beside = {part: _exact(getattr(cell, part)) for part in _BESIDE}
    known = {part: value for part, value in beside.items() if value is not None}
    return {"value": _exact(cell.value), **known} if known else _exact(cell.value)


def _exact(value: float | str | None) -> float | str | None:
    """Six digits behind the point are more than anything here is known by."""
    return round(value, 6) if isinstance(value, float) else value


def _harmless(value: Any) -> Any:
    """A text that a spreadsheet would calculate is told to be one; lines stay lines."""
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    return f"'{text}" if text.startswith(_FORMULA) else text
