"""How large the texts and their graphs are (paper, tables 1 and 8)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphreader.evaluation import papers
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import NATIVE, Line, Results
from graphreader.evaluation.tables.measures import average, number
from graphreader.evaluation.tables.table import Column, Row, Section, Table

_BASES = (grouping.DEFAULT, grouping.PAPER)
"""Whose graphs are counted, the first of these that was asked: all build the same one."""


def datasets(results: Results) -> Table:
    """Table 1: tokens of the texts that were read, and of how many questions.

    Native texts are counted in GPT-4's encoding, as in the paper, where the run tells that.
    """
    told = _told(results.run)
    columns = (
        Column("Dataset"),
        Column("Length"),
        Column("Avg. tokens", "tokens"),
        Column("Max. tokens", "tokens"),
        Column("Samples", "count"),
    )
    rows: list[Row] = []
    shown: set[str] = set()
    for (dataset, length), members in grouping.by_set(results.lines).items():
        tokens = {line.id: line.record_tokens for line in members if line.record_tokens}
        counted = average(tokens.values()), max(tokens.values(), default=None)
        size = told.get((dataset, length), counted) if length == NATIVE else counted
        rows.append(Row.of(dataset, length, *size, len({line.id for line in members})))
        if dataset not in shown:
            rows += _printed_sizes(dataset)
            shown.add(dataset)
    notes = ["Samples: the questions that were asked."]
    if any(row.paper for row in rows):
        notes.append(f"In italics table 1 of the {papers.graphreader('source')}.")
    return Table("datasets", "Datasets (table 1)", columns, _one(rows), tuple(notes))


def _told(run: Mapping[str, Any]) -> Mapping[tuple[str, str], tuple[float | None, float | None]]:
    """Average and most tokens of the datasets of the last command, as its run tells them."""
    sets = run.get("datasets")
    return {
        (str(one.get("dataset")), str(one.get("length"))): (
            number(one, "average_tokens"),
            number(one, "max_tokens"),
        )
        for one in (sets if isinstance(sets, list) else ())
        if isinstance(one, dict)
    }


def _printed_sizes(dataset: str) -> list[Row]:
    name = papers.set_of(dataset)
    told = papers.graphreader("table_1").get(name)
    if not told:
        return []
    return [Row.of(f"paper: {name}", None, told["avg"], told["max"], told["samples"], paper=True)]


def graphs(lines: Sequence[Line]) -> Table | None:
    """Table 8: sizes of the graphs, one graph a record; None where no graph was built."""
    built = [line for line in lines if line.graph and not grouping.is_studied(line.reader)]
    rows: list[Row] = []
    for (dataset, length), members in grouping.by_set(built).items():
        base = next((one for one in _BASES if any(line.reader == one for line in members)), None)
        sizes = {line.id: line.graph for line in members if base in (None, line.reader)}
        rows.append(Row.of(dataset, length, *_sizes([one for one in sizes.values() if one])))
        printed = papers.graphreader("table_8")["sizes"].get(papers.set_of(dataset), {})
        if told := printed.get("" if length == NATIVE else length):
            rows.append(Row.of(f"paper: {papers.set_of(dataset)}", length, *told, paper=True))
    if not rows:
        return None
    columns = (
        Column("Dataset"),
        Column("Length"),
        Column("Nodes avg.", "decimal"),
        Column("Nodes max.", "count"),
        Column("Facts avg.", "decimal"),
        Column("Facts max.", "count"),
        Column("Neighbors a node, avg. avg.", "decimal"),
        Column("Neighbors, avg. max.", "decimal"),
        Column("Facts a node, avg. avg.", "decimal"),
        Column("Facts, avg. max.", "decimal"),
    )
    notes = [
        'A graph is that of one record. "avg. max." is the mean over graphs of the node that has '
        "most."
    ]
    if any(row.paper for row in rows):
        notes.append(f"In italics table 8 of the {papers.graphreader('source')}.")
    return Table("graphs", "Graphs (table 8)", columns, _one(rows), tuple(notes))


def _sizes(graphs: Sequence[Mapping[str, Any]]) -> Iterable[float | None]:
    for key in ("key_elements", "facts"):
        values = [number(one, key) for one in graphs]
        yield average(values)
        yield max((value for value in values if value is not None), default=None)
    for key in ("neighbors_per_element", "most_neighbors", "facts_per_element", "most_facts"):
        yield average(number(one, key) for one in graphs)


def _one(rows: Sequence[Row]) -> tuple[Section, ...]:
    return (Section("", tuple(rows)),)
