"""The catalog of a database, and the queries for people."""

import ast
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from graphreader.documents import Chunk, ChunkFacts, Document, Heading, Place
from graphreader.errors import UnknownCorpusError, UnknownDocumentError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.chunking import split
from graphreader.ingestion.loading.content import Content, completed, document_of
from graphreader.settings import Settings
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection, Row
from graphreader.store.run_graph import FACTS_OF_AN_ELEMENT, Edge, RunSubgraph, run_subgraph
from graphreader.store.writer import Deleter, DocumentVersion, GraphWriter
from scripts.favorites import favorites
from tests.neo4j.texts import document, node_ids, read, write
from tests.project.markdown import part_of_joan

FACTS = {"A and B.": ["A", "B"], "A and C.": ["A", "C"]}
LIMIT = 60
ENGLISH = "\n\n".join(
    f"Ada built bridge {n} of stone.\nIt stood  for {n} years." for n in range(40)
)
CHINESE = "\n\n".join(f"第{n}章 贞德生于栋雷米村。\r\n　　{n}年后，她去了希农。" for n in range(30))
ODD = "\ufeffBegins with a mark.\n\n\n  \t\nEmoji 👩‍🚀 and e\u0301 stay.\n \n Ends with space. \n\n"
REPEATED = "\n\n".join(["Ada built a bridge of stone that stood. " * 5] * 4)


@pytest.fixture
def catalog(connection: Connection) -> Catalog:
    return Catalog(connection)


# A document is found by its id, its path or its title, which its chunks have too; a title that two
# documents have names both, and a document that there is not says where to look.
async def test_documents_are_found(
    connection: Connection, writer: GraphWriter, catalog: Catalog
) -> None:
    for title in ("one", "two"):
        await write(writer, title, [("x", FACTS)])
    first, second = document(writer.corpus, "one"), document(writer.corpus, "two")
    by_name = [await catalog.find(writer.corpus, name) for name in (first.id, first.source, "one")]
    place = {"corpus": writer.corpus, "document": second.id}
    (chunk,) = await connection.read("inspect/chain", **place)
    await writer.write_chunks([], [replace(second, title="one")], 2000)
    (renamed,) = await connection.read("inspect/chain", **place)

    assert (chunk["c"]["title"], renamed["c"]["title"]) == ("two", "one")
    assert by_name == [first.id] * 3
    with pytest.raises(UnknownDocumentError, match=rf"{first.id}.*{second.id}") as refused:
        await catalog.find(writer.corpus, "one")
    assert f"({second.source.removeprefix('/')})" in str(refused.value)
    with pytest.raises(UnknownDocumentError, match="graphreader list"):
        await catalog.find(writer.corpus, "none")


# A corpus remembers how it was made, and the list counts what each holds; a corpus that there is
# not names those that there are. Sizes are those of the paper's table 8; an empty corpus has none.
async def test_corpora(writer: GraphWriter, catalog: Catalog) -> None:
    await write(writer, "one", [("x y z ", FACTS), ("y", FACTS)])
    record = await catalog.corpus(writer.corpus)
    (line,) = [one for one in await catalog.corpora() if one.corpus == writer.corpus]
    stats = await catalog.stats(writer.corpus)
    empty = await catalog.stats("no such corpus")

    assert (record.decider, record.prompts, record.embedding) == ("test", "1", "test-embedding")
    assert (line.documents, line.chunks, line.incomplete) == (1, 2, 0)
    with pytest.raises(UnknownCorpusError, match=writer.corpus):
        await catalog.corpus("no such corpus")
    assert (stats.documents, stats.chunks, stats.tokens, stats.facts) == (1, 2, 4, 4)
    assert (stats.key_elements, stats.most_facts, stats.most_neighbors) == (3, 4, 2)
    assert stats.facts_per_element == pytest.approx(8 / 3)
    assert stats.neighbors_per_element == pytest.approx(4 / 3)
    assert stats.busiest[0] == ("A", 4)
    assert (empty.documents, empty.key_elements, empty.facts_per_element) == (0, 0, 0.0)


def book(corpus: str, title: str, text: str, **more: object) -> Document:
    return document_of(completed(Content(text, **more)), title, corpus, f"/texts/{title}.txt")  # type: ignore[arg-type]


