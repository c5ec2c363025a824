"""Normalization on a real graph: what merges, and that all of it can be taken back."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.ingestion.report import NormalizationReport
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.settings import STAGES
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection, Row
from graphreader.store.explorer import GraphExplorer
from graphreader.store.key_elements import SimilarityPairs
from graphreader.store.writer import Deleter, GraphWriter
from tests.neo4j.texts import Facts, by_vector, by_words, document, write
from tests.servers import both_versions

BAND: Facts = {
    "Danko Jones sings in the UK.": ["Danko Jones", "UK", "band"],
    "Danko Jones plays hard-rock.": ["Danko Jones", "hard-rock"],
}
CITY: Facts = {
    "Toronto is no city of the United Kingdom.": ["Toronto", "United Kingdom", "city"],
    "The United Kingdom has a border.": ["United Kingdom", "border"],
    "Hard rock was played in Toronto.": ["hard rock", "Toronto"],
}
CASTLE: Facts = {
    "Casa Loma is a UK castle in the United Kingdom.": [
        "Casa Loma",
        "UK",
        "castle",
        "United Kingdom",
    ],
    "The castle stands in Toronto.": ["castle", "Toronto"],
}
TEXTS = {"band": BAND, "city": CITY, "castle": CASTLE}


async def put(writer: GraphWriter, title: str, facts: Facts, text: str = "") -> None:
    """Write a document and embed what is new, as an ingest does."""
    await write(writer, title, [(text or f"The text of {title}.", facts)])
    missing = await writer.unembedded()
    vectors = await OfflineEmbedder().embed([one.key for one in missing])
    ids = [one.id for one in missing]
    await writer.write_embeddings(zip(ids, vectors, strict=True), fresh=ids)


async def graph(connection: Connection, corpus: str, without: Sequence[str] = ()) -> list[str]:
    """A line for each node and relationship of a corpus, in order; LIKE and `fresh` left out."""
    async with connection._driver.session() as session:
        found = await session.run(
            "MATCH (n {corpus: $corpus}) RETURN labels(n)[0] AS a, '' AS type, '' AS b, "
            "properties(n) AS p UNION ALL MATCH (n {corpus: $corpus})-[r]->(m) "
            "WHERE NOT r:LIKE RETURN n.id AS a, type(r) AS type, m.id AS b, properties(r) AS p",
            corpus=corpus,
        )
        rows = await found.data()
    left_out = {"created", "updated", "fresh", "embedding", *without}
    for row in rows:
        row["p"] = {name: value for name, value in row["p"].items() if name not in left_out}
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


async def ask(connection: Connection, query: str, **values: Any) -> list[Row]:
    """What a query of the test's own finds."""
    async with connection._driver.session() as session:
        return list(await (await session.run(query, values)).data())


async def named(connection: Connection, corpus: str) -> dict[str, set[str]]:
    """The facts that each key element which is not merged is led to by, by its name."""
    rows = await ask(
        connection,
        "MATCH (k:KeyElement {corpus: $corpus}) WHERE k.merged_into IS NULL "
        "RETURN k.name AS name, [(k)<-[:HAS_KEY_ELEMENT]-(f) | f.text] AS facts",
        corpus=corpus,
    )
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: set(row["facts"]) for row in rows}


async def undo(writer: GraphWriter) -> NormalizationReport:
    """Undo every merge."""
    return await Normalizer(writer.connection, writer.corpus, ()).run()


async def put_all(writer: GraphWriter) -> Normalizer:
    """Write all texts; return the normalizer of their corpus."""
    for title, facts in TEXTS.items():
        await put(writer, title, facts)
    return Normalizer(writer.connection, writer.corpus, STAGES)


# The names of a place are one; so is one spelling with and without hyphen. What is merged is found
# by its wordings, which become aliases, is shown as what it went into, and is counted.
async def test_names_of_a_place_are_one(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer
) -> None:
    normalizer = await put_all(writer)
    before = await Catalog(connection).stats(writer.corpus)
    report = await normalizer.run()
    after = await Catalog(connection).stats(writer.corpus)
    facts_of = await named(connection, writer.corpus)
    (by_word,) = await by_words(explorer, "uk", 5)
    vector, *_ = await OfflineEmbedder().embed(["uk"])
    nearest = await by_vector(explorer, vector, 30)
    (kingdom,) = await explorer.elements([by_word.id])

    merged = {one.element.name: one.into.name for one in report.merges}
    assert merged == {"UK": "United Kingdom", "hard-rock": "hard rock"}
    assert facts_of["United Kingdom"] == {
        "Danko Jones sings in the UK.",
        "Toronto is no city of the United Kingdom.",
        "The United Kingdom has a border.",
        "Casa Loma is a UK castle in the United Kingdom.",
    }
    assert "UK" not in facts_of
    assert (kingdom.name, kingdom.aliases) == ("United Kingdom", ("United Kingdom", "UK"))
    assert sorted(node.name for node in nearest) == sorted(facts_of)
    assert {node.name for node in await explorer.busiest_nodes(50)} == set(facts_of)
    beside = await explorer.neighbors(by_word.id, [], [], [], None, 20)
    assert {one.name for one in beside} >= {"Danko Jones", "band", "Toronto", "Casa Loma"}
    found = await explorer.facts(by_word.id)
    assert {fact.text for one in found.groups for fact in one.facts} == facts_of["United Kingdom"]
    assert (before.merged, after.merged) == (0, 2)
    assert (after.key_elements, after.facts) == (before.key_elements - 2, before.facts)


