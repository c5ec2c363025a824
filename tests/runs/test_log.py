"""The log and the traces of a run."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphreader.errors import GraphReaderError
from graphreader.graph_reader import GraphReader
from graphreader.llm import retry
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_faults import Body
from tests.runs.openai_server import Fault, OpenAIServer
from tests.runs.trace_server import TraceServer, ways
from tests.terminal import environment_of

QUESTION = chronicle.question(1)
MARKERS = ("Anna1", "Bert7", "Town1", "chronicle of", "book about horses", "Find the sentence")
"""Words of the question, of texts and a title, of the plan."""


def spoiled(body: Body, before: int) -> Fault | None:
    """One chunk gets no good reply, another one at first a failure that repeats what was asked."""
    asked = str(body["messages"][1]["content"])
    if "Anna2 " in asked and mind.decision_of(body) == "Extraction":
        return Fault(content='{"facts": "Anna2 met Bert14"}')
    if "Anna1 " in asked and mind.decision_of(body) == "Extraction" and before < 2:
        return Fault(503, f"Sorry: {asked[-150:]}")
    return None


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """All that is logged."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "graphreader")
    return caplog


def lines(log: pytest.LogCaptureFixture, least: int, ours: bool = True) -> str:
    """The log from a level on, as a handler of somebody's own would write it."""
    records = [one for one in log.records if one.name.startswith("graphreader.") or not ours]
    return "\n".join(
        f"{one.levelname} {one.name}: {one.getMessage()} {one.exc_info or ''}"
        for one in records
        if one.levelno >= least
    )


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = chronicle.write(tmp_path / "texts", 4)
    (folder / "book0.txt").rename(folder / "chronicle of Anna1.txt")
    (folder / "broken.pdf").write_bytes(b"%PDF- Town1")
    return folder


