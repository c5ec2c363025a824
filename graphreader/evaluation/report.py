"""The report of an evaluation: its tables as Markdown, CSV and JSON, and pictures of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphreader.errors import UsageError
from graphreader.evaluation.measures import Results, read_results
from graphreader.evaluation.paper_tables import all_tables, merge_same_reader
from graphreader.evaluation.plots import draw_plots
from graphreader.evaluation.tables import Table, as_csv, as_json, as_markdown, escape_markdown
from graphreader.files import atomic_write

REPORT = "report"


@dataclass(frozen=True, slots=True)
class Report:
    """The tables and files of a report, the main table first; `notes` say what is missing."""

    tables: tuple[Table, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def write_report(folder: Path) -> Report:
    """Make the report of the evaluation in `folder`, in a folder `report` there.

    An earlier report's files of the same name are replaced. Raises UsageError where there is no
    evaluation, or one whose lines cannot be read, and without pandas.
    """
    results = merge_same_reader(read_results(folder))
    tables = tuple(all_tables(results))
    out = folder / REPORT
    out.mkdir(exist_ok=True)
    notes = []
    try:
        plots = draw_plots(tables, out)
    except UsageError as error:  # matplotlib is an extra
        plots, notes = [], [f"No plots: {error}."]
    pictures = [path.name for path in plots if path.suffix == ".svg"]
    warnings = dict.fromkeys(table.warning for table in tables if table.warning)
    lead = [
        *map(escape_markdown, warnings),
        escape_markdown(_summary(results)),
        *_command_block(results.run),
        *map(escape_markdown, notes),
    ]
    content = {"run": results.run, "tables": [as_json(table) for table in tables]}
    texts = {
        "report.md": as_markdown("Evaluation", lead, tables, pictures),
        "report.json": json.dumps(content, ensure_ascii=False, indent=1) + "\n",
        **{f"{table.name}.csv": as_csv(table) for table in tables},
    }
    for name, text in texts.items():
        with atomic_write(out / name) as file:
            file.write(text.encode("utf-8", "replace"))
    return Report(tables, (*(out / name for name in texts), *plots), tuple(notes))


def _summary(results: Results) -> str:
    """How many readings, questions, readers and models there are."""
    lines = results.lines
    questions = {(line.dataset, line.id) for line in lines}
    counts = (
        f"{_count(len(lines), 'reading')} of {_count(len(questions), 'question')} by "
        f"{_count(len({line.reader for line in lines}), 'reader')}"
    )
    models = ", ".join(sorted({line.model for line in lines if line.model}))
    return f"{counts}; models: {models}." if models else f"{counts}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _command_block(run: Mapping[str, Any]) -> Sequence[str]:
    """A block of the different commands that filled the folder; none if they are not known."""
    known = run.get("commands")
    commands = known if isinstance(known, list) else []
    lines = dict.fromkeys(" ".join(one.split()) for one in commands if isinstance(one, str))
    return ["\n".join(["Made by:", "", *(f"    {one}" for one in lines)])] if lines else []
