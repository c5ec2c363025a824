"""The jars of a Neo4j version, ready to run: looked for, completed, and remembered as whole.

They lie in the cache, one folder a version, shared by all homes of the user.

Which jars make a Neo4j: lists that ship with the package. Nothing is fetched here.

A list is a text file with a jar a line: its path in a Maven repository, sha256, size in bytes.

A Maven repository as we use it: where it is, how to ask it, what to say if it is no help.

Fetching many jars at once. It does not know which of them are needed.

Fetching one jar: resumed where it was interrupted, tried again, checked by sha256.
"""

import hashlib
import os
import queue
import shutil
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import certifi
import httpx

from graphreader.errors import DownloadError, ServerError
from graphreader.store.embedded.process import Progress, locked, writing


@dataclass(frozen=True, slots=True)
class Jar:
    """One pinned file of a Maven repository; `size` in bytes."""

    path: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """The file's name, which no two jars of a list share."""
        return self.path.rpartition("/")[2]

    def is_whole(self, file: Path) -> bool:
        """Whether `file` is exactly this jar, by size and checksum."""
        if not file.is_file() or file.stat().st_size != self.size:
            return False
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == self.sha256


def pinned_jars(version: str) -> tuple[Jar, ...]:
    """The jars of a Neo4j version for which a list ships."""
    text = (files(__package__) / f"neo4j-{version}.jars.txt").read_text(encoding="ascii")
    rows = (line.split() for line in text.splitlines())
    return tuple(Jar(path, sha256, int(size)) for path, sha256, size in rows)


try:
    from jgo.constants import MAVEN_CENTRAL_URL
except ImportError:  # where it cannot be installed, a mirror can still be named
    MAVEN_CENTRAL_URL = ""


CONNECTIONS = 16

# Together with the patience of a download this stays under 30 seconds.
_TIMEOUT = httpx.Timeout(8.0, pool=None)


class Repository:
    """A place to fetch jars from. `host` may be shown to people: it holds no password."""

    def __init__(self, address: str, client: httpx.Client) -> None:
        self.client = client
        self.host = _host(address)
        self._address = address.rstrip("/")

    def url(self, path: str) -> str:
        """Where the file at `path` of the repository is fetched from."""
        return f"{self._address}/{path}"

    def unhelpful(self, reason: str) -> DownloadError:
        """The error for a repository that does not answer or lacks something."""
        return _error(self.host, reason)