async def put(
    writer: GraphWriter, of: Document, *, pending: bool = False, error: str | None = None
) -> list[Chunk]:
    """Read a document in, in chunks of the size that the limit gives."""
    chunks = [replace(one, error=error) for one in split(of, LIMIT)]
    facts = {} if error else {f"Somebody built {of.title}.": ["Somebody"]}
    extracted = [read(of, one, facts) for one in chunks]
    await writer.write_chunks(extracted, [of], LIMIT, pending=[of.id] if pending else [])
    return chunks


async def arrange(writer: GraphWriter, of: Document, chunks: Sequence[Chunk]) -> list[str]:
    version = DocumentVersion.of(of.id, of.sha256, LIMIT, len(chunks))
    return await writer.arrange(version, chunks)


# Each document comes back as it was read in, to the last character, with pages and headings and
# without metadata, by title and id; also one of equal chunks, or whose chunks have no facts. What
# is only being read in is left out.
async def test_texts(writer: GraphWriter, catalog: Catalog) -> None:
    headings = Heading(0, "第一章", 9), Heading(12, "Stone & “sand”")
    places = {"places": Place.pages((0, 9, 30)), "headings": headings}
    books = [
        book(writer.corpus, title, text, **places)
        for title, text in {"C": ENGLISH, "A": CHINESE, "B": ODD}.items()
    ]
    twin = document_of(completed(Content(REPEATED, "A")), "A", writer.corpus, "/texts/another.txt")
    failed = book(writer.corpus, "failed", ENGLISH, metadata={"author": "Ada"})
    for one in (*books, twin):
        await arrange(writer, one, await put(writer, one))
    await arrange(writer, failed, await put(writer, failed, error="cut off"))
    begun, half = (book(writer.corpus, title, ENGLISH) for title in ("begun", "half"))
    await writer.write_chunks([], [begun], LIMIT)
    await writer.write_chunks([ChunkFacts(one) for one in split(half, LIMIT)[:3]], [half], LIMIT)

    expected = [*books, twin, replace(failed, metadata={})]
    texts = await catalog.texts(writer.corpus)
    assert texts == sorted(expected, key=lambda one: (one.title, one.id))
    assert [one.language for one in texts if one.text == CHINESE] == ["zh"]
    assert await catalog.texts(f"{writer.corpus}-none") == []


# Chunks of an edit are not in the text before they are arranged, and the old ones are not after.
# What is being deleted is not there any more.
async def test_edited_and_deleted_texts(
    connection: Connection, writer: GraphWriter, catalog: Catalog
) -> None:
    old = book(writer.corpus, "bridges", ENGLISH)
    new = book(writer.corpus, "bridges", ENGLISH.replace("bridge 7", "ferry 7"))
    await arrange(writer, old, await put(writer, old))
    chunks = await put(writer, new, pending=True)
    (before,) = await catalog.texts(writer.corpus)
    stale = await arrange(writer, new, chunks)
    after = await catalog.texts(writer.corpus)
    await connection.write("write/mark_deleting", corpus=writer.corpus, documents=[new.id])

    assert before.text == old.text
    assert stale
    assert after == [new]
    assert await catalog.texts(writer.corpus) == []
    await Deleter(connection, writer.corpus).finish_deletes()
    assert await catalog.texts(writer.corpus) == []


def edge(graph: RunSubgraph, one: str, other: str) -> Edge:
    """The only edge of two."""
    (only,) = [each for each in graph.edges if {each.one, each.other} == {one, other}]
    return only


# The nodes of a run come in the order of their ids, without those that are gone or of another
# corpus. Facts tie a chunk to what they name, and to each other what they name together, each pair
# once; of a hub only so many facts are read, and the edge is found from the other side.
async def test_run_subgraph(connection: Connection, writer: GraphWriter) -> None:
    facts = {"Ada met Bo.": ["Ada", "Bo"], "Ada left.": ["Ada"], "Ada saw Bo.": ["Ada", "Bo"]}
    hub = {f"Hub has part {n}.": ["Hub"] for n in range(FACTS_OF_AN_ELEMENT + 10)}
    hub["Hub knows Rare."] = ["Hub", "Rare"]
    chunks = await write(writer, "a", [("One.", facts), ("Two.", {"Cy came.": ["Cy"]}), ("3", hub)])
    known = await node_ids(writer)
    ada, bo, cy = known["Ada"], known["Bo"], known["Cy"]
    asked = [bo, chunks[1].id, "gone", cy, ada, chunks[0].id, known["Hub"], known["Rare"]]
    graph = await run_subgraph(connection, writer.corpus, asked)

    assert [node.name for node in graph.elements] == ["Bo", "Cy", "Ada", "Hub", "Rare"]
    assert [(one.document, one.index) for one in graph.chunks] == [("a", 1), ("a", 0)]
    assert edge(graph, chunks[0].id, ada).facts == 3
    assert (edge(graph, ada, bo).facts, edge(graph, ada, bo).fact) == (2, "Ada met Bo.")
    assert edge(graph, known["Hub"], known["Rare"]).facts == 1
    assert [one.one for one in graph.edges if cy in (one.one, one.other)] == [chunks[1].id]
    assert len(graph.edges) == 5
    assert await run_subgraph(connection, "another", asked) == RunSubgraph()


