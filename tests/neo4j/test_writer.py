import asyncio

import pytest

from graphreader.documents import Chunk, Document
from graphreader.errors import EmbeddingMismatchError
from graphreader.store.catalog import Catalog, DocumentStatus
from graphreader.store.connection import Connection, Row
from graphreader.store.explorer import GraphExplorer
from graphreader.store.writer import Deleter, DocumentVersion, GraphWriter, ReadChunk
from tests.neo4j.texts import by_words, chunks, document, read, write

ALBUM = {"Never Too Loud is an album by Danko Jones.": ["Never Too Loud", "album", "Danko Jones"]}
BAND = {"Danko Jones is a band from Toronto.": ["Danko Jones", "band", "Toronto"]}


async def chain(connection: Connection, first: Chunk, corpus: str) -> list[str]:
    """The texts of a document's chunks, as NEXT links them."""
    explorer = GraphExplorer(connection, corpus)
    texts, next_id = [], first.id
    while next_id:
        chunk = await explorer.chunk(next_id)
        assert chunk is not None
        texts.append(chunk.text)
        next_id = chunk.subsequent[0] if chunk.subsequent else ""
    return texts


async def extracted(connection: Connection, corpus: str, of: Document) -> set[str]:
    """The ids of a document's chunks that have their facts."""
    known = await DocumentStatus(connection, corpus).chunks(of.id)
    return {chunk.id for chunk in known if chunk.error is None}


async def delete(connection: Connection, corpus: str, title: str) -> None:
    """Take a document out, and count what it shared with others again."""
    await Deleter(connection, corpus).delete([document(corpus, title).id])
    await GraphWriter(connection, corpus).settle()


async def sizes(connection: Connection, corpus: str) -> Row:
    """What a corpus holds."""
    return (await connection.read("read/stats", corpus=corpus))[0]


# The chunks of a document are linked by NEXT in their order, with nothing before or behind.
async def test_next_links_the_chunks_in_order(connection: Connection, writer: GraphWriter) -> None:
    made = await write(writer, "four", [(text, ALBUM) for text in ("one ", "two ", "three ", "4")])

    assert await chain(connection, made[0], writer.corpus) == ["one ", "two ", "three ", "4"]
    first = await GraphExplorer(connection, writer.corpus).chunk(made[0].id)
    assert first is not None
    assert first.previous is None


# NEXT never leads from one document into another.
async def test_next_stays_within_a_document(connection: Connection, writer: GraphWriter) -> None:
    one = await write(writer, "one", [("a ", ALBUM), ("b", BAND)])
    await write(writer, "two", [("c ", ALBUM), ("d", BAND)])

    assert await chain(connection, one[0], writer.corpus) == ["a ", "b"]


# Equal sentences of two documents are two facts about the same key elements.
async def test_equal_sentences_stay_apart(connection: Connection, writer: GraphWriter) -> None:
    await write(writer, "one", [("The same.", ALBUM)])
    await write(writer, "two", [("The same.", ALBUM)])

    found = await sizes(connection, writer.corpus)
    assert (found["documents"], found["chunks"], found["facts"]) == (2, 2, 2)
    assert found["key_elements"] == 3


# Writing the same again changes nothing.
async def test_writing_twice_is_writing_once(connection: Connection, writer: GraphWriter) -> None:
    await write(writer, "one", [("a ", ALBUM), ("b", BAND)])
    before = await sizes(connection, writer.corpus)
    await write(writer, "one", [("a ", ALBUM), ("b", BAND)])

    assert await sizes(connection, writer.corpus) == before


# The document's title and the chunk's place reach whoever reads a chunk.
async def test_chunks_know_their_document(connection: Connection, writer: GraphWriter) -> None:
    made = await write(writer, "songs", [("a ", ALBUM), ("b", BAND)])

    chunk = await GraphExplorer(connection, writer.corpus).chunk(made[1].id)
    assert chunk is not None
    assert (chunk.document, chunk.index, chunk.start, chunk.text) == ("songs", 1, 2, "b")


# Arranging a document anew removes the chunks that it no longer has, with their facts.
async def test_stale_chunks_go(connection: Connection, writer: GraphWriter) -> None:
    made = await write(writer, "one", [("a ", ALBUM), ("b ", BAND), ("c", ALBUM)])
    of = document(writer.corpus, "one")
    left = chunks(of, ["a ", "c"])
    stale = await writer.arrange(DocumentVersion.of(of.id, of.sha256, 2000, 2), left)
    await Deleter(connection, writer.corpus).delete_chunks(stale)
    await writer.settle()

    assert await chain(connection, left[0], writer.corpus) == ["a ", "c"]
    assert await GraphExplorer(connection, writer.corpus).chunk(made[1].id) is None
    names = {node.name for node in await GraphExplorer(connection, writer.corpus).busiest_nodes(10)}
    assert names == {"Never Too Loud", "album", "Danko Jones"}


# A chunk that failed counts as missing until it has been read, and its document as incomplete.
async def test_failed_chunks_are_missing(connection: Connection, writer: GraphWriter) -> None:
    of = document(writer.corpus, "one")
    good, bad = chunks(of, ["a ", "b"])
    reads = [read(of, good, ALBUM), ReadChunk(bad, error="no reply")]
    await writer.write_chunks(reads, [of], 2000)
    await writer.arrange(DocumentVersion.of(of.id, of.sha256, 2000, 2), [good, bad])

    assert await writer.complete([DocumentVersion.of(of.id, of.sha256, 2000, 2)]) == set()
    assert await extracted(connection, writer.corpus, of) == {good.id}
    (summary,) = await Catalog(connection).documents(writer.corpus)
    assert (summary.status, summary.failed, summary.chunks) == ("incomplete", 1, 2)

    await writer.write_chunks([read(of, bad, BAND)])

    assert await writer.complete([DocumentVersion.of(of.id, of.sha256, 2000, 2)]) == {of.id}
    assert await extracted(connection, writer.corpus, of) == {good.id, bad.id}
    (summary,) = await Catalog(connection).documents(writer.corpus)
    assert (summary.status, summary.failed) == ("complete", 0)


