"""Ctrl-C and `kill` in the middle of a command: a sentence, soon, and nothing is lost or broken."""

import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import world
from tests.runs.openai_server import Body, OpenAIServer
from tests.terminal import Outcome, SilentService, ended, environment_of, started, wait_for

PARAGRAPHS = 12
AT_ONCE = 3
BEFORE = 7  # chunks that are read before the model falls silent
SENTENCE = re.compile(r"Person\d+ lives in town\d+\.")


class SlowModel:
    """Extracts the sentences of a chunk until it is told to think for ever."""

    def __init__(self) -> None:
        self.quick = BEFORE
        self.thinks = threading.Event()
        self.never = threading.Event()
        self.read: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> Any:
        found = SENTENCE.findall(body["messages"][-1]["content"])
        with self._lock:
            self.quick -= 1
            slow = self.quick < 0 or not found
            if not slow:
                self.read += found
        if slow:
            self.thinks.set()
            self.never.wait()
        return {
            "facts": [
                {"fact": one, "key_elements": re.findall(r"Person\d+|town\d+", one)}
                for one in found
            ]
        }


@pytest.fixture
def model() -> Iterator[SlowModel]:
    model = SlowModel()
    yield model
    model.never.set()


@pytest.fixture
def server(model: SlowModel) -> Iterator[OpenAIServer]:
    with OpenAIServer(model) as server:
        yield server
        model.never.set()


@pytest.fixture
def environment(neo4j: Settings, server: OpenAIServer) -> dict[str, str]:
    return {
        **environment_of(neo4j),
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": server.url,
        "GRAPHREADER_MODEL": "openai:fake",
        "GRAPHREADER_EMBEDDINGS": "offline",
        "GRAPHREADER_CHUNK_TOKENS": str(world.PARAGRAPH_TOKENS),
        "GRAPHREADER_CONCURRENCY": str(AT_ONCE),
    }


@pytest.fixture
def text(tmp_path: Path) -> Path:
    sentences = [f"Person{n} lives in town{n}." for n in range(PARAGRAPHS)]
    return world.write_files(tmp_path, {"people": sentences}) / "people.txt"


@pytest.fixture(autouse=True)
def cleaned(neo4j: Settings, corpus: str) -> Iterator[None]:
    yield
    with GraphReader(corpus, settings=neo4j) as reader:
        if any(one.corpus == corpus for one in reader.corpora()):
            reader.delete(everything=True)


def interrupted(process: Any, number: int, model: SlowModel) -> Outcome:
    """Send the signal once the model thinks, and note how long the end takes."""
    wait_for(lambda: model.thinks.is_set() or process.poll() is not None)
    time.sleep(0.3)
    began = time.monotonic()
    process.send_signal(number)
    return ended(process, began)


# Reading stops within seconds, keeps every chunk whose reply came, and goes on from there.
def test_reading(
    environment: dict[str, str], model: SlowModel, text: Path, corpus: str, neo4j: Settings
) -> None:
    command = ["ingest", str(text), "--corpus", corpus, "--json"]
    outcome = interrupted(started(command, environment, text.parent), signal.SIGINT, model)
    first = sorted(model.read)
    with GraphReader(corpus, settings=neo4j) as reader:
        (half,) = reader.documents()
        reading = reader.ask(f"Where does {first[0].partition(' ')[0]} live?")
    model.read, model.quick = [], 10_000
    again = ended(started(command, environment, text.parent), time.monotonic())
    with GraphReader(corpus, settings=neo4j) as reader:
        (whole,) = reader.documents()
        counted = reader.stats()

    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err == "Stopped. The chunks read so far are kept: the same command continues.\n"
    assert outcome.seconds < 5
    assert (len(first), half.status, half.chunks) == (BEFORE, "incomplete", BEFORE)
    assert any("1 of 1 documents are not read completely" in note for note in reading.notes)
    assert again.code == 0
    assert again.json["documents"][0]["asked"] == PARAGRAPHS - BEFORE
    assert len({*first, *model.read}) == len(first) + len(model.read) == PARAGRAPHS
    assert (whole.status, counted.chunks, counted.facts) == ("complete", PARAGRAPHS, PARAGRAPHS)
    assert counted.key_elements == 2 * PARAGRAPHS


# `kill` ends a question within seconds as well; the graph is as it was.
def test_asking(
    environment: dict[str, str], model: SlowModel, text: Path, corpus: str, neo4j: Settings
) -> None:
    with GraphReader(corpus, settings=world.settings(neo4j)) as reader:
        reader.ingest(text)
        before = reader.stats()
    process = started(["ask", "Who lives in town3?", "--corpus", corpus], environment, text.parent)
    outcome = interrupted(process, signal.SIGTERM, model)
    with GraphReader(corpus, settings=neo4j) as reader:
        after = reader.stats()

    assert (outcome.code, outcome.out) == (143, "")
    assert re.fullmatch(r"Stopped. Go on with `graphreader runs resume \w+`.\n", outcome.err)
    assert outcome.seconds < 5
    assert after == before


# A Neo4j that does not answer does not hold up the end either.
def test_waiting_for_neo4j(
    environment: dict[str, str], text: Path, corpus: str, model: SlowModel
) -> None:
    with SilentService() as silent:
        environment["NEO4J_URI"] = f"bolt://127.0.0.1:{silent.port}"
        process = started(["list"], environment, text.parent)
        wait_for(lambda: silent.asked_at is not None)
        time.sleep(0.2)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        outcome = ended(process, began)

    assert (outcome.code, outcome.out, outcome.err) == (130, "", "Stopped.\n")
    assert outcome.seconds < 5
