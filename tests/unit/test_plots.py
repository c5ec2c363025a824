"""What of a table is drawn; how it looks, only eyes can tell."""

from dataclasses import replace
from pathlib import Path

import matplotlib.figure
import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread
from matplotlib.text import Text

from graphreader.evaluation.paper_tables import (
    costs,
    equal_reading,
    initial_nodes,
    read_agent_table,
    score_by_length,
    scores,
)
from graphreader.evaluation.plots import (
    Dots,
    Lines,
    Pages,
    Pairs,
    Point,
    Sweep,
    draw_plots,
    figure_of,
)
from graphreader.evaluation.tables import EqualReading
from tests.unit.evaluated_report import reading


# The paper's value stands in the line of the same reader of ours, else in one of its own, where
# that reader's place is.
def test_dots() -> None:
    table = scores([reading(dataset="longbench-hotpotqa", reader="rag-bm25-3", rating="exact")])
    dots = Dots(table, ("LR-1", "F1"))._rows(table.sections[0])

    assert [dot.name for dot in dots[:2]] == ["paper: BM25 (top-1)", "rag-bm25-3"]
    assert dots[1].ours == Point(100, 100, 100)
    assert dots[1].paper == pytest.approx(74.7)
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
    table = read_agent_table(lines)
    assert table
    ours, paper = Pages(table)._series(table.sections[0])

    assert (ours.name, [at for at, _ in ours.points]) == ("ReadAgent-P", [1, 5, 6])
    assert paper.name == "paper: ReadAgent-P"
    assert [point.value for _, point in paper.points][:2] == pytest.approx([84.13, 86.16])


# A reader has the same colour in every picture, whoever else is there; each kind has another one.
def test_colours_of_readers() -> None:
    def drawn(*readers: str) -> dict[str, str]:
        lines = [
            reading(reader=reader, length=length, rating="exact")
            for reader in readers
            for length in ("16k", "64k")
        ]
        table = score_by_length(lines)
        assert table
        by_length = Lines(table, "tokens")._series(table.sections[0])
        below = scores(lines)
        dots = Dots(below, ("LR-1",))._rows(below.sections[0])
        assert {one.name: one.colour for one in by_length} == {one.name: one.colour for one in dots}
        return {one.name: one.colour for one in by_length}

    few = drawn("graphreader", "search-agent")
    many = drawn("rag-bm25-3", "full-text", "chunk-read", "graphreader", "search-agent")
    assert few.items() <= many.items()
    assert len(set(many.values())) == len(many)


# A phase has the same colour whichever others there are.
def test_colours_of_phases() -> None:
    def drawn(*phases: str) -> dict[str, str]:
        spent = {phase: {"calls": 1, "input_tokens": 10} for phase in phases}
        figure = figure_of(matplotlib.figure, costs([reading(phases=spent)]))
        bars = figure.axes[0].containers
        return {bar.get_label(): to_hex(bar.patches[0].get_facecolor()) for bar in bars}

    every = drawn("plan", "select", "explore", "look_up", "read", "answer")
    assert drawn("read", "answer").items() < every.items()
    assert len(set(every.values())) == 6


# A score has the same colour whichever others there are.
def test_colours_of_scores() -> None:
    def drawn(**told: object) -> dict[str, str]:
        lines = [reading(reader=f"graphreader-nodes-{n}", **told) for n in (1, 5)]
        table = initial_nodes(lines)
        assert table
        return {one.name: one.colour for one in Sweep(table)._series(table.sections[0], [1, 5])}

    assert drawn(f1=0.5).items() < drawn(f1=0.5, rating="no", gold_documents=[1]).items()


# However long names are, no word is cut at an edge of the picture or stands on another.
@pytest.mark.parametrize("many", [2, 40])
def test_room(tmp_path: Path, many: int) -> None:
    lines = [
        reading(
            dataset="a dataset with a long name that goes on and on, longer than there is room for",
            reader=f"graphreader-of-somebody-{number}",
            model=f"provider:a-model-with-a-long-name-and-a-date-{number}",
            window=128_000,
        )
        for number in range(many)
    ]
    table = replace(scores(lines), warning="These figures are not to be compared. " * 5)
    figure = figure_of(matplotlib.figure, table)
    figure.draw_without_rendering()
    words = [text for text in figure.findobj(Text) if len(text.get_text()) > len("100")]
    boxes = [one.get_window_extent() for one in words if one.get_visible()]

    picture = imread(draw_plots([table], tmp_path)[0])[:, :, :3]
    edges = (picture[0], picture[-1], picture[:, 0], picture[:, -1])

    assert all((edge == 1).all() for edge in edges)
    assert len(boxes) > many
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)
    assert all(box.y0 >= 0 and box.y1 <= figure.bbox.height for box in boxes)
    assert not any(one.overlaps(other) for at, one in enumerate(boxes) for other in boxes[at + 1 :])


# A table in which nothing can be compared has no picture.
def test_nothing_to_draw(tmp_path: Path) -> None:
    assert draw_plots([scores([reading()])], tmp_path) == []
    assert list(tmp_path.iterdir()) == []
