"""Constraints and indexes of the graph: created once, checked at every start."""

from graphreader.errors import EmbeddingMismatchError, SchemaError
from graphreader.store.connection import Connection

NUMBER = 2  # number of the schema; a graph with another one is of another version of GraphReader

VECTOR_INDEX = "graphreader_key_element_embeddings"

_VECTOR_STATEMENTS = ("key_element_embeddings", "fact_embeddings")

_STATEMENTS = (
    "corpus_name",
    "document_id",
    "chunk_id",
    "atomic_fact_id",
    "key_element_id",
    "document_corpus",
    "document_title",
    "key_element_corpus",
    "key_element_stale",
    "key_element_fresh",
    "key_element_merged",
    "key_element_words",
    "fact_terms",
    "title_terms",
    "run_id",
)

_INDEXES = len(_STATEMENTS) + len(_VECTOR_STATEMENTS)


async def prepare(connection: Connection, dimension: int) -> None:
    """Create missing indexes. Raises SchemaError, and EmbeddingMismatchError by the dimension."""
    number = await check(connection)
    await check_dimension(connection, dimension)
    indexes = await connection.read("schema/indexes")
    if number is None or sum(index["state"] == "ONLINE" for index in indexes) < _INDEXES:
        await _create(connection, dimension)
        await check_dimension(connection, dimension)


async def check(connection: Connection) -> int | None:
    """Return the number of the graph's schema, if it has one. Raises SchemaError for another."""
    number: int | None = (await connection.read("schema/number"))[0]["number"]
    if number is not None and number != NUMBER:
        raise SchemaError(
            f"This graph was made with schema {number}, this version of GraphReader uses {NUMBER}: "
            "use the version that made it, or another database (NEO4J_DATABASE; with the embedded "
            "server GRAPHREADER_HOME)."
        )
    return number


async def rebuild(connection: Connection, dimension: int) -> None:
    """Recreate the vector indexes with another dimension; they find no vector of the former one."""
    await connection.run("schema/drop_embeddings")
    await connection.run("schema/drop_fact_embeddings")
    await _create(connection, dimension)


async def _create(connection: Connection, dimension: int) -> None:
    for name in _STATEMENTS:
        await connection.run(f"schema/{name}")
    for name in _VECTOR_STATEMENTS:
        await connection.run(f"schema/{name}", dimension=dimension)
    await connection.run("schema/await_indexes", seconds=120)
    await connection.write("schema/set_number", number=NUMBER)


async def dimension(connection: Connection) -> int | None:
    """Return the dimension of the vector index, None where there is no index."""
    for index in await connection.read("schema/indexes"):
        if index["name"] == VECTOR_INDEX:
            return int(index["options"]["indexConfig"]["vector.dimensions"])
    return None


async def check_dimension(connection: Connection, configured: int) -> None:
    """Raise EmbeddingMismatchError where the vector index has another dimension."""
    real = await dimension(connection)
    if real not in (None, configured):
        raise EmbeddingMismatchError(
            f"The vector index of this database has {real} dimensions, the configured embedding "
            f"gives {configured}: run `graphreader reindex --corpus NAME` to embed all corpora "
            "anew (no text is read again), or set GRAPHREADER_EMBEDDINGS back to the one before."
        )