# A dry run changes nothing but says what the run does, and a second run finds nothing to do. Taking
# everything back gives the graph that extraction wrote, to the last property.
@both_versions
async def test_undo_gives_the_base_graph_back(connection: Connection, writer: GraphWriter) -> None:
    normalizer = await put_all(writer)
    before = await graph(connection, writer.corpus)
    foreseen = await normalizer.run(dry_run=True)
    assert await graph(connection, writer.corpus) == before
    done = await normalizer.run()
    after = await graph(connection, writer.corpus)
    again = await normalizer.run()
    same = await graph(connection, writer.corpus)
    undone = await undo(writer)

    assert foreseen.as_dict() | {"dry_run": False} == done.as_dict()
    assert len(done.merged) == len(done.merges) == 2
    assert (again.merges, again.merged, again.compared) == (done.merges, frozenset(), 0)
    assert (done.changed, again.changed, undone.changed) == (True, False, True)
    assert before != after == same
    assert await graph(connection, writer.corpus) == before
    assert not (await undo(writer)).changed


# The graph does not depend on the order in which texts came, nor on when it was normalized.
async def test_the_order_makes_no_difference(connection: Connection, writer: GraphWriter) -> None:
    normalizer = Normalizer(connection, writer.corpus, STAGES)
    orders = (["band", "city", "castle"], ["castle", "band", "city"])
    graphs = []
    for turn, order in enumerate(orders):
        for title in order:
            await put(writer, title, TEXTS[title])
            if turn == 0:
                await normalizer.run()
        await normalizer.run()
        graphs.append(await graph(connection, writer.corpus))
        deleter = Deleter(connection, writer.corpus)
        await deleter.delete([document(writer.corpus, title).id for title in order])

    assert graphs[0] == graphs[1]


# What is read in after a merge is led to the merged element by the next run. Deleting a document
# takes its part out of a group; what is left is as if it had never been there.
@pytest.mark.parametrize("gone", ["city", "castle"])
async def test_texts_come_and_go(connection: Connection, writer: GraphWriter, gone: str) -> None:
    normalizer = Normalizer(connection, writer.corpus, STAGES)
    for title, facts in TEXTS.items():
        if title != gone:
            await put(writer, title, facts)
    await normalizer.run()
    without = await graph(connection, writer.corpus)
    await put(writer, gone, TEXTS[gone] | {"A singer left the UK late.": ["UK", "singer"]})
    report = await normalizer.run()
    facts_of = await named(connection, writer.corpus)
    await Deleter(connection, writer.corpus).delete([document(writer.corpus, gone).id])
    await normalizer.run()

    assert report.moved == 1
    assert "A singer left the UK late." in facts_of["United Kingdom"]
    assert "UK" not in facts_of
    assert await graph(connection, writer.corpus) == without


# When all facts of an element go, those that were merged into it have theirs back at once.
async def test_deleting_the_head_of_a_group(connection: Connection, writer: GraphWriter) -> None:
    await put(writer, "band", BAND)
    await put(writer, "city", CITY)
    await Normalizer(connection, writer.corpus, STAGES).run()
    await Deleter(connection, writer.corpus).delete([document(writer.corpus, "city").id])
    await writer.settle()

    facts_of = await named(connection, writer.corpus)
    assert facts_of["UK"] == {"Danko Jones sings in the UK."}
    assert "United Kingdom" not in facts_of
    assert not await ask(
        connection,
        "MATCH (k:KeyElement {corpus: $corpus})<-[r]-() "
        "WHERE r.from IS NOT NULL OR type(r) = 'MERGED_KEY_ELEMENT' RETURN r",
        corpus=writer.corpus,
    )


