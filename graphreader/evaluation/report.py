"""The report of an evaluation: a page, its tables as Markdown, CSV and JSON, and pictures."""

import json
import re
from base64 import b64encode
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
from graphreader.pages.page import fill
from graphreader.settings import OFFLINE

REPORT, QUALITY = "report", "quality_and_cost"

_OLDER = (
    "An older version made some readings, without the cost of building and the tokens of texts in "
    'the encoding of GPT-4: "Building a text", "Context" and table 1 lack them.'
)


@dataclass(frozen=True, slots=True)
class Report:
    """The report of an evaluation: tables, the main table first, and files.

    `notes` say what is missing.
    """

    tables: tuple[Table, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def write_report(folder: Path) -> Report:
    """Write the report to the subfolder `report` of a results folder. Raises UsageError."""
    results = read_results(folder)
    tables = tuple(all_tables(results))
    out = folder / REPORT
    out.mkdir(exist_ok=True)
    notes = []
    try:
        plots = draw_plots(tables, out)
    except UsageError as error:  # matplotlib is an extra
        plots, notes = [], [f"No plots: {error}."]
    if any(
        "gpt4_tokens" not in line or isinstance(line.get("built"), dict) for line in results.lines
    ):
        notes.append(_OLDER)
    warnings = dict.fromkeys(table.warning for table in tables if table.warning)
    commands = dict.fromkeys(results.run.get("commands", ()))
    words = [text for one in tables if one.name == QUALITY for text in verdicts(one)]
    summary = _summary(results.lines)
    lead = [
        *map(escape_markdown, (*warnings, summary, *words)),
        *(["\n".join(["Made by:", "", *(f"    {one}" for one in commands)])] if commands else []),
        *map(escape_markdown, notes),
    ]
    content = {"run": results.run, "tables": [as_json(table) for table in tables]}
    texts = {
        "report.html": as_html(
            [summary, *notes, *commands],
            results.run.get("notice", ""),
            words,
            tables,
            {path.stem: path for path in plots if path.suffix == ".svg"},
        ),
        "report.md": as_markdown(lead, tables, {path.stem for path in plots}),
        "report.json": json.dumps(content, ensure_ascii=False, indent=1) + "\n",
        **{f"{table.name}.csv": as_csv(table) for table in tables},
    }
    for name, text in texts.items():
        with atomic_write(out / name) as file:
            file.write(text.encode("utf-8", "replace"))
    return Report(tables, (*(out / name for name in texts), *plots), tuple(notes))


def all_tables(results: Results) -> list[Table]:
    """Make the tables that the results fill, the main table first."""
    mode = results.run.get("fixed", {}).get("mode", "paper")  # the default of older folders
    frame = readings_frame(results.lines, results.building, mode)
    equal = equal_budget_frame(results.equal)
    tables = paper_tables(frame, equal)
    notes = results.run.get("notes", ())
    tables[0] = replace(tables[0], notes=(*tables[0].notes, *notes))
    warning = _offline_warning({line["model"] for line in results.lines})
    for at, table in enumerate(tables):
        beside_paper = table.name != "datasets" and any(row.paper for row in table.rows)
        if beside_paper or table.name in _WITH_PAPER_NOTE:
            tables[at] = replace(table, warning=warning)
    return tables


_WITH_PAPER_NOTE = ("initial_nodes", "chunk_size", "recall_by_length")
"""The tables whose notes describe a figure of the paper."""


def _offline_warning(models: Collection[str]) -> str:
    """Make the warning above tables with figures of a paper; "" if only models answered."""
    if OFFLINE not in models:
        return ""
    where = "here" if len(models) == 1 else f'where the model is "{OFFLINE}"'
    return (
        f"No language model answered {where} (the offline decider takes sentences out of the "
        "texts): these figures are not comparable with the paper's."
    )


_MEASURES = {
    "LR-1": "answers that raters call exact (LR-1)",
    "Accuracy": "right options",
    "FCR": "questions with all evidence read (FCR)",
}
"""Descriptions of measures of quality whose names do not say enough."""


def verdicts(table: Table) -> list[str]:
    """Describe the best and the cheap readers of each section of the table of quality and cost."""
    return [text for section in table.sections if (text := _verdict(table, section))]


def _verdict(table: Table, section: Section) -> str:
    """Describe the best reader, cheaper readers, and readers that another beats in both."""
    rows = [
        (one["Quality"].number, tokens, one)
        for one in section.rows
        if one.ranked and (tokens := one["Tokens a question"].number)
    ]
    known = [(quality, tokens, one) for quality, tokens, one in rows if quality is not None]
    if len(known) < 2:
        return ""

    def name(row: TableRow) -> str:
        reader, model = row["Reader"].value, row["Model"].value
        return f"{reader} ({model})" if table.varies("Model") else str(reader)

    def named(row: TableRow, unit: str = "") -> str:
        quality = format_cell(row["Quality"], "percent", interval=False)
        cost = format_cell(row["Tokens a question"], "tokens", interval=False)
        return f"{name(row)} ({quality}\u00a0% for {cost}{unit})"

    known.sort(key=lambda one: (-one[0], one[1]))
    best = known[0][2]
    unbeaten, beaten = [best], dict[str, list[str]]()
    least = known[0][1]
    for _, tokens, one in known[1:]:
        if tokens < least:
            unbeaten.append(one)
            least = tokens
        else:
            beaten.setdefault(name(unbeaten[-1]), []).append(named(one))
    heading, _, measure = section.title.rpartition(": ")
    cheapest = " and cheapest" if len(unbeaten) == 1 else ""
    text = f"{heading}, by {_MEASURES.get(measure, measure)}: best{cheapest} is "
    text += f"{named(best, ' tokens a question')}."
    if len(unbeaten) > 1:
        text += f" Cheaper, but not as good: {_listed([named(one) for one in unbeaten[1:]])}."
    for winner, losers in beaten.items():
        text += f" At no higher cost, {winner} is at least as good as {_listed(losers)}."
    ends = [(one["Quality"].low, one["Quality"].high) for one in (best, known[1][2])]
    if (low := ends[0][0]) is not None and (high := ends[1][1]) is not None and low <= high:
        number = best["n"].number or 0
        text += f" With {_count(int(number), 'question')} the best two may differ by chance."
    return text


def _listed(names: Sequence[str]) -> str:
    """Join names as in `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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
    """Format a table as CSV: a line for each row; intervals and n have columns of their own."""
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
    """Convert a table to JSON types; a cell is a value, or an object of value, low, high, n."""

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
    """Round to six digits after the point: no figure is more exact."""
    return round(value, 6) if isinstance(value, float) else value


_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&@])")


def escape_markdown(text: str) -> str:
    """Put a text in one line, and escape all markup of Markdown and HTML."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def as_markdown(lead: Sequence[str], tables: Iterable[Table], pictures: Collection[str]) -> str:
    """Format the whole report as Markdown; a table is followed by its plot, if there is one."""
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
    rows = [[_markdown_cell(row, one, section) for one in columns] for row in section.rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rules, *rows))


