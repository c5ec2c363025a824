"""How many supporting facts stand in what a reader answered from (paper, table 6, appendix E)."""

from collections.abc import Callable, Sequence

from graphreader.evaluation import papers
from graphreader.evaluation.metrics.evidence import FactRecall, fact_wise, sample_wise
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import NATIVE, Line, Recall
from graphreader.evaluation.tables.measures import fcr, mean, questions
from graphreader.evaluation.tables.table import (
    MODEL,
    Cell,
    Column,
    Row,
    Section,
    Table,
    has_printed,
)

_NO_RATER = "Rated recall is a model's: no rater was asked here."


def recalls(lines: Sequence[Line]) -> Table | None:
    """Table 6: recall fact by fact and sample by sample; None where no facts are known."""
    kept = [line for line in lines if not grouping.is_studied(line.reader)]
    sections = []
    for key, members in grouping.by_set(kept).items():
        rows = [
            row
            for (reader, model), own in grouping.by_reader(members).items()
            for row in _rows(reader, model, own)
        ]
        if rows:
            sections.append(Section(grouping.set_name(*key), (*rows, *_printed(*key))))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("Text"),
        Column("n", "count"),
        Column("SF-wise, rated", "percent", missing=_NO_RATER),
        Column("Sample-wise, rated", "percent", missing=_NO_RATER),
        Column("SF-wise, by words", "percent"),
        Column("Sample-wise, by words", "percent"),
        Column("FCR", "percent"),
    )
    notes = [
        "SF-wise: covered facts of all facts; sample-wise: questions all of whose facts are "
        "covered; FCR: questions all of whose gold documents were read. By words: a fact is "
        "covered where its words stand close together.",
    ]
    if has_printed(sections):
        notes.append(f"In italics table 6 of the {papers.graphreader('source')}, rated by GPT-4.")
    return Table(
        "recall", "Recall of supporting facts (table 6)", columns, tuple(sections), tuple(notes)
    )


def _rows(reader: str, model: str, lines: Sequence[Line]) -> list[Row]:
    is_agent = reader.startswith("graphreader")
    told: list[tuple[str, Callable[[Line], Recall | None]]] = [
        ("atomic facts", lambda line: line.facts_recall),
        ("final notebook" if is_agent else "evidence", lambda line: line.recall),
    ]
    rows = []
    for text, recall in told:
        known = [line for line in lines if recall(line)]
        if not known:
            continue
        found = mean(known, fcr) if text != "atomic facts" else None
        n = questions(known)
        figures = (
            figure
            for kind in ("rated", "strings")
            for figure in _counted([(one.id, getattr(recall(one), kind)) for one in known], n)
        )
        window = grouping.window(known[0].window)
        rows.append(Row.of(reader, model, window, text, n, *figures, found))
    return rows


def _counted(samples: Sequence[tuple[str, tuple[int, int] | None]], n: int) -> tuple[Cell, Cell]:
    """Fact-wise and sample-wise, of (id, (covered, all)); without facts it is no sample.

    `n` questions there are; where not all are counted, the cells say how many.
    """
    known = [(id_, pair) for id_, pair in samples if pair and pair[1]]
    counted = len({id_ for id_, _ in known})
    told = counted if 0 < counted < n else None
    recalls_ = [FactRecall(relevant=of, covered=covered) for _, (covered, of) in known]
    return Cell(fact_wise(recalls_), n=told), Cell(sample_wise(recalls_), n=told)


def _printed(dataset: str, length: str) -> list[Row]:
    told = papers.graphreader("table_6")
    if length != NATIVE or papers.set_of(dataset) != told["dataset"]:
        return []
    return [
        Row.of(
            "paper: GraphReader",
            None,
            "4k",
            text,
            None,
            papers.share(by_fact),
            papers.share(by_sample),
            None,
            None,
            None,
            paper=True,
        )
        for text, by_fact, by_sample in told["rows"]
    ]
