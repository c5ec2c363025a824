"""Answer quality of every reader on every dataset and length (paper, tables 2 and 3)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphreader.evaluation import papers
from graphreader.evaluation.metrics.intervals import mean_interval
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import NATIVE, Line
from graphreader.evaluation.tables.measures import (
    Measure,
    answered,
    choice,
    exact,
    f1,
    f1_star,
    lr1,
    lr2,
    measured_by,
    option_or_f1,
    questions,
    rouge,
    score,
    scored,
    with_options,
)
from graphreader.evaluation.tables.table import MODEL, Cell, Column, Row, Section, Table

NO_RATERS = "LR-1 and LR-2 are a model's ratings: no rater was asked here."

_SCORES: Mapping[str, Measure] = {
    "LR-1": lr1,
    "LR-2": lr2,
    "EM": exact,
    "F1": f1,
    "F1*": f1_star,
    "Accuracy": choice,
    "ROUGE-1": rouge("1"),
    "ROUGE-2": rouge("2"),
    "ROUGE-L": rouge("L"),
}
_ROUGE = ("ROUGE-1", "ROUGE-2", "ROUGE-L")
_FREE_WORDS = ("narrativeqa", "qmsum", "loogle")
"""Sets whose answers are free words, which their papers measure by ROUGE."""

_MISSING = {"LR-1": NO_RATERS, "LR-2": NO_RATERS}

_LEAST = 0.1
"""What golden must have for sure, that a share of it may say something."""


def scores(lines: Sequence[Line]) -> Table:
    """The main table: one section a dataset and length; ablations and sweeps have their own."""
    kept = [line for line in lines if not grouping.is_studied(line.reader)]
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("n", "count"),
        Column("Answered", "percent"),
        *(Column(name, "percent", True, _MISSING.get(name, "")) for name in _SCORES),
        Column("Of golden", "decimal"),
    )
    found = grouping.by_set(kept)
    sections = [_section(*key, members) for key, members in found.items()]
    return Table("scores", "Scores", columns, tuple(sections), tuple(_notes(kept, found)))


def _section(dataset: str, length: str, lines: Sequence[Line]) -> Section:
    names = _names(dataset)
    options = with_options(lines)
    printed = printed_scores(dataset, length)
    paper = {row["reader"]: _paper_row(row, printed) for row in printed["rows"]}
    placed = []
    for (reader, model), members in grouping.by_reader(lines).items():
        golden = [line for line in lines if (line.reader, line.model) == (grouping.GOLDEN, model)]
        row = Row.of(
            reader,
            model,
            grouping.window(members[0].window),
            questions(members),
            score(members, answered),
            *(
                score(measured_by(name, members, options), measure) if name in names else None
                for name, measure in _SCORES.items()
            ),
            _relative(members, golden),
            ranked=reader != grouping.GOLDEN,
            n=questions(members),
        )
        placed.append((grouping.place(reader), 0, row))
    placed += [(grouping.place(reader), 1, row) for reader, row in paper.items()]
    rows = [row for *_, row in sorted(placed, key=lambda one: one[:2])]
    return Section(grouping.set_name(dataset, length), tuple(rows))


def _names(dataset: str) -> list[str]:
    """The scores by which this dataset may be measured."""
    in_words = any(name in dataset for name in _FREE_WORDS)
    return [name for name in _SCORES if in_words or name not in _ROUGE]


def _relative(lines: Sequence[Line], golden: Sequence[Line]) -> float | None:
    """The score as a share of what the same model has with the supporting facts given.

    Over the questions that both were asked; None where that is next to nothing.
    """
    own = scored(lines, option_or_f1)
    best = scored(golden, option_or_f1)
    both = [id_ for id_ in best if id_ in own]
    whole = mean_interval(best[id_] for id_ in both)
    if whole is None or whole.low < _LEAST:
        return None
    return sum(own[id_] for id_ in both) / sum(best[id_] for id_ in both)


def printed_scores(dataset: str, length: str) -> Mapping[str, Any]:
    """The paper's table 2 or 3 for this dataset and length: its columns and rows, perhaps none."""
    name = papers.set_of(dataset)
    table = papers.graphreader("table_3" if length != NATIVE else "table_2")
    key = name if length == NATIVE else length
    if not name or (length != NATIVE and name != "hotpotwikiqa-mixup"):
        return {"columns": [], "rows": []}
    rows = [{**row, "scores": row["scores"][key]} for row in table["rows"] if key in row["scores"]]
    return {"columns": table["columns"], "rows": rows}


