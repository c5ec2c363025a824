"""Runs kept in the graph: tied to what they touched, and never more than tied to it."""

import io
from dataclasses import replace
from typing import Any

import pytest

from graphreader.ingestion.transfer import export_corpus
from graphreader.reading import Citation, Claim, FunctionCall, Path, Reading
from graphreader.store.connection import Connection, Row
from graphreader.store.explorer import GraphExplorer
from graphreader.store.run_graph import write_run
from graphreader.store.writer import Deleter, GraphWriter
from graphreader.usage import Usage
from tests.neo4j.texts import by_words, document, node_ids, write
from tests.servers import both_versions

ALBUM = {"Never Too Loud is an album by Danko Jones.": ["Never Too Loud", "album", "Danko Jones"]}
BAND = {"Danko Jones is a band from Toronto.": ["Danko Jones", "band", "Toronto"]}
CITY = {"Casa Loma is a castle in Toronto.": ["Casa Loma", "castle", "Toronto"]}


async def query(connection: Connection, text: str, **values: Any) -> list[Row]:
    """What a statement of the test's own finds."""
    async with connection._driver.session() as session:
        rows: list[Row] = await (await session.run(text, values)).data()
    return rows


async def runs(connection: Connection, corpus: str) -> list[Row]:
    """The kept runs, by their ids, with all that they are tied to."""
    return await query(
        connection,
        """
        MATCH (r:Run {corpus: $corpus})
        RETURN properties(r) AS run,
               COLLECT {
                 MATCH (r)-[t:CITED]->(c) RETURN [properties(t), c.index] ORDER BY t.number
               } AS cited,
               COLLECT {
                 MATCH (r)-[:HAS_PATH]->(p)
                 RETURN [properties(p), [(p)-[:INITIAL_NODE]->(k) | k.name][0]] ORDER BY p.path
               } AS paths,
               COLLECT {
                 MATCH way = (r)-[:HAS_PATH]->()-[:NEXT_STEP*1..]->(s)
                 OPTIONAL MATCH (s)-[:AT]->(n)
                 RETURN [properties(s), length(way) - 1, coalesce(n.name, n.index)]
                 ORDER BY s.path, s.number
               } AS steps
        ORDER BY r.id
        """,
        corpus=corpus,
    )


async def remains(connection: Connection, corpus: str) -> int:
    """How many nodes the kept runs of a corpus have."""
    text = "MATCH (n:Run|Path|Step {corpus: $corpus}) RETURN count(n) AS nodes"
    (row,) = await query(connection, text, corpus=corpus)
    nodes: int = row["nodes"]
    return nodes


@pytest.fixture
async def reading(writer: GraphWriter) -> Reading:
    """A finished run of two paths through both documents."""
    album, _ = await write(writer, "albums", [("The album. ", ALBUM), ("The band.", BAND)])
    await write(writer, "cities", [("The castle.", CITY)])
    at = await node_ids(writer)
    first = Path(
        "Never Too Loud",
        "Danko Jones is from Toronto.",
        4,
        "termination",
        functions=(
            FunctionCall("read_chunk", "albums, chunk 0", "why 1", id=at["Never Too Loud"]),
            FunctionCall("search_more", "", "why 2", id=album.id),
            FunctionCall("read_neighbor_node", "Toronto", "why 3", id=at["Never Too Loud"]),
            FunctionCall("termination", "", "why 4", id=at["Toronto"]),
        ),
        node_id=at["Never Too Loud"],
    )
    second = Path("Casa Loma", "", 0, "error", "The model went away.", node_id=at["Casa Loma"])
    return Reading(
        question="Which castle is in the city of the band?",
        answer="Casa Loma. It is old.",
        analysis="Because.",
        answered=True,
        corpus=writer.corpus,
        plan="Find the band.",
        citations=(
            Citation("albums", document(writer.corpus, "albums").id, 1, 11, 20, "The band."),
            Citation("cities", document(writer.corpus, "cities").id, 0, 0, 11, "The castle."),
        ),
        paths=(first, second),
        usage=Usage(9, 1_000, 200, 1.5),
        decider="test",
        notes=("A note.",),
        claims=(Claim("Casa Loma.", (1, 2)), Claim("It is old.")),
        run="run-1-" + writer.corpus,
        explanation="It stands there.",
        confidence="likely",
    )


# A kept run says what was asked and found, where its paths began, what they chose, what it cites.
@both_versions
async def test_a_run_is_kept(connection: Connection, writer: GraphWriter, reading: Reading) -> None:
    problem = await write_run(connection, writer.corpus, reading)
    (kept,) = await runs(connection, writer.corpus)
    cited, other = kept["cited"]
    began, failed = kept["paths"]

    assert problem is None
    assert kept["run"].pop("asked").year > 2000
    assert kept["run"] == {
        **{name: getattr(reading, name) for name in ("corpus", "question", "plan", "answer")},
        "id": reading.run,
        "analysis": "Because.",
        "explanation": "It stands there.",
        "confidence": "likely",
        "answered": True,
        "claims": ["Casa Loma.", "It is old."],
        "contradictions": [],
        "notes": ["A note."],
        "decider": "test",
        "seconds": 1.5,
        "calls": 9,
        "tokens": 1_200,
    }
    place = {"start": 11, "end": 20, "quote": "The band.", "claims": ["Casa Loma."]}
    assert cited == [{"number": 1, **place}, 1]
    assert other[0]["quote"] == "The castle."
    notes = {"notebook": "Danko Jones is from Toronto.", "stopped": "termination", "calls": 4}
    number = {"corpus": writer.corpus, "path": 1, "paths": 2}
    assert began == [{**number, **notes}, "Never Too Loud"]
    assert (failed[0]["error"], failed[1]) == ("The model went away.", "Casa Loma")
    assert [(at, one["number"], one["function"], place) for one, at, place in kept["steps"]] == [
        (1, 1, "read_chunk", "Never Too Loud"),
        (2, 2, "search_more", 0),
        (3, 3, "read_neighbor_node", "Never Too Loud"),
        (4, 4, "termination", "Toronto"),
    ]
    first = kept["steps"][0][0]
    assert (first["argument"], first["rationale"]) == ("albums, chunk 0", "why 1")


