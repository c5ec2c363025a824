"""The embedded server of a home: finds it, starts it, stops it, for any number of callers at once.

A process is the server of a home when its pid, its start time and the home on its command line all
fit the state file. So a killed server, a reboot, a reused pid and a copied home are all noticed.
"""

import json
import logging
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

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
    home_argument,
    is_gone,
    java,
    launch,
    lock_folder,
    no_progress,
    set_password,
    size_of_logs,
    write_private,
    writing,
)

logger = logging.getLogger("graphreader.store")

_START_SECONDS = 120.0
"""How long a starting server may write nothing into its logs; a start usually takes 5 to 10."""

_BUSY_SECONDS = 20.0
"""How long a server that has answered before may not answer."""

_HANDSHAKE_SECONDS = 2.0
_QUERY_SECONDS = 5.0
_CLOCK_SECONDS = 2.0  # the reported start time of a process wavers when the clock is set

# The magic number of Bolt, then the offered versions: 5.0 to 5.4, and nothing else.
_HANDSHAKE = bytes.fromhex("6060b017") + bytes.fromhex("00040405") + bytes(12)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers. `uri` is for drivers, `http` for people: the root of the Browser.

    `home` is the folder of this server alone, below GRAPHREADER_HOME.
    """

    uri: str
    username: str
    password: SecretStr
    http: str
    version: str
    pid: int
    home: Path


def running(settings: Settings) -> RunningServer | None:
    """Return the server of these settings if it answers, within milliseconds; else None."""
    home = ServerHome.of(settings)
    access, state = home.access(), ServerState.read(home)
    if not access or not state or not state.ready or not state.process(home):
        return None
    return _describe(home, access, state) if speaks_bolt(access.bolt) else None


def ensure_running(settings: Settings, progress: Progress | None = None) -> RunningServer:
    """Return the server of these settings, and start it if it is not running.

    The first time it fetches about 170 MB of jars; a start takes 5 to 10 seconds and is done by
    one process however many callers there are. Raises DownloadError where the jars cannot be
    fetched, ServerError where the server does not come up (with the end of its log) or a folder
    cannot be written.
    """
    report = progress or no_progress
    home = ServerHome.of(settings)
    server = running(settings)
    if server:
        return server
    home.make()
    with lock_folder(home.folder, VARIABLE, report):
        return running(settings) or _adopt(home, report) or _start(home, settings, report)


def stop(settings: Settings) -> bool:
    """Stop the server of these settings; False where none runs.

    Waits for a command that is starting it.
    """
    home = ServerHome.of(settings)
    if not home.folder.exists():
        return False
    with lock_folder(home.folder, VARIABLE, no_progress):
        process = find_process(home)
        if process:
            end(process)
            logger.info("Stopped the embedded Neo4j (process %d)", process.pid)
        ServerState.delete(home)
        return process is not None


def _adopt(home: ServerHome, report: Progress) -> RunningServer | None:
    """Wait for a server that runs but is still starting, is too busy to answer, or lost its state.

    One whose password is lost is ended.
    """
    process, access = find_process(home), home.access()
    if not process:
        return None
    if not access:
        end(process)
        return None
    state = ServerState.read(home)
    ready = bool(state and state.ready and state.process(home))
    return _wait_for(process, home, access, report, process.create_time(), was_ready=ready)


def _start(home: ServerHome, settings: Settings, report: Progress) -> RunningServer:
    # Imported here, because httpx takes 0.2 s, and a server that runs needs no jars.
    from graphreader.store.embedded.jars import provide_jars  # noqa: PLC0415

    java()  # raises where there is none, before anything is fetched
    jars = provide_jars(home.version, settings.cache, settings.maven_mirror, report)
    access = home.make_access()
    home.configure(access, settings)
    if not home.has_data:
        report("preparing", 0, None)
        set_password(home, jars, access)
    since = time.time() - 0.1  # the clock of files lags a little
    process = launch(home, jars, settings)
    logger.info("Starting the embedded Neo4j %s (process %d)", home.version, process.pid)
    try:
        ServerState.of(process, home, home.version, ready=False).write(home)
        return _wait_for(process, home, access, report, since, was_ready=False)
    except BaseException:
        # Also at Ctrl-C: an interrupted start leaves no server behind.
        end(process)
        ServerState.delete(home)
        raise


def _wait_for(
    process: psutil.Process,
    home: ServerHome,
    access: Access,
    report: Progress,
    since: float,
    *,
    was_ready: bool,
) -> RunningServer:
    """Wait until the server answers, and store its state as ready.

    A server that starts may take as long as its logs grow: on a busy machine, that is minutes.
    """
    seconds = _BUSY_SECONDS if was_ready else _START_SECONDS
    deadline, logged = time.monotonic() + seconds, size_of_logs(home)
    while time.monotonic() < deadline:
        report("starting", 0, None)
        if is_gone(process):
            raise ServerError(
                f"Neo4j ended while it was starting. The end of its log in {home.logs}:\n"
                + end_of_logs(home, since)
            )
        version = version_of(access)
        if version:
            state = ServerState.of(process, home, version, ready=True)
            state.write(home)
            logger.info("The embedded Neo4j (process %d) answers at %s", process.pid, access.uri)
            return _describe(home, access, state)
        if not was_ready and (size := size_of_logs(home)) != logged:
            deadline, logged = time.monotonic() + seconds, size
        time.sleep(0.1)
    raise ServerError(
        f"Neo4j (process {process.pid}) runs but has not answered for {seconds:.0f} seconds: run"
        f" `graphreader neo4j stop` and try again. The end of its log in {home.logs}:\n"
        + end_of_logs(home, since)
    )


def _describe(home: ServerHome, access: Access, state: "ServerState") -> RunningServer:
    return RunningServer(
        uri=access.uri,
        username=access.username,
        password=SecretStr(access.password),
        http=f"http://{LOOPBACK}:{access.http}",
        version=state.version,
        pid=state.pid,
        home=home.folder,
    )


@dataclass(frozen=True, slots=True)
class ServerState:
    """The process of a server: `began` in epoch seconds, `version` as the server reports it.

    `ready` is false until the server has answered for the first time.
    """

    pid: int
    began: float
    home: str
    version: str
    ready: bool

    @classmethod
    def of(
        cls, process: psutil.Process, home: ServerHome, version: str, ready: bool
    ) -> "ServerState":
        """The state of a process that runs."""
        return cls(process.pid, process.create_time(), str(home.folder), version, ready)

    @classmethod
    def read(cls, home: ServerHome) -> "ServerState | None":
        """Read the stored state; None where there is no readable one."""
        try:
            return cls(**json.loads((home.folder / "server.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, home: ServerHome) -> None:
        """Store it in a file that only its owner may read."""
        with writing(home.folder, VARIABLE):
            write_private(home.folder / "server.json", json.dumps(asdict(self), indent=1))

    @staticmethod
    def delete(home: ServerHome) -> None:
        """Delete the stored state: no server runs."""
        with writing(home.folder, VARIABLE):
            (home.folder / "server.json").unlink(missing_ok=True)

    def process(self, home: ServerHome) -> psutil.Process | None:
        """Return the process if it still runs and is the server of this home."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.began) < _CLOCK_SECONDS
        except psutil.Error:
            return None
        same = same and self.home == str(home.folder) and serves(process, home)
        return process if same else None


