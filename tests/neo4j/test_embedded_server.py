"""The embedded Neo4j: real servers in homes of their own, one with an accent and a space in it.

The tests of one server follow each other in the order of this file and share its starts, which
take 5 to 30 seconds each. So those that change the schema of a whole database, which other tests
share, use the servers of this file too. The jars come from the cache folder and are fetched once.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from neo4j import GraphDatabase

from graphreader.errors import (
    DecisionError,
    GraphReaderError,
    Neo4jUnavailableError,
    SchemaError,
    ServerError,
    UnknownCorpusError,
)
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.embedding import embed, reindex, write_vectors
from graphreader.ingestion.extraction import Extraction, ExtractionTask
from graphreader.ingestion.report import IngestReport
from graphreader.settings import Settings
from graphreader.store import schema
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection, open_connection
from graphreader.store.embedded import process as process_module
from graphreader.store.embedded import server as embedded
from graphreader.store.embedded.process import ServerHome
from graphreader.store.embedded.server import RunningServer
from graphreader.store.explorer import GraphExplorer
from graphreader.store.writer import GraphWriter
from tests.neo4j.texts import by_vector, write
from tests.runs import digest, world
from tests.runs.test_mcp import connected, refused, until
from tests.servers import PROXY

SENTENCES = [f"Anna{n} met Bert{n % 7} in Town{n % 5}." for n in range(40)]
FACTS = {one: [f"Anna{n}", f"Bert{n % 7}", f"Town{n % 5}"] for n, one in enumerate(SENTENCES)}

pytestmark = pytest.mark.slow

# Starts the server as any command does; with an argument it then stays until it is ended.
STARTER = """
import sys, time
from graphreader.settings import Settings
from graphreader.store.embedded import server as embedded
server = embedded.ensure_running(Settings.read())
print(server.pid, server.uri, flush=True)
time.sleep(600 if sys.argv[1:] else 0)
"""
# Fetches the jars, which a test process may not: it reaches loopback only.
FETCHER = """
from graphreader.settings import Settings
from graphreader.store.embedded.jars import provide_jars
from graphreader.store.embedded.process import no_progress
for version in ("2026.08.1", "5.26.30"):
    provide_jars(version, Settings.read().cache, None, no_progress)
