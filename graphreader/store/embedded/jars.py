"""The jars of a Neo4j version: download of missing jars into the cache, with one check of each.

Pinned lists ship with the package. Downloads run 16 at once and resume where they were interrupted.
"""

import hashlib
import os
import ssl
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
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
    """A pinned file of a Maven repository; `size` in bytes."""

    path: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """The file's name, unique in a list of jars."""
        return self.path.rpartition("/")[2]

    def matches(self, file: Path) -> bool:
        """Whether `file` is exactly this jar, by size and checksum."""
        if _size(file) != self.size:
            return False
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == self.sha256


def pinned_jars(version: str) -> tuple[Jar, ...]:
    """The pinned jars of a Neo4j version whose list ships with the package."""
    text = (files(__package__) / f"neo4j-{version}.jars.txt").read_text(encoding="ascii")
    rows = (line.split() for line in text.splitlines())
    return tuple(Jar(path, sha256, int(size)) for path, sha256, size in rows)


def provide_jars(version: str, cache: Path, mirror: str | None, progress: Progress) -> Path:
    """Return the folder with all jars of `version`; fetch missing jars. Raises ServerError."""
    folder = Path(os.path.expanduser(cache)).resolve() / "neo4j" / version
    if os.pathsep in str(folder):
        raise ServerError(
            f'Java cannot read jars in {folder}, because there is a "{os.pathsep}" in its name: set'
            f" {_VARIABLE} to another folder."
        )
    complete(pinned_jars(version), folder, mirror, progress)
    return folder


def complete(jars: Sequence[Jar], folder: Path, mirror: str | None, progress: Progress) -> None:
    """Fetch missing jars into `folder`; other processes wait for the process that fetches.

    Checksums are compared once; afterwards a marker file vouches for all files older than itself.
    Raises DownloadError and ServerError.
    """
    if _is_complete(jars, folder):
        return
    with writing(folder, _VARIABLE):
        folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder, _VARIABLE, progress):
        if _is_complete(jars, folder):
            return
        missing = [jar for jar in jars if not jar.matches(folder / jar.name)]
        if missing:
            # The package jgo knows the address of Maven Central; its import takes 0.2 s.
            address = mirror or str(import_module("jgo.constants").MAVEN_CENTRAL_URL)
            with _open_client(address) as client:
                _download(missing, folder, client, progress)
        with writing(folder, _VARIABLE):
            (folder / _MARKER).write_text(_digest(jars), encoding="ascii")


def _is_complete(jars: Sequence[Jar], folder: Path) -> bool:
    """Whether all jars were checked once, and have their sizes and no later change."""
    marker = folder / _MARKER
    if not marker.is_file() or marker.read_text(encoding="ascii") != _digest(jars):
        return False
    checked, paths = marker.stat().st_mtime_ns, [folder / jar.name for jar in jars]
    return all(
        _size(path) == jar.size and path.stat().st_mtime_ns <= checked
        for path, jar in zip(paths, jars, strict=True)
    )


def _digest(jars: Sequence[Jar]) -> str:
    return hashlib.sha256("".join(jar.sha256 for jar in jars).encode("ascii")).hexdigest()


