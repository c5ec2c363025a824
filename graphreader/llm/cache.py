"""The reply cache: decisions that were paid for are kept in one SQLite file and used again.

The key has all that shapes a decision: model, parameters, schema, prompt. Equal decisions at the
same time are requested once, also by several processes. A file that fails never fails a run:
`trouble` says so.
"""

import asyncio
import hashlib
import json
import logging
import os
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from weakref import WeakValueDictionary

from graphreader.errors import CacheError
from graphreader.files import is_unusable, open_sqlite, sqlite_files, sqlite_problem
from graphreader.llm.protocols import Decision, DecisionResult, Task
from graphreader.llm.structured_output import schema_of
from graphreader.settings import Settings
from graphreader.usage import Usage
from graphreader.waiting import Waiting, announced_if_slow

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")
D = TypeVar("D", bound=Decision)
logger = logging.getLogger("graphreader.llm")
FORMAT: Final = 1  # the version of the table, in the file's `user_version`
_LOCK_SECONDS: Final = 5.0  # that another process's writing is waited for
_RETRY_SECONDS: Final = 10.0  # that a file is not used after a failure: each may wait for a lock
_CLAIM_SECONDS: Final = 300.0  # that another process's request is waited for: it may be suspended
_LOCK_PAUSES: Final = 0.05, 0.2  # seconds between looks at a lock of another process
_SAME_REQUEST: Final = Waiting(
    "reply cache", "Waiting for the reply to the same request of another process", 0.0
)
_LOCK_DIGITS: Final = 15  # of a key, which are the place of its lock: less than 2 ** 63
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS replies (
    key BLOB PRIMARY KEY,
    model TEXT NOT NULL,
    kept_at REAL NOT NULL,
    reply BLOB NOT NULL
)
"""
_GET: Final = "SELECT reply FROM replies WHERE key = ?"
_PUT: Final = "INSERT OR REPLACE INTO replies (key, model, kept_at, reply) VALUES (?, ?, ?, ?)"
_STATS: Final = """
SELECT model, count(*), min(kept_at), max(kept_at) FROM replies GROUP BY model ORDER BY 2 DESC, 1
"""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Replies in all and by model, bytes on disk, times in seconds since the epoch."""

    replies: int = 0
    bytes: int = 0
    models: dict[str, int] = field(default_factory=dict)
    oldest: float | None = None
    newest: float | None = None


def key_of(*parts: str) -> str:
    """The key of a request, 64 hexadecimal digits: other parts, another key."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


class ReplyCache:
    """The replies in one file, which the first `put` makes; `trouble` says what went wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser()
        self.trouble: str | None = None
        self._thread = ThreadPoolExecutor(1, "graphreader-replies")
        self._connection: sqlite3.Connection | None = None  # used in that thread alone
        self._retry_at = 0.0

    @classmethod
    def of(cls, settings: Settings) -> "ReplyCache":
        """The cache in the home folder of the settings."""
        return cls(settings.home / "replies.sqlite")

    async def get(self, key: str) -> str | None:
        """The reply of the key, if there is one."""

        def read() -> str | None:
            if self._connection is None and not self.path.exists():
                return None
            row = self._database().execute(_GET, (key.encode(),)).fetchone()
            return bytes(row[0]).decode() if row else None

        return await self._run("read", read)

    async def put(self, key: str, reply: str, *, model: str) -> None:
        """Keep a reply; it is on the disk afterwards. Cancelling does not undo it."""
        row = (key.encode(), model, time.time(), reply.encode())

        def write() -> None:
            self._database().execute(_PUT, row)  # one statement is a transaction

        await self._run("written", write)

    @asynccontextmanager
    async def claimed(self, key: str) -> AsyncIterator[None]:
        """Let other processes wait with this key, where the system has locks for that."""
        place, deadline = int(key[:_LOCK_DIGITS], 16), time.monotonic() + _CLAIM_SECONDS
        with announced_if_slow(_SAME_REQUEST):
            while await self._run("locked", lambda: self._is_claimed(place)):
                if time.monotonic() > deadline:
                    break
                await asyncio.sleep(random.uniform(*_LOCK_PAUSES))
        try:
            yield
        finally:
            if fcntl:
                with suppress(OSError):
                    fcntl.lockf(_lock_file(self.path), fcntl.LOCK_UN, 1, place)

    async def aclose(self) -> None:
        """Close the file after all writes. Later use opens it again."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)

    def stats(self) -> CacheStats:
        """Count the kept replies, in the calling thread; creates no file. Raises CacheError."""
        try:
            if not self.path.exists():
                return CacheStats()
            with closing(_connect(self.path)) as database:
                rows = database.execute(_STATS).fetchall()
        except (OSError, sqlite3.Error) as error:
            raise CacheError(self._describe("read", error)) from error
        return CacheStats(
            replies=sum(row[1] for row in rows),
            bytes=sum(file.stat().st_size for file in sqlite_files(self.path) if file.exists()),
            models={row[0]: row[1] for row in rows},
            oldest=min((row[2] for row in rows), default=None),
            newest=max((row[3] for row in rows), default=None),
        )

    def clear(self) -> int:
        """Delete all replies, or a damaged file; returns their number. Raises CacheError."""
        try:
            if not self.path.exists():
                return 0
            with closing(_connect(self.path)) as database:
                number = database.execute("DELETE FROM replies").rowcount
                database.execute("VACUUM")
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return number
        except (OSError, sqlite3.Error) as error:
            if not is_unusable(error):
                raise CacheError(self._describe("cleared", error)) from error
        for file in sqlite_files(self.path):
            file.unlink(missing_ok=True)
        return 0

    async def _run(self, action: str, work: Callable[[], T | None]) -> T | None:
        """The result of work in the thread; None where it fails. It ends even if cancelled."""
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, self._try, action, work))

    def _try(self, action: str, work: Callable[[], T | None]) -> T | None:
        if time.monotonic() < self._retry_at:
            return None
        try:
            return work()
        except Exception as error:  # whatever it is, a run works without the cache
            self._close()
            self._retry_at = time.monotonic() + _RETRY_SECONDS
            self.trouble = f"The run goes on without kept replies: {self._describe(action, error)}"
            logger.warning("%s", self.trouble)
            return None

    def _database(self) -> sqlite3.Connection:
        self._connection = self._connection or _connect(self.path)
        return self._connection

    def _is_claimed(self, place: int) -> bool:
        """Whether another process has locked this byte of the lock file; if not, lock it."""
        try:
            if fcntl:
                fcntl.lockf(_lock_file(self.path), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:  # without locks a reply may be paid twice, and that is all
            return isinstance(error, BlockingIOError)
        return False

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            with suppress(sqlite3.Error):  # a damaged file fails again
                connection.close()

    def _describe(self, action: str, error: Exception) -> str:
        remedy = "delete them with `graphreader cache clear`"
        return sqlite_problem(self.path, action, error, remedy)


@cache
def _lock_file(path: Path) -> int:
    """The open file of locks beside the replies; closed only with this process, as that unlocks."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)


