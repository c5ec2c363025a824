"""A connection to one Neo4j database: runs statements by name, and says in words what goes wrong.

It knows nothing of documents and facts.

Where a Neo4j is, and how to enter.

The catalogue of Cypher statements: one file a statement, under `cypher/`.

A statement is named by its folder and file, "read/chunk". Where the supported versions of Neo4j
need different words, there is a file a dialect: `search_by_vector.2026.cypher`, `....5.cypher`.

Opening the Neo4j that is configured, or else the embedded one.

Writers of one corpus, also of other processes, wait for each other: none can wait in a ring.
"""

import asyncio
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
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
    Forbidden,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)
from neo4j.vector import Vector

from graphreader.errors import (
    Neo4jRefusedError,
    Neo4jUnavailableError,
    SchemaError,
    ServerError,
    SettingsError,
    StoreError,
)
from graphreader.settings import Settings
from graphreader.store.embedded.process import Phase, Progress, silent
from graphreader.store.embedded.server import ensure_running

_SCHEME = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://.")


@dataclass(frozen=True, slots=True)
class Address:
    """`uri` is for drivers; `database` None is the user's home database.

    `embedded`: the server is one that we start ourselves.
    """

    uri: str
    username: str
    password: str = field(repr=False)
    database: str | None = None
    embedded: bool = False

    @property
    def place(self) -> str:
        """Host and port, for logs."""
        return urlsplit(self.uri).netloc

    @property
    def routed(self) -> bool:
        """Whether it may be a cluster, whose members do not know everything at once."""
        return self.uri.startswith("neo4j")

    def check(self) -> None:
        """Say what is wrong with it before a driver does, and without a password in it.

        Raises SettingsError.
        """
        uri = self.uri
        if "@" in uri:
            raise SettingsError(
                "NEO4J_URI holds a user or a password: put them into NEO4J_USERNAME and "
                "NEO4J_PASSWORD."
            )
        if not _SCHEME.match(uri):
            raise SettingsError(
                f"NEO4J_URI is {uri!r}, but must begin with bolt://, neo4j://, bolt+s:// or "
                "neo4j+s://: the address of a Neo4j as drivers use it."
            )
        try:
            known = bool(urlsplit(uri).hostname) and urlsplit(uri).port != 0
        except ValueError:
            known = False
        if not known:
            raise SettingsError(
                f"NEO4J_URI is {uri!r}, but must look like bolt://HOST:PORT, with a port up to "
                "65535."
            )

    def nobody(self) -> str:
        """A sentence where nobody answers there."""
        if self.embedded:
            return (
                "The embedded Neo4j has ended: the same command starts it again, and what was read "
                "is kept."
            )
        encrypted = "+s" in self.uri.partition(":")[0]
        scheme = ", its scheme too: +s asks for encryption" if encrypted else ""
        return (
            f"No Neo4j answers at {self.uri}: start it, or check NEO4J_URI{scheme} (unset it to "
            "use the embedded server)."
        )


DIALECTS = ("2026", "5")


@cache
def statement(name: str, dialect: str = DIALECTS[0]) -> str:
    """The text of a statement in a dialect. Values are parameters of it, never parts of the text.

    Raises FileNotFoundError for a name that there is not.
    """
    folder, _, stem = name.partition("/")
    place = _root() / folder
    special = place / f"{stem}.{dialect}.cypher"
    file = special if special.is_file() else place / f"{stem}.cypher"
    return file.read_text(encoding="utf-8")


def dialect_of(version: str) -> str:
    """The dialect that a server's version speaks, by "2026.08.1", "5.26.30" or "5.27-aura".

    Raises SchemaError for a version that is too old.
    """
    numbers = [int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit()]
    if numbers >= [2026]:
        return "2026"
    if numbers >= [5, 26]:
        return "5"
    raise SchemaError(
        f"This is Neo4j {version}; GraphReader needs 5.26 or 2026: upgrade the server, or unset "
        "NEO4J_URI to use the embedded one."
    )


def _root() -> Traversable:
    """`cypher/` of the installed package, else of the checkout."""
    installed = files("graphreader") / "cypher"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "cypher"


Row = dict[str, Any]
Call = tuple[str, Mapping[str, Any]]

Run = Callable[..., Awaitable[list[Row]]]
"""Runs one statement, by its name and with its values, inside of a transaction."""

T = TypeVar("T")
logger = logging.getLogger("graphreader.store")
_PAUSES = (0.1, 0.3, 1.0)
_LONGEST_PAUSE = 2.0
_MADE_MEANWHILE = "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"