# The most frequent wording names a key element, and all wordings are its aliases.
async def test_names_follow_the_wordings(connection: Connection, writer: GraphWriter) -> None:
    facts = {
        "Cities are big.": ["Cities"],
        "A city is big.": ["city"],
        "One more city.": ["city"],
    }
    await write(writer, "one", [("a", facts)])

    rows = await connection.run("read/key_elements", corpus=writer.corpus, limit=10)
    assert [(row["name"], row["facts"]) for row in rows] == [("city", 3)]
    found = await by_words(GraphExplorer(connection, writer.corpus), "cities", 5)
    assert [node.name for node in found] == ["city"]


# Deleting a document leaves no fact, no chunk and no key element that only it named.
async def test_delete_leaves_no_orphan(connection: Connection, writer: GraphWriter) -> None:
    await write(writer, "one", [("a", ALBUM)])
    await write(writer, "two", [("b", BAND)])
    await delete(connection, writer.corpus, "one")

    found = await sizes(connection, writer.corpus)
    assert (found["documents"], found["chunks"], found["facts"]) == (1, 1, 1)
    explorer = GraphExplorer(connection, writer.corpus)
    assert {node.name for node in await explorer.busiest_nodes(10)} == {
        "Danko Jones",
        "band",
        "Toronto",
    }


# A shared key element forgets the wordings that only the deleted document used.
async def test_delete_settles_shared_elements(connection: Connection, writer: GraphWriter) -> None:
    await write(writer, "one", [("a", {"CITIES a.": ["CITIES"], "CITIES b.": ["CITIES"]})])
    await write(writer, "two", [("b", {"A city.": ["city"]})])
    explorer = GraphExplorer(connection, writer.corpus)
    assert [node.name for node in await explorer.busiest_nodes(10)] == ["CITIES"]
    await delete(connection, writer.corpus, "one")

    assert [node.name for node in await explorer.busiest_nodes(10)] == ["city"]
    assert await by_words(explorer, "CITIES", 5) == []


# A delete that was cut off is finished by the next one.
async def test_cut_off_deletes_are_finished(connection: Connection, writer: GraphWriter) -> None:
    made = await write(writer, "one", [("a ", ALBUM), ("b", BAND)])
    values = {"corpus": writer.corpus, "documents": [document(writer.corpus, "one").id]}
    await connection.write("write/mark_deleting", **values)
    await connection.run("write/delete_chunk_facts", corpus=writer.corpus, chunks=[made[0].id])
    (summary,) = await Catalog(connection).documents(writer.corpus)
    assert summary.status == "deleting"
    await Deleter(connection, writer.corpus).finish_deletes()

    found = await sizes(connection, writer.corpus)
    assert (found["documents"], found["chunks"], found["facts"], found["key_elements"]) == (
        (0,) * 4
    )


# What is written into a document that was deleted meanwhile leaves nothing behind.
async def test_deleted_while_reading(connection: Connection, writer: GraphWriter) -> None:
    of = document(writer.corpus, "gone")
    (chunk,) = chunks(of, ["a"])
    await writer.begin_documents([of], 2000)
    await delete(connection, writer.corpus, "gone")
    await writer.write_chunks([read(of, chunk, ALBUM)])
    await writer.arrange(DocumentVersion.of(of.id, of.sha256, 2000, 1), [chunk])
    await writer.settle()

    assert await writer.complete([DocumentVersion.of(of.id, of.sha256, 2000, 1)]) == set()
    assert set((await sizes(connection, writer.corpus)).values()) == {0}


# More facts than one batch holds are deleted as well.
async def test_large_deletes_go_in_batches(connection: Connection, writer: GraphWriter) -> None:
    facts = {f"Number {n} follows {n - 1}.": [f"number {n}", f"item{n}x"] for n in range(1300)}
    await write(writer, "large", [("a", facts)])
    assert (await sizes(connection, writer.corpus))["facts"] == 1300
    await delete(connection, writer.corpus, "large")

    found = await sizes(connection, writer.corpus)
    assert (found["facts"], found["key_elements"]) == (0, 0)


# Writers side by side, whose documents name the same key elements, do not lose anything.
async def test_writers_side_by_side(connection: Connection, writer: GraphWriter) -> None:
    names = [f"name {n}" for n in range(60)]

    def facts(turn: int) -> dict[str, list[str]]:
        turned = names[turn:] + names[:turn]
        return {f"{turn} {name}.": [name, turned[n]] for n, name in enumerate(names)}

    await asyncio.gather(
        *(write(writer, f"text {turn}", [(f"{turn}", facts(turn))]) for turn in range(8))
    )

    found = await sizes(connection, writer.corpus)
    assert (found["documents"], found["facts"], found["key_elements"]) == (8, 480, 60)


# A corpus that was embedded by something else is refused, with the way out.
async def test_another_embedding_is_refused(writer: GraphWriter) -> None:
    with pytest.raises(EmbeddingMismatchError, match=r"test-embedding.*GRAPHREADER_EMBEDDINGS"):
        await writer.begin_corpus(decider="x", prompts="1", embedding="other", dimension=256)
