"""What a run writes into the log: what its operator needs at INFO, texts only at DEBUG."""

import logging
from pathlib import Path

import pytest

from graphreader.errors import GraphReaderError
from graphreader.graph_reader import GraphReader
from graphreader.llm import retry
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import chronicle, mind, world
from tests.runs.openai_faults import Body
from tests.runs.openai_server import Fault, OpenAIServer

QUESTION = chronicle.question(1)
MARKERS = ("Anna1", "Bert7", "Town1", "chronicle of", "book about horses", "Find the sentence")
"""Words of the question, of texts and a title, of the plan."""


def spoiled(body: Body, before: int) -> Fault | None:
    """One chunk gets no good reply, another one at first a failure that repeats what was asked."""
    asked = str(body["messages"][1]["content"])
    if "Anna2 " in asked and mind.decision_of(body) == "Extraction":
        return Fault(content='{"facts": "Anna2 met Bert14"}')
    if "Anna1 " in asked and mind.decision_of(body) == "Extraction" and before < 2:
        return Fault(503, f"Sorry: {asked[-150:]}")
    return None


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """All that is logged."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "graphreader")
    return caplog


def lines(log: pytest.LogCaptureFixture, least: int, ours: bool = True) -> str:
    """The log from a level on, as a handler of somebody's own would write it."""
    records = [one for one in log.records if one.name.startswith("graphreader.") or not ours]
    return "\n".join(
        f"{one.levelname} {one.name}: {one.getMessage()} {one.exc_info or ''}"
        for one in records
        if one.levelno >= least
    )


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = chronicle.write(tmp_path / "texts", 4)
    (folder / "book0.txt").rename(folder / "chronicle of Anna1.txt")
    (folder / "broken.pdf").write_bytes(b"%PDF- Town1")
    return folder


def read_and_ask(settings: Settings, corpus: str, texts: Path) -> Reading:
    with GraphReader(corpus, settings=settings) as reader:
        reader.ingest(texts)
        reading = reader.ask(QUESTION)
        reader.ask(QUESTION)
        reader.delete(everything=True)
    return reading


# From INFO on there is no word of a text, a title, a question, a plan or a reply, also where things
# go wrong and a service repeats what it was asked; at DEBUG there is, and each statement with its
# time, each request, what is tried again, what a service takes. Secrets are never there.
@pytest.mark.usefixtures("cleaned", "short_pauses")
def test_texts_only_at_debug(
    neo4j: Settings, corpus: str, texts: Path, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    with OpenAIServer(mind.think, script=spoiled, refuses=["response_format"]) as server:
        settings = chronicle.settings(neo4j, server, tmp_path / "home", keep_replies="all")
        read_and_ask(settings, corpus, texts)
        asked = len(server.requests)
    info, everything = lines(log, logging.INFO), lines(log, logging.DEBUG)
    assert neo4j.neo4j_password
    secrets = chronicle.KEY, neo4j.neo4j_password.get_secret_value()

    assert [one for one in MARKERS if one in info] == []
    assert [one for one in MARKERS if one not in everything] == []
    assert [one for one in secrets if one in lines(log, logging.DEBUG, ours=False)] == []
    assert "graphreader.store: read/atomic_facts: 1 rows in " in everything
    assert everything.count("fake: request for ") + everything.count("fake: retry in ") == asked
    assert "openai:fake: next form tool, streaming True, rejected options: " in everything
    assert "openai:fake: retry in 0.0 s after broken (503: Sorry" in everything
    assert "openai:fake: a kept reply serves for answer_reasoning" in everything
    assert "FunctionChosen(path=1, node='Anna1', call=FunctionCall(name='read_chunk'" in everything


# Who operates it learns where it is connected, what became of each document, of the normal form,
# and of each run and its paths; and of what went wrong, each once.
@pytest.mark.usefixtures("cleaned", "short_pauses")
def test_what_is_told(
    neo4j: Settings, corpus: str, texts: Path, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    with OpenAIServer(mind.think, script=spoiled) as server:
        settings = chronicle.settings(neo4j, server, tmp_path / "home")
        reading = read_and_ask(settings, corpus, texts)
    told = lines(log, logging.INFO).splitlines()

    def count(*words: str) -> int:
        return sum(all(word in line for word in words) for line in told)

    assert count("INFO graphreader.store: Connected to Neo4j") == 1
    assert count("INFO graphreader.ingestion: Document", "begins: 4 of its 4 chunks") == 1
    assert count("WARNING graphreader.ingestion: Document", "is incomplete: 4 chunks") == 1
    assert count("WARNING graphreader.ingestion: Document", "is refused") == 1
    assert count("WARNING graphreader.ingestion: Chunk 2", "UnusableReply") == 1
    assert count("WARNING graphreader.llm", "unusable reply to extraction: misfit") == 2
    assert count("INFO graphreader.ingestion: Reading into", "1 refused, 1 incomplete") == 1
    assert count("is normalized") == 1
    assert count(f"INFO graphreader.agent: Run {reading.run} begins in corpus '{corpus}'") == 1
    assert count(f"Run {reading.run}: path", "ended by") == len(reading.paths)
    assert count(f"Run {reading.run} is answered", f"{reading.usage.calls} calls") == 1
    assert count("1 documents of corpus") == 1
    assert count("WARNING") == 5


# A run that fails, and a path that does, are warnings without the words that they failed with.
@pytest.mark.usefixtures("short_pauses")
def test_failures(
    neo4j: Settings,
    ring: str,
    tmp_path: Path,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retry, "FIRST_TRIES", 2)
    gone = Fault(503, "Alpha met nobody")
    with OpenAIServer(mind.think, always=gone) as server:
        settings = chronicle.settings(neo4j, server, tmp_path / "home", embeddings="offline")
        with (
            GraphReader(ring, settings=settings) as reader,
            pytest.raises(GraphReaderError),
        ):
            reader.ask("Whom did Alpha meet?")
    told = lines(log, logging.WARNING)

    assert "openai:fake: the request failed (broken, 503)" in told
    assert "failed: ModelUnavailableError" in told
    assert "Alpha" not in told
    assert "Alpha met nobody" in lines(log, logging.DEBUG)


# The steps of a reader's graph are written down as well, wherever it is run.
async def test_the_graph_of_a_reader(
    neo4j: Settings, ring: str, log: pytest.LogCaptureFixture
) -> None:
    decider = world.scripted(world.RING_FACTS, {})
    with world.reader(neo4j, ring, decider) as reader:
        known = await reader.as_graph().ainvoke({"question": "Whom did Alpha meet?"})
    ended = [one.getMessage() for one in log.records if " ended by " in one.getMessage()]

    assert len(ended) == len(known["paths"]) > 1
    assert len({one.split(":")[0] for one in ended}) == 1
    assert not ended[0].startswith("Run -")
