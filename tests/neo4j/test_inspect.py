"""The queries for people in `cypher/inspect`, each as its file says, on the example text."""

import ast
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from graphreader.store.connection import Connection, Row

ROOT = Path(__file__).parents[2]
QUERIES = sorted((ROOT / "cypher" / "inspect").glob("*.cypher"))
NAMES = [query.stem for query in QUERIES]
CORPUS = "test-inspect"
EDGE = "test-inspect-edge"


@pytest.fixture(scope="module")
async def example(connection: Connection) -> AsyncIterator[GraphReader]:
    """A reader of the example text, asked once, on the server of the connection."""
    address = connection.address
    settings = Settings.read(
        neo4j_uri=address.uri,
        neo4j_username=address.username,
        neo4j_password=address.password,
        model="offline",
        embeddings="offline",
    )
    reader = GraphReader(CORPUS, settings=settings)
    await reader.aingest(ROOT / "examples" / "joan_of_arc.txt")
    await reader.aask("Which pope canonized Joan of Arc?", mode="fast", keep_run=True)
    yield reader
    await reader.adelete(everything=True)
    await reader.aclose()


def parameters(query: Path) -> dict[str, Any]:
    """What the comments of a query tell a person to set."""
    lines = re.findall(
        r"^// :param (\w+) => (.+)$", query.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name: ast.literal_eval(value) for name, value in lines}


async def rows(connection: Connection, query: Path, **changed: Any) -> list[Row]:
    """What a query finds with the parameters of its comments, but for those that are changed."""
    values = parameters(query) | changed
    return await connection.read(f"inspect/{query.stem}", **values)


# Each query finds something in the example text with the parameters that it shows.
@pytest.mark.parametrize("query", QUERIES, ids=NAMES)
async def test_queries_find_something(
    connection: Connection, example: GraphReader, query: Path
) -> None:
    assert await rows(connection, query, corpus=CORPUS)


# A query looks at its corpus only.
@pytest.mark.parametrize("query", QUERIES, ids=NAMES)
async def test_queries_look_at_one_corpus(
    connection: Connection, example: GraphReader, query: Path
) -> None:
    found = await rows(connection, query, corpus="test-no-such-corpus")

    assert found == [] or not any(value for row in found for value in row.values())


# What a query needs stands above it, one parameter a line, and the corpus is always the demo's.
@pytest.mark.parametrize("query", QUERIES, ids=NAMES)
def test_queries_say_what_they_need(query: Path) -> None:
    text = query.read_text(encoding="utf-8")

    assert set(parameters(query)) == set(re.findall(r"\$(\w+)", text))
    assert parameters(query)["corpus"] == "demo"
    assert text.endswith(";\n")


# The README lists the queries that there are.
def test_the_readme_lists_the_queries() -> None:
    readme = (ROOT / "cypher" / "README.md").read_text(encoding="utf-8")

    assert sorted(re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE)) == NAMES


# The chain has every chunk once, each but the last with its successor.
async def test_the_chain(connection: Connection, example: GraphReader) -> None:
    query = ROOT / "cypher" / "inspect" / "chain.cypher"
    found = await rows(connection, query, corpus=CORPUS)
    indexes = [row["c"]["index"] for row in found]

    assert indexes == list(range(len(found)))
    assert [row["next"] is None for row in found] == [False] * (len(found) - 1) + [True]


# A graph at rest has nothing missing.
async def test_nothing_is_missing(connection: Connection, example: GraphReader) -> None:
    query = ROOT / "cypher" / "inspect" / "missing.cypher"
    (row,) = await rows(connection, query, corpus=CORPUS)

    assert row["chunks"] > 3
    assert row["key_elements"] > 500
    assert row["failed_chunks"] == row["without_embedding"] == row["to_be_settled"] == 0


# Every fact is counted once in the histogram, whose longest bar is the most frequent length.
async def test_the_histogram(connection: Connection, example: GraphReader) -> None:
    inspect = ROOT / "cypher" / "inspect"
    found = await rows(connection, inspect / "histogram_of_facts.cypher", corpus=CORPUS)
    (row,) = await rows(connection, inspect / "unreachable.cypher", corpus=CORPUS)
    begins = [int(one["about_tokens"].split()[0]) for one in found]
    most = max(found, key=lambda one: one["facts"])

    assert sum(one["facts"] for one in found) == row["facts"] > 200
    assert begins == sorted(set(begins))
    assert len(most["histogram"]) == 40
    assert all(1 <= len(one["histogram"]) <= 40 for one in found)


