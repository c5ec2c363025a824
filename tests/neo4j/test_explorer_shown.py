"""What was shown of chunks, and key elements drawn by chance; both of one corpus alone."""

from collections.abc import AsyncIterator

import pytest

from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import ShownChunk, ShownTexts
from graphreader.store.writer import Deleter, GraphWriter
from tests.neo4j.texts import Facts, write

FIRST: Facts = {"Ada met Bede.": ["Ada", "Bede"], "Bede met Ada.": ["Ada", "Bede"]}
SECOND: Facts = {"Cyril met Ada.": ["Cyril", "Ada"], "Dora sang.": ["Dora"], "It rained.": ["rain"]}
PARTS = [("Ada and Bede. ", FIRST), ("Cyril, Dora, rain.", SECOND)]


@pytest.fixture
def explorer(connection: Connection, writer: GraphWriter) -> GraphExplorer:
    return GraphExplorer(connection, writer.corpus)


@pytest.fixture
async def other(connection: Connection, writer: GraphWriter) -> AsyncIterator[GraphExplorer]:
    """Another corpus in the same database, with the same words."""
    theirs = GraphWriter(connection, f"{writer.corpus}-other")
    made = await write(theirs, "one", PARTS)
    yield GraphExplorer(connection, theirs.corpus)
    await Deleter(connection, theirs.corpus).delete([made[0].document])


# A chunk that was read comes with its text and its place, else only the facts that were shown.
async def test_shown(writer: GraphWriter, explorer: GraphExplorer) -> None:
    first, second = await write(writer, "one", PARTS)
    found = await explorer.shown_texts(
        {second.id: ShownChunk(True, [1]), first.id: ShownChunk(False, [0, 1])}
    )

    assert found == [
        ShownTexts(first.document, 14, "Cyril, Dora, rain.", ("Dora sang.",)),
        ShownTexts(first.document, 0, None, tuple(FIRST)),
    ]


# Facts come in the order of the chunk, each once; a place that there is not gives none.
async def test_shown_facts(writer: GraphWriter, explorer: GraphExplorer) -> None:
    first, second = await write(writer, "one", PARTS)
    found = await explorer.shown_texts(
        {second.id: ShownChunk(False, [2, 0, 7, 2]), first.id: ShownChunk(True)}
    )

    assert [one.facts for one in found] == [("Cyril met Ada.", "It rained."), ()]


# What is gone is left out, and of nothing there is nothing to tell.
async def test_shown_and_gone(writer: GraphWriter, explorer: GraphExplorer) -> None:
    first, _ = await write(writer, "one", PARTS)
    found = await explorer.shown_texts({"gone": ShownChunk(True, [0]), first.id: ShownChunk(True)})

    assert [one.text for one in found] == ["Ada and Bede. "]
    assert await explorer.shown_texts({}) == []


# A chunk of another corpus is never shown.
async def test_shown_of_another_corpus(
    writer: GraphWriter, explorer: GraphExplorer, other: GraphExplorer
) -> None:
    (chunk, _) = await write(writer, "one", PARTS)

    assert await other.shown_texts({chunk.id: ShownChunk(True, [0])}) == []
    assert len(await explorer.shown_texts({chunk.id: ShownChunk(True, [0])})) == 1


# What is drawn depends on keys alone: in another corpus of the same texts it is the same.
async def test_drawn(writer: GraphWriter, explorer: GraphExplorer, other: GraphExplorer) -> None:
    await write(writer, "one", PARTS)
    mine, theirs = await explorer.busiest_nodes(100), await other.busiest_nodes(100)
    shares = [n / 50 for n in range(50)]
    drawn = await explorer.sample(shares)

    assert {node.name for node in mine} == {node.name for node in theirs}
    assert set(drawn) == set(mine)
    assert [node.name for node in drawn] == [node.name for node in await other.sample(shares)]
    assert set(await other.sample(shares)) == set(theirs)


# They come in the order in which they were asked for; there is none at the end of all.
async def test_drawn_in_order(writer: GraphWriter, explorer: GraphExplorer) -> None:
    await write(writer, "one", PARTS)
    first, last = await explorer.sample([0, 0.999])

    assert await explorer.sample([0.999, 0, 1, 0.999]) == [last, first, last]
    assert await explorer.sample([]) == []


# What was merged into another key element is not drawn.
async def test_drawn_merged(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer
) -> None:
    await write(writer, "one", PARTS)
    first, second = await explorer.sample([0, 0.999])
    async with connection._driver.session() as session:
        await session.run(
            "MATCH (k:KeyElement {id: $id}) SET k.merged_into = $into", id=first.id, into=second.id
        )

    assert first not in await explorer.sample([n / 50 for n in range(50)])
