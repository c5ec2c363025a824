"""How many supporting facts stand in what a reader answered from (paper, table 6, appendix E)."""

from collections.abc import Callable, Sequence

from graphreader.evaluation import papers
from graphreader.evaluation.metrics.evidence import FactRecall, fact_wise, sample_wise
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import NATIVE, Line, Recall
from graphreader.evaluation.tables.measures import fcr, mean, questions
from graphreader.evaluation.tables.table import Column, Row, Section, Table

_NO_RATER = "Rated recall is a model's: no rater was asked here."


def recalls(lines: Sequence[Line]) -> Table | None:
    """Table 6: recall fact by fact and sample by sample; None where no facts are known."""
    kept = [line for line in lines if not grouping.is_studied(line.reader)]
    sections = []
    for key, members in grouping.by_set(kept).items():
        several = len({line.model for line in members}) > 1
        rows = [
            row
            for (reader, model), own in grouping.by_reader(members).items()
            for row in _rows(reader, model if several else None, own)
        ]
        if rows:
            sections.append(Section(grouping.set_name(*key), (*rows, *_printed(*key))))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        Column("Model"),
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
    if any(row.paper for section in sections for row in section.rows):
        notes.append(f"In italics table 6 of the {papers.graphreader('source')}, rated by GPT-4.")
    return Table(
        "recall", "Recall of supporting facts (table 6)", columns, tuple(sections), tuple(notes)
    )


def _rows(reader: str, model: str | None, lines: Sequence[Line]) -> list[Row]:
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
        figures = (
            figure
            for kind in ("rated", "strings")
            for figure in _counted([getattr(recall(line), kind) for line in known])
        )
        window = grouping.window(known[0].window)
        rows.append(Row.of(reader, model, window, text, questions(known), *figures, found))
    return rows


def _counted(pairs: Sequence[tuple[int, int] | None]) -> tuple[float | None, float | None]:
    """(covered, all) of each sample, fact-wise and sample-wise; without facts it is no sample."""
    known = [FactRecall(relevant=one[1], covered=one[0]) for one in pairs if one and one[1]]
    return fact_wise(known), sample_wise(known)


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
