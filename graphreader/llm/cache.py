"""Decisions that were paid for once: kept by what was asked, and asked once however many ask.

What is kept is the decision as it was finally taken, with how many of the task's choices were
shown for it. It is kept under all that was there to be asked: model, parameters, schema and the
whole prompt. The form of the reply makes no difference to it.

Replies that were paid for, kept by what was asked in one SQLite file.

Any event loop of any process may use it at the same time. A file that is damaged, locked,
read-only or on a full disk never fails a run: nothing is found or kept, and `trouble` says so.

The same thing made once, however many ask for it at the same time, in any event loop.

Nothing is kept: who asks when it is made already has it made again.
"""

import asyncio
import hashlib
import json
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

from graphreader.errors import BudgetError, CacheError, DecisionError
from graphreader.files import is_unusable, open_sqlite, sqlite_files, sqlite_problem
from graphreader.llm import structured_output
from graphreader.llm.protocols import Decision, DecisionResult, Task
from graphreader.settings import Settings
from graphreader.usage import Usage

T = TypeVar("T")
logger = logging.getLogger("graphreader.llm")
_Row: TypeAlias = tuple[bytes, str, float, bytes]

FORM: Final = 1
"""The table's form, in the file's `user_version`."""

_PATIENCE: Final = 5.0
"""Seconds that another process's writing is waited for."""

_REST: Final = 10.0
"""Seconds for which a file that has failed is left alone: not every reply waits for a lock."""

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
    """What is kept: replies in all and by model, bytes on disk; times in seconds of the epoch."""

    replies: int = 0
    bytes: int = 0
    models: dict[str, int] = field(default_factory=dict)
    oldest: float | None = None
    newest: float | None = None


def key_of(*parts: str) -> str:
    """The name of what was asked, 64 hexadecimal digits: other parts, another name."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = _bytes(part)
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


class ReplyCache:
    """The replies in one file; making this object touches nothing.

    The file is worked with in a thread of its own, which ends with `aclose` or with the program.
    It appears with the first `put`. `trouble` is a sentence for a person once something was wrong
    with it, else None.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser()
        self.trouble: str | None = None
        self._rests_until = {"read": 0.0, "written": 0.0}
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    @classmethod
    def of(cls, settings: Settings) -> "ReplyCache":
        """The cache that the settings choose."""
        return cls(settings.home / "replies.sqlite")

    async def get(self, key: str) -> str | None:
        """The reply that is kept under the key, if one is."""
        return await self._done("read", lambda worker: worker.get(key))

    async def put(self, key: str, reply: str, *, model: str) -> None:
        """Keep a reply; it is on the disk afterwards. Cancelling does not undo it.

        Puts that wait for the disk together are written together.
        """
        name = model.encode("utf-8", "replace").decode()
        row = _bytes(key), name, time.time(), _bytes(reply)
        await self._done("written", lambda worker: worker.put_waiting(), row)

    async def aclose(self) -> None:
        """Write what waits and close the file. What is needed later opens it anew."""
        with self._lock:
            worker, self._worker = self._worker, None
            if worker is None:
                return
            closed = worker.thread.submit(worker.close)
            worker.thread.shutdown(wait=False)
        await _result(closed)

    def stats(self) -> CacheStats:
        """What is kept, counted in the calling thread; makes no file. Raises CacheError."""
        try:
            if not self.path.exists():
                return CacheStats()
            with closing(_opened(self.path)) as database:
                rows = database.execute(_STATS).fetchall()
        except (OSError, sqlite3.Error) as error:
            raise CacheError(self._sentence("read", error)) from error
        return CacheStats(
            replies=sum(row[1] for row in rows),
            bytes=sum(one.stat().st_size for one in sqlite_files(self.path) if one.exists()),
            models={row[0]: row[1] for row in rows},
            oldest=min((row[2] for row in rows), default=None),
            newest=max((row[3] for row in rows), default=None),
        )

    def clear(self) -> int:
        """Forget all replies, also while others write; how many it were. Raises CacheError.

        A file that is damaged, or that a newer version made, is removed and counts nothing.
        """
        try:
            return _emptied(self.path) if self.path.exists() else 0
        except (OSError, sqlite3.Error) as error:
            if not is_unusable(error):
                raise CacheError(self._sentence("cleared", error)) from error
        for one in sqlite_files(self.path):
            one.unlink(missing_ok=True)
        return 0

    async def _done(
        self, what: str, work: "Callable[[_Worker], T]", row: _Row | None = None
    ) -> T | None:
        """What the thread's work gives; None, with a word on why, where it fails."""
        with self._lock:
            worker = self._worker = self._worker or _Worker(self.path)
            if row:
                worker.waiting.append(row)
            done = worker.thread.submit(self._tried, worker, what, work)
        return await _result(done)

    def _tried(self, worker: "_Worker", what: str, work: "Callable[[_Worker], T]") -> T | None:
        if time.monotonic() < self._rests_until[what]:
            return None
        try:
            return work(worker)
        except Exception as error:  # whatever it is, a run can do without
            worker.close()
            self._rests_until[what] = time.monotonic() + _REST
            self.trouble = f"The run goes on without kept replies: {self._sentence(what, error)}"
            logger.warning("%s", self.trouble)
            return None

    def _sentence(self, what: str, error: Exception) -> str:
        anew = "begin anew with `graphreader cache clear`"
        return sqlite_problem(self.path, what, error, anew)


