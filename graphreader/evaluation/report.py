"""The report of an evaluation: its tables as Markdown, CSV and JSON, and pictures of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphreader.errors import UsageError
from graphreader.evaluation.paper_tables import all_tables, as_one
from graphreader.evaluation.plots import draw_plots
from graphreader.evaluation.tables import Results, Table, as_csv, as_json, page, plain, read_results
from graphreader.files import atomic_write

REPORT = "report"


@dataclass(frozen=True, slots=True)
class Report:
    """What was written: the main table is the first; `notes` say what could not be made."""

    tables: tuple[Table, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def write_report(folder: Path) -> Report:
    """Make the report of the evaluation in `folder`, in a folder `report` there.

    An earlier report's files of the same name are replaced. Raises UsageError where there is no
    evaluation, or one whose lines cannot be read.
    """
    results = as_one(read_results(folder))
    tables = tuple(all_tables(results))
    out = folder / REPORT
    out.mkdir(exist_ok=True)
    notes = []
    try:
        plots = draw_plots(tables, out)
    except UsageError as error:  # matplotlib is an extra
        plots, notes = [], [f"No plots: {error}."]
    pictures = [path.name for path in plots if path.suffix == ".svg"]
    warned = dict.fromkeys(table.warning for table in tables if table.warning)
    lead = [*map(plain, warned), *_lead(results), *map(plain, notes)]
    texts = {"report.md": page("Evaluation", lead, tables, pictures)}
    texts["report.json"] = _as_json(results, tables)
    texts.update({f"{table.name}.csv": as_csv(table) for table in tables})
    for name, text in texts.items():
        with atomic_write(out / name) as file:
            file.write(text.encode("utf-8", "replace"))
    return Report(tables, (*(out / name for name in texts), *plots), tuple(notes))


def _lead(results: Results) -> Sequence[str]:
    """What was asked of whom, before the tables."""
    lines = results.lines
    models = sorted({line.model for line in lines if line.model})
    questions = {(line.dataset, line.id) for line in lines}
    readers = {line.reader for line in lines}
    counted = (
        f"{_many(len(lines), 'reading')} of {_many(len(questions), 'question')} by "
        f"{_many(len(readers), 'reader')}"
    )
    asked = f"{counted}; models: {', '.join(models)}." if models else f"{counted}."
    told = [plain(asked)]
    if commands := _commands(results.run):
        told.append("\n".join(["Made by:", "", *(f"    {one}" for one in commands)]))
    return told


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _commands(run: Mapping[str, Any]) -> list[str]:
    """The commands in one line each, for a block of code."""
    told = run.get("commands")
    found = [" ".join(one.split()) for one in told or () if isinstance(one, str)]
    return list(dict.fromkeys(found)) if isinstance(told, list) else []


def _as_json(results: Results, tables: Sequence[Table]) -> str:
    told = {"run": results.run, "tables": [as_json(table) for table in tables]}
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"