@contextmanager
def opened(mirror: str | None) -> Iterator[Repository]:
    """The repository at `mirror`, else Maven Central, with connections that close at the end.

    Nothing is asked yet. Raises DownloadError when there is no address, or when the address or
    the proxy that the environment names makes no sense.
    """
    address = mirror or MAVEN_CENTRAL_URL
    if not address:
        raise _error("Maven Central", "the package jgo, which knows its address, is missing")
    if not address.startswith(("https://", "http://")) or not _host(address):
        raise _error(_host(address) or "that address", "it must look like https://HOST/PATH")
    try:
        client = httpx.Client(
            timeout=_TIMEOUT,
            verify=_trusted(),
            follow_redirects=True,
            # Compressed on the way, a file could neither be resumed nor counted.
            headers={"Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=CONNECTIONS),
        )
    except (httpx.InvalidURL, ValueError, ImportError):
        # httpx would repeat the proxy's address, and with it the password in it.
        raise _error(_host(address), "the proxy in the environment cannot be used") from None
    with client:
        yield Repository(address, client)


def _trusted() -> ssl.SSLContext:
    """Whom the system trusts (a company's own proxy, say), and whom httpx trusts by itself."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _host(address: str) -> str:
    try:
        return httpx.URL(address).host
    except httpx.InvalidURL:
        return ""


def _error(host: str, reason: str) -> DownloadError:
    return DownloadError(
        f"The jars of Neo4j cannot be fetched from {host} ({reason}): check the network and its"
        " proxy, set GRAPHREADER_MAVEN_MIRROR to a Maven repository within reach, or set NEO4J_URI"
        " to a Neo4j of your own."
    )


_FRUITLESS_TRIES = 3
_WORTH_ANOTHER_TRY = {408, 425, 429, 500, 502, 503, 504}


class _BrokenOffError(Exception):
    """A transfer that ended early or was put off; trying again may help."""


class Transfer:
    """One jar on its way into `folder`, where it appears under its name only when it is whole.

    Until then it is `NAME.part`, which the next transfer of the same jar resumes. `received`
    counts bytes and may be read by other threads.
    """

    def __init__(self, jar: Jar, folder: Path, repository: Repository) -> None:
        self.jar = jar
        self.received = 0
        self._folder = folder
        self._part = folder / f"{jar.name}.part"
        self._repository = repository

    def run(self, stopped: threading.Event) -> None:
        """Bring the jar, with as many tries as make headway; return early when `stopped`.

        Raises DownloadError when the repository is of no help or sends something else (the jar
        is named), ServerError when the folder cannot be written.
        """
        most, fruitless = 0, 0
        while not stopped.is_set():
            try:
                with writing(self._folder, "GRAPHREADER_CACHE"):
                    self._attempt(stopped)
                return
            except (_BrokenOffError, httpx.HTTPError, httpx.InvalidURL) as error:
                fruitless = 0 if self.received > most else fruitless + 1
                most = max(most, self.received)
                if fruitless >= _FRUITLESS_TRIES:
                    reason = f"{self.jar.name}: {error or type(error).__name__}"
                    raise self._repository.unhelpful(reason) from error
            stopped.wait(0.2 * 2**fruitless)

    def _attempt(self, stopped: threading.Event) -> None:
        resumed = self._usable_part()
        self.received = resumed
        if resumed < self.jar.size:
            self._receive(resumed, stopped)
        if stopped.is_set():
            return
        if self.jar.is_whole(self._part):
            self._part.replace(self._folder / self.jar.name)
            return
        self._part.unlink()
        if resumed:
            # The first half may be from another day or another mirror: once more from the start.
            raise _BrokenOffError("the halves do not fit together")
        raise DownloadError(
            f"{self.jar.name} from {self._repository.host} has the wrong checksum and was thrown"
            " away: try again, or set GRAPHREADER_MAVEN_MIRROR to another Maven repository."
        )

    def _usable_part(self) -> int:
        """How many bytes an earlier transfer has left; what cannot be the beginning goes."""
        size = self._part.stat().st_size if self._part.exists() else 0
        if size > self.jar.size:
            self._part.unlink()
            return 0
        return size

    def _receive(self, start: int, stopped: threading.Event) -> None:
        headers = {"Range": f"bytes={start}-"} if start else {}
        url = self._repository.url(self.jar.path)
        with self._repository.client.stream("GET", url, headers=headers) as response:
            self._check(response)
            appended = _continues_at(response, start)
            self.received = start if appended else 0
            with self._part.open("ab" if appended else "wb") as file:
                for block in response.iter_raw():
                    file.write(block)
                    self.received += len(block)
                    if stopped.is_set() or self.received > self.jar.size:
                        return
        if self.received < self.jar.size:
            raise _BrokenOffError("it ended early")

    def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            self._part.unlink()
            raise _BrokenOffError("there is no such part")
        if status in _WORTH_ANOTHER_TRY:
            raise _BrokenOffError(f"status {status}")
        if status not in (httpx.codes.OK, httpx.codes.PARTIAL_CONTENT):
            raise self._repository.unhelpful(f"{self.jar.name}: status {status}")


def _continues_at(response: httpx.Response, start: int) -> bool:
    """Whether the reply is the rest from `start` on, and not the whole file."""
    if response.status_code != httpx.codes.PARTIAL_CONTENT:
        return False
    if not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
        raise _BrokenOffError("it is another part than the one asked for")
    return True


_PATIENCE = 20.0  # seconds without a byte of any jar


def download(jars: Iterable[Jar], folder: Path, repository: Repository, progress: Progress) -> None:
    """Fetch `jars` into `folder`, which exists, 16 at once, and return when all are there.

    The first failure ends it: DownloadError or ServerError, as `Transfer.run` says, and a
    DownloadError when nothing at all arrives for 20 seconds. What has arrived stays.
    """
    # The largest first, so that none of them is left alone at the end.
    transfers = [
        Transfer(jar, folder, repository) for jar in sorted(jars, key=lambda jar: -jar.size)
    ]
    stopped = threading.Event()
    ended = _start(transfers, stopped)
    try:
        _watch(transfers, ended, repository, progress)
    finally:
        stopped.set()


def _start(
    transfers: list[Transfer], stopped: threading.Event
) -> "queue.SimpleQueue[Exception | None]":
    """Begin the transfers; each puts its failure, or None, into the queue that is returned."""
    waiting: queue.SimpleQueue[Transfer] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
    for transfer in transfers:
        waiting.put(transfer)

    def work() -> None:
        while not stopped.is_set():
            try:
                waiting.get_nowait().run(stopped)
                ended.put(None)
            except queue.Empty:
                return
            except Exception as error:  # whatever it is, the calling thread has to hear of it
                ended.put(error)

    # Daemons, because a name look-up that hangs must not hold up the end of the process.
    for _ in range(min(CONNECTIONS, len(transfers))):
        threading.Thread(target=work, daemon=True).start()
    return ended


def _watch(
    transfers: list[Transfer],
    ended: "queue.SimpleQueue[Exception | None]",
    repository: Repository,
    progress: Progress,
) -> None:
    total = sum(transfer.jar.size for transfer in transfers)
    left, most, since = len(transfers), -1, time.monotonic()
    while left:
        received = sum(transfer.received for transfer in transfers)
        progress("downloading", received, total)
        if received > most:
            most, since = received, time.monotonic()
        if time.monotonic() - since > _PATIENCE:
            raise repository.unhelpful(f"nothing arrived for {_PATIENCE:.0f} seconds")
        try:
            failure = ended.get(timeout=0.1)
        except queue.Empty:
            continue
        if failure:
            raise failure
        left -= 1
    progress("downloading", total, total)


_VARIABLE = "GRAPHREADER_CACHE"
_MARKER = "complete"


def provide_jars(version: str, cache: Path, mirror: str | None, progress: Progress) -> Path:
    """The folder with all jars of `version`; what is missing is fetched first."""
    folder = Path(os.path.expanduser(cache)).resolve() / "neo4j" / version
    complete(pinned_jars(version), folder, mirror, progress)
    return folder


def complete(jars: Iterable[Jar], folder: Path, mirror: str | None, progress: Progress) -> None:
    """Fetch into `folder` those of `jars` that are not there; one process does it for all.

    Checksums are compared once: then a marker file vouches for the list, and sizes for the
    files. Raises DownloadError and ServerError as `download` does.
    """
    jars = tuple(jars)
    if _vouched(jars, folder):
        return
    with writing(folder, _VARIABLE):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, _VARIABLE, progress):
        if not _vouched(jars, folder):
            _fetch_missing(jars, folder, mirror, progress)


def _fetch_missing(
    jars: Iterable[Jar], folder: Path, mirror: str | None, progress: Progress
) -> None:
    missing = [jar for jar in jars if not jar.is_whole(folder / jar.name)]
    if missing:
        _check_room(missing, folder)
        with opened(mirror) as repository:
            download(missing, folder, repository, progress)
    with writing(folder, _VARIABLE):
        (folder / _MARKER).write_text(_digest(jars), encoding="ascii")


def _check_room(missing: Iterable[Jar], folder: Path) -> None:
    """Say at once, not at the last jar, that the disk is too small."""
    needed = sum(jar.size for jar in missing)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ServerError(
            f"{folder} has {free // 10**6} MB of room and Neo4j needs {needed // 10**6} MB:"
            f" make room, or set {_VARIABLE} to a folder on another disk."
        )


def _vouched(jars: Iterable[Jar], folder: Path) -> bool:
    """Whether all jars were checked once and are still there, judged by size."""
    marker = folder / _MARKER
    if not marker.is_file() or marker.read_text(encoding="ascii") != _digest(jars):
        return False
    with os.scandir(folder) as entries:
        sizes = {entry.name: entry.stat().st_size for entry in entries}
    return all(sizes.get(jar.name) == jar.size for jar in jars)


def _digest(jars: Iterable[Jar]) -> str:
    return hashlib.sha256("".join(jar.sha256 for jar in jars).encode("ascii")).hexdigest()
