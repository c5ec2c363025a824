"""What models and their services do wrong, over HTTP, from the files to the answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from graphreader.errors import DecisionError
from graphreader.graph_reader import GraphReader
from graphreader.llm import retry
from graphreader.settings import Settings
from tests.runs import chronicle, digest, mind
from tests.runs.openai_faults import FAULTS, QUOTA, Body, Fault
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Terminal, environment_of

CHUNKS, MANY = 4, 12
QUESTION = chronicle.question(2)

pytestmark = pytest.mark.usefixtures("cleaned", "short_pauses")


@pytest.fixture
def terminal_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[[Settings], Terminal]:
    """Makes a terminal of somebody with these settings."""

    def make(settings: Settings) -> Terminal:
        terminal = Terminal(monkeypatch, capsys, tmp_path)
        terminal.set(**environment_of(settings), **chronicle.environment(settings))
        return terminal

    return make


# A quota that is used up ends the run at once: a sentence, exit code 1, and what was read is kept.
def test_used_up_quota(
    neo4j: Settings, corpus: str, tmp_path: Path, terminal_of: Callable[[Settings], Terminal]
) -> None:
    good, at_once = 5, 2
    texts = chronicle.write(tmp_path / "texts", MANY)
    with OpenAIServer(mind.think, faults=[Fault()] * good, always=QUOTA) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", concurrency=at_once)
        terminal = terminal_of(given)
        outcome = terminal.run("ingest", str(texts), "--corpus", corpus)
        asked = len(server.requests)
        server.always = None
        again = terminal.run("ingest", str(texts), "--corpus", corpus, "--json")
        asked_again = server.requests[asked:]
        server.always = QUOTA
        before = len(server.requests)
        question = terminal.run("ask", QUESTION, "--corpus", corpus)

    for ended in (outcome, question):
        assert ended.code == 1
        assert "The quota of openai:fake is used up" in ended.err
        assert "Traceback" not in ended.err
        assert chronicle.KEY not in ended.out + ended.err
    assert good < asked <= good + 2 * at_once  # those that were about to begin
    assert again.code == 0
    assert again.json["documents"][0]["asked"] == len(asked_again) == MANY - good
    assert len(server.requests) == before + 1


# A service that falls silent in the middle ends the run with a sentence; all that it replied until
# then is safe in the graph itself, and the next run asks for the rest only.
def test_a_model_goes_away(
    neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "MAX_TIMEOUTS", 1)
    texts = chronicle.write(tmp_path / "texts", MANY, files=2)
    options = {"concurrency": 3, "timeout": 1.0, "keep_replies": "off"}
    with OpenAIServer(mind.think, faults=[Fault()] * 7, always=Fault(hang=True)) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", **options)
        with GraphReader(corpus, settings=given) as reader:
            with pytest.raises(DecisionError):
                reader.ingest(texts)
            answered = {mind.passage(one.body) for one in server.requests if one.answered}
            unfinished = {one.status for one in reader.documents()}
            server.always = None
            server.requests.clear()
            report = reader.ingest(texts)
            passages = [mind.passage(body) for body in server.chats]
            disturbed = digest.content(neo4j, corpus)
            reader.delete(everything=True)
            reader.ingest(texts)

    assert len(answered) == 7
    assert "incomplete" in unfinished
    assert report.complete
    assert len(passages) == MANY - 7
    assert not answered & set(passages)
    assert disturbed == digest.content(neo4j, corpus)


# A chunk whose facts exceed a reply is divided, until every part fits: it stays one chunk, and the
# corpus and an answer are as if the reply had been whole.
def test_divided_chunks(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = chronicle.write(tmp_path / "texts", CHUNKS)
    exports, readings = [], []

    def cut_off(body: Body, _: int) -> Fault | None:
        too_long = len(mind.names(mind.passage(body))) > 12
        return FAULTS["cut off"] if too_long else None

    for script in (None, cut_off):
        with OpenAIServer(mind.think, script=script) as server:
            home = tmp_path / str(len(exports))
            given = chronicle.settings(neo4j, server, home, chunk_tokens=2000)
            with GraphReader(corpus, settings=given) as reader:
                report = reader.ingest(texts)
                calls = len(server.requests)
                reader.export(tmp_path / "corpus.jsonl")
                readings.append(reader.ask(QUESTION))
                reader.delete(everything=True)
            exports.append((tmp_path / "corpus.jsonl").read_text(encoding="utf-8"))
            assert report.complete

    assert exports[0] == exports[1]
    assert readings[0].citations == readings[1].citations != ()
    assert calls > report.asked_chunks


# A chunk that the model refuses is listed with the reason, the rest is complete; --retry-failed
# asks for it and for nothing else, and in the end the graph is as if nothing had been.
def test_hopeless_chunks(
    neo4j: Settings, corpus: str, tmp_path: Path, terminal_of: Callable[[Settings], Terminal]
) -> None:
    hopeless = [chronicle.meeting(number) for number in (4, 9)]
    texts = chronicle.write(tmp_path / "texts", MANY, files=2)

    def refuse(body: Body, _: int) -> Fault | None:
        passage = mind.passage(body)
        return FAULTS["refused"] if any(one in passage for one in hopeless) else None

    with OpenAIServer(mind.think, script=refuse) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home")
        terminal, requests = terminal_of(given), []
        outcomes = []
        for arguments in ([str(texts)], *[["--retry-failed"]] * 3):
            outcomes.append(terminal.run("ingest", *arguments, "--corpus", corpus, "--json"))
            requests.append([mind.passage(body) for body in server.chats])
            server.requests.clear()
            server.script = refuse if len(outcomes) < 2 else None
        message = terminal.run("ingest", str(texts), "--corpus", corpus)
        disturbed = digest.content(neo4j, corpus)
        with GraphReader(corpus, settings=given) as reader:
            reader.delete(everything=True)
            reader.ingest(texts)

    documents = [outcome.json["documents"] for outcome in outcomes]
    failed = [chunk for one in documents[0] for chunk in one["failed"]]
    assert [one.code for one in (*outcomes, message)] == [1, 1, 0, 0, 0]
    assert [one.json["asked_chunks"] for one in outcomes] == [MANY, 2, 2, 0]
    assert sorted(chunk["chunk"] for chunk in failed) == [2, 4]
    assert all("refuses to reply" in one["reason"] for one in failed)
    assert [one["status"] for one in documents[0]] == ["incomplete"] * 2
    assert {one["status"] for one in documents[2]} == {"read"}
    assert [len(set(one)) for one in requests] == [MANY, 2, 2, 0]
    assert all(any(one in passage for passage in requests[2]) for one in hopeless)
    assert disturbed == digest.content(neo4j, corpus)
