"""The run store: questions, status and checkpoints of runs, in a database."""

import importlib
import json
import logging
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

import psutil
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.sqlite import SqliteSaver

from graphreader.agent.state import READING
from graphreader.database import Database, Row, database_at
from graphreader.errors import RunsError, UnknownRunError, UsageError
from graphreader.reading import Reading
from graphreader.scope import Scope

T = TypeVar("T")
logger = logging.getLogger("graphreader.agent")
Status = Literal["running", "finished", "failed", "interrupted"]

TASK_RESULT = "__return__"
"""The channel in which LangGraph keeps the result of a task."""

_KEPT_OF_PATHS = {TASK_RESULT, *WRITES_IDX_MAP}  # and errors and interrupts
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

_ACTIVE_HOLDERS: set[str] = set()
"""Holders of this process, in all of its stores, that still work on their runs."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A kept run; `run` is its id, `began` and `updated` are times in epoch seconds.

    A run is `interrupted` if its process has ended; `process` is the number of the one that works
    on it now, on its machine. `error` says why it failed; `follow` is the run that it follows up.
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

    @property
    def scope(self) -> Scope:
        """The scope of the question; runs of earlier versions have none."""
        return Scope.of(self.options.get("scope", ()))


class RunStore:
    """The kept runs, in a file or PostgreSQL, which the first call opens. Methods raise RunsError.

    `failures` say why runs of this process are not kept, or not to their end.
    """

    def __init__(self, place: Path | str) -> None:
        remedy = "move it and the files next to it away; a new one is begun"
        self._database = database_at(place, _TABLES, RunsError, remedy)
        self.failures: dict[str, RunsError] = {}
        self._is_closed = False
        self._saver: RunCheckpoints | None = None
        self._holders: dict[str, str] = {}

    async def begin(self, id: str, corpus: str, question: str, options: Mapping[str, Any]) -> bool:
        """Record a new run of this process; False if there is a run with this id."""
        now = time.time()
        statement = """
        INSERT INTO runs (id, corpus, question, options, status, holder, began, updated)
        VALUES (?, ?, ?, ?, 'running', ?, ?, ?) ON CONFLICT DO NOTHING
        """
        values = id, corpus, question, json.dumps(options)
        return await self._hold(id, lambda holder: (statement, (*values, holder, now, now)))

    async def take(self, record: RunRecord) -> None:
        """Claim a kept run for this process, to resume it. Raises UsageError if it is under way."""
        run, now = record.summary, time.time()
        statement = """
        UPDATE runs SET status = 'running', holder = ?, updated = ?, error = NULL, reading = NULL
        WHERE id = ? AND holder = ? AND updated = ?
        """
        values = now, run.run, record.holder, run.updated
        if run.status == "running" or not await self._hold(
            run.run, lambda holder: (statement, (holder, *values))
        ):
            raise UsageError(
                f"The run {run.run} is under way already"
                + (f" in process {run.process}" if run.process else "")
                + ": wait until it has ended, or end it."
            )
        self.failures.pop(run.run, None)

    async def end(
        self, id: str, status: Status, reading: Reading | None = None, error: str | None = None
    ) -> None:
        """Record that this process has ended a run, and its result."""
        holder = self._holders.pop(id, None)
        if holder is None:
            return
        text = READING.dump_json(reading).decode() if reading else None
        # The order of the rows is that in which runs ended, whatever the clock says.
        columns = "rowid = (SELECT max(rowid) + 1 FROM runs), status = ?, updated = ?"
        columns += ", reading = ?, error = ?"
        statement = f"UPDATE runs SET {columns} WHERE id = ? AND holder = ?"
        try:
            await self._write(statement, (status, time.time(), text, error, id, holder))
        except RunsError as failure:
            self.lose(id, failure)
            raise
        finally:  # even if the status cannot be written, the run is free
            await self._release(holder)

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
        query = f"SELECT {_COLUMNS}, NULL FROM runs WHERE corpus = coalesce(?, corpus)"
        records = await self._records(f"{query} ORDER BY began DESC, id", corpus)
        return [one.summary for one in records]

    async def expired(self, keep: int) -> list[str]:
        """The ids of runs to delete: all but the newest, `keep` finished and `keep` other runs."""
        records = await self._records(f"SELECT {_COLUMNS}, NULL FROM runs WHERE status = 'running'")
        left = [(one.summary.run, one.holder) for one in records if not one.summary.process]
        if left:
            # A run may have ended since it was read.
            interrupt = "UPDATE runs SET status = 'interrupted' WHERE id = ? AND holder = ?"
            await self._write(f"{interrupt} AND status = 'running'", *left)
        query = """
        SELECT id FROM runs WHERE status <> 'running' AND (status = 'finished') = ?
        ORDER BY rowid DESC LIMIT 1000000 OFFSET ?
        """
        finished, others = [await self._read(query, kind, keep) for kind in (True, False)]
        return [row[0] for row in (*finished, *others)]

    async def delete(self, ids: Collection[str]) -> None:
        """Delete runs. Their checkpoints are deleted by their saver."""
        if ids:
            await self._write("DELETE FROM runs WHERE id = ?", *[(id,) for id in ids])

    async def saver(self) -> "RunCheckpoints":
        """LangGraph's saver in these tables."""
        if self._saver is None:
            saver = RunCheckpoints(self)
            await self.do("opened", saver.setup)
            self._saver = saver
        return self._saver

    async def do(self, verb: str, work: Callable[[Any], T]) -> T:
        """Call `work` with the connection, to its end if cancelled; failures name the `verb`."""
        return await self._open().arun(lambda: self._database.do(verb, work))

    def lose(self, run: str, reason: RunsError) -> None:
        """Note that a run is not kept from here on."""
        if run not in self.failures:
            logger.warning("A run is not kept: %s", reason)
            self.failures[run] = reason

    async def aclose(self) -> None:
        """Interrupt the runs that this store still holds, and close it for good."""
        for id in list(self._holders):
            with suppress(RunsError):
                await self.end(id, "interrupted")
        self._is_closed = True
        await self._database.arun(self._database.close)

    async def _begins_with(self, prefix: str) -> list[RunRecord]:
        """At most two runs whose ids begin with a prefix; a run with exactly that id is first."""
        query = f"SELECT {_COLUMNS}, reading FROM runs WHERE substr(id, 1, ?) = ?"
        return await self._records(f"{query} ORDER BY id LIMIT 2", len(prefix), prefix)

    async def _records(self, query: str, *values: Any) -> list[RunRecord]:
        rows = await self._read(query, *values)
        locked = await self._database.arun(self._database.locked) if rows else None
        records = [_record(row, locked) for row in rows]
        if locked is not None and any(one.summary.status == "interrupted" for one in records):
            rows = await self._read(query, *values)  # a run may have ended before the second look
            records = [_record(row, locked) for row in rows]
        return records

    async def _write(self, statement: str, *rows: Row) -> int:
        return await self._open().awrite(statement, *rows)

    async def _read(self, query: str, *values: Any) -> list[Row]:
        return await self._open().aread(query, *values)

    def _open(self) -> Database:
        if self._is_closed:
            raise RunsError("The store of runs is closed.")
        return self._database

    async def _hold(self, id: str, entry: Callable[[str], tuple[str, Row]]) -> bool:
        """Write an entry with a new holder; return whether this process now holds the run."""
        holder = f"{os.getpid()} {_start_of(psutil.Process())} {uuid4().hex}"
        _ACTIVE_HOLDERS.add(holder)
        is_ours = False
        try:
            if self._database.is_shared:
                await self._open().arun(lambda: self._database.try_lock(_lock_of(holder)))
            is_ours = await self._write(*entry(holder)) > 0
        except RunsError as error:
            self.lose(id, error)
            raise
        finally:
            if not is_ours:
                await self._release(holder)
        self._holders |= {id: holder} if is_ours else {}
        return is_ours

    async def _release(self, holder: str) -> None:
        _ACTIVE_HOLDERS.discard(holder)
        if self._database.is_shared:
            await self._database.arun(lambda: self._database.unlock(_lock_of(holder)))