PATIENCE = 15.0
"""Seconds that a server may take to answer for the first time."""

OUTAGE = 45.0
"""Seconds that a server which has answered may be gone, as while it is started anew."""


class Connection:
    """An open driver of one database. Every method raises StoreError in words for a person."""

    def __init__(self, driver: AsyncDriver, address: Address, version: str) -> None:
        self.address = address
        self.version = version
        self.dialect = dialect_of(version)
        self.gone = False
        self._driver = driver
        # In a cluster whoever reads waits for what was written here before.
        self._bookmarks = AsyncGraphDatabase.bookmark_manager() if address.routed else None

    @classmethod
    async def open(cls, address: Address) -> "Connection":
        """Connect, and make sure that somebody answers whom we can talk to.

        Raises Neo4jUnavailableError (within 15 s), Neo4jRefusedError, SchemaError, SettingsError.
        """
        address.check()
        try:
            driver = AsyncGraphDatabase.driver(
                address.uri,
                auth=(address.username, address.password),
                connection_timeout=PATIENCE / 2,
                connection_acquisition_timeout=PATIENCE * 1.5,
                max_transaction_retry_time=OUTAGE,
                notifications_min_severity="OFF",
                telemetry_disabled=True,
            )
        except (ConfigurationError, ValueError) as error:
            raise SettingsError(f"NEO4J_URI cannot be used: {error}") from error
        try:
            async with asyncio.timeout(PATIENCE), _in_words(address):
                await driver.verify_connectivity()
                found, _, _ = await driver.execute_query(
                    statement("schema/server"), database_=address.database, routing_="r"
                )
            version = found[0]["version"]
            logger.info("Connected to Neo4j %s at %s", version, address.place)
            return cls(driver, address, version)
        except TimeoutError:
            await driver.close()
            raise Neo4jUnavailableError(address.nobody()) from None
        except BaseException:
            await driver.close()
            raise

    async def aclose(self) -> None:
        """Close the driver."""
        await self._driver.close()

    async def read(self, name: str, /, **values: Any) -> list[Row]:
        """Run a reading statement; the server refuses it if it writes.

        It is asked again, wherever it broke off, until the server has been gone for OUTAGE. Sent as
        a transaction of its own it would be told to begin and to end: three messages for one.
        """
        deadline = time.monotonic() + OUTAGE
        async with self._in_words():
            for pause in chain(_PAUSES, repeat(_LONGEST_PAUSE)):
                try:
                    async with self._opened(READ_ACCESS) as session:
                        return await self._rows(session, name, values)
                except (DriverError, Neo4jError) as error:
                    if not error.is_retryable() or time.monotonic() + pause > deadline:
                        raise
                    logger.debug("%s is asked again in %.1f s: %s", name, pause, _kind(error))
                await asyncio.sleep(pause)
        raise AssertionError("pauses never end")

    async def write(self, calls: Sequence[Call]) -> list[Row]:
        """Run statements in one transaction, tried again when the server says so (deadlocks).

        Returns the rows of the last one.
        """

        async def work(run: Run) -> list[Row]:
            rows: list[Row] = []
            for name, values in calls:
                rows = await run(name, **values)
            return rows

        return await self.transact(work)

    async def transact(self, work: Callable[[Run], Awaitable[T]]) -> T:
        """Do some work in one transaction; all of it is tried again when the server says so."""

        async def with_runner(transaction: AsyncManagedTransaction) -> T:
            async def run(name: str, /, **values: Any) -> list[Row]:
                return await self._rows(transaction, name, values)

            return await work(run)

        async with self._session() as session:
            done: T = await session.execute_write(with_runner)
        return done

    async def run(self, name: str, /, **values: Any) -> list[Row]:
        """Run a statement that cannot be part of a transaction: schema, and work in batches.

        The driver does not repeat such a statement, so we do: each of ours is safe to run again. An
        index that somebody else makes at the same moment is there, whatever IF NOT EXISTS says.
        """
        async with self._session() as session:
            for pause in (*_PAUSES, _LONGEST_PAUSE):
                try:
                    return await self._rows(session, name, values)
                except TransientError:
                    await asyncio.sleep(pause)
                except ClientError as error:
                    if error.code != _MADE_MEANWHILE:
                        raise
                    return []
            return await self._rows(session, name, values)

    def vector(self, values: Sequence[float]) -> Any:
        """Numbers as this server takes them quickest, to be stored in single precision."""
        return Vector(list(values), "f32") if self.dialect == "2026" else list(values)

    async def _rows(self, runner: Any, name: str, values: Mapping[str, Any]) -> list[Row]:
        """Run one statement in a session or a transaction, and return all of its rows."""
        began = time.monotonic()
        result = await runner.run(statement(name, self.dialect), dict(values))
        rows = [dict(record) async for record in result]  # data() would look into every value
        milliseconds = 1000 * (time.monotonic() - began)
        logger.debug("%s: %d rows in %.1f ms", name, len(rows), milliseconds)
        return rows

    def _opened(self, access: str) -> AsyncSession:
        return self._driver.session(
            database=self.address.database,
            default_access_mode=access,
            bookmark_manager=self._bookmarks,
        )

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[AsyncSession]:
        """A session that may write."""
        async with self._in_words(), self._opened(WRITE_ACCESS) as session:
            yield session

    @asynccontextmanager
    async def _in_words(self) -> AsyncIterator[None]:
        """Turn the driver's exceptions into ours; remember that nobody answered any more."""
        try:
            async with _in_words(self.address):
                yield
        except Neo4jUnavailableError:
            self.gone = True
            raise


