"""Fetching one jar: resumed where it was interrupted, tried again, checked by sha256."""

import threading
from pathlib import Path

import httpx

from graphreader.errors import DownloadError
from graphreader.store.embedded.folders import writing
from graphreader.store.embedded.pinned import Jar
from graphreader.store.embedded.repository import Repository

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
