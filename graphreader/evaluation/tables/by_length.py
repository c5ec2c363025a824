"""How readers keep up as texts grow: score (paper, figure 1) and recall (figure 5) by length."""

from collections.abc import Callable, Sequence
from functools import partial

from graphreader.evaluation import papers
from graphreader.evaluation.metrics.intervals import Interval
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import Line
from graphreader.evaluation.tables.measures import (
    document_recall,
    main_measure,
    mean,
    questions,
    score,
)
from graphreader.evaluation.tables.scores import printed_scores
from graphreader.evaluation.tables.table import (
    MODEL,
    Cell,
    Column,
    Row,
    Section,
    Table,
    has_printed,
)

Measured = Callable[[Sequence[Line]], Interval | None]


def score_by_length(lines: Sequence[Line]) -> Table | None:
    """Figure 1: the main score of each dataset at each of its lengths."""
    return _by_length(lines, "score_by_length", "Score by length (figure 1)", _score, _printed)


def recall_by_length(lines: Sequence[Line]) -> Table | None:
    """Figure 5: recall of supporting facts, by a rater or by strings; else of gold documents."""
    notes = [f"The paper's figure 5: {papers.graphreader('figure_5')}"]
    title = "Recall by length (figure 5)"
    return _by_length(lines, "recall_by_length", title, _recall, lambda *_: [], notes)


def _by_length(
    lines: Sequence[Line],
    name: str,
    title: str,
    measured: Callable[[Sequence[Line]], tuple[str, Measured]],
    printed: Callable[[str, str, Sequence[str]], list[Row]],
    notes: Sequence[str] = (),
) -> Table | None:
    """A table with a column a length, of the datasets that were read at several lengths."""
    kept = [line for line in lines if not grouping.is_studied(line.reader)]
    datasets = grouping.grouped(kept, lambda line: line.dataset)
    several = {
        dataset: members
        for dataset, members in sorted(datasets.items())
        if len({line.length for line in members}) > 1
    }
    lengths = sorted(
        {line.length for members in several.values() for line in members}, key=grouping.size
    )
    sections = []
    for dataset, members in several.items():
        what, measure = measured(members)
        rows = _rows(members, lengths, measure) + printed(dataset, what, lengths)
        if any(cell.value is not None for row in rows for cell in row.cells[3:]):
            sections.append(Section(f"{dataset}: {what}", tuple(rows)))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        *(Column(one, "percent", True) for one in lengths),
    )
    if has_printed(sections):
        notes = [*notes, f"In italics table 3 of the {papers.graphreader('source')}."]
    return Table(name, title, columns, tuple(sections), tuple(notes))


def _rows(lines: Sequence[Line], lengths: Sequence[str], measure: Measured) -> list[Row]:
    rows = []
    for (reader, model), members in grouping.by_reader(lines).items():
        at = grouping.grouped(members, lambda line: line.length)
        rows.append(
            Row.of(
                reader,
                model,
                grouping.window(members[0].window),
                *(_cell(measure, at.get(one, ())) for one in lengths),
                ranked=reader != grouping.GOLDEN,
            )
        )
    return rows


def _cell(measure: Measured, lines: Sequence[Line]) -> Cell:
    return Cell.of(measure(lines), questions(lines)) if lines else Cell()


def _score(lines: Sequence[Line]) -> tuple[str, Measured]:
    name, measure = main_measure(lines)
    return name, partial(score, measure=measure)


def _recall(lines: Sequence[Line]) -> tuple[str, Measured]:
    for name, measure in (("recall, rated", _rated), ("recall, by words", _by_words)):
        if all(line.error or measure(line) is not None for line in lines):
            return name, partial(score, measure=measure)
    return "document recall", partial(mean, measure=document_recall)


def _rated(line: Line) -> float | None:
    return _share(line.recall.rated if line.recall else None)


def _by_words(line: Line) -> float | None:
    return _share(line.recall.strings if line.recall else None)


def _share(counted: tuple[int, int] | None) -> float | None:
    return counted[0] / counted[1] if counted and counted[1] else None


def _printed(dataset: str, what: str, lengths: Sequence[str]) -> list[Row]:
    """The paper's rows, where it prints the same score."""
    found: dict[str, dict[str, Cell]] = {}
    windows: dict[str, str] = {}
    for length in lengths:
        told = printed_scores(dataset, length)
        if length == "native" or what not in told["columns"]:
            continue
        at = told["columns"].index(what)
        for row in told["rows"]:
            found.setdefault(row["label"], {})[length] = Cell(papers.share(row["scores"][at]))
            windows[row["label"]] = row["window"]
    return [
        Row.of(
            f"paper: {label}",
            None,
            windows[label],
            *(cells.get(one, Cell()) for one in lengths),
            paper=True,
        )
        for label, cells in found.items()
    ]
