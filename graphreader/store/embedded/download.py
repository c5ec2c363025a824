"""Fetching many jars at once. It does not know which of them are needed."""

import queue
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from graphreader.store.embedded.pinned import Jar
from graphreader.store.embedded.progress import Progress
from graphreader.store.embedded.repository import CONNECTIONS, Repository
from graphreader.store.embedded.transfer import Transfer

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
