"""Start, look-up and stop of the embedded server of a folder, for parallel callers.

A process is the server of a folder if the state file names it and its command line fits.
"""

import json
import logging
import socket
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from pydantic import SecretStr

from graphreader.errors import ServerError
from graphreader.settings import Settings
from graphreader.store.embedded.process import (
    LOOPBACK,
    VARIABLE,
    Access,
    Progress,
    ServerHome,
    end,
    end_of_logs,
    has_ended,
    java,
    launch,
    lock_folder,
    no_progress,
    set_password,
    size_of_logs,
    writing,
)

logger = logging.getLogger("graphreader.store")

_START_SECONDS = 120.0
"""Longest silence in the logs of a starting server; a start usually takes 5 to 10 seconds."""

_BUSY_SECONDS = 20.0
"""Longest silence, without answer and log entry, of a server that has answered before."""

_HANDSHAKE_SECONDS = 2.0
_QUERY_SECONDS = 5.0
_CLOCK_SECONDS = 2.0  # error of the reported start time of a process

# The magic number of Bolt, then the offered versions: only 5.0 to 5.4.
_HANDSHAKE = bytes.fromhex("6060b017") + bytes.fromhex("00040405") + bytes(12)

_STATE = "server.json"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers; `uri` is its address for drivers, `http` for Neo4j Browser."""

    uri: str
    username: str
    password: SecretStr
    http: str
    version: str
    pid: int
    home: Path


@dataclass(frozen=True, slots=True)
class ServerState:
    """The record of a server that has answered: its process and its version of Neo4j."""

    pid: int
    home: str
    version: str


def running(settings: Settings) -> RunningServer | None:
    """Return the server of the settings if it answers, within milliseconds; else None."""
    home = ServerHome.of(settings)
    access, state = home.access(), _read_state(home)
    if not access or not state or not _speaks_bolt(access.bolt):
        return None
    return _describe(home, access, state)


def browser_address(settings: Settings) -> str | None:
    """The address of Neo4j Browser; None if the embedded server does not run."""
    if settings.neo4j_uri:
        host = urlsplit(settings.neo4j_uri).hostname or "localhost"
        host = f"[{host}]" if ":" in host else host
        is_aura = host.endswith(".databases.neo4j.io")
        return "https://console.neo4j.io" if is_aura else f"http://{host}:7474/browser/"
    server = running(settings)
    return f"{server.http}/browser/" if server else None


def ensure_running(settings: Settings, progress: Progress | None = None) -> RunningServer:
    """Return the server of the settings; download, install and start it if necessary.

    It outlives this process. Waits while another process starts it. Raises ServerError if it ends
    or does not answer, and DownloadError if a file cannot be fetched or is wrong.
    """
    report = progress or no_progress
    server = running(settings)
    if server:
        return server
    home = ServerHome.of(settings)
    home.make()
    with lock_folder(home.folder, VARIABLE, report):
        return running(settings) or _adopt(home, report) or _start(home, settings, report)


def stop(settings: Settings) -> bool:
    """Stop the server of the settings; return False if none runs."""
    home = ServerHome.of(settings)
    if not home.folder.exists():
        return False
    with lock_folder(home.folder, VARIABLE, no_progress):
        process = _find_process(home)
        if process:
            end(process)
            logger.info("Stopped the embedded Neo4j (process %d)", process.pid)
        with writing(home.folder, VARIABLE):
            (home.folder / _STATE).unlink(missing_ok=True)
        return process is not None


def _adopt(home: ServerHome, report: Progress) -> RunningServer | None:
    """Wait for a server that is starting, busy, or without state file; end it without password.

    Return None if there is no server, or it ends meanwhile (killed a moment ago).
    """
    process, access = _find_process(home), home.access()
    if not process:
        return None
    if not access:
        end(process)
        return None
    seconds = _BUSY_SECONDS if _read_state(home) else _START_SECONDS
    try:
        return _wait_for(process, home, access, report, seconds)
    except ServerError:
        if has_ended(process):
            return None
        raise


def _start(home: ServerHome, settings: Settings, report: Progress) -> RunningServer:
    # Imported here, because httpx takes 0.2 s, and a running server needs no jars.
    from graphreader.store.embedded.jars import provide_jars  # noqa: PLC0415

    java()  # raises before anything is fetched
    jars = provide_jars(home.version, settings.cache, settings.maven_mirror, report)
    access = home.make_access()
    home.configure(access, settings)
    if not home.has_data:
        report("preparing", 0, None)
        set_password(home, jars, access)
    process = launch(home, jars, settings)
    try:
        logger.info("Starting the embedded Neo4j %s (process %d)", home.version, process.pid)
        return _wait_for(process, home, access, report, _START_SECONDS)
    except BaseException:
        end(process)  # also on Ctrl-C: an interrupted start leaves no server behind
        raise


def _wait_for(
    process: psutil.Process, home: ServerHome, access: Access, report: Progress, seconds: float
) -> RunningServer:
    """Wait until the server answers; give up if its logs do not grow for `seconds`."""
    began = process.create_time()
    deadline, logged = time.monotonic() + seconds, size_of_logs(home)
    while time.monotonic() < deadline:
        report("starting", 0, None)
        if has_ended(process):
            raise ServerError(
                f"Neo4j ended while it was starting. The end of its log in {home.logs}:\n"
                + end_of_logs(home, began - _CLOCK_SECONDS)
            )
        version = _answered_version(access)
        if version:
            state = ServerState(process.pid, str(home.folder), version)
            home.write(_STATE, state)
            logger.info("The embedded Neo4j (%d) answers on port %d", process.pid, access.bolt)
            return _describe(home, access, state)
        if (size := size_of_logs(home)) != logged:
            deadline, logged = time.monotonic() + seconds, size
        time.sleep(0.1)
    raise ServerError(
        f"Neo4j (process {process.pid}) runs but has not answered for {seconds:.0f} seconds: run"
        f" `graphreader neo4j stop` and try again. The end of its log in {home.logs}:\n"
        + end_of_logs(home, began - _CLOCK_SECONDS)
    )


def _describe(home: ServerHome, access: Access, state: ServerState) -> RunningServer:
    return RunningServer(
        uri=f"bolt://{LOOPBACK}:{access.bolt}",
        username=access.username,
        password=SecretStr(access.password),
        http=f"http://{LOOPBACK}:{access.http}",
        version=state.version,
        pid=state.pid,
        home=home.folder,
    )


def _read_state(home: ServerHome) -> ServerState | None:
    """Return the stored state if its process still runs and is the server of this folder."""
    state = home.read(_STATE, ServerState)
    if state is None or state.home != str(home.folder):
        return None
    try:
        return state if _serves(psutil.Process(state.pid), home) else None
    except psutil.Error:
        return None


def _find_process(home: ServerHome) -> psutil.Process | None:
    """Search the server process of this folder, also if it is starting or has no state file."""
    return next((one for one in psutil.process_iter() if _serves(one, home)), None)


def _serves(process: psutil.Process, home: ServerHome) -> bool:
    """Whether a process is a living server of this folder, by its command line."""
    try:
        return home.argument in process.cmdline() and not has_ended(process)
    except psutil.Error:
        return False


def _speaks_bolt(port: int) -> bool:
    """Whether a server speaks Bolt at a loopback port; takes about a millisecond."""
    try:
        address = LOOPBACK, port
        with socket.create_connection(address, timeout=_HANDSHAKE_SECONDS) as connection:
            connection.sendall(_HANDSHAKE)
            return len(connection.recv(4)) == 4
    except OSError:
        return False


def _answered_version(access: Access) -> str | None:
    """Return the server's version once it speaks Bolt and HTTP; else None."""
    from http.client import HTTPConnection  # noqa: PLC0415  # not needed for a running server

    if not _speaks_bolt(access.bolt):
        return None
    connection = HTTPConnection(LOOPBACK, access.http, timeout=_QUERY_SECONDS)
    with (
        closing(connection),
        suppress(Exception),
    ):  # another program may answer anything at this port
        connection.request("GET", "/")
        return str(json.load(connection.getresponse())["neo4j_version"])
    return None
