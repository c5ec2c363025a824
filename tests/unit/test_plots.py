"""What of a table is drawn; how it looks, only eyes can tell."""

from pathlib import Path

import pytest

from graphreader.evaluation.charts import Point
from graphreader.evaluation.panels import Dots, Lines, Pairs
from graphreader.evaluation.plots import draw_plots
from graphreader.evaluation.sweep_panels import Pages
from graphreader.evaluation.tables.by_length import score_by_length
from graphreader.evaluation.tables.found_evidence import equal_reading
from graphreader.evaluation.tables.lines import EqualReading
from graphreader.evaluation.tables.read_agent import read_agent
from graphreader.evaluation.tables.scores import scores
from tests.unit.evaluated_report import reading


# The paper's value stands in the line of the same reader of ours, else in one of its own.
def test_dots() -> None:
    table = scores([reading(dataset="longbench-hotpotqa", reader="rag-bm25-3", rating="exact")])
    dots = Dots(table, ("LR-1", "F1"))._rows(table.sections[0])

    assert dots[0].name == "rag-bm25-3"
    assert dots[0].ours == Point(100, 100, 100)
    assert dots[0].paper == pytest.approx(74.7)
    assert (dots[-1].name, dots[-1].ours) == ("paper: Golden", None)
    assert len(dots) == 10


# Of many readers those that matter most get a line, GraphReader in any case, and the paper's.
def test_lines() -> None:
    readers = ["search-agent", "gistmem", "full-text", "rag-bm25-1", "rag-bm25-3", "chunk-read"]
    lines = [
        reading(dataset="hotpotwikiqa-mixup", reader=reader, length=length, rating="exact")
        for reader in [*readers, "golden", "graphreader"]
        for length in ("16k", "64k")
    ]
    table = score_by_length(lines)
    assert table
    series = Lines(table, "tokens")._series(table.sections[0])

    assert [one.name for one in series][:3] == ["graphreader", "full-text", "rag-bm25-3"]
    assert len(series) == 7
    assert series[-1].name == "paper: GraphReader, 4k"
    assert series[0].stands_out


# A reader stands once above all retrieval that read as much.
def test_pairs() -> None:
    told = {"id": "q1", "dataset": "musique", "length": "native", "against": "graphreader"}
    equal = [
        EqualReading(**told, reader=name, documents_read=(0,), tokens_read=1)
        for name in ("bm25", "embedding")
    ]
    table = equal_reading([reading(gold_documents=[0], documents_read=[0])], equal)
    assert table
    rows = Pairs(table)._rows(table.sections[0])

    assert [row.name for row in rows] == [
        "graphreader",
        "bm25, as much as graphreader",
        "embedding, as much as graphreader",
    ]


# ReadAgent's scores go by the most pages, five where the name tells none.
def test_pages() -> None:
    lines = [
        reading(dataset="quality", reader=reader, choice=True)
        for reader in ("read-agent-p-6", "read-agent-p", "read-agent-p-1", "read-agent-s")
    ]
    table = read_agent(lines)
    assert table
    ours, paper = Pages(table)._series(table.sections[0])

    assert (ours.name, [at for at, _ in ours.points]) == ("ReadAgent-P", [1, 5, 6])
    assert paper.name == "paper: ReadAgent-P"
    assert [point.value for _, point in paper.points][:2] == pytest.approx([84.13, 86.16])


# A table in which nothing can be compared has no picture.
def test_nothing_to_draw(tmp_path: Path) -> None:
    assert draw_plots([scores([reading()])], tmp_path) == []
    assert list(tmp_path.iterdir()) == []
