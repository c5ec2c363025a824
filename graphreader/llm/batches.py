"""Batches of requests, which OpenAI and Anthropic answer within a day at half price.

A batch is entered into the table `batches` before it is created, and deleted once its replies are
in the table `requests`. If the process is killed before it stores the provider's id, the batch is
searched in the provider's list: at OpenAI by our id in its metadata, at Anthropic (no metadata) by
time and number of requests. If two processes of one account crash at once with batches of equal
size, each may pick up the other's batch; its replies do not match and it submits again.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, TypeVar
from uuid import uuid4
from weakref import WeakValueDictionary

from graphreader.database import database_at
from graphreader.errors import (
    CacheError,
    GraphReaderError,
    ModelRefusedError,
    ModelUnavailableError,
    SettingsError,
)
from graphreader.llm.protocols import Budget
from graphreader.llm.providers import api_client, base_url, close
from graphreader.llm.response_limit import MOST_REPLY
from graphreader.llm.retry import ModelService, RequestRejected
from graphreader.waiting import Waiting, announce, announced_if_slow

T = TypeVar("T")
logger = logging.getLogger("graphreader.llm")
MOST_TRIES: Final = 2  # batches in which a request may fail or expire
FIRST_PAUSE, LONGEST_PAUSE = 15.0, 600.0  # seconds between two status requests
_CLOCK_SECONDS: Final = 600.0  # seconds by which the provider's clock may be behind
_LOCK: Final = 0x6261746368  # number of the lock against other processes
_LOCK_PAUSE: Final = 0.2
_OTHER_PROCESS: Final = Waiting(
    "batches", "Waiting for another process that looks at batches or submits some", 0.0
)
_REPLIES_PER_WRITE: Final = 500
_INVALID: Final = (400, 413, 422)  # HTTP statuses of requests that would fail again
_MALFORMED: Final = (LookupError, TypeError, AttributeError)
"""The exceptions of code that reads a record of a provider without its required fields."""
_LONGEST_REASON: Final = 500  # characters
_NO_BATCHES: Final = "has no batch interface: leave --batch out"
_OURS: Final = "graphreader"  # key of our id in the metadata of OpenAI's batches
# A request is in a batch (`batch`), answered (`status`, `reply`), failed for good (FAILED, with the
# reason as its reply), or, without batch and status, to be submitted once more.
FAILED: Final = 0
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY,
    service TEXT NOT NULL,
    corpus TEXT NOT NULL,
    remote TEXT,
    requests INTEGER NOT NULL,
    submitted_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS requests (
    key TEXT PRIMARY KEY,
    batch TEXT,
    tries INTEGER NOT NULL,
    status INTEGER,
    reply TEXT,
    counted INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS requests_of_batch ON requests (batch)
"""
_LOOK_UP: Final = """
SELECT batches.id, requests.status, requests.reply, requests.counted
FROM requests LEFT JOIN batches ON batches.id = requests.batch WHERE requests.key = ?
"""
_LIST: Final = """
SELECT id, service, corpus, remote, requests, submitted_at
FROM batches WHERE service = ? AND corpus = ? ORDER BY submitted_at
"""
_BEGIN: Final = """
INSERT INTO batches (id, service, corpus, remote, requests, submitted_at)
VALUES (?, ?, ?, ?, ?, ?)
"""
_SUBMIT: Final = """
INSERT INTO requests (key, batch, tries) VALUES (?, ?, 1)
ON CONFLICT (key) DO UPDATE SET batch = excluded.batch, tries = requests.tries + 1, reply = NULL
"""
_FAIL: Final = """
UPDATE requests SET status = ?, reply = ? || coalesce(reply, 'no result') || ').'
WHERE batch = ? AND status IS NULL AND tries >= ?
"""
_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""Locks by database, held in this process while batches are fetched or submitted."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A stored batch; `remote` is the provider's id, None if its creation is uncertain."""

    id: str
    service: str
    corpus: str
    remote: str | None
    requests: int
    submitted_at: float


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The provider's status of a batch, with its numbers of answered and failed requests."""

    id: str
    status: str
    requests: int
    answered: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class BatchReply:
    """The reply to one request of a batch: HTTP status and body, or None and the reason."""

    key: str
    status: int | None
    text: str


