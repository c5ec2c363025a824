"""How much scores move when the same is asked again, or of another model."""

import statistics
from collections.abc import Sequence

from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import Line
from graphreader.evaluation.tables.measures import average, by_question, fcr, main_measure, scored
from graphreader.evaluation.tables.table import Column, Row, Section, Table


def spread(lines: Sequence[Line]) -> Table | None:
    """Mean and standard deviation over repeats and over models; None where there are no such."""
    sections = []
    for key, members in grouping.by_set(lines).items():
        rows = [
            row
            for reader, own in grouping.by_name(members).items()
            for row in (*_over_repeats(reader, own), *_over_models(reader, own))
        ]
        if rows:
            sections.append(Section(grouping.set_name(*key), tuple(rows)))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        Column("Model"),
        Column("Window"),
        Column("Over"),
        Column("Runs", "count"),
        Column("Score"),
        Column("Mean", "percent"),
        Column("Standard deviation", "percent"),
        Column("Least", "percent"),
        Column("Most", "percent"),
        Column("FCR", "percent"),
        Column("FCR, standard deviation", "percent"),
    )
    notes = ("The sample's standard deviation, of the means of whole runs.",)
    return Table("spread", "Spread", columns, tuple(sections), notes)


def _over_repeats(reader: str, lines: Sequence[Line]) -> list[Row]:
    rows = []
    for model, members in sorted(grouping.grouped(lines, lambda line: line.model).items()):
        runs = list(grouping.grouped(members, lambda line: line.repeat).values())
        if len(runs) > 1:
            rows.append(_row(reader, model, "repeats", runs))
    return rows


def _over_models(reader: str, lines: Sequence[Line]) -> list[Row]:
    runs = grouping.grouped(lines, lambda line: line.model)
    if len(runs) < 2:
        return []
    return [_row(reader, ", ".join(sorted(runs)), "models", list(runs.values()))]


def _row(reader: str, model: str, over: str, runs: Sequence[Sequence[Line]]) -> Row:
    name, measure = main_measure([line for run in runs for line in run])
    scores = [
        value for run in runs if (value := average(scored(run, measure).values())) is not None
    ]
    found = [
        value for run in runs if (value := average(by_question(run, fcr).values())) is not None
    ]
    return Row.of(
        reader,
        model or None,
        grouping.window(runs[0][0].window),
        over,
        len(runs),
        name,
        average(scores),
        _deviation(scores),
        min(scores, default=None),
        max(scores, default=None),
        average(found),
        _deviation(found),
    )


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None