class RunCheckpoints(BaseCheckpointSaver[str]):
    """A LangGraph saver in the database of runs, whose failure does not fail a run.

    After a lost step, no later step of the run is kept: they would not fit together. The newest
    checkpoint is the last written one: ids follow the clock, which may be set back.
    """

    def __init__(self, store: RunStore) -> None:
        super().__init__()
        self.store = store
        self._saver: Any = None

    def setup(self, connection: Any) -> None:
        """Make the tables. They number their rows in PostgreSQL, too."""
        database = self.store._database
        with database.alone(connection):
            self._saver_at(connection).setup()
            if database.is_shared:
                connection.execute(
                    "ALTER TABLE checkpoints ADD COLUMN IF NOT EXISTS rowid BIGINT "
                    "GENERATED BY DEFAULT AS IDENTITY"
                )

    def _saver_at(self, connection: Any) -> Any:
        """LangGraph's saver with this connection."""
        kept = self._saver
        if not kept or kept.conn is not connection or kept.serde is not self.serde:
            kind: Any = SqliteSaver
            if self.store._database.is_shared:
                kind = importlib.import_module("langgraph.checkpoint.postgres").PostgresSaver
            self._saver = kind(connection, serde=self.serde)
        return self._saver

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The next version of a channel."""
        number = int(current.split(".")[0]) + 1 if current else 1
        return f"{number:032}.{random.random():016}"

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the checkpoint that is named, else the newest one."""
        query = """
        SELECT checkpoint_id FROM checkpoints
        WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1
        """
        wanted = config["configurable"]
        names = wanted["thread_id"], wanted.get("checkpoint_ns", "")

        def read(connection: Any) -> CheckpointTuple | None:
            id = wanted.get("checkpoint_id")
            if not id:
                row = self.store._database.execute(connection, query, names).fetchone()
                if row is None:
                    return None
                id = row[0]
            keys = dict(zip(("thread_id", "checkpoint_ns"), names, strict=True))
            named = {"configurable": {**wanted, **keys, "checkpoint_id": id}}
            found: CheckpointTuple | None = self._saver_at(connection).get_tuple(named)
            return found

        return await self._tolerant(config, read)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint."""
        values = config, checkpoint, metadata, new_versions
        written: RunnableConfig | None = await self._tolerant(
            config, lambda one: self._saver_at(one).put(*values)
        )
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
        """Write the result of a task.

        The result of a node of a path is not written: the node is alone in its step, whose
        checkpoint comes next. If the process ends in between, the node runs again with the
        decisions that are kept.
        """
        of_path = bool(config["configurable"].get("checkpoint_ns"))
        if of_path and not any(name in _KEPT_OF_PATHS for name, _ in writes):
            return
        values = config, writes, task_id, task_path
        await self._tolerant(config, lambda one: self._saver_at(one).put_writes(*values))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints of a run."""
        with suppress(RunsError):
            await self.store.do("written", lambda one: self._saver_at(one).delete_thread(thread_id))

    async def alist(
        self, config: RunnableConfig | None, **options: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints, newest first. Raises RunsError."""

        def read(connection: Any) -> list[CheckpointTuple]:
            saver = self._saver_at(connection)
            found = {one.checkpoint["id"]: one for one in saver.list(config, **options)}
            query = "SELECT checkpoint_id FROM checkpoints WHERE ? IN (thread_id, '')"
            thread = config["configurable"]["thread_id"] if config else ""
            query += " ORDER BY rowid DESC"
            rows = self.store._database.execute(connection, query, [thread])
            return [found[id] for (id,) in rows.fetchall() if id in found]

        for one in await self.store.do("read", read):
            yield one

    async def _tolerant(self, config: RunnableConfig, work: Callable[[Any], T]) -> T | None:
        """The result of the work, None if the database cannot be used."""
        run = config["configurable"]["thread_id"]
        if run not in self.store.failures:
            try:
                return await self.store.do("written", work)
            except RunsError as error:
                self.store.lose(run, error)
        return None

    async def delete_path_steps(self, run: str) -> None:
        """Delete the steps within the paths of a finished run; it can be forked at other steps."""
        tables = ["checkpoints", "writes"]
        if self.store._database.is_shared:
            tables = ["checkpoints", "checkpoint_writes", "checkpoint_blobs"]
        with suppress(RunsError):
            for table in tables:
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


def _record(row: Any, locked: Collection[int] | None) -> RunRecord:
    """The run of a row; `locked` are the locks that the processes of shared tables hold."""
    id, corpus, question, options, status, holder, began, updated, error, reading = row
    process = None
    if status == "running":
        process = _process_of(holder, locked)
        status = "running" if process else "interrupted"
    values = json.loads(options)
    summary = RunSummary(
        *(id, corpus, question, status, began, updated, values.get("decider", "")),
        error=error,
        process=process,
        follow=values.get("follow"),
    )
    return RunRecord(summary, values, READING.validate_json(reading) if reading else None, holder)


def _start_of(process: psutil.Process) -> float:
    """A process's start in seconds that stay when the clock is set: on Linux since the boot."""
    return float(process.create_time() - (psutil.boot_time() if psutil.LINUX else 0))


def _lock_of(holder: str) -> int:
    """The lock that the holder of a run keeps while it works on it."""
    return int(holder.rpartition(" ")[2][:15], 16)


def _process_of(holder: str, locked: Collection[int] | None) -> int | None:
    """The number of the process with this name, if it still works on the run."""
    number, born, _ = holder.split(" ")
    if locked is not None:
        return int(number) if _lock_of(holder) in locked else None
    if int(number) == os.getpid() and holder not in _ACTIVE_HOLDERS:
        return None
    try:
        process = psutil.Process(int(number))
        same = abs(_start_of(process) - float(born)) < _START_TOLERANCE
        return process.pid if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.Error:
        return None
