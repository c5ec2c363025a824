"""Wrong input and services that fail: one sentence, an exit code, no harm.

Every refusal here is checked to have nothing on stdout, no traceback, and no secret in it.
"""

from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import UnknownCorpusError
from graphreader.graph_reader import GraphReader
from graphreader.llm import retry
from graphreader.settings import ModeName, Settings, load_environment
from graphreader.store import connection
from tests.runs.openai_server import Fault, OpenAIServer
from tests.terminal import (
    Outcome,
    SilentService,
    Terminal,
    closed_port,
    environment_of,
)

GOOD = "Vera Holm was born in Bergen in 1901.\n"
KEY = "sk-secret-words-4711"


@pytest.fixture
def terminal(terminal: Terminal, neo4j: Settings) -> Terminal:
    (terminal.folder / "good.txt").write_text(GOOD, encoding="utf-8")
    terminal.set(**environment_of(neo4j))
    return terminal


pytestmark = pytest.mark.usefixtures("cleaned")


def corpora(settings: Settings) -> set[str]:
    with GraphReader(settings=settings) as reader:
        return {one.corpus for one in reader.corpora()}


def is_refused(outcome: Outcome, code: int, *said: str, within: float = 15.0) -> bool:
    """Whether stderr has one line with all these words, in time, and stdout nothing."""
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1, outcome.err
    assert "Traceback" not in outcome.err
    assert KEY not in outcome.err
    assert outcome.seconds < within
    return all(one in outcome.err for one in said)


