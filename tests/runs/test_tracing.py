"""Traces by LangSmith's own environment variables."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_server import OpenAIServer
from tests.runs.trace_server import TraceServer, ways
from tests.terminal import environment_of

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