# A run that was cut off anywhere is finished by the next one.
@pytest.mark.parametrize("cut", ["marked", "half moved", "half returned"])
async def test_a_run_that_was_cut_off(
    connection: Connection, writer: GraphWriter, cut: str
) -> None:
    normalizer = await put_all(writer)
    base = await graph(connection, writer.corpus)
    await normalizer.run()
    whole = await graph(connection, writer.corpus)
    ids = {one.element.name: one.element.id for one in (await normalizer.run()).merges}
    uk = (
        "MATCH (:KeyElement {id: $id})<-[:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-(f) RETURN f.id AS id"
    )
    first, *_ = sorted(row["id"] for row in await ask(connection, uk, id=ids["UK"]))
    half_returned = {"facts": [first], "parted": [ids["UK"]]}
    if cut == "half returned":
        await connection.write("write/name_facts", **half_returned)
    else:
        await undo(writer)
        rows = [
            {"id": one.element.id, "into": one.into.id, "by": one.stage}
            for one in (await normalizer.run(dry_run=True)).merges
        ]
        await connection.write("write/merge_key_elements", merges=rows)
        if cut == "half moved":
            await connection.write("write/name_facts", facts=[first], parted=[])
    await normalizer.run()
    assert await graph(connection, writer.corpus) == whole

    await connection.write("write/name_facts", **half_returned)
    await undo(writer)
    assert await graph(connection, writer.corpus) == base


# What always occurs together, in at least 40 facts, becomes one.
async def test_what_always_occurs_together(connection: Connection, writer: GraphWriter) -> None:
    together: Facts = {
        f"The quick verdict of judge{n}x was a ruling.": ["verdict", "ruling", f"judge{n}x"]
        for n in range(40)
    }
    await put(writer, "court", together)
    await put(writer, "other", {f"A bench and a lamp{n}x.": ["bench"] for n in range(50)})
    report = await Normalizer(connection, writer.corpus, ("association",)).run()

    found = {(one.element.name, one.into.name, one.stage) for one in report.merges}
    assert found == {("verdict", "ruling", "association")}
    facts_of = await named(connection, writer.corpus)
    assert len(facts_of["ruling"]) == 40


# A key element is marked as long as many facts name it; those of an earlier version, later.
async def test_frequent_ones_are_marked(connection: Connection, writer: GraphWriter) -> None:
    async def marked() -> list[str]:
        query = "MATCH (k:KeyElement {corpus: $corpus, frequent: true}) RETURN k.name AS name"
        return sorted(row["name"] for row in await ask(connection, query, corpus=writer.corpus))

    facts = {f"The verdict of judge{n}x was a ruling.": ["verdict", "ruling"] for n in range(39)}
    await put(writer, "court", facts)
    assert await marked() == []
    await put(writer, "appeal", {"A verdict is a ruling.": ["verdict", "ruling"]})
    assert await marked() == ["ruling", "verdict"]
    await ask(
        connection,
        "MATCH (c:Corpus {name: $corpus}) MATCH (k:KeyElement {corpus: $corpus}) "
        "REMOVE c.frequent, k.frequent",
        corpus=writer.corpus,
    )
    report = await Normalizer(connection, writer.corpus, ("association",)).run()
    assert [one.stage for one in report.merges] == ["association"]
    assert await marked() == ["ruling", "verdict"]
    document = await Catalog(connection).find(writer.corpus, "appeal")
    await Deleter(connection, writer.corpus).delete([document])
    assert await marked() == []


# Another corpus with the same words is neither looked at nor touched.
async def test_another_corpus_is_left_alone(
    connection: Connection, writer: GraphWriter, other: GraphWriter
) -> None:
    await put(other, "band", {"A band was in the UK.": ["UK", "band"]})
    await put(writer, "city", CITY)
    before = await graph(connection, other.corpus)
    report = await Normalizer(connection, writer.corpus, STAGES).run()

    assert [one.element.name for one in report.merges if one.into.name == "United Kingdom"] == []
    assert await graph(connection, other.corpus) == before


# All that are alike are found, also where they are many, and where another corpus has the same.
@both_versions
async def test_a_crowd_is_alike(
    connection: Connection, writer: GraphWriter, other: GraphWriter
) -> None:
    crowd = [f"crowd{n}x" for n in range(40)]
    near, far = [1.0] * 256, [1.0, -1.0] * 128
    ids: dict[str, list[str]] = {}
    for one in (writer, other):
        await write(one, "crowd", [("x", {"All.": [*crowd, "stranger"]})])
        elements = await one.unembedded()
        vectors = [(row.id, far if row.key == "stranger" else near) for row in elements]
        await one.write_embeddings(vectors)
        ids[one.corpus] = [row.id for row in elements if row.key != "stranger"]
    alike = await SimilarityPairs(connection, writer.corpus).similar_to(ids[writer.corpus], 0.95)

    everybody = set(ids[writer.corpus])
    assert {id_: {one.item.id for one in others} for id_, others in alike.items()} == {
        id_: everybody - {id_} for id_ in everybody
    }
    assert min(one.score for others in alike.values() for one in others) > 0.999
