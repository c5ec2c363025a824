"""Several readers at work on one corpus at once, and a delete."""

import asyncio
import re
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graphreader.ingestion.extraction import Extraction, ExtractionTask
from graphreader.ingestion.report import IngestReport
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import digest, soundness, world

CHUNKS = 24
FACT = re.compile(r"Anna\d+ met [^.]*\.")
NAME = re.compile(r"\b[A-Z][a-z]+\d+")

pytestmark = pytest.mark.usefixtures("cleaned")


def facts_of(text: str) -> Mapping[str, list[str]]:
    return {fact: NAME.findall(fact) for fact in FACT.findall(" ".join(text.split()))}


def decider() -> ScriptedDecider:
    """Extracts after a moment in which others get their turn."""

    async def extract(task: ExtractionTask) -> Extraction:
        await asyncio.sleep(0.01)
        return world.extraction_of(facts_of(task.text))

    return world.scripted({}, {ExtractionTask: extract})


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Four books in which the same few people are met in the same few towns."""
    books = {
        f"book{book}": [f"Anna{n} met Bert{n % 5} in Town{n % 3}." for n in range(book, CHUNKS, 3)]
        for book in range(4)
    }
    return world.write_files(tmp_path / "texts", books)


def ingest_at_once(neo4j: Settings, corpus: str, *parts: list[Path]) -> list[IngestReport]:
    """Each part read in by a reader of its own, all in the same moment."""
    ready = threading.Barrier(len(parts))

    def ingest(part: list[Path]) -> IngestReport:
        with world.reader(neo4j, corpus, decider()) as reader:
            ready.wait()
            return reader.ingest(*part)

    with ThreadPoolExecutor() as pool:
        return list(pool.map(ingest, parts))


def content_of(texts: Path) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in texts.iterdir()}


# Two readers that read the same people in from different files, and one file both of them, make
# the graph that a single one makes.
def test_two_readers(neo4j: Settings, corpus: str, texts: Path) -> None:
    with world.reader(neo4j, corpus, decider()) as reader:
        reader.ingest(texts)
        alone = digest.content(neo4j, corpus)
        reader.delete(everything=True)
    books = sorted(texts.iterdir())
    reports = ingest_at_once(neo4j, corpus, books[:3], [*books[3:], books[0], books[1]])

    assert [report.complete for report in reports] == [True, True]
    assert digest.content(neo4j, corpus) == alone
    soundness.check(neo4j, corpus, content_of(texts), facts_of)
