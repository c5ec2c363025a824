"""The register of runs: which there were, how far they are, what came of them.

A run belongs to the process that goes on with it. Where that is gone, the run is interrupted.
"""

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import uuid4

import psutil
from pydantic import TypeAdapter

from graphreader.errors import RunsError, UnknownRunError, UsageError
from graphreader.reading import Reading
from graphreader.runs.run_file import RunFile

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


class Register:
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
