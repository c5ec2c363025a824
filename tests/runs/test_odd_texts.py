"""Texts as nobody writes them, from files and from memory: all is read, and every span is exact."""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from langchain_core.documents import Document

from graphreader.agent.decisions import ChunkDecision
from graphreader.agent.tasks import ChunkTask
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import soundness, world

ODD = {
    "no paragraphs": "Anna met Bert in the old town. " * 200,
    "one enormous line": "0123456789abcdef" * 4000,
    "one enormous line of Chinese": "他们在城里见面" * 1500,
    "lines only": "\n".join(f"{n}. Anna met Bert." for n in range(300)),
    "mixed languages": "Anna met Bert. 安娜在城里遇见了贝特。Анна встретила Берта. アンナは会う。\n"
    * 40,
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467👍🏽 \U0001f3f3\ufe0f\u200d\U0001f308 🇫🇷. "
    * 120,
    "right to left": "التقت آنا ببرت في المدينة. \u202eאנה פגשה את ברט בעיר.\u202c \u200f" * 80,
    "marks upon marks": "A\u0301\u0302\u0303\u0304\u0305n\u0306\u0307\u0308n\u030aa\u030b " * 200,
    "other line ends": "Anna met Bert.\u2028In the town.\x85At noon.\x0b\x0cThen they left.\u2029"
    * 60,
    "NUL bytes": "Anna\0 met\0\0 Bert in the town.\n\n" * 60,
    "a mark at the beginning": "\ufeffAnna met Bert in the town.\n\n" * 30,
}
SURROGATES = "Anna \ud83d\ude00 met \udc00Bert\ud800 in the town.\n\n" * 30

pytestmark = pytest.mark.usefixtures("cleaned")


def stored(text: str) -> str:
    """The text as a database can keep it."""
    text = text.replace("\ud83d\ude00", "😀")
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def facts_of(text: str) -> Mapping[str, list[str]]:
    """A fact that no other text gives."""
    mark = f"part{int(sha256(text.encode()).hexdigest()[:8], 16)}"
    return {f"This is {mark}.": [mark]} if text.strip() else {}


def extract(task: ExtractionTask) -> Extraction:
    facts = facts_of(task.text)
    return Extraction(
        facts=[ExtractedFact(fact=one, key_elements=named) for one, named in facts.items()]
    )


def quote(task: ChunkTask) -> ChunkDecision:
    """Quotes from the middle of a chunk, white space excepted."""
    words = task.text.split()
    middle = " ".join(words[len(words) // 2 :][:3] or words[:1])[:40]
    return world.chunk("termination", "Something was found.", [middle])


def decider() -> ScriptedDecider:
    return world.scripted({}, {ExtractionTask: extract, ChunkTask: quote})


def check_citations(reading: Reading, texts: Mapping[str, str]) -> None:
    """There are some, and each is the very slice of its text."""
    assert reading.citations
    for one in reading.citations:
        assert texts[one.document][one.start : one.end] == one.quote != ""


# From files: every character of every text is in the graph, and asking cites the very words.
@pytest.mark.parametrize("name", ODD)
def test_files(neo4j: Settings, corpus: str, tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.txt").write_text(ODD[name], encoding="utf-8", newline="")
    texts = {name: stored(ODD[name])}
    with world.reader(neo4j, corpus, decider()) as reader:
        report = reader.ingest(tmp_path)
        again = reader.ingest(tmp_path)
        reading = reader.ask("Who met whom?")

    assert report.complete, report
    assert [one.status for one in again.documents] == ["unchanged"]
    soundness.check(neo4j, corpus, texts, facts_of)
    check_citations(reading, texts)


# From memory: the same, with lone surrogates too, which no file and no database can hold.
def test_documents(neo4j: Settings, corpus: str) -> None:
    given = {**ODD, "lone surrogates": SURROGATES}
    documents = [Document(text, metadata={"source": name}) for name, text in given.items()]
    texts = {name: stored(text) for name, text in given.items()}
    with world.reader(neo4j, corpus, decider()) as reader:
        report = reader.ingest(*documents)
        again = reader.ingest(*documents)
        reading = reader.ask("Who met whom?")

    assert report.complete, report
    assert {one.status for one in again.documents} == {"unchanged"}
    soundness.check(neo4j, corpus, texts, facts_of)
    check_citations(reading, texts)


# Bytes that are no characters become marks; the rest of the file is read, and the report says what
# was lost.
def test_broken_bytes(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    data = "Anna traf Bert in der schönen, grünen Stadt am Fluß. ".encode() * 50
    data = data[:300] + b"\xed\xa0\x80\xff" + data[300:]
    (tmp_path / "broken.txt").write_bytes(data)
    with world.reader(neo4j, corpus, decider()) as reader:
        report = reader.ingest(tmp_path)

    assert report.complete
    assert [one.part for one in report.documents[0].skipped] == ["4 bytes"]
    soundness.check(neo4j, corpus, {"broken": data.decode("utf-8", "replace")}, facts_of)


# Without a model as well: its facts are other ones, but the text is all there.
def test_offline(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    for name, text in ODD.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
    with GraphReader(corpus, settings=world.settings(neo4j)) as reader:
        report = reader.ingest(tmp_path)
        reading = reader.ask("Who met Bert in the town?")
        documents = reader.documents()

    assert report.complete
    assert {one.status for one in documents} == {"complete"}
    check_citations(reading, {name: stored(text) for name, text in ODD.items()})
