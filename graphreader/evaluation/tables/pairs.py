"""GraphReader against every other reader, question by question."""

from collections.abc import Mapping, Sequence

from graphreader.evaluation.metrics.intervals import compare, mean_interval
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import Line
from graphreader.evaluation.tables.measures import by_question, fcr, main_measure, scored
from graphreader.evaluation.tables.table import MODEL, Cell, Column, Row, Section, Table


def pairs(lines: Sequence[Line]) -> Table | None:
    """By the main measure of a set, and by FCR where evidence is known; None without a pair.

    Readers of the same model are paired; ablations and sweeps have a table of their own.
    """
    kept = [line for line in lines if not grouping.is_studied(line.reader)]
    sections = [
        Section(grouping.set_name(*key), tuple(rows))
        for key, members in grouping.by_set(kept).items()
        if (rows := _rows(members))
    ]
    if not sections:
        return None
    columns = (
        Column("Reader"),
        Column("Against"),
        MODEL,
        Column("Measure"),
        Column("n", "count"),
        Column("Mean of reader", "percent"),
        Column("Mean of the other", "percent"),
        Column("Difference", "percent"),
        Column("p", "decimal"),
        Column("Better / same / worse"),
    )
    notes = (
        "Over the questions that both were asked. The difference is paired: question by question, "
        "with its 95 % interval; p by flipping signs, each pair by itself (the more pairs, the "
        "more small p by chance).",
    )
    return Table("pairs", "Reader against reader", columns, tuple(sections), notes)


def paired(own: Mapping[str, float], other: Mapping[str, float]) -> tuple[Cell, ...]:
    """Two readers over the questions that both have, by the questions' ids.

    Six cells: how many questions, both means, the difference, p, and better / same / worse.
    """
    found = compare(own, other)
    if found is None:
        return Cell(0), *[Cell()] * 5
    both = own.keys() & other.keys()
    return (
        Cell(len(both)),
        Cell.of(mean_interval(own[id_] for id_ in own if id_ in both)),
        Cell.of(mean_interval(other[id_] for id_ in other if id_ in both)),
        Cell.of(found.difference),
        Cell(found.p),
        Cell(f"{found.wins} / {found.ties} / {found.losses}"),
    )


def _rows(lines: Sequence[Line]) -> list[Row]:
    """Of one dataset and length: all pairs by the main measure, then all by FCR."""
    name, measure = main_measure(lines)
    readers = grouping.by_reader(lines)
    by_measure = {
        name: {key: scored(told, measure) for key, told in readers.items()},
        "FCR": {key: by_question(told, fcr) for key, told in readers.items()},
    }
    return [
        Row.of(reader, other, model, told, *paired(own, values[other, model]))
        for told, values in by_measure.items()
        for reader, other, model in _opponents(list(readers))
        if (own := values[reader, model]).keys() & values[other, model].keys()
    ]


def _opponents(readers: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """(GraphReader, other reader, model) of readers with their models, in the readers' order."""
    found = []
    for model in dict.fromkeys(model for _, model in readers):
        names = [name for name, its in readers if its == model]
        ours = [name for name in names if name.startswith(grouping.DEFAULT)]
        reader = grouping.DEFAULT if grouping.DEFAULT in ours else next(iter(ours), None)
        if reader:
            found += [(reader, name, model) for name in names if name != reader]
    return found
