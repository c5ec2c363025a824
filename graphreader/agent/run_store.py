"""The register of runs: which there were, how far they are, what came of them.

A run belongs to the process that goes on with it. Where that is gone, the run is interrupted.

The one file in which runs are kept, with LangGraph's checkpoints among them.

One connection in one thread, and one lock: a run's steps wait for each other here and not, with
pauses, for SQLite's lock, which is only between processes. Whoever asks and whoever manages runs
get the same RunsError where the file is of no use; the first go on without it.

One run while it is under way: entered, its decisions written down, its end noted.

Where the file of runs is of no use the run goes on, and a note says that it is not kept.

The decisions of a run, written down as they are taken: none is ever paid for twice.

A step is kept only when it is done, and it may have taken several decisions. Those that a run had
taken when it broke off are found here by all that was shown for them, and each serves once.

LangGraph's checkpoints in the file of kept runs.
"""

import asyncio
import json
import logging
import os
import sqlite3
import time
from collections import defaultdict, deque
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeVar
from uuid import uuid4

import aiosqlite
import psutil
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import TypeAdapter

from graphreader.errors import DecisionError, RunsError, UnknownRunError, UsageError
from graphreader.files import open_sqlite, sqlite_problem
from graphreader.llm.cache import key_of, restored
from graphreader.llm.protocols import Budget, Decider, Decision, DecisionResult, Task, TokenCallback
from graphreader.reading import Reading
from graphreader.usage import Usage