def _markdown_cell(row: TableRow, column: Column, section: Section) -> str:
    """Format a cell: the best value in bold, the second underlined, a paper's in italics."""
    value, rest, place = placed_cell(row, column, section)
    value, rest = escape_markdown(value), escape_markdown(rest)
    if row.paper and row[column.name].value is not None:
        return f"*{value}{rest and ' '}{rest}*"
    value = {1: f"**{value}**", 2: f"<ins>{value}</ins>"}.get(place, value)
    return f"{value}{rest and ' '}{rest}"


def placed_cell(row: TableRow, column: Column, section: Section) -> tuple[str, str, int]:
    """Format a cell as (value, rest, rank): the rank is 1 for the best of the section, 2, or 0."""
    cell, place = row[column.name], 0
    text = format_cell(cell, column.style)
    value, _, rest = text.partition(" ") if cell.number is not None else (text, "", "")
    if column.ranked and row.ranked and cell.number is not None:
        best = best_values(section, column.name)
        place = best.index(round(cell.number, 3)) + 1 if round(cell.number, 3) in best else 0
    return value, rest, place


def as_html(
    lead: Sequence[str],
    notice: str,
    words: Sequence[str],
    tables: Sequence[Table],
    pictures: Mapping[str, Path],
) -> str:
    """Format the whole report as one HTML page that loads nothing else.

    `words` are the `verdicts`; `pictures` maps names of tables to SVG files.
    """
    data = {
        name: f"data:image/svg+xml;base64,{b64encode(path.read_bytes()).decode()}"
        for name, path in pictures.items()
    }
    return fill(
        "evaluation.html",
        lead=lead,
        notice=notice,
        verdicts=words or [""],
        tables=tables,
        images="data:",
        pictures=data,
        visible_columns=visible_columns,
        footnotes=footnotes,
        placed_cell=placed_cell,
    )
