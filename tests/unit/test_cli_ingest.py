"""What is seen of an ingestion: its end, its progress in a terminal and in a log."""

import json
import re
from contextlib import redirect_stderr
from dataclasses import replace
from typing import Any, cast

import pytest
import typer
from typer.main import get_command

from graphreader.cli.app import app
from graphreader.cli.console import Quiet
from graphreader.cli.ingest import IngestProgress, print_ingest_report, with_ray_address
from graphreader.cli.progress import WaitDisplay
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
    NormalizationProgress,
    SourceCount,
    SourceEnd,
)
from graphreader.usage import Usage
from graphreader.waiting import Waiting
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


# All went well: one line, with what was read and what was kept of it.
def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    usage = Usage(calls=3, input_tokens=900, output_tokens=100, reused=1)
    code = exit_code(IngestReport("books", (READ, UNCHANGED), usage, "openai:fake", dropped=1))
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    assert out == (
        "books: 1 read (3 chunks, 40 facts; 9 chunks kept), 1 unchanged, 1 key element dropped "
        "(not in their facts). Decider: openai:fake. "
        "Cost: 3 calls, 1,000 tokens, 1 from the cache.\n"
    )


# Failed chunks are listed with their reasons, at most ten, and the command that retries them; a
# refused document outweighs an incomplete one.
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

    assert (code, err, out.count("\n")) == (1, "", 1)
    assert value["documents"][0]["failed"][11] == {"chunk": 11, "reason": "Reason 11."}
    assert value["documents"][0]["skipped"][0] == {"part": "page 3", "reason": "It is a picture."}
    assert (value["asked_chunks"], value["reused_chunks"]) == (14, 7)


EVENTS: list[IngestEvent] = [
    SourceCount(4),
    DocumentEnd(REFUSED),
    DocumentStart("life [1]", 12, 3),
    ChunkProgress("life [1]", 2, 20),
    ChunkProgress("life [1]", 1, 5),
    DocumentEnd(READ),
    DocumentEnd(UNCHANGED),
    DocumentEnd(ODD),
    EmbeddingProgress(7, 30),
    EmbeddingProgress(30, 30),
    *[SourceEnd()] * 4,
    NormalizationProgress(120, 400),
]
READ_LINE = "read       life [1]  12 chunks, 3 of them new"
UNCHANGED_LINE = "unchanged  贞德  7 chunks"
PROBLEMS = [
    "refused    x.txt is [binary]: leave it.",
    "incomplete odd [31m   14 chunks, 12 without facts, 5 parts skipped",
    "           No sense.",
    "           page 3: It is a picture.",
    "           page 4: It is a picture.",
    "           page 5: It is a picture.",
    "           and 2 more",
]


STATES = ("read", "unchanged", "refused", "incomplete")
SUMMARY = ["read       300 documents, 3,600 chunks", "unchanged  1 document, 7 chunks"]


