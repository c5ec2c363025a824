from dataclasses import replace

import pytest

from graphreader.errors import UnknownCorpusError, UnknownDocumentError
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.writer import GraphWriter
from tests.neo4j.texts import document, write

FACTS = {"A and B.": ["A", "B"], "A and C.": ["A", "C"]}


@pytest.fixture
def library(connection: Connection) -> Catalog:
    return Catalog(connection)


# A document is found by its id, its path or its title.
async def test_documents_are_found(writer: GraphWriter, library: Catalog) -> None:
    await write(writer, "one", [("x", FACTS)])
    wanted = document(writer.corpus, "one")

    assert await library.find(writer.corpus, wanted.id) == wanted.id
    assert await library.find(writer.corpus, wanted.source) == wanted.id
    assert await library.find(writer.corpus, "one") == wanted.id


# A title that two documents have names both of them.
async def test_ambiguous_titles_name_the_matches(writer: GraphWriter, library: Catalog) -> None:
    await write(writer, "one", [("x", FACTS)])
    await write(writer, "two", [("y", FACTS)])
    first, second = document(writer.corpus, "one"), document(writer.corpus, "two")
    await writer.begin_documents([replace(second, title="one")], 2000)

    with pytest.raises(UnknownDocumentError, match=rf"{first.id}.*{second.id}") as refused:
        await library.find(writer.corpus, "one")
    assert second.source in str(refused.value)


# A document that there is not says where to look.
async def test_unknown_documents_are_refused(writer: GraphWriter, library: Catalog) -> None:
    with pytest.raises(UnknownDocumentError, match="graphreader list"):
        await library.find(writer.corpus, "none")


# A corpus that there is not names those that there are.
async def test_unknown_corpora_are_refused(writer: GraphWriter, library: Catalog) -> None:
    with pytest.raises(UnknownCorpusError, match=writer.corpus):
        await library.corpus("no such corpus")


# A corpus remembers how it was made.
async def test_corpora_remember(writer: GraphWriter, library: Catalog) -> None:
    record = await library.corpus(writer.corpus)

    assert (record.decider, record.prompts, record.embedding, record.dimension) == (
        "test",
        "1",
        "test-embedding",
        256,
    )


# The list counts what each corpus holds.
async def test_corpora_are_listed(writer: GraphWriter, library: Catalog) -> None:
    await write(writer, "one", [("x ", FACTS), ("y", FACTS)])
    found = {one.corpus: one for one in await library.corpora()}[writer.corpus]

    assert (found.documents, found.chunks, found.incomplete) == (1, 2, 0)


# Sizes are those of the paper's table 8, and an empty corpus has none.
async def test_stats_count(writer: GraphWriter, library: Catalog) -> None:
    await write(writer, "one", [("x y z", FACTS)])
    stats = await library.stats(writer.corpus)
    empty = await library.stats("no such corpus")

    assert (stats.documents, stats.chunks, stats.tokens, stats.facts) == (1, 1, 3, 2)
    assert (stats.key_elements, stats.most_facts, stats.most_neighbors) == (3, 2, 2)
    assert stats.facts_per_element == pytest.approx(4 / 3)
    assert stats.neighbors_per_element == pytest.approx(4 / 3)
    assert stats.busiest[0] == ("A", 2)
    assert (empty.documents, empty.key_elements, empty.facts_per_element) == (0, 0, 0.0)
