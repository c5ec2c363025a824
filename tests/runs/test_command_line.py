"""The commands on a real Neo4j, as a person or a program gives them, and what they print."""

import asyncio
import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.ingestion.loading.formats import load
from graphreader.settings import Settings
from graphreader.store.catalog import Stats
from graphreader.store.connection import open_connection
from graphreader.store.writer import GraphWriter
from tests.runs.openai_server import OpenAIServer
from tests.terminal import (
    Outcome,
    Terminal,
    ended,
    environment_of,
    started,
)

LIVES = {
    "vera": "Vera Holm was born in Bergen in 1901. She taught painting in Oslo.\n",
    "emil": "Emil Rask studied painting with Vera Holm. He founded a school in Malmö in 1933.\n",
    "贞德": "贞德生于栋雷米村。1431年，贞德在鲁昂被处死。\n",
}
QUESTION = "Where was the teacher of Emil Rask born?"
READING = {
    "question": str,
    "answer": str,
    "analysis": str,
    "answered": bool,
    "corpus": str,
    "plan": str,
    "citations": list,
    "paths": list,
    "usage": dict,
    "decider": str,
}
CITATION = {
    "document": str,
    "document_id": str,
    "chunk": int,
    "start": int,
    "end": int,
    "quote": str,
}
PATH = {
    "initial_node": str,
    "notebook": str,
    "calls": int,
    "stopped": str,
    "error": (str, type(None)),
    "functions": list,
}
CALL = {"name": str, "argument": str, "rationale": str}
USAGE = {"calls": int, "input_tokens": int, "output_tokens": int, "seconds": float}


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    neo4j: Settings,
) -> Terminal:
    """A folder with three short lives in it, and the server's variables."""
    for title, text in LIVES.items():
        (tmp_path / f"{title}.txt").write_text(text, encoding="utf-8")
    terminal = Terminal(monkeypatch, capsys, tmp_path)
    terminal.set(**environment_of(neo4j), COLUMNS="100")
    return terminal


pytestmark = pytest.mark.usefixtures("cleaned")


def stats(settings: Settings, corpus: str) -> Stats:
    with GraphReader(corpus, settings=settings) as reader:
        return reader.stats()


def sizes(counted: Stats) -> tuple[Any, ...]:
    return counted.documents, counted.chunks, counted.facts, counted.key_elements, counted.busiest


def fits(value: dict[str, Any], shape: dict[str, Any]) -> bool:
    return set(shape) <= set(value) and all(
        isinstance(value[key], kind) for key, kind in shape.items()
    )


# From texts to a cited answer: one JSON object a command, with the promised keys and types.
def test_json_from_end_to_end(terminal: Terminal, corpus: str) -> None:
    read = terminal.run("ingest", ".", "--corpus", corpus, "--json")
    again = terminal.run("ingest", ".", "--corpus", corpus, "--json")
    asked = terminal.run("ask", QUESTION, "--corpus", corpus, "--json")
    listed = terminal.run("list", "--corpus", corpus, "--json")
    counted = terminal.run("stats", "--corpus", corpus, "--json")

    assert [one.code for one in (read, again, asked, listed, counted)] == [0] * 5
    assert [one.out.count("\n") for one in (read, again, asked, listed, counted)] == [1] * 5
    assert {one["title"]: one["status"] for one in read.json["documents"]} == dict.fromkeys(
        LIVES, "read"
    )
    assert {one["status"] for one in again.json["documents"]} == {"unchanged"}
    assert again.json["usage"]["calls"] == 0
    (found,) = listed.json["corpora"]
    assert [one["status"] for one in found["documents"]] == ["complete"] * 3
    assert counted.json["documents"] == counted.json["chunks"] == 3
    assert counted.json["facts"] == read.json["facts"] > 3
    assert asked.err == ""
    reading = asked.json
    assert fits(reading, READING)
    assert fits(reading["usage"], USAGE)
    assert reading["question"] == QUESTION
    assert reading["corpus"] == corpus
    assert reading["decider"] == "offline"
    assert reading["answered"] is True
    assert "Bergen" in reading["answer"]
    assert 1 <= len(reading["paths"]) <= 5
    for path in reading["paths"]:
        assert fits(path, PATH)
        assert all(fits(call, CALL) for call in path["functions"])
        assert len(path["functions"]) == path["calls"] <= 10
    sources = {one["id"]: one["source"] for one in found["documents"]}
    assert reading["citations"]
    for citation in reading["citations"]:
        assert fits(citation, CITATION)
        with open(sources[citation["document_id"]], encoding="utf-8") as file:
            text = file.read()
        assert text[citation["start"] : citation["end"]] == citation["quote"] != ""


