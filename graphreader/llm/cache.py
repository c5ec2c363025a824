"""The reply cache: decisions that were paid for are kept in one SQLite file and used again.

A decision is kept with the number of choices that were shown for it, under a key of everything
that shapes it: model, parameters, schema and the whole prompt. The form of the reply makes no
difference. Equal decisions that are requested at the same time are requested once (single flight).

Any process may use the file at the same time. A file that is damaged, locked, read-only or on a
full disk never fails a run: nothing is found or kept, and `trouble` says so.
"""

import asyncio
import hashlib
import json
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

from graphreader.errors import BudgetError, CacheError, DecisionError
from graphreader.files import is_unusable, open_sqlite, sqlite_files, sqlite_problem
from graphreader.llm.protocols import Decision, DecisionResult, Task
from graphreader.llm.structured_output import schema_of
from graphreader.settings import Settings
from graphreader.usage import Usage

T = TypeVar("T")
D = TypeVar("D", bound=Decision)
logger = logging.getLogger("graphreader.llm")
_Row: TypeAlias = tuple[bytes, str, float, bytes]

FORMAT: Final = 1
"""The version of the table, in the file's `user_version`."""

_LOCK_SECONDS: Final = 5.0
"""How long another process's writing is waited for."""

_REST_SECONDS: Final = 10.0
"""How long a file that has failed is not used: not every reply waits for a lock."""

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
        encoded = _encode(part)
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


