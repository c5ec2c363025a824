"""Properties that hold for any model, tried with a small one: schemas, facts, citations, usage."""

import asyncio
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from graphreader.agent.modes import MODES
from graphreader.agent.tasks import PlanTask
from graphreader.baselines import registry
from graphreader.errors import ReplyError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import grounded_elements
from graphreader.ingestion.report import IngestReport
from graphreader.llm.protocols import Decision
from graphreader.llm.structured_output import response_format
from graphreader.models import open_decider
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.model.conftest import Llama
from tests.runs.chronicle import graph_of
from tests.runs.forks import Forks
from tests.terminal import environment_of, wait_for
from tests.unit.every_task import RATINGS, TASKS

TEXT = """Ada Holt built a mill of oak on the river Lume in 1903. The miller Bede Storr kept it.

In 1911 Bede Storr sold the mill to Cyril Vane. He paid 1,250 crowns, and moved to Dorn.
"""
QUESTION = "Who sold the mill on the river Lume?"
DECISIONS = {task.decision.__name__: task.decision for task in (*TASKS, *RATINGS)}


# llama.cpp makes a grammar of the schema of every decision, in which a code fence may stand.
@pytest.mark.parametrize("decision", DECISIONS.values(), ids=DECISIONS)
def test_schemas(llama: Llama, decision: type[Decision]) -> None:
    body = {
        "messages": [{"role": "user", "content": "Reply."}],
        "max_tokens": 2,
        "response_format": response_format(decision),
    }
    reply = httpx.post(f"{llama.address}/v1/chat/completions", json=body, timeout=300)

    assert reply.status_code == 200, reply.text
    assert reply.json()["choices"][0]["message"]["content"].strip()[:1] in ("{", "`", "")


@dataclass(frozen=True, slots=True)
class Corpus:
    """A text that the model has read, and what it cost by the report and by the server."""

    settings: Settings
    reader: GraphReader
    report: IngestReport
    counted: tuple[int, int]


@pytest.fixture(scope="module")
def corpus_of_model(
    llama: Llama, neo4j: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Corpus]:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "mill.txt").write_text(TEXT, encoding="utf-8")
    settings = llama.settings(neo4j, tmp_path_factory.mktemp("home"))
    before = llama.tokens
    with GraphReader(f"test-{uuid4().hex[:12]}", settings=settings) as reader:
        report = reader.ingest(folder / "mill.txt")
        prompts, replies = (now - then for now, then in zip(llama.tokens, before, strict=True))
        yield Corpus(settings, reader, report, (prompts, replies))
        reader.delete(everything=True)


# Each chunk has facts or an error, each key element stands in its fact, and the cost is what the
# server counts.
def test_reading(corpus_of_model: Corpus) -> None:
    usage = corpus_of_model.report.usage

    check_facts(corpus_of_model.report, corpus_of_model.settings)
    assert (usage.input_tokens, usage.output_tokens) == corpus_of_model.counted
    assert usage.estimated == 0


def check_facts(report: IngestReport, settings: Settings) -> None:
    [document] = report.documents
    chunks = graph_of(settings, report.corpus)
    without = {one.chunk for one in document.failed} | set(document.without_facts)

    assert len(chunks) == document.chunks > 0
    for _, index, facts in chunks:
        assert (facts == ((None,),)) == (index in without)
        for fact, *names in facts if index not in without else ():
            assert grounded_elements(names, fact) == names


def check_reading(reading: Reading) -> None:
    for one in reading.citations:
        assert one.quote == TEXT[one.start : one.end]
    for claim in reading.claims:
        assert claim.supported == bool(claim.citations)
        assert all(1 <= number <= len(reading.citations) for number in claim.citations)
    if not all(claim.supported for claim in reading.claims):
        assert reading.notes


# In every mode a question ends with a reading, or with a sentence if no reply can be used; what is
# cited stands in the text, and the cost is what the server counts, unless a reply that repeated
# itself was stopped.
@pytest.mark.parametrize("mode", MODES)
def test_modes(llama: Llama, corpus_of_model: Corpus, mode: str) -> None:
    before = llama.tokens
    try:
        reading = corpus_of_model.reader.ask(QUESTION, mode=MODES[mode].name)
    except ReplyError:
        return  # no reply of the last turn could be used
    prompts, replies = (now - then for now, then in zip(llama.tokens, before, strict=True))

    check_reading(reading)
    if not reading.usage.estimated:
        assert (reading.usage.input_tokens, reading.usage.output_tokens) == (prompts, replies)


# A reader of the whole text has citations of the same worth.
def test_full_text(corpus_of_model: Corpus) -> None:
    reader = corpus_of_model.reader
    try:
        reading = registry.ask("full-text", reader.resources, reader.corpus, QUESTION)
    except ReplyError:
        return  # both replies were none
    check_reading(reading)


class BriefPlanTask(PlanTask):
    """A plan for which there is no room."""

    reply_tokens = 6


# A reply that is cut at its limit is asked for once more, then it is an error.
def test_cut_reply(llama: Llama, neo4j: Settings, tmp_path: Path) -> None:
    async def decide() -> None:
        decider = open_decider(llama.settings(neo4j, tmp_path))
        try:
            await decider.decide(BriefPlanTask(QUESTION))
        finally:
            await decider.aclose()

    with pytest.raises(ReplyError) as caught:
        asyncio.run(decide())

    assert caught.value.spent.calls == 2


# A chunk whose prompt does not fit into the server's context is divided, or has an error.
def test_small_context(small_llama: Llama, neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    (tmp_path / "mill.txt").write_text(TEXT + "The mill stood still. " * 100, encoding="utf-8")
    settings = small_llama.settings(neo4j, tmp_path / "home", chunk_tokens=1000)
    with GraphReader(corpus, settings=settings) as reader:
        report = reader.ingest(tmp_path / "mill.txt")
        check_facts(report, settings)
        reader.delete(everything=True)


# Ctrl-C in the middle of a reply ends the request too: the slot is idle within two seconds.
def test_interrupt(
    llama: Llama, neo4j: Settings, forks: Forks, corpus: str, tmp_path: Path
) -> None:
    (tmp_path / "mill.txt").write_text(TEXT, encoding="utf-8")
    settings = llama.settings(neo4j, tmp_path / "home")
    environment = {
        **environment_of(neo4j),
        "GRAPHREADER_MODEL": "openai:smol",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": settings.openai_base_url or "",
        "GRAPHREADER_EMBEDDINGS": "offline",
        "GRAPHREADER_HOME": str(settings.home),
        "GRAPHREADER_TIMEOUT": "300",
        "GRAPHREADER_CONCURRENCY": "1",
    }
    command = ["ingest", str(tmp_path / "mill.txt"), "--corpus", corpus]
    fork = forks.start(command, environment, tmp_path / "fork")
    wait_for(lambda: llama.is_writing, 120)
    fork.signal(signal.SIGINT)

    assert fork.end().code == 130
    wait_for(lambda: not llama.slot["is_processing"], 2)
