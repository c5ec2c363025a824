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
from tests.snapshots import Snapshots
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


REPORTS = {
    "all is well": IngestReport(
        "books",
        (READ, UNCHANGED),
        Usage(calls=3, input_tokens=900, output_tokens=100, reused=1),
        "openai:fake",
        dropped=1,
    ),
    "incomplete": IngestReport("my books", (READ, ODD), Usage(), "offline", notes=("A note.",)),
    "refused": IngestReport("books", (ODD, REFUSED), Usage(), "offline"),
}


# A person gets one line about what was read and kept, then at most ten failed chunks with their
# reasons and the command that asks for them again; a program gets all in one object. A refused
# document outweighs an incomplete one.
@pytest.mark.parametrize("as_json", [False, True], ids=["lines", "json"])
@pytest.mark.parametrize("name", REPORTS)
def test_report(
    capsys: pytest.CaptureFixture[str], snapshots: Snapshots, name: str, as_json: bool
) -> None:
    code = 0
    try:
        print_ingest_report(REPORTS[name], as_json)
    except typer.Exit as end:
        code = end.exit_code
    out, err = capsys.readouterr()
    shown = json.loads(out) if as_json else out.splitlines()

    snapshots.check(
        f"report, {name}, {'json' if as_json else 'lines'}",
        {"code": code, "out": shown, "err": err.splitlines()},
    )


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
STYLES = re.compile(r"\x1b\[[\d;]*m")


# A short run prints a line for each document with a problem and for each status, with --verbose one
# for each document, with --quiet the problems only; in a log no cursor is moved.
@pytest.mark.parametrize("option", ["", "verbose", "quiet"])
def test_a_short_log(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    snapshots: Snapshots,
    option: str,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(Quiet, "enabled", option == "quiet")
    with IngestProgress(verbose=option == "verbose") as progress:
        for event in EVENTS:
            for _ in range(3 if event == DocumentEnd(READ) else 1):
                progress(event)
    out, err = capsys.readouterr()

    assert out == ""
    assert "\x1b[31m" in err
    snapshots.check(f"short log {option}".strip(), STYLES.sub("", err).splitlines())


# A folder with many problems lists the first twenty of its documents once, and counts all others;
# chunks without facts are listed at the end only.
def test_many_problems(capsys: pytest.CaptureFixture[str], snapshots: Snapshots) -> None:
    with IngestProgress() as progress:
        for number in [*range(25), *range(20)]:
            progress(DocumentEnd(replace(REFUSED, source=f"{number}.txt")))
        progress(DocumentEnd(READ))
        progress(DocumentEnd(replace(ODD, skipped=())))
        status = progress.status()

    assert "12 chunks without facts" in status
    snapshots.check("many problems", capsys.readouterr().err.splitlines())


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
def test_a_long_log(capsys: pytest.CaptureFixture[str], snapshots: Snapshots) -> None:
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

    snapshots.check("long log", capsys.readouterr().err.splitlines())


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
def test_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    with IngestProgress() as progress:
        for event in EVENTS:
            progress(event)
    logged = capsys.readouterr().err.splitlines()
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", "120")
    screen = Keyboard()
    with redirect_stderr(screen), IngestProgress() as progress:
        for event in EVENTS:
            progress(event)
    text = re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", screen.getvalue())
    lines = [line.rstrip() for line in text.splitlines()]

    if kind == "dumb":
        assert lines == logged
        return
    assert [line for line in lines if line in logged] == logged
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