# From INFO on no text, title, question, plan or reply is logged, also where a failing service
# repeats the request; DEBUG has them, each statement with its time, each request and retry. Secrets
# are never logged. At INFO an operator sees the connection, each document, the normalization, each
# run with its paths, and each failure once.
@pytest.mark.usefixtures("cleaned", "short_pauses")
def test_messages(
    neo4j: Settings, corpus: str, texts: Path, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    with OpenAIServer(mind.think, script=spoiled, refuses=["response_format"]) as server:
        settings = chronicle.settings(neo4j, server, tmp_path / "home", keep_replies="all")
        with GraphReader(corpus, settings=settings) as reader:
            reader.ingest(texts)
            reading = reader.ask(QUESTION)
            reader.ask(QUESTION)
            reader.delete(everything=True)
        asked = len(server.requests)
    info, everything = lines(log, logging.INFO), lines(log, logging.DEBUG)
    assert neo4j.neo4j_password
    secrets = chronicle.KEY, neo4j.neo4j_password.get_secret_value()

    assert [one for one in MARKERS if one in info] == []
    assert [one for one in MARKERS if one not in everything] == []
    assert [one for one in secrets if one in lines(log, logging.DEBUG, ours=False)] == []
    assert "graphreader.store: read/atomic_facts: 1 rows in " in everything
    assert everything.count("fake: request for ") + everything.count("fake: retry in ") == asked
    assert "openai:fake: next form tool, streaming True, rejected options: " in everything
    assert "openai:fake: retry in 0.0 s after broken (503: Sorry" in everything
    assert "openai:fake: a kept reply serves for answer_reasoning" in everything
    assert "FunctionChosen(path=1, node='Anna1', call=FunctionCall(name='read_chunk'" in everything

    def count(*words: str) -> int:
        return sum(all(word in line for word in words) for line in info.splitlines())

    assert count("INFO graphreader.store: Connected to Neo4j") == 1
    assert count("INFO graphreader.ingestion: Document", "begins: 4 of its 4 chunks") == 1
    assert count("WARNING graphreader.ingestion: Document", "is incomplete: 4 chunks") == 1
    assert count("WARNING graphreader.ingestion: Document 'broken' is refused: ", "broken.pdf") == 1
    assert count("WARNING graphreader.ingestion: Chunk 2", "UnusableReply") == 1
    assert count("WARNING graphreader.llm", "unusable reply to extraction: misfit") == 2
    assert count("INFO graphreader.ingestion: Reading into", "1 refused, 1 incomplete") == 1
    assert count("is normalized") == 1
    assert count(f"INFO graphreader.agent: Run {reading.run} begins in corpus '{corpus}'") == 1
    assert count(f"Run {reading.run}: path", "ended by") == len(reading.paths)
    assert count(f"Run {reading.run} is answered", f"{reading.usage.calls} calls") == 1
    assert count("WARNING") == 5


# A run that fails is a warning without the words that it failed with.
@pytest.mark.usefixtures("short_pauses")
def test_failures(
    neo4j: Settings,
    ring: str,
    tmp_path: Path,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retry, "FIRST_TRIES", 2)
    gone = Fault(503, "Alpha met nobody")
    with OpenAIServer(mind.think, always=gone) as server:
        settings = chronicle.settings(neo4j, server, tmp_path / "home", embeddings="offline")
        with (
            GraphReader(ring, settings=settings) as reader,
            pytest.raises(GraphReaderError),
        ):
            reader.ask("Whom did Alpha meet?")
    warnings = lines(log, logging.WARNING)

    assert "openai:fake: the request failed (broken, 503)" in warnings
    assert "failed: ModelUnavailableError" in warnings
    assert "Alpha" not in warnings
    assert "Alpha met nobody" in lines(log, logging.DEBUG)


TRACER_KEY = "lsv2_pt_4711_0815"
STEPS = {
    "graphreader",
    "graphreader > rational_plan > decide > rational_plan",
    "graphreader > initial_nodes > decide > initial_nodes",
    "graphreader > path > path > explore_atomic_facts > decide > atomic_facts",
    "graphreader > path > path > explore_chunks > decide > chunk",
    "graphreader > answer_reasoning > decide > answer_reasoning",
}

CALLER = """
import asyncio, sys
from langchain_core.runnables import RunnableLambda
from langsmith import traceable
from graphreader import GraphReader
from graphreader.cli.main import main

corpus, question = sys.argv[1:]

@traceable(name="my own")
def mine(reader, ask):
    return ask(reader)

with GraphReader(corpus) as reader:
    mine(reader, lambda reader: reader.ask(question).answer)
    mine(reader, lambda reader: [str(event) for event in reader.stream(question)][-1])
    mine(reader, lambda reader: asyncio.run(reader.aask(question)).answer)
    RunnableLambda(lambda asked: reader.ask(asked).answer, name="my chain").invoke(question)
sys.argv = ["graphreader", "ask", question, "--corpus", corpus, "--json"]
main()
"""


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    """A model that answers."""
    with OpenAIServer(mind.think) as server:
        yield server


@pytest.fixture
def traces() -> Iterator[TraceServer]:
    """A collector."""
    with TraceServer() as server:
        yield server


@pytest.fixture
def environment(
    neo4j: Settings, corpus: str, model: OpenAIServer, tmp_path: Path
) -> Iterator[dict[str, str]]:
    """That of a command which has a corpus of four chunks to ask."""
    settings = chronicle.settings(neo4j, model, tmp_path / "home")
    with GraphReader(corpus, settings=settings) as reader:
        reader.ingest(chronicle.write(tmp_path / "texts", 4))
    yield {**os.environ, **environment_of(neo4j), **chronicle.environment(settings)}
    with GraphReader(corpus, settings=settings) as reader:
        reader.delete(everything=True)


# An ask is one tree: the agent's steps, under each the model's call by the name of its prompt. All
# of it arrives although the command ends at once, and no key or password of ours is in it. A caller
# who asks inside of a run of his own, in whatever way, finds the agent's steps under that.
def test_langsmith(environment: dict[str, str], corpus: str, traces: TraceServer) -> None:
    environment |= {  # as LangSmith's documentation says
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_API_KEY": TRACER_KEY,
        "LANGSMITH_ENDPOINT": traces.url,
        "LANGSMITH_PROJECT": "my project",
    }
    question = chronicle.question(1)
    # In a process of its own: LangSmith reads the environment once.
    program = [sys.executable, "-c", CALLER, corpus, question]
    done = subprocess.run(program, env=environment, capture_output=True, check=False)
    found, names = traces.traces, ways(traces.traces)
    roots = {one.name: one.content for one in found if one.parent is None}
    sent = b"".join(traces.raw)

    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert set(names) >= STEPS
    assert all(one.content["end_time"] for one in found)
    assert set(roots) == {"graphreader", "my own", "my chain"}
    assert roots["graphreader"]["inputs"] == {"question": question, "earlier": ""}
    assert roots["graphreader"]["extra"]["metadata"]["thread_id"]
    assert names.count("my own") == names.count("my own > graphreader") == 3
    assert names.count("my chain > graphreader > answer_reasoning > decide > answer_reasoning") == 1
    assert {one.content["session_name"] for one in found} == {"my project"}
    assert traces.keys == {TRACER_KEY}
    assert question.encode() in sent
    for secret in (chronicle.KEY, environment["NEO4J_PASSWORD"], TRACER_KEY):
        assert secret.encode() not in sent
