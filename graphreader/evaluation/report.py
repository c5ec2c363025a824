"""The report of an evaluation: its tables as Markdown, CSV and JSON, and pictures of them."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphreader.errors import UsageError
from graphreader.evaluation.measures import (
    Results,
    equal_budget_frame,
    read_results,
    readings_frame,
)
from graphreader.evaluation.metrics.answers import import_extra
from graphreader.evaluation.paper_tables import paper_tables
from graphreader.evaluation.plots import draw_plots
from graphreader.evaluation.tables import (
    DASH,
    Cell,
    Column,
    Section,
    Table,
    TableRow,
    best_values,
    footnotes,
    format_cell,
    visible_columns,
)
from graphreader.files import Line, atomic_write
from graphreader.settings import OFFLINE

REPORT = "report"


@dataclass(frozen=True, slots=True)
class Report:
    """The tables and files of a report, the main table first; `notes` say what is missing."""

    tables: tuple[Table, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def write_report(folder: Path) -> Report:
    """Make the report in the folder `report` of the evaluation's `folder`. Raises UsageError."""
    results = read_results(folder)
    tables = tuple(all_tables(results))
    out = folder / REPORT
    out.mkdir(exist_ok=True)
    notes = []
    try:
        plots = draw_plots(tables, out)
    except UsageError as error:  # matplotlib is an extra
        plots, notes = [], [f"No plots: {error}."]
    warnings = dict.fromkeys(table.warning for table in tables if table.warning)
    commands = dict.fromkeys(results.run.get("commands", ()))
    lead = [
        *map(escape_markdown, (*warnings, _summary(results.lines))),
        *(["\n".join(["Made by:", "", *(f"    {one}" for one in commands)])] if commands else []),
        *map(escape_markdown, notes),
    ]
    content = {"run": results.run, "tables": [as_json(table) for table in tables]}
    texts = {
        "report.md": as_markdown(lead, tables, {path.stem for path in plots}),
        "report.json": json.dumps(content, ensure_ascii=False, indent=1) + "\n",
        **{f"{table.name}.csv": as_csv(table) for table in tables},
    }
    for name, text in texts.items():
        with atomic_write(out / name) as file:
            file.write(text.encode("utf-8", "replace"))
    return Report(tables, (*(out / name for name in texts), *plots), tuple(notes))


def all_tables(results: Results) -> list[Table]:
    """The tables that these results fill, the main one first."""
    frame = readings_frame(results.lines)
    equal = equal_budget_frame(results.equal)
    tables = paper_tables(frame, equal, results.run)
    notes = results.run.get("notes", ())
    tables[0] = replace(tables[0], notes=(*tables[0].notes, *notes))
    warning = _offline_warning({line["model"] for line in results.lines})
    for at, table in enumerate(tables):
        beside_paper = table.name != "datasets" and any(row.paper for row in table.rows)
        if beside_paper or table.name in _WITH_PAPER_NOTE:
            tables[at] = replace(table, warning=warning)
    return tables


_WITH_PAPER_NOTE = ("initial_nodes", "chunk_size", "recall_by_length")
"""Tables whose notes say in words what a figure of the paper shows."""


def _offline_warning(models: Collection[str]) -> str:
    """The warning above tables with figures of a paper; empty if models answered everywhere."""
    if OFFLINE not in models:
        return ""
    where = "here" if len(models) == 1 else f'where the model is "{OFFLINE}"'
    return (
        f"No language model answered {where} (the offline decider takes sentences out of the "
        "texts): these figures are not comparable with the paper's."
    )


def _summary(lines: Sequence[Line]) -> str:
    questions = {(line["dataset"], line["id"]) for line in lines}
    readers = {line["reader"] for line in lines}
    counts = (
        f"{_count(len(lines), 'reading')} of {_count(len(questions), 'question')} by "
        f"{_count(len(readers), 'reader')}"
    )
    models = ", ".join(sorted({line["model"] for line in lines if line["model"]}))
    return f"{counts}; models: {models}." if models else f"{counts}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# ------------------------------------------------------------------ Markdown, CSV, JSON

