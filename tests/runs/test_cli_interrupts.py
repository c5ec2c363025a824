"""Ctrl-C and `kill` in the middle of a command: a sentence, soon, and nothing is lost or broken."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import UnknownCorpusError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import world
from tests.runs.forks import Fork, Forks
from tests.runs.openai_server import Body, OpenAIServer
from tests.terminal import Outcome, SilentService, environment_of, wait_for

PARAGRAPHS = 8
AT_ONCE = 3
BEFORE = 4  # chunks that are read before the model falls silent
SENTENCE = re.compile(r"Person\d+ lives in town\d+\.")


class SlowModel:
    """Extracts the sentences of `quick` chunks, and then thinks for ever."""

    def __init__(self) -> None:
        self.quick = BEFORE
        self.thinks = threading.Event()
        self.never = threading.Event()
        self.read: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> Any:
        sentences = SENTENCE.findall(body["messages"][-1]["content"])
        with self._lock:
            self.quick -= 1
            slow = self.quick < 0 or not sentences
            self.read += [] if slow else sentences
        if slow:
            self.thinks.set()
            self.never.wait()
        facts = [(one, re.findall(r"Person\d+|town\d+", one)) for one in sentences]
        return {"facts": [{"fact": one, "key_elements": names} for one, names in facts]}


@pytest.fixture
def model() -> SlowModel:
    return SlowModel()


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


pytestmark = pytest.mark.usefixtures("cleaned")


def interrupted(fork: Fork, number: int, is_waiting: Callable[[], bool]) -> Outcome:
    """Send the signal once the command waits, and note how long the end takes."""
    wait_for(lambda: is_waiting() or not fork.runs)
    began = time.monotonic()
    os.kill(fork._process, number)
    return replace(fork.end(), seconds=time.monotonic() - began)


# Ctrl-C ends the reading within seconds and keeps every chunk that was written; the same command
# continues.
def test_reading(
    forks: Forks,
    environment: dict[str, str],
    model: SlowModel,
    text: Path,
    corpus: str,
    neo4j: Settings,
) -> None:
    command = ["ingest", str(text), "--corpus", corpus, "--json"]
    fork = forks.start(command, environment, text.parent / "first")
    with GraphReader(corpus, settings=neo4j) as reader:

        def waits() -> bool:
            with suppress(UnknownCorpusError):
                return model.thinks.is_set() and reader.stats().chunks == BEFORE
            return False

        outcome = interrupted(fork, signal.SIGINT, waits)
        first = sorted(model.read)
        (half,) = reader.documents()
        reading = reader.ask(f"Where does {first[0].partition(' ')[0]} live?")
    model.read, model.quick = [], 10_000
    again = forks.start(command, environment, text.parent / "second").end()
    with GraphReader(corpus, settings=neo4j) as reader:
        (whole,) = reader.documents()
        counted = reader.stats()

    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err == "Stopped. The chunks read so far are kept: the same command continues.\n"
    assert outcome.seconds < 10
    assert (len(first), half.status, half.chunks) == (BEFORE, "incomplete", BEFORE)
    assert any("1 of 1 documents are not read completely" in note for note in reading.notes)
    assert again.code == 0
    assert again.json["documents"][0]["asked"] == PARAGRAPHS - BEFORE
    assert len({*first, *model.read}) == len(first) + len(model.read) == PARAGRAPHS
    assert (whole.status, counted.chunks, counted.facts) == ("complete", PARAGRAPHS, PARAGRAPHS)
    assert counted.key_elements == 2 * PARAGRAPHS


# `kill` ends a question within seconds as well, and its run can be resumed.
def test_asking(
    forks: Forks, environment: dict[str, str], model: SlowModel, ring: str, tmp_path: Path
) -> None:
    model.quick = 0
    fork = forks.start(["ask", "Who met Alpha?", "--corpus", ring], environment, tmp_path)
    outcome = interrupted(fork, signal.SIGTERM, model.thinks.is_set)

    assert (outcome.code, outcome.out) == (143, "")
    assert re.fullmatch(r"Stopped. Go on with `graphreader runs resume \w+`.\n", outcome.err)
    assert outcome.seconds < 10


# A Neo4j that does not answer does not hold up the end either.
def test_waiting_for_neo4j(forks: Forks, environment: dict[str, str], tmp_path: Path) -> None:
    with SilentService() as silent:
        environment["NEO4J_URI"] = f"bolt://127.0.0.1:{silent.port}"
        fork = forks.start(["list"], environment, tmp_path)
        outcome = interrupted(fork, signal.SIGINT, lambda: silent.asked_at is not None)

    assert (outcome.code, outcome.out, outcome.err) == (130, "", "Stopped.\n")
    assert outcome.seconds < 10
