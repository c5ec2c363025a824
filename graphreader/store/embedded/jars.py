"""The jars of a Neo4j version: fetches what is missing into the cache, and checks every jar once.

Pinned lists ship with the package, one line a jar: its path in a Maven repository, sha256, size in
bytes. The jars of a version lie in one folder of the cache, which all homes of the user share.
Downloads run 16 at once, resume where they were interrupted, and are tried again.
"""

import hashlib
import os
import queue
import shutil
import ssl
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import certifi
import httpx

from graphreader.errors import DownloadError, ServerError
from graphreader.store.embedded.process import Progress, lock_folder, writing

_VARIABLE = "GRAPHREADER_CACHE"
_MARKER = "complete"
_CONNECTIONS = 16
_REQUEST_TIMEOUT = httpx.Timeout(8.0, pool=None)  # with _PATIENCE less than 30 seconds
_PATIENCE = 20.0  # seconds without a byte of any jar
_TRIES_WITHOUT_PROGRESS = 3
_RETRIED_STATUSES = {408, 425, 429, 500, 502, 503, 504}


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

    def matches(self, file: Path) -> bool:
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


def provide_jars(version: str, cache: Path, mirror: str | None, progress: Progress) -> Path:
    """Return the folder with all jars of `version`, after fetching those that are missing."""
    folder = Path(os.path.expanduser(cache)).resolve() / "neo4j" / version
    complete(pinned_jars(version), folder, mirror, progress)
    return folder


def complete(jars: Iterable[Jar], folder: Path, mirror: str | None, progress: Progress) -> None:
    """Fetch the missing ones of `jars` into `folder`; one process does it for all that wait.

    They come from the Maven repository `mirror`, else from Maven Central. Checksums are compared
    once: then a marker file vouches for the list, and sizes for the files. Raises DownloadError
    where the repository is of no help, ServerError where the folder cannot be written.
    """
    jars = tuple(jars)
    if _is_complete(jars, folder):
        return
    with writing(folder, _VARIABLE):
        folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder, _VARIABLE, progress):
        if _is_complete(jars, folder):
            return
        missing = [jar for jar in jars if not jar.matches(folder / jar.name)]
        needed, free = sum(jar.size for jar in missing), shutil.disk_usage(folder).free
        if needed > free:
            raise ServerError(
                f"{folder} has {free // 10**6} MB of room and Neo4j needs {needed // 10**6} MB:"
                f" make room, or set {_VARIABLE} to a folder on another disk."
            )
        if missing:
            with _open_client(mirror or _maven_central()) as client:
                _download(missing, folder, client, progress)
        with writing(folder, _VARIABLE):
            (folder / _MARKER).write_text(_digest(jars), encoding="ascii")


def _is_complete(jars: Iterable[Jar], folder: Path) -> bool:
    """Whether all jars were checked once and still exist, judged by size."""
    marker = folder / _MARKER
    if not marker.is_file() or marker.read_text(encoding="ascii") != _digest(jars):
        return False
    with os.scandir(folder) as entries:
        sizes = {entry.name: entry.stat().st_size for entry in entries}
    return all(sizes.get(jar.name) == jar.size for jar in jars)


def _digest(jars: Iterable[Jar]) -> str:
    return hashlib.sha256("".join(jar.sha256 for jar in jars).encode("ascii")).hexdigest()


def _maven_central() -> str:
    """Return the address of Maven Central, "" where the package jgo is not installed.

    The package is imported here because that takes 0.2 s, and most starts fetch nothing.
    """
    try:
        return str(import_module("jgo.constants").MAVEN_CENTRAL_URL)
    except ImportError:
        return ""


