"""`graphreader ask --reader NAME`: other readers about the texts of a corpus, by the command."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.readers import KINDS
from graphreader.settings import Settings
from graphreader.tokens import count
from tests.runs import digest, lighthouse
from tests.runs.lighthouse import KEY, QUESTION, text_of
from tests.runs.openai_faults import Body
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Terminal, environment_of

NAMES = [name for kind in KINDS for name in kind.names if name != "golden"]
LONG = ["full-text", "full-text-middle", "read-agent-p", "read-agent-s-2", "gistmem"]
LONG += ["gistmem-retrieval-1", "rag-pages-bm25-3"]
FILLING = ["full-text", "full-text-middle", "rag-bm25-3", "rag-embedding-1"]
SHORT = ["rag-bm25-3", "rag-embedding-1", "chunk-read", "chunk-read-notes", "search-agent"]
TEXTS = {"north": text_of("A", 6), "south": text_of("B", 9, 4)}
MODEL = "openai:gpt-4o-mini"


@pytest.fixture(scope="module")
def shelf(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A corpus of two short texts, the second of which has the answer."""
    yield from filled(neo4j, tmp_path_factory.mktemp("short"), TEXTS)


@pytest.fixture(scope="module")
def library(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A corpus of long texts, the answer almost at its end."""
    texts = {"one": text_of("A", 60), "two": text_of("B", 60, 50)}
    yield from filled(neo4j, tmp_path_factory.mktemp("long"), texts)


def filled(neo4j: Settings, folder: Path, texts: dict[str, str]) -> Iterator[str]:
    corpus = f"test-{uuid4().hex[:12]}"
    for name, text in texts.items():
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
    """A model that finds the answer where it is shown it, and that the environment names."""

    def think(body: Body) -> Any:
        decision = body["response_format"]["json_schema"]["name"]
        return lighthouse.reply(decision, body["messages"][-1]["content"])

    with OpenAIServer(think) as server:
        terminal.set(
            OPENAI_API_KEY="key",
            OPENAI_BASE_URL=server.url,
            GRAPHREADER_MODEL=MODEL,
            GRAPHREADER_EMBEDDINGS="offline",
        )
        yield server


def sizes(server: OpenAIServer) -> list[int]:
    """Tokens of what each prompt says, with its schema; framing adds a few."""
    return [
        sum(count(message["content"]) for message in body["messages"])
        + count(json.dumps(body["response_format"]))
        for body in server.chats
    ]


# Each reader answers from the texts, without a model by quoting; the JSON says who it was.
@pytest.mark.parametrize("name", NAMES)
def test_answers(terminal: Terminal, shelf: str, name: str) -> None:
    ended = terminal.run("ask", QUESTION, "--corpus", shelf, "--reader", name, "--json")

    assert ended.code == 0, ended.err
    reading = ended.json
    assert (reading["reader"], reading["corpus"], reading["question"]) == (name, shelf, QUESTION)
    assert reading["answered"]
    assert "Valparaiso" in reading["answer"]
    (cited,) = [one for one in reading["citations"] if one["quote"] == KEY]
    assert TEXTS["south"][cited["start"] : cited["end"]] == KEY
    assert cited["document"] == "south"
    assert 0 < reading["tokens_read"] <= sum(count(text) for text in TEXTS.values())
    assert reading["paths"] == []
    assert reading["run"] == ""


# What is cited has the id that the graph knows the document by.
def test_ids(terminal: Terminal, shelf: str, neo4j: Settings) -> None:
    ended = terminal.run("ask", QUESTION, "--corpus", shelf, "--reader", "rag-bm25-3", "--json")
    with GraphReader(shelf, settings=neo4j) as reader:
        known = {one.title: one.id for one in reader.documents()}

    assert ended.json["citations"][0]["document_id"] == known["south"]
    assert set(ended.json["documents_read"]) <= set(known.values())


# For a person it is printed as GraphReader's answers are: answer, citations, what it cost.
def test_printed(terminal: Terminal, shelf: str) -> None:
    ended = terminal.run("ask", QUESTION, "--corpus", shelf, "--reader", "chunk-read")

    assert ended.code == 0, ended.err
    assert KEY in " ".join(ended.out.split())
    assert "Citations" in ended.out
    assert "south" in ended.out
    assert "No language model is in use" in " ".join(ended.out.split())


# GraphReader is a reader of that name, too: with it everything is as without.
def test_graphreader_itself(terminal: Terminal, shelf: str) -> None:
    asked = ["ask", QUESTION, "--corpus", shelf, "--mode", "fast", "--json"]
    ended = terminal.run(*asked, "--reader", "graphreader")

    assert ended.code == 0, ended.err
    assert ended.json["reader"] == "graphreader"
    assert len(ended.json["paths"]) == 2


# The reader that is given supporting facts is refused, since no corpus names any, and is not
# proposed either; an evaluation asks it.
def test_golden(terminal: Terminal, shelf: str) -> None:
    ended = terminal.run("ask", QUESTION, "--corpus", shelf, "--reader", "golden", "--json")
    proposed = terminal.run("ask", QUESTION, "--corpus", shelf, "--reader", "gold")

    assert ended.code == proposed.code == 2
    assert "a corpus names none: `graphreader evaluate DATA --readers golden` asks it" in ended.err
    assert "search-agent" in proposed.err
    assert "golden" not in proposed.err


# Asking changes nothing in the graph, and leaves no run behind.
@pytest.mark.parametrize("name", ["rag-embedding-3", "read-agent-s", "search-agent"])
def test_changes_nothing(terminal: Terminal, shelf: str, neo4j: Settings, name: str) -> None:
    before = digest.digest(neo4j, shelf)
    ended = terminal.run("ask", QUESTION, "--corpus", shelf, "--reader", name)
    runs = terminal.run("runs", "list", "--json")

    assert ended.code == 0, ended.err
    assert digest.digest(neo4j, shelf) == before
    assert runs.json["runs"] == []


# A name that no reader has is refused with those that there are, before anything is opened.
@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "fortune-teller",
            "There is no reader 'fortune-teller': choose among graphreader, rag-bm25-3",
        ),
        ("rag-bm25", "Did you mean rag-bm25-3?"),
        ("", "There is no reader ''"),
        ("graphreader-fast", "There is no reader 'graphreader-fast'"),
        ("read-agent-s-0", "There is no reader 'read-agent-s-0'"),
    ],
)
def test_unknown_readers(terminal: Terminal, name: str, told: str) -> None:
    terminal.set(NEO4J_URI="bolt://127.0.0.1:1")
    ended = terminal.run("ask", QUESTION, "--corpus", "any", "--reader", name)

    assert ended.code == 2
    assert told in ended.err
    assert len(ended.err.splitlines()) == 1
    assert ended.out == ""


# Options that only GraphReader has do not go along, nor does it go without a question.
@pytest.mark.parametrize(
    "words",
    [
        [QUESTION, "--mode", "fast"],
        [QUESTION, "--keep-run"],
        [QUESTION, "--report", "report.html"],
        [QUESTION, "--file", "questions.txt"],
        ["--file", "questions.txt"],
        ["--file", "questions.txt", "--out", "answers.jsonl"],
        [QUESTION, "--out", "answers.jsonl"],
        [],
    ],
)
def test_other_options(terminal: Terminal, shelf: str, words: list[str]) -> None:
    (terminal.folder / "questions.txt").write_text(QUESTION)
    ended = terminal.run("ask", *words, "--corpus", shelf, "--reader", "rag-bm25-3")

    assert ended.code == 2
    assert "--reader takes one QUESTION" in ended.err
    assert sorted(path.name for path in terminal.folder.iterdir()) == ["questions.txt"]


# A question without words is refused as GraphReader refuses it.
def test_empty_question(terminal: Terminal, shelf: str) -> None:
    ended = terminal.run("ask", "  ", "--corpus", shelf, "--reader", "full-text")

    assert (ended.code, ended.out) == (2, "")
    assert "The question is empty: ask something." in ended.err


# Lone surrogates, as of a command line that is not UTF-8, are asked as question marks.
def test_broken_characters(terminal: Terminal, shelf: str) -> None:
    asked = ["ask", f"{QUESTION[:-1]}\udce9?", "--corpus", shelf, "--json"]
    ended = terminal.run(*asked, "--reader", "rag-bm25-3")

    assert ended.code == 0, ended.err
    assert ended.json["question"] == f"{QUESTION[:-1]}??"


# A corpus that there is not is refused as ever, with those that there are.
def test_unknown_corpus(terminal: Terminal, shelf: str) -> None:
    asked = ["ask", QUESTION, "--corpus", "no such corpus"]
    ours, theirs = terminal.run(*asked), terminal.run(*asked, "--reader", "full-text")

    assert (ours.code, theirs.code) == (2, 2)
    assert theirs.err == ours.err
    assert shelf in theirs.err


# An empty one says how to fill it.
def test_empty_corpus(terminal: Terminal, corpus: str, cleaned: None) -> None:
    (terminal.folder / "one.txt").write_text("Ada built a bridge.")
    terminal.run("ingest", "one.txt", "--corpus", corpus)
    terminal.run("delete", "one", "--corpus", corpus)
    ended = terminal.run("ask", QUESTION, "--corpus", corpus, "--reader", "read-agent-s")

    assert ended.code == 2
    assert f"The corpus '{corpus}' is empty: read texts into it" in ended.err


# The readers with a long window keep that one, in building, too; the others the short one.
@pytest.mark.parametrize(
    ("name", "window"), [(name, 6_000) for name in LONG] + [(name, 3_000) for name in SHORT]
)
def test_windows(
    terminal: Terminal, server: OpenAIServer, library: str, name: str, window: int
) -> None:
    terminal.set(
        GRAPHREADER_LONG_WINDOW="6000", GRAPHREADER_WINDOW="3000", GRAPHREADER_CHUNK_TOKENS="1000"
    )
    ended = terminal.run("ask", QUESTION, "--corpus", library, "--reader", name, "--json")

    assert ended.code == 0, ended.err
    reading = ended.json
    assert reading["reader"] == name
    assert reading["usage"]["calls"] > 0
    assert max(sizes(server)) <= window
    if name in FILLING:
        assert max(sizes(server)) > window / 2
    if name != "rag-embedding-1":  # what is most alike to a question need not answer it
        assert reading["answered"] == (name != "full-text")  # the end is cut off


# A memory that is too long even for the long window ends with a sentence, and no prompt too long.
def test_too_long_a_memory(terminal: Terminal, server: OpenAIServer, library: str) -> None:
    def talkative(body: Body) -> Any:
        decision = body["response_format"]["json_schema"]["name"]
        if decision == "Gist":
            return {"gist": text_of("G", 3)}
        return lighthouse.reply(decision, body["messages"][-1]["content"])

    server.reply = talkative
    terminal.set(GRAPHREADER_LONG_WINDOW="2000")
    ended = terminal.run("ask", QUESTION, "--corpus", library, "--reader", "gistmem", "--json")

    assert (ended.code, ended.out) == (1, "")
    assert "does not fit ReadAgent's window of 2,000 tokens" in ended.err
    assert max(sizes(server)) <= 2_000


# Gists are made once for a corpus: the next question finds them, also in another process.
def test_gists_are_kept(terminal: Terminal, server: OpenAIServer, shelf: str) -> None:
    asked = ["ask", QUESTION, "--corpus", shelf, "--reader", "read-agent-s", "--json"]
    first, second = terminal.run(*asked).json, terminal.run(*asked).json

    assert {"gist", "look_up", "answer"} <= first["phases"].keys()
    assert set(second["phases"]) == {"look_up", "answer"}
    assert second["usage"]["calls"] < first["usage"]["calls"]
    assert second["answer"] == first["answer"]
    assert (terminal.folder / "home" / "gists").is_dir()


# The budgets hold for other readers, too; a note says that one ended the reading.
def test_budget(terminal: Terminal, server: OpenAIServer, library: str) -> None:
    asked = ["ask", QUESTION, "--corpus", library, "--reader", "chunk-read", "--json"]
    ended = terminal.run(*asked, "--max-calls", "2")

    assert ended.code == 0, ended.err
    assert len(server.chats) == ended.json["usage"]["calls"] == 2
    assert not ended.json["answered"]
    assert any("chunks were not read: " in note for note in ended.json["notes"])
