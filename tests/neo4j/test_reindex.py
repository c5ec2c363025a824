from collections.abc import AsyncIterator, Sequence

import pytest

from graphreader.errors import UnknownCorpusError
from graphreader.ingestion.embedding import embed, reindex
from graphreader.store import schema
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.writer import Deleter, GraphWriter
from tests.neo4j.texts import by_vector, write


class Counting:
    """An embedder of any dimension: a vector says how long the text is."""

    def __init__(self, name: str, dimension: int) -> None:
        self.name = name
        self.dimension = dimension
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded += texts
        return [[float(len(text)), *([1.0] * (self.dimension - 1))] for text in texts]

    async def aclose(self) -> None:
        pass


@pytest.fixture
async def restored(connection: Connection) -> AsyncIterator[None]:
    """Puts the index back as the other tests need it."""
    yield
    if await schema.dimension(connection) != 256:
        await schema.rebuild(connection, 256)


FACTS = {"Canada is cold.": ["Canada", "cold"]}


# Another embedding of the same dimension embeds only its own corpus anew.
async def test_another_embedding(connection: Connection, writer: GraphWriter) -> None:
    other = GraphWriter(connection, f"{writer.corpus}-2")
    await other.begin_corpus(decider="t", prompts="1", embedding="old", dimension=256)
    await write(writer, "t", [("x", FACTS)])
    await embed(writer, Counting("test-embedding", 256), await writer.unembedded())
    new = Counting("new", 256)
    done = await reindex(connection, new, writer.corpus)
    await Deleter(connection, other.corpus).delete_corpus()

    assert done == [writer.corpus]
    assert sorted(new.embedded) == ["canada", "cold"]
    assert (await Catalog(connection).corpus(writer.corpus)).embedding == "new"
    assert await writer.unembedded() == []


# A reindex that was cut off is finished by the next one, for every corpus that it had begun.
async def test_cut_off(connection: Connection, writer: GraphWriter) -> None:
    other = GraphWriter(connection, f"{writer.corpus}-2")
    await other.begin_corpus(decider="t", prompts="1", embedding="old", dimension=256)
    await write(writer, "one", [("x", FACTS)])
    await write(other, "two", [("y", FACTS)])
    await other.change_embedding("new", 256)
    done = await reindex(connection, Counting("new", 256), writer.corpus)
    again = await reindex(connection, Counting("new", 256), writer.corpus)
    left = await other.unembedded()
    rows = (await connection.read("read/documents", corpus=other.corpus))[0]["documents"]
    deleter = Deleter(connection, other.corpus)
    await deleter.delete([row["id"] for row in rows])
    await deleter.delete_corpus()

    assert left == []
    assert set(done) == {writer.corpus, other.corpus}
    assert again == [writer.corpus]  # nothing is left to do for the other one


# A corpus that there is not is refused before anything is touched.
async def test_unknown_corpus(connection: Connection) -> None:
    with pytest.raises(UnknownCorpusError):
        await reindex(connection, Counting("new", 64), "no such corpus")

    assert await schema.dimension(connection) == 256


# Where nothing changed, nothing is embedded again.
async def test_nothing_changed(connection: Connection, writer: GraphWriter) -> None:
    await write(writer, "t", [("x", FACTS)])
    same = Counting("test-embedding", 256)
    await embed(writer, same, await writer.unembedded())
    same.embedded.clear()
    await reindex(connection, same, writer.corpus)

    assert same.embedded == []


# Another dimension makes the index anew and embeds every corpus, which is then found.
@pytest.mark.usefixtures("restored")
async def test_another_dimension(connection: Connection, writer: GraphWriter) -> None:
    other = GraphWriter(connection, f"{writer.corpus}-2")
    await other.begin_corpus(decider="t", prompts="1", embedding="old", dimension=256)
    await write(writer, "one", [("x", FACTS)])
    await write(other, "two", [("y", FACTS)])
    new = Counting("new", 64)
    done = await reindex(connection, new, writer.corpus)
    found = await by_vector(GraphExplorer(connection, writer.corpus), [4.0] + [1.0] * 63, 1)
    records = [await Catalog(connection).corpus(name) for name in (writer.corpus, other.corpus)]
    rows = (await connection.read("read/documents", corpus=other.corpus))[0]["documents"]
    deleter = Deleter(connection, other.corpus)
    await deleter.delete([row["id"] for row in rows])
    await deleter.delete_corpus()

    assert {writer.corpus, other.corpus} <= set(done)
    assert await schema.dimension(connection) == 64
    assert [record.dimension for record in records] == [64, 64]
    assert [node.name for node in found] == ["cold"]