ROOT = Path(__file__).parents[2]
INSPECT = ROOT / "cypher" / "inspect"
NAMES = sorted(query.stem for query in INSPECT.glob("*.cypher"))
GRASS = (INSPECT / "colours.grass").read_text(encoding="utf-8")
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
    text = part_of_joan(tmp_path_factory.mktemp("texts"))
    with text.open("a", encoding="utf-8") as file:
        file.write("\n\nThe UK won a war. The United Kingdom lost a war.\n")  # a merge
    await reader.aingest(text)
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


# A query begins with its name; what it needs stands above it, one parameter a line. The README
# lists the queries that there are, and the file for Neo4j Browser has them as they are (`python -m
# scripts.favorites`), with one value for each parameter and all of the style.
def test_queries_say_what_they_need() -> None:
    with ZipFile(INSPECT / "favorites.zip") as archive:
        packed = {one: archive.read(one).decode() for one in archive.namelist()}
    values = packed["GraphReader/0_values.cypher"]
    for name in NAMES:
        text = (INSPECT / f"{name}.cypher").read_text(encoding="utf-8")

        assert set(parameters(name)) == set(re.findall(r"\$(\w+)", text)), name
        for parameter, value in parameters(name).items():
            assert f":param {parameter} => {value!r};\n" in values, name
        assert text.startswith(f"// {name}: ")
        assert text.endswith(";\n")
    assert packed == favorites()
    assert values.count(":param ") == len(set(re.findall(r":param (\w+)", values)))
    assert packed["GraphReader/0_colours.cypher"].count('"caption"') == GRASS.count("caption:")
    assert sorted(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)) == NAMES


# A run is drawn a path at a time or as a whole, each step behind the one before it, chunks with the
# title of their document.
async def test_a_run_is_drawn_by_paths(connection: Connection, example: GraphReader) -> None:
    drawn = {}
    for path in (0, 1, 2):
        values = {**parameters("run"), "corpus": CORPUS, "path": path}
        drawn[path] = await connection.read("inspect/run", **values)
    everything, first, second = drawn.values()

    assert 0 < len(first) < len(everything) > len(second) > 0
    assert {row["step"]["path"] for row in first} == {1}
    assert first[0]["p"]["paths"] == max(row["step"]["path"] for row in everything)
    assert [row["next"] is None for row in first] == ["number" not in row["step"] for row in first]
    places = [row["place"] for row in everything]
    assert {place["title"] for place in places if "index" in place} == {"joan_of_arc"}


# Of the surroundings only the key element itself is drawn as one, and they tell how many facts are
# left out.
async def test_surroundings(connection: Connection, example: GraphReader) -> None:
    values = {**parameters("surroundings"), "corpus": CORPUS}
    (whole,) = await connection.read("inspect/surroundings", **values)
    (part,) = await connection.read("inspect/surroundings", **{**values, "limit": 1})
    facts = len(whole["facts"])

    assert whole["k"]["name"] == values["name"]
    assert all(one["others"] and values["name"] not in one["others"] for one in whole["facts"])
    assert len(whole["drawn"]) == facts > len(part["drawn"]) == 1
    assert whole["left_out"] == f"0 of {facts} facts"
    assert part["left_out"] == f"{facts - 1} of {facts} facts"


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
    derived = {"merged_into", "merged_by", "passage_vectors", "frequent"}

    assert set(real) == set(drawn)
    real["Passage"].add("embedding")  # of a model
    real["AtomicFact"] |= {"heading", "speaker", "when"}  # of some texts
    real["Chunk"] |= {"heading_path", "place_starts", "place_names"}  # of some texts
    # Of a text that is not UTF-8; of documents whose names a model was asked about, or with tags.
    real["Document"] |= {"encoding", "asked_names", "tags", "date", "tagged"}
    for label, names in real.items():
        assert drawn[label] - passing - derived == names - passing - derived, label
