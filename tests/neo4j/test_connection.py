"""Connections to both versions of Neo4j, the statements that they run, and the lock of a corpus."""

import asyncio
import re
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import pytest
from neo4j.exceptions import Neo4jError

from graphreader.errors import (
    Neo4jForbiddenError,
    Neo4jRefusedError,
    Neo4jUnavailableError,
    SchemaError,
    SettingsError,
    StoreError,
)
from graphreader.store.connection import (
    Address,
    Connection,
    Run,
    dialect_of,
    statement,
    statements_folder,
)
from graphreader.store.key_elements import KeyElementMerges, SimilarityPairs, StoredMerge
from graphreader.store.writer import Deleter, GraphWriter
from tests.servers import VERSIONS, both_versions

SECRET = "not-the-password-4711"


# A wrong password and an unknown database are refused with the variable to check, and no password
# is shown; a statement that only reads may not write.
@both_versions
async def test_refusals(connection: Connection) -> None:
    address = connection.address
    with pytest.raises(Neo4jRefusedError, match="NEO4J_PASSWORD") as refused:
        await Connection.open(Address(address.uri, "neo4j", SECRET))
    with pytest.raises(StoreError, match="NEO4J_DATABASE"):
        await Connection.open(Address(address.uri, address.username, address.password, "nosuchdb"))
    with pytest.raises(StoreError, match=r"(?i)write|read"):
        await connection.read("schema/set_number", number=5)

    assert SECRET not in str(refused.value)
    assert SECRET not in repr(Address("bolt://x", "neo4j", SECRET))


# An address with a password in it is refused without the password, also where a "/" or "#" in the
# password ends the host.
@pytest.mark.parametrize(
    "uri", [f"bolt://neo4j:{one}{SECRET}@host:7687" for one in ("", "12/", "#")]
)
def test_password_in_the_address(uri: str) -> None:
    with pytest.raises(SettingsError, match="NEO4J_PASSWORD") as refused:
        Address(uri, "neo4j", "x").check()

    assert SECRET not in str(refused.value)


# By an address that may be a cluster's, each session waits for what another one has written.
async def test_routed(connection: Connection, corpus: str) -> None:
    address = connection.address
    uri = address.uri.replace("bolt://", "neo4j://")
    routed = await Connection.open(Address(uri, address.username, address.password))
    try:
        await GraphWriter(routed, corpus).begin_corpus(
            decider="d", prompts="1", embedding="e", dimension=256
        )
        bookmarks = set(await routed._bookmarks.get_bookmarks()) if routed._bookmarks else set()
        rows = await routed.read("read/corpus", corpus=corpus)
    finally:
        await Deleter(routed, corpus).delete_corpus()
        await routed.aclose()

    assert bookmarks
    assert rows[0]["decider"] == "d"
    assert connection._bookmarks is None


# A search that meets an internal error of Neo4j, as its vector index has while others write, is
# repeated a few times.
@pytest.mark.parametrize(("failures", "fails"), [(1, False), (9, True)])
async def test_internal_errors(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, failures: int, fails: bool
) -> None:
    monkeypatch.setattr("graphreader.store.connection._PAUSES", (0.01, 0.01, 0.01))
    code, message = "Neo.DatabaseError.Statement.ExecutionFailed", "Index 7 out of bounds"
    errors = [Neo4jError._hydrate_neo4j(code=code, message=message) for _ in range(failures)]
    rows = connection._rows

    async def failing(*arguments: Any) -> Any:
        if errors:
            raise errors.pop()
        return await rows(*arguments)

    monkeypatch.setattr(connection, "_rows", failing)
    with pytest.raises(StoreError, match="out of bounds") if fails else nullcontext():
        await connection.read("read/corpora")

    assert len(errors) == (failures - 4 if fails else 0)


# What a server cannot do for now is said with what to do, without Neo4j's own codes.
@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("Neo.ClientError.General.WriteOnReadOnlyAccessDatabase", "let it be written"),
        ("Neo.TransientError.General.MemoryPoolOutOfMemoryError", "GRAPHREADER_NEO4J_HEAP"),
        ("Neo.DatabaseError.Transaction.TransactionLogError", "make room there, start it again"),
        ("Neo.TransientError.General.DatabaseUnavailable", "make room on its disk"),
    ],
)
async def test_unable(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, code: str, remedy: str
) -> None:
    async def failing(*_: Any) -> Any:
        raise Neo4jError._hydrate_neo4j(code=code, message="Some words.")

    monkeypatch.setattr(connection, "_rows", failing)
    monkeypatch.setattr("graphreader.store.connection.OUTAGE_SECONDS", 0.0)
    with pytest.raises(StoreError, match=f"{remedy}.*run the same command again") as raised:
        await connection.read("read/corpora")
    assert "Neo." not in str(raised.value)
    assert isinstance(raised.value, Neo4jForbiddenError) == ("ReadOnly" in code)


