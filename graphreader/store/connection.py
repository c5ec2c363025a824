"""A connection to one Neo4j database, which runs Cypher statements by name.

A statement is a file under `cypher/` ("read/chunk"), or one per dialect where versions differ.
"""

import asyncio
import logging
import random
import re
import struct
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from neo4j import (
    READ_ACCESS,
    WRITE_ACCESS,
    AsyncDriver,
    AsyncGraphDatabase,
    AsyncManagedTransaction,
    AsyncSession,
)
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConfigurationError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)
from neo4j.vector import Vector

from graphreader.errors import (
    Neo4jForbiddenError,
    Neo4jRefusedError,
    Neo4jUnavailableError,
    SchemaError,
    ServerError,
    SettingsError,
    StoreError,
)
from graphreader.settings import Settings
from graphreader.store.embedded.process import Phase, Progress, no_progress
from graphreader.store.embedded.server import ensure_running
from graphreader.waiting import SLOW_SECONDS, Waiting, announce, announced_if_slow

Row = dict[str, Any]
Run = Callable[..., Awaitable[list[Row]]]
"""A function that runs one statement (name, values) inside a transaction."""

T = TypeVar("T")
logger = logging.getLogger("graphreader.store")

FIRST_ANSWER_SECONDS = 15.0  # longest wait for a server's first answer
EMBEDDED_ANSWER_SECONDS = 60.0  # for the embedded server, which may have just started

OUTAGE_SECONDS = 45.0
"""Longest outage of a server that has answered, for example while it restarts."""

_SLOW_WORK = Waiting("Neo4j", "Waiting for Neo4j", 0.0)
_PAUSES = (0.1, 0.3, 1.0)
_LONGEST_PAUSE = 2.0
# A vector search may fail with this while others write (Lucene: "Index ... out of bounds").
_INTERNAL_ERROR = "Neo.DatabaseError.Statement.ExecutionFailed"
_NO_ANSWER = (ServiceUnavailable, SessionExpired)
_CAUSES = {
    "ReadOnly": "may not be written (server.databases.default_to_read_only): let it be written",
    "OutOfMemory": "has too little memory for this: give it more (GRAPHREADER_NEO4J_HEAP; for a "
    "server of your own server.memory.heap.max_size and dbms.memory.transaction.total.max)",
    "DatabaseError.Transaction": "could not write to its disk: make room there, start it again",
    "DatabaseUnavailable": "keeps its database closed: wait until it has started, or make room on "
    "its disk and start it again",
}
_FORBIDDEN = "ReadOnly", "Security.Forbidden"
_INDEX_EXISTS = "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"


@dataclass(frozen=True, slots=True)
class Address:
    """The URI and login of a Neo4j server; `database` None is the user's home database."""

    uri: str
    username: str
    password: str = field(repr=False)
    database: str | None = None
    embedded: bool = False

    def check(self) -> None:
        """Raise SettingsError if no driver can use the address; the message has no password."""
        try:
            parts = urlsplit(self.uri)
            known = re.fullmatch(r"(bolt|neo4j)(\+s|\+ssc)?", parts.scheme)
            usable = known and parts.hostname and parts.port != 0 and "@" not in self.uri
        except ValueError:
            usable = None
        if not usable:
            raise SettingsError(
                "NEO4J_URI must look like bolt://HOST:PORT (or neo4j://, bolt+s://, neo4j+s://); "
                "user and password stand in NEO4J_USERNAME and NEO4J_PASSWORD."
            )

    def unreachable(self) -> Neo4jUnavailableError:
        """The error to raise if no server answers at this address."""
        if self.embedded:
            return Neo4jUnavailableError(
                "The embedded Neo4j has ended or does not answer: the same command starts it again "
                "if need be, and what was read is kept."
            )
        encrypted = ", its scheme too: +s asks for encryption" if "+s" in self.uri else ""
        return Neo4jUnavailableError(
            f"No Neo4j answers at {self.uri}: start it, or check NEO4J_URI{encrypted} "
            "(without it, also in .env, the embedded server is used)."
        )


DIALECTS = ("2026", "5")


@cache
def statement(name: str, dialect: str = DIALECTS[0]) -> str:
    """Return the Cypher text of a statement in a dialect; all values are parameters."""
    folder, _, stem = name.partition("/")
    special = statements_folder() / folder / f"{stem}.{dialect}.cypher"
    file = special if special.is_file() else statements_folder() / folder / f"{stem}.cypher"
    return file.read_text(encoding="utf-8")


def statements_folder() -> Traversable:
    """Return the folder `cypher/` of the installed package, else of the checkout."""
    installed = files("graphreader") / "cypher"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "cypher"