def _paper_row(row: Mapping[str, Any], printed: Mapping[str, Any]) -> Row:
    columns = printed["columns"]
    told = dict(zip(columns, map(papers.share, row["scores"]), strict=True))
    golden = next((one for one in printed["rows"] if one["reader"] == grouping.GOLDEN), None)
    relative = None
    if golden is not None:
        whole = golden["scores"][columns.index("F1")]
        relative = row["scores"][columns.index("F1")] / whole
    told_cells = (Cell(told.get(name)) for name in _SCORES)
    return Row.of(
        f"paper: {row['label']}", None, row["window"], None, None, *told_cells, relative, paper=True
    )


def _notes(lines: Sequence[Line], found: Mapping[tuple[str, str], Sequence[Line]]) -> list[str]:
    notes = [
        "In brackets the 95 % interval (bootstrap over questions). Best of ours in bold, second "
        "best underlined; golden takes no part.",
    ]
    if any(line.reader == grouping.GOLDEN for line in lines):
        notes.append(
            "Of golden: F1 (accuracy where there are options) as a share of what the same model "
            "has when the supporting facts are given; left out where the interval of that begins "
            f"below {100 * _LEAST:.0f}, for a share of next to nothing says nothing."
        )
    notes += _of_two_kinds(found)
    if any(printed_scores(*key)["rows"] for key in found):
        notes += _of_the_paper([dataset for dataset, _ in found])
        notes += _slips(found)
    if failed := sum(line.error is not None for line in lines):
        many = "1 reading" if failed == 1 else f"{failed:,} readings"
        notes.append(f"{many} failed: unanswered, with scores of 0.")
    uneven = [
        grouping.set_name(*key)
        for key, members in found.items()
        if len({frozenset(line.id for line in one) for one in grouping.by_reader(members).values()})
        > 1
    ]
    if uneven:
        notes.append(f"Not all readers were asked the same questions: {'; '.join(uneven)}.")
    return notes


def _of_two_kinds(found: Mapping[tuple[str, str], Sequence[Line]]) -> list[str]:
    """Which sets have questions with options and others, and how many of each."""
    told = []
    for key, lines in found.items():
        chosen = len(with_options(lines))
        if 0 < chosen < questions(lines):
            rest = questions(lines) - chosen
            told.append(
                f"{grouping.set_name(*key)}: accuracy over {chosen:,} questions with options, EM, "
                f"F1, F1* and ROUGE over {rest:,} without; LR-1 and LR-2 over all."
            )
    return told


def _slips(keys: Iterable[tuple[str, str]]) -> list[str]:
    """What the paper prints that cannot be: an exact match is a partial one as well."""
    found = [
        f"{grouping.set_name(*key)}: {row['label']}"
        for key in keys
        for row in printed_scores(*key)["rows"]
        if row["scores"][0] > row["scores"][1]
    ]
    if not found:
        return []
    return [f"As printed, though LR-2 cannot be less than LR-1: {'; '.join(found)}."]


def _of_the_paper(datasets: Sequence[str]) -> list[str]:
    notes = [f"In italics tables 2 and 3 of the {papers.graphreader('source')}."]
    others = sorted({one for one in datasets if papers.set_of(one) and not papers.is_same_set(one)})
    if others:
        notes.append(
            f"The paper read LongBench's samples, whose texts are other ones than those of "
            f"{', '.join(others)} here (table 1): its figures are a bearing, no comparison."
        )
    return notes
