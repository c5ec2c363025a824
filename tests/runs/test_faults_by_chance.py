"""A long run over HTTP in which 30 % of all requests go wrong, with a fixed seed."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from graphreader import tokens
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.report import IngestReport
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_faults import FAULTS, Body, Chance, Fault
from tests.runs.openai_server import OpenAIServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleaned", "short_pauses")]

SEED = 20_261_121
WINDOW = 4096
AT_ONCE = 16
MANY = 40
QUESTIONS = 4


def prompt_tokens(body: Body) -> int:
    """What a request puts into the model's window: framed messages and what goes along."""
    along = [body.get("response_format"), *(body.get("tools") or [])]
    texts = [str(message["content"]) for message in body["messages"]]
    texts += [json.dumps(one, ensure_ascii=False) for one in along if one]
    return 3 + sum(tokens.count(text) for text in texts) + 4 * len(body["messages"])


def failed_of(report: IngestReport) -> int:
    return sum(len(one.failed) for one in report.documents)


# With 30 % of all requests going wrong, 40 chunks are read and 4 questions are answered: no chunk
# is lost, nothing that was answered is asked again, no prompt is too large, no limit is passed.
def test_faults_by_chance(
    neo4j: Settings, corpus: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = chronicle.write(tmp_path / "texts", MANY, files=8)
    numbers = range(0, MANY, MANY // QUESTIONS)
    chance = Chance(0.3, SEED)
    embeddings_faults = [FAULTS["500"], Fault(), FAULTS["drop"], FAULTS["429"]]
    with OpenAIServer(mind.think, script=chance, embeddings_faults=embeddings_faults) as server:
        given = chronicle.settings(
            neo4j, server, tmp_path / "home", concurrency=AT_ONCE, calls=6, window=WINDOW
        )
        with GraphReader(corpus, settings=given) as reader:
            first = reader.ingest(texts)
            disturbed = chronicle.graph_of(given, corpus)
            asked = len(server.requests)
            chance.share = 0.0
            second = reader.ingest(texts)
            repaired = chronicle.graph_of(given, corpus)
            asked_again = server.requests[asked:]
            chance.share = 0.3
            readings = asyncio.run(ask_all(reader, [chronicle.question(n) for n in numbers]))
    undisturbed = graph_without_faults(neo4j, corpus, tmp_path, texts)

    faults = Counter(one.fault.spoils for one in server.requests)
    assert 0.2 < faults[True] / faults.total() < 0.4
    assert len({repr(one.fault) for one in server.requests}) == len(FAULTS) + 1

    lost = [chunk for chunk in disturbed if chunk[2] == ((None,),)]
    assert [(title, index) for title, index, _ in disturbed] == [one[:2] for one in undisturbed]
    assert len(disturbed) == MANY
    assert len(lost) == failed_of(first) == len({mind.passage(one.body) for one in asked_again})
    assert second.complete
    assert repaired == undisturbed

    assert server.asked_again() == []
    assert max(prompt_tokens(body) for body in server.chats) <= WINDOW
    assert 1 < server.most_at_once <= AT_ONCE
    assert [reading.question for reading in readings] == [chronicle.question(n) for n in numbers]
    for number, reading in zip(numbers, readings, strict=True):
        assert len(reading.paths) == 5
        assert all(path.calls == len(path.functions) <= 6 for path in reading.paths)
        if reading.answered:
            chronicle.check_answer(reading, number)
        else:
            assert reading.notes or "no answer was put together" in reading.analysis
    assert sum(reading.answered for reading in readings) >= 0.7 * QUESTIONS
    prompt = server.chats[0]["messages"][0]["content"]
    words = [chronicle.KEY, "Anna2", "Bert14", "lost the map", prompt[:40], prompt[-40:]]
    assert any(one.name.startswith("graphreader") for one in caplog.records)
    assert [word for word in words if word in caplog.text] == []


async def ask_all(reader: GraphReader, questions: Sequence[str]) -> list[Reading]:
    """All at once."""
    return await asyncio.gather(*(reader.aask(question) for question in questions))


def graph_without_faults(neo4j: Settings, corpus: str, folder: Path, texts: Path) -> list[Any]:
    """What the same texts become where nothing goes wrong."""
    other = f"{corpus}-undisturbed"
    with OpenAIServer(mind.think) as server:
        given = chronicle.settings(neo4j, server, folder / "other", concurrency=AT_ONCE)
        with GraphReader(other, settings=given) as reader:
            assert reader.ingest(texts).complete
            graph = chronicle.graph_of(given, other)
            reader.delete(everything=True)
    return graph
