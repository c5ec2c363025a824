"""Texts as nobody writes them, from files and from memory: all is read, and every span is exact."""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from langchain_core.documents import Document

from graphreader.agent.decisions import ChunkDecision
from graphreader.agent.tasks import ChunkTask
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import soundness, world

ODD = {
    "no paragraphs": "Anna met Bert in the old town. " * 60,
    "one enormous line": "0123456789abcdef" * 500,
    "one enormous line of Chinese": "他们在城里见面" * 400,
    "lines only": "\n".join(f"{n}. Anna met Bert." for n in range(100)),
    "mixed languages": "Anna met Bert. 安娜在城里遇见了贝特。Анна встретила Берта. アンナは会う。\n"
    * 15,
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467👍🏽 \U0001f3f3\ufe0f\u200d\U0001f308 🇫🇷. "
    * 40,
    "right to left": "التقت آنا ببرت في المدينة. \u202eאנה פגשה את ברט בעיר.\u202c \u200f" * 25,
    "marks upon marks": "A\u0301\u0302\u0303\u0304\u0305n\u0306\u0307\u0308n\u030aa\u030b " * 60,
    "other line ends": "Anna met Bert.\u2028In the town.\x85At noon.\x0b\x0cThen they left.\u2029"
    * 20,
    "NUL bytes": "Anna\0 met\0\0 Bert in the town.\n\n" * 20,
    "a mark at the beginning": "\ufeffAnna met Bert in the town.\n\n" * 30,
}
SURROGATES = "Anna \ud83d\ude00 met \udc00Bert\ud800 in the town.\n\n" * 30
TEXTS = {
    name: re.sub("[\0\ud800-\udfff]", "\ufffd", text.replace("\ud83d\ude00", "😀"))
    for name, text in {**ODD, "lone surrogates": SURROGATES}.items()
}

pytestmark = pytest.mark.usefixtures("cleaned")


def facts_of(text: str) -> Mapping[str, list[str]]:
    """A fact that no other text gives."""
    mark = f"part{int(sha256(text.encode()).hexdigest()[:8], 16)}"
    return {f"This is {mark}.": [mark]} if text.strip() else {}


def quote(task: ChunkTask) -> ChunkDecision:
    """Quotes from the middle of a chunk, white space excepted."""
    words = task.text.split()
    middle = " ".join(words[len(words) // 2 :][:3] or words[:1])[:40]
    return world.chunk("termination", "Something was found.", [middle])


@pytest.fixture
def things(tmp_path: Path) -> list[Path | Document]:
    """A folder of files, and in memory lone surrogates, which no file can hold."""
    for name, text in ODD.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
    return [tmp_path, Document(SURROGATES, metadata={"source": "lone surrogates"})]


def check_citations(reading: Reading) -> None:
    """There are some, and each is exactly the slice of its text."""
    assert reading.citations
    for one in reading.citations:
        assert TEXTS[one.document][one.start : one.end] == one.quote != ""


# Every character of every text is in the graph, reading again changes nothing, and citations quote
# the exact words.
def test_odd_texts(neo4j: Settings, corpus: str, things: list[Path | Document]) -> None:
    decider = world.scripted(
        {},
        {ExtractionTask: lambda task: world.extraction_of(facts_of(task.text)), ChunkTask: quote},
    )
    with world.reader(neo4j, corpus, decider) as reader:
        report = reader.ingest(*things)
        again = reader.ingest(*things)
        reading = reader.ask("Who met whom?")

    assert report.complete, report
    assert {one.status for one in again.documents} == {"unchanged"}
    soundness.check(neo4j, corpus, TEXTS, facts_of)
    check_citations(reading)
