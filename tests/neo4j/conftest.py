"""A connection to Neo4j, to each supported version where a test is marked `both_versions`."""

from collections.abc import AsyncIterator

import pytest

from graphreader.store import schema
from graphreader.store.connection import Connection, open_connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.writer import Deleter, GraphWriter
from tests import servers

DIMENSION = 256


@pytest.fixture(scope="session")
async def connection(
    request: pytest.FixtureRequest, neo4j_pool: servers.Pool
) -> AsyncIterator[Connection]:
    """A prepared database, of the default version unless the test names one."""
    version = getattr(request, "param", servers.VERSIONS[0])
    connection = await open_connection(neo4j_pool.settings(version))
    await schema.prepare(connection)
    yield connection
    await connection.aclose()


async def _corpus(connection: Connection, corpus: str) -> AsyncIterator[GraphWriter]:
    writer = GraphWriter(connection, corpus)
    await writer.begin_corpus(
        decider="test", prompts="1", embedding="test-embedding", dimension=DIMENSION
    )
    yield writer
    documents = (await connection.read("read/documents", corpus=corpus))[0]["documents"]
    deleter = Deleter(connection, corpus)
    await deleter.delete([row["id"] for row in documents])
    await deleter.delete_corpus()


@pytest.fixture
async def writer(connection: Connection, corpus: str) -> AsyncIterator[GraphWriter]:
    """A writer into a corpus of the test's own, which is gone afterwards."""
    async for writer in _corpus(connection, corpus):
        yield writer


@pytest.fixture
async def other(connection: Connection, corpus: str) -> AsyncIterator[GraphWriter]:
    """A writer into another corpus, whose name only adds to that of the first one."""
    async for writer in _corpus(connection, f"{corpus} two"):
        yield writer


@pytest.fixture
def explorer(connection: Connection, writer: GraphWriter) -> GraphExplorer:
    """An explorer of the test's corpus."""
    return GraphExplorer(connection, writer.corpus)