def _open_client(address: str) -> httpx.Client:
    """Return a client of the Maven repository at an address.

    Raises DownloadError where the address or the proxy of the environment cannot be used.
    """
    if not address:
        raise _no_help("Maven Central", "the package jgo, which knows its address, is missing")
    try:
        host = httpx.URL(address).host
    except httpx.InvalidURL:
        host = ""
    if not address.startswith(("https://", "http://")) or not host:
        raise _no_help(host or "that address", "it must look like https://HOST/PATH")
    # Trust what the system trusts (a company's own proxy, say) and what httpx trusts by itself.
    trusted = ssl.create_default_context()
    trusted.load_verify_locations(certifi.where())
    try:
        return httpx.Client(
            base_url=address,
            timeout=_REQUEST_TIMEOUT,
            verify=trusted,
            follow_redirects=True,
            # A compressed transfer could neither be resumed nor counted.
            headers={"Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=_CONNECTIONS),
        )
    except (httpx.InvalidURL, ValueError, ImportError):
        # httpx would repeat the proxy's address, and with it the password in it.
        raise _no_help(host, "the proxy in the environment cannot be used") from None


def _no_help(host: str, reason: str) -> DownloadError:
    return DownloadError(
        f"The jars of Neo4j cannot be fetched from {host} ({reason}): check the network and its"
        " proxy, set GRAPHREADER_MAVEN_MIRROR to a Maven repository within reach, or set NEO4J_URI"
        " to a Neo4j of your own."
    )


def _download(jars: Iterable[Jar], folder: Path, client: httpx.Client, progress: Progress) -> None:
    """Fetch `jars` into `folder`, 16 at once, and return when all have arrived.

    The first failure ends it, and so does a silence of 20 seconds. Complete jars and the parts of
    others stay.
    """
    # The largest first, so that none of them is left alone at the end.
    transfers = [_Transfer(jar, folder, client) for jar in sorted(jars, key=lambda j: -j.size)]
    waiting: queue.SimpleQueue[_Transfer] = queue.SimpleQueue()
    results: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
    for transfer in transfers:
        waiting.put(transfer)
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                waiting.get_nowait().run(stopped)
                results.put(None)
            except queue.Empty:
                return
            except Exception as error:  # the calling thread raises it
                results.put(error)

    # Daemons, because a name look-up that hangs must not hold up the end of the process.
    for _ in range(min(_CONNECTIONS, len(transfers))):
        threading.Thread(target=work, daemon=True).start()
    total, left, most, since = sum(t.jar.size for t in transfers), len(transfers), -1, 0.0
    try:
        while left:
            received = sum(transfer.received for transfer in transfers)
            progress("downloading", received, total)
            if received > most:
                most, since = received, time.monotonic()
            if time.monotonic() - since > _PATIENCE:
                reason = f"nothing arrived for {_PATIENCE:.0f} seconds"
                raise _no_help(client.base_url.host, reason)
            try:
                failure = results.get(timeout=0.1)
            except queue.Empty:
                continue
            if failure:
                raise failure
            left -= 1
    finally:
        stopped.set()
    progress("downloading", total, total)


class _InterruptedError(Exception):
    """A transfer that ended early or was put off; another try may help."""


class _Transfer:
    """The download of one jar into `folder`, where it gets its name only when it is whole.

    Until then it is `NAME.part`, which the next transfer of the same jar resumes. `received`
    counts bytes; other threads may read it.
    """

    def __init__(self, jar: Jar, folder: Path, client: httpx.Client) -> None:
        self.jar = jar
        self.received = 0
        self._folder = folder
        self._part = folder / f"{jar.name}.part"
        self._client = client

    def run(self, stopped: threading.Event) -> None:
        """Fetch the jar, with tries as long as they make progress; return early when `stopped`."""
        most, fruitless = 0, 0
        while not stopped.is_set():
            try:
                with writing(self._folder, _VARIABLE):
                    self._attempt(stopped)
                return
            except (_InterruptedError, httpx.HTTPError, httpx.InvalidURL) as error:
                fruitless = 0 if self.received > most else fruitless + 1
                most = max(most, self.received)
                if fruitless >= _TRIES_WITHOUT_PROGRESS:
                    raise self._failure(str(error) or type(error).__name__) from error
            stopped.wait(0.2 * 2**fruitless)

    def _attempt(self, stopped: threading.Event) -> None:
        start = self._part.stat().st_size if self._part.exists() else 0
        if start > self.jar.size:
            self._part.unlink()
            start = 0
        self.received = start
        if start < self.jar.size:
            self._receive(start, stopped)
        if stopped.is_set():
            return
        if self.jar.matches(self._part):
            self._part.replace(self._folder / self.jar.name)
            return
        self._part.unlink()
        if start:
            # The first part may be from another day or another mirror: once more from byte 0.
            raise _InterruptedError("its parts do not fit together")
        raise DownloadError(
            f"{self.jar.name} from {self._client.base_url.host} has the wrong checksum and was"
            " thrown away: try again, or set GRAPHREADER_MAVEN_MIRROR to another Maven repository."
        )

    def _receive(self, start: int, stopped: threading.Event) -> None:
        """Append the bytes from `start` on; write the file anew where the reply is all of it."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        with self._client.stream("GET", self.jar.path, headers=headers) as response:
            appended = self._is_rest(response, start)
            self.received = start if appended else 0
            with self._part.open("ab" if appended else "wb") as file:
                for block in response.iter_raw():
                    file.write(block)
                    self.received += len(block)
                    if stopped.is_set() or self.received > self.jar.size:
                        return
        if self.received < self.jar.size:
            raise _InterruptedError("it ended early")

    def _is_rest(self, response: httpx.Response, start: int) -> bool:
        """Whether the reply is the rest from `start` on, and not the whole file."""
        match response.status_code:
            case httpx.codes.OK:
                return False
            case httpx.codes.PARTIAL_CONTENT:
                if response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                    return True
                raise _InterruptedError("it is another part than the one asked for")
            case httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                self._part.unlink()
                raise _InterruptedError("there is no such part")
            case status if status in _RETRIED_STATUSES:
                raise _InterruptedError(f"status {status}")
            case status:
                raise self._failure(f"status {status}")

    def _failure(self, reason: str) -> DownloadError:
        return _no_help(self._client.base_url.host, f"{self.jar.name}: {reason}")
