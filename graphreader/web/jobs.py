"""Jobs of reading texts in: a queue in a file of the home folder, so that a restart goes on."""

import asyncio
import json
import logging
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from graphreader.errors import GraphReaderError, Neo4jUnavailableError, RunsError
from graphreader.files import open_sqlite, sqlite_problem
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.loading.sources import uploaded
from graphreader.ingestion.report import (
    ChunkProgress,
    DocumentEnd,
    DocumentReport,
    DocumentStart,
    EmbeddingProgress,
    IngestEvent,
    NormalizationProgress,
    NothingReadError,
)
from graphreader.llm.protocols import allowance
from graphreader.waiting import Waiting
from graphreader.web.access import TokenStore
from graphreader.web.problems import detail_of

State = Literal["queued", "running", "finished", "failed", "cancelled"]
KEPT = 200  # jobs that are over
_LOCK_SECONDS = 5.0
_OUTAGE_SECONDS = 5.0  # after which a job goes on that has lost Neo4j
_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    corpus TEXT NOT NULL,
    holder TEXT NOT NULL,
    files TEXT NOT NULL,
    state TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    report TEXT,
    error TEXT
)
"""
_COLUMNS = "id, corpus, holder, files, state, created, updated, report, error"
logger = logging.getLogger("graphreader.web")


@dataclass(frozen=True, slots=True)
class Job:
    """Files to read into a corpus, by the names that they were sent under; times of the epoch.

    Without files the chunks that have no facts yet are read again.

    `report` is the outcome of each file, `error` why the job has failed.
    """

    job: str
    corpus: str
    holder: str
    files: tuple[str, ...]
    state: State
    created: float
    updated: float
    report: Mapping[str, Any] | None = None
    error: str | None = None


@dataclass(slots=True)
class JobProgress:
    """How far a job is: `documents` as in its report, with the chunks `done` of those `asked`."""

    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    vectors: EmbeddingProgress | None = None
    merging: NormalizationProgress | None = None
    waiting: str = ""

    def add(self, event: IngestEvent) -> None:
        """Take the next event of the ingest into account."""
        self.waiting = ""
        match event:
            case DocumentStart(title=title, chunks=chunks, missing=missing):
                self.documents[title] = {
                    **asdict(DocumentReport(title, "", "incomplete", chunks=chunks, asked=missing)),
                    **{"status": "reading", "done": 0},
                }
            case ChunkProgress(title=title, chunks=chunks, facts=facts):
                self.documents[title]["done"] += chunks
                self.documents[title]["facts"] += facts
            case DocumentEnd(report=report):
                self.documents[report.title] = asdict(report)
            case EmbeddingProgress():
                self.vectors = event
            case NormalizationProgress():
                self.merging = event
            case Waiting(text=text):
                self.waiting = text

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "documents": list(self.documents.values()),
            "vectors": asdict(self.vectors) if self.vectors else None,
            "merging": asdict(self.merging) if self.merging else None,
            "waiting": self.waiting,
        }


class JobStore:
    """The jobs in one SQLite file. Methods raise RunsError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, job: Job) -> None:
        """Enter a new job."""
        row = (*(job.job, job.corpus, job.holder, json.dumps(job.files), job.state),)
        self._do(
            "INSERT INTO jobs (id, corpus, holder, files, state, created, updated) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*row, job.created, job.updated),
        )

    def change(
        self,
        job: str,
        state: State,
        report: Mapping[str, Any] | None = None,
        error: str | None = None,
    ) -> None:
        """Record another state of a job."""
        text = json.dumps(report, ensure_ascii=False) if report else None
        self._do(
            "UPDATE jobs SET state = ?, updated = ?, report = ?, error = ? WHERE id = ?",
            (state, time.time(), text, error, job),
        )

    def find(self, job: str) -> Job | None:
        """The job of that id."""
        rows = self._do(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", (job,))
        return _job(rows[0]) if rows else None

    def all(self) -> list[Job]:
        """All jobs, newest first."""
        rows = self._do(f"SELECT {_COLUMNS} FROM jobs ORDER BY created DESC, id")
        return [_job(row) for row in rows]

    def latest(self, corpus: str, most: int) -> list[Job]:
        """The latest jobs of a corpus, newest first."""
        rows = self._do(
            f"SELECT {_COLUMNS} FROM jobs WHERE corpus = ? ORDER BY created DESC, id LIMIT ?",
            (corpus, most),
        )
        return [_job(row) for row in rows]

    def next(self) -> Job | None:
        """The oldest job that is to be done."""
        rows = self._do(
            f"SELECT {_COLUMNS} FROM jobs WHERE state IN ('queued', 'running') "
            "ORDER BY created, id LIMIT 1"
        )
        return _job(rows[0]) if rows else None

    def forget_old(self) -> None:
        """Delete all but the newest jobs that are over."""
        self._do(
            "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs "
            "WHERE state NOT IN ('queued', 'running') ORDER BY updated DESC LIMIT -1 OFFSET ?)",
            (KEPT,),
        )

    def _do(self, statement: str, row: Sequence[Any] = ()) -> list[Any]:
        try:
            connection = open_sqlite(
                self.path, 1, _TABLES, timeout=_LOCK_SECONDS, synchronous="NORMAL"
            )
            with closing(connection):
                return connection.execute(statement, row).fetchall()
        except (OSError, sqlite3.Error) as error:
            message = sqlite_problem(self.path, "used", error, "delete it")
            raise RunsError(message) from error


def _job(row: Any) -> Job:
    id, corpus, holder, files, state, created, updated, report, error = row
    known = json.loads(report) if report else None
    names = tuple(json.loads(files))
    return Job(id, corpus, holder, names, state, created, updated, known, error)


class Jobs:
    """Does one job after the other; those that wait or were interrupted go on after a restart."""

    def __init__(self, reader: GraphReader, home: Path, tokens: TokenStore | None) -> None:
        self.store = JobStore(home / "jobs.sqlite")
        self._tokens = tokens
        self._folder = home / "uploads"
        self._reader = reader
        self._wake = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._current: tuple[str, asyncio.Task[None]] | None = None
        self._progress: dict[str, JobProgress] = {}
        self._changed = asyncio.Event()
        self._is_closed = False

    def start(self) -> None:
        """Begin to work."""
        self._worker = asyncio.create_task(self._work())

    async def aclose(self) -> None:
        """End, for those who watch as well; what is under way goes on after the next start."""
        self._is_closed = True
        self._notify()
        if self._worker:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    def folder_of(self, job: str) -> Path:
        """The folder for the files of a job, one folder a file, by their numbers."""
        return self._folder / job

    def new_id(self) -> str:
        """The id of a new job, whose files can be put into its folder."""
        return uuid4().hex[:12]

    def submit(self, job: str, corpus: str, holder: str, names: Sequence[str]) -> Job:
        """Queue a job, of which the files are in its folder."""
        now = time.time()
        new = Job(job, corpus, holder, tuple(names), "queued", now, now)
        self.store.add(new)
        self._wake.set()
        return new

    def progress_of(self, job: str) -> Mapping[str, Any]:
        """How far a job under way is: each document, vectors, merging, what it waits for."""
        return progress.as_dict() if (progress := self._progress.get(job)) else {}

    async def cancel(self, job: Job) -> None:
        """Cancel a job; what was read stays."""
        if self._current and self._current[0] == job.job:
            self.store.change(job.job, "cancelled")
            self._current[1].cancel()
            await asyncio.gather(self._current[1], return_exceptions=True)
        elif job.state == "queued":
            self.store.change(job.job, "cancelled")
            await asyncio.to_thread(shutil.rmtree, self.folder_of(job.job), True)
        self._notify()

    async def watch(self, job: str) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the job with its progress whenever it changes, until it is over."""
        while found := self.store.find(job):
            changed = self._changed
            yield {**asdict(found), "progress": dict(self.progress_of(job))}
            if found.state not in ("queued", "running") or self._is_closed:
                return
            await changed.wait()

    async def _work(self) -> None:
        while True:
            self._wake.clear()
            try:
                job = self.store.next()
            except RunsError as error:
                logger.warning("%s", error)
                await asyncio.sleep(_LOCK_SECONDS)
                continue
            if job is None:
                await self._wake.wait()
                continue
            task = asyncio.create_task(self._read(job))
            self._current = job.job, task
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                self._current = None

    async def _read(self, job: Job) -> None:
        self.store.change(job.job, "running")
        progress = self._progress[job.job] = JobProgress()
        self._notify()

        def follow(event: IngestEvent) -> None:
            progress.add(event)
            self._notify()

        state: State = "finished"
        report: Mapping[str, Any] | None = None
        error: str | None = None
        try:
            if self._tokens:
                allowance.set(self._tokens.allowance(self._tokens.named(job.holder)))
            sources = [
                uploaded(next(self.folder_of(job.job).joinpath(str(number)).iterdir()), name)
                for number, name in enumerate(job.files)
            ]
            reader = self._reader.at(job.corpus)
            if sources:
                found = await reader.aingest(*sources, progress=follow)
            else:
                found = await reader.aretry_failed(progress=follow)
            report = found.as_dict()
        except NothingReadError as failure:
            state, report, error = "failed", failure.report.as_dict(), str(failure)
        except Neo4jUnavailableError as failure:  # for longer than its statements are tried again
            progress.waiting = str(failure)
            self._notify()
            await asyncio.sleep(_OUTAGE_SECONDS)
            return  # it is still the next job
        except GraphReaderError as failure:
            state, error = "failed", detail_of(failure)
        except asyncio.CancelledError:
            raise
        except Exception as failure:
            logger.error("The job %s failed", job.job, exc_info=failure)
            state, error = "failed", f"An unexpected error occurred ({type(failure).__name__})."
        with suppress(RunsError):
            self.store.change(job.job, state, report, error)
            self.store.forget_old()
        self._progress.pop(job.job, None)
        await asyncio.to_thread(shutil.rmtree, self.folder_of(job.job), True)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
