"""Replies by chance, within the bounds of their schemas and past them: every reader bears them."""

import json
from pathlib import Path

import pytest

from graphreader.agent.modes import MODES
from graphreader.baselines import registry
from graphreader.documents import Document
from graphreader.errors import GraphReaderError
from graphreader.graph_reader import GraphReader
from graphreader.models import ModelRegistry
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import chronicle
from tests.runs.openai_server import OpenAIServer, opened
from tests.runs.random_replies import RandomReplies

pytestmark = pytest.mark.usefixtures("short_pauses")

SEEDS = range(2)
MOST_REQUESTS = 150
TEXTS = ["\n\n".join(map(chronicle.paragraph, range(first, first + 3))) for first in (0, 3)]
READERS = [name for kind in registry.KINDS for name in kind.names if not kind.needs_model]


def check_reading(reading: Reading, texts: dict[str, str]) -> None:
    """Whatever the model replied: a reading can be sent, its citations are slices of the texts."""
    json.dumps(reading.as_dict(), ensure_ascii=False, allow_nan=False).encode()
    for one in reading.citations:
        assert one.quote == texts[one.document_id][one.start : one.end]
    for claim in (*reading.claims, *reading.contradictions):
        assert all(1 <= number <= len(reading.citations) for number in claim.citations)
    assert reading.usage.calls < MOST_REQUESTS


# Texts are read and questions are asked in every mode: each chunk has facts or an error, each key
# element stands in the graph, and each question ends with a reading or an expected error.
@pytest.mark.usefixtures("cleaned")
@pytest.mark.parametrize("broken", [0.0, 0.1])
@pytest.mark.parametrize("seed", SEEDS)
def test_graph(neo4j: Settings, corpus: str, tmp_path: Path, seed: int, broken: float) -> None:
    folder = chronicle.write(tmp_path / "texts", 6, files=2)
    with OpenAIServer(RandomReplies(seed, broken)) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", keep_replies="off")
        with GraphReader(corpus, settings=given) as reader:
            report = reader.ingest(folder)
            facts = chronicle.graph_of(given, corpus)
            texts = {
                one.id: (folder / Path(one.source).name).read_text() for one in reader.documents()
            }
            assert len(facts) == 6
            empty = sum(chunk_facts == ((None,),) for _, _, chunk_facts in facts)
            assert empty >= sum(len(one.failed) for one in report.documents)
            for mode in MODES:
                asked = len(server.requests)
                try:
                    reading = reader.ask(chronicle.question(2), mode=mode)
                except GraphReaderError:
                    pass  # an expected failure
                else:
                    check_reading(reading, texts)
                    kept = reader.resume(reading.run)
                    assert (kept.answer, kept.claims) == (reading.answer, reading.claims)
                assert len(server.requests) - asked < MOST_REQUESTS


# Each of the other readers answers, or fails with an expected error.
@pytest.mark.parametrize("broken", [0.0, 0.1])
@pytest.mark.parametrize("name", READERS)
async def test_readers(tmp_path: Path, name: str, broken: float) -> None:
    documents = [
        Document("c", f"d{n}", f"Book {n}", f"{n}.txt", text, "", "en")
        for n, text in enumerate(TEXTS)
    ]
    texts = {one.id: one.text for one in documents}
    material = registry.Material(documents, golden=([chronicle.meeting(2)], documents))
    for seed in SEEDS:
        with OpenAIServer(RandomReplies(seed, broken)) as server:
            given = Settings.read(home=tmp_path / str(seed), chunk_tokens=chronicle.CHUNK_TOKENS)
            async with opened(server) as decider:
                models = ModelRegistry(given, decider, OfflineEmbedder())
                try:
                    reader = registry.make(name, material, models)
                    check_reading(await reader.aask(chronicle.question(2)), texts)
                except GraphReaderError:
                    pass  # an expected failure
            assert 0 < len(server.requests) < MOST_REQUESTS
