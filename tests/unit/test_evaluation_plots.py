"""The parts of a table that are drawn, and that words have room; the look is for eyes to judge."""

from dataclasses import replace
from pathlib import Path

import matplotlib.figure
import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread
from matplotlib.text import Text

from graphreader.evaluation.measures import EqualBudgetLine, equal_budget_frame
from graphreader.evaluation.paper_tables import (
    costs,
    equal_reading,
    initial_nodes,
    read_agent,
    score_by_length,
    scores,
)
from graphreader.evaluation.plots import (
    Point,
    draw_plots,
    draw_table,
    equal_reading_dots,
    length_series,
    pages_series,
    score_dots,
    sweep_series,
)
from graphreader.evaluation.tables import Table
from tests.unit.evaluated_report import frame, reading


def present(table: Table | None) -> Table:
    """The table, which must not be missing."""
    assert table
    return table


# The paper's value stands in the line of the same reader of ours, else in one of its own, where
# that reader's place is.
def test_dots() -> None:
    line = reading(dataset="longbench-hotpotqa", reader="rag-bm25-3", rating="exact")
    table = present(scores(frame(line)))
    dots = score_dots(table, table.sections[0], "LR-1")

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
    table = present(score_by_length(frame(*lines)))
    series = length_series(table, table.sections[0])

    assert [one.name for one in series][:3] == ["graphreader", "full-text", "rag-bm25-3"]
    assert len(series) == 7
    assert series[-1].name == "paper: GraphReader, 4k"
    assert series[0].highlighted


# A reader stands once above all retrieval that read as much.
def test_equal_reading() -> None:
    fields = {"id": "q1", "dataset": "musique", "length": "native", "against": "graphreader"}
    equal = [
        EqualBudgetLine(**fields, reader=name, documents_read=(0,), tokens_read=1)
        for name in ("bm25", "embedding")
    ]
    lines = [reading(gold_documents=[0], documents_read=[0])]
    table = present(equal_reading(frame(*lines), equal_budget_frame(equal, lines)))

    assert [dot.name for dot in equal_reading_dots(table.sections[0])] == [
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
    table = present(read_agent(frame(*lines)))
    ours, paper = pages_series(table, table.sections[0], "Accuracy")

    assert (ours.name, [at for at, _ in ours.points]) == ("ReadAgent-P", [1, 5, 6])
    assert paper.name == "paper: ReadAgent-P"
    assert [point.value for _, point in paper.points][:2] == pytest.approx([84.13, 86.16])


def reader_colours(*readers: str) -> dict[str, str]:
    """The colours of readers, the same in both pictures of them."""
    lines = frame(
        *(
            reading(reader=reader, length=length, rating="exact")
            for reader in readers
            for length in ("16k", "64k")
        )
    )
    by_length, main = present(score_by_length(lines)), present(scores(lines))
    series = length_series(by_length, by_length.sections[0])
    dots = score_dots(main, main.sections[0], "LR-1")
    assert {one.name: one.colour for one in series} == {one.name: one.colour for one in dots}
    return {one.name: one.colour for one in series}


def phase_colours(*phases: str) -> dict[str, str]:
    """The colours of the bars of these phases."""
    usage = {phase: {"calls": 1, "input_tokens": 10} for phase in phases}
    figure = draw_table(matplotlib.figure, present(costs(frame(reading(phases=usage)))))
    bars = figure.axes[0].containers
    return {bar.get_label(): to_hex(bar.patches[0].get_facecolor()) for bar in bars}


def score_colours(**fields: object) -> dict[str, str]:
    """The colours of the scores of a sweep."""
    lines = [reading(reader=f"graphreader-nodes-{n}", **fields) for n in (1, 5)]
    table = present(initial_nodes(frame(*lines)))
    return {one.name: one.colour for one in sweep_series(table, table.sections[0], [1, 5])}


# A reader, a phase and a score have the same colour in every picture, whichever others are there;
# each kind has another one.
def test_colours() -> None:
    few = reader_colours("graphreader", "search-agent")
    many = reader_colours("rag-bm25-3", "full-text", "chunk-read", "graphreader", "search-agent")
    phases = phase_colours("plan", "select", "explore", "look_up", "read", "answer")

    assert few.items() <= many.items()
    assert len(set(many.values())) == len(many)
    assert phase_colours("read", "answer").items() < phases.items()
    assert len(set(phases.values())) == 6
    few, many = score_colours(f1=0.5), score_colours(f1=0.5, rating="no", gold_documents=[1])
    assert few.items() < many.items()


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
    warning = "These figures are not to be compared. " * 5
    table = replace(present(scores(frame(*lines))), warning=warning)
    figure = draw_table(matplotlib.figure, table)
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
    assert draw_plots([present(scores(frame(reading())))], tmp_path) == []
    assert list(tmp_path.iterdir()) == []
