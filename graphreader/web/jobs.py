"""The queue of jobs that add texts, in a database: a restart or another server continues it."""

import asyncio
import hashlib
import json
import logging
import shutil
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from uuid import uuid4

from graphreader.database import Row, database_at
from graphreader.errors import GraphReaderError, Neo4jUnavailableError, RunsError
from graphreader.files import relative_name
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import Source, uploaded
from graphreader.ingestion.report import (
    ChunkProgress,
    DocumentEnd,
    DocumentReport,
    DocumentStart,
    EmbeddingProgress,
    IngestEvent,
    IngestReport,
    NormalizationProgress,
    NothingReadError,
)
from graphreader.llm.protocols import Quota
from graphreader.waiting import Waiting
from graphreader.web.access import (
    LOCAL,
    AccessError,
    InvalidTokenError,
    LimitError,
    TokenStore,
)
from graphreader.web.problems import detail_of

State = Literal["queued", "running", "finished", "failed", "cancelled"]
_OPEN = ("queued", "running")
KEPT = 200  # finished jobs
MOST_WAITING = 4 << 30  # bytes of all uploads that are received or wait
REFUSED = ".refused"  # suffix of a file with the reason why an uploaded file is not read
_SMALLEST = 4096  # bytes that a file takes at least
_POLL_SECONDS = 2.0  # between two checks for jobs of other servers
_OUTAGE_SECONDS = 5.0  # after which a job that has lost Neo4j continues
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
_SHARED_TABLES = """;
CREATE TABLE IF NOT EXISTS job_files (
    job TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (job, number)
)
"""
_COLUMNS = "id, corpus, holder, files, state, created, updated, report, error"
logger = logging.getLogger("graphreader.web")


