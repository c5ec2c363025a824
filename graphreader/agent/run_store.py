"""Kept runs in one SQLite file, where it can be used: their questions, status and checkpoints."""

import asyncio
import json
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast
from uuid import uuid4

import psutil
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import TypeAdapter

from graphreader.errors import RunsError, UnknownRunError, UsageError
from graphreader.files import open_sqlite, sqlite_problem
from graphreader.reading import Reading

T = TypeVar("T")
Row = Sequence[Any]
Status = Literal["running", "finished", "failed", "interrupted"]
logger = logging.getLogger("graphreader.agent")

_SCHEMA_NUMBER = 1  # of the tables' form, in the file's `user_version`
_LOCK_SECONDS = 30.0  # to wait while another process writes
_START_TOLERANCE = 2.0  # seconds by which the reported start of a process varies

_TABLES = """
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
)
"""
_COLUMNS = "id, corpus, question, options, status, holder, began, updated, error"

_READING = TypeAdapter(Reading)
_ACTIVE_HOLDERS: set[str] = set()
"""Holders of this process, in all of its stores, that still work on their runs."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One kept run, `run` its id; `began` and `updated` are seconds of the epoch.

    A run is `interrupted` if its process has ended; `process` is the number of the one that works
    on it now. `error` says why it failed; `follow` is the id of the run that it follows up.
    """

    run: str
    corpus: str
    question: str
    status: Status
    began: float
    updated: float
    decider: str
    error: str | None = None
    process: int | None = None
    follow: str | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The stored data of a run; `options` are needed to resume it in the same way."""

    summary: RunSummary
    options: Mapping[str, Any]
    reading: Reading | None
    holder: str


class RunStore:
    """The file of kept runs, which the first call opens. Methods raise RunsError.

    One thread does its work. Once it has failed (`failure`) it is not used: each step would
    wait.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser()
        self.failure: RunsError | None = None
        self._thread = ThreadPoolExecutor(1, "runs")
        self._connection: sqlite3.Connection | None = None
        self._saver: RunCheckpoints | None = None
        self._holders: dict[str, str] = {}

    async def begin(self, id: str, corpus: str, question: str, options: Mapping[str, Any]) -> bool:
        """Enter a new run of this process; False if there is a run with that id."""
        now, holder = time.time(), _new_holder()
        statement = """
        INSERT OR IGNORE INTO runs (id, corpus, question, options, status, holder, began, updated)
        VALUES (?, ?, ?, ?, 'running', ?, ?, ?)
        """
        row = (id, corpus, question, json.dumps(options), holder, now, now)
        entered = await self._write(statement, row) > 0
        if entered:
            self._hold(id, holder)
        return entered

    async def take(self, record: RunRecord) -> None:
        """Work on a kept run. Raises UsageError if it is under way."""
        run, holder = record.summary, _new_holder()
        statement = """
        UPDATE runs SET status = 'running', holder = ?, updated = ?, error = NULL, reading = NULL
        WHERE id = ? AND holder = ?
        """
        row = (holder, time.time(), run.run, record.holder)
        if run.status == "running" or not await self._write(statement, row):
            raise UsageError(
                f"The run {run.run} is under way already"
                + (f" in process {run.process}" if run.process else "")
                + ": wait until it has ended, or end it."
            )
        self._hold(run.run, holder)

    async def end(
        self, id: str, status: Status, reading: Reading | None = None, error: str | None = None
    ) -> None:
        """Record that this process has ended a run, and its result."""
        holder = self._holders.get(id)
        if holder is None:
            return
        # If it cannot be written, the run is free all the same.
        _ACTIVE_HOLDERS.discard(holder)
        text = _READING.dump_json(reading).decode() if reading else None
        # The order of the rows is that in which runs ended, whatever the clock says.
        columns = "rowid = (SELECT max(rowid) + 1 FROM runs), status = ?, updated = ?"
        columns += ", reading = ?, error = ?"
        statement = f"UPDATE runs SET {columns} WHERE id = ? AND holder = ?"
        del self._holders[id]
        await self._write(statement, (status, time.time(), text, error, id, holder))

    async def find(self, id: str) -> RunRecord | None:
        """The run with exactly that id."""
        records = await self._begins_with(id)
        return records[0] if records and records[0].summary.run == id else None

    async def get(self, prefix: str) -> RunRecord:
        """The run whose id is, or alone begins with, `prefix`. Raises UnknownRunError."""
        records = await self._begins_with(prefix) if prefix else []
        if not records:
            raise UnknownRunError(
                f"No run {prefix!r} is kept: `graphreader runs list` shows those that are."
            )
        if len(records) > 1 and records[0].summary.run != prefix:
            raise UnknownRunError(f"Several runs begin with {prefix!r}: name more of the id.")
        return records[0]

    async def summaries(self, corpus: str | None = None) -> list[RunSummary]:
        """The runs of one corpus, or of all, newest first."""
        query = f"SELECT {_COLUMNS}, NULL FROM runs WHERE ?1 IS NULL OR corpus = ?1"
        rows = await self._read(f"{query} ORDER BY began DESC, id", (corpus,))
        return [_record(row).summary for row in rows]

    async def expired(self, keep: int) -> list[str]:
        """The ids of all but the `keep` newest finished runs, and of all but as many others."""
        running = await self._read("SELECT id, holder FROM runs WHERE status = 'running'")
        left = [(id, holder) for id, holder in running if _process_of(holder) is None]
        if left:
            # A run may have ended since it was read.
            interrupt = "UPDATE runs SET status = 'interrupted' WHERE id = ? AND holder = ?"
            await self._write(f"{interrupt} AND status = 'running'", *left)
        query = """
        SELECT id FROM runs WHERE status <> 'running' AND (status = 'finished') = ?
        ORDER BY rowid DESC LIMIT -1 OFFSET ?
        """
        finished, others = [await self._read(query, (kind, keep)) for kind in (True, False)]
        return [row[0] for row in (*finished, *others)]

    async def delete(self, ids: Collection[str]) -> None:
        """Delete runs. Their checkpoints are deleted by their saver."""
        if ids:
            await self._write("DELETE FROM runs WHERE id = ?", *[(id,) for id in ids])

    async def saver(self) -> "RunCheckpoints":
        """LangGraph's saver in this file."""

        def make(connection: sqlite3.Connection) -> RunCheckpoints:
            if self._saver is None:
                self._saver = RunCheckpoints(connection)
                self._saver.store = self
                self._saver.setup()
            return self._saver

        return await self.do("opened", make)

    async def do(self, verb: str, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do some work (`verb` in a message) in the file's thread, to its end if cancelled."""
        if self.failure:
            raise self.failure

        def job() -> T:
            if self.failure:
                raise self.failure
            try:
                if self._connection is None:
                    # NORMAL: a killed process loses nothing, and no step waits for the disk.
                    self._connection = open_sqlite(
                        self.path,
                        _SCHEMA_NUMBER,
                        _TABLES,
                        timeout=_LOCK_SECONDS,
                        synchronous="NORMAL",
                        isolation="IMMEDIATE",
                    )
                return work(self._connection)
            except (OSError, sqlite3.Error) as error:
                remedy = f"move {self.path.name} and what stands beside it away; a new one is begun"
                self._close(RunsError(sqlite_problem(self.path, verb, error, remedy)))
                logger.warning("%s", self.failure)
                raise cast(RunsError, self.failure) from error

        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, job))

    async def aclose(self) -> None:
        """Interrupt the runs that this store still holds, and close the file for good."""
        for id in list(self._holders):
            with suppress(RunsError):
                await self.end(id, "interrupted")
        closed = RunsError("The file of runs is closed.")
        with suppress(RuntimeError):  # it is closed already
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close, closed)
        self._thread.shutdown()

    def _close(self, reason: RunsError) -> None:
        self.failure = self.failure or reason
        connection, self._connection = self._connection, None
        if connection:
            with suppress(sqlite3.Error):  # a damaged file fails again on closing
                connection.close()

    async def _begins_with(self, prefix: str) -> list[RunRecord]:
        """At most two runs with that prefix; the one with exactly that id is the first."""
        query = f"SELECT {_COLUMNS}, reading FROM runs WHERE substr(id, 1, length(?1)) = ?1"
        rows = await self._read(f"{query} ORDER BY id LIMIT 2", (prefix,))
        return [_record(row) for row in rows]

    async def _write(self, statement: str, *rows: Row) -> int:
        """Run the statement for each row in one transaction; returns how many rows it changed."""

        def write(connection: sqlite3.Connection) -> int:
            changed = connection.executemany(statement, rows).rowcount
            connection.commit()
            return changed

        return await self.do("written", write)

    async def _read(self, query: str, values: Row = ()) -> list[Row]:
        """The rows of a query; a file that does not exist has none."""
        if self._connection is None and not self.path.exists():
            return []
        return await self.do("read", lambda file: file.execute(query, values).fetchall())

    def _hold(self, id: str, holder: str) -> None:
        self._holders[id] = holder
        _ACTIVE_HOLDERS.add(holder)


