"""Small invented evaluations in `evaluated/`, and readings and tables for tests.

`evaluated/report.md` is the report of one, `evaluated/variants/report.md` that of the other. To
rewrite them after an intended change:

    REWRITE_REPORT=1 pytest tests/unit/test_evaluation_report.py
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from graphreader.evaluation.measures import Results
from graphreader.evaluation.report import all_tables
from graphreader.evaluation.tables import Table
from graphreader.files import Line

EVALUATED = Path(__file__).parent / "evaluated"


def copy_evaluation(stored: Path, folder: Path) -> Path:
    """Copy a stored evaluation into a folder that may be written to."""
    for name in ("readings.jsonl", "building.jsonl", "equal_reading.jsonl", "run.json"):
        shutil.copy(stored / name, folder / name)
    return folder


def reading(**values: Any) -> dict[str, Any]:
    """One line of `readings.jsonl`."""
    line = {
        "id": "q1",
        "dataset": "musique",
        "reader": "graphreader",
        "length": "native",
        "model": "",
        "repeat": 0,
        "answered": True,
        "em": 1.0,
        "f1": 1.0,
        "documents_read": [],
        "documents_cited": [],
        "gold_documents": [],
        "tokens_read": 100,
        "usage": {"calls": 0, "input_tokens": 0, "output_tokens": 0},
        "seconds": 1.0,
        "error": None,
    }
    return line | values


def as_line(**values: Any) -> str:
    """The line as text."""
    return json.dumps(reading(**values))


def tables(
    *lines: Line,
    equal: Sequence[Line] = (),
    building: Mapping[str, int] = MappingProxyType({}),
    **run: Any,
) -> dict[str, Table]:
    """The tables of these lines, by their names; `run` is what `run.json` has."""
    return {table.name: table for table in all_tables(Results(lines, equal, run, building))}


def cells(table: Table, *columns: str, paper: bool = False) -> list[list[object]]:
    """The values of some columns in our rows, or in the paper's."""
    rows = (row for row in table.rows if row.paper is paper)
    return [[row[column].value for column in columns] for row in rows]