# What lacks something, and what no path comes to, is counted and shown.
async def test_what_is_wrong_with_a_graph(connection: Connection) -> None:
    async with connection._driver.session() as session:
        created = await session.run(
            """
            CREATE (d:Document {corpus: $corpus, id: $corpus + 'd', title: 'T'})
            CREATE (d)-[:HAS_CHUNK]->(:Chunk {id: $corpus + 'b', index: 1, error: 'cut off'})
            CREATE (d)-[:HAS_CHUNK]->(c:Chunk {id: $corpus + 'c', index: 0})
            CREATE (a:KeyElement {corpus: $corpus, id: $corpus + 'a', stale: true})
            CREATE (h:KeyElement {corpus: $corpus, id: $corpus + 'h', embedding: [1.0]})
            CREATE (k:KeyElement {corpus: $corpus, id: $corpus + 'k', embedding: [1.0]})
            WITH c, a, h, k
            UNWIND [['unnamed', []], ['alone', [a]], ['crowded', [h]], ['in sight', [h, k]],
                    ['in sight as well', [k]]] AS one
            CREATE (c)-[:HAS_ATOMIC_FACT]->(f:AtomicFact {id: $corpus + one[0], text: one[0]})
            WITH f, one, h
            UNWIND one[1] AS named
            CREATE (f)-[:HAS_KEY_ELEMENT]->(named)
            WITH DISTINCT h
            UNWIND range(1, 249) AS n
            CREATE (h)<-[:HAS_KEY_ELEMENT]-(:AtomicFact {corpus: $corpus, id: $corpus + n})
            """,
            corpus=EDGE,
        )
        await created.consume()  # other sessions see it only once it is committed
        inspect = ROOT / "cypher" / "inspect"
        try:
            (missing,) = await rows(connection, inspect / "missing.cypher", corpus=EDGE)
            (unreachable,) = await rows(connection, inspect / "unreachable.cypher", corpus=EDGE)
        finally:
            await session.run(
                "MATCH (n {corpus: $corpus}) "
                "OPTIONAL MATCH (n)-[:HAS_CHUNK]->(c) "
                "OPTIONAL MATCH (c)-[:HAS_ATOMIC_FACT]->(f) DETACH DELETE f, c, n",
                corpus=EDGE,
            )

    assert (missing["failed_chunks"], missing["errors"]) == (1, ["cut off"])
    assert (missing["without_embedding"], missing["to_be_settled"]) == (1, 1)
    assert unreachable["facts"] == 5
    assert unreachable["no_key_element_names"] == 1
    assert unreachable["only_a_search_finds"] == 1
    assert unreachable["only_busy_ones_name"] == 1
    assert sorted(unreachable["examples"]) == [
        f"{one}: T, chunk 0: {one}" for one in ("alone", "crowded", "unnamed")
    ]


# A run is drawn as it went: its steps in order, and what lies between one and the next.
async def test_the_way_of_a_run(connection: Connection, example: GraphReader) -> None:
    text = (ROOT / "cypher" / "inspect" / "run.cypher").read_text(encoding="utf-8")
    async with connection._driver.session() as session:
        result = await session.run(text, corpus=CORPUS, words="pope")
        found = [record async for record in result]
    steps = [row["step"] for row in found if row["step"].type == "STEP"]
    ways = [row["way"] for row in found if row["way"]]

    assert [(one["path"], one["number"]) for one in steps] == sorted(
        (one["path"], one["number"]) for one in steps
    )
    assert {row["step"].type for row in found} == {"INITIAL_NODE", "STEP", "CITED"}
    assert len(ways) >= 2
    assert all(row["here"] == row["way"].start_node for row in found if row["way"])


# What an answer rests on is shown with its documents, and the facts by which paths came there.
async def test_why(connection: Connection, example: GraphReader) -> None:
    query = ROOT / "cypher" / "inspect" / "why.cypher"
    found = await rows(connection, query, corpus=CORPUS)

    assert all(row["d"]["title"] == "joan_of_arc" for row in found)
    assert any("Benedict XV" in fact["text"] for row in found for fact in row["shown"])
    assert all(row["k"] for row in found)


# What no run has reached is no fact of a chunk that one has read.
async def test_unreached(connection: Connection, example: GraphReader) -> None:
    query = ROOT / "cypher" / "inspect" / "unreached.cypher"
    found = await rows(connection, query, corpus=CORPUS)
    async with connection._driver.session() as session:
        result = await session.run(
            "MATCH (:Run {corpus: $corpus})-[:STEP]->(c:Chunk) RETURN collect(c.index) AS read",
            corpus=CORPUS,
        )
        read = (await result.data())[0]["read"]

    assert read
    assert not {row["chunk"] for row in found} & set(read)


# The drawing of the graph has the labels and properties that a graph really has.
async def test_the_graph_is_drawn_as_it_is(connection: Connection, example: GraphReader) -> None:
    readme = (ROOT / "cypher" / "README.md").read_text(encoding="utf-8")
    drawn = {
        label: set(re.split(r",\s+", names))
        for label, names in re.findall(r"\(:(\w+) \{([\w,\s]+)\}\)", readme)
    }
    async with connection._driver.session() as session:
        result = await session.run(
            "MATCH (n) WHERE n.corpus = $corpus OR n.name = $corpus OR n:GraphReaderSchema "
            "UNWIND keys(n) AS name RETURN labels(n)[0] AS label, collect(DISTINCT name) AS names",
            corpus=CORPUS,
        )
        real = {row["label"]: set(row["names"]) for row in await result.data()}
    passing = {"error", "deleting", "pending", "retired", "stale", "fresh"}
    derived = {"merged_into", "merged_by"}

    assert set(real) == set(drawn)
    for label, names in real.items():
        assert drawn[label] - passing - derived == names - passing - derived, label
