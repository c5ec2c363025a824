import asyncio
from collections.abc import AsyncIterator

import pytest

from graphreader.errors import EmbeddingMismatchError, SchemaError
from graphreader.store import schema
from graphreader.store.connection import Connection, open_connection
from tests import servers

INDEXES = {
    "graphreader_corpus_name",
    "graphreader_document_id",
    "graphreader_chunk_id",
    "graphreader_atomic_fact_id",
    "graphreader_key_element_id",
    "graphreader_document_corpus",
    "graphreader_document_title",
    "graphreader_key_element_corpus",
    "graphreader_key_element_stale",
    "graphreader_key_element_fresh",
    "graphreader_key_element_merged",
    "graphreader_key_element_words",
    "graphreader_key_element_embeddings",
    "graphreader_run_id",
}


@pytest.fixture
async def restored(connection: Connection) -> AsyncIterator[None]:
    """Puts the schema back as the other tests need it."""
    yield
    await connection.write("schema/set_number", number=schema.NUMBER)
    await schema.rebuild(connection, 256)


# Preparing a graph again changes nothing, and every index answers.
async def test_preparing_is_idempotent(connection: Connection) -> None:
    await schema.prepare(connection, 256)
    found = {row["name"]: row["state"] for row in await connection.read("schema/indexes")}

    assert found == dict.fromkeys(INDEXES, "ONLINE")


# Many who prepare a new database at the same moment all find it prepared.
async def test_preparing_at_once(neo4j_pool: servers.Pool, connection: Connection) -> None:
    settings = neo4j_pool.settings(connection.version)
    for _ in range(5):
        async with connection._driver.session() as session:
            await (await session.run("DROP INDEX graphreader_key_element_stale")).consume()
        others = [await open_connection(settings) for _ in range(5)]
        await asyncio.gather(*(schema.prepare(one, 256) for one in others))
        for one in others:
            await one.aclose()
    found = {row["name"]: row["state"] for row in await connection.read("schema/indexes")}

    assert found == dict.fromkeys(INDEXES, "ONLINE")


# A graph of another version is refused, not used.
@pytest.mark.usefixtures("restored")
async def test_another_schema_is_refused(connection: Connection) -> None:
    await connection.write("schema/set_number", number=999)

    with pytest.raises(SchemaError, match=r"schema 999.*NEO4J_DATABASE"):
        await schema.prepare(connection, 256)


# A vector index of another dimension is noticed by its real options, and can be made anew.
@pytest.mark.usefixtures("restored")
async def test_another_dimension_is_refused(connection: Connection) -> None:
    with pytest.raises(EmbeddingMismatchError, match=r"256 dimensions.*gives 64"):
        await schema.prepare(connection, 64)

    await schema.rebuild(connection, 64)
    await schema.prepare(connection, 64)
