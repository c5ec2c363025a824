"""What must be told of whole results: that no model answered, and that two names are one reader."""

import pytest

from graphreader.evaluation.paper_tables import all_tables, as_one
from graphreader.evaluation.tables import EqualReading, Line, Results, Table, as_csv, as_json, page
from tests.unit.evaluated_report import reading, rows, values

RUN = {"fixed": {"mode": "paper", "initial_nodes": None, "calls": None}}


def tables(*lines: Line) -> dict[str, Table]:
    """All tables of these lines, by their names."""
    return {table.name: table for table in all_tables(Results(lines, (), {}))}


# Where a paper's figures stand beside those of no model, a table begins with a sentence that says
# so; not where there are only ours, nor where texts are counted.
def test_no_model() -> None:
    found = tables(
        reading(model="offline", gold_documents=[0]),
        reading(model="offline", reader="graphreader-nodes-3"),
    )

    warned = {name for name, table in found.items() if table.warning}
    assert warned == {"scores", "initial_nodes"}
    assert found.keys() > {"evidence", "datasets", "costs"}
    assert found["scores"].warning.startswith("No language model answered here")
    assert page("", [], [found["scores"]], []).splitlines()[4].startswith("No language model")
    assert as_json(found["scores"])["warning"] == found["scores"].warning
    assert "ours,graphreader,offline" in as_csv(found["scores"])


# Of several models the sentence says which is none; where each is one, or the set is no paper's,
# there is no sentence.
def test_models() -> None:
    mixed = tables(reading(model="offline"), reading(model="openai:x"))["scores"]

    assert mixed.warning.startswith('No language model answered where the model is "offline"')
    assert not tables(reading(model="openai:x"))["scores"].warning
    assert not tables(reading(model="offline", dataset="mine"))["scores"].warning


# `graphreader` in the paper's mode and `graphreader-paper` are one row, with the mean of both
# readings, in all tables; a footnote says so.
def test_one_reader() -> None:
    lines = (reading(f1=0.2), reading(reader="graphreader-paper", f1=0.6))
    told = {"id": "q1", "dataset": "musique", "length": "native", "reader": "bm25"}
    equal = EqualReading(**told, against="graphreader-paper", documents_read=(), tokens_read=1, k=1)
    one = as_one(Results(lines, (equal,), RUN))
    found = all_tables(one)

    (row,) = rows(found[0])
    assert (row["Reader"].value, row["n"].value) == ("graphreader", 1)
    assert row["F1"].value == pytest.approx(0.4)
    assert one.equal[0].against == "graphreader"
    assert any("graphreader-paper: they are one reader" in note for note in found[0].notes)


# With another mode, with a part of it set otherwise, or where no mode is told, they are two.
@pytest.mark.parametrize(
    "run", [{}, {"fixed": {"mode": "fast"}}, {"fixed": {"mode": "paper", "calls": 5}}, {"fixed": 1}]
)
def test_two_readers(run: dict[str, object]) -> None:
    results = as_one(Results((reading(), reading(reader="graphreader-paper")), (), run))

    assert values(all_tables(results)[0], "Reader") == ["graphreader-paper", "graphreader"]


# A row of `graphreader` alone is told to be that of the mode, beside which the paper's stands.
def test_mode() -> None:
    (note,) = as_one(Results((reading(),), (), RUN)).notes

    assert "very arguments of graphreader-paper" in note
    assert not as_one(Results((reading(reader="full-text"),), (), RUN)).notes
