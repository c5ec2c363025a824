"""The documents themselves, put together from the chunks in the graph."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from graphreader.documents import Chunk, Document
from graphreader.ingestion.chunking import split
from graphreader.ingestion.loading.content import Content, document_of
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.writer import Deleter, DocumentVersion, GraphWriter, ReadChunk
from tests.neo4j.texts import document, read

LIMIT = 60
ENGLISH = "\n\n".join(
    f"Ada built bridge {n} of stone.\nIt stood  for {n} years." for n in range(40)
)
CHINESE = "\n\n".join(f"第{n}章 贞德生于栋雷米村。\r\n　　{n}年后，她去了希农。" for n in range(30))
ODD = "\ufeffBegins with a mark.\n\n\n  \t\nEmoji 👩‍🚀 and e\u0301 stay.\n \n Ends with space. \n\n"


@pytest.fixture
def library(connection: Connection) -> Catalog:
    return Catalog(connection)


def book(corpus: str, title: str, text: str, **more: object) -> Document:
    return document_of(Content(text, **more), title, corpus, f"/texts/{title}.txt")  # type: ignore[arg-type]


async def put(writer: GraphWriter, of: Document) -> list[Chunk]:
    """Read a document in, in chunks of the size that the limit gives."""
    chunks = split(of, LIMIT)
    facts = {f"Somebody built {of.title}.": ["Somebody"]}
    await writer.write_chunks([read(of, chunk, facts) for chunk in chunks], [of], LIMIT)
    await arrange(writer, of, chunks)
    return chunks


async def arrange(writer: GraphWriter, of: Document, chunks: Sequence[Chunk]) -> list[str]:
    version = DocumentVersion.of(of.id, of.sha256, LIMIT, len(chunks))
    return await writer.arrange(version, chunks)


# Each document comes back as it was read in, to the last character, with pages and headings.
@pytest.mark.parametrize(("text", "language"), [(ENGLISH, "en"), (CHINESE, "zh"), (ODD, "en")])
async def test_exactly(writer: GraphWriter, library: Catalog, text: str, language: str) -> None:
    places = {"page_starts": (0, 9, 30), "headings": ((0, "第一章"), (12, "Stone & “sand”"))}
    given = book(writer.corpus, "bridges", text, **places)
    chunks = await put(writer, given)

    (found,) = await library.texts(writer.corpus)
    assert found == given
    assert (found.text, found.language) == (text, language)
    assert len(chunks) > 10 or text == ODD


# A document without pages and headings has none.
async def test_without_places(writer: GraphWriter, library: Catalog) -> None:
    given = book(writer.corpus, "bridges", ENGLISH)
    await put(writer, given)

    assert await library.texts(writer.corpus) == [given]


# Metadata are left out, all else is there.
async def test_without_metadata(writer: GraphWriter, library: Catalog) -> None:
    given = book(writer.corpus, "bridges", ENGLISH, metadata={"author": "Ada"})
    await put(writer, given)

    assert await library.texts(writer.corpus) == [replace(given, metadata={})]


# Documents come by title, those of one title always in the same order; chunks never mix.
async def test_several(writer: GraphWriter, library: Catalog) -> None:
    given = [book(writer.corpus, title, f"{title}\n\n{ENGLISH}") for title in "CAB"]
    twin = document_of(Content(CHINESE, "A"), "A", writer.corpus, "/texts/another.txt")
    for one in (*given, twin):
        await put(writer, one)

    found = await library.texts(writer.corpus)
    assert found == sorted([*given, twin], key=lambda one: (one.title, one.id))


# Two chunks of the same words are both there.
async def test_repeated_words(writer: GraphWriter, library: Catalog) -> None:
    text = "\n\n".join(["Ada built a bridge of stone that stood. " * 5] * 4)
    given = book(writer.corpus, "bridges", text)
    chunks = await put(writer, given)

    assert len({chunk.text for chunk in chunks}) < len(chunks)
    assert [one.text for one in await library.texts(writer.corpus)] == [text]


# A chunk without facts is a part of the text all the same.
async def test_failed_chunks(writer: GraphWriter, library: Catalog) -> None:
    given = book(writer.corpus, "bridges", ENGLISH)
    chunks = split(given, LIMIT)
    reads = [ReadChunk(chunk, error="cut off") for chunk in chunks]
    await writer.write_chunks(reads, [given], LIMIT)
    await arrange(writer, given, chunks)

    assert await library.texts(writer.corpus) == [given]


# What is only being read in is left out: its chunks are not all there, or in no order yet.
async def test_only_being_read_in(writer: GraphWriter, library: Catalog) -> None:
    begun, half, whole = (book(writer.corpus, title, ENGLISH) for title in "ABC")
    await writer.begin_documents([begun], LIMIT)
    chunks = split(half, LIMIT)[:3]
    await writer.write_chunks([ReadChunk(chunk) for chunk in chunks], [half], LIMIT)
    await put(writer, whole)

    assert await library.texts(writer.corpus) == [whole]


# Chunks of an edit are not in the text before they are arranged, and the old ones are not after.
async def test_edited(writer: GraphWriter, library: Catalog) -> None:
    old = book(writer.corpus, "bridges", ENGLISH)
    new = book(writer.corpus, "bridges", ENGLISH.replace("bridge 7", "ferry 7"))
    await put(writer, old)
    chunks = split(new, LIMIT)
    reads = [ReadChunk(chunk, pending=True) for chunk in chunks]
    await writer.write_chunks(reads, [new], LIMIT)
    (before,) = await library.texts(writer.corpus)
    stale = await arrange(writer, new, chunks)
    (after,) = await library.texts(writer.corpus)

    assert before.text == old.text
    assert stale
    assert after == new


# What is being deleted is not there any more.
async def test_deleting(connection: Connection, writer: GraphWriter, library: Catalog) -> None:
    gone, kept = (book(writer.corpus, title, ENGLISH) for title in "AB")
    await put(writer, gone)
    await put(writer, kept)
    values = {"corpus": writer.corpus, "documents": [gone.id]}
    await connection.write("write/mark_deleting", **values)
    marked = await library.texts(writer.corpus)
    await Deleter(connection, writer.corpus).finish_deletes()

    assert marked == await library.texts(writer.corpus) == [kept]


# Another corpus has its own texts, and one that there is not has none.
async def test_corpora(connection: Connection, writer: GraphWriter, library: Catalog) -> None:
    other = GraphWriter(connection, f"{writer.corpus}-other")
    mine, theirs = (book(one.corpus, "bridges", ENGLISH) for one in (writer, other))
    await put(writer, mine)
    await put(other, theirs)
    try:
        assert await library.texts(writer.corpus) == [mine]
        assert await library.texts(other.corpus) == [theirs]
        assert await library.texts(f"{writer.corpus}-none") == []
    finally:
        await Deleter(connection, other.corpus).delete([theirs.id])


# A document whose text is one chunk is that chunk.
async def test_one_chunk(writer: GraphWriter, library: Catalog) -> None:
    given = document(writer.corpus, "short", "A text.")
    chunks = await put(writer, given)

    assert [chunk.text for chunk in chunks] == ["A text."]
    assert await library.texts(writer.corpus) == [given]
