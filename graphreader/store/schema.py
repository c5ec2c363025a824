"""Constraints and indexes of the graph, created once and checked at every start."""

from graphreader.errors import SchemaError
from graphreader.store.connection import Connection, Row
from graphreader.waiting import Waiting, announced_if_slow

NUMBER = 2  # version of the schema; another number means another version of GraphReader

LONGEST_INDEXING = 3_600  # seconds: indexes of older versions are rebuilt for all corpora

VECTOR_INDEX = "graphreader_key_element_embeddings"

_FORMER_INDEX = "graphreader_fact_embeddings"  # of earlier versions

_STATEMENTS = (
    "corpus_name",
    "document_id",
    "chunk_id",
    "atomic_fact_id",
    "passage_id",
    "key_element_id",
    "document_corpus",
    "document_title",
    "key_element_corpus",
    "key_element_stale",
    "key_element_fresh",
    "key_element_merged",
    "key_element_frequent",
    "key_element_words",
    "fact_terms",
    "title_terms",
    "passage_terms",
    "run_id",
    "key_element_embeddings",
    "passage_embeddings",
)


async def prepare(connection: Connection) -> None:
    """Create missing indexes; rebuild failed or outdated vector indexes. Raises SchemaError."""
    number = await check(connection)
    indexes = await connection.read("schema/indexes")
    if any(one["name"] == _FORMER_INDEX for one in indexes):
        await connection.run("schema/drop_fact_embeddings")
        indexes = [one for one in indexes if one["name"] != _FORMER_INDEX]
    if unusable := [one for one in indexes if _is_unusable(one)]:
        for name in ("embeddings", "passage_embeddings"):
            await connection.run(f"schema/drop_{name}")
    online = sum(index["state"] == "ONLINE" for index in indexes) - len(unusable)
    if number is None or unusable or online < len(_STATEMENTS):
        for name in _STATEMENTS:
            await connection.run(f"schema/{name}")
        with announced_if_slow(Waiting("Neo4j", "Neo4j makes its indexes", LONGEST_INDEXING)):
            await connection.run("schema/await_indexes", seconds=LONGEST_INDEXING)
        await connection.write("schema/set_number", number=NUMBER)


def _is_unusable(index: Row) -> bool:
    """Whether a vector index failed, or allows one vector length only (older versions)."""
    is_bound = "vector.dimensions" in index["options"].get("indexConfig", {})
    return index["type"] == "VECTOR" and (is_bound or index["state"] == "FAILED")


async def check(connection: Connection) -> int | None:
    """Return the version of the graph's schema, if any. Raises SchemaError if it is not NUMBER."""
    number: int | None = (await connection.read("schema/number"))[0]["number"]
    if number is not None and number != NUMBER:
        raise SchemaError(
            f"This graph was made with schema {number}, this version of GraphReader uses {NUMBER}: "
            "use the version that made it, or another database (NEO4J_DATABASE; with the embedded "
            "server GRAPHREADER_HOME)."
        )
    return number
