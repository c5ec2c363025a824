"""The marks of the pictures, and that words have room; the look is for eyes to judge."""

from dataclasses import replace
from pathlib import Path

import matplotlib.figure
import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread
from matplotlib.text import Text

from graphreader.evaluation.measures import EqualBudgetLine, ReadingLine
from graphreader.evaluation.plots import Panel, draw_plots, draw_table, panels
from tests.unit.evaluated_report import reading, tables


def panel(table: str, *lines: ReadingLine, equal: tuple[EqualBudgetLine, ...] = ()) -> Panel:
    """The only panel of a table."""
    (only,) = panels(tables(*lines, equal=equal)[table])
    return only


# The paper's value stands in the line of the same reader of ours, else in one of its own, where
# that reader's place is.
def test_dots() -> None:
    lines = [
        reading(dataset="longbench-hotpotqa", reader=one, rating="exact")
        for one in ("rag-bm25-3", "full-text")
    ]
    dots = panel("scores", *lines).marks

    assert [dot.name for dot in dots[:2]] == ["paper: BM25 (top-1)", "rag-bm25-3"]
    assert (dots[1].ours.value, dots[1].ours.low, dots[1].paper.value) == (1, 1, 0.747)
    assert (dots[-1].name, dots[-1].ours.value) == ("paper: Golden", None)
    assert len(dots) == 10


# Of many readers those that matter most get a line, GraphReader in any case, and the paper's.
def test_lines() -> None:
    readers = ["search-agent", "gistmem", "full-text", "rag-bm25-1", "rag-bm25-3", "chunk-read"]
    readers.append("graphreader-paper")
    lines = [
        reading(dataset="hotpotwikiqa-mixup", reader=reader, length=length, rating="exact")
        for reader in [*readers, "golden", "graphreader"]
        for length in ("16k", "64k")
    ]
    series = panel("score_by_length", *lines).marks

    names = ["graphreader", "full-text", "rag-bm25-3", "graphreader-paper"]
    assert [one.name for one in series][:4] == names
    assert len(series) == 7
    assert series[-1].name == "paper: GraphReader, 4k"
    assert series[0].highlighted


# A reader stands once above all retrieval that read as much.
def test_equal_reading() -> None:
    fields = {"id": "q1", "dataset": "musique", "length": "native", "against": "graphreader"}
    equal = tuple(
        EqualBudgetLine(**fields, reader=name, documents_read=(0,), tokens_read=1)
        for name in ("bm25", "embedding")
    )
    lines = [reading(gold_documents=[0], documents_read=[0])]

    assert [dot.name for dot in panel("equal_reading", *lines, equal=equal).marks] == [
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
    ours, paper = panel("read_agent", *lines).marks

    assert (ours.name, [at for at, _ in ours.points]) == ("ReadAgent-P", [1, 5, 6])
    assert paper.name == "paper: ReadAgent-P"
    assert [cell.value for _, cell in paper.points][:2] == pytest.approx([0.8413, 0.8616])


# A reader and a score have the same colour in every picture, whichever others are there; each kind
# has another one. So has each phase.
def test_colours() -> None:
    def reader_colours(*readers: str) -> dict[str, str]:
        lines = [
            reading(reader=reader, length=length, rating="exact")
            for reader in readers
            for length in ("16k", "64k")
        ]
        by_length, main = (panel(name, *lines).marks for name in ("score_by_length", "scores"))
        assert {one.name: one.colour for one in by_length} == {one.name: one.colour for one in main}
        return {one.name: one.colour for one in main}

    def score_colours(**fields: object) -> dict[str, str]:
        lines = [reading(reader=f"graphreader-nodes-{n}", **fields) for n in (1, 5)]
        return {one.name: one.colour for one in panel("initial_nodes", *lines).marks}

    def phase_colours(*phases: str) -> dict[str, str]:
        usage = {phase: {"calls": 1, "input_tokens": 10} for phase in phases}
        figure = draw_table(matplotlib.figure, tables(reading(phases=usage))["costs"])
        bars = figure.axes[0].containers
        return {bar.get_label(): to_hex(bar.patches[0].get_facecolor()) for bar in bars}

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
    table = replace(tables(*lines)["scores"], warning=warning)
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
    assert draw_plots([tables(reading())["scores"]], tmp_path) == []
    assert list(tmp_path.iterdir()) == []
