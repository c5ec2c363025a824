"""A small invented evaluation in `evaluated/`, and readings and tables for tests.

`evaluated/report.md` is the report of that evaluation. To rewrite it after an intended change:

    REWRITE_REPORT=1 pytest tests/unit/test_evaluation_report.py
"""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphreader.evaluation.measures import ReadingLine, readings_frame
from graphreader.evaluation.tables import Table, TableRow

if TYPE_CHECKING:
    from pandas import DataFrame

EVALUATED = Path(__file__).parent / "evaluated"
USAGE = {"calls": 0, "input_tokens": 0, "output_tokens": 0}


def copied(folder: Path) -> Path:
    """The evaluation in a folder that may be written to."""
    for name in ("readings.jsonl", "equal_reading.jsonl", "run.json"):
        shutil.copy(EVALUATED / name, folder / name)
    return folder


def as_line(**values: Any) -> str:
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
    return json.dumps({**line, **values})


def reading(**values: Any) -> ReadingLine:
    """The line as the tables read it."""
    return ReadingLine.model_validate_json(as_line(**values))


def frame(*lines: ReadingLine) -> "DataFrame":
    """The DataFrame of these lines."""
    return readings_frame(lines)


def rows(table: Table | None) -> list[TableRow]:
    """Our rows."""
    assert table is not None
    return table.own_rows


def paper_rows(table: Table | None) -> list[TableRow]:
    """The paper's rows."""
    assert table is not None
    return [row for row in table.rows if row.paper]


def values(table: Table | None, column: str) -> list[object]:
    """The values of a column in our rows."""
    return [row[column].value for row in rows(table)]


def cells(row: TableRow, *columns: str) -> list[object]:
    """The values of some columns of a row."""
    return [row[column].value for column in columns]
