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
from tests.project.markdown import part_of_joan

ROOT = Path(__file__).parents[2]
INSPECT = ROOT / "cypher" / "inspect"
NAMES = sorted(query.stem for query in INSPECT.glob("*.cypher"))
README = (ROOT / "cypher" / "README.md").read_text(encoding="utf-8")
CORPUS = "test-inspect"


@pytest.fixture(scope="module")
async def example(
    connection: Connection, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[GraphReader]:
    """A reader of a part of the example text, asked once."""
    address = connection.address
    settings = Settings.read(
        neo4j_uri=address.uri,
        neo4j_username=address.username,
        neo4j_password=address.password,
        model="offline",
        embeddings="offline",
        chunk_tokens=200,
    )
    reader = GraphReader(CORPUS, settings=settings)
    await reader.aingest(part_of_joan(tmp_path_factory.mktemp("texts")))
    await reader.aask("Which pope canonized Joan of Arc?", mode="paper", keep_run=True)
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
    assert missing["chunks"] == len(found) > 3
    assert missing["failed_chunks"] == missing["without_embedding"] == missing["to_be_settled"] == 0


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
    derived = {"merged_into", "merged_by", "fact_vectors"}

    assert set(real) == set(drawn)
    real["AtomicFact"].add("embedding")  # of a model
    for label, names in real.items():
        assert drawn[label] - passing - derived == names - passing - derived, label