"""


def run_python(code: str, home: Path, *arguments: str) -> "subprocess.Popen[str]":
    """A process of its own with `home`, its output in pipes of ours, a session of its own."""
    ours = ("GRAPHREADER_", "NEO4J_", "OPENAI_")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    environment |= {"GRAPHREADER_HOME": str(home), "OPENAI_API_KEY": "sk-ours"}
    environment |= {"GRAPHREADER_CACHE": str(Settings.read().cache), **PROXY}
    environment["GRAPHREADER_NEO4J_JAVA_OPTIONS"] = Settings.read().neo4j_java_options
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fetcher = run_python(FETCHER, tmp_path_factory.mktemp("none"))
    _, failure = fetcher.communicate(timeout=300)
    assert fetcher.returncode == 0, failure
    return Settings.read().cache


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Settings]:
    home = tmp_path_factory.mktemp("embedded") / "Änne's graphs"
    settings = Settings.read(home=home, cache=cache)
    yield settings
    embedded.stop(settings)


@pytest.fixture(scope="module")
def long_term(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Settings]:
    home = tmp_path_factory.mktemp("long-term")
    settings = Settings.read(home=home, cache=cache, neo4j_version="5.26.30")
    yield settings
    embedded.stop(settings)


@pytest.fixture
def server(settings: Settings) -> RunningServer:
    return embedded.ensure_running(settings)


class Lengths:
    """An embedder of any dimension: a vector says how long the text is."""

    def __init__(self, name: str, dimension: int) -> None:
        self.name = name
        self.dimension = dimension
        self.fails_after = 99
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.fails_after -= 1
        if self.fails_after < 0:
            raise DecisionError("The embedding service went away.")
        self.embedded += texts
        return [[float(len(text)), *([1.0] * (self.dimension - 1))] for text in texts]

    async def aclose(self) -> None:
        pass


def never(phase: str, done: int, total: int | None) -> None:
    raise AssertionError(f"nothing was to be done, but: {phase}")


def ask(server: RunningServer, statement: str) -> Any:
    auth = (server.username, server.password.get_secret_value())
    with GraphDatabase.driver(server.uri, auth=auth) as driver:
        return driver.execute_query(statement, database_="neo4j").records[0][0]


def servers_of(home: Path) -> list[int]:
    argument = f"--home-dir={home}{os.sep}"
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(one.startswith(argument) for one in process.info["cmdline"] or ())
    ]


# Two commands that start at once get one server. The pipes of the command that ends are closed
# although the server lives on, and Ctrl-C ends the command that stays and not the server.
@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX's")
def test_two_starts_at_once_give_one_server(settings: Settings) -> None:
    home = settings.home
    ending, staying = run_python(STARTER, home), run_python(STARTER, home, "stay")
    output, failure = ending.communicate(timeout=300)
    assert staying.stdout is not None
    output_of_staying = staying.stdout.readline()
    os.killpg(staying.pid, signal.SIGINT)
    staying.communicate(timeout=300)

    assert ending.returncode == 0, failure
    assert staying.returncode != 0
    server = embedded.running(settings)
    assert server is not None
    assert output == output_of_staying == f"{server.pid} {server.uri}\n"
    assert servers_of(home) == [server.pid]
    assert os.getsid(server.pid) == server.pid


# A server that runs is found without starting, preparing or waiting for anything; the password
# opens its database, and the Browser's page is served. Nobody else can read the password: not in
# files, not in a repr, not on the command line. Nor does the server, which lives long, carry the
# keys of the person who happened to start it.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file modes")
def test_running_server(settings: Settings) -> None:
    server = embedded.ensure_running(settings, never)
    page = httpx.get(f"{server.http}/browser/", trust_env=False)
    password = server.password.get_secret_value()
    files = [file for file in server.home.iterdir() if file.suffix == ".json"]
    process = psutil.Process(server.pid)

    assert embedded.running(settings) == server
    assert server.version == settings.neo4j_version
    assert server.home.parent == settings.home.resolve()
    assert ask(server, "RETURN 1") == 1
    assert page.status_code == 200
    assert "Neo4j Browser" in page.text
    assert {file.name for file in files} == {"access.json", "server.json"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700
    assert password not in repr(server)
    assert password not in " ".join(process.cmdline())
    assert "sk-ours" not in process.environ().values()


# A lost state file costs nothing: the server is recognized by its command line. A copy of the home
# does not take the original's server for its own, nor stop it.
def test_lost_state_and_copied_home(
    settings: Settings, server: RunningServer, tmp_path: Path, cache: Path
) -> None:
    copy = tmp_path / server.home.name
    copy.mkdir()
    for name in ("access.json", "server.json"):
        shutil.copy(server.home / name, copy / name)
    other = Settings.read(home=tmp_path, cache=cache)
    (server.home / "server.json").unlink()

    assert embedded.running(settings) is None
    assert embedded.ensure_running(settings) == embedded.running(settings) == server
    assert embedded.running(other) is None
    assert embedded.stop(other) is False
    assert embedded.running(settings) == server


def reading_in(
    settings: Settings, corpus: str, texts: Path, begun: threading.Event
) -> tuple[Any, int]:
    """Read a folder in; `begun` is set when half of the chunks were asked for.

    Returns the report, or the error that ended it, and how many chunks were asked for.
    """
    extraction, asked = world.extraction(FACTS), []

    async def extract(task: ExtractionTask) -> Extraction:
        asked.append(task)
        if len(asked) == len(FACTS) // 2:
            begun.set()
        await asyncio.sleep(0.05)
        return extraction(task)

    decider = world.scripted({}, {ExtractionTask: extract})
    decider.concurrency = 4
    try:
        with world.reader(settings, corpus, decider) as reader:
            return reader.ingest(texts), len(asked)
    except GraphReaderError as error:
        return error, len(asked)


def kill_and_start(
    settings: Settings, server: RunningServer
) -> tuple[RunningServer | None, RunningServer]:
    """Kill the server, pretend that its pid is ours now, and start it again.

    Returns which server runs before that start, and afterwards.
    """
    psutil.Process(server.pid).kill()
    us = psutil.Process()
    state = json.loads((server.home / "server.json").read_text("utf-8"))
    state |= {"pid": us.pid}
    (server.home / "server.json").write_text(json.dumps(state), "utf-8")
    return embedded.running(settings), embedded.ensure_running(settings)


# A server that was killed a moment ago may still be found: it is not waited for, a new one starts.
def test_ending_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = ServerHome.of(Settings.read(home=tmp_path))
    home.make()
    home.make_access()
    with subprocess.Popen(["sleep", "0.5"]) as ending:
        monkeypatch.setattr(embedded, "_find_process", lambda home: psutil.Process(ending.pid))
        assert embedded._adopt(home, process_module.no_progress) is None


# Killed while texts are read in, its pid now that of another process, the server starts again: same
# address, same password, and all that counted as read. The run goes on or ends with a sentence; the
# next one asks only for the rest, up to the graph of an undisturbed run on another server.
def test_killed_server_is_started_again(
    settings: Settings, server: RunningServer, neo4j: Settings, corpus: str, tmp_path: Path
) -> None:
    texts = world.write_files(tmp_path, {f"book{n}": [*FACTS][n::3] for n in range(3)})
    settings = settings.model_copy(update={"model": "offline", "embeddings": "offline"})
    named = settings.model_copy(update={"neo4j_uri": server.uri, "neo4j_password": server.password})
    undisturbed, _ = reading_in(neo4j, corpus, texts, threading.Event())
    expected = digest.content(neo4j, corpus)
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.delete(everything=True)
    begun = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        disturbed = pool.submit(reading_in, settings, corpus, texts, begun)
        assert begun.wait(60)
        before, again = kill_and_start(settings, server)
        outcome, _ = disturbed.result(180)
    kept = f"MATCH (c:Chunk {{corpus: '{corpus}'}}) WHERE c.error IS NULL RETURN count(c)"
    safe = ask(again, kept)
    completed, asked = reading_in(settings, corpus, texts, begun)

    assert undisturbed.complete
    assert before is None
    assert again.pid not in (server.pid, os.getpid())
    assert (again.uri, again.http, again.password) == (server.uri, server.http, server.password)
    assert outcome.complete if isinstance(outcome, IngestReport) else "Neo4j" in str(outcome)
    assert completed.complete
    assert asked + safe == len(FACTS)
    assert digest.content(named, corpus) == expected


# A task that is cancelled while it starts a server leaves none, and has waited for that; the next
# start is a good one. Here with the long-term version, in a folder of its own major version.
async def test_start_after_an_interrupted_one_with_5_26(long_term: Settings) -> None:
    starting = threading.Event()

    def note(phase: str, done: int, total: int | None) -> None:
        if phase == "starting" and servers_of(long_term.home):
            starting.set()

    task = asyncio.create_task(open_connection(long_term, note))
    assert await asyncio.to_thread(starting.wait, 300)
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    left = servers_of(long_term.home), list(long_term.home.glob("*/server.json"))
    server = embedded.ensure_running(long_term)

    assert left == ([], [])
    assert server.home.name == "neo4j-5"
    assert server.version == "5.26.30"
    assert ask(server, "CALL dbms.components() YIELD versions RETURN versions[0]") == "5.26.30"


@pytest.fixture(params=["settings", "long_term"])
async def own_connection(request: pytest.FixtureRequest) -> AsyncIterator[Connection]:
    """A prepared database of a server that no other file of tests uses."""
    connection = await open_connection(request.getfixturevalue(request.param))
    await schema.prepare(connection)
    yield connection
    await connection.aclose()


async def states(connection: Connection) -> set[str]:
    rows = await connection.read("schema/indexes")
    assert len(rows) == 20
    return {row["state"] for row in rows}


# Many who prepare a new database at the same moment all find it prepared; to prepare it again
# changes nothing. A graph of another version is refused, not used.
async def test_schema(own_connection: Connection) -> None:
    for _ in range(2):
        async with own_connection._driver.session() as session:
            await (await session.run("DROP INDEX graphreader_key_element_stale")).consume()
        others = [await Connection.open(own_connection.address) for _ in range(5)]
        await asyncio.gather(*(schema.prepare(one) for one in others))
        for one in others:
            await one.aclose()
    await own_connection.write("schema/set_number", number=999)
    with pytest.raises(SchemaError, match=r"schema 999.*NEO4J_DATABASE"):
        await schema.prepare(own_connection)
    await own_connection.write("schema/set_number", number=schema.NUMBER)

    assert await states(own_connection) == {"ONLINE"}


# Corpora with vectors of different lengths live in one database, and each is searched by its own; a
# search in a corpus whose vectors were all deleted gives nothing. A reindex that was cut off is
# finished by the next one, changes its own corpus alone, and does nothing where nothing changed. An
# index that an earlier version bound to one length is made anew.
async def test_vectors_of_different_lengths(own_connection: Connection) -> None:
    await own_connection.run("schema/drop_embeddings")
    async with own_connection._driver.session() as session:
        await (await session.run(BOUND_INDEX)).consume()
    await schema.prepare(own_connection)
    for corpus, length in (("one", 256), ("two", 64)):
        embedder, writer = Lengths("old", length), GraphWriter(own_connection, corpus)
        await writer.begin_corpus(decider="t", prompts="1", embedding="old", dimension=length)
        await write(writer, "title", [("x", {"Canada is cold.": ["Canada", "cold"]})])
        await write_vectors(writer, await embed(embedder, await writer.unembedded()))
    explorers = [GraphExplorer(own_connection, corpus) for corpus in ("one", "two")]
    nearest = [
        await by_vector(explorer, [4.0] + [1.0] * (length - 1), 1)
        for explorer, length in zip(explorers, (256, 64), strict=True)
    ]
    with pytest.raises(UnknownCorpusError):
        await reindex(own_connection, Lengths("new", 64), "no such corpus")
    newer = Lengths("newer", 64)
    newer.fails_after = 0
    with pytest.raises(DecisionError):
        await reindex(own_connection, newer, "one")
    emptied = [await by_vector(explorers[0], [4.0] + [1.0] * (n - 1), 1) for n in (256, 64)]
    newer.fails_after = 99
    made = [await reindex(own_connection, newer, "one") for _ in range(2)]
    records = [await Catalog(own_connection).corpus(name) for name in ("one", "two")]

    assert [node.name for found in nearest for node in found] == ["cold", "cold"]
    assert emptied == [[], []]
    assert made == [3, 0]
    assert sorted(newer.embedded) == ["canada", "cold", "title: x"]
    assert [(one.embedding, one.dimension) for one in records] == [("newer", 64), ("old", 64)]
    assert [one.name for one in await by_vector(explorers[1], [4.0] + [1.0] * 63, 1)] == ["cold"]


BOUND_INDEX = (
    "CREATE VECTOR INDEX graphreader_key_element_embeddings FOR (n:KeyElement) ON n.embedding "
    "OPTIONS {indexConfig: {`vector.dimensions`: 7, `vector.similarity_function`: 'cosine'}}"
)


# A server that is frozen does not hold up a command for long, and can be stopped: it is gone then,
# with its state. Stopping again does no harm. A reader that used it says that the server has ended;
# the next command starts it, here `graphreader mcp` with its first call, and the reader goes on.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGSTOP")
async def test_frozen_server(
    settings: Settings, server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = settings.home
    reader = GraphReader("any", settings=settings)
    before = await reader.acorpora()
    monkeypatch.setattr(embedded, "_BUSY_SECONDS", 0.5)
    monkeypatch.setattr(embedded, "_HANDSHAKE_SECONDS", 0.5)
    psutil.Process(server.pid).suspend()
    # The signal takes hold of one thread after the other: the last may still shake hands.
    await until(lambda: not embedded.running(settings))
    with pytest.raises(ServerError, match=r"has not answered .* run `graphreader neo4j stop`"):
        embedded.ensure_running(settings)
    left = servers_of(home)
    began = time.monotonic()
    stopped = embedded.stop(settings), embedded.stop(settings)
    seconds = time.monotonic() - began
    right_after = servers_of(home), (server.home / "server.json").exists()
    monkeypatch.setattr("graphreader.store.connection.OUTAGE_SECONDS", 0.1)
    with pytest.raises(
        Neo4jUnavailableError,
        match="has ended or does not answer: the same command",
    ):
        await reader.acorpora()
    environment = {**os.environ, "GRAPHREADER_HOME": str(home), **PROXY}
    async with connected("any", environment, tmp_path / "log") as client:
        first = await refused(client, "list_documents")

    assert left == [server.pid]
    assert stopped == (True, False)
    assert seconds < 20
    assert right_after == ([], False)
    assert first.startswith("There is no corpus 'any'")
    assert "Starting Neo4j" in (tmp_path / "log").read_text()
    assert await reader.acorpora() == before
    await reader.aclose()


# A kept port that somebody else has taken meanwhile is replaced, and the replacement is kept;
# the other port and the password stay. Every home has a password of its own.
def test_taken_port_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "_PORT_SECONDS", 0.2)
    home, other = (ServerHome.of(Settings.read(home=tmp_path / name)) for name in "ab")
    home.make()
    other.make()
    first, again = home.make_access(), home.make_access()
    with socket.create_server(("127.0.0.1", first.http)):
        moved = home.make_access()

    assert again == first
    assert first.bolt != first.http
    assert moved == replace(first, http=moved.http) != first
    assert home.access() == home.make_access() == moved
    assert other.make_access().password != first.password


# Data whose password is lost are not started over, and not thrown away.
def test_lost_password(tmp_path: Path, cache: Path) -> None:
    data = tmp_path / "neo4j-2026" / "data" / "databases" / "system"
    data.mkdir(parents=True)

    with pytest.raises(ServerError, match=r"password .* is lost"):
        embedded.ensure_running(Settings.read(home=tmp_path, cache=cache))
    assert data.exists()


# A server that cannot come up shows the end of its log at once, and nothing is left behind.
def test_failed_start_shows_the_log(tmp_path: Path, cache: Path) -> None:
    settings = Settings.read(home=tmp_path, cache=cache, neo4j_heap="1m")

    with pytest.raises(ServerError, match="Initial heap size set to a larger value"):
        embedded.ensure_running(settings)
    assert servers_of(tmp_path) == []
    assert not list(tmp_path.glob("*/server.json"))


# Where no Java can be installed, a sentence says to use a Neo4j of one's own.
def test_unusable_machine(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "_JAVA", None)
    with pytest.raises(ServerError, match="NEO4J_URI"):
        embedded.ensure_running(Settings.read(home=tmp_path / "home", cache=cache))