class ReplyCache:
    """The replies in one file. The file is made by the first `put`, not by this constructor.

    SQLite runs in a thread, which ends with `aclose` or with the program. `trouble` is a sentence
    for a person once the file could not be used, else None.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser()
        self.trouble: str | None = None
        self._rests_until = {"read": 0.0, "written": 0.0}
        self._worker: _Worker | None = None

    @classmethod
    def of(cls, settings: Settings) -> "ReplyCache":
        """The cache in the home folder of the settings."""
        return cls(settings.home / "replies.sqlite")

    async def get(self, key: str) -> str | None:
        """The reply of the key, if there is one."""
        return await self._run("read", lambda worker: worker.get(key))

    async def put(self, key: str, reply: str, *, model: str) -> None:
        """Keep a reply; it is on the disk afterwards. Cancelling does not undo it.

        Puts that wait for the disk are written together.
        """
        name = model.encode("utf-8", "replace").decode()
        row = _encode(key), name, time.time(), _encode(reply)
        await self._run("written", lambda worker: worker.write_pending(), row)

    async def aclose(self) -> None:
        """Write what is pending and close the file. Later use opens it again."""
        worker, self._worker = self._worker, None
        if worker is not None:
            closed = worker.thread.submit(worker.close)
            worker.thread.shutdown(wait=False)
            await asyncio.shield(asyncio.wrap_future(closed))

    def stats(self) -> CacheStats:
        """Count what is kept, in the calling thread; no file is made. Raises CacheError."""
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
        """Delete all replies, also while others write; returns their number. Raises CacheError.

        A file that is damaged, or that a newer version made, is removed and counts as 0.
        """
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

    async def _run(
        self, purpose: str, work: "Callable[[_Worker], T]", row: _Row | None = None
    ) -> T | None:
        """The result of work in the thread; None where it fails. It ends even if cancelled."""
        worker = self._worker = self._worker or _Worker(self.path)
        if row:
            worker.pending.append(row)
        future = worker.thread.submit(self._try, worker, purpose, work)
        return await asyncio.shield(asyncio.wrap_future(future))

    def _try(self, worker: "_Worker", purpose: str, work: "Callable[[_Worker], T]") -> T | None:
        if time.monotonic() < self._rests_until[purpose]:
            return None
        try:
            return work(worker)
        except Exception as error:  # whatever it is, a run works without the cache
            worker.close()
            self._rests_until[purpose] = time.monotonic() + _REST_SECONDS
            self.trouble = f"The run goes on without kept replies: {self._describe(purpose, error)}"
            logger.warning("%s", self.trouble)
            return None

    def _describe(self, purpose: str, error: Exception) -> str:
        remedy = "begin anew with `graphreader cache clear`"
        return sqlite_problem(self.path, purpose, error, remedy)


class _Worker:
    """A thread with its own connection, and the rows that are to be written."""

    def __init__(self, path: Path) -> None:
        self.thread = ThreadPoolExecutor(1, "graphreader-replies")
        self.pending: deque[_Row] = deque()
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def get(self, key: str) -> str | None:
        if self._connection is None and not self._path.exists():
            return None
        row = self._database().execute(_GET, (_encode(key),)).fetchone()
        return bytes(row[0]).decode("utf-8", "surrogatepass") if row else None

    def write_pending(self) -> None:
        """Write all pending rows, or none of them."""
        rows = [self.pending.popleft() for _ in range(len(self.pending))]
        if rows:
            with self._database() as database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(_PUT, rows)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            with suppress(sqlite3.Error):  # a damaged file fails again
                connection.close()

    def _database(self) -> sqlite3.Connection:
        self._connection = self._connection or _connect(self._path)
        return self._connection


def _connect(path: Path) -> sqlite3.Connection:
    # FULL: what was paid for survives a power cut, too.
    return open_sqlite(path, FORMAT, _TABLE, timeout=_LOCK_SECONDS, synchronous="FULL")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_requests: dict[str, asyncio.Future[Any]] = {}
"""The decisions of the process that are being requested, by their keys (single flight)."""


class DecisionCache:
    """The kept decisions of one model; `options` are what shapes its replies beside the prompt."""

    def __init__(self, cache: ReplyCache, model: str, *options: object) -> None:
        self._cache = cache
        self._model = model
        self._options = [str(option) for option in options]

    @property
    def trouble(self) -> str:
        """A sentence about what is wrong with the file, or nothing."""
        return self._cache.trouble or ""

    async def get_or_ask(
        self, task: Task[D], texts: Sequence[str], ask: Callable[[], Awaitable[DecisionResult[D]]]
    ) -> DecisionResult[D]:
        """The kept decision, else the result of `ask`, which is kept then.

        `texts` is everything that the task may show. Of equal decisions at the same time, the first
        is requested; the others share its result or its failure and have spent nothing. Where it is
        cancelled or out of budget, one of the others makes the request.
        """
        schema = json.dumps(schema_of(task.decision), sort_keys=True)
        key = key_of(self._model, *self._options, task.prompt, schema, *texts)
        loop = asyncio.get_running_loop()
        while (request := _requests.get(key)) and request.get_loop() is loop:
            await asyncio.wait([request])
            if request.cancelled():
                continue
            error = request.exception()
            if isinstance(error, DecisionError):
                raise _without_cost(error) from error
            if error:
                raise error
            return self._reuse(task, request.result())
        request = _requests[key] = loop.create_future()
        try:
            result = _parse(task, await self._cache.get(key))
            if result is None:
                result = await ask()
                await self._cache.put(key, json.dumps(decision_record(result)), model=self._model)
            else:
                result = self._reuse(task, result)
        except BudgetError:
            raise  # the others have budgets of their own
        except Exception as error:
            request.set_exception(error)
            request.exception()  # nobody else may wait for it
            raise
        else:
            request.set_result(result)
            return result
        finally:
            request.cancel()  # no effect once it is done
            if _requests.get(key) is request:
                del _requests[key]

    async def aclose(self) -> None:
        """Close the file."""
        await self._cache.aclose()

    def _reuse(self, task: Task[D], result: DecisionResult[D]) -> DecisionResult[D]:
        logger.debug("%s: a kept reply serves for %s", self._model, task.prompt)
        return replace(result, usage=Usage(reused=1))


def decision_record(result: DecisionResult[Any]) -> dict[str, Any]:
    """A decision in plain JSON types, with the number of choices that were shown for it."""
    return {"shown": result.task.choices, "decision": result.decision.model_dump(mode="json")}


def restore_decision(task: Task[D], record: Any) -> DecisionResult[D] | None:
    """The decision of such a record, with the choices that were shown for it.

    None if it is no record, or one that does not suit the task (any more).
    """
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


def _parse(task: Task[D], reply: str | None) -> DecisionResult[D] | None:
    try:
        return restore_decision(task, json.loads(reply or ""))
    except ValueError:
        return None


def _without_cost(error: DecisionError) -> DecisionError:
    """A copy of the failure for a caller that has spent nothing; callers write into theirs."""
    copy = type(error).__new__(type(error), *error.args)
    vars(copy).update(vars(error), spent=Usage())
    return copy