def dialect_of(version: str) -> str:
    """Return the dialect of a version such as "2026.08.1" or "5.27-aura". Raises SchemaError."""
    numbers = [int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit()]
    if numbers >= [2026]:
        return "2026"
    if numbers >= [5, 26]:
        return "5"
    raise SchemaError(
        f"This is Neo4j {version}; GraphReader needs 5.26 or 2026: upgrade the server, or unset "
        "NEO4J_URI to use the embedded one."
    )


class Connection:
    """An open driver of one database. Every method raises StoreError with a readable message."""

    def __init__(self, driver: AsyncDriver, address: Address, version: str) -> None:
        self.address = address
        self.version = version
        self.dialect = dialect_of(version)
        self.is_lost = False
        self._driver = driver
        # In a cluster (neo4j://), a read waits until its member has this connection's writes.
        routed = address.uri.startswith("neo4j")
        self._bookmarks = AsyncGraphDatabase.bookmark_manager() if routed else None

    @classmethod
    async def open(cls, address: Address) -> "Connection":
        """Connect; check that a server of a supported version answers in time."""
        address.check()
        seconds = EMBEDDED_ANSWER_SECONDS if address.embedded else FIRST_ANSWER_SECONDS
        try:
            driver = AsyncGraphDatabase.driver(
                address.uri,
                auth=(address.username, address.password),
                connection_timeout=seconds / 2,
                connection_acquisition_timeout=seconds * 1.5,
                max_transaction_retry_time=0,  # see `_Retries`
                notifications_min_severity="OFF",
                telemetry_disabled=True,
            )
        except (ConfigurationError, ValueError) as error:
            raise SettingsError(f"NEO4J_URI cannot be used: {error}") from error
        try:
            async with asyncio.timeout(seconds), _store_errors(address):
                with announced_if_slow(_waiting(seconds, seconds), SLOW_SECONDS):
                    await driver.verify_connectivity()
                records, _, _ = await driver.execute_query(
                    statement("schema/server"), database_=address.database, routing_="r"
                )
            version = records[0]["version"]
            logger.info("Connected to Neo4j %s at %s", version, urlsplit(address.uri).netloc)
            return cls(driver, address, version)
        except BaseException as error:
            await driver.close()
            if isinstance(error, TimeoutError):
                raise address.unreachable() from None
            raise

    async def aclose(self) -> None:
        """Close the driver."""
        await self._driver.close()

    def read(self, name: str, /, **values: Any) -> Coroutine[Any, Any, list[Row]]:
        """Run a reading statement, with retries for OUTAGE_SECONDS."""
        return self._run_in_session(name, READ_ACCESS, values)

    def run(self, name: str, /, **values: Any) -> Coroutine[Any, Any, list[Row]]:
        """Run a repeatable writing statement without a transaction, with retries.

        Schema statements and `CALL ... IN TRANSACTIONS` need this.
        """
        return self._run_in_session(name, WRITE_ACCESS, values)

    async def _run_in_session(self, name: str, access: str, values: Mapping[str, Any]) -> list[Row]:
        """Run a statement in a session of its own, in one message, with retries."""
        retries = _Retries()
        async with self._watched():
            while True:
                try:
                    async with self._session(access) as session:
                        return await self._rows(session, name, values)
                except (DriverError, Neo4jError) as error:
                    if _code(error) == _INDEX_EXISTS:
                        return []
                    await retries.pause(error)

    async def write(self, name: str, /, *, lock: str | None = None, **values: Any) -> list[Row]:
        """Run one statement in its own transaction, with `lock` and retries like `transact`."""
        return await self.transact(lambda run: run(name, **values), lock=lock)

    async def transact(self, work: Callable[[Run], Awaitable[T]], *, lock: str | None = None) -> T:
        """Do `work` in one transaction, with retries; `lock` is a corpus to lock for writers."""

        async def in_transaction(transaction: AsyncManagedTransaction) -> T:
            async def run(name: str, /, **values: Any) -> list[Row]:
                return await self._rows(transaction, name, values)

            if lock is not None:
                await run("write/lock_corpus", corpus=lock)
            return await work(run)

        retries = _Retries()
        async with self._watched():
            while True:
                try:
                    async with self._session(WRITE_ACCESS) as session:
                        result: T = await session.execute_write(in_transaction)
                        return result
                except (DriverError, Neo4jError) as error:
                    await retries.pause(error)

    def vector(self, values: Sequence[float]) -> Any:
        """Convert a vector to this server's fastest parameter type, in single precision."""
        if self.dialect == "5":
            return list(values)
        return Vector(struct.pack(f">{len(values)}f", *values), "f32")  # faster than a list

    async def _rows(self, runner: Any, name: str, values: Mapping[str, Any]) -> list[Row]:
        """Run one statement in a session or transaction; return all of its rows."""
        began = time.monotonic()
        result = await runner.run(statement(name, self.dialect), dict(values))
        rows = [dict(record) async for record in result]  # data() would copy every value
        # The driver's result refers to itself: values would stay until the next garbage collection.
        (await result.consume()).parameters.clear()
        logger.debug("%s: %d rows in %.1f ms", name, len(rows), 1e3 * (time.monotonic() - began))
        return rows

    def _session(self, access: str) -> AsyncSession:
        return self._driver.session(
            database=self.address.database,
            default_access_mode=access,
            bookmark_manager=self._bookmarks,
        )

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[None]:
        """Turn the driver's errors into StoreErrors; set `is_lost` if the server is unreachable.

        Slow work is announced, since a frozen server gives no other sign for minutes.
        """
        try:
            async with _store_errors(self.address):
                with announced_if_slow(_SLOW_WORK, SLOW_SECONDS):
                    yield
        except Neo4jUnavailableError:
            self.is_lost = True
            raise