T = TypeVar("T")
logger = logging.getLogger("graphreader.agent")
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
        sentence = sqlite_problem(self.path, what, error, anew)
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
        return open_sqlite(
            self.path,
            FORM,
            _TABLES,
            timeout=_PATIENCE,
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


Status = Literal["running", "finished", "failed", "interrupted"]

# The system's answer for one process wavers a little when its clock is set.
_SECONDS = 2.0

_BEGIN: Final = """
INSERT OR IGNORE INTO runs (id, corpus, question, options, status, holder, began, updated)
VALUES (?, ?, ?, ?, 'running', ?, ?, ?)
"""

_TAKE: Final = """
UPDATE runs SET status = 'running', holder = ?, updated = ?, error = NULL, reading = NULL
WHERE id = ? AND holder = ?
"""

_END: Final = """
UPDATE runs SET status = ?, updated = ?, reading = ?, error = ? WHERE id = ? AND holder = ?
"""

_COLUMNS: Final = "id, corpus, question, options, status, holder, began, updated, error"

_LIST: Final = f"""
SELECT {_COLUMNS}, NULL FROM runs WHERE ?1 IS NULL OR corpus = ?1 ORDER BY began DESC, id
"""

_ALIKE: Final = f"""
SELECT {_COLUMNS}, reading FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 2
"""

_EXPIRED: Final = """
SELECT id FROM runs WHERE status <> 'running' AND (status = 'finished') = ?
ORDER BY updated DESC LIMIT -1 OFFSET ?
"""

_RUNNING: Final = "SELECT id, holder FROM runs WHERE status = 'running'"
_LEFT: Final = "UPDATE runs SET status = 'interrupted' WHERE id = ? AND holder = ?"
_FORGET: Final = ("DELETE FROM decisions WHERE run = ?", "DELETE FROM runs WHERE id = ?")
_READING = TypeAdapter(Reading)

_HELD_HERE: Final[set[str]] = set()
"""Holders of this process, of all its registers, that still go on with their runs."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One kept run: what was asked, who answers, how far it is; times in seconds of the epoch.

    `error` says why it failed, `process` is the number of the process that goes on with it; each is
    None for other runs.
    """

    id: str
    corpus: str
    question: str
    status: Status
    began: float
    updated: float
    decider: str
    error: str | None = None
    process: int | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """All that the register has of a run: `options` are what it takes to go on alike.

    A run that failed may have a reading all the same, of what it had found.
    """

    summary: RunSummary
    options: Mapping[str, Any]
    reading: Reading | None
    holder: str


class RunRegistry:
    """The runs of one file. Whatever it does raises RunsError where the file is of no use."""

    def __init__(self, file: RunFile) -> None:
        self.file = file
        self._held: dict[str, str] = {}

    async def begin(self, id: str, corpus: str, question: str, options: Mapping[str, Any]) -> bool:
        """Enter a new run, held by this process; False where there is one of that id."""
        now, holder = time.time(), _holder()
        row = (id, corpus, question, json.dumps(options), holder, now, now)
        entered = await self.file.write(_BEGIN, row) > 0
        if entered:
            self._hold(id, holder)
        return entered

    async def take(self, record: RunRecord) -> None:
        """Go on with a run. Raises UsageError where it is under way."""
        run, holder = record.summary, _holder()
        free = run.status != "running"
        row = (holder, time.time(), run.id, record.holder)
        if not free or not await self.file.write(_TAKE, row):
            raise UsageError(
                f"The run {run.id} is under way already"
                + (f" in process {run.process}" if run.process else "")
                + ": wait until it has ended, or end it."
            )
        self._hold(run.id, holder)

    async def finish(self, id: str, reading: Reading) -> None:
        """The run is over; its reading is kept."""
        await self._end(id, "finished", reading=_READING.dump_json(reading).decode())

    async def fail(self, id: str, error: str, reading: Reading | None = None) -> None:
        """The run ended with a failure; it can be gone on with."""
        kept = _READING.dump_json(reading).decode() if reading else None
        await self._end(id, "failed", reading=kept, error=error)

    async def interrupt(self, id: str) -> None:
        """Nobody goes on with the run for now."""
        await self._end(id, "interrupted")

    async def find(self, id: str) -> RunRecord | None:
        """The run of exactly that id."""
        found = [_record(row) for row in await self.file.read(_ALIKE, (id,))]
        return found[0] if found and found[0].summary.id == id else None

    async def get(self, beginning: str) -> RunRecord:
        """The run whose id is, or alone begins with, what is given. Raises UnknownRunError."""
        found = [_record(row) for row in await self.file.read(_ALIKE, (beginning,))]
        if found and (len(found) == 1 or found[0].summary.id == beginning) and beginning:
            return found[0]
        if not found or not beginning:
            raise UnknownRunError(
                f"No run {beginning!r} is kept: `graphreader runs list` shows those that are."
            )
        raise UnknownRunError(f"Several runs begin with {beginning!r}: name more of the id.")

    async def summaries(self, corpus: str | None = None) -> list[RunSummary]:
        """The runs, of one corpus or of all, newest first."""
        return [_record(row).summary for row in await self.file.read(_LIST, (corpus,))]

    async def expired(self, keep: int) -> list[str]:
        """The ids of all but the `keep` newest finished runs, and of all but as many others.

        Those whose process is gone are noted as interrupted, and count.
        """
        running = await self.file.read(_RUNNING)
        left = [(id, holder) for id, holder in running if _living(holder) is None]
        if left:
            await self.file.write(_LEFT, *left)
        rows = [
            row
            for finished in (True, False)
            for row in await self.file.read(_EXPIRED, (finished, keep))
        ]
        return [row[0] for row in rows]

    async def forget(self, ids: Iterable[str]) -> None:
        """Take runs out, with their decisions."""
        rows = [(id,) for id in ids]
        for statement in _FORGET if rows else ():
            await self.file.write(statement, *rows)

    async def aclose(self) -> None:
        """Let go of the runs that it still holds, and close the file for good."""
        for id in list(self._held):
            with suppress(RunsError):
                await self.interrupt(id)
        await self.file.aclose()

    async def _end(
        self, id: str, status: Status, reading: str | None = None, error: str | None = None
    ) -> None:
        holder = self._held.get(id)
        if holder is None:
            return
        # Where it cannot be written, the run is free all the same, and written when all is closed.
        _HELD_HERE.discard(holder)
        await self.file.write(_END, (status, time.time(), reading, error, id, holder))
        if self._held.get(id) == holder:
            del self._held[id]

    def _hold(self, id: str, holder: str) -> None:
        self._held[id] = holder
        _HELD_HERE.add(holder)


def new_id() -> str:
    """An id that no other run has."""
    return uuid4().hex[:12]


def checked_id(id: str) -> str:
    """The id, if it is one that can be stored, shown and typed. Raises UsageError."""
    if not id.strip() or len(id) > 200 or not id.isprintable() or id.startswith("-"):
        raise UsageError(
            f"{id[:50]!r} cannot be the id of a run: give it 1 to 200 printable characters, the "
            "first of them no '-'."
        )
    return id


def _record(row: Any) -> RunRecord:
    id, corpus, question, options, status, holder, began, updated, error, reading = row
    process = _living(holder) if status == "running" else None
    if status == "running" and process is None:
        status = "interrupted"
    kept = json.loads(options)
    summary = RunSummary(
        id, corpus, question, status, began, updated, kept.get("decider", ""), error, process
    )
    return RunRecord(summary, kept, _READING.validate_json(reading) if reading else None, holder)


def _holder() -> str:
    """How this process calls itself for one run, as no other does."""
    return f"{os.getpid()} {psutil.Process().create_time()} {uuid4().hex}"


def _living(holder: str) -> int | None:
    """The number of the process that calls itself so, if it still goes on with the run."""
    number, born, _ = holder.split(" ")
    if int(number) == os.getpid() and holder not in _HELD_HERE:
        return None
    try:
        process = psutil.Process(int(number))
        same = abs(process.create_time() - float(born)) < _SECONDS
        return process.pid if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.Error:
        return None


D = TypeVar("D", bound=Decision)

_ADD: Final = """
INSERT INTO decisions
(run, number, asked, prompt, shown, given, decision, decider, prompts, usage)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_ALL: Final = """
SELECT number, asked, prompt, shown, given, decision, decider, prompts, usage
FROM decisions WHERE run = ? ORDER BY number
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One decision: `given` is what its prompt showed, `decision` its fields, None if none came.

    `asked` names all that there was to show, of which `shown` choices were.
    """

    number: int
    asked: str
    prompt: str
    shown: int
    given: Mapping[str, str]
    decision: Mapping[str, Any] | None
    decider: str
    prompts: str
    usage: Usage


class Journal:
    """The decisions of one run, first those that an earlier part of it took."""

    def __init__(self, file: RunFile, run: str, earlier: list[Entry]) -> None:
        self.spent = sum((one.usage for one in earlier), Usage())
        self._file = file
        self._run = run
        self._number = max((one.number for one in earlier), default=0)
        self._left: dict[str, deque[Entry]] = defaultdict(deque)
        for one in earlier:
            if one.decision is not None:
                self._left[one.asked].append(one)

    @classmethod
    async def of(cls, file: RunFile, run: str) -> "Journal":
        """The journal as it stands. Raises RunsError."""
        return cls(file, run, await entries(file, run))

    def take(self, task: Task[D]) -> DecisionResult[D] | None:
        """The decision that was taken for just this, with what it cost then; each only once."""
        left = self._left.get(_asked(task)) if self._left else None
        while left:
            entry = left.popleft()
            decided = restored(task, entry.shown, entry.decision)
            if decided:
                return DecisionResult(decided.decision, decided.task, entry.usage)
        return None

    async def add(
        self, decider: Decider, asked: Task[D], taken: DecisionResult[D] | DecisionError
    ) -> None:
        """Write down what became of a task; where the file is of no use, the run goes on."""
        task = taken.task if isinstance(taken, DecisionResult) else asked
        decision = taken.decision.model_dump_json() if isinstance(taken, DecisionResult) else None
        usage = taken.usage if isinstance(taken, DecisionResult) else taken.spent
        self._number += 1
        row = (
            self._run,
            self._number,
            _asked(asked),
            task.prompt,
            task.choices,
            json.dumps(dict(task.values()), ensure_ascii=False),
            decision,
            decider.name,
            decider.prompts,
            json.dumps(asdict(usage)),
        )
        with suppress(RunsError):
            await self._file.write(_ADD, row)


class Journaled:
    """A decider whose decisions are written down before they are handed on."""

    def __init__(self, decider: Decider, journal: Journal) -> None:
        self.name = decider.name
        self.prompts = decider.prompts
        self.concurrency = decider.concurrency
        self._decider = decider
        self._journal = journal

    @property
    def notice(self) -> str:
        """What the decider has to say."""
        return self._decider.notice

    async def decide(
        self,
        task: Task[D],
        budget: Budget | None = None,
        heard: TokenCallback | None = None,
    ) -> DecisionResult[D]:
        """The decision of the run's earlier part, else a new one."""
        known = self._journal.take(task)
        if known:
            return known
        try:
            decided = await self._decider.decide(task, budget, heard)
        except DecisionError as error:
            if error.spent.calls:
                await self._journal.add(self._decider, task, error)
            raise
        await self._journal.add(self._decider, task, decided)
        return decided

    def measure(self, task: Task[Any]) -> int:
        """How many tokens the decider's prompt has."""
        return self._decider.measure(task)

    async def aclose(self) -> None:
        """Close the decider."""
        await self._decider.aclose()


async def entries(file: RunFile, run: str) -> list[Entry]:
    """All that was decided in a run, in order. Raises RunsError."""
    return [_entry(row) for row in await file.read(_ALL, (run,))]


def _entry(row: Any) -> Entry:
    number, asked, prompt, shown, given, decision, decider, prompts, usage = row
    return Entry(
        number,
        asked,
        prompt,
        shown,
        json.loads(given),
        json.loads(decision) if decision else None,
        decider,
        prompts,
        Usage(**json.loads(usage)),
    )


def _asked(task: Task[Any]) -> str:
    shown = [part for pair in sorted(task.values().items()) for part in pair]
    return key_of(task.prompt, task.phase, *shown)


class Keeper:
    """Keeps one run that the register has entered, or taken, for this process."""

    def __init__(self, register: RunRegistry, run: str, journal: Journal) -> None:
        self.run = run
        self._register = register
        self._journal = journal
        self._failures = register.file.failures

    @classmethod
    async def of(cls, register: RunRegistry, run: str) -> "Keeper":
        """The keeper of a run that this process holds. Raises RunsError."""
        try:
            return cls(register, run, await Journal.of(register.file, run))
        except BaseException:
            with suppress(RunsError):
                await register.interrupt(run)
            raise

    @property
    def spent(self) -> Usage:
        """What the run's earlier part has cost, also what was of no use."""
        return self._journal.spent

    def journaled(self, decider: Decider) -> Decider:
        """The decider with all its decisions written down, the earlier ones not asked again."""
        return Journaled(decider, self._journal)

    async def finish(self, reading: Reading, failure: str = "") -> Reading:
        """The run is over, or has a reading and yet a `failure` to go on from.

        Returns the reading, with a note where something was not kept.
        """
        with suppress(RunsError):
            if failure:
                await self._register.fail(self.run, failure, reading)
            else:
                await self._register.finish(self.run, reading)
        file = self._register.file
        if file.failures == self._failures or not file.trouble:
            return reading
        return replace(reading, notes=(*reading.notes, file.trouble))

    async def fail(self, error: str) -> None:
        """The run ended with a failure."""
        with suppress(RunsError):
            await self._register.fail(self.run, error)

    async def interrupt(self) -> None:
        """Nobody goes on with the run for now."""
        with suppress(RunsError):
            await self._register.interrupt(self.run)


async def forget(
    register: RunRegistry, saver: BaseCheckpointSaver[str] | None, ids: Collection[str]
) -> None:
    """Take runs out with all that is kept of them. Raises RunsError."""
    for id in ids if saver else ():
        assert saver
        await saver.adelete_thread(id)
    await register.forget(ids)


_PATHS: Final = (
    "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_ns <> ''",
    "DELETE FROM writes WHERE thread_id = ? AND checkpoint_ns <> ''",
)


class Checkpoints(AsyncSqliteSaver):
    """LangGraph's own saver, in a file that may fail without failing the run.

    What cannot be kept is left out, and the file's `trouble` tells it. Each write is done to its
    end, also where the run is broken off meanwhile.
    """

    @classmethod
    async def of(cls, file: RunFile) -> "Checkpoints":
        """The checkpoints of the file. Raises RunsError."""
        saver = cls(await file.connection())
        saver.lock = file.lock
        saver.file = file
        await saver._tried(saver.setup())
        return saver

    file: RunFile

    @property
    def usable(self) -> bool:
        """Whether anything can be kept: nothing is once the file has failed."""
        return self.file.holds(self.conn)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint; none where the file is of no use."""
        return await self._tried(super().aget_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints, newest first. Raises RunsError: who asks for them needs them."""
        listed = super().alist(config, filter=filter, before=before, limit=limit)
        try:
            found = [one async for one in listed]
        except (sqlite3.Error, ValueError) as error:
            raise await self.file.failed("read", error, self.conn) from error
        for one in found:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint."""
        kept = await self._tried(super().aput(config, checkpoint, metadata, new_versions))
        place = {**config["configurable"], "checkpoint_id": checkpoint["id"]}
        return kept or {"configurable": place}

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep what a step has written.

        Of one that was broken off only its error: LangGraph hands over what it had written so far,
        and would take that for all of it when the run goes on.
        """
        errors = [write for write in writes if write[0] == ERROR]
        writes = errors or writes
        await self._tried(super().aput_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete what is kept of a run."""
        await self._tried(super().adelete_thread(thread_id))

    async def settle(self, run: str) -> None:
        """Delete the paths' own steps of a run that is over: only the run's can be begun again."""
        with suppress(RunsError):
            for statement in _PATHS:
                await self.file.write(statement, (run,))

    async def _tried(self, work: Coroutine[Any, Any, T]) -> T | None:
        if not self.usable:
            work.close()
            return None
        return await self.file.to_its_end(self._done(work))

    async def _done(self, work: Coroutine[Any, Any, T]) -> T | None:
        try:
            return await work
        except (sqlite3.Error, ValueError) as error:
            # aiosqlite says ValueError where another step's failure has closed the connection.
            if isinstance(error, ValueError) and self.usable:
                raise
            await self.file.failed("written", error, self.conn)
            return None