# Bad files are refused, and the good one of the call is read. Where all are refused, no corpus is
# made.
def test_bad_files(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    (terminal.folder / "binary.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    bad = ("ingest", "missing.txt", "binary.txt")

    only_bad = terminal.run(*bad, "--corpus", corpus, "--json")
    made = corpora(neo4j)
    outcome = terminal.run(*bad, "good.txt", "--corpus", corpus)

    assert only_bad.code == outcome.code == 2
    assert {one["status"] for one in only_bad.json["documents"]} == {"refused"}
    assert corpus not in made
    assert f"{corpus}: 1 read (1 chunk, 1 fact), 2 refused." in outcome.out
    assert "missing.txt does not exist: check the path" in outcome.err
    assert "binary.txt is binary" in outcome.err
    slashed = terminal.run("ingest", "good.txt", "--corpus", f"{corpus}/old")
    assert slashed.code == 2
    assert f"A new corpus cannot be named {corpus}/old" in " ".join(slashed.err.split())
    assert f"{corpus}/old" not in corpora(neo4j)


# Settings that make no sense, a model and a Neo4j that cannot be used are named with the variable
# to change; no corpus is made, and no secret is shown.
@pytest.mark.parametrize(
    ("variables", "code", "message"),
    [
        ({"GRAPHREADER_WINDOW": "12"}, 2, "GRAPHREADER_WINDOW: Input should be greater than or eq"),
        ({"NEO4J_PASSWORD": ""}, 2, "NEO4J_URI is set but NEO4J_PASSWORD is not: set both"),
        ({"GRAPHREADER_MODEL": "nonsense"}, 2, "must be provider:model"),
        ({"GRAPHREADER_MODEL": "groq:llama3"}, 2, "pip install langchain-groq"),
        ({"GRAPHREADER_MODEL": "openai:gpt-x"}, 2, "OPENAI_API_KEY is not set"),
        ({"GRAPHREADER_EMBEDDINGS": "nonsense"}, 2, "GRAPHREADER_EMBEDDINGS is 'nonsense'"),
        ({"NEO4J_URI": "bolt://127.0.0.1:{closed}"}, 1, "No Neo4j answers at bolt://127.0.0.1:"),
        ({"NEO4J_URI": f"bolt://neo4j:{KEY}@127.0.0.1"}, 2, "password stand in NEO4J_USERNAME"),
        ({"NEO4J_URI": "{encrypted}"}, 1, "+s asks for encryption"),
        ({"NEO4J_USERNAME": "nobody"}, 1, "refuses the user or the password"),
        ({"NEO4J_DATABASE": "elsewhere"}, 1, "has no database 'elsewhere': check NEO4J_DATABASE"),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
def test_settings(
    terminal: Terminal,
    corpus: str,
    neo4j: Settings,
    variables: dict[str, str],
    code: int,
    message: str,
) -> None:
    assert neo4j.neo4j_uri
    encrypted = "bolt+s://" + neo4j.neo4j_uri.partition("://")[2]
    places = {"closed": str(closed_port()), "encrypted": encrypted}
    terminal.set(**{name: value.format(**places) for name, value in variables.items()})

    outcome = terminal.run("ingest", "good.txt", "--corpus", corpus, "--json")

    assert is_refused(outcome, code, message)
    assert corpus not in corpora(neo4j)


# A chunk that can never fit into a model's window is refused at once, with the numbers; offline
# there is no window.
def test_a_chunk_too_large_for_the_window(terminal: Terminal) -> None:
    terminal.set(GRAPHREADER_CHUNK_TOKENS="2677", GRAPHREADER_MODEL="openai:fake")
    refused = terminal.run("estimate", "good.txt", "--json")
    terminal.set(GRAPHREADER_CHUNK_TOKENS="2300")
    fitting = terminal.run("estimate", "good.txt", "--json")
    terminal.set(GRAPHREADER_CHUNK_TOKENS="2677", GRAPHREADER_MODEL="offline")
    offline = terminal.run("estimate", "good.txt", "--json")

    numbers = ("GRAPHREADER_CHUNK_TOKENS, 2,677", "GRAPHREADER_WINDOW, 4,096")
    assert is_refused(refused, 2, *numbers, within=5)
    assert (fitting.code, offline.code) == (0, 0)


# A `.env` that is not UTF-8 or may not be read is named and never shown, with `--debug` neither; a
# mark at its beginning, as some editors put it, does not hide its first line.
def test_env_files(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    file = terminal.folder / ".env"
    file.write_bytes(f"OPENAI_API_KEY={KEY}".encode("utf-16"))
    plain, debug = terminal.run("list", "--json"), terminal.run("--debug", "list", "--json")
    monkeypatch.setenv("GRAPHREADER_CALLS", "")
    monkeypatch.delenv("GRAPHREADER_CALLS")
    file.write_text("GRAPHREADER_CALLS=7\n", encoding="utf-8-sig")
    load_environment()

    assert is_refused(plain, 2, f"{file} is not UTF-8: save it as UTF-8.")
    assert (debug.code, debug.out) == (2, "")
    assert "Traceback (most recent call last)" in debug.err
    assert "secret" not in debug.err.replace("\0", "").replace("\\x00", "")
    assert Settings.read().calls == 7


# A refused key ends reading and asking at once, and leaves nothing behind.
def test_a_refused_key(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    with OpenAIServer(always=Fault(401, f"Incorrect API key provided: {KEY}")) as server:
        terminal.set(OPENAI_BASE_URL=server.url, GRAPHREADER_MODEL="openai:fake")
        terminal.set(OPENAI_API_KEY=KEY, GRAPHREADER_EMBEDDINGS="offline")
        reading = terminal.run("ingest", "good.txt", "--corpus", corpus, "--json")
        made = corpora(neo4j)
        terminal.set(GRAPHREADER_MODEL="offline")
        terminal.run("ingest", "good.txt", "--corpus", corpus)
        terminal.set(GRAPHREADER_MODEL="openai:fake")
        asking = terminal.run("ask", "Where was Vera Holm born?", "--corpus", corpus, "--json")

    for outcome in (reading, asking):
        assert is_refused(outcome, 1, "refuses the key: check OPENAI_API_KEY", within=5)
    assert corpus not in made
    assert len(server.chats) == 2


# A model that takes a connection and never answers is given up within half a minute.
def test_a_model_that_never_answers(
    terminal: Terminal, corpus: str, neo4j: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert max(retry.HEALTH_CHECK_TIMEOUT, connection.FIRST_ANSWER_SECONDS) <= 15
    monkeypatch.setattr(retry, "HEALTH_CHECK_TIMEOUT", 0.3)
    with SilentService() as silent:
        url = f"http://127.0.0.1:{silent.port}/v1"
        terminal.set(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=url, GRAPHREADER_EMBEDDINGS="offline")
        outcome = terminal.run("ingest", "good.txt", "--corpus", corpus, "--json")

    assert silent.asked_at is not None
    assert is_refused(outcome, 1, f"Nothing answers at {url} within 0", within=10)
    assert corpus not in corpora(neo4j)


# Folders that cannot be written are named with the variable that chooses another.
def test_unwritable_folders(terminal: Terminal, tmp_path: Path) -> None:
    below_a_file = str(tmp_path / "good.txt" / "home")
    terminal.set(NEO4J_URI="", GRAPHREADER_HOME=below_a_file)
    home = terminal.run("list", "--json")
    terminal.set(GRAPHREADER_HOME=str(tmp_path / "home"), GRAPHREADER_CACHE=below_a_file)
    cache = terminal.run("list", "--json")

    assert is_refused(home, 1, f"{below_a_file}", "set GRAPHREADER_HOME to another folder")
    assert is_refused(cache, 1, f"{below_a_file}", "set GRAPHREADER_CACHE to another folder")


# Without a network the jars cannot be fetched: the message has three ways out.
def test_no_network_for_the_jars(terminal: Terminal, tmp_path: Path) -> None:
    terminal.set(NEO4J_URI="", GRAPHREADER_HOME=str(tmp_path / "home"))
    terminal.set(GRAPHREADER_CACHE=str(tmp_path / "cache"))
    terminal.set(GRAPHREADER_MAVEN_MIRROR=f"http://127.0.0.1:{closed_port()}/maven")

    outcome = terminal.run("list", "--json")

    assert (outcome.code, outcome.out) == (1, "")
    *progress, sentence = outcome.err.splitlines()
    assert progress == ["Downloading Neo4j (173 MB) ..."]
    assert "cannot be fetched from 127.0.0.1" in sentence
    for way_out in ("the network", "GRAPHREADER_MAVEN_MIRROR", "NEO4J_URI"):
        assert way_out in sentence
    assert outcome.seconds < 30


# A corpus keeps its embeddings when a key is set; reindex changes them. Where no others shall be
# asked it is then refused with the ways out, which `doctor` tells as well.
def test_another_embedding(terminal: Terminal, corpus: str) -> None:
    terminal.run("ingest", "good.txt", "--corpus", corpus)
    with OpenAIServer() as server:
        terminal.set(OPENAI_BASE_URL=server.url, OPENAI_API_KEY=KEY, GRAPHREADER_MODEL="offline")
        terminal.set(GRAPHREADER_EMBEDDINGS="openai:text-embedding-3-small")
        asking = terminal.run("ask", "Where was Vera Holm born?", "--corpus", corpus, "--json")
        reading = terminal.run("ingest", "good.txt", "--corpus", corpus, "--json")
        mended = terminal.run("reindex", "--corpus", corpus, "--yes", "--json")
        again = terminal.run("ask", "Where was Vera Holm born?", "--corpus", corpus, "--json")
    terminal.set(OPENAI_API_KEY="", OPENAI_BASE_URL="", GRAPHREADER_EMBEDDINGS="offline")
    refused = terminal.run("ask", "Where was Vera Holm born?", "--corpus", corpus)
    checks = {one["name"]: one for one in terminal.run("doctor", "--json").json["checks"]}

    assert "offline-1" in " ".join(reading.json["notes"])
    assert mended.json["vectors"] > 0
    for outcome in (asking, again):
        assert "Bergen" in outcome.json["answer"]
    ways_out = ("GRAPHREADER_EMBEDDINGS is offline", f"graphreader reindex --corpus {corpus}")
    assert is_refused(refused, 2, *ways_out)
    assert all(one in checks["corpora"]["message"] for one in ways_out)


# A corpus that is deleted while a question is under way is named in one sentence, whatever the run
# was about to read; it is no answer that the texts do not tell.
@pytest.mark.parametrize(
    ("mode", "place"),
    [
        ("adaptive", "only_document"),
        ("adaptive", "search_facts"),
        ("paper", "search_by_words"),
        ("paper", "profiles"),
    ],
)
def test_deleted_while_asking(
    terminal: Terminal,
    corpus: str,
    neo4j: Settings,
    monkeypatch: pytest.MonkeyPatch,
    mode: ModeName,
    place: str,
) -> None:
    read = connection.Connection.read
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(terminal.folder / "good.txt")

        async def read_late(
            self: connection.Connection, name: str, *rest: Any, **values: Any
        ) -> Any:
            if name == f"read/{place}":
                monkeypatch.setattr(connection.Connection, "read", read)
                await reader.adelete(everything=True)
            return await read(self, name, *rest, **values)

        monkeypatch.setattr(connection.Connection, "read", read_late)
        with pytest.raises(UnknownCorpusError, match=f"There is no corpus '{corpus}'"):
            reader.ask("Where was Vera Holm born?", mode=mode)
