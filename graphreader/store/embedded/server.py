"""One embedded server for each home: found, started, stopped, however many ask at once."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from pydantic import SecretStr

from graphreader.errors import ServerError
from graphreader.settings import Settings
from graphreader.store.embedded import process, state
from graphreader.store.embedded.answering import shakes_hands, version_of
from graphreader.store.embedded.folders import locked
from graphreader.store.embedded.home import LOOPBACK, VARIABLE, Access, Home
from graphreader.store.embedded.jars import provide_jars
from graphreader.store.embedded.progress import Progress, silent
from graphreader.store.embedded.state import State

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
    home = Home.of(settings)
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
    tell = progress or silent
    home = Home.of(settings)
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
    home = Home.of(settings)
    if not home.folder.exists():
        return False
    with locked(home.folder, VARIABLE, silent):
        found = state.find(home)
        if found:
            process.end(found)
            logger.info("The embedded Neo4j (process %d) was stopped", found.pid)
        state.forget(home)
        return found is not None


def _taken_over(home: Home, tell: Progress) -> RunningServer | None:
    """A server that runs already: still starting, too busy to answer, or its state is lost."""
    found, access = state.find(home), home.access()
    if not found:
        return None
    if not access:
        # Nobody knows its password any more.
        process.end(found)
        return None
    known = State.read(home)
    seconds = _BUSY_SECONDS if known and known.ready and known.process(home) else _START_SECONDS
    return _awaited(found, home, access, tell, found.create_time(), seconds)


def _started(home: Home, settings: Settings, tell: Progress) -> RunningServer:
    process.java()
    jars = provide_jars(home.version, settings.cache, settings.maven_mirror, tell)
    access = home.make_access()
    home.configure(access, settings)
    if not home.has_data:
        tell("preparing", 0, None)
        process.set_password(home, jars, access)
    since = time.time() - 0.1  # the clock of files lags a little
    child = process.launch(home, jars, settings)
    logger.info("The embedded Neo4j %s starts (process %d)", home.version, child.pid)
    try:
        State.of(child, home, home.version, ready=False).write(home)
        return _awaited(child, home, access, tell, since)
    except BaseException:
        # Also when the person has pressed Ctrl-C: who gives up on a start wants no server.
        process.end(child)
        state.forget(home)
        raise


def _awaited(
    child: psutil.Process,
    home: Home,
    access: Access,
    tell: Progress,
    since: float,
    seconds: float = _START_SECONDS,
) -> RunningServer:
    """Wait until the server answers, and remember it as ready."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        tell("starting", 0, None)
        if state.is_gone(child):
            raise ServerError(
                f"Neo4j ended while it was starting. The end of its log in {home.logs}:\n"
                + process.last_words(home, since)
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
        + process.last_words(home, since)
    )


def _described(home: Home, access: Access, known: State) -> RunningServer:
    return RunningServer(
        uri=access.uri,
        username=access.username,
        password=SecretStr(access.password),
        http=f"http://{LOOPBACK}:{access.http}",
        version=known.version,
        pid=known.pid,
        home=home.folder,
    )