def _connect(path: Path) -> sqlite3.Connection:
    # FULL: paid replies survive a power cut, too.
    return open_sqlite(path, FORMAT, _TABLE, timeout=_LOCK_SECONDS, synchronous="FULL")


_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""Held while a decision is requested, by its key: an equal one waits, and finds the kept reply."""


class DecisionCache:
    """The kept decisions of one model; `options` shape its replies besides the prompt."""

    def __init__(self, cache: ReplyCache, model: str, *options: object) -> None:
        self._cache = cache
        self._model = model
        self._options = [str(option) for option in options]

    @property
    def trouble(self) -> str:
        """A sentence about a problem of the file, or an empty text."""
        return self._cache.trouble or ""

    async def get_or_ask(
        self, task: Task[D], texts: Sequence[str], ask: Callable[[], Awaitable[DecisionResult[D]]]
    ) -> DecisionResult[D]:
        """The kept decision, else the result of `ask`; `texts` is all that the task may show."""
        schema = json.dumps(schema_of(task.decision), sort_keys=True)
        key = key_of(self._model, *self._options, task.prompt, schema, *texts)
        async with _locks.setdefault(key, asyncio.Lock()), self._cache.claimed(key):
            reply = await self._cache.get(key)
            if reply and (kept := restore_decision(task, json.loads(reply))):
                logger.debug("%s: a kept reply serves for %s", self._model, task.prompt)
                return replace(kept, usage=Usage(reused=1))
            result = await ask()
            await self._cache.put(key, json.dumps(decision_record(result)), model=self._model)
            return result

    async def aclose(self) -> None:
        """Close the file."""
        await self._cache.aclose()


def decision_record(result: DecisionResult[Any]) -> dict[str, Any]:
    """A decision in plain JSON types, with the number of choices that were shown for it."""
    return {"shown": result.task.choices, "decision": result.decision.model_dump(mode="json")}


def restore_decision(task: Task[D], record: Any) -> DecisionResult[D] | None:
    """The decision of such a record with the choices shown for it; None where it does not suit."""
    try:
        shown = record["shown"]
        if shown != task.choices:
            if not task.fewest <= shown < task.choices:
                return None
            task = task.keeping(shown)
        decision = cast(D, task.decision.model_validate(record["decision"]))
    except (KeyError, TypeError, ValueError):
        return None
    return DecisionResult(decision, task) if task.problem(decision) is None else None
