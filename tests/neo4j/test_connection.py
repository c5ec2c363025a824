import socket
import time

import pytest

from graphreader.errors import Neo4jRefusedError, Neo4jUnavailableError, SettingsError, StoreError
from graphreader.store.connection import Address, Connection
from graphreader.store.writer import Deleter, GraphWriter

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


# By an address that may be a cluster's, each session waits for what another one has written.
async def test_routed(connection: Connection, corpus: str) -> None:
    given = connection.address
    uri = given.uri.replace("bolt://", "neo4j://")
    routed = await Connection.open(Address(uri, given.username, given.password))
    try:
        await GraphWriter(routed, corpus).begin_corpus(
            decider="d", prompts="1", embedding="e", dimension=256
        )
        bookmarks = set(await routed._bookmarks.get_bookmarks()) if routed._bookmarks else set()
        found = await routed.read("read/corpus", corpus=corpus)
    finally:
        await Deleter(routed, corpus).delete_corpus()
        await routed.aclose()

    assert bookmarks
    assert found[0]["decider"] == "d"
    assert connection._bookmarks is None


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