class _Worker:
    """A thread with its own connection, and the rows that wait for it."""

    def __init__(self, path: Path) -> None:
        self.thread = ThreadPoolExecutor(1, "graphreader-replies")
        self.waiting: deque[_Row] = deque()
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def get(self, key: str) -> str | None:
        if self._connection is None and not self._path.exists():
            return None
        found = self._database().execute(_GET, (_bytes(key),)).fetchone()
        return bytes(found[0]).decode("utf-8", "surrogatepass") if found else None

    def put_waiting(self) -> None:
        """Write all that waits, or none of it; what comes too late has another turn coming."""
        rows = [self.waiting.popleft() for _ in range(len(self.waiting))]
        if rows:
            with self._database() as database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(_PUT, rows)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            with suppress(sqlite3.Error):  # a damaged file complains again
                connection.close()

    def _database(self) -> sqlite3.Connection:
        self._connection = self._connection or _opened(self._path)
        return self._connection


def _opened(path: Path) -> sqlite3.Connection:
    # FULL: what was paid for survives a power cut, too.
    return open_sqlite(path, FORM, _TABLE, timeout=_PATIENCE, synchronous="FULL")


def _emptied(path: Path) -> int:
    with closing(_opened(path)) as database:
        gone = database.execute("DELETE FROM replies").rowcount
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return gone


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


async def _result(done: "Future[T]") -> T:
    """What comes of the thread's work, which goes on where waiting for it is cancelled."""
    return await asyncio.shield(asyncio.wrap_future(done))


@dataclass(frozen=True, slots=True)
class _Landed:
    """What came of the making, for all who wait; or nothing did, for the one who makes it now."""

    made: Any = None
    error: Exception | None = None
    lost: bool = False


_LOST = _Landed(lost=True)


