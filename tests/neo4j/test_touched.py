from graphreader.store.catalog import FACTS_OF_AN_ELEMENT, Edge, RunSubgraph, run_subgraph
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.key_elements import KeyElementMerges
from graphreader.store.writer import GraphWriter
from tests.neo4j.texts import write


async def ids(writer: GraphWriter) -> dict[str, str]:
    """The ids of the key elements of a small corpus, by their names."""
    nodes = await GraphExplorer(writer.connection, writer.corpus).busiest_nodes(5000)
    return {node.name: node.id for node in nodes}


def tie(found: RunSubgraph, one: str, other: str) -> Edge:
    """The only tie of two."""
    (only,) = [each for each in found.edges if {each.one, each.other} == {one, other}]
    return only


# What is asked for comes with its names, in the order asked; what is not there is left out.
async def test_names(connection: Connection, writer: GraphWriter) -> None:
    chunks = await write(writer, "a", [("One.", {"A met B.": ["A", "B"]}), ("Two.", {})])
    known = await ids(writer)
    asked = [known["B"], chunks[1].id, "gone", known["A"], chunks[0].id]
    found = await run_subgraph(connection, writer.corpus, asked)

    assert [node.name for node in found.elements] == ["B", "A"]
    assert [(one.document, one.index) for one in found.chunks] == [("a", 1), ("a", 0)]


# Facts tie a chunk to what they name, and to each other what they name together; each pair once.
async def test_ties(connection: Connection, writer: GraphWriter) -> None:
    facts = {"Ada met Bo.": ["Ada", "Bo"], "Ada left.": ["Ada"], "Ada saw Bo.": ["Ada", "Bo"]}
    chunks = await write(writer, "a", [("One.", facts), ("Two.", {"Cy came.": ["Cy"]})])
    known = await ids(writer)
    ada, bo, cy = known["Ada"], known["Bo"], known["Cy"]
    found = await run_subgraph(connection, writer.corpus, [ada, bo, cy, chunks[0].id])

    assert tie(found, chunks[0].id, ada).facts == 3
    assert tie(found, ada, bo).facts == 2
    assert tie(found, ada, bo).fact == "Ada met Bo."
    assert not [one for one in found.edges if cy in (one.one, one.other)]
    assert len(found.edges) == 3


# Of a hub only so many facts are looked at; from the side of the other one the tie is still found.
async def test_hubs(connection: Connection, writer: GraphWriter) -> None:
    many = {f"Hub has part {n}.": ["Hub"] for n in range(FACTS_OF_AN_ELEMENT + 10)}
    await write(writer, "a", [("One.", many | {"Hub knows Rare.": ["Hub", "Rare"]})])
    known = await ids(writer)
    found = await run_subgraph(connection, writer.corpus, [known["Hub"], known["Rare"]])

    assert tie(found, known["Hub"], known["Rare"]).facts == 1


# What was merged stands for what it went into, with its name and its ties; that comes once, also
# where both are asked for, and the ids that were asked for still lead there.
async def test_merged(connection: Connection, writer: GraphWriter) -> None:
    facts = {"Ada met Bo.": ["Ada", "Bo"], "Ada Lund saw Bo.": ["Ada Lund", "Bo"]}
    chunks = await write(writer, "a", [("One.", facts)])
    known = await ids(writer)
    ada, lund, bo = known["Ada"], known["Ada Lund"], known["Bo"]
    await KeyElementMerges(connection, writer.corpus).merge([(ada, lund, "semantic")])
    alone = await run_subgraph(connection, writer.corpus, [chunks[0].id, ada, bo])
    both = await run_subgraph(connection, writer.corpus, [bo, ada, lund])

    assert [(node.id, node.name) for node in alone.elements] == [(lund, "Ada Lund"), (bo, "Bo")]
    assert alone.merged == both.merged == {ada: lund}
    assert tie(alone, lund, bo).facts == tie(alone, chunks[0].id, lund).facts == 2
    assert len(alone.edges) == 3
    assert [node.id for node in both.elements] == [bo, lund]
    assert tie(both, lund, bo).facts == 2


# Another corpus's key elements and chunks are never found.
async def test_corpora(connection: Connection, writer: GraphWriter) -> None:
    chunks = await write(writer, "a", [("One.", {"A met B.": ["A", "B"]})])
    found = await run_subgraph(connection, "another", [*(await ids(writer)).values(), chunks[0].id])

    assert found == RunSubgraph()