@asynccontextmanager
async def _in_words(address: Address) -> AsyncIterator[None]:
    """Turn the driver's exceptions into ours."""
    try:
        yield
    except (Neo4jError, DriverError) as error:
        logger.warning("Neo4j at %s failed: %s", address.place, _kind(error))
        logger.debug("It said: %s", error)
        raise _told(address, error) from error


def _told(address: Address, error: Exception) -> StoreError:
    """The driver's exception in words for a person."""
    match error:
        case AuthError():
            return Neo4jRefusedError(
                f"Neo4j at {address.uri} refuses the user or the password: check NEO4J_USERNAME "
                "and NEO4J_PASSWORD."
            )
        case ServiceUnavailable() | SessionExpired():
            return Neo4jUnavailableError(address.nobody())
        case Forbidden():
            return StoreError(f"Neo4j does not let {address.username} do this: {error.message}")
        case TransientError():
            return StoreError(f"Neo4j could not finish this now, try again: {error.message}")
        case ClientError():
            return StoreError(_client(address, error))
        case _:
            return StoreError(f"Neo4j failed: {error}")


def _kind(error: Exception) -> str:
    """Neo4j's code of the failure; its words may repeat what is in the graph."""
    return getattr(error, "code", None) or type(error).__name__


def _client(address: Address, error: ClientError) -> str:
    if (error.code or "").endswith("DatabaseNotFound"):
        return f"Neo4j at {address.uri} has no database {address.database!r}: check NEO4J_DATABASE."
    return f"Neo4j refuses a statement: {error.message}"


async def open_connection(settings: Settings, progress: Progress | None = None) -> Connection:
    """Connect to NEO4J_URI, or start the embedded server where none is configured.

    Cancelled while the server is being started, it waits until that start is undone. Raises
    StoreError, ServerError.
    """
    given_up = threading.Event()

    def tell(phase: Phase, done: int, total: int | None) -> None:
        if given_up.is_set():
            raise ServerError("The start of Neo4j was given up: start it again.")
        (progress or silent)(phase, done, total)

    # A thread cannot be cancelled: it learns from its progress that nobody waits for it.
    starting = asyncio.create_task(asyncio.to_thread(address_of, settings, tell))
    try:
        address = await asyncio.shield(starting)
    except asyncio.CancelledError:
        given_up.set()
        await asyncio.wait([starting])
        raise
    return await Connection.open(address)


def address_of(settings: Settings, progress: Progress | None = None) -> Address:
    """Where the Neo4j of these settings is; the embedded one is started if it does not run.

    Raises ServerError.
    """
    if not settings.neo4j_uri:
        server = ensure_running(settings, progress)
        password = server.password.get_secret_value()
        return Address(server.uri, server.username, password, embedded=True)
    given = settings.neo4j_password
    return Address(
        settings.neo4j_uri,
        settings.neo4j_username,
        given.get_secret_value() if given else "",
        settings.neo4j_database,
    )


async def alone(connection: Connection, corpus: str, work: Callable[[Run], Awaitable[T]]) -> T:
    """Do some work in one transaction while no other writer of the corpus does any."""

    async def locked(run: Run) -> T:
        await run("write/lock_corpus", corpus=corpus)
        return await work(run)

    return await connection.transact(locked)
