"""What `graphreader ingest` refuses before it opens anything, and what it says at its end."""

import io
import json
import sys
from pathlib import Path

import pytest
import typer

from graphreader.cli.ingest import print_ingest_report
from graphreader.documents import Skipped
from graphreader.ingestion.report import DocumentReport, FailedChunk, IngestReport
from graphreader.usage import Usage
from tests.terminal import Terminal

READ = DocumentReport("life", "life.txt", "read", id="a", chunks=12, asked=3, facts=40)
UNCHANGED = DocumentReport("old", "old.txt", "unchanged", id="b", chunks=7)
REFUSED = DocumentReport("x", "x.txt", "refused", error="x.txt does not exist: check the path.")
ODD = DocumentReport(
    "odd",
    "odd.txt",
    "incomplete",
    id="c",
    chunks=14,
    asked=14,
    facts=2,
    skipped=(Skipped("page 7", "It is a picture."),),
    failed=tuple(FailedChunk(chunk, f"Reason {chunk}.") for chunk in range(12)),
    error="Reason 0.",
)


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Terminal:
    return Terminal(monkeypatch, capsys, tmp_path)


def told(report: IngestReport, as_json: bool = False) -> int:
    """Print it; the exit code."""
    try:
        print_ingest_report(report, as_json)
    except typer.Exit as end:
        return end.exit_code
    return 0


# Names too few or too many are refused in a sentence, before anything is opened.
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name what to read: files, folders, or - for stdin."),
        (["-"], "The text from stdin needs a name: add --id NAME."),
        (["-", "--id", " "], "The text from stdin needs a name: add --id NAME."),
        (["life.txt", "--id", "life"], "--id names the text from stdin: add - as a PATH, or"),
        (["--retry-failed", "life.txt"], "--retry-failed asks again for the failed chunks of the"),
        (["--retry-failed", "--include", "*.md"], "--retry-failed asks again"),
        (["--retry-failed", "--no-normalize"], "--retry-failed asks again"),
        (["--retry-failed", "--dry-run"], "--retry-failed asks again"),
        (["missing.txt", "gone.txt"], "missing.txt does not exist: check the path.\ngone.txt does"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(terminal: Terminal, arguments: list[str], said: str) -> None:
    terminal.set(NEO4J_URI="nowhere")
    outcome = terminal.run("ingest", *arguments, "--json")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(said)


class Keyboard(io.StringIO):
    """A stdin at which a person sits."""

    def isatty(self) -> bool:
        return True


# Where nothing is piped in, nobody waits for it.
def test_a_keyboard(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard())

    outcome = terminal.run("ingest", "-", "--id", "notes")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("Nothing is piped in")


# All went well: one line, with what was asked and what was kept of it.
def test_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    usage = Usage(calls=3, input_tokens=900, output_tokens=100, reused=1)
    code = told(IngestReport("books", (READ, UNCHANGED), usage, "openai:fake", dropped=1))
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    assert out == (
        "books: 1 read (3 chunks, 40 facts; 9 chunks kept), 1 unchanged, 1 key element dropped "
        "(not in their facts). Decider: openai:fake. "
        "Cost: 3 calls, 1,000 tokens, 1 from the cache.\n"
    )


# What failed is listed with its reasons, at most ten, and what to do about it.
def test_failed_chunks(capsys: pytest.CaptureFixture[str]) -> None:
    code = told(IngestReport("my books", (READ, ODD), Usage(), "offline", notes=("A note.",)))
    out, err = capsys.readouterr()
    lines = err.splitlines()

    assert code == 1
    assert "2 read (17 chunks, 42 facts; 9 chunks kept), 1 of them incomplete" in out
    assert "1 part skipped" in out
    assert lines[:10] == [f"odd, chunk {number}: Reason {number}." for number in range(10)]
    assert lines[10:] == [
        "... and 2 more (--json lists all).",
        "12 chunks without facts. To ask for them again: "
        "graphreader ingest --retry-failed --corpus 'my books'",
        "A note.",
    ]


# A program gets all of it in one object, and the same exit code.
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code = told(IngestReport("books", (ODD, UNCHANGED), Usage(), "offline"), as_json=True)
    out, err = capsys.readouterr()
    value = json.loads(out)
    keys = {"corpus", "documents", "asked_chunks", "reused_chunks", "usage", "seconds"}
    keys_of_document = {"id", "title", "status", "chunks", "facts", "skipped", "failed"}

    assert (code, err, out.count("\n")) == (1, "", 1)
    assert keys <= set(value)
    odd, unchanged = value["documents"]
    assert keys_of_document <= set(odd)
    assert len(odd["failed"]) == 12
    assert odd["failed"][11] == {"chunk": 11, "reason": "Reason 11."}
    assert odd["skipped"] == [{"part": "page 7", "reason": "It is a picture."}]
    assert (unchanged["status"], unchanged["failed"]) == ("unchanged", [])
    assert (value["asked_chunks"], value["reused_chunks"]) == (14, 7)


# What cannot be read at all weighs more than what is incomplete.
def test_refused_documents(capsys: pytest.CaptureFixture[str]) -> None:
    code = told(IngestReport("books", (ODD, REFUSED), Usage(), "offline"))

    assert code == 2
    assert ", 1 refused" in capsys.readouterr().out
