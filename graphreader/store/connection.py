"""A connection to one Neo4j database: runs statements by name, and says in words what goes wrong.

It knows nothing of documents and facts.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, repeat
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
    SettingsError,
    StoreError,
)
from graphreader.store.statements import dialect_of, statement

Row = dict[str, Any]
Call = tuple[str, Mapping[str, Any]]
Run = Callable[..., Awaitable[list[Row]]]
"""Runs one statement, by its name and with its values, inside of a transaction."""

T = TypeVar("T")

_SCHEME = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://.")

_PAUSES = (0.1, 0.3, 1.0)
_LONGEST_PAUSE = 2.0

PATIENCE = 15.0
"""Seconds that a server may take to answer for the first time."""

OUTAGE = 45.0
"""Seconds that a server which has answered may be gone, as while it is started anew."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a Neo4j is and how to enter. `database` None is the user's home database."""

    uri: str
    username: str
    password: str = field(repr=False)
    database: str | None = None


class Connection:
    """An open driver of one database. Every method raises StoreError in words for a person."""

    def __init__(self, driver: AsyncDriver, address: Address, version: str) -> None:
        self.address = address
        self.version = version
        self.dialect = dialect_of(version)
        self._driver = driver

    @classmethod
    async def open(cls, address: Address) -> "Connection":
        """Connect, and make sure that somebody answers whom we can talk to.

        Raises Neo4jUnavailableError (within 15 s), Neo4jRefusedError, SchemaError, SettingsError.
        """
        _check_uri(address.uri)
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
            return cls(driver, address, found[0]["version"])
        except TimeoutError:
            await driver.close()
            raise Neo4jUnavailableError(_nobody(address.uri)) from None
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
        text, deadline = self._text(name), time.monotonic() + OUTAGE
        async with _in_words(self.address):
            for pause in chain(_PAUSES, repeat(_LONGEST_PAUSE)):
                try:
                    async with self._opened(READ_ACCESS) as session:
                        return await _rows(session, text, values)
                except (DriverError, Neo4jError) as error:
                    if not error.is_retryable() or time.monotonic() + pause > deadline:
                        raise
                await asyncio.sleep(pause)
        raise AssertionError("pauses never end")

    async def write(self, calls: Sequence[Call]) -> list[Row]:
        """Run statements in one transaction, tried again when the server says so (deadlocks).

        Returns the rows of the last one.
        """
        texts = [(self._text(name), values) for name, values in calls]
        async with self._session() as session:
            rows: list[Row] = await session.execute_write(_run, texts)
        return rows

    async def transact(self, work: Callable[[Run], Awaitable[T]]) -> T:
        """Do some work in one transaction; all of it is tried again when the server says so."""

        async def with_runner(transaction: AsyncManagedTransaction) -> T:
            async def run(name: str, /, **values: Any) -> list[Row]:
                return await _rows(transaction, self._text(name), values)

            return await work(run)

        async with self._session() as session:
            done: T = await session.execute_write(with_runner)
        return done

    async def run(self, name: str, /, **values: Any) -> list[Row]:
        """Run a statement that cannot be part of a transaction: schema, and work in batches.

        The driver does not repeat such a statement, so we do: each of ours is safe to run again.
        """
        async with self._session() as session:
            for pause in (*_PAUSES, _LONGEST_PAUSE):
                with suppress(TransientError):
                    return await _rows(session, self._text(name), values)
                await asyncio.sleep(pause)
            return await _rows(session, self._text(name), values)

    def vector(self, values: Sequence[float]) -> Any:
        """Numbers as this server takes them quickest, to be stored in single precision."""
        return Vector(list(values), "f32") if self.dialect == "2026" else list(values)

    def _text(self, name: str) -> Any:
        return statement(name, self.dialect)

    def _opened(self, access: str) -> AsyncSession:
        return self._driver.session(database=self.address.database, default_access_mode=access)

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[AsyncSession]:
        """A session that may write."""
        async with _in_words(self.address), self._opened(WRITE_ACCESS) as session:
            yield session


async def _run(transaction: AsyncManagedTransaction, calls: Sequence[tuple[Any, Any]]) -> list[Row]:
    """Run the calls in order and return the last one's rows."""
    rows: list[Row] = []
    for text, values in calls:
        rows = await _rows(transaction, text, values)
    return rows


async def _rows(runner: Any, text: str, values: Mapping[str, Any]) -> list[Row]:
    """Run one statement in a session or a transaction, and return all of its rows."""
    result = await runner.run(text, dict(values))
    return [dict(record) async for record in result]  # data() would look into every value


@asynccontextmanager
async def _in_words(address: Address) -> AsyncIterator[None]:
    """Turn the driver's exceptions into ours."""
    try:
        yield
    except AuthError as error:
        raise Neo4jRefusedError(
            f"Neo4j at {address.uri} refuses the user or the password: check NEO4J_USERNAME and "
            "NEO4J_PASSWORD."
        ) from error
    except (ServiceUnavailable, SessionExpired) as error:
        raise Neo4jUnavailableError(_nobody(address.uri)) from error
    except Forbidden as error:
        raise StoreError(
            f"Neo4j does not let {address.username} do this: {error.message}"
        ) from error
    except TransientError as error:
        raise StoreError(f"Neo4j could not finish this now, try again: {error.message}") from error
    except ClientError as error:
        raise StoreError(_client(address, error)) from error
    except (Neo4jError, DriverError) as error:
        raise StoreError(f"Neo4j failed: {error}") from error


def _check_uri(uri: str) -> None:
    """Say what is wrong with an address before a driver does, and without a password in it."""
    if "@" in uri:
        raise SettingsError(
            "NEO4J_URI holds a user or a password: put them into NEO4J_USERNAME and NEO4J_PASSWORD."
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
            f"NEO4J_URI is {uri!r}, but must look like bolt://HOST:PORT, with a port up to 65535."
        )


def _nobody(uri: str) -> str:
    encrypted = "+s" in uri.partition(":")[0]
    scheme = ", its scheme too: +s asks for encryption" if encrypted else ""
    return (
        f"No Neo4j answers at {uri}: start it, or check NEO4J_URI{scheme} (unset it to use the "
        "embedded server)."
    )


def _client(address: Address, error: ClientError) -> str:
    if (error.code or "").endswith("DatabaseNotFound"):
        return f"Neo4j at {address.uri} has no database {address.database!r}: check NEO4J_DATABASE."
    return f"Neo4j refuses a statement: {error.message}"
