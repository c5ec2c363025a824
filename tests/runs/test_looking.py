"""Looking into a corpus, also into one of thousands of documents."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from graphreader.errors import (
    ReplyError,
    UnknownDocumentError,
    UnknownKeyElementError,
    UsageError,
)
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.settings import Settings
from tests.runs import soundness, world

MANY, LARGE = 120, 150  # documents, and paragraphs of the large one
FACT = re.compile(r"Anna\d+ met Bert\d+ in Town\d+\.")
NAME = re.compile(r"[A-Z][a-z]+\d+")
ODD = {
    "one enormous line": "0123456789abcdef" * 300,
    "one enormous line of Chinese": "他们在城里见面" * 200,
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467👍🏽 \U0001f3f3\ufe0f\u200d\U0001f308 🇫🇷. "
    * 20,
    "right to left": "التقت آنا ببرت في المدينة. \u202eאנה פגשה את ברט בעיר.\u202c \u200f" * 15,
    "other line ends": "Anna met Bert.\u2028In the town.\x85At noon.\x0b\x0cThen they left.\u2029"
    * 9,
    "NUL bytes": "Anna\0 met\0\0 Bert in the town.\n\n" * 9,
    "a mark at the beginning": "\ufeffAnna met Bert in the town.\n\n" * 9,
}
SURROGATES = "Anna \ud83d\ude00 met \udc00Bert\ud800 in the town.\n\n" * 9


def sentence(number: int) -> str:
    return f"Anna{number} met Bert{number % 65} in Town{number % 39}."


def facts_of(text: str) -> Mapping[str, list[str]]:
    return {fact: NAME.findall(fact) for fact in FACT.findall(text)}


# All are read completely to the last character, share the key elements that they name, and are not
# read again.
@pytest.mark.usefixtures("cleaned")
def test_many(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = {f"note{number}": f"Yesterday {sentence(number)}\n" for number in range(MANY)}
    texts["large"] = "\n\n".join(world.padded(sentence(MANY + n)) for n in range(LARGE))
    for title, text in (texts | ODD).items():
        (tmp_path / f"{title}.txt").write_text(text, "utf-8", newline="")
    things = [tmp_path, Document(SURROGATES, metadata={"source": "lone surrogates"})]
    extract = {ExtractionTask: lambda task: world.extraction_of(facts_of(task.text))}
    with world.reader(neo4j, corpus, world.scripted({}, extract)) as reader:
        report = reader.ingest(*things)
        again = reader.ingest(*things)
        stats = reader.stats()

    assert {one.status for one in report.documents} == {"read"}
    assert {one.status for one in again.documents} == {"unchanged"}
    assert (len(report.documents), again.asked_chunks) == (MANY + 2 + len(ODD), 0)
    assert (stats.facts, stats.key_elements) == (MANY + LARGE, MANY + LARGE + 65 + 39)
    texts |= ODD | {"a mark at the beginning": ODD["a mark at the beginning"].replace("\ufeff", "")}
    texts |= {"lone surrogates": SURROGATES.replace("\ud83d\ude00", "😀")}
    texts = {title: re.sub("[\0\ud800-\udfff]", "\ufffd", text) for title, text in texts.items()}
    soundness.check(neo4j, corpus, texts, facts_of)


@pytest.fixture
def reader(neo4j: Settings, ring: str) -> Iterator[GraphReader]:
    """A reader of the ring, who decides nothing."""
    with world.reader(neo4j, ring, world.scripted({}, {})) as reader:
        yield reader


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

    assert [one.index for one in reader.passages(pairs)] == [2]
    assert [one.name for one in reader.search("Alpha \ud800")] == ["Alpha"]
    assert reader.search("qwzx")
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
    assert [one.index for one in passages] == [5, 3]
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


# Where there are no vectors, words are searched.
def test_search_without_vectors(neo4j: Settings, ring: str) -> None:
    with GraphReader(ring, settings=neo4j, embedder=Mute("offline-1")) as reader:
        assert [one.name for one in reader.search("Alpha")] == ["Alpha"]