def serves(process: psutil.Process, home: ServerHome) -> bool:
    """Whether a process is a living server of this home, by its command line."""
    try:
        return home_argument(home) in process.cmdline() and not is_gone(process)
    except psutil.Error:
        return False


def find_process(home: ServerHome) -> psutil.Process | None:
    """Return the server process of this home: the stored one, else any on this machine."""
    state = ServerState.read(home)
    stored = state.process(home) if state else None
    return stored or next((one for one in psutil.process_iter() if serves(one, home)), None)


def speaks_bolt(port: int) -> bool:
    """Whether a server speaks Bolt at a loopback port; about a millisecond where it does."""
    try:
        address = LOOPBACK, port
        with socket.create_connection(address, timeout=_HANDSHAKE_SECONDS) as connection:
            connection.sendall(_HANDSHAKE)
            return len(connection.recv(4)) == 4
    except OSError:
        return False


def version_of(access: Access) -> str | None:
    """Return the server's version once it serves queries and the Browser; else None.

    Raises ServerError where the server refuses the password.
    """
    import httpx  # noqa: PLC0415  # 0.2 s, and a server that runs is not asked for its version

    if not speaks_bolt(access.bolt) or not _answers_queries(access):
        return None
    try:
        # No proxy of the environment: the server is on this machine.
        with httpx.Client(trust_env=False, timeout=_QUERY_SECONDS) as client:
            return str(client.get(f"http://{LOOPBACK}:{access.http}/").json()["neo4j_version"])
    except (httpx.HTTPError, ValueError, KeyError):
        return None


def _answers_queries(access: Access) -> bool:
    # Imported here, because the driver takes 0.3 s, and a server that runs is asked nothing.
    from neo4j import GraphDatabase  # noqa: PLC0415
    from neo4j.exceptions import AuthError, DriverError, Neo4jError  # noqa: PLC0415

    driver = GraphDatabase.driver(
        access.uri,
        auth=(access.username, access.password),
        connection_timeout=_QUERY_SECONDS,
        max_transaction_retry_time=_QUERY_SECONDS,
    )
    with driver:
        try:
            driver.execute_query("RETURN 1", database_="neo4j")
        except AuthError:
            raise ServerError(
                "The embedded Neo4j refuses the password in access.json of its folder: put the"
                " file that belongs to the data back, or move the folder away and read the texts"
                " again."
            ) from None
        except (DriverError, Neo4jError):
            return False
    return True