# A short run prints a line for each document with a problem and for each status, with --verbose one
# for each document, with --quiet the problems only; in a log no cursor is moved.
@pytest.mark.parametrize(
    ("option", "lines"),
    [
        ("", [*PROBLEMS, *SUMMARY]),
        ("verbose", [PROBLEMS[0], *[READ_LINE] * 300, UNCHANGED_LINE, *PROBLEMS[1:]]),
        ("quiet", PROBLEMS),
    ],
)
def test_a_short_log(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    lines: list[str],
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(Quiet, "enabled", option == "quiet")
    with IngestProgress(verbose=option == "verbose") as progress:
        for event in EVENTS:
            for _ in range(300 if event == DocumentEnd(READ) else 1):
                progress(event)
    out, err = capsys.readouterr()

    assert out == ""
    assert "\x1b[31m" in err
    assert re.sub(r"\x1b\[[\d;]*m", "", err).split("\n") == [*lines, ""]


# A folder with many problems lists the first twenty of its documents once, and counts all others;
# chunks without facts are listed at the end only.
def test_many_problems(capsys: pytest.CaptureFixture[str]) -> None:
    with IngestProgress() as progress:
        for number in [*range(25), *range(20)]:
            progress(DocumentEnd(replace(REFUSED, source=f"{number}.txt")))
        progress(DocumentEnd(READ))
        progress(DocumentEnd(replace(ODD, skipped=())))
        status = progress.status()

    assert "12 chunks without facts" in status
    assert capsys.readouterr().err.splitlines() == [
        *[PROBLEMS[0]] * 20,
        "refused    5 more documents (--verbose lists all)",
        "read       1 document, 12 chunks",
        "incomplete 1 document, 14 chunks",
    ]


# A further pass over the same sources, as batches need it, is counted anew; chunks that wait for a
# batch are not those of a pass.
def test_two_passes(capsys: pytest.CaptureFixture[str]) -> None:
    statuses = []
    with IngestProgress() as progress:
        for missing, end in ((12, replace(READ, status="waiting", waiting=9)), (9, READ)):
            progress(SourceCount(1))
            progress(DocumentStart("life", 12, missing))
            progress(ChunkProgress("life", 3, 40))
            progress(NormalizationProgress(0, 0))
            progress(DocumentEnd(end))
            progress(SourceEnd())
            statuses.append(progress.status())

    assert statuses[0].startswith("3 of 3 chunks, 40 facts")
    assert statuses[1].startswith("3 of 9 chunks")
    assert capsys.readouterr().err.splitlines() == ["read       1 document, 12 chunks"]


# A log of a long run says how far it is, after ten seconds and 5 % of the chunks or five minutes,
# with the rate and the time left, in which waits count, and with the cost so far.
def test_a_long_log(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with IngestProgress(clock=clock.now) as progress:
        progress(SourceCount(2))
        progress(DocumentStart("life", 400, 400, 160_000))
        progress(SourceEnd())
        for _ in range(80):
            clock.go_on(1)
            progress(ChunkProgress("life", 4, 80, 1600))
        progress(SourceEnd())
        clock.go_on(240)
        progress(Waiting("fake:model", "", 0.0))
        clock.go_on(60)
        progress(Waiting("fake:model", "", 0.0))
        usage = Usage(20, 5000, 1000, dollars=0.5)
        for _ in range(20):
            clock.go_on(3)
            progress(ChunkProgress("life", 4, 80, 1600, usage))
        for event in (EmbeddingProgress(100, 320), NormalizationProgress(120, 400)):
            clock.go_on(10)
            progress(event)
    lines = capsys.readouterr().err.splitlines()

    assert lines[0] == (
        "ingest: 40 of 400 chunks, 240.0 a minute, about 3 min 10 s left, 1 of 2 sources, "
        "800 facts, 16,000 tokens"
    )
    assert [line.partition(",")[0] for line in lines[:-2]] == [
        *(f"ingest: {40 * number} of 400 chunks" for number in range(1, 9)),
        *(f"ingest: {done} of 400 chunks" for done in (320, 340, 360, 380)),
    ]
    assert lines[8].endswith("chunks, 6,400 facts, 128,000 tokens")  # nothing for five minutes
    assert "340 of 400 chunks, 3.8 a minute, about 15 min 45 s left, 6,800 facts," in lines[9]
    assert lines[-3].endswith(" s left, 7,600 facts, 20 calls, 6,000 tokens, $0.5000")
    assert lines[-2:] == [
        "ingest: embedding key elements, 100 of 320",
        "ingest: merging key elements, 120 of 400",
    ]


# What an ingest waits for stands in a line: below the bars until the next attempt, counted down, or
# the answer of that service; in a log at once, not again within a minute, nor for a wait that ends
# soon after it.
def test_what_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    texts = [f"fake:model: 500, try {number} of 6 in 2 s" for number in (2, 3, 4)]
    with IngestProgress(clock=clock.now) as progress:
        for text in texts:
            progress(Waiting("fake:model", text, 2.0))
            progress(Waiting("Neo4j", "Neo4j does not answer", 2.0))
            clock.go_on(3)
        progress(Waiting("fake:model", "fake:model: 500, try 5 of 6 in 8 s", 8.0))
        progress(Waiting("fake:model", "", 0.0))
        progress(Waiting("fake:model", "fake:model: 429, try 2 of 6 in 4 s", 4.0))
    live = WaitDisplay(live=True, clock=clock.now)
    live(Waiting("fake:model", "fake:model: 500, try 2 of 6 in 2 s", 1.6))
    live(Waiting("Neo4j", "Waiting for Neo4j", 0.0))
    live(Waiting("Neo4j", "", 0.0))
    shown = [[line.plain for line in live.lines]]
    clock.go_on(1)
    shown.append([line.plain for line in live.lines])
    for text, seconds in (("fake:model: no whole reply", 6), ("", 0)):
        clock.go_on(6)
        shown.append([line.plain for line in live.lines])
        live(Waiting("fake:model", text, 0))
        clock.go_on(seconds)
        shown.append([line.plain for line in live.lines])

    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        *[texts[0], "Neo4j does not answer"],
        texts[2],
        "fake:model: 500, try 5 of 6 in 8 s",
        "fake:model: 429, try 2 of 6 in 4 s",
    ]
    late = ["fake:model: no whole reply"]
    assert shown == [[texts[0]], ["fake:model: 500, try 2 of 6 in 1 s"], [], late, late, []]


# A terminal shows bars and figures that go away at the end, and the lines that a log gets; one that
# cannot move its cursor gets only these.
@pytest.mark.parametrize("kind", ["xterm", "dumb"])
def test_in_a_terminal(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", "60")
    screen = Keyboard()
    with redirect_stderr(screen), IngestProgress() as progress:
        for event in EVENTS:
            progress(event)
    text = re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", screen.getvalue())
    lines = [line.rstrip() for line in text.splitlines()]

    expected = [*PROBLEMS, "read       1 document, 12 chunks", SUMMARY[1]]
    if kind == "dumb":
        assert lines == expected
        return
    assert [line for line in lines if line.startswith(STATES)] == [*PROBLEMS[:2], *expected[-2:]]
    assert all(line in lines for line in expected)
    assert any("Chunks" in line and "100%" in line for line in lines)
    assert any("merging key elements, 120 of 400" in line for line in lines)
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back


# `--ray` may have an address or none, wherever it stands: a path is no address.
@pytest.mark.parametrize(
    ("given", "address", "paths"),
    [
        (["a", "--ray"], "local", ["a"]),
        (["--ray", "a"], "local", ["a"]),
        (["--ray", "--json", "a"], "local", ["a"]),
        (["--ray", "node-1.example:6379", "a"], "node-1.example:6379", ["a"]),
        (["a", "--ray=[::1]:6379"], "[::1]:6379", ["a"]),
        (["a", "--ray", "local"], "local", ["a"]),
        (["a"], None, ["a"]),
    ],
)
def test_ray_address(given: list[str], address: str | None, paths: list[str]) -> None:
    command = cast(Any, get_command(app)).commands["ingest"]
    parsed = command.make_context("ingest", with_ray_address(given))
    assert (parsed.params["ray"], parsed.params["paths"]) == (address, paths)