@dataclass(frozen=True, slots=True)
class Job:
    """A job that reads files, given by their uploaded names, into a corpus; times in epoch seconds.

    Without files it extracts the facts of chunks that have none.

    `report` is the outcome of each file, `error` the reason of a failed job. `encoding` is that of
    files that do not declare one, None if it is to be recognized; `ocr` is the choice of an engine
    of OCR, "" for none.
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
    encoding: str | None = None
    ocr: str = ""


@dataclass(slots=True)
class JobProgress:
    """The progress of a job: `documents` as in its report, with chunks `done` of chunks `asked`."""

    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    vectors: EmbeddingProgress | None = None
    merging: NormalizationProgress | None = None
    waiting: str = ""

    def add(self, event: IngestEvent) -> None:
        """Update the progress by the next event of the ingest."""
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
                self.documents[report.title] = _shown(asdict(report))
            case EmbeddingProgress():
                self.vectors = event
            case NormalizationProgress():
                self.merging = event
            case Waiting(text=text):
                self.waiting = text

    def as_dict(self) -> dict[str, Any]:
        """Convert the progress to plain JSON types."""
        return {
            "documents": list(self.documents.values()),
            "vectors": asdict(self.vectors) if self.vectors else None,
            "merging": asdict(self.merging) if self.merging else None,
            "waiting": self.waiting,
        }


class JobStore:
    """The stored jobs, with their files if several servers share them. Methods raise RunsError.

    The server that works on a job holds the lock of its corpus, which ends with the server.
    """

    def __init__(self, place: Path | str) -> None:
        tables = _TABLES if isinstance(place, Path) else _TABLES + _SHARED_TABLES
        self._database = database_at(place, tables, RunsError, "delete it")
        self.is_shared = self._database.is_shared

    async def add(self, job: Job, folder: Path) -> None:
        """Store a new job, with the files of its folder if other servers may do it."""
        names = [_file_in(folder, number) for number in range(len(job.files) * self.is_shared)]

        def write(connection: Any) -> None:
            execute = self._database.execute
            with self._database.transaction(connection):
                for number, file in enumerate(names):
                    row = (job.job, number, file.name, file.read_bytes())
                    execute(connection, "INSERT INTO job_files VALUES (?, ?, ?, ?)", row)
                execute(
                    connection,
                    "INSERT INTO jobs (id, corpus, holder, files, state, created, updated) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(job.job, job.corpus, job.holder, _files_of(job), job.state),
                        *(job.created, job.updated),
                    ),
                )

        await self._database.arun(lambda: self._database.do("written", write))

    async def fetch_files(self, job: Job, folder: Path) -> None:
        """Write the files of a job, perhaps received by another server, into a folder."""
        query = "SELECT name, content FROM job_files WHERE job = ? AND number = ?"
        for number in range(len(job.files) * self.is_shared):
            for name, content in await self._database.aread(query, job.job, number):
                place = folder / str(number)
                place.mkdir(parents=True, exist_ok=True, mode=0o700)
                await asyncio.to_thread((place / name).write_bytes, content)

    async def change(
        self,
        job: str,
        state: State,
        report: Mapping[str, Any] | None = None,
        error: str | None = None,
    ) -> None:
        """Change the state of a job; a cancelled job stays cancelled."""
        text = json.dumps(report, ensure_ascii=False) if report else None
        await self._database.awrite(
            "UPDATE jobs SET state = ?, updated = ?, report = ?, error = ? "
            "WHERE id = ? AND state <> 'cancelled'",
            (state, time.time(), text, error, job),
        )
        if self.is_shared and state not in _OPEN:
            await self._database.awrite("DELETE FROM job_files WHERE job = ?", (job,))

    async def find(self, job: str) -> Job | None:
        """Return the job with an id, if there is one."""
        found = await self._jobs("WHERE id = ?", job)
        return found[0] if found else None

    async def all(self) -> list[Job]:
        """Return all jobs, newest first."""
        return await self._jobs("ORDER BY created DESC, id")

    async def latest(self, corpus: str, most: int) -> list[Job]:
        """Return the latest jobs of a corpus, newest first."""
        return await self._jobs("WHERE corpus = ? ORDER BY created DESC, id LIMIT ?", corpus, most)

    async def claim(self, *, with_tokens: bool) -> Job | None:
        """Return the oldest waiting job of a corpus without a working server; lock the corpus.

        The jobs of tokens belong to servers `with_tokens`, which check them; other jobs do not.
        """
        for job in await self._jobs("WHERE state IN ('queued', 'running') ORDER BY created, id"):
            if (job.holder != LOCAL.name) != with_tokens:
                continue
            lock = _lock_of(job.corpus)
            if await self._database.arun(partial(self._database.try_lock, lock)):
                now = await self.find(job.job)
                if now and now.state in _OPEN:
                    return now
                await self.release(job)
        return None

    async def release(self, job: Job) -> None:
        """Release the lock of a corpus after a job."""
        await self._database.arun(lambda: self._database.unlock(_lock_of(job.corpus)))

    async def lock_upload(self, job: str) -> bool:
        """Mark an upload as being received, until the process ends; False: another process does."""
        lock = partial(self._database.try_lock, _lock_of_upload(job))
        return await self._database.arun(lock)

    async def unlock_upload(self, job: str) -> None:
        """Mark an upload as received."""
        await self._database.arun(partial(self._database.unlock, _lock_of_upload(job)))

    async def waiting_bytes(self) -> int:
        """The size of the files in the database."""
        if not self.is_shared:
            return 0
        query = "SELECT coalesce(sum(octet_length(content)), 0) FROM job_files"
        return int((await self._database.aread(query))[0][0])

    async def forget_old(self) -> None:
        """Delete all finished jobs except the newest."""
        await self._database.awrite(
            "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state NOT IN "
            "('queued', 'running') ORDER BY updated DESC LIMIT 1000000 OFFSET ?)",
            (KEPT,),
        )

    async def aclose(self) -> None:
        """Close the connection, which releases the locks."""
        await self._database.arun(self._database.close)

    async def _jobs(self, clause: str, *values: Any) -> list[Job]:
        rows = await self._database.aread(f"SELECT {_COLUMNS} FROM jobs {clause}", *values)
        return [_job(row) for row in rows]


def _file_in(folder: Path, number: int) -> Path:
    """The path of the numbered file in the folder of a job."""
    return next(folder.joinpath(str(number)).iterdir())


def _of_report(report: IngestReport) -> Mapping[str, Any]:
    """The report of an ingest as plain JSON types."""
    values = report.as_dict()
    return {**values, "documents": [_shown(one) for one in values["documents"]]}


def _shown(document: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a document without the path of its file on this machine."""
    return {**document, "source": relative_name(document["source"])}


def uploaded_sources(
    folder: Path, names: Sequence[str], encoding: str | None, ocr: str
) -> list[Source]:
    """Make the sources of uploaded files, each in a numbered subfolder of `folder`."""
    return [
        _source(_file_in(folder, number), name, encoding, ocr) for number, name in enumerate(names)
    ]


def _source(path: Path, name: str, encoding: str | None, ocr: str) -> Source:
    """The source for an uploaded file, or for the reason why it was refused."""
    source = uploaded(path, name, encoding or "", ocr)
    if path.suffix != REFUSED:
        return source
    title, reason = PurePosixPath(name).stem, path.read_text("utf-8")
    return replace(source, title=title, read=lambda *_: [Refused(title, source.name, reason)])


def _size_of(folder: Path) -> int:
    """The bytes of the files in a folder, with those that small files take."""
    files = [one for one in folder.rglob("*") if one.is_file()]
    return sum(max(one.stat().st_size, _SMALLEST) for one in files)


def _lock_of(corpus: str) -> int:
    return _lock_number(f"jobs of {corpus}")


