"""What is seen of an ingestion: its end, its progress in a terminal and in a log."""

import json
import re
from contextlib import redirect_stderr

import pytest
import typer

from graphreader.cli.ingest import IngestProgress, print_ingest_report
from graphreader.documents import Skipped
from graphreader.ingestion.report import (
    ChunkProgress,
    DocumentEnd,
    DocumentReport,
    DocumentStart,
    EmbeddingProgress,
    FailedChunk,
    IngestEvent,
    IngestReport,
    NormalizationStage,
    SourceCount,
    SourceEnd,
)
from graphreader.usage import Usage
from tests.clock import Clock
from tests.terminal import Keyboard

READ = DocumentReport("life [1]", "life.txt", "read", id="a", chunks=12, asked=3, facts=40)
UNCHANGED = DocumentReport("贞德", "z.txt", "unchanged", id="b", chunks=7)
REFUSED = DocumentReport("x", "x.txt", "refused", error="x.txt is [binary]: leave it.")
ODD = DocumentReport(
    "odd\x1b[31m\n",
    "odd.txt",
    "incomplete",
    id="c",
    chunks=14,
    asked=14,
    facts=2,
    skipped=tuple(Skipped(f"page {page}", "It is a picture.") for page in range(3, 8)),
    failed=tuple(FailedChunk(chunk, f"Reason {chunk}.") for chunk in range(12)),
    error="No sense.",
)


def exit_code(report: IngestReport, as_json: bool = False) -> int:
    """Print the report; returns the exit code."""
    try:
        print_ingest_report(report, as_json)
    except typer.Exit as end:
        return end.exit_code
    return 0


# All went well: one line, with what was asked and what was kept of it.
def test_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    usage = Usage(calls=3, input_tokens=900, output_tokens=100, reused=1)
    code = exit_code(IngestReport("books", (READ, UNCHANGED), usage, "openai:fake", dropped=1))
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    assert out == (
        "books: 1 read (3 chunks, 40 facts; 9 chunks kept), 1 unchanged, 1 key element dropped "
        "(not in their facts). Decider: openai:fake. "
        "Cost: 3 calls, 1,000 tokens, 1 from the cache.\n"
    )


# What failed is listed with its reasons, at most ten, and what to do about it; what cannot be read
# at all weighs more than what is incomplete.
def test_failed_chunks(capsys: pytest.CaptureFixture[str]) -> None:
    code = exit_code(IngestReport("my books", (READ, ODD), Usage(), "offline", notes=("A note.",)))
    out, err = capsys.readouterr()
    lines = err.splitlines()

    assert code == 1
    assert "2 read (17 chunks, 42 facts; 9 chunks kept), 1 of them incomplete" in out
    assert "5 parts skipped" in out
    assert lines[:10] == [f"odd [31m , chunk {n}: Reason {n}." for n in range(10)]
    assert lines[10:] == [
        "... and 2 more (--json lists all).",
        "12 chunks without facts. To ask for them again: "
        "graphreader ingest --retry-failed --corpus 'my books'",
        "A note.",
    ]
    assert exit_code(IngestReport("books", (ODD, REFUSED), Usage(), "offline")) == 2
    assert ", 1 refused" in capsys.readouterr().out


# A program gets all of it in one object, and the same exit code.
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code = exit_code(IngestReport("books", (ODD, UNCHANGED), Usage(), "offline"), as_json=True)
    out, err = capsys.readouterr()
    value = json.loads(out)
    odd, unchanged = value["documents"]

    assert (code, err, out.count("\n")) == (1, "", 1)
    assert {"corpus", "documents", "asked_chunks", "reused_chunks", "usage", "seconds"} <= {*value}
    assert {"id", "title", "status", "chunks", "facts", "skipped", "failed"} <= {*odd}
    assert odd["failed"][11] == {"chunk": 11, "reason": "Reason 11."}
    assert odd["skipped"][0] == {"part": "page 3", "reason": "It is a picture."}
    assert (unchanged["status"], unchanged["failed"]) == ("unchanged", [])
    assert (value["asked_chunks"], value["reused_chunks"]) == (14, 7)


EVENTS: list[IngestEvent] = [
    SourceCount(4, 4000),
    DocumentEnd(REFUSED),
    DocumentStart("life [1]", 12, 3),
    ChunkProgress("life [1]", 2, 20),
    ChunkProgress("life [1]", 1, 5),
    DocumentEnd(READ),
    DocumentEnd(UNCHANGED),
    DocumentEnd(ODD),
    EmbeddingProgress(7, 30),
    EmbeddingProgress(30, 30),
    *[SourceEnd(1000)] * 4,
    NormalizationStage("semantic"),
]
LINES = [
    "refused    x.txt is [binary]: leave it.",
    "read       life [1]  12 chunks, 3 of them new",
    "unchanged  贞德  7 chunks",
    "incomplete odd [31m   14 chunks, 12 without facts, 5 parts skipped",
    "           No sense.",
    "           page 3: It is a picture.",
    "           page 4: It is a picture.",
    "           page 5: It is a picture.",
    "           and 2 more",
]


