"""What a person sees while texts are read in, in a terminal and in a pipe."""

import io
import re
import sys

import pytest

from graphreader.cli.progress import IngestDrawing
from graphreader.ingestion.report import (
    ChunksRead,
    DocumentBegun,
    DocumentEnded,
    DocumentReport,
    Embedded,
    ReadingEvent,
)

EVENTS: list[ReadingEvent] = [
    DocumentEnded(DocumentReport("x", "x.txt", "refused", error="x.txt is [binary]: leave it.")),
    DocumentBegun("life [1]", 12, 3),
    ChunksRead("life [1]", 2, 20),
    ChunksRead("life [1]", 1, 5),
    DocumentEnded(DocumentReport("life [1]", "life.txt", "read", chunks=12, asked=3)),
    DocumentEnded(DocumentReport("贞德", "z.txt", "unchanged", chunks=1)),
    DocumentEnded(
        DocumentReport(
            "odd", "odd.txt", "incomplete", chunks=4, asked=4, failed=2, error="No sense."
        )
    ),
    Embedded(7, 30),
    Embedded(30, 30),
]
LINES = [
    "refused    x.txt is [binary]: leave it.",
    "read       life [1]  12 chunks",
    "unchanged  贞德  1 chunk",
    "incomplete odd  4 chunks, 2 without facts: the same command asks again",
    "           No sense.",
]


class Screen(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def draw() -> None:
    with IngestDrawing() as drawing:
        for event in EVENTS:
            drawing(event)


# In a pipe: a line for each document, and nothing else.
def test_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    draw()
    out, err = capsys.readouterr()

    assert out == ""
    assert err.splitlines() == LINES


# In a terminal the same lines stay, above bars that go away at the end.
def test_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")

    draw()
    text = re.sub(r"\x1b\[[\d;]*m", "", screen.getvalue())  # without styles

    assert all(text.count(line) == 1 for line in LINES)
    assert "3/3" in text
    assert "30/30" in text
    assert "\x1b[?25h" in text
    assert text.rindex("\x1b[2K") > text.rindex("30/30")
