"""Documents, chunks and facts are written, edited and deleted."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from graphreader.documents import ChunkInDocument, Document
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection, Row
from graphreader.store.explorer import GraphExplorer
from graphreader.store.writer import FREQUENT, Deleter, DocumentVersion, GraphWriter
from tests.neo4j.texts import by_words, document, node_ids, write
from tests.servers import both_versions

ALBUM = {"Never Too Loud is an album by Danko Jones.": ["Never Too Loud", "album", "Danko Jones"]}
BAND = {"Danko Jones is a band from Toronto.": ["Danko Jones", "band", "Toronto"]}
SIZES = ("documents", "chunks", "facts", "key_elements")


def version_of(of: Document, chunks: int) -> DocumentVersion:
    return DocumentVersion.of(of.id, of.sha256, 2000, chunks)


async def chain(explorer: GraphExplorer, first: str) -> list[ChunkInDocument]:
    """The chunks of a document, as NEXT links them."""
    linked, next_id = [], first
    while next_id:
        chunk = await explorer.chunk(next_id)
        assert chunk is not None
        linked.append(chunk)
        next_id = chunk.subsequent.id if chunk.subsequent else ""
    return linked


async def delete(writer: GraphWriter, title: str) -> None:
    """Take a document out, and count what it shared with others again."""
    await Deleter(writer.connection, writer.corpus).delete([document(writer.corpus, title).id])
    await writer.settle()


async def sizes(writer: GraphWriter) -> tuple[int, ...]:
    """What the corpus holds: documents, chunks, facts, key elements."""
    (row,) = await writer.connection.read("read/stats", corpus=writer.corpus)
    return tuple(row[name] for name in SIZES)


# The chunks of a document are linked by NEXT in their order, never into another document, and know
# their document and place. Equal sentences of two documents are two facts about the same key
# elements. Writing the same again changes nothing.
@both_versions
async def test_documents_are_written(writer: GraphWriter, explorer: GraphExplorer) -> None:
    texts = ["one ", "two ", "three ", "4"]
    first = await write(writer, "four", [(text, ALBUM) for text in texts])
    await write(writer, "songs", [("a ", ALBUM), ("b", BAND)])
    once = await sizes(writer)
    await write(writer, "songs", [("a ", ALBUM), ("b", BAND)])
    linked = await chain(explorer, first[0].id)

    assert once == await sizes(writer) == (2, 6, 6, 5)
    assert [chunk.text for chunk in linked] == texts
    assert linked[0].previous is None
    assert (linked[1].document, linked[1].index, linked[1].start) == ("four", 1, 4)


# The most frequent wording names a key element, and all wordings are its aliases. A deleted
# document leaves no fact, no chunk, no wording and no key element that only it had.
async def test_names_and_deletes(writer: GraphWriter, explorer: GraphExplorer) -> None:
    await write(writer, "one", [("a", {"CITIES a.": ["CITIES"], "CITIES b.": ["CITIES", "x"]})])
    await write(writer, "two", [("b", {"A city.": ["city"]})])
    before = set(await node_ids(writer)), await by_words(explorer, "city", 5)
    await delete(writer, "one")

    assert before[0] == {"CITIES", "x"}
    assert [node.name for node in before[1]] == ["CITIES"]
    assert set(await node_ids(writer)) == {"city"}
    assert await by_words(explorer, "CITIES", 5) == []
    assert await sizes(writer) == (1, 1, 1, 1)


PASSAGES = """
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_PASSAGE]->(p:Passage)
RETURN c.text AS text, p.start AS start, p.end AS end, p.terms AS terms, p.embedding AS embedding
ORDER BY c.index, p.start
"""


# Each chunk has passages, with the terms of its text, title and headings. A new title makes their
# terms and vectors void, other headings their terms; they are indexed again. Deleted chunks leave
# none.
@both_versions
async def test_passages(writer: GraphWriter) -> None:
    async def passages() -> list[Row]:
        async with writer.connection._driver.session() as session:
            return await (await session.run(PASSAGES, corpus=writer.corpus)).data()

    long = "The harbour of Bergen was rebuilt in stone. " * 60
    made = await write(writer, "songs", [(long, ALBUM), ("Blue 🧑🏽‍🚀 hats.", BAND), (" \n", {})])
    of = document(writer.corpus, "songs")
    first = await passages()
    unembedded = await writer.unembedded_passages([of.id])
    await writer.write_passage_embeddings((one.id, [1.0] * 256) for one in unembedded)
    embedded = await passages(), await writer.unembedded_passages([of.id])
    await writer.write_chunks([], [replace(of, title="Hymns")], 2000)
    void = await passages()
    await writer.index_passages([of.id])
    await writer.index_passages([of.id])
    renewed = await passages()
    headed = [replace(one, heading_path=("Winter",)) for one in made]
    await writer.arrange(version_of(of, 3), headed)
    await writer.index_passages([of.id])
    moved = await passages()
    await delete(writer, "songs")

    assert [row["text"] for row in first] == [long] * 2 + ["Blue 🧑🏽‍🚀 hats."]
    assert [one.text for one in unembedded] == [r["text"][r["start"] : r["end"]] for r in first]
    assert unembedded[2].with_title == "songs: Blue 🧑🏽‍🚀 hats."
    terms = (one[2]["terms"].split()[1:] for one in (first, renewed, moved))
    assert [set(one) - {"blu", "hat"} for one in terms] == [{"song"}, {"hymn"}, {"hymn", "wint"}]
    assert ([bool(row["embedding"]) for row in embedded[0]], embedded[1]) == ([True] * 3, [])
    assert {(row["terms"], row["embedding"]) for row in void} == {(None, None)}
    assert [row["start"] for row in renewed] == [row["start"] for row in first]
    assert await passages() == []


# A delete that was cut off is finished by the next one, also one of more facts than a batch holds.
@both_versions
async def test_cut_off_deletes_are_finished(connection: Connection, writer: GraphWriter) -> None:
    many = {f"Number {n} follows {n - 1}.": [f"number {n}", f"item{n}x"] for n in range(1300)}
    made = await write(writer, "one", [("a ", ALBUM), ("b", many)])
    documents = [document(writer.corpus, "one").id]
    await connection.write("write/mark_deleting", corpus=writer.corpus, documents=documents)
    values = {"corpus": writer.corpus, "chunks": [made[0].id], "frequent": FREQUENT}
    await connection.run("write/delete_chunk_facts", **values)
    (summary,) = await Catalog(connection).documents(writer.corpus)
    half = await sizes(writer)
    await Deleter(connection, writer.corpus).finish_deletes()

    assert summary.status == "deleting"
    assert half[2] == 1300
    assert await sizes(writer) == (0, 0, 0, 0)


# Writers side by side, whose documents name the same key elements, do not lose anything.
@both_versions
async def test_writers_side_by_side(writer: GraphWriter) -> None:
    names = [f"name {n}" for n in range(60)]

    def facts(turn: int) -> dict[str, list[str]]:
        turned = names[turn:] + names[:turn]
        return {f"{turn} {name}.": [name, turned[n]] for n, name in enumerate(names)}

    await asyncio.gather(
        *(write(writer, f"text {turn}", [(f"{turn}", facts(turn))]) for turn in range(8))
    )

    assert await sizes(writer) == (8, 8, 480, 60)


# Chunks of which another process has written some are written with their facts or not at all: after
# a kill a chunk without facts would count as read.
@both_versions
async def test_partly_written_chunks(writer: GraphWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    await write(writer, "one", [("a ", ALBUM)])
    original, calls = writer.connection.run, iter(range(2))

    async def killed(name: str, /, **values: Any) -> list[Row]:
        if next(calls):
            raise KeyboardInterrupt
        return await original(name, **values)

    with monkeypatch.context() as patch:
        patch.setattr(writer.connection, "run", killed)
        with pytest.raises(KeyboardInterrupt):
            await write(writer, "one", [("a ", ALBUM), ("b", BAND)])
    after_kill = await sizes(writer)
    await write(writer, "one", [("a ", ALBUM), ("b", BAND)])

    assert after_kill == (1, 1, 1, 3)
    assert await sizes(writer) == (1, 2, 2, 5)