_PARTS = ("low", "high", "n")
_COLUMN_PARTS = ("", *(f" {part}" for part in _PARTS))


def as_csv(table: Table) -> str:
    """One line a row, with its section and source; intervals and n have columns of their own."""
    lines = []
    for section in table.sections:
        for row in section.rows:
            line: dict[str, Any] = {"section": section.title, "source": _source(row)}
            for name, cell in row.cells.items():
                line[name] = _rounded(cell.value)
                line |= {f"{name} {part}": _rounded(getattr(cell, part)) for part in _PARTS}
            lines.append(line)
    names = (one.name for one in table.columns)
    columns = ["section", "source", *(f"{name}{part}" for name in names for part in _COLUMN_PARTS)]
    frame = import_extra("pandas", "A report").DataFrame(lines, columns=columns, dtype=object)
    return str(frame.dropna(axis="columns", how="all").to_csv(index=False))


def as_json(table: Table) -> Mapping[str, Any]:
    """Plain JSON types; a cell is its value, or an object of value, low, high and n."""

    def encoded(row: TableRow) -> Mapping[str, Any]:
        cells = {column.name: _json_cell(row[column.name]) for column in table.columns}
        return {"source": _source(row), "cells": cells}

    return {
        "name": table.name,
        "title": table.title,
        "warning": table.warning,
        "sections": [
            {"title": one.title, "rows": [encoded(row) for row in one.rows]}
            for one in table.sections
        ],
        "notes": footnotes(table),
    }


def _source(row: TableRow) -> str:
    return "paper" if row.paper else "ours"


def _json_cell(cell: Cell) -> Any:
    parts = {part: _rounded(getattr(cell, part)) for part in _PARTS}
    known = {part: value for part, value in parts.items() if value is not None}
    return {"value": _rounded(cell.value), **known} if known else _rounded(cell.value)


def _rounded(value: float | str | None) -> float | str | None:
    """Six digits after the point: no figure is known more exactly."""
    return round(value, 6) if isinstance(value, float) else value


_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&@])")


def escape_markdown(text: str) -> str:
    """The text in one line, without anything that Markdown or HTML takes for markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def as_markdown(lead: Sequence[str], tables: Iterable[Table], pictures: Collection[str]) -> str:
    """The whole report. A picture, an SVG of a table's name, follows the table."""
    parts = ["# Evaluation", *lead]
    for table in tables:
        parts += _table_parts(table)
        if table.name in pictures:
            parts.append(f"![{escape_markdown(table.title)}]({table.name}.svg)")
    return "\n\n".join(parts) + "\n"


def _table_parts(table: Table) -> Iterator[str]:
    yield f"## {escape_markdown(table.title)}"
    if table.warning:
        yield escape_markdown(table.warning)
    for section in table.sections:
        yield from [f"### {escape_markdown(section.title)}"] if section.title else []
        yield _markdown_section(table, section)
    if notes := footnotes(table):
        yield "\n".join(f"- {escape_markdown(note)}" for note in notes)


def _markdown_section(table: Table, section: Section) -> str:
    columns = visible_columns(table, section)
    heads = [escape_markdown(column.name) for column in columns]
    rules = ["---" if column.style == "text" else "---:" for column in columns]
    best = {one.name: best_values(section, one.name) for one in columns if one.ranked}
    rows = [
        [_markdown_cell(row, column, best.get(column.name, (None, None))) for column in columns]
        for row in section.rows
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rules, *rows))


def _markdown_cell(row: TableRow, column: Column, best: tuple[float | None, float | None]) -> str:
    """The best value in bold, the second underlined, a paper's in italics."""
    cell = row[column.name]
    text = escape_markdown(format_cell(cell, column.style))
    if row.paper:
        return f"*{text}*" if cell.value is not None else DASH
    value, space, rest = text.partition(" ")
    if row.ranked and cell.number is not None and best[0] is not None:
        marks = {best[1]: f"<ins>{value}</ins>", best[0]: f"**{value}**"}
        value = marks.get(round(cell.number, 3), value)
    return f"{value}{space}{rest}"
