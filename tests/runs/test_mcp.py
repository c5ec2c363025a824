"""The command `graphreader mcp`, through the official client over stdin and stdout."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from graphreader.agent.adaptive.tasks import TurnTask
from graphreader.agent.tasks import PlanTask
from graphreader.graph_reader import GraphReader
from graphreader.mcp_server import mcp_server
from graphreader.settings import Settings
from tests.runs import digest, world
from tests.runs.relay import Relay
from tests.runs.web_server import Gate
from tests.terminal import SilentService, Terminal, environment_of, wait_for

pytestmark = pytest.mark.slow

ENGLISH = (
    "Casa Loma is a castle in Toronto. Henry Pellatt built Casa Loma in 1914. "
    "Henry Pellatt was born in Kingston."
)
CHINESE = "贞德出生于东雷米村。贞德于1431年在鲁昂被处死。教宗本笃十五世于1920年册封贞德为圣人。"
TOOLS = [
    "ask",
    "search_key_elements",
    "read_facts",
    "read_chunk",
    "outline",
    "neighbors",
    "list_documents",
]


@pytest.fixture(scope="module")
def reader(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphReader]:
    """A reader of a corpus: a text about a castle, one in Chinese about Joan of Arc."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "castle.txt").write_text(ENGLISH, encoding="utf-8")
    (folder / "贞德.txt").write_text(CHINESE, encoding="utf-8")
    settings = neo4j.model_copy(update={"initial_nodes": 2})
    with GraphReader(f"test-{uuid4().hex[:12]}", settings=settings) as reader:
        reader.ingest(folder)
        yield reader
        reader.delete(everything=True)


def environment(base: Settings, **further: str) -> dict[str, str]:
    """That of a command which asks a server; two paths are the same steps in less time."""
    return {**os.environ, **environment_of(base), "GRAPHREADER_INITIAL_NODES": "2", **further}


@asynccontextmanager
async def connected(corpus: str, env: Mapping[str, str], log: Path) -> AsyncGenerator[Client]:
    """A client of the command, whose stderr goes into the log.

    It starts in a folder of no meaning, and imports nothing of what lies there (`-P`).
    """
    command = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "graphreader", "mcp", "--corpus", corpus],
        env=dict(env),
        cwd=tempfile.gettempdir(),
    )
    with log.open("w", encoding="utf-8") as errlog:
        async with Client(stdio_client(command, errlog)) as client:
            yield client


