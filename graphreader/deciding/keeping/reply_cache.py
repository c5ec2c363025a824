"""Replies that were paid for, kept by what was asked, for any event loop of any process.

A cache that is damaged, locked, read-only or on a full disk never fails a run: nothing is found
and nothing is kept, and `trouble` says so.
"""

import asyncio
import hashlib
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from graphreader.deciding.keeping.reply_file import NewerFormError, is_damage, is_locked
from graphreader.deciding.keeping.reply_store import CacheStats, Kept, ReplyStore
from graphreader.errors import CacheError
from graphreader.settings import Settings

T = TypeVar("T")

_REST: Final = 10.0
"""Seconds for which a file that has failed is left alone: not every reply waits for a lock."""


def key_of(*parts: str) -> str:
    """The name of what was asked, 64 hexadecimal digits: other parts, another name."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


class ReplyCache:
    """The replies in one file; making this object touches nothing.

    The file is opened, and worked with, in a thread of its own that ends with `aclose` or with the
    program. It appears with the first `put`. `trouble` is a sentence for a person once something
    was wrong with it, else None.
    """

    def __init__(self, path: Path) -> None:
        self.trouble: str | None = None
        self._store = ReplyStore(path)
        self._using = threading.Lock()  # the store: a thread that ends may meet its successor
        self._waiting: deque[tuple[Kept, Future[None]]] = deque()
        self._rests_until = {"read": 0.0, "written": 0.0}
        self._lock = threading.Lock()  # the thread
        self._thread: ThreadPoolExecutor | None = None

    @classmethod
    def of(cls, settings: Settings) -> "ReplyCache":
        """The cache that the settings choose."""
        return cls(settings.home / "replies.sqlite")

    @property
    def path(self) -> Path:
        """The file, which need not be there."""
        return self._store.path

    async def get(self, key: str) -> str | None:
        """The reply that is kept under the key, if one is."""
        found: Future[str | None] = _future()
        self._submit(lambda: found.set_result(self._get(key)))
        return await asyncio.wrap_future(found)

    async def put(self, key: str, reply: str, *, model: str) -> None:
        """Keep a reply; it is on the disk afterwards. Cancelling does not undo it.

        Puts that wait for the disk together are written together.
        """
        kept: Future[None] = _future()
        self._waiting.append((Kept(key, model, reply), kept))
        self._submit(self._put_waiting)
        await asyncio.wrap_future(kept)

    async def aclose(self) -> None:
        """Write what waits and close the file. What is needed later opens it anew."""
        closed: Future[None] = _future()
        with self._lock:
            if self._thread is None:
                return
            self._thread.submit(self._close, closed)
            self._thread.shutdown(wait=False)
            self._thread = None
        await asyncio.wrap_future(closed)

    def stats(self) -> CacheStats:
        """What is kept, counted in the calling thread. Raises CacheError."""
        with self._telling("read"), closing(ReplyStore(self.path)) as store:
            return store.stats()

    def clear(self) -> int:
        """Forget all replies, in the calling thread; how many it were. Raises CacheError."""
        with self._telling("cleared"), closing(ReplyStore(self.path)) as store:
            return store.clear()

    def _submit(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._thread = self._thread or ThreadPoolExecutor(1, "graphreader-replies")
            self._thread.submit(work)

    def _get(self, key: str) -> str | None:
        with self._using:
            return self._tried("read", lambda: self._store.get(key))

    def _put_waiting(self) -> None:
        """Write all that waits. What comes too late for this turn has another one coming."""
        with self._using:
            waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if waiting:
                self._tried("written", lambda: self._store.put([one for one, _ in waiting]))
        for _, kept in waiting:
            kept.set_result(None)

    def _close(self, closed: "Future[None]") -> None:
        with self._using:
            self._store.close()
        closed.set_result(None)

    def _tried(self, what: str, work: Callable[[], T]) -> T | None:
        """What the store does, or None with a word on why it cannot."""
        if time.monotonic() < self._rests_until[what]:
            return None
        try:
            return work()
        except Exception as error:  # whatever it is, a run can do without
            self._rests_until[what] = time.monotonic() + _REST
            self.trouble = f"The run goes on without kept replies: {self._sentence(what, error)}"
            return None
        finally:
            if self._store.put_aside:
                self.trouble = (
                    f"{self.path} was damaged and its replies are lost: it is now"
                    f" {self._store.put_aside.name}, and a new one is begun."
                )
                self._store.put_aside = None

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise CacheError(self._sentence(what, error)) from error

    def _sentence(self, what: str, error: Exception) -> str:
        remedy = "make room or give the permission, or set GRAPHREADER_HOME to another folder"
        if isinstance(error, NewerFormError):
            remedy = "upgrade, or begin anew with `graphreader cache clear`"
        elif is_damage(error):
            remedy = "begin anew with `graphreader cache clear`"
        elif is_locked(error):
            remedy = "end the program that holds it, and try again"
        reason = getattr(error, "strerror", None) or error
        return f"{self.path} cannot be {what} ({reason}): {remedy}."


def _future() -> "Future[Any]":
    """A future of work that is not ended by cancelling those who wait for it."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future