def _lock_of_upload(job: str) -> int:
    return _lock_number(f"upload of {job}")


def _lock_number(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:15], 16)


def _job(row: Row) -> Job:
    id, corpus, holder, files, state, created, updated, report, error = row
    known = json.loads(report) if report else None
    names = json.loads(files)
    options = names.pop() if names and isinstance(names[-1], dict) else {}
    return Job(
        *(id, corpus, holder, tuple(names), state, created, updated, known, error), **options
    )


def _files_of(job: Job) -> str:
    """The column `files` of a job: the names, and behind them its options if it has some."""
    options = {"encoding": job.encoding, "ocr": job.ocr}
    given = {name: value for name, value in options.items() if value}
    return json.dumps([*job.files, given] if given else job.files)


class Jobs:
    """The worker that does one job after the other, and continues them after a restart.

    Several servers do the jobs of one corpus in turn, and the jobs of several corpora in parallel.
    """

    def __init__(self, reader: GraphReader, tokens: TokenStore | None) -> None:
        settings = reader.resources.settings
        self.store = JobStore(settings.database_of("jobs"))
        self._tokens = tokens
        self._folder = settings.home / "uploads"
        self._reader = reader
        self._wake = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._current: tuple[str, asyncio.Task[None]] | None = None
        self._progress: dict[str, JobProgress] = {}
        self._bytes: dict[str, int] = {}  # of uploads that are received, or wait here
        self._changed = asyncio.Event()
        self._is_closed = False

    def start(self) -> None:
        """Start the worker."""
        self._worker = asyncio.create_task(self._work())

    async def reserve(self, job: str, size: int) -> None:
        """Reserve room for the files of a new job, of `size` bytes at most. Raises LimitError."""
        self._bytes[job] = size
        waiting = sum(self._bytes.values()) + await self.store.waiting_bytes()
        if waiting > MOST_WAITING:
            del self._bytes[job]
            raise LimitError(
                f"The files that wait to be read have up to {waiting >> 20:,} MiB with these, more "
                f"than {MOST_WAITING >> 20:,}: wait until a job has ended."
            )
        await self.store.lock_upload(job)

    async def discard(self, job: str) -> None:
        """Delete the files of a job that is not to be done, or is done."""
        await asyncio.to_thread(shutil.rmtree, self.folder_of(job), True)
        if self._bytes.pop(job, None) is not None:
            await self.store.unlock_upload(job)

    async def aclose(self) -> None:
        """Stop the worker and end all streams; an interrupted job continues at the next start."""
        self._is_closed = True
        self._notify()
        if self._worker:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        await self.store.aclose()

    def folder_of(self, job: str) -> Path:
        """The folder for the files of a job, with a numbered subfolder for each file."""
        return self._folder / job

    def new_id(self) -> str:
        """Make the id of a new job, whose files can be put into its folder."""
        return uuid4().hex[:12]

    async def submit(
        self,
        job: str,
        corpus: str,
        holder: str,
        names: Sequence[str],
        encoding: str | None = None,
        ocr: str = "",
    ) -> Job:
        """Queue a job whose files are in its folder."""
        now = time.time()
        new = Job(job, corpus, holder, tuple(names), "queued", now, now, encoding=encoding, ocr=ocr)
        await self.store.add(new, self.folder_of(job))
        if self.store.is_shared:
            await self.discard(job)
        elif job in self._bytes:
            self._bytes[job] = await asyncio.to_thread(_size_of, self.folder_of(job))
            await self.store.unlock_upload(job)
        self._wake.set()
        return new

    def progress_of(self, job: str) -> Mapping[str, Any]:
        """The progress of a job that runs here: documents, vectors, merging, current waiting."""
        return progress.as_dict() if (progress := self._progress.get(job)) else {}

    async def cancel(self, job: Job, reason: str | None = None) -> None:
        """Cancel a job; the texts that it has read stay."""
        if job.state in _OPEN:
            await self.store.change(job.job, "cancelled", error=reason)
            if self._current and self._current[0] == job.job:
                self._current[1].cancel()
                await asyncio.gather(self._current[1], return_exceptions=True)
            await self.discard(job.job)
        self._notify()

    async def cancel_all(self, corpus: str) -> None:
        """Cancel all jobs of a corpus that is to be deleted."""
        for job in await self.store.all():
            if job.corpus == corpus:
                await self.cancel(job, "The corpus was deleted.")

    async def watch(self, job: str) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the job with its progress after each change, until it has ended."""
        latest: Mapping[str, Any] = {}
        while found := await self.store.find(job):
            changed = self._changed
            state = {**asdict(found), "progress": dict(self.progress_of(job))}
            if state != latest:
                yield (latest := state)
            if found.state not in _OPEN or self._is_closed:
                return
            await self._wait_for(changed, _POLL_SECONDS if self.store.is_shared else None)

    async def _delete_cut_uploads(self) -> None:
        """Delete the files of uploads that an ended process has not received to the end."""
        for folder in await asyncio.to_thread(lambda: [*self._folder.glob("*")]):
            job = await self.store.find(folder.name)
            if job and job.state in _OPEN:
                self._bytes[job.job] = await asyncio.to_thread(_size_of, folder)
            elif await self.store.lock_upload(folder.name):
                await asyncio.to_thread(shutil.rmtree, folder, True)
                await self.store.unlock_upload(folder.name)

    async def _work(self) -> None:
        with suppress(RunsError):
            await self._delete_cut_uploads()
        while True:
            self._wake.clear()
            try:
                job = await self.store.claim(with_tokens=self._tokens is not None)
            except RunsError as error:
                logger.warning("%s", error)
                await asyncio.sleep(_OUTAGE_SECONDS)
                continue
            if job is None:
                await self._wait_for(self._wake, _POLL_SECONDS)
                continue
            task = asyncio.create_task(self._read(job))
            self._current = job.job, task
            try:
                while not (await asyncio.wait([task], timeout=_POLL_SECONDS))[0]:
                    if await self._is_cancelled(job):
                        task.cancel()
                        await asyncio.gather(task, return_exceptions=True)
                        await self.discard(job.job)
                    elif refusal := await self._refusal(job):
                        task.cancel()
                        await asyncio.gather(task, return_exceptions=True)
                        await self._end(job, "failed", None, refusal)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                self._current = None
                self._progress.pop(job.job, None)
                await self.store.release(job)

    async def _wait_for(self, event: asyncio.Event, seconds: float | None) -> None:
        """Wait for an event of this server, perhaps only for some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()

    async def _is_cancelled(self, job: Job) -> bool:
        """Whether another server has cancelled the job."""
        with suppress(RunsError):
            now = await self.store.find(job.job)
            return now is None or now.state == "cancelled"
        return False

    async def _refusal(self, job: Job) -> str:
        """The reason why the token of a job no longer allows it; empty: it does."""
        try:
            with suppress(AccessError):
                await self._quota_of(job)
        except InvalidTokenError as error:
            return str(error)
        return ""

    async def _quota_of(self, job: Job) -> Quota | None:
        """The quota of a job. Raises InvalidTokenError, also if the token opens less now."""
        if self._tokens is None:
            return None
        token = await self._tokens.arun(lambda tokens: tokens.valid(job.holder))
        if not (token.writes and token.sees(job.corpus)):
            raise InvalidTokenError(
                f"The token {job.holder!r} is a new one, which may not change this corpus: send "
                "the texts with another one."
            )
        return self._tokens.quota(token)

    async def _read(self, job: Job) -> None:
        with suppress(RunsError):
            await self.store.change(job.job, "running")
        progress = self._progress[job.job] = JobProgress()
        self._notify()

        def follow(event: IngestEvent) -> None:
            progress.add(event)
            self._notify()

        state: State = "finished"
        report: Mapping[str, Any] | None = None
        error: str | None = None
        try:
            quota = await self._quota_of(job)
            folder = self.folder_of(job.job)
            await self.store.fetch_files(job, folder)
            sources = uploaded_sources(folder, job.files, job.encoding, job.ocr)
            reader = self._reader.at(job.corpus, quota)
            if sources:
                found = await reader.aingest(*sources, progress=follow)
            else:
                found = await reader.aretry_failed(progress=follow)
            report = _of_report(found)
        except NothingReadError as failure:
            state, report, error = "failed", _of_report(failure.report), str(failure)
        except Neo4jUnavailableError as failure:  # after all retries of its statements
            progress.waiting = str(failure)
            self._notify()
            await asyncio.sleep(_OUTAGE_SECONDS)
            return  # the job stays the next one
        except (RunsError, AccessError):  # after all retries
            await asyncio.sleep(_OUTAGE_SECONDS)
            return
        except GraphReaderError as failure:
            state, error = "failed", detail_of(failure)
        except asyncio.CancelledError:
            raise
        except Exception as failure:
            logger.error("The job %s failed", job.job, exc_info=failure)
            state, error = "failed", f"An unexpected error occurred ({type(failure).__name__})."
        await self._end(job, state, report, error)

    async def _end(
        self, job: Job, state: State, report: Mapping[str, Any] | None, error: str | None
    ) -> None:
        """Record the end of a job, and delete its files."""
        try:
            await self.store.change(job.job, state, report, error)
            await self.store.forget_old()
        except RunsError:
            await asyncio.sleep(_OUTAGE_SECONDS)
            return  # a repetition would find all texts read
        await self.discard(job.job)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
