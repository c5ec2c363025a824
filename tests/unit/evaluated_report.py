"""A small evaluation, invented, that lies in `evaluated/`; and lines of one's own.

`report.md` there is what its report must be. After a change of the report that is meant:

    REWRITE_REPORT=1 pytest tests/unit/test_report_golden.py
"""

import json
import shutil
from pathlib import Path
from typing import Any

from graphreader.evaluation.tables import Cell, Line, Table

EVALUATED = Path(__file__).parent / "evaluated"
USAGE = {"calls": 0, "input_tokens": 0, "output_tokens": 0}


def copied(folder: Path) -> Path:
    """The evaluation in a folder that may be written to."""
    for name in ("readings.jsonl", "equal_reading.jsonl", "run.json"):
        shutil.copy(EVALUATED / name, folder / name)
    return folder


def as_line(**told: Any) -> str:
    """One line of `readings.jsonl`."""
    line = {
        "id": "q1",
        "dataset": "musique",
        "reader": "graphreader",
        "length": "native",
        "answer": "Bologna",
        "answered": True,
        "em": 1.0,
        "f1": 1.0,
        "documents_read": [],
        "documents_cited": [],
        "tokens_read": 100,
        "usage": USAGE,
        "seconds": 1.0,
    }
    return json.dumps({**line, **told})


def reading(**told: Any) -> Line:
    """The same, as the tables have it."""
    return Line.model_validate_json(as_line(**told))


def rows(table: Table | None) -> list[dict[str, Cell]]:
    """Our rows, by the names of the columns."""
    assert table is not None
    names = [column.name for column in table.columns]
    return [
        dict(zip(names, row.cells, strict=True))
        for section in table.sections
        for row in section.rows
        if not row.paper
    ]


def printed(table: Table | None) -> list[dict[str, Cell]]:
    """The paper's rows, in the same way."""
    assert table is not None
    names = [column.name for column in table.columns]
    return [
        dict(zip(names, row.cells, strict=True))
        for section in table.sections
        for row in section.rows
        if row.paper
    ]


def values(table: Table | None, column: str) -> list[object]:
    """Those of one column, in our rows."""
    return [row[column].value for row in rows(table)]