# For a person the same is lines: what was read, the corpus, its sizes, the plan and the answer.
def test_lines_for_a_person(terminal: Terminal, corpus: str) -> None:
    read = terminal.run("ingest", "vera.txt", "emil.txt", "--corpus", corpus)
    again = terminal.run("ingest", "vera.txt", "--corpus", corpus)
    listed = terminal.run("list")
    counted = terminal.run("stats", "--corpus", corpus)
    asked = terminal.run("ask", QUESTION, "--corpus", corpus)

    assert {one.code for one in (read, again, listed, counted, asked)} == {0}
    assert sorted(read.err.splitlines()) == [
        "read       emil  1 chunk",
        "read       vera  1 chunk",
    ]
    summary = rf"{corpus}: 2 read \(2 chunks, \d+ facts\). Decider: offline, no language model.\n"
    assert re.fullmatch(summary, read.out)
    assert again.err == "unchanged  vera  1 chunk\n"
    assert again.out.startswith(f"{corpus}: 0 read (0 chunks, 0 facts), 1 unchanged.")
    assert f"Corpus {corpus}, 2 documents\n" in listed.out
    assert re.search(r"(?m)^emil +[0-9a-f]{24} +1 +\d+ +complete", listed.out)
    assert re.search(r"(?m)^key elements +\d+", counted.out)
    assert "Vera Holm (" in counted.out
    for head in ("Plan ──", "Paths ──", "Answer ──", "Citations ──"):
        assert asked.out.count(head) == 1
    assert "No language model is in use" in " ".join(asked.out.split())