async def until(done: Callable[[], bool]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(30):
        while not await asyncio.to_thread(done):
            await asyncio.sleep(0.05)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """What the tool gives, once as text and once in fields."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """What the tool says where it fails."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return str(result.content[0].text).removeprefix(f"Error executing tool {tool}: ")


# Tools, their schemas and what is said of them are there before anything is opened, settings that
# lead nowhere included; each only reads.
async def test_tools(tmp_path: Path) -> None:
    with SilentService() as silent:
        base = Settings.read(neo4j_uri=f"bolt://127.0.0.1:{silent.port}", neo4j_password="words")
        async with connected("any", environment(base), tmp_path / "log") as client:
            tools = (await client.list_tools()).tools
            info, instructions = client.server_info, client.instructions

        assert silent.asked_at is None
    assert [tool.name for tool in tools] == TOOLS
    for tool in tools:
        assert tool.annotations
        assert tool.annotations.read_only_hint
        assert tool.annotations.open_world_hint == (tool.name == "ask")  # which asks a model
        assert len(tool.description or "") > 60
        assert tool.output_schema
        assert all(one["description"] for one in tool.input_schema["properties"].values())
    assert info
    assert (info.name, info.title) == ("graphreader", "GraphReader: any")
    assert "search_key_elements" in (instructions or "")
    assert (tmp_path / "log").read_text() == ""


# Documents and outlines are read in pages, and Chinese signs arrive as they are.
async def test_pages(reader: GraphReader) -> None:
    async with Client(mcp_server(reader)) as client:
        documents = await call(client, "list_documents")
        rest = await call(client, "list_documents", skip=1)
        outline = await call(client, "outline", document="castle", last=5)
        rest_of_it = await call(client, "outline", document="castle", first=1)
        raw = await client.call_tool("read_chunk", {"document": "贞德", "chunk": 0})

    assert (documents["corpus"], documents["total"]) == (reader.corpus, 2)
    assert rest["documents"] == documents["documents"][1:]
    assert outline == {"chunks": 1, "outline": "[0] Henry Pellatt built Casa Loma in 1914."}
    assert rest_of_it == {"chunks": 1, "outline": ""}
    assert CHINESE in raw.content[0].text


# A question is answered with quotes, the client hears how far it is, and the graph stays as it was.
async def test_ask(neo4j: Settings, reader: GraphReader) -> None:
    before = digest.digest(neo4j, reader.corpus)
    steps: list[tuple[float, str]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        steps.append((done, message or ""))

    question = "Who built Casa Loma?"
    async with Client(mcp_server(reader)) as client:
        result = await client.call_tool("ask", {"question": question}, progress_callback=hear)
        answer = result.structured_content
        assert answer
        followed = await call(client, "ask", question="When?", follow=answer["run"])

    runs = {one.run: one.follow for one in reader.runs()}
    assert runs[followed["run"]] == answer["run"]
    assert (answer["answered"], answer["confidence"], answer["explanation"]) == (True, "stated", "")
    assert "Henry Pellatt" in answer["answer"]
    [quote, *_] = answer["citations"]
    assert ENGLISH[quote["start"] : quote["end"]] == quote["quote"]
    assert any("No language model" in note for note in answer["notes"])
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[0][1].startswith("Plan: ")
    assert steps[1][1].startswith("2 paths, from: ")
    assert any(": read_chunk castle, chunk 0" in message for _, message in steps)
    assert digest.digest(neo4j, reader.corpus) == before


# Each tool tells the client what it waits for while it waits: a frozen Neo4j, for instance.
async def test_waits(neo4j: Settings, reader: GraphReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreader.store.connection.SLOW_SECONDS", 0.2)
    heard: list[str | None] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    with Relay(neo4j) as relay, GraphReader(reader.corpus, settings=relay.settings) as behind:
        async with Client(mcp_server(behind)) as client:
            await call(client, "list_documents")
            for tool, name in (("ask", "question"), ("search_key_elements", "text")):
                relay.stall_for(0.6)
                result = await client.call_tool(tool, {name: "Toronto"}, progress_callback=hear)
                assert not result.is_error

    assert heard[0] == heard[-1] == "Waiting for Neo4j"
    assert len(heard) > 3


# What cannot be done is told in the sentence that says why, and the server goes on. Several calls
# at once are answered side by side, each with its own.
async def test_errors(reader: GraphReader) -> None:
    async with Client(mcp_server(reader)) as client:
        question = await refused(client, "ask", question=" ")
        number = await refused(client, "read_chunk", document="castle", chunk=-1)
        limit = await refused(client, "neighbors", key_element="Casa Loma", limit=10**6)
        first, second, element = await asyncio.gather(
            call(client, "ask", question="Who built Casa Loma?"),
            call(client, "ask", question="哪位教宗册封贞德为圣人？"),
            refused(client, "read_facts", key_element="Casa Lomo"),
        )

    assert question == "The question is empty: ask something."
    assert "greater than or equal to 0" in number
    assert "less than or equal to 250" in limit
    assert "has no key element 'Casa Lomo'; the nearest are 'Casa Loma'" in element
    assert "1914" in first["answer"]
    assert "本笃十五世" in second["answer"]


# Who stops waiting ends the run, which can be gone on with; others go on.
async def test_cancelled(neo4j: Settings, reader: GraphReader, tmp_path: Path) -> None:
    gate = Gate()
    decider = world.scripted({}, {PlanTask: gate, TurnTask: gate})
    with world.reader(neo4j, reader.corpus, decider, home=tmp_path) as own, gate.held():
        async with Client(mcp_server(own)) as client:
            asked = asyncio.create_task(client.call_tool("ask", {"question": "Who built it?"}))
            await until(lambda: gate.waiting > 0)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            documents = await call(client, "list_documents")
            await until(lambda: not any(run.process for run in own.runs()))
            [run] = own.runs()

    assert documents["total"] == 2
    assert (run.status, run.question) == ("interrupted", "Who built it?")


# How a client of an earlier version of the protocol begins, and then asks.
INFO = {"name": "test", "version": "1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": INFO}
OPENING = [
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "ask", "arguments": {"question": "Who?"}}},
]


# The command ends at once when it is told to, also while a question is asked: its run can be gone
# on with. Nothing but the protocol goes to stdout, for earlier versions of it as well.
@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_end(neo4j: Settings, reader: GraphReader, tmp_path: Path) -> None:
    with SilentService() as silent:
        process = subprocess.Popen(
            [sys.executable, "-m", "graphreader", "mcp", "--corpus", reader.corpus],
            env=environment(
                neo4j,
                GRAPHREADER_HOME=str(tmp_path / "home"),
                GRAPHREADER_MODEL="openai:some-model",
                GRAPHREADER_EMBEDDINGS="offline",
                OPENAI_API_KEY="some-key",
                OPENAI_BASE_URL=f"http://127.0.0.1:{silent.port}/v1",
            ),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert process.stdin
        for message in OPENING:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        wait_for(lambda: silent.asked_at is not None, 60)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    settings = neo4j.model_copy(update={"home": tmp_path / "home"})
    with GraphReader(reader.corpus, settings=settings) as own:
        [run] = own.runs()
    first, *rest = [json.loads(line) for line in out.splitlines()]

    assert first["result"]["serverInfo"]["name"] == "graphreader"
    assert all(one["id"] == 2 for one in rest)
    assert (process.returncode, err) == (128 + signal.SIGTERM, "Stopped.\n")
    assert (run.status, run.process) == ("interrupted", None)


# Without the package `mcp` the command says at once, in a sentence, what to install.
def test_missing_package(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "graphreader.mcp_server")
    ended = terminal.run("mcp")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith('needs a further package: pip install "mcp>=2.3,<3"\n')
    assert len(ended.err.splitlines()) == 1
