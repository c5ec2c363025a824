"""Whether readers find the evidence: by documents, and against retrieval that may read as much."""

from collections.abc import Mapping, Sequence

from graphreader.evaluation.metrics import evidence
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import EqualReading, Line
from graphreader.evaluation.tables.measures import (
    average,
    by_question,
    chunk_recall,
    citation_precision,
    document_recall,
    fcr,
    jsr,
    mean,
    questions,
    seconds,
    share_read,
    tokens_read,
    what_is_right,
)
from graphreader.evaluation.tables.pairs import paired
from graphreader.evaluation.tables.table import MODEL, Column, Row, Section, Table
from graphreader.settings import OFFLINE

_RECALLS = (document_recall, chunk_recall, fcr)


def found_evidence(lines: Sequence[Line]) -> Table | None:
    """Retrieval quality; None where no dataset names its evidence."""
    kept = [line for line in lines if line.gold_documents and not grouping.is_studied(line.reader)]
    found = grouping.by_set(kept)
    if not found:
        return None
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("n", "count"),
        Column("Document recall", "percent", True),
        Column("Chunk recall", "percent", True),
        Column("FCR", "percent", True),
        Column("JSR", "percent", True),
        Column("Citation precision", "percent", True),
        Column("Tokens read", "tokens"),
        Column("Of the record", "percent"),
        Column("Seconds", "seconds"),
    )
    sections = [
        Section(grouping.set_name(*key), tuple(_rows(members))) for key, members in found.items()
    ]
    notes = (
        "Chunk recall: the share of supporting sentences that stand in what was read in full.",
        "FCR: the share of questions all of whose gold documents were read in full.",
        *_on_jsr(found),
        "Citation precision is the mean over readings that cite anything.",
    )
    return Table("evidence", "Evidence found", columns, tuple(sections), notes)


def _on_jsr(found: Mapping[tuple[str, str], Sequence[Line]]) -> list[str]:
    """What JSR is, and by which measure it was counted in which set."""
    sets: dict[str, list[str]] = {}
    for key, lines in found.items():
        sets.setdefault(what_is_right(lines)[0], []).append(grouping.set_name(*key))
    told = "; ".join(
        f"by {by}" + (f", in {', '.join(names)}" if len(sets) > 1 else "")
        for by, names in sets.items()
    )
    notes = [f"JSR: those of them that were answered rightly as well, {told}."]
    if any(line.model == OFFLINE and line.choice is None for one in found.values() for line in one):
        notes.append("Answers without a model are whole sentences, hardly ever an exact match.")
    return notes


def _rows(lines: Sequence[Line]) -> list[Row]:
    right = what_is_right(lines)[1]
    return [
        Row.of(
            reader,
            model,
            grouping.window(members[0].window),
            questions(members),
            *(mean(members, one) for one in (*_RECALLS, jsr(right), citation_precision)),
            *(average(map(one, members)) for one in (tokens_read, share_read, seconds)),
            ranked=reader != grouping.GOLDEN,
            n=questions(members),
        )
        for (reader, model), members in grouping.by_reader(lines).items()
    ]


def equal_reading(lines: Sequence[Line], equal: Sequence[EqualReading]) -> Table | None:
    """FCR of a reader, and of retrieval that reads as much for each question; None without any.

    For each question retrieval takes the smallest k whose tokens reach the reader's.
    """
    sections = []
    by_set = grouping.by_set(lines)
    for key, members in by_set.items():
        rows = []
        told = [one for one in equal if (one.dataset, one.length) == key]
        for against, reader in dict.fromkeys((one.against, one.reader) for one in told):
            ours = [line for line in members if line.reader == against and line.gold_documents]
            theirs = [one for one in told if (one.against, one.reader) == (against, reader)]
            if ours and theirs:
                rows.append(_compared(against, reader, ours, theirs))
        if rows:
            sections.append(Section(grouping.set_name(*key), tuple(rows)))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        Column("Window"),
        Column("Retrieval"),
        Column("n", "count"),
        Column("FCR of reader", "percent"),
        Column("FCR of retrieval", "percent"),
        Column("Difference", "percent"),
        Column("p", "decimal"),
        Column("Better / same / worse"),
        Column("Tokens of reader", "tokens"),
        Column("Tokens of retrieval", "tokens"),
        Column("k", "decimal"),
    )
    notes = (
        "For each question retrieval takes the smallest k whose tokens reach those that the reader "
        "was shown. The difference is paired: question by question, with its 95 % interval; p by "
        "flipping signs.",
    )
    return Table("equal_reading", "FCR at equal reading", columns, tuple(sections), notes)


def _compared(
    against: str, retrieval: str, ours: Sequence[Line], theirs: Sequence[EqualReading]
) -> Row:
    gold = {line.id: line.gold_documents for line in ours}
    own = by_question(ours, fcr)
    other = by_question(theirs, lambda one: evidence.fcr(one.documents_read, gold.get(one.id, ())))
    both = own.keys() & other.keys()
    return Row.of(
        against,
        grouping.window(ours[0].window),
        retrieval,
        *paired(own, other),
        average(tokens_read(line) for line in ours if line.id in both),
        average(one.tokens_read for one in theirs if one.id in both),
        average(one.k for one in theirs if one.id in both),
    )