# Chinese stays Chinese, also where the terminal takes ASCII only: there JSON escapes it.
def test_chinese(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    command = ["ask", "贞德在哪里被处死？", "--corpus", corpus, "--json"]
    terminal.run("ingest", "贞德.txt", "--corpus", corpus)

    asked = terminal.run(*command)
    bare = {**environment_of(neo4j), "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    in_ascii = ended(started(command, bare, terminal.folder), time.monotonic())

    assert (asked.code, asked.err, in_ascii.code, in_ascii.err) == (0, "", 0, "")
    assert "鲁昂" in asked.json["answer"]
    assert "鲁昂" in asked.out
    assert in_ascii.out.isascii()
    assert in_ascii.json["answer"] == asked.json["answer"]
    assert {one["document"] for one in in_ascii.json["citations"]} == {"贞德"}


# Narrow, dumb and colourless terminals get no escape codes, and every title whole.
def test_a_narrow_terminal(terminal: Terminal, corpus: str) -> None:
    terminal.set(COLUMNS="40", NO_COLOR="1", TERM="dumb")
    terminal.run("ingest", ".", "--corpus", corpus)

    outcomes = [
        terminal.run("list", "--corpus", corpus),
        terminal.run("stats", "--corpus", corpus),
        terminal.run("ask", QUESTION, "--corpus", corpus),
    ]

    assert {one.code for one in outcomes} == {0}
    assert not any("\x1b" in one.out + one.err for one in outcomes)
    assert max(map(len, outcomes[2].out.splitlines())) <= 40
    assert all(title in outcomes[0].out for title in LIVES)


# A document goes by id, path or title; `--all` takes the rest and the corpus itself.
def test_delete(terminal: Terminal, corpus: str) -> None:
    terminal.run("ingest", ".", "--corpus", corpus)
    documents = terminal.run("list", "--corpus", corpus, "--json").json["corpora"][0]["documents"]
    id_ = next(one["id"] for one in documents if one["title"] == "emil")

    by_title = terminal.run("delete", "贞德", "--corpus", corpus)
    by_path = terminal.run("delete", "vera.txt", "--corpus", corpus, "--json")
    by_id = terminal.run("delete", id_, "--corpus", corpus)
    empty = terminal.run("ask", QUESTION, "--corpus", corpus)
    the_rest = terminal.run("delete", "--all", "--corpus", corpus, "--json")
    gone = terminal.run("stats", "--corpus", corpus)

    assert (by_title.code, by_title.out) == (0, f"{corpus}: 1 document deleted.\n")
    assert by_path.json == {"corpus": corpus, "deleted": 1}
    assert by_id.code == 0
    assert (empty.code, empty.out) == (2, "")
    assert f"graphreader ingest PATH --corpus {corpus}" in empty.err
    assert the_rest.json == {"corpus": corpus, "deleted": 0}
    assert (gone.code, gone.out) == (2, "")
    assert f"There is no corpus '{corpus}'" in gone.err


# A title that two documents have is refused with the ids of both; nothing is deleted.
def test_an_ambiguous_title(terminal: Terminal, corpus: str) -> None:
    (terminal.folder / "more").mkdir()
    (terminal.folder / "more" / "vera.txt").write_text("Vera Dahl sang.\n", encoding="utf-8")
    terminal.run("ingest", ".", "--corpus", corpus)

    refused = terminal.run("delete", "vera", "--corpus", corpus, "--json")
    documents = terminal.run("list", "--corpus", corpus, "--json").json["corpora"][0]["documents"]

    assert (refused.code, refused.out) == (2, "")
    ids = [one["id"] for one in documents if one["title"] == "vera"]
    assert len(ids) == 2
    assert all(id_ in refused.err for id_ in ids)
    assert len(documents) == 4
    assert "Traceback" not in refused.err


class Keyboard(io.StringIO):
    """A stdin at which a person sits."""

    def isatty(self) -> bool:
        return True


# `delete --all` asks back where a person sits at a terminal, and takes nothing but yes for it.
@pytest.mark.parametrize(("answer", "left"), [("n\n", 1), ("\n", 1), ("", 1), ("y\n", 0)])
def test_delete_asks_back(
    terminal: Terminal, corpus: str, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    terminal.run("ingest", "vera.txt", "--corpus", corpus)
    monkeypatch.setattr(sys, "stdin", Keyboard(answer))

    outcome = terminal.run("delete", "--all", "--corpus", corpus)
    listed = terminal.run("list", "--json").json["corpora"]

    assert outcome.code == left
    assert outcome.err.startswith(f"Delete the whole corpus '{corpus}'? [y/N]:")
    assert ("Nothing was deleted." in outcome.err) == bool(left)
    assert sum(one["corpus"] == corpus for one in listed) == left


# With `--yes` nobody is asked back, at a terminal either.
def test_delete_with_yes(terminal: Terminal, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal.run("ingest", "vera.txt", "--corpus", corpus)
    monkeypatch.setattr(sys, "stdin", Keyboard("n\n"))

    outcome = terminal.run("delete", "--all", "--yes", "--corpus", corpus)

    assert (outcome.code, outcome.err) == (0, "")


# Where Neo4j is one's own, `browser` gives its address and never the password.
def test_browser(terminal: Terminal, neo4j: Settings) -> None:
    plain = terminal.run("browser")
    encoded = terminal.run("browser", "--json")

    assert (plain.code, encoded.code) == (0, 0)
    assert neo4j.neo4j_uri
    assert f"Connect URL    {neo4j.neo4j_uri}" in plain.out
    assert encoded.json["uri"] == neo4j.neo4j_uri
    assert encoded.json["browser"].endswith("/browser/")
    password = neo4j.neo4j_password
    assert password
    assert password.get_secret_value() not in plain.out + encoded.out


# `neo4j status` is about the embedded server: not running is exit code 1 and how to start it.
def test_neo4j_status(terminal: Terminal, tmp_path: Path) -> None:
    terminal.set(GRAPHREADER_HOME=str(tmp_path / "home"))

    status = terminal.run("neo4j", "status", "--json")
    stopped = terminal.run("neo4j", "stop", "--json")

    assert (status.code, status.out) == (1, "")
    assert "graphreader neo4j start" in status.err
    assert "Note: NEO4J_URI is set" in status.err
    assert (stopped.code, stopped.json) == (0, {"stopped": False})


# `doctor` says what answers, what does not, and what mends it; its exit code tells the same.
def test_doctor(terminal: Terminal, neo4j: Settings, tmp_path: Path) -> None:
    with OpenAIServer(lambda body: {"plan": "Look."}) as server:
        environment = {
            **environment_of(neo4j),
            "OPENAI_API_KEY": "sk-secret-words",
            "OPENAI_BASE_URL": server.url,
            "GRAPHREADER_MODEL": "openai:fake",
            "GRAPHREADER_EMBEDDINGS": "nonsense:model",
        }
        process = started(["doctor", "--json"], environment, tmp_path)
        outcome = ended(process, time.monotonic())
    broken = terminal_with_nonsense(terminal)

    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.json["ok"] is False
    checks = {one["name"]: one for one in outcome.json["checks"]}
    assert {name: one["ok"] for name, one in checks.items()} == {
        "settings": True,
        "neo4j": True,
        "model": True,
        "embeddings": False,
    }
    assert "configured by NEO4J_URI" in checks["neo4j"]["message"]
    assert "openai:fake answers (" in checks["model"]["message"]
    assert "GRAPHREADER_EMBEDDINGS" in checks["embeddings"]["message"]
    assert "sk-secret-words" not in outcome.out
    assert broken.code == 1
    assert "fails  settings  A setting makes no sense. GRAPHREADER_CALLS" in broken.out


def terminal_with_nonsense(terminal: Terminal) -> Outcome:
    terminal.set(GRAPHREADER_CALLS="many")
    return terminal.run("doctor")


# Two commands that read into one corpus at the same time both finish, and nothing comes twice.
def test_two_at_once(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    for part in ("one", "two"):
        (terminal.folder / part).mkdir()
        for number in range(4):
            text = (
                f"Mayor {part} {number} built bridge {number} over the river Neva in 19{number}0."
            )
            path = terminal.folder / part / f"{number}.txt"
            path.write_text(f"{text}\n\n{LIVES['vera']}", encoding="utf-8")
    began = time.monotonic()
    processes = [
        started(
            ["ingest", part, "vera.txt", "--corpus", corpus, "--json"],
            environment_of(neo4j),
            terminal.folder,
        )
        for part in ("one", "two")
    ]
    outcomes = [ended(process, began) for process in processes]
    together = stats(neo4j, corpus)
    terminal.run("delete", "--all", "--corpus", corpus)
    terminal.run("ingest", "one", "two", "vera.txt", "--corpus", corpus)
    alone = stats(neo4j, corpus)

    done = [len(re.findall("read  |unchanged  ", one.err)) for one in outcomes]
    assert [one.code for one in outcomes] == [0, 0]
    assert done == [5, 5]
    assert sizes(together) == sizes(alone)
    assert alone.documents == alone.chunks == 9


# A receiver that has seen enough (`| head`) ends a command without a word.
def test_a_closed_pipe(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    terminal.run("ingest", ".", "--corpus", corpus)
    with subprocess.Popen(
        [sys.executable, "-m", "graphreader", "list", "--corpus", corpus, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=terminal.folder,
        env={**os.environ, **environment_of(neo4j)},
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        said = process.stderr.read()
        process.wait(30)

    assert (process.returncode, said) == (1, b"")


# A full disk behind stdout is said, and the exit code tells it.
def test_a_full_disk_behind_stdout(neo4j: Settings, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "graphreader", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=tmp_path,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr == (
        "The operating system reports: No space left on device. Check the disk and the "
        "permissions.\n"
    )


# Where no chunk failed, --retry-failed asks for nothing; documents that are not read to their end
# are named all the same, and are no success.
def test_nothing_failed(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    texts = {"life.txt": LIVES["vera"], "other.txt": LIVES["emil"]}
    for name, text in texts.items():
        (terminal.folder / name).write_text(text)
    command = ["ingest", "--retry-failed", "--corpus", corpus]
    terminal.run("ingest", *texts, "--corpus", corpus)
    nothing = terminal.run(*command)
    asyncio.run(_begin_again(neo4j, corpus, terminal.folder / "life.txt"))
    told, as_json = terminal.run(*command), terminal.run(*command, "--json")
    terminal.run("ingest", *texts, "--corpus", corpus)
    mended = terminal.run(*command)

    assert [one.code for one in (nothing, told, as_json, mended)] == [0, 1, 1, 0]
    note = (
        "1 of 2 documents are not read completely (life): the same `graphreader ingest` reads on."
    )
    assert note in told.err.splitlines()
    assert as_json.json["notes"] == [note]


async def _begin_again(neo4j: Settings, corpus: str, path: Path) -> None:
    """Leave a document as an ingest does that is killed before it ends."""
    connection = await open_connection(neo4j)
    await GraphWriter(connection, corpus).begin_documents([load(path, corpus)], 2000)
    await connection.aclose()
