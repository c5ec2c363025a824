"""Many small documents beside a large one."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from graphreader.agent.decisions import ChunkDecision
from graphreader.agent.tasks import ChunkTask
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.settings import Settings
from tests.runs import soundness, world

MANY, LARGE = 200, 300  # documents, and paragraphs of the large one
FACT = re.compile(r"Anna\d+ met Bert\d+ in Town\d+\.")
NAME = re.compile(r"[A-Z][a-z]+\d+")
WEATHER = " This chapter tells of it at length, with many words about the weather." * 12


def sentence(number: int) -> str:
    return f"Anna{number} met Bert{number % 65} in Town{number % 139}."


def facts_of(text: str) -> Mapping[str, list[str]]:
    return {fact: NAME.findall(fact) for fact in FACT.findall(text)}


def quote(task: ChunkTask) -> ChunkDecision:
    """Looks for two sentences."""
    quotes = [one for one in (sentence(150), sentence(450)) if one in task.text]
    return world.chunk("search_more", "\n".join([task.notebook, *quotes]), quotes)


# All are read completely, share what they name, and are cited at their places.
@pytest.mark.usefixtures("cleaned")
def test_many(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = {f"note{number}": f"Yesterday {sentence(number)}\n" for number in range(MANY)}
    large = [sentence(MANY + number) + WEATHER for number in range(LARGE)]
    texts["large"] = "\n\n".join(large)
    for title, text in texts.items():
        (tmp_path / f"{title}.txt").write_text(text, "utf-8")
    extract = {ExtractionTask: lambda task: world.extraction_of(facts_of(task.text))}
    decider = world.scripted({}, {**extract, ChunkTask: quote})
    with world.reader(neo4j, corpus, decider, chunk_tokens=2000) as reader:
        report = reader.ingest(tmp_path)
        again = reader.ingest(tmp_path)
        stats = reader.stats()
        readings = [reader.ask(f"Where did Anna{number} meet Bert?") for number in (150, 450)]

    assert {one.status for one in report.documents} == {"read"}
    assert {one.status for one in again.documents} == {"unchanged"}
    assert (len(report.documents), again.asked_chunks) == (MANY + 1, 0)
    assert report.asked_chunks > MANY + 20
    assert (stats.facts, stats.key_elements) == (MANY + LARGE, MANY + LARGE + 65 + 139)
    soundness.check(neo4j, corpus, texts, facts_of)
    quotes = {one.document: one for reading in readings for one in reading.citations}
    assert set(quotes) == {"note150", "large"}
    for title, one in quotes.items():
        assert texts[title][one.start : one.end] == one.quote