class BatchRefusedError(GraphReaderError):
    """The provider refused to carry out a batch; the message is its reason."""


class OpenAIBatches:
    """Client of OpenAI's Batch API: a file of requests, files of replies and errors."""

    most_requests, most_bytes = 50_000, 200_000_000

    def __init__(self, client: Any) -> None:
        self._client = client

    def line(self, key: str, path: str, body: Any) -> bytes:
        """Encode a request as one line of JSON."""
        request = {"custom_id": key, "method": "POST", "url": f"/v1{path}", "body": body}
        return json.dumps(request).encode() + b"\n"

    async def create(self, id_: str, lines: Sequence[bytes]) -> str:
        """Create a batch and return the provider's id."""
        file = (f"{_OURS}-{id_}.jsonl", b"".join(lines))
        uploaded = await self._client.files.create(file=file, purpose="batch")
        batch = await self._client.batches.create(
            input_file_id=uploaded.id,
            endpoint=json.loads(lines[0])["url"],
            completion_window="24h",
            metadata={_OURS: id_},
        )
        return str(batch.id)

    async def find(self, batch: Batch, known: set[str]) -> str | None:
        """Find the provider's id of a batch whose creation is uncertain; `known` are other ids."""
        async for one in self._client.batches.list(limit=100):
            if (one.metadata or {}).get(_OURS) == batch.id:
                return str(one.id)
            if one.created_at < batch.submitted_at - _CLOCK_SECONDS:
                break
        return None

    async def status(self, remote: str) -> tuple[BatchStatus, bool]:
        """The state of a batch, and whether it has ended. Raises BatchRefusedError."""
        batch = await self._client.batches.retrieve(remote)
        if batch.status == "failed":  # before any request was carried out
            errors = batch.errors.data if batch.errors and batch.errors.data else []
            raise BatchRefusedError("; ".join(one.message or "" for one in errors) or "no reason")
        counts = batch.request_counts
        numbers = (counts.total, counts.completed, counts.failed) if counts else (0,)
        ended = batch.status in ("completed", "expired", "cancelled")
        return BatchStatus(remote, batch.status.replace("_", " "), *numbers), ended

    async def replies(self, remote: str) -> AsyncIterator[BatchReply]:
        """Yield the replies of a batch that has ended, in any order."""
        batch = await self._client.batches.retrieve(remote)
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            async with self._client.files.with_streaming_response.content(file) as response:
                async for reply in _replies(response.iter_bytes(), self._reply):
                    yield reply

    @staticmethod
    def _reply(line: dict[str, Any]) -> BatchReply:
        if error := line.get("error"):
            return BatchReply(line["custom_id"], None, _reason(error))
        status, body = line["response"]["status_code"], line["response"]["body"]
        if status in (200, *_INVALID):
            return BatchReply(line["custom_id"], status, json.dumps(body))
        return BatchReply(line["custom_id"], None, f"{status}: {_reason(body)}")


class AnthropicBatches:
    """Client of Anthropic's Message Batches, with the methods of OpenAIBatches."""

    most_requests, most_bytes = 100_000, 256_000_000

    def __init__(self, client: Any) -> None:
        self._batches = client.messages.batches

    def line(self, key: str, path: str, body: Any) -> bytes:
        """Encode a request as one line of JSON."""
        return json.dumps({"custom_id": key, "params": body}).encode() + b"\n"

    async def create(self, id_: str, lines: Sequence[bytes]) -> str:
        """Create a batch and return the provider's id."""
        return str((await self._batches.create(requests=list(map(json.loads, lines)))).id)

    async def find(self, batch: Batch, known: set[str]) -> str | None:
        """Find the provider's id of a batch whose creation is uncertain, by time and size."""
        since = datetime.fromtimestamp(batch.submitted_at - _CLOCK_SECONDS, UTC)
        async for one in self._batches.list(limit=100):
            if one.created_at < since:
                break
            if one.id not in known and _total(one.request_counts) == batch.requests:
                return str(one.id)
        return None

    async def status(self, remote: str) -> tuple[BatchStatus, bool]:
        """The state of a batch, and whether it has ended."""
        batch = await self._batches.retrieve(remote)
        counts, total = batch.request_counts, _total(batch.request_counts)
        failed = counts.errored + counts.canceled + counts.expired
        state = batch.processing_status.replace("_", " ")
        return BatchStatus(remote, state, total, counts.succeeded, failed), state == "ended"

    async def replies(self, remote: str) -> AsyncIterator[BatchReply]:
        """Yield the replies of a batch that has ended, in any order."""
        async with self._batches.with_streaming_response.results(remote) as response:
            async for reply in _replies(response.iter_bytes(), self._reply):
                yield reply

    @staticmethod
    def _reply(line: dict[str, Any]) -> BatchReply:
        key, result = line["custom_id"], line["result"]
        if result["type"] == "succeeded":
            return BatchReply(key, 200, json.dumps(result["message"]))
        if result["type"] != "errored":
            return BatchReply(key, None, _reason(result["type"]))
        error = result["error"]["error"]
        if error["type"] == "invalid_request_error":
            return BatchReply(key, 400, json.dumps(result["error"]))
        return BatchReply(key, None, _reason(f"{error['type']}: {_reason(error)}"))


