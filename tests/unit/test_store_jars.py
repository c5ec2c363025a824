"""The embedded server without a server: its jars, and its folder and state."""

import hashlib
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, NoReturn, get_args

import psutil
import pytest

from graphreader.errors import DownloadError, ServerError
from graphreader.settings import Settings
from graphreader.store.embedded import jars as jars_module
from graphreader.store.embedded import server as embedded
from graphreader.store.embedded.jars import Jar, complete, pinned_jars, provide_jars
from graphreader.store.embedded.process import (
    Access,
    ServerHome,
    end,
    launch,
    no_progress,
    set_password,
)


class Repository(ThreadingHTTPServer):
    """A Maven repository of a few files that can be told to misbehave, and remembers requests."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.asked: list[tuple[str, str | None]] = []
        self.breaks_once_after: dict[str, int] = {}
        self.statuses_first: dict[str, list[int]] = {}
        self.knows_ranges = True
        self.answers = threading.Event()
        self.answers.set()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that hangs up early is what some tests are about."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/maven"


class _Handler(BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        self.server.answers.wait(5)
        path = self.path.removeprefix("/maven/")
        asked = self.headers["Range"]
        self.server.asked.append((path, asked))
        statuses = self.server.statuses_first.get(path)
        if statuses or path not in self.server.files:
            self.send_response(statuses.pop(0) if statuses else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = self.server.files[path]
        start = int(asked[len("bytes=") : -1]) if asked and self.server.knows_ranges else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        limit = self.server.breaks_once_after.pop(path, len(body))
        self.wfile.write(body[start:limit])
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


FILES = {
    f"org/neo4j/{name}/1/{name}-1.jar": name.encode() * size
    for name, size in (("kernel", 60_000), ("bolt", 9_000), ("browser", 20_000), ("cypher", 1))
}
KERNEL = "org/neo4j/kernel/1/kernel-1.jar"
JARS = tuple(Jar(path, hashlib.sha256(body).hexdigest(), len(body)) for path, body in FILES.items())
KERNEL_JAR = JARS[0]


@pytest.fixture
def repository() -> Iterator[Repository]:
    with Repository(dict(FILES)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.answers.set()
        server.shutdown()
        thread.join()


WHOLE = {path.rpartition("/")[2]: body for path, body in FILES.items()}
Note = Callable[[str, int, int | None], None]


def fetch(folder: Path, repository: Repository, note: Note = no_progress) -> list[str | None]:
    """Fetch all jars, check that they are whole, return the ranges asked for of the kernel."""
    repository.asked.clear()
    complete(JARS, folder, repository.address, note)
    assert {file.name: file.read_bytes() for file in folder.glob("*.jar*")} == WHOLE
    return [ranged for path, ranged in repository.asked if path == KERNEL]


# All jars of a list arrive whole from the mirror that the setting names, each asked for once; a
# second call asks for nothing, also when nobody is there to ask.
def test_fetches_each_jar_once(repository: Repository, tmp_path: Path) -> None:
    fetch(tmp_path / "jars", repository)
    asked = sorted(repository.asked)
    again = fetch(tmp_path / "jars", repository)
    complete(JARS, tmp_path / "jars", "http://127.0.0.1:9", no_progress)

    assert asked == sorted((path, None) for path in FILES)
    assert again == repository.asked == []


def alter(jar: Path) -> None:
    """Change the bytes of a file a second after it was checked; the size stays."""
    now = jar.stat().st_mtime_ns
    jar.write_bytes(bytes(jar.stat().st_size))
    os.utime(jar, ns=(now, now + 10**9))


# A jar that went missing, was cut short, or changed after it was checked is fetched alone.
@pytest.mark.parametrize("damage", [Path.unlink, lambda jar: jar.write_bytes(b"half"), alter])
def test_fetches_only_what_is_missing(
    repository: Repository, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    fetch(tmp_path, repository)
    damage(tmp_path / "kernel-1.jar")
    fetch(tmp_path, repository)

    assert repository.asked == [(KERNEL, None)]


# What an ended download has left of a jar is resumed at its byte; a part that is whole needs no
# request, one that does not fit (other bytes, too long) costs a new beginning and no error.
@pytest.mark.parametrize(
    ("part", "asked"),
    [
        (FILES[KERNEL][:123_456], ["bytes=123456-"]),
        (FILES[KERNEL], []),
        (b"x" * 1_000, ["bytes=1000-", None]),
        (b"x" * KERNEL_JAR.size, [None]),
        (b"x" * (KERNEL_JAR.size + 5), [None]),
    ],
    ids=["half", "whole", "other bytes", "whole of other bytes", "too long"],
)
def test_parts_are_resumed(
    repository: Repository, tmp_path: Path, part: bytes, asked: list[str | None]
) -> None:
    (tmp_path / "kernel-1.jar.part").write_bytes(part)

    assert fetch(tmp_path, repository) == asked


# A connection that breaks in the middle is taken up where it broke, a busy repository is asked
# again, and one that knows no ranges may send the whole file.
def test_unreliable_repository(repository: Repository, tmp_path: Path) -> None:
    repository.breaks_once_after[KERNEL] = 200_000
    _, ranged = fetch(tmp_path / "broken", repository)
    repository.statuses_first[KERNEL] = [503, 429]
    busy = fetch(tmp_path / "busy", repository)
    repository.knows_ranges = False
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "kernel-1.jar.part").write_bytes(FILES[KERNEL][:1000])
    whole = fetch(tmp_path / "whole", repository)

    assert ranged
    assert 0 < int(ranged.removeprefix("bytes=").rstrip("-")) <= 200_000
    assert busy == [None] * 3
    assert whole == ["bytes=1000-"]


# Several callers at once fetch each jar once between them.
def test_callers_at_once_share_the_work(repository: Repository, tmp_path: Path) -> None:
    repository.answers.clear()
    waited = threading.Event()

    def note(phase: str, done: int, total: int | None) -> None:
        if phase == "waiting":
            waited.set()

    callers = [
        threading.Thread(target=complete, args=(JARS, tmp_path, repository.address, note))
        for _ in range(3)
    ]
    for caller in callers:
        caller.start()
    is_said = waited.wait(5)
    repository.answers.set()
    for caller in callers:
        caller.join()

    assert is_said
    assert sorted(repository.asked) == sorted((path, None) for path in FILES)


# A jar with the wrong checksum is an error that names it, and is not kept; what is much longer than
# the jar (a login page, say) is not read to its end.
@pytest.mark.parametrize("longer", [0, 10_000_000])
def test_wrong_checksum_names_the_jar(repository: Repository, tmp_path: Path, longer: int) -> None:
    repository.files[KERNEL] = b"x" * (KERNEL_JAR.size + longer)

    with pytest.raises(DownloadError, match=r"^kernel-1\.jar from 127\.0\.0\.1 has the wrong"):
        complete(JARS, tmp_path, repository.address, no_progress)
    assert not list(tmp_path.glob("kernel*"))


# A repository that lacks a jar, or wants a login, is refused at once with the jar and the settings.
@pytest.mark.parametrize("status", [401, 404])
def test_refusal_names_jar_and_remedy(repository: Repository, tmp_path: Path, status: int) -> None:
    repository.statuses_first[KERNEL] = [status]

    with pytest.raises(DownloadError, match=rf"kernel-1.jar.*{status}.*GRAPHREADER_MAVEN_MIRROR"):
        complete(JARS, tmp_path, repository.address, no_progress)
    assert [path for path, _ in repository.asked].count(KERNEL) == 1


# An address or a proxy that cannot be used is an error that says what to do, without the password.
@pytest.mark.parametrize(
    ("address", "proxy"),
    [
        ("http://me:secret@127.0.0.1:9/x", None),
        ("ftp://me:secret@127.0.0.1/x", None),
        ("http://me:secret@[::1/x", None),
        ("http://127.0.0.1:9/x", "gopher://me:secret@127.0.0.1:9"),
    ],
)
def test_unusable_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, proxy: str | None
) -> None:
    if proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)

    with pytest.raises(DownloadError, match=r"proxy.*GRAPHREADER_MAVEN_MIRROR") as caught:
        complete(JARS, tmp_path, address, no_progress)
    assert "secret" not in str(caught.value)


# A repository that takes connections and never answers is given up.
def test_silent_repository_is_given_up(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars_module, "_PATIENCE", 0.3)
    repository.answers.clear()

    with pytest.raises(DownloadError, match="nothing arrived"):
        complete(JARS, tmp_path, repository.address, no_progress)


# Progress counts bytes up to the sum of the pinned sizes. What it raises ends the download and
# reaches the caller: this is how Ctrl-C gets in.
def test_progress(repository: Repository, tmp_path: Path) -> None:
    notes: list[tuple[str, int, int | None]] = []
    fetch(tmp_path / "whole", repository, lambda *note: notes.append(note))
    repository.answers.clear()

    def interrupt(phase: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    size = sum(jar.size for jar in JARS)
    assert notes[-1] == ("downloading", size, size)
    assert {(phase, total) for phase, _, total in notes} == {("downloading", size)}
    assert [done for _, done, _ in notes] == sorted(done for _, done, _ in notes)
    with pytest.raises(KeyboardInterrupt):
        complete(JARS, tmp_path, repository.address, interrupt)


# A cache that cannot be written is an error that names the folder and the setting.
def test_no_room(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ServerError, match=r"file/jars cannot be written.*GRAPHREADER_CACHE"):
        complete(JARS, tmp_path / "file" / "jars", repository.address, no_progress)
    assert repository.asked == []


# A cache whose name Java would take for several folders is refused before anything is fetched.
def test_several_folders(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="set GRAPHREADER_CACHE to another folder"):
        provide_jars("2026.08.1", tmp_path / f"a{os.pathsep}b", repository.address, no_progress)
    assert repository.asked == []


# Each version that the setting allows has a list with Neo4j's kernel and Browser, no name twice.
@pytest.mark.parametrize("version", get_args(Settings.model_fields["neo4j_version"].annotation))
def test_pinned_lists(version: str) -> None:
    jars = pinned_jars(version)

    names = [jar.name for jar in jars]
    assert len(names) == len(set(names)) > 200
    assert f"neo4j-kernel-{version}.jar" in names
    assert any(name.startswith("neo4j-browser-") for name in names)
    assert all(len(bytes.fromhex(jar.sha256)) == 32 and jar.size > 0 for jar in jars)


# A program that took the port, or a server that is coming up, may answer anything.
@pytest.mark.parametrize(
    ("reply", "version"),
    [
        ('{"neo4j_version": "5.26.30"}', "5.26.30"),
        *((reply, None) for reply in ("", "null", "[]", "{}")),
    ],
)
def test_replies(reply: str, version: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(reply.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    monkeypatch.setattr(embedded, "_speaks_bolt", lambda port: True)
    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.handle_request)
        thread.start()
        access = Access(1, http.server_port, "neo4j", "secret")
        answered = embedded._answered_version(access)
        thread.join()

    assert answered == version


# Java that does not start or end is an error that says what to do.
@pytest.mark.parametrize(
    "failure", [OSError(8, "Exec format error"), subprocess.TimeoutExpired("java", 300)]
)
def test_failing_java(failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise failure

    home = ServerHome(tmp_path, "2026.08.1")
    home.logs.mkdir()
    monkeypatch.setattr(subprocess, "run", fail)
    monkeypatch.setattr(subprocess, "Popen", fail)

    with pytest.raises(ServerError, match="set NEO4J_URI to a Neo4j of your own"):
        set_password(home, tmp_path, Access(1, 2, "neo4j", "secret"))
    with pytest.raises(ServerError, match="set NEO4J_URI to a Neo4j of your own"):
        launch(home, tmp_path, Settings.read())


# So is a server that only another user may end.
def test_foreign_server() -> None:
    def refuse() -> NoReturn:
        raise psutil.AccessDenied(7)

    process: Any = SimpleNamespace(pid=7, terminate=refuse, kill=refuse)
    with pytest.raises(ServerError, match=r"process 7.*set NEO4J_URI to a Neo4j of your own"):
        end(process)
