"""GraphReader with one thing changed: ablations (paper, table 4) and sweeps (figures 3 and 4)."""

import re
from collections.abc import Sequence

from graphreader.evaluation import papers
from graphreader.evaluation.metrics.intervals import Interval, compare
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import NATIVE, Line
from graphreader.evaluation.tables.measures import (
    Measure,
    average,
    f1,
    fcr,
    lr1,
    lr2,
    main_measure,
    mean,
    questions,
    score,
    scored,
    tokens_read,
)
from graphreader.evaluation.tables.scores import NO_RATERS
from graphreader.evaluation.tables.table import (
    MODEL,
    Cell,
    Column,
    Row,
    Section,
    Table,
    has_printed,
)

_SWEEP = re.compile(r"^graphreader-(nodes|chunk)-(\d{1,9})$")
_OF_BOTH = (grouping.DEFAULT, grouping.PAPER)

_Drops = dict[tuple[str, str, str], list[float]]
"""What was lost in each set, by reader, model and measure."""

_MEASURED = (
    Column("n", "count"),
    Column("LR-1", "percent", True, NO_RATERS),
    Column("LR-2", "percent", True, NO_RATERS),
    Column("F1", "percent", True),
    Column("FCR", "percent", True),
)


def ablations(lines: Sequence[Line]) -> Table | None:
    """Table 4: what is lost when a part of GraphReader is taken away."""
    sections = []
    drops: _Drops = {}
    for key, members in grouping.by_set(lines).items():
        by_model = grouping.grouped(members, lambda line: line.model)
        rows = [row for model in sorted(by_model) for row in _ablated(by_model[model], drops)]
        if rows:
            sections.append(Section(grouping.set_name(*key), (*rows, *_printed(*key))))
    if not sections:
        return None
    if len(sections) > 1:
        none = [None] * len(_MEASURED)
        means = [
            Row.of(reader, model, None, *none, average(told), name)
            for (reader, model, name), told in drops.items()
        ]
        sections.append(Section("Mean over these", tuple(means)))
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        *_MEASURED,
        Column("Change", "percent"),
        Column("Change of"),
    )
    notes = [
        "Change: against GraphReader with all its parts, question by question, with its 95 % "
        "interval.",
    ]
    if has_printed(sections):
        mean_drop = average(_printed_drops("graphreader-random-nodes"))
        notes.append(
            f"In italics table 4 of the {papers.graphreader('source')}; there random nodes cost "
            f"{-(mean_drop or 0) * 100:.1f} points of LR-1 on average (the text says 18)."
        )
    return Table("ablations", "Ablations (table 4)", columns, tuple(sections), tuple(notes))


def _ablated(lines: Sequence[Line], drops: _Drops) -> list[Row]:
    """Those of one model."""
    readers = grouping.by_name(lines)
    changed = [
        reader for reader in readers if grouping.is_studied(reader) and not _SWEEP.match(reader)
    ]
    if not changed:
        return []
    base = next((readers[name] for name in _OF_BOTH if name in readers), [])
    name, measure = main_measure([*base, *(one for reader in changed for one in readers[reader])])
    rows = []
    for reader in [*(one for one in reversed(_OF_BOTH) if one in readers), *changed]:
        members = readers[reader]
        model = members[0].model
        lost = _change(members, base, measure) if reader in changed else None
        if lost:
            drops.setdefault((reader, model, name), []).append(lost.mean)
        window = grouping.window(members[0].window)
        told = (*_measured(members), lost, name if lost else None)
        rows.append(Row.of(reader, model, window, *told, n=questions(members)))
    return rows


def _change(lines: Sequence[Line], base: Sequence[Line], measure: Measure) -> Interval | None:
    found = compare(scored(lines, measure), scored(base, measure))
    return found.difference if found else None


def _measured(lines: Sequence[Line]) -> list[Interval | float | None]:
    """What `_MEASURED` names."""
    measured = (score(lines, measure) for measure in (lr1, lr2, f1))
    return [questions(lines), *measured, mean(lines, fcr)]


def _printed(dataset: str, length: str) -> list[Row]:
    """The paper's rows for this dataset."""
    told = papers.graphreader("table_4")
    printed = told["scores"].get(papers.set_of(dataset), []) if length == NATIVE else []
    rows = []
    for label, figures in zip(told["labels"], printed, strict=False):
        shares = [papers.share(one) for one in figures]
        lost = None if figures is printed[0] else papers.share(figures[0] - printed[0][0])
        row = (f"paper: {label}", None, "4k", None, *shares, None, lost, "LR-1" if lost else None)
        rows.append(Row.of(*row, paper=True))
    return rows


def _printed_drops(reader: str) -> list[float | None]:
    told = papers.graphreader("table_4")
    at = told["readers"].index(reader)
    return [papers.share(one[at][0] - one[0][0]) for one in told["scores"].values()]


def initial_nodes(lines: Sequence[Line]) -> Table | None:
    """Figure 3: scores by the number of initial nodes."""
    return _sweep(lines, "nodes", "Initial nodes", "initial_nodes", "figure 3", "figure_3")


def chunk_size(lines: Sequence[Line]) -> Table | None:
    """Figure 4: scores by the greatest size of a chunk, in tokens."""
    return _sweep(lines, "chunk", "Tokens a chunk", "chunk_size", "figure 4", "figure_4")


def _sweep(
    lines: Sequence[Line], kind: str, column: str, name: str, source: str, said: str
) -> Table | None:
    found = [
        (int(sweep[2]), line)
        for line in lines
        if (sweep := _SWEEP.match(line.reader)) and sweep[1] == kind
    ]
    if not found:
        return None
    at = {line.reader: number for number, line in found}
    sections = []
    for key, members in grouping.by_set(line for _, line in found).items():
        rows = [
            Row.of(
                Cell(at[reader]),
                model,
                grouping.window(told[0].window),
                *_measured(told),
                average(map(tokens_read, told)),
                n=questions(told),
            )
            for (reader, model), told in sorted(
                grouping.by_reader(members).items(), key=lambda one: (one[0][1], at[one[0][0]])
            )
        ]
        sections.append(Section(grouping.set_name(*key), tuple(rows)))
    columns = (
        Column(column, "count"),
        MODEL,
        Column("Window"),
        *_MEASURED,
        Column("Tokens read", "tokens"),
    )
    notes = (f"The paper's {source}: {papers.graphreader(said)}",)
    return Table(name, f"{column} ({source})", columns, tuple(sections), notes)