def _total(counts: Any) -> int:
    names = ("processing", "succeeded", "errored", "canceled", "expired")
    return sum(getattr(counts, name) for name in names)


def _reason(error: Any) -> str:
    """The message of an error, which may be an object, perhaps within another, or any value."""
    while isinstance(error, dict) and ("message" in error or "error" in error):
        error = error.get("message") or error.get("error")
    text = error if isinstance(error, str) else json.dumps(error)
    return text[:_LONGEST_REASON].encode("utf-8", "replace").decode()


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a file, without those that are too long to be a reply."""
    line, is_too_long = bytearray(), False
    async for piece in pieces:
        *ends, begun = piece.split(b"\n")
        for end in ends:
            if not is_too_long and len(line) + len(end) <= MOST_REPLY:
                yield bytes(line + end)
            line, is_too_long = bytearray(), False
        is_too_long = is_too_long or len(line) + len(begun) > MOST_REPLY
        if is_too_long:
            line = bytearray()
        else:
            line += begun
    yield bytes(line)


async def _replies(
    pieces: AsyncIterator[bytes], reply_of: Callable[[dict[str, Any]], BatchReply]
) -> AsyncIterator[BatchReply]:
    """Parse replies in JSON Lines. A malformed line is logged and leaves its request unanswered."""
    async for line in _lines(pieces):
        if line.strip():
            try:
                reply = reply_of(json.loads(line))
                reply.key.encode()
            except (*_MALFORMED, ValueError, RecursionError) as error:
                logger.warning("A line of a batch's results is malformed: %s", type(error).__name__)
            else:
                yield reply


PROVIDERS: Final[Mapping[str, type[OpenAIBatches | AnthropicBatches]]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}


class BatchQueue:
    """The stored batches of one service and corpus, and the requests for the next batches."""

    def __init__(
        self, place: Path | str, provider: str, client: object, service: ModelService, corpus: str
    ) -> None:
        self.statuses: list[BatchStatus] = []
        self.submitted = 0
        self.tokens = 0  # that the submitted requests may cost at most
        self._client = client
        self._provider = PROVIDERS[provider](api_client(client))
        self._service = service
        self._owner = f"{service.name} at {base_url(client)}", corpus
        self.corpus = corpus
        remedy = "delete it, which forgets all batches"
        self._database = database_at(place, _TABLES, CacheError, remedy, durable=True)
        self._file = TemporaryFile()  # noqa: SIM115  # closed by aclose
        self._collected: dict[str, int] = {}  # size in bytes of each request in the file, in order
        self._used: list[str] = []
        self._done: list[str] = []

    async def lookup(self, key: str) -> tuple[int | None, str, bool] | None:
        """Look up the reply to a request: status, text, and whether its cost was counted already.

        The status is None while the request is in a batch; the result is None for a new request.
        """
        for batch, status, reply, counted in await self._database.aread(_LOOK_UP, key):
            if batch or status is not None:
                return status, reply or "", bool(counted)
        return (None, "", False) if key in self._collected else None

    async def collect(self, key: str, path: str, body: Any, tokens: int, budget: Budget) -> None:
        """Add a request to the next batch; `tokens` is its largest size with its reply."""
        if key in self._collected:
            return
        await budget.take(tokens, "extract")
        line = self._provider.line(key, path, body)
        self._file.write(line)
        self._collected[key] = len(line)
        self.tokens += tokens

    def count(self, keys: Sequence[str]) -> None:
        """Mark the cost of these replies as counted, with the next `submit`."""
        self._used += keys

    def settle(self, keys: Sequence[str]) -> None:
        """Delete these requests and their replies with the next `submit`."""
        self._done += keys

    async def fail(self, keys: Sequence[str], reason: str) -> None:
        """Mark the first request as failed for good; delete the others, which followed from it."""
        sql = "UPDATE requests SET status = ?, reply = ? WHERE key = ?"
        await self._database.awrite(sql, *((FAILED, reason, key) for key in keys[:1]))
        self.settle(keys[1:])

    async def fetch(self) -> bool:
        """Store the replies of all batches that have ended; return whether there were any."""
        self.statuses, any_ended = [], False
        async with self._locked():
            for batch in [Batch(*row) for row in await self._database.aread(_LIST, *self._owner)]:
                remote = batch.remote or await self._find(batch)
                if remote is None:
                    await self._forget(batch)
                    continue
                status, has_ended = await self._status(batch, remote)
                if has_ended:
                    any_ended = True
                    take = partial(self._store_replies, batch, remote)
                    await self._call(take, self._unknown(remote))
                else:
                    self.statuses.append(status)
        return any_ended

    async def wait(self) -> None:
        """Return once a batch has ended; the pauses between status requests grow."""
        pause = FIRST_PAUSE
        while not await self.fetch() and self.statuses:
            done = sum(one.answered + one.failed for one in self.statuses)
            requests = sum(one.requests for one in self.statuses)
            text = f"{self._service.name}: {done:,} of {requests:,} requests of batches answered"
            announce(Waiting(self._service.name, f"{text}, next look in {pause:.0f} s", pause))
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LONGEST_PAUSE)

    async def submit(self) -> None:
        """Submit the collected requests. Raises DecisionError; `fetch` finds what was created."""
        async with self._locked():
            for statement, keys in (
                ("UPDATE requests SET counted = 1 WHERE key = ?", self._used),
                ("DELETE FROM requests WHERE key = ?", self._done),
            ):
                await self._database.awrite(statement, *((key,) for key in keys))
            self._used, self._done = [], []
            for part in self._parts():
                await self._submit(part)
            self._collected = {}
            self._file.seek(0)
            self._file.truncate()

    async def aclose(self) -> None:
        """Close the files and the connections."""
        await close(self._client)
        self._file.close()
        await self._database.arun(self._database.close)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Keep other tasks and processes from fetching or submitting batches meanwhile."""
        database = self._database
        async with _locks.setdefault(database.place, asyncio.Lock()):
            try:  # a cancelled task may have taken the lock
                with announced_if_slow(_OTHER_PROCESS):
                    while not await database.arun(partial(database.try_lock, _LOCK)):
                        await asyncio.sleep(_LOCK_PAUSE)
                yield
            finally:
                await database.arun(partial(database.unlock, _LOCK))

    def _parts(self) -> Iterator[dict[str, bytes]]:
        """Yield the collected requests in batches of an accepted size: lines by their keys."""
        part, size = dict[str, bytes](), 0
        self._file.seek(0)
        for key, length in self._collected.items():
            full = len(part) == self._provider.most_requests
            if part and (full or size + length > self._provider.most_bytes):
                yield part
                part, size = {}, 0
            part[key] = self._file.read(length)
            size += length
        if part:
            yield part

    async def _submit(self, part: dict[str, bytes]) -> None:
        """Create a batch of the requests that no other process has submitted meanwhile."""
        database = self._database
        keys = await database.arun(
            lambda: [
                key
                for key in part
                if not any(one[0] or one[1] is not None for one in database.read(_LOOK_UP, key))
            ]
        )
        if not keys:
            return
        batch = Batch(uuid4().hex, *self._owner, None, len(keys), time.time())
        await database.awrite(_BEGIN, astuple(batch))
        await database.awrite(_SUBMIT, *((key, batch.id) for key in keys))
        attempts = 0

        async def create() -> str:
            nonlocal attempts
            attempts += 1  # a failed first attempt may have created the batch
            remote = await self._provider.find(batch, await self._known()) if attempts > 1 else None
            return remote or await self._provider.create(batch.id, [part[key] for key in keys])

        try:
            remote = await self._call(create)
        except (ModelRefusedError, SettingsError):
            await self._forget(batch)
            raise
        await self._remember(batch, remote)
        self.statuses.append(BatchStatus(remote, "submitted", len(keys)))
        self.submitted += len(keys)
        logger.info("%s: batch %s with %d requests", self._service.name, remote, len(keys))

    async def _known(self) -> set[str]:
        return {row[0] for row in await self._database.aread("SELECT remote FROM batches")}

    async def _remember(self, batch: Batch, remote: str) -> None:
        await self._database.awrite(
            "UPDATE batches SET remote = ? WHERE id = ?", (remote, batch.id)
        )

    async def _find(self, batch: Batch) -> str | None:
        """Find the provider's id of a batch whose creation was interrupted; None: not created."""
        known = await self._known()
        remote = await self._call(partial(self._provider.find, batch, known))
        if remote:
            await self._remember(batch, remote)
        return remote

    async def _status(self, batch: Batch, remote: str) -> tuple[BatchStatus, bool]:
        try:
            return await self._call(partial(self._provider.status, remote), self._unknown(remote))
        except BatchRefusedError as error:
            await self._forget(batch)
            raise ModelRefusedError(
                f"{self._service.name} did not carry out the batch {remote} ({error}). Nothing of "
                "it was paid: the same command submits its requests again, and fewer of them with "
                "--max-tokens."
            ) from None

    def _unknown(self, remote: str) -> str:
        return (
            f"does not know the batch {remote}, or its results no more: use the key with which it "
            f"was submitted, or delete it from the table batches of {self._database.place}"
        )

    async def _store_replies(self, batch: Batch, remote: str) -> None:
        """Store the replies of a batch, then delete the batch. It can be repeated."""
        # A reply with status 200 is paid: no later line about its request replaces it.
        answered = (
            "UPDATE requests SET status = ?, reply = ? "
            "WHERE key = ? AND batch = ? AND coalesce(status, 0) <> 200"
        )
        rows: list[tuple[int | None, str, str, str]] = []
        async for one in self._provider.replies(remote):
            rows.append((one.status, one.text, one.key, batch.id))
            if len(rows) == _REPLIES_PER_WRITE:
                await self._database.awrite(answered, *rows)
                rows = []
        await self._database.awrite(answered, *rows)
        failed = f"{self._service.name} gave no reply in {MOST_TRIES} batches ("
        await self._database.awrite(_FAIL, (FAILED, failed, batch.id, MOST_TRIES))
        await self._database.awrite("UPDATE requests SET batch = NULL WHERE batch = ?", (batch.id,))
        await self._database.awrite("DELETE FROM batches WHERE id = ?", (batch.id,))

    async def _forget(self, batch: Batch) -> None:
        """Delete a batch that the provider did not create; its requests are submitted again."""
        sql = "UPDATE requests SET batch = NULL, tries = tries - 1 WHERE batch = ?"
        await self._database.awrite(sql, (batch.id,))
        await self._database.awrite("DELETE FROM batches WHERE id = ?", (batch.id,))

    async def _call(self, request: Callable[[], Awaitable[T]], unknown: str = _NO_BATCHES) -> T:
        """Send a request to the provider; `unknown` words the error for status 404."""

        async def call() -> T:
            try:
                return await request()
            except _MALFORMED as error:
                raise ModelUnavailableError(
                    f"{self._service.name} describes a batch in a form that is not its provider's "
                    f"({type(error).__name__}): try again later."
                ) from error
            except Exception as error:
                if getattr(error, "status_code", None) not in (404, 405, 501):
                    raise
                raise SettingsError(f"{self._service.name} {unknown}.") from error

        try:
            return await self._service.call(call)
        except RequestRejected as rejection:
            raise ModelRefusedError(
                f"{self._service.name} refuses the batch ({rejection})."
            ) from rejection
