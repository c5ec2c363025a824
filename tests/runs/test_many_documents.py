"""Many small documents next to a large one."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from graphreader.ingestion.extraction import ExtractionTask
from graphreader.settings import Settings
from tests.runs import soundness, world

MANY, LARGE = 120, 150  # documents, and paragraphs of the large one
FACT = re.compile(r"Anna\d+ met Bert\d+ in Town\d+\.")
NAME = re.compile(r"[A-Z][a-z]+\d+")


def sentence(number: int) -> str:
    return f"Anna{number} met Bert{number % 65} in Town{number % 39}."


def facts_of(text: str) -> Mapping[str, list[str]]:
    return {fact: NAME.findall(fact) for fact in FACT.findall(text)}


# All are read completely and share the key elements that they name.
@pytest.mark.usefixtures("cleaned")
def test_many(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = {f"note{number}": f"Yesterday {sentence(number)}\n" for number in range(MANY)}
    texts["large"] = "\n\n".join(world.padded(sentence(MANY + n)) for n in range(LARGE))
    for title, text in texts.items():
        (tmp_path / f"{title}.txt").write_text(text, "utf-8")
    extract = {ExtractionTask: lambda task: world.extraction_of(facts_of(task.text))}
    with world.reader(neo4j, corpus, world.scripted({}, extract)) as reader:
        report = reader.ingest(tmp_path)
        again = reader.ingest(tmp_path)
        stats = reader.stats()

    assert {one.status for one in report.documents} == {"read"}
    assert {one.status for one in again.documents} == {"unchanged"}
    assert (len(report.documents), again.asked_chunks) == (MANY + 1, 0)
    assert (stats.facts, stats.key_elements) == (MANY + LARGE, MANY + LARGE + 65 + 39)
    soundness.check(neo4j, corpus, texts, facts_of)
