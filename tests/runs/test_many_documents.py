"""A thousand small documents, and a single large one."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from graphreader.agent.decisions import ChunkDecision
from graphreader.agent.tasks import ChunkTask
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import soundness, world

MANY = 1000
LARGE = 1_500_000  # characters

FACT = re.compile(r"Anna\d+ met Bert\d+ in Town\d+\.")
NAME = re.compile(r"[A-Z][a-z]+\d+")
SOUGHT = "Anna700 met Bert50 in Town5."

pytestmark = pytest.mark.usefixtures("cleaned")


def sentence(number: int) -> str:
    return f"Anna{number} met Bert{number % 65} in Town{number % 139}."


def facts_of(text: str) -> Mapping[str, list[str]]:
    return {fact: NAME.findall(fact) for fact in FACT.findall(text)}


def extract(task: ExtractionTask) -> Extraction:
    facts = facts_of(task.text)
    return Extraction(
        facts=[ExtractedFact(fact=one, key_elements=named) for one, named in facts.items()]
    )


def quote(task: ChunkTask) -> ChunkDecision:
    """Looks for the one sentence."""
    if SOUGHT in task.text:
        return world.chunk("termination", SOUGHT, [SOUGHT])
    return world.chunk("search_more", task.notebook)


def decider() -> ScriptedDecider:
    return world.scripted({}, {ExtractionTask: extract, ChunkTask: quote})


# A thousand small documents are read completely, and share what they name.
def test_many(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = {f"note{number}": f"Yesterday {sentence(number)}\n" for number in range(MANY)}
    for title, text in texts.items():
        (tmp_path / f"{title}.txt").write_text(text, "utf-8")
    with world.reader(neo4j, corpus, decider()) as reader:
        report = reader.ingest(tmp_path)
        again = reader.ingest(tmp_path)
        stats = reader.stats()
        reading = reader.ask("Where did Anna700 meet Bert50?")

    assert {one.status for one in report.documents} == {"read"}
    assert {one.status for one in again.documents} == {"unchanged"}
    assert (len(report.documents), report.asked_chunks, again.asked_chunks) == (MANY, MANY, 0)
    assert (stats.documents, stats.chunks, stats.facts) == (MANY, MANY, MANY)
    assert stats.key_elements == MANY + 65 + 139
    soundness.check(neo4j, corpus, texts, facts_of)
    assert [(one.document, one.quote) for one in reading.citations] == [("note700", SOUGHT)]


# A document of a million and a half characters is read completely; a citation points at its place.
def test_large(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    paragraphs = []
    length = 0
    while length < LARGE:
        said = (
            f" Chapter {len(paragraphs)} tells of it at length, with many words about the weather."
        )
        paragraphs.append(sentence(len(paragraphs)) + said * 12)
        length += len(paragraphs[-1]) + 2
    text = "\n\n".join(paragraphs)
    (tmp_path / "large.txt").write_text(text, "utf-8")
    with world.reader(neo4j, corpus, decider(), chunk_tokens=2000) as reader:
        report = reader.ingest(tmp_path)
        reading = reader.ask("Where did Anna700 meet Bert50?")

    assert report.complete
    assert report.documents[0].chunks > 150
    assert report.facts == len(paragraphs)
    soundness.check(neo4j, corpus, {"large": text}, facts_of)
    assert [text[one.start : one.end] for one in reading.citations] == [SOUGHT]
