from collections.abc import Iterator
from typing import Any

import pytest

from graphreader.errors import (
    ReplyError,
    UnknownDocumentError,
    UnknownKeyElementError,
    UsageError,
)
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import world


@pytest.fixture
def reader(neo4j: Settings, ring: str) -> Iterator[GraphReader]:
    """A reader of the ring, who decides nothing."""
    with world.reader(neo4j, ring, world.scripted({}, {})) as reader:
        yield reader


# A search finds key elements by their words, no more than wanted; facts come in the order of the
# texts, with the place where each stands; neighbors share facts, and the key element is none.
def test_looking(reader: GraphReader) -> None:
    first, *_ = reader.search("who met Gamma?")
    facts = reader.facts("Alpha")
    neighbors = reader.neighbors("Alpha")

    assert (first.name, first.aliases, first.facts) == ("Gamma", ("Gamma",), 2)
    assert len(reader.search("Alpha Beta Gamma Delta", limit=2)) == 2
    assert facts.total == 2
    assert [(fact.text, fact.document, fact.chunk) for fact in facts.facts] == [
        (world.RING[0], "ring", 0),
        (world.RING[6], "ring", 6),
    ]
    assert {one.name: (one.shared, one.facts) for one in neighbors} == {
        "Beta": (1, 2),
        "Eta": (1, 2),
    }
    assert len(reader.neighbors("Alpha", limit=1)) == 1


# A key element is found by any way to write it, and by its id; an article belongs to a name of one
# word.
def test_ways_to_write_a_name(reader: GraphReader) -> None:
    element = reader.facts("Alpha").element
    for name in ("alpha", " ALPHA ", "“Alpha”", element.id):
        assert reader.facts(name).element == element
    with pytest.raises(UnknownKeyElementError):
        reader.facts("the Alpha")


# Who asks for what there is not is told what there is. Numbers beyond Neo4j's and letters that are
# none are answered, or refused in words.
def test_what_there_is_not(reader: GraphReader) -> None:
    (document,) = reader.documents()
    pairs: Any = [["x", 1], [document.id, 2], [document.id, 10**30], ["\ud800", 0]]

    assert [one.chunk for one in reader.passages(pairs)] == [2]
    assert reader.search("Alpha \ud800")[0].name == "Alpha"
    with pytest.raises(UnknownKeyElementError, match=r"'Alpha Centauri'; the nearest are 'Alpha'"):
        reader.neighbors("Alpha Centauri")
    with pytest.raises(UnknownKeyElementError, match=r"no key element 'Alpha\?Beta'"):
        reader.facts("Alpha\ud800Beta")
    with pytest.raises(UnknownDocumentError, match="graphreader list"):
        reader.chunk("book", 0)
    with pytest.raises(UsageError, match=f"has no chunk {10**30}: they are counted from 0"):
        reader.chunk("ring", 10**30)
    with pytest.raises(UsageError, match="The search is empty"):
        reader.search("  ")


# A chunk is the slice of its document, and passages are those asked for, once and in order.
def test_chunks(reader: GraphReader) -> None:
    chunk = reader.chunk("ring", 3)
    (document,) = reader.documents()
    places = [(document.id, 5), (document.id, 3), ("gone", 1), (document.id, 5), (document.id, 99)]
    passages = reader.passages(places)

    assert chunk.text.startswith(world.RING[3])
    assert chunk.end - chunk.start == len(chunk.text)
    assert (chunk.source, chunk.document_id) == (document.source, document.id)
    assert [one.chunk for one in passages] == [5, 3]
    assert passages[1] == chunk
    assert reader.passages([]) == []


class Mute:
    """An embedder that gives nothing, under the name of the corpus's own."""

    def __init__(self, name: str) -> None:
        self.name, self.dimension = name, 256

    async def embed(self, texts: object) -> list[list[float]]:
        raise ReplyError("No vectors today.")

    async def aclose(self) -> None:
        """Nothing to close."""


# Where there are no vectors, or others than the corpus has, words are searched.
@pytest.mark.parametrize("name", ["offline-1", "somebody-else"])
def test_search_without_vectors(neo4j: Settings, ring: str, name: str) -> None:
    with GraphReader(ring, settings=neo4j, embedder=Mute(name)) as reader:
        assert [one.name for one in reader.search("Alpha")] == ["Alpha"]