# A run that is kept again is the same, and what was kept before of it is not kept twice. Runs
# without an id of their own are kept side by side.
async def test_kept_again(connection: Connection, writer: GraphWriter, reading: Reading) -> None:
    early = replace(reading, answer="Nothing yet.", paths=reading.paths[:1])
    await write_run(connection, writer.corpus, early)
    await write_run(connection, writer.corpus, reading)
    (once,) = await runs(connection, writer.corpus)
    nodes = await remains(connection, writer.corpus)
    for again in (reading, replace(reading, run=""), replace(reading, run="")):
        await write_run(connection, writer.corpus, again)
    kept = {row["run"]["id"]: row for row in await runs(connection, writer.corpus)}

    assert (len(once["cited"]), len(once["paths"]), len(once["steps"]), nodes) == (2, 2, 4, 7)
    assert len(kept) == 3
    assert kept[reading.run] == once


# Keeping a run changes no property and no tie of anything that was read in, not even a time; the
# agent looks at the same graph as before, and an export has no runs.
async def test_a_run_changes_nothing_else(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer, reading: Reading
) -> None:
    toronto = (await node_ids(writer))["Toronto"]
    nodes = (
        "MATCH (n) WHERE NOT n:Run|Path|Step "
        "AND (n.corpus = $corpus OR n:Corpus AND n.name = $corpus) "
        "RETURN properties(n) AS node, COUNT { (n)-->() } AS ties ORDER BY coalesce(n.id, '')"
    )

    async def seen() -> list[Any]:
        export = io.BytesIO()
        await export_corpus(connection, writer.corpus, export)
        return [
            await query(connection, nodes, corpus=writer.corpus),
            await explorer.busiest_nodes(50),
            await by_words(explorer, f"{reading.question} {reading.answer}", 50),
            await explorer.facts(toronto),
            await explorer.neighbors(toronto, [], [], [], None, 50),
            await connection.read("read/stats", corpus=writer.corpus),
            export.getvalue(),
        ]

    before = await seen()
    await write_run(connection, writer.corpus, reading)

    assert await seen() == before
    assert len(before[0]) > 10


# What is gone when a run is kept is left out, and the rest is kept, as are all steps. A text that
# is deleted later goes with all its nodes; the runs that touched it stay with the rest.
async def test_deleted_texts(connection: Connection, writer: GraphWriter, reading: Reading) -> None:
    deleter = Deleter(connection, writer.corpus)
    await write_run(connection, writer.corpus, reading)
    await deleter.delete([reading.citations[0].document_id])
    (kept,) = await runs(connection, writer.corpus)
    problem = await write_run(
        connection, writer.corpus, replace(reading, run=f"late-{writer.corpus}")
    )
    late, _ = sorted(await runs(connection, writer.corpus), key=lambda row: row["run"]["id"])

    assert kept["run"]["answer"] == reading.answer
    assert [index for _, index in kept["cited"]] == [0]
    assert [name for _, name in kept["paths"]] == [None, "Casa Loma"]
    assert [place for _, _, place in kept["steps"]] == [None, None, None, "Toronto"]
    assert set(await node_ids(writer)) == {"Casa Loma", "castle", "Toronto"}
    assert problem is None
    assert late["run"]["id"].startswith("late")
    assert {name: late[name] for name in ("cited", "paths", "steps")} == {
        name: kept[name] for name in ("cited", "paths", "steps")
    }


# A corpus that is deleted takes its runs along, and those of no other one. A run of a corpus that
# is gone is not kept, and an id keeps to the corpus that had it first.
async def test_corpora(
    connection: Connection, writer: GraphWriter, other: GraphWriter, reading: Reading
) -> None:
    await write_run(connection, other.corpus, replace(reading, run=""))
    await write_run(connection, writer.corpus, reading)
    taken = await write_run(connection, other.corpus, replace(reading, answer="No."))
    gone = await write_run(connection, f"{other.corpus}-gone", replace(reading, run=""))
    deleter = Deleter(connection, writer.corpus)
    await deleter.delete_corpus()
    early = await runs(connection, writer.corpus)
    await deleter.delete([citation.document_id for citation in reading.citations])
    await deleter.delete_corpus()

    assert taken
    assert gone
    assert "is gone" in gone
    assert [row["run"]["answer"] for row in early] == [reading.answer]  # it had documents then
    assert await remains(connection, writer.corpus) == 0
    assert len(await runs(connection, other.corpus)) == 1