def _open_client(address: str) -> httpx.Client:
    # Trust the system's certificates (a company's proxy, say) and httpx's own.
    trusted = ssl.create_default_context()
    trusted.load_verify_locations(certifi.where())
    try:
        return httpx.Client(
            base_url=address,
            timeout=_REQUEST_TIMEOUT,
            verify=trusted,
            follow_redirects=True,
            # A compressed transfer could not be resumed or counted.
            headers={"Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=_CONNECTIONS),
        )
    except (httpx.InvalidURL, ValueError, ImportError):
        # httpx would repeat the address with the password in it.
        raise _no_help("that address", "it, or the proxy in the environment, is none") from None


def _no_help(host: str, reason: str) -> DownloadError:
    return DownloadError(
        f"The jars of Neo4j cannot be fetched from {host} ({reason}): check the network and its"
        " proxy, set GRAPHREADER_MAVEN_MIRROR to a Maven repository within reach, or set NEO4J_URI"
        " to a Neo4j of your own."
    )


def _download(jars: Sequence[Jar], folder: Path, client: httpx.Client, progress: Progress) -> None:
    """Fetch `jars` into `folder`, 16 at once; the first failure or 20 s of silence ends it."""
    stopped = threading.Event()
    pool = ThreadPoolExecutor(_CONNECTIONS)
    large_first = sorted(jars, key=lambda jar: -jar.size)
    jobs = [pool.submit(_fetch, jar, folder, client, stopped) for jar in large_first]
    total, most, since = sum(jar.size for jar in jars), 0, time.monotonic()
    try:
        left = set(jobs)
        while left:
            done, left = wait(jobs, timeout=0.1, return_when=FIRST_EXCEPTION)
            for job in done:
                job.result()  # raises its failure
            received = sum(_size(_part(jar, folder)) or _size(folder / jar.name) for jar in jars)
            if received > most:
                most, since = received, time.monotonic()
            progress("downloading", min(most, total), total)
            if time.monotonic() - since > _PATIENCE:
                raise _no_help(client.base_url.host, f"nothing arrived for {_PATIENCE:.0f} seconds")
    finally:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)


def _part(jar: Jar, folder: Path) -> Path:
    """The file of an incomplete jar, which the next try resumes."""
    return folder / f"{jar.name}.part"


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


class _InterruptedError(Exception):
    """A transfer that ended early or was delayed; another try may help."""


def _fetch(jar: Jar, folder: Path, client: httpx.Client, stopped: threading.Event) -> None:
    """Fetch a jar, with retries while they make progress; return early when `stopped`."""
    part, host = _part(jar, folder), client.base_url.host
    most, fruitless = _size(part), 0
    while not stopped.is_set():
        start = _size(part)
        try:
            with writing(folder, _VARIABLE):
                if start < jar.size:
                    _receive(jar, part, start, client, stopped)
                if stopped.is_set():
                    return
                if jar.matches(part):
                    part.replace(folder / jar.name)
                    return
                part.unlink()
        except (_InterruptedError, httpx.HTTPError, httpx.InvalidURL) as error:
            fruitless = 0 if _size(part) > most else fruitless + 1
            if fruitless >= _TRIES_WITHOUT_PROGRESS:
                reason = str(error) or type(error).__name__
                raise _no_help(host, f"{jar.name}: {reason}") from error
            most = max(most, _size(part))
            stopped.wait(0.2 * 2**fruitless)
            continue
        if not start:
            raise DownloadError(
                f"{jar.name} from {host} has the wrong checksum and was thrown away: try again, or"
                " set GRAPHREADER_MAVEN_MIRROR to another Maven repository."
            )
        # The first part is from another day or mirror: start again at byte 0.


def _receive(
    jar: Jar, part: Path, start: int, client: httpx.Client, stopped: threading.Event
) -> None:
    """Append the bytes from `start` on; rewrite the file if the reply is the whole file."""
    headers = {"Range": f"bytes={start}-"} if start else {}
    with client.stream("GET", jar.path, headers=headers) as response:
        status = response.status_code
        if status in _RETRIED_STATUSES:
            raise _InterruptedError(f"status {status}")
        if status not in (httpx.codes.OK, httpx.codes.PARTIAL_CONTENT):
            raise _no_help(client.base_url.host, f"{jar.name}: status {status}")
        with part.open("ab" if status == httpx.codes.PARTIAL_CONTENT else "wb") as file:
            for block in response.iter_raw():
                file.write(block)
                if stopped.is_set() or file.tell() > jar.size:
                    return
    if _size(part) < jar.size:
        raise _InterruptedError("it ended early")
