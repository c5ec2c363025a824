"""The one file in which runs are kept, with LangGraph's checkpoints among them.

One connection in one thread, and one lock: a run's steps wait for each other here and not, with
pauses, for SQLite's lock, which is only between processes. Whoever asks and whoever manages runs
get the same RunsError where the file is of no use; the first go on without it.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import aiosqlite

from graphreader.errors import RunsError
from graphreader.sqlite_file import opened, refusal

T = TypeVar("T")

logger = logging.getLogger("graphreader.runs")

Row = Sequence[Any]

FORM: Final = 1
"""The tables' form, in the file's `user_version`."""

_PATIENCE: Final = 30.0
"""Seconds that another process's writing is waited for."""

_REST: Final = 10.0
"""Seconds for which a file that has failed is left alone: not every step waits for a lock."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY,
    corpus TEXT NOT NULL,
    question TEXT NOT NULL,
    options TEXT NOT NULL,
    status TEXT NOT NULL,
    holder TEXT NOT NULL,
    began REAL NOT NULL,
    updated REAL NOT NULL,
    reading TEXT,
    error TEXT
);
CREATE TABLE IF NOT EXISTS decisions (
    run TEXT NOT NULL,
    number INTEGER NOT NULL,
    asked TEXT NOT NULL,
    prompt TEXT NOT NULL,
    shown INTEGER NOT NULL,
    given TEXT NOT NULL,
    decision TEXT,
    decider TEXT NOT NULL,
    prompts TEXT NOT NULL,
    usage TEXT NOT NULL,
    PRIMARY KEY (run, number)
)
"""


class RunFile:
    """Opened by the first call, in the event loop that makes it; making this object does nothing.

    `trouble` is a sentence for a person once something was wrong with the file, else None, and
    `failures` is how often something was.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser()
        self.trouble: str | None = None
        self.failures = 0
        self.lock = asyncio.Lock()
        self._connection: aiosqlite.Connection | None = None
        self._failure: RunsError | None = None
        self._rests_until = 0.0
        self._closed = False
        self._under_way: set[asyncio.Future[Any]] = set()

    async def write(self, statement: str, *rows: Row) -> int:
        """Carry the statement out for each row, all or none; how many rows it changed.

        It is done to its end also where waiting for it is cancelled. Raises RunsError.
        """

        async def work(connection: aiosqlite.Connection) -> int:
            cursor = await connection.executemany(statement, rows)
            await connection.commit()
            changed = cursor.rowcount
            await cursor.close()
            return changed

        return await self.done("written", work)

    async def read(self, statement: str, values: Row = ()) -> list[sqlite3.Row]:
        """The rows that a query brings; a file that is not there has none. Raises RunsError."""

        async def work(connection: aiosqlite.Connection) -> list[sqlite3.Row]:
            return list(await connection.execute_fetchall(statement, values))

        if self._connection is None and not self.path.exists():
            return []
        return await self.done("read", work)

    async def done(
        self, what: str, work: Callable[[aiosqlite.Connection], Coroutine[Any, Any, T]]
    ) -> T:
        """What the work gives, alone with the connection. Raises RunsError."""

        async def alone() -> T:
            async with self.lock:
                return await self._tried(what, work)

        return await self.to_its_end(alone())

    async def to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work gives; it goes on where waiting for it is cancelled.

        A transaction that is left half done would hold the file against everybody.
        """
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    async def connection(self) -> aiosqlite.Connection:
        """The connection, for work that takes the `lock` itself. Raises RunsError."""

        async def work(connection: aiosqlite.Connection) -> aiosqlite.Connection:
            return connection

        return await self.done("opened", work)

    def holds(self, connection: aiosqlite.Connection) -> bool:
        """Whether the connection is still in use: none is after a failure."""
        return self._connection is connection

    async def failed(
        self, what: str, error: Exception, connection: aiosqlite.Connection | None = None
    ) -> RunsError:
        """The sentence on what went wrong; nothing half done remains, and the file has a rest.

        Where the `connection` was closed by an earlier failure, that one is the cause.
        """
        if connection and self._failure and not self.holds(connection):
            return self._failure
        anew = f"move {self.path.name} and what stands beside it away; a new one is begun then"
        sentence = refusal(self.path, what, error, anew)
        self._failure = RunsError(sentence)
        self.trouble = unkept(self._failure)
        logger.warning("%s", self._failure)
        self.failures += 1
        self._rests_until = time.monotonic() + _REST
        await self._close()
        return self._failure

    async def aclose(self) -> None:
        """Close the file for good, once what is under way is done."""
        while self._under_way:
            await asyncio.wait(self._under_way)
        self._closed = True
        await self._close()

    async def _tried(
        self, what: str, work: Callable[[aiosqlite.Connection], Coroutine[Any, Any, T]]
    ) -> T:
        if self._closed:
            raise RunsError("The file of runs is closed.")
        if self._failure and time.monotonic() < self._rests_until:
            raise self._failure
        try:
            if self._connection is None:
                self._connection = await aiosqlite.Connection(self._opened, 64)
            return await work(self._connection)
        except (OSError, sqlite3.Error) as error:
            raise await self.failed(what, error) from error

    def _opened(self) -> sqlite3.Connection:
        # NORMAL: a killed process loses nothing, and no step waits for the disk.
        return opened(
            self.path,
            FORM,
            _TABLES,
            patience=_PATIENCE,
            synchronous="NORMAL",
            isolation="IMMEDIATE",
        )

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            try:
                await connection.close()
            except sqlite3.Error:
                connection.stop()  # a damaged file complains again


def unkept(error: RunsError) -> str:
    """A sentence for a person whose run goes on all the same."""
    return f"The run goes on without being kept: {error}"
