"""GraphReader against other readers, counted by hand."""

import pytest

from graphreader.evaluation.paper_tables import pairs
from graphreader.evaluation.tables import Line, shown
from tests.unit.evaluated_report import reading, rows, values


def asked(reader: str, f1: dict[str, float], **told: object) -> list[Line]:
    """Readings of one reader, with the F1 of each question."""
    return [reading(id=id_, reader=reader, f1=value, **told) for id_, value in f1.items()]


# The differences are 0.6, 0.5, -0.1 and 0, their mean 0.25; of the 8 ways to set the signs of the
# first three 4 reach their sum, 1. The question that only one of them was asked takes no part.
def test_difference() -> None:
    lines = [
        *asked("graphreader", {"a": 1.0, "b": 0.9, "c": 0.3, "d": 0.5}),
        *asked("rag-bm25-3", {"a": 0.4, "b": 0.4, "c": 0.4, "d": 0.5, "e": 1.0}),
    ]
    (row,) = rows(pairs(lines))

    assert [row[name].value for name in ("Reader", "Against", "Measure", "n")] == [
        *("graphreader", "rag-bm25-3", "F1"),
        4,
    ]
    assert row["Mean of reader"].value == pytest.approx(2.7 / 4)
    assert row["Mean of the other"].value == pytest.approx(1.7 / 4)
    difference = row["Difference"]
    assert difference.value == pytest.approx(0.25)
    assert difference.low is not None
    assert difference.high is not None
    assert -0.1 <= difference.low < 0.25 < difference.high <= 0.6
    assert row["p"].value == 0.5
    assert row["Better / same / worse"].value == "2 / 1 / 1"


# Rated answers are compared by LR-1; a reading that failed counts as 0, and readings of the same
# question are averaged first: (1 + 0) / 2 of one question against 0 of the other reader.
def test_failed_and_repeated() -> None:
    lines = [
        reading(rating="exact"),
        reading(rating="partial", repeat=1),
        reading(reader="full-text", answered=False, f1=0.0, error="no model"),
    ]
    (row,) = rows(pairs(lines))

    assert (row["Measure"].value, row["n"].value) == ("LR-1", 1)
    assert (row["Mean of reader"].value, row["Mean of the other"].value) == (0.5, 0)
    assert row["Better / same / worse"].value == "1 / 0 / 0"


# FCR follows where evidence is known, over the questions of which it is: all of `a` was read by
# one reader only; `b` names no evidence.
def test_evidence() -> None:
    lines = [
        reading(id="a", gold_documents=[0, 1], documents_read=[0, 1, 5]),
        reading(id="b", documents_read=[0]),
        reading(id="a", reader="rag-bm25-1", gold_documents=[0, 1], documents_read=[1]),
        reading(id="b", reader="rag-bm25-1", documents_read=[0]),
    ]
    by_answers, by_evidence = rows(pairs(lines))

    assert (by_answers["Measure"].value, by_answers["n"].value) == ("F1", 2)
    assert (by_evidence["Measure"].value, by_evidence["n"].value) == ("FCR", 1)
    assert (by_evidence["Mean of reader"].value, by_evidence["Mean of the other"].value) == (1, 0)


# Every other reader of the main table is an opponent, in its order; ablations are none. Without
# the default the first other mode of GraphReader is the reader.
def test_opponents() -> None:
    names = ("golden", "graphreader-paper", "rag-bm25-1", "graphreader-no-plan", "graphreader")
    lines = [reading(reader=name) for name in names]

    assert values(pairs(lines), "Reader") == ["graphreader"] * 3
    assert values(pairs(lines), "Against") == ["rag-bm25-1", "graphreader-paper", "golden"]
    assert values(pairs(lines[:-1]), "Reader") == ["graphreader-paper"] * 2
    assert values(pairs(lines[:-1]), "Against") == ["rag-bm25-1", "golden"]


# Only readers of the same model, dataset and length that share a question are a pair.
@pytest.mark.parametrize(
    "other", [{"model": "another"}, {"length": "16k"}, {"dataset": "another"}, {"id": "another"}]
)
def test_no_pair(other: dict[str, str]) -> None:
    lines = [reading(model="one"), reading(**{"model": "one", **other}, reader="full-text")]

    assert pairs(lines) is None
    assert pairs([lines[0], reading(model="one", reader="full-text")]) is not None


# Where there are several models each has its own GraphReader, and is named; one alone is not shown.
def test_models() -> None:
    lines = [
        reading(reader=reader, model=model)
        for model in ("one", "two")
        for reader in ("graphreader", "full-text")
    ]

    both, one = pairs(lines), pairs(lines[:2])
    assert both
    assert one
    assert values(both, "Model") == ["one", "two"]
    assert [both.place("Model") in shown(table, table.sections[0]) for table in (both, one)] == [
        True,
        False,
    ]