class SingleFlight:
    """Who asks first makes it, in his own task; the others wait for what comes of that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[Future[_Landed]]] = {}

    async def once(
        self,
        key: str,
        make: Callable[[], Awaitable[T]],
        *,
        own: tuple[type[Exception], ...] = (),
    ) -> T:
        """What `make` gives, or what the same key's `make` gives that runs already.

        An exception of the maker is everybody's, the very same object. But when he is cancelled,
        or fails by one of `own` (his budget, say), one of the others makes it in his stead.
        Cancelling one who waits disturbs nobody. A `make` must not ask for its own key.
        """
        turn = self._join(key)
        landed = await self._told(key, turn) if turn else _LOST
        if landed.error:
            raise landed.error
        if landed.lost:
            return await self._make(key, make, own)
        made: T = landed.made
        return made

    def __len__(self) -> int:
        """How many things are being made."""
        return len(self._waiting)

    def _join(self, key: str) -> "Future[_Landed] | None":
        """What to wait for; None for the first."""
        with self._lock:
            if key not in self._waiting:
                self._waiting[key] = deque()
                return None
            turn: Future[_Landed] = Future()
            turn.set_running_or_notify_cancel()  # only we say when it is done
            self._waiting[key].append(turn)
            return turn

    async def _told(self, key: str, turn: "Future[_Landed]") -> _Landed:
        try:
            return await asyncio.wrap_future(turn)
        except BaseException:
            with self._lock:
                waiting = self._waiting.get(key)
                if waiting and turn in waiting:
                    waiting.remove(turn)
            if turn.done() and turn.result().lost:  # who should have made it gives up
                self._land(key, _LOST)
            raise

    async def _make(
        self, key: str, make: Callable[[], Awaitable[T]], own: tuple[type[Exception], ...]
    ) -> T:
        landed = _LOST
        try:
            made = await make()
            landed = _Landed(made)
            return made
        except Exception as error:
            if not isinstance(error, own):
                landed = _Landed(error=error)
            raise
        finally:
            self._land(key, landed)

    def _land(self, key: str, landed: _Landed) -> None:
        """Tell all who wait; what is lost only the next, who makes it while the others wait on."""
        with self._lock:
            waiting = self._waiting[key]
            told = [waiting.popleft()] if landed.lost and waiting else self._waiting.pop(key)
            for turn in told:
                turn.set_result(landed)


@cache
def in_flight() -> SingleFlight:
    """The one of this process."""
    return SingleFlight()


D = TypeVar("D", bound=Decision)


class DecisionCache:
    """The decisions of one model; `about` is all that changes its replies beside the prompt."""

    def __init__(self, cache: ReplyCache, model: str, *about: object) -> None:
        self._cache = cache
        self._model = model
        self._about = [str(one) for one in about]

    @property
    def trouble(self) -> str:
        """A sentence on what is wrong with the store, or nothing."""
        return self._cache.trouble or ""

    async def or_asked(
        self, task: Task[D], texts: Sequence[str], ask: Callable[[], Awaitable[DecisionResult[D]]]
    ) -> DecisionResult[D]:
        """The decision that is kept, else the one that `ask` gives, which is kept then.

        `texts` is all that the task could show. Who only waited for another one's request has
        spent nothing, also where it failed.
        """
        key = self._key(task, texts)
        asks = False

        async def make() -> DecisionResult[D]:
            nonlocal asks
            kept = _read(task, await self._cache.get(key))
            if kept is not None:
                return kept
            asks = True
            decided = await ask()
            await self._cache.put(key, _written(decided), model=self._model)
            return decided

        try:
            decided = await in_flight().once(key, make, own=(BudgetError,))
        except DecisionError as error:
            if asks:
                raise
            raise _unspent(error) from error
        if not asks:
            logger.debug("A kept reply of %s serves for %s", self._model, task.prompt)
        return decided if asks else replace(decided, usage=Usage(reused=1))

    async def aclose(self) -> None:
        """Close the store."""
        await self._cache.aclose()

    def _key(self, task: Task[D], texts: Sequence[str]) -> str:
        schema = json.dumps(structured_output.schema_of(task.decision), sort_keys=True)
        return key_of(self._model, *self._about, task.prompt, schema, *texts)


def _written(decided: DecisionResult[D]) -> str:
    return json.dumps(
        {"shown": decided.task.choices, "decision": decided.decision.model_dump(mode="json")}
    )


def restored(task: Task[D], shown: int, fields: object) -> DecisionResult[D] | None:
    """A decision that was kept, with what was shown for it, if it suits the task (still)."""
    try:
        task = _showing(task, shown)
        decision = cast(D, task.decision.model_validate(fields))
    except (TypeError, ValueError):
        return None
    return DecisionResult(decision, task) if task.problem(decision) is None else None


def _read(task: Task[D], kept: str | None) -> DecisionResult[D] | None:
    """The kept decision, if there is one that suits the task."""
    try:
        record = json.loads(kept or "")
        return restored(task, record["shown"], record["decision"])
    except (KeyError, TypeError, ValueError):
        return None


def _showing(task: Task[D], number: int) -> Task[D]:
    """The task with so many of its choices. Raises ValueError where it has fewer."""
    if number == task.choices:
        return task
    if not task.fewest <= number < task.choices:
        raise ValueError(f"{number} of {task.choices} choices cannot be shown")
    return task.keeping(number)


def _unspent(error: DecisionError) -> DecisionError:
    """The same failure for one who has paid nothing for it: whoever meets it writes into it."""
    twin = type(error).__new__(type(error), *error.args)
    vars(twin).update(vars(error), spent=Usage())
    return twin