class RunCheckpoints(SqliteSaver):
    """LangGraph's saver, except that a file that fails does not fail the run.

    The newest checkpoint is the last written one: ids follow the clock, which may be set back.
    """

    store: RunStore

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the checkpoint that is named, else the newest one."""
        wanted = config["configurable"]
        if not wanted.get("checkpoint_id"):
            query = """
            SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints
            WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1
            """
            thread = wanted["thread_id"], wanted.get("checkpoint_ns", "")
            for row in self.conn.execute(query, thread).fetchall():
                names = "thread_id", "checkpoint_ns", "checkpoint_id"
                config = {"configurable": dict(zip(names, row, strict=True))}
        return super().get_tuple(config)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint."""
        return await self._tolerant(lambda: self.get_tuple(config))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint."""
        written = await self._tolerant(lambda: self.put(config, checkpoint, metadata, new_versions))
        return written or {
            "configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}
        }

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Write what a task has returned."""
        await self._tolerant(lambda: self.put_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints of a run."""
        await self._tolerant(lambda: self.delete_thread(thread_id))

    async def alist(
        self, config: RunnableConfig | None, **options: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints, newest first. Raises RunsError."""

        def read(connection: sqlite3.Connection) -> list[CheckpointTuple]:
            found = {one.checkpoint["id"]: one for one in self.list(config, **options)}
            query = "SELECT checkpoint_id FROM checkpoints WHERE ?1 IN (thread_id, '')"
            thread = config["configurable"]["thread_id"] if config else ""
            rows = connection.execute(f"{query} ORDER BY rowid DESC", (thread,))
            return [found[id] for (id,) in rows if id in found]

        for one in await self.store.do("read", read):
            yield one

    async def _tolerant(self, work: Callable[[], T]) -> T | None:
        """The result of the work, None if the file cannot be used."""
        with suppress(RunsError):
            return await self.store.do("written", lambda _: work())
        return None

    async def delete_path_steps(self, run: str) -> None:
        """Delete the paths' own steps of a run that is over; it can be forked at outer steps."""
        with suppress(RunsError):
            for table in ("checkpoints", "writes"):
                statement = f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns <> ''"
                await self.store._write(statement, (run,))


def unkept(error: RunsError) -> str:
    """A note on a run that goes on without being kept."""
    return f"The run goes on without being kept: {error}"


def new_run_id() -> str:
    """An id that no other run has."""
    return uuid4().hex[:12]


def check_run_id(id: str) -> str:
    """Return the id if it can be stored, shown and typed. Raises UsageError."""
    if not id.strip() or len(id) > 200 or not id.isprintable() or id.startswith("-"):
        raise UsageError(
            f"{id[:50]!r} cannot be the id of a run: give it 1 to 200 printable characters, the "
            "first of them no '-'."
        )
    return id


def _record(row: Any) -> RunRecord:
    id, corpus, question, options, status, holder, began, updated, error, reading = row
    process = _process_of(holder) if status == "running" else None
    if status == "running" and process is None:
        status = "interrupted"
    values = json.loads(options)
    summary = RunSummary(
        *(id, corpus, question, status, began, updated, values.get("decider", "")),
        error=error,
        process=process,
        follow=values.get("follow"),
    )
    return RunRecord(summary, values, _READING.validate_json(reading) if reading else None, holder)


def _new_holder() -> str:
    """A name of this process for one run, which no other process and no other run has."""
    return f"{os.getpid()} {_start_of(psutil.Process())} {uuid4().hex}"


def _start_of(process: psutil.Process) -> float:
    """When it began, in seconds that stay where the clock is set: on Linux those since the boot."""
    return float(process.create_time() - (psutil.boot_time() if psutil.LINUX else 0))


def _process_of(holder: str) -> int | None:
    """The number of the process with this name, if it still works on the run."""
    number, born, _ = holder.split(" ")
    if int(number) == os.getpid() and holder not in _ACTIVE_HOLDERS:
        return None
    try:
        process = psutil.Process(int(number))
        same = abs(_start_of(process) - float(born)) < _START_TOLERANCE
        return process.pid if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.Error:
        return None
