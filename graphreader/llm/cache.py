"""The reply cache: a database of decisions that were paid for, so that none is paid twice.

The key covers all that shapes a decision: model, parameters, schema, prompt. Equal decisions at
one time are requested once, also by several processes. A failing database never fails a run: it
is reported by `trouble`.
"""

import asyncio
import hashlib
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from weakref import WeakValueDictionary

from graphreader.database import database_at
from graphreader.errors import CacheError
from graphreader.llm.protocols import Decision, DecisionResult, Task
from graphreader.llm.structured_output import schema_of
from graphreader.usage import Usage
from graphreader.waiting import Waiting, announced_if_slow

T = TypeVar("T")
D = TypeVar("D", bound=Decision)
logger = logging.getLogger("graphreader.llm")
_CLAIM_SECONDS: Final = 300.0  # longest wait for another process's request: it may be suspended
_LOCK_PAUSES: Final = 0.05, 0.2  # seconds between looks at a lock of another process
_SAME_REQUEST: Final = Waiting(
    "reply cache", "Waiting for the reply to the same request of another process", 0.0
)
_LOCK_DIGITS: Final = 15  # of a key, which are the number of its lock: less than 2 ** 63
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS replies (
    key BLOB PRIMARY KEY,
    model TEXT NOT NULL,
    kept_at REAL NOT NULL,
    reply BLOB NOT NULL
)
"""
_GET: Final = "SELECT reply FROM replies WHERE key = ?"
_PUT: Final = """
INSERT INTO replies (key, model, kept_at, reply) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE
SET model = excluded.model, kept_at = excluded.kept_at, reply = excluded.reply
"""
_STATS: Final = """
SELECT model, count(*), min(kept_at), max(kept_at) FROM replies GROUP BY model ORDER BY 2 DESC, 1
"""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Statistics of a cache: replies in all and by model, bytes on disk, times in epoch seconds."""

    replies: int = 0
    bytes: int = 0
    models: dict[str, int] = field(default_factory=dict)
    oldest: float | None = None
    newest: float | None = None


def key_of(*parts: str) -> str:
    """Hash the parts of a request into its cache key of 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


class ReplyCache:
    """The stored replies in a SQLite file or PostgreSQL; `trouble` says what went wrong.

    The file is created by the first `put`.
    """

    def __init__(self, place: Path | str) -> None:
        remedy = "delete them with `graphreader cache clear`"
        self._database = database_at(place, _TABLE, CacheError, remedy, durable=True)
        self.place = self._database.place
        self.trouble: str | None = None

    async def get(self, key: str) -> str | None:
        """Return the reply stored under a key, if there is one."""
        rows = await self._run(lambda: self._database.read(_GET, key.encode()))
        return bytes(rows[0][0]).decode() if rows else None

    async def put(self, key: str, reply: str, *, model: str) -> None:
        """Store a reply; it is on the disk afterwards. Cancelling does not undo it."""
        row = (key.encode(), model, time.time(), reply.encode())
        await self._run(lambda: self._database.write(_PUT, row))

    @asynccontextmanager
    async def claimed(self, key: str) -> AsyncIterator[None]:
        """Lock a key against other processes, where the system has such locks."""
        lock, deadline = int(key[:_LOCK_DIGITS], 16), time.monotonic() + _CLAIM_SECONDS
        try:  # who is cancelled may have taken it
            with announced_if_slow(_SAME_REQUEST):
                while await self._run(lambda: self._database.try_lock(lock)) is False:
                    if time.monotonic() > deadline:
                        break
                    await asyncio.sleep(random.uniform(*_LOCK_PAUSES))
            yield
        finally:
            await self._run(lambda: self._database.unlock(lock))

    async def aclose(self) -> None:
        """Close the connection after all writes. Later use opens a new connection."""
        await self._database.arun(self._database.close)

    def stats(self) -> CacheStats:
        """Count the stored replies, in the calling thread; creates no file. Raises CacheError."""
        try:
            rows = self._database.read(_STATS)
            size = self._database.size("replies")
        finally:
            self._database.close()
        return CacheStats(
            replies=sum(row[1] for row in rows),
            bytes=size,
            models={row[0]: row[1] for row in rows},
            oldest=min((row[2] for row in rows), default=None),
            newest=max((row[3] for row in rows), default=None),
        )

    def clear(self) -> int:
        """Delete all replies, or a damaged file; returns their number. Raises CacheError."""
        try:
            return self._database.clear("replies")
        finally:
            self._database.close()

    async def _run(self, work: Callable[[], T]) -> T | None:
        """Run blocking work to its end, even if cancelled; return its result, None on failure."""
        return await self._database.arun(lambda: self._try(work))

    def _try(self, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except Exception as error:  # of any kind: a run works without the cache
            trouble = f"The run goes on without kept replies: {error}"
            if trouble != self.trouble:
                logger.warning("%s", trouble)
            self.trouble = trouble
            return None


_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""Locks by key, held while a decision is requested: an equal request waits for the stored reply."""


class DecisionCache:
    """The cached decisions of one model; `options` are the parameters that shape its replies."""

    def __init__(self, cache: ReplyCache, model: str, *options: object) -> None:
        self._cache = cache
        self._model = model
        self._options = [str(option) for option in options]

    @property
    def trouble(self) -> str:
        """A sentence about a problem of the cache; empty: none."""
        return self._cache.trouble or ""

    async def get_or_ask(
        self, task: Task[D], texts: Sequence[str], ask: Callable[[], Awaitable[DecisionResult[D]]]
    ) -> DecisionResult[D]:
        """Return the cached decision, else the result of `ask`, which is stored.

        `texts` are all texts that the task may show to the model; they are part of the key.
        """
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
        """Close the cache."""
        await self._cache.aclose()


def decision_record(result: DecisionResult[Any]) -> dict[str, Any]:
    """Convert a decision to plain JSON types, with the number of choices that were shown."""
    return {"shown": result.task.choices, "decision": result.decision.model_dump(mode="json")}


def restore_decision(task: Task[D], record: Any) -> DecisionResult[D] | None:
    """Restore a decision from the record of `decision_record`; None if it does not fit the task."""
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