# A log of a short run has a line for each document, and nothing else: no cursor is moved.
@pytest.mark.parametrize("colours", [False, True], ids=["plain", "colours"])
def test_a_short_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, colours: bool
) -> None:
    if colours:
        monkeypatch.setenv("FORCE_COLOR", "1")
    with IngestProgress() as progress:
        for event in EVENTS:
            progress(event)
    out, err = capsys.readouterr()

    assert out == ""
    assert ("\x1b[32m" in err) == colours
    assert re.sub(r"\x1b\[[\d;]*m", "", err).split("\n") == [*LINES, ""]


# A log of a long run says how far it is, not before ten seconds and 5 % have passed again.
def test_a_long_log(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with IngestProgress(clock=clock.now) as progress:
        progress(SourceCount(1, 900_000))
        progress(DocumentStart("life", 400, 400, 160_000))
        progress(SourceEnd(900_000))
        for _ in range(100):
            clock.go_on(1)
            progress(ChunkProgress("life", 4, 80, 1600))
        for done in (100, 200, 300):
            clock.go_on(6)
            progress(EmbeddingProgress(done, 320))
        for stage in ("semantic", "association"):
            clock.go_on(1)
            progress(NormalizationStage(stage))
    lines = capsys.readouterr().err.splitlines()

    assert lines[0] == (
        "ingest: 40 of 400 chunks, 800 facts, 16,000 tokens, 4.0 chunks/s, 1,600 tokens/s, "
        "about 1 min 30 s left"
    )
    assert [line.partition(",")[0] for line in lines[:9]] == [
        f"ingest: {40 * number} of 400 chunks" for number in range(1, 10)
    ]
    assert lines[9:] == [
        "ingest: embedding key elements, 100 of 320",
        "ingest: embedding key elements, 300 of 320",
        "ingest: merging key elements (semantic)",
        "ingest: merging key elements (association)",
    ]


# Where chunks come slowly, a line waits for 5 % of them, so that a log of days stays short.
def test_a_slow_log(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with IngestProgress(clock=clock.now) as progress:
        progress(DocumentStart("life", 400, 400))
        for _ in range(100):
            clock.go_on(60)
            progress(ChunkProgress("life", 1, 20))
    lines = capsys.readouterr().err.splitlines()

    assert [line.partition(" chunks,")[0] for line in lines] == [
        f"ingest: {done} of 400" for done in (20, 40, 60, 80, 100)
    ]
    assert "1.0 chunks/min, 0 tokens/s, about 5 h left" in lines[-1]


# While sources are left to load, their bytes tell the time; nobody guesses where these are unknown.
@pytest.mark.parametrize(
    ("size", "left"), [(10_000, ", about 30 s left"), (0, "")], ids=["known", "unknown"]
)
def test_sources_to_come(size: int, left: str) -> None:
    clock = Clock()
    progress = IngestProgress(clock=clock.now)
    progress(SourceCount(10, size))
    for _ in range(4):
        clock.go_on(5)
        progress(DocumentStart("a", 20, 20))
        progress(ChunkProgress("a", 20, 400, 8000))
        progress(SourceEnd(size // 10))

    status = "80 of 80 chunks, 4 of 10 sources, 1,600 facts, 32,000 tokens"
    assert progress.status() == status + left


# In a terminal there are bars and figures that go away at the end, and above them the documents
# that are not unchanged.
def test_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    screen = Keyboard()
    with redirect_stderr(screen), IngestProgress() as progress:
        for event in EVENTS:
            progress(event)
    text = re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", screen.getvalue())
    lines = [line.rstrip() for line in text.splitlines()]

    assert not any("贞德" in line for line in lines)
    assert all(line in lines for line in LINES if "贞德" not in line)
    assert any("Chunks" in line and "3/3" in line for line in lines)
    assert any("Key elements" in line and "30/30" in line for line in lines)
    assert any("merging key elements (semantic)" in line for line in lines)
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back
    assert screen.getvalue().endswith("\x1b[2K")  # the last of the lines is wiped out


# A terminal that cannot move its cursor gets what a log gets.
def test_in_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    screen = Keyboard()
    with redirect_stderr(screen), IngestProgress() as progress:
        for event in EVENTS:
            progress(event)

    assert screen.getvalue().splitlines() == LINES