# Nobody at the address, or somebody who accepts and never says a word, is given up in time, with
# the variable to check.
@pytest.mark.parametrize("listens", [False, True])
async def test_nobody_answers(monkeypatch: pytest.MonkeyPatch, listens: bool) -> None:
    monkeypatch.setattr("graphreader.store.connection.FIRST_ANSWER_SECONDS", 2.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen()
        began = time.monotonic()
        with pytest.raises(Neo4jUnavailableError, match="NEO4J_URI"):
            await Connection.open(
                Address(f"bolt://127.0.0.1:{silent.getsockname()[1]}", "neo4j", SECRET)
            )

    assert time.monotonic() - began < 10


# Every statement begins with a comment that says what it is for, a saved query with its name. None
# has a place to be filled in by code: what is a value is a parameter.
def test_statements() -> None:
    for file in statements_folder().glob("*/*.cypher"):
        text = file.read_text(encoding="utf-8")

        assert re.match(rf"// ({file.stem}: \S|[A-Z]).+", text), file
        assert not re.search(r"%s|\{\}(?! IN|'\))|\{\{|\$\{|<\w+>", text), file


# Every statement that writes is understood by Neo4j 5, too. (Other tests run them on the default
# version; `test_two_corpora` runs each one that reads on both.)
@pytest.mark.slow
@pytest.mark.parametrize("connection", VERSIONS[1:], indirect=True, scope="session")
async def test_statements_of_neo4j_5(connection: Connection) -> None:
    if connection.dialect != "5":
        return
    async with connection._driver.session() as session:
        for file in statements_folder().glob("write/*.cypher"):
            text = statement(f"write/{file.stem}", "5")
            summary = await (await session.run(f"EXPLAIN {text}")).consume()

            assert summary.plan is not None, file


# A server's version decides the dialect; one that is too old is refused in words.
def test_versions_have_dialects() -> None:
    versions = ("2026.08.1", "2027.01.0", "5.26.30", "5.27-aura")

    assert [dialect_of(version) for version in versions] == ["2026", "2026", "5", "5"]
    for version in ("4.4.30", "5.25.1", "3.5.0"):
        with pytest.raises(SchemaError, match=rf"{version}.*5\.26"):
            dialect_of(version)


Write = Callable[[Connection, str], Awaitable[object]]
MERGE = [StoredMerge("b", "a", "semantic")]
WRITES: list[Write] = [
    lambda c, corpus: KeyElementMerges(c, corpus).merge(MERGE),
    lambda c, corpus: KeyElementMerges(c, corpus).move_facts(MERGE),
    lambda c, corpus: KeyElementMerges(c, corpus).undo(MERGE),
    lambda c, corpus: SimilarityPairs(c, corpus).store([], [("a", "b", 0.97)]),
    lambda c, corpus: GraphWriter(c, corpus).write_embeddings([("a", [0.0])]),
    lambda c, corpus: Deleter(c, corpus).delete(["a"]),
]


# While one writes into a corpus, all others wait; then they go on. Writers of other corpora do not.
@both_versions
async def test_writers_wait(connection: Connection, writer: GraphWriter) -> None:
    locked, done = asyncio.Event(), asyncio.Event()

    async def hold(run: Run) -> None:
        locked.set()
        await done.wait()

    async def write_all(corpus: str) -> list[asyncio.Task[object]]:
        return [asyncio.ensure_future(write(connection, corpus)) for write in WRITES]

    holding = asyncio.create_task(connection.transact(hold, lock=writer.corpus))
    await locked.wait()
    waiting = await write_all(writer.corpus)
    await asyncio.gather(*await write_all(f"{writer.corpus}-other"))
    finished, _ = await asyncio.wait(waiting, timeout=0.3)
    done.set()
    await asyncio.gather(holding, *waiting)

    assert not finished
