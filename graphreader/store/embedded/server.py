"""One embedded server for each home: found, started, stopped, however many ask at once.

Which process is our server: remembered in a file, and recognized without trusting the file.

A process is ours when its pid, the time it began and the home on its command line all fit; so a
killed server, a reboot, a pid that went to somebody else and a copied home are all noticed.

Whether a server answers: quickly by a Bolt handshake, properly by a query and over HTTP.
"""

import json
import logging
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import psutil
from neo4j import GraphDatabase
from neo4j.exceptions import AuthError, DriverError, Neo4jError
from pydantic import SecretStr

from graphreader.errors import ServerError
from graphreader.settings import Settings
from graphreader.store.embedded import process as process_module
from graphreader.store.embedded.jars import provide_jars
from graphreader.store.embedded.process import (
    LOOPBACK,
    VARIABLE,
    Access,
    Progress,
    ServerHome,
    home_argument,
    is_gone,
    locked,
    no_progress,
    write_private,
    writing,
)

# The system's answer for one process wavers a little when its clock is set.
_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class State:
    """A server process: `began` in seconds of the epoch, `version` as the server says it.

    `ready` is false until the server has answered for the first time.
    """

    pid: int
    began: float
    home: str
    version: str
    ready: bool

    @classmethod
    def of(cls, process: psutil.Process, home: ServerHome, version: str, ready: bool) -> "State":
        """The state to remember for a process that runs."""
        return cls(process.pid, process.create_time(), str(home.folder), version, ready)

    @classmethod
    def read(cls, home: ServerHome) -> "State | None":
        """What was remembered last; None when that is nothing or cannot be read."""
        try:
            return cls(**json.loads((home.folder / "server.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, home: ServerHome) -> None:
        """Remember it, in a file that only its owner may read."""
        with writing(home.folder, VARIABLE):
            write_private(home.folder / "server.json", json.dumps(asdict(self), indent=1))

    def process(self, home: ServerHome) -> psutil.Process | None:
        """The process, if it still runs and is the server of this home."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.began) < _SECONDS
        except psutil.Error:
            return None
        same = same and self.home == str(home.folder) and serves(process, home)
        return process if same else None


def forget(home: ServerHome) -> None:
    """Remember that no server runs."""
    with writing(home.folder, VARIABLE):
        (home.folder / "server.json").unlink(missing_ok=True)


def serves(process: psutil.Process, home: ServerHome) -> bool:
    """Whether a process is a living server of this home, by its command line."""
    try:
        return home_argument(home) in process.cmdline() and not is_gone(process)
    except psutil.Error:
        return False


def find(home: ServerHome) -> psutil.Process | None:
    """The server process of this home: the remembered one, else any on this machine."""
    state = State.read(home)
    remembered = state.process(home) if state else None
    if remembered:
        return remembered
    return next((one for one in psutil.process_iter() if serves(one, home)), None)


# The magic number of Bolt, then the versions that we would speak: 5.0 to 5.4, or nothing else.
_HANDSHAKE = bytes.fromhex("6060b017") + bytes.fromhex("00040405") + bytes(12)


def shakes_hands(port: int) -> bool:
    """Whether Bolt is spoken at a loopback port. Takes about a millisecond where it is."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=_SECONDS) as connection:
            connection.sendall(_HANDSHAKE)
            return len(connection.recv(4)) == 4
    except OSError:
        return False


def version_of(access: Access) -> str | None:
    """The server's own word on its version, once it serves queries and the Browser; else None.

    Raises ServerError when the password is not the server's.
    """
    if not shakes_hands(access.bolt) or not _answers_queries(access):
        return None
    try:
        # A proxy of the environment has no business between us and our own machine.
        with httpx.Client(trust_env=False, timeout=_SECONDS) as client:
            return str(client.get(f"http://{LOOPBACK}:{access.http}/").json()["neo4j_version"])
    except (httpx.HTTPError, ValueError, KeyError):
        return None


def _answers_queries(access: Access) -> bool:
    driver = GraphDatabase.driver(
        access.uri,
        auth=(access.username, access.password),
        connection_timeout=_SECONDS,
        max_transaction_retry_time=_SECONDS,
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


logger = logging.getLogger("graphreader.store")
_START_SECONDS = 120.0  # usually 5 to 10; a busy machine took 40
_BUSY_SECONDS = 20.0  # for one that has answered before


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers. `uri` is for drivers, `http` for people: the Browser's address root.

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
    """The server of these settings if it runs and answers, in a few milliseconds; else None."""
    home = ServerHome.of(settings)
    access, known = home.access(), State.read(home)
    if not access or not known or not known.ready or not known.process(home):
        return None
    return _described(home, access, known) if shakes_hands(access.bolt) else None


def ensure_running(settings: Settings, progress: Progress | None = None) -> RunningServer:
    """The server of these settings, started when it does not run.

    The first time it fetches about 170 MB of jars; a start takes 5 to 10 seconds and is done by
    one process however many ask. Raises DownloadError when the jars cannot be had, ServerError
    when the server does not come up (with the end of its log) or a folder cannot be written.
    """
    tell = progress or no_progress
    home = ServerHome.of(settings)
    server = running(settings)
    if server:
        return server
    home.make()
    with locked(home.folder, VARIABLE, tell):
        return running(settings) or _taken_over(home, tell) or _started(home, settings, tell)


def stop(settings: Settings) -> bool:
    """Stop the server of these settings; False when there was none.

    A command that is starting it is waited for.
    """
    home = ServerHome.of(settings)
    if not home.folder.exists():
        return False
    with locked(home.folder, VARIABLE, no_progress):
        found = find(home)
        if found:
            process_module.end(found)
            logger.info("The embedded Neo4j (process %d) was stopped", found.pid)
        forget(home)
        return found is not None


def _taken_over(home: ServerHome, tell: Progress) -> RunningServer | None:
    """A server that runs already: still starting, too busy to answer, or its state is lost."""
    found, access = find(home), home.access()
    if not found:
        return None
    if not access:
        # Nobody knows its password any more.
        process_module.end(found)
        return None
    known = State.read(home)
    seconds = _BUSY_SECONDS if known and known.ready and known.process(home) else _START_SECONDS
    return _awaited(found, home, access, tell, found.create_time(), seconds)


def _started(home: ServerHome, settings: Settings, tell: Progress) -> RunningServer:
    process_module.java()
    jars = provide_jars(home.version, settings.cache, settings.maven_mirror, tell)
    access = home.make_access()
    home.configure(access, settings)
    if not home.has_data:
        tell("preparing", 0, None)
        process_module.set_password(home, jars, access)
    since = time.time() - 0.1  # the clock of files lags a little
    child = process_module.launch(home, jars, settings)
    logger.info("The embedded Neo4j %s starts (process %d)", home.version, child.pid)
    try:
        State.of(child, home, home.version, ready=False).write(home)
        return _awaited(child, home, access, tell, since)
    except BaseException:
        # Also when the person has pressed Ctrl-C: who gives up on a start wants no server.
        process_module.end(child)
        forget(home)
        raise


def _awaited(
    child: psutil.Process,
    home: ServerHome,
    access: Access,
    tell: Progress,
    since: float,
    seconds: float = _START_SECONDS,
) -> RunningServer:
    """Wait until the server answers, and remember it as ready."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        tell("starting", 0, None)
        if process_module.is_gone(child):
            raise ServerError(
                f"Neo4j ended while it was starting. The end of its log in {home.logs}:\n"
                + process_module.last_words(home, since)
            )
        version = version_of(access)
        if version:
            known = State.of(child, home, version, ready=True)
            known.write(home)
            logger.info("The embedded Neo4j (process %d) answers at %s", child.pid, access.uri)
            return _described(home, access, known)
        time.sleep(0.1)
    raise ServerError(
        f"Neo4j (process {child.pid}) runs but has not answered for {seconds:.0f} seconds: run"
        f" `graphreader neo4j stop` and try again. The end of its log in {home.logs}:\n"
        + process_module.last_words(home, since)
    )


def _described(home: ServerHome, access: Access, known: State) -> RunningServer:
    return RunningServer(
        uri=access.uri,
        username=access.username,
        password=SecretStr(access.password),
        http=f"http://{LOOPBACK}:{access.http}",
        version=known.version,
        pid=known.pid,
        home=home.folder,
    )