@asynccontextmanager
async def _store_errors(address: Address) -> AsyncIterator[None]:
    """Turn the driver's errors into StoreErrors with a readable message."""
    try:
        yield
    except (Neo4jError, DriverError) as error:
        failure = _store_error(address, error)
        level = logging.DEBUG if isinstance(failure, Neo4jForbiddenError) else logging.WARNING
        logger.log(level, "Neo4j at %s failed: %s", urlsplit(address.uri).netloc, _code(error))
        logger.debug("Neo4j's message: %s", error)
        raise failure from error


def _store_error(address: Address, error: Exception) -> StoreError:
    is_forbidden = any(word in _code(error) for word in _FORBIDDEN)
    kind = Neo4jForbiddenError if is_forbidden else StoreError
    for word, sentence in _CAUSES.items():
        if word in _code(error):
            return kind(f"Neo4j at {address.uri} {sentence}, and run the same command again.")
    match error:
        case AuthError():
            return Neo4jRefusedError(
                f"Neo4j at {address.uri} refuses the user or the password: check NEO4J_USERNAME "
                "and NEO4J_PASSWORD."
            )
        case ServiceUnavailable() | SessionExpired():
            return address.unreachable()
        case ClientError() if (error.code or "").endswith("DatabaseNotFound"):
            return StoreError(
                f"Neo4j at {address.uri} has no database {address.database!r}: check "
                "NEO4J_DATABASE."
            )
        case _:
            return kind(f"Neo4j failed: {getattr(error, 'message', None) or error}")


class _Retries:
    """The pauses between attempts of a statement, for OUTAGE_SECONDS from the first failure."""

    def __init__(self) -> None:
        self._pauses = chain(_PAUSES, repeat(_LONGEST_PAUSE))
        self._deadline: float | None = None

    async def pause(self, error: Exception) -> None:
        """Wait before the next attempt. Raises the error if it is permanent, or time is over.

        From the second failure on, an unreachable server is announced.
        """
        pause, now = next(self._pauses), time.monotonic()
        self._deadline = self._deadline or now + OUTAGE_SECONDS
        internal = _code(error) == _INTERNAL_ERROR and pause in _PAUSES
        passes = internal or (isinstance(error, DriverError | Neo4jError) and error.is_retryable())
        if not passes or now + pause > self._deadline:
            raise error
        if isinstance(error, _NO_ANSWER) and pause != _PAUSES[0]:
            announce(_waiting(self._deadline - now, pause))
        logger.debug("Again in %.1f s after %s", pause, _code(error))
        await asyncio.sleep(random.uniform(pause / 2, pause))  # random, since writers may collide


def _waiting(left: float, pause: float) -> Waiting:
    text = f"Neo4j does not answer; trying again for up to {left:.0f} s"
    return Waiting("Neo4j", text, pause)


def _code(error: Exception) -> str:
    """Neo4j's error code, for the log; the message may quote the graph."""
    return getattr(error, "code", None) or type(error).__name__


async def open_connection(settings: Settings, progress: Progress | None = None) -> Connection:
    """Connect to NEO4J_URI, or start the embedded server; cancelling ends that start."""
    cancelled = threading.Event()

    def report(phase: Phase, done: int, total: int | None) -> None:
        if cancelled.is_set():
            raise ServerError("The start of Neo4j was given up: start it again.")
        (progress or no_progress)(phase, done, total)

    # A thread cannot be cancelled: its next progress report ends it.
    starting = asyncio.create_task(asyncio.to_thread(address_of, settings, report))
    try:
        address = await asyncio.shield(starting)
    except asyncio.CancelledError:
        cancelled.set()
        await asyncio.wait([starting])
        raise
    return await Connection.open(address)


def address_of(settings: Settings, progress: Progress | None = None) -> Address:
    """Return the address of the configured Neo4j; start the embedded server if necessary."""
    if not settings.neo4j_uri:
        server = ensure_running(settings, progress)
        password = server.password.get_secret_value()
        return Address(server.uri, server.username, password, embedded=True)
    password = settings.neo4j_password.get_secret_value() if settings.neo4j_password else ""
    return Address(settings.neo4j_uri, settings.neo4j_username, password, settings.neo4j_database)
