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
INSPECT = ROOT / "cypher" / "inspect"
NAMES = sorted(query.stem for query in INSPECT.glob("*.cypher"))
README = (ROOT / "cypher" / "README.md").read_text(encoding="utf-8")
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


def parameters(name: str) -> dict[str, Any]:
    """What the comments of a query tell a person to set."""
    text = (INSPECT / f"{name}.cypher").read_text(encoding="utf-8")
    lines = re.findall(r"^// :param (\w+) => (.+)$", text, re.MULTILINE)
    return {parameter: ast.literal_eval(value) for parameter, value in lines}


async def rows(connection: Connection, name: str, corpus: str = CORPUS) -> list[Row]:
    """What a query finds in a corpus, with the other parameters of its comments."""
    return await connection.read(f"inspect/{name}", **{**parameters(name), "corpus": corpus})


# Each query finds something in the example text with the parameters that it shows, and nothing in
# a corpus that there is not.
async def test_queries_look_at_one_corpus(connection: Connection, example: GraphReader) -> None:
    for name in NAMES:
        nowhere = await rows(connection, name, corpus="test-no-such-corpus")

        assert await rows(connection, name), name
        assert nowhere == [] or not any(value for row in nowhere for value in row.values()), name


# What a query needs stands above it, one parameter a line, and the corpus is always the demo's. The
# README lists the queries that there are.
def test_queries_say_what_they_need() -> None:
    for name in NAMES:
        text = (INSPECT / f"{name}.cypher").read_text(encoding="utf-8")

        assert set(parameters(name)) == set(re.findall(r"\$(\w+)", text)), name
        assert parameters(name)["corpus"] == "demo"
        assert text.endswith(";\n")
    assert sorted(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)) == NAMES


# The chain has every chunk once, each but the last with its successor; a graph at rest has nothing
# missing.
async def test_the_chain(connection: Connection, example: GraphReader) -> None:
    found = await rows(connection, "chain")
    (missing,) = await rows(connection, "missing")

    assert [row["c"]["index"] for row in found] == list(range(len(found)))
    assert [row["next"] is None for row in found] == [False] * (len(found) - 1) + [True]
    assert missing["chunks"] > 3
    assert missing["key_elements"] > 500
    assert missing["failed_chunks"] == missing["without_embedding"] == missing["to_be_settled"] == 0


# Every fact is counted once in the histogram, whose longest bar is the most frequent length.
async def test_the_histogram(connection: Connection, example: GraphReader) -> None:
    found = await rows(connection, "histogram_of_facts")
    (row,) = await rows(connection, "unreachable")
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
        try:
            (missing,) = await rows(connection, "missing", corpus=EDGE)
            (unreachable,) = await rows(connection, "unreachable", corpus=EDGE)
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
    text = (INSPECT / "run.cypher").read_text(encoding="utf-8")
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


# What an answer rests on is shown with its documents, and the facts by which paths came there. What
# no run has reached is no fact of a chunk that one has read.
async def test_why_and_unreached(connection: Connection, example: GraphReader) -> None:
    why, unreached = await rows(connection, "why"), await rows(connection, "unreached")
    async with connection._driver.session() as session:
        result = await session.run(
            "MATCH (:Run {corpus: $corpus})-[:STEP]->(c:Chunk) RETURN collect(c.index) AS read",
            corpus=CORPUS,
        )
        read = (await result.data())[0]["read"]

    assert all(row["k"] and row["d"]["title"] == "joan_of_arc" for row in why)
    assert any("Benedict XV" in fact["text"] for row in why for fact in row["shown"])
    assert read
    assert not {row["chunk"] for row in unreached} & set(read)


# The drawing of the graph has the labels and properties that a graph really has.
async def test_the_graph_is_drawn_as_it_is(connection: Connection, example: GraphReader) -> None:
    drawn = {
        label: set(re.split(r",\s+", names))
        for label, names in re.findall(r"\(:(\w+) \{([\w,\s]+)\}\)", README)
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
