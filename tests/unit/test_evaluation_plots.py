"""The marks of the pictures, and that words have room; the look is for eyes to judge."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib.figure
from matplotlib.text import Text

from graphreader.evaluation.plots import Panel, draw_plots, draw_table, panels
from graphreader.files import Line
from tests.unit.evaluated_report import reading, tables


def panel(table: str, *lines: Line, equal: Sequence[Line] = ()) -> Panel:
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


# Of many readers GraphReader and five others get a line, and the paper's.
def test_lines() -> None:
    readers = ["search-agent", "gistmem", "full-text", "rag-bm25-1", "rag-bm25-3", "chunk-read"]
    lines = [
        reading(dataset="hotpotwikiqa-mixup", reader=reader, length=length, rating="exact")
        for reader in [*readers, "golden", "graphreader"]
        for length in ("16k", "64k")
    ]
    series = panel("score_by_length", *lines).marks

    assert len(series) == 7
    assert (series[0].name, series[-1].name) == ("graphreader", "paper: GraphReader, 4k")


# However long names are, no word is cut at an edge of the picture or stands on another, in each
# kind of picture.
def test_room() -> None:
    lines = [
        reading(
            dataset="a dataset with a long name that goes on and on, longer than there is room for",
            reader=f"graphreader-of-somebody-{number}",
            model=f"provider:a-model-with-a-long-name-and-a-date-{number}",
            window=128_000,
            length=length,
        )
        for number in range(7)
        for length in ("16k", "64k")
    ]
    made = tables(*lines)
    for name in ("scores", "score_by_length"):
        table = replace(made[name], warning="These figures are not to be compared. " * 5)
        figure = draw_table(matplotlib.figure, table)
        figure.draw_without_rendering()
        words = [text for text in figure.findobj(Text) if len(text.get_text()) > len("100")]
        boxes = [one.get_window_extent() for one in words if one.get_visible()]

        assert len(boxes) > 7
        assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)
        assert all(box.y0 >= 0 and box.y1 <= figure.bbox.height for box in boxes)
        assert not any(a.overlaps(b) for at, a in enumerate(boxes) for b in boxes[at + 1 :])


# A table in which nothing can be compared has no picture.
def test_nothing_to_draw(tmp_path: Path) -> None:
    assert draw_plots([tables(reading())["scores"]], tmp_path) == []
    assert list(tmp_path.iterdir()) == []
