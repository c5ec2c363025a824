import socket
import time

import pytest

from graphreader.errors import (
    Neo4jRefusedError,
    Neo4jUnavailableError,
    SettingsError,
    StoreError,
)
from graphreader.store.connection import Address, Connection

SECRET = "not-the-password-4711"


# A wrong password is refused at once, and named without being shown.
async def test_wrong_passwords_are_refused(connection: Connection) -> None:
    began = time.monotonic()
    with pytest.raises(Neo4jRefusedError, match="NEO4J_PASSWORD") as refused:
        await Connection.open(Address(connection.address.uri, "neo4j", SECRET))

    assert time.monotonic() - began < 10
    assert SECRET not in str(refused.value)
    assert SECRET not in repr(Address("bolt://x", "neo4j", SECRET))


# A database that there is not is named with the variable to check.
async def test_unknown_databases_are_refused(connection: Connection) -> None:
    given = connection.address
    with pytest.raises(StoreError, match="NEO4J_DATABASE"):
        await Connection.open(Address(given.uri, given.username, given.password, "nosuchdb"))


# What a statement may not do is said in words: reading never writes.
async def test_reading_never_writes(connection: Connection) -> None:
    with pytest.raises(StoreError, match=r"(?i)write|read"):
        await connection.read("schema/set_number", number=5)


# Nobody at the address: said at once, with the variable to check.
async def test_nobody_answers() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(Neo4jUnavailableError, match="NEO4J_URI"):
        await Connection.open(Address(f"bolt://127.0.0.1:{port}", "neo4j", SECRET))

    assert time.monotonic() - began < 30


# Somebody who accepts and never says a word is given up within 30 seconds.
async def test_somebody_never_answers() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(Neo4jUnavailableError):
            await Connection.open(Address(f"bolt://127.0.0.1:{port}", "neo4j", SECRET))

    assert time.monotonic() - began < 30


# An address that is none is a matter of settings.
@pytest.mark.parametrize("uri", ["localhost:7687", "http://localhost:7474", "bolt//x", "nonsense"])
async def test_wrong_addresses_are_refused(uri: str) -> None:
    with pytest.raises(SettingsError, match="NEO4J_URI"):
        await Connection.open(Address(uri, "neo4j", SECRET))
