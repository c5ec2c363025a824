"""`graphreader ask --reader NAME`: other readers answer from the texts of a corpus."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import digest, lighthouse
from tests.runs.lighthouse import KEY, QUESTION, text_of
from tests.runs.openai_faults import Body
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Terminal, environment_of

TEXTS = {"north": text_of("A", 6), "south": text_of("B", 9, 4)}


@pytest.fixture(scope="module")
def short(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A corpus of two short texts, the second of which has the answer."""
    corpus, folder = f"test-{uuid4().hex[:12]}", tmp_path_factory.mktemp("short")
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    with GraphReader(corpus, settings=neo4j.model_copy(update={"normalize": "none"})) as reader:
        reader.ingest(folder)
        yield corpus
        reader.delete(everything=True)


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    neo4j: Settings,
) -> Terminal:
    terminal = Terminal(monkeypatch, capsys, tmp_path)
    home = str(tmp_path / "home")
    terminal.set(**environment_of(neo4j), COLUMNS="100", GRAPHREADER_HOME=home)
    return terminal


@pytest.fixture
def server(terminal: Terminal) -> Iterator[OpenAIServer]:
    """A model of the environment that finds the answer where a prompt shows it."""

    def think(body: Body) -> Any:
        decision = body["response_format"]["json_schema"]["name"]
        return lighthouse.reply(decision, body["messages"][-1]["content"])

    with OpenAIServer(think) as server:
        terminal.set(
            OPENAI_API_KEY="key",
            OPENAI_BASE_URL=server.url,
            GRAPHREADER_MODEL="openai:gpt-4o-mini",
            GRAPHREADER_EMBEDDINGS="offline",
        )
        yield server


# A reader answers from the texts, without a model by quoting; the JSON says which reader it was and
# has the ids of the graph. Asking changes nothing in the graph, and leaves no run behind.
@pytest.mark.parametrize("name", ["rag-embedding-3", "read-agent-s"])
def test_answers(terminal: Terminal, short: str, neo4j: Settings, name: str) -> None:
    before = digest.digest(neo4j, short)
    ended = terminal.run("ask", QUESTION, "--corpus", short, "--reader", name, "--json")
    runs = terminal.run("runs", "list", "--json")
    with GraphReader(short, settings=neo4j) as reader:
        ids = {one.title: one.id for one in reader.documents()}

    assert ended.code == 0, ended.err
    reading = ended.json
    assert (reading["reader"], reading["corpus"], reading["question"]) == (name, short, QUESTION)
    assert "Valparaiso" in reading["answer"]
    (cited,) = [one for one in reading["citations"] if one["quote"] == KEY]
    assert TEXTS["south"][cited["start"] : cited["end"]] == KEY
    assert (cited["document"], cited["document_id"]) == ("south", ids["south"])
    assert (reading["paths"], reading["run"], runs.json["runs"]) == ([], "", [])
    assert digest.digest(neo4j, short) == before


# A name that no reader has is refused with the names there are, before anything is opened; so is
# the reader of supporting facts, which a corpus has not.
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fortune", "There is no reader 'fortune': choose among graphreader, rag-bm25-3"),
        ("golden", "names none: `graphreader evaluate DATA --readers golden` asks it"),
    ],
)
def test_refused_readers(terminal: Terminal, name: str, message: str) -> None:
    terminal.set(NEO4J_URI="bolt://127.0.0.1:1")
    ended = terminal.run("ask", QUESTION, "--corpus", "any", "--reader", name)

    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1


# An unknown corpus is refused as by GraphReader, with the names of all corpora; an empty one with
# how to fill it.
def test_unknown_and_empty_corpus(
    terminal: Terminal, short: str, corpus: str, cleaned: None
) -> None:
    command = ["ask", QUESTION, "--corpus", "no such corpus"]
    unknown, by_reader = terminal.run(*command), terminal.run(*command, "--reader", "full-text")
    (terminal.folder / "one.txt").write_text("Ada built a bridge.")
    terminal.run("ingest", "one.txt", "--corpus", corpus)
    terminal.run("delete", "one", "--corpus", corpus)
    empty = terminal.run("ask", QUESTION, "--corpus", corpus, "--reader", "read-agent-s")

    assert (unknown.code, by_reader.code, empty.code) == (2, 2, 2)
    sentence = "There is no corpus 'no such corpus'"  # then those that other tests make meanwhile
    assert by_reader.err.startswith(sentence)
    assert unknown.err.startswith(sentence)
    assert short in by_reader.err
    assert f"The corpus '{corpus}' is empty: read texts into it" in empty.err


# Gists are made once for a corpus: the next question finds them, also in another process.
def test_gists_are_kept(terminal: Terminal, server: OpenAIServer, short: str) -> None:
    command = ["ask", QUESTION, "--corpus", short, "--reader", "read-agent-s", "--json"]
    first, second = terminal.run(*command).json, terminal.run(*command).json

    assert {"gist", "look_up", "answer"} <= first["phases"].keys()
    assert set(second["phases"]) == {"look_up", "answer"}
    assert second["answer"] == first["answer"]
    assert (terminal.folder / "home" / "gists").is_dir()


# The budgets hold for other readers, too; a note says that one ended the reading.
def test_budget(terminal: Terminal, server: OpenAIServer, short: str) -> None:
    terminal.set(GRAPHREADER_CHUNK_TOKENS="120")
    command = ["ask", QUESTION, "--corpus", short, "--reader", "chunk-read", "--json"]
    ended = terminal.run(*command, "--max-calls", "2")

    assert ended.code == 0, ended.err
    assert len(server.chats) == ended.json["usage"]["calls"] == 2
    assert not ended.json["answered"]
    assert any("chunks were not read: " in note for note in ended.json["notes"])
