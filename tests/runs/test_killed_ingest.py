"""SIGKILL at any moment of an ingest, then the same command once more, to its end."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, digest, mind, world
from tests.runs.forks import Fork, Forks
from tests.runs.openai_faults import Body
from tests.runs.openai_server import OpenAIServer
from tests.terminal import environment_of

SEED = 20_261_121
KILLS = 6
CHUNKS = 40
FILES = 3
AT_ONCE = 4
IN_FLIGHT = 2 * AT_ONCE  # chunks that are asked for, or whose reply is just being cached
THINKING = 0.01  # seconds a reply takes


def think(body: Body) -> Any:
    time.sleep(THINKING)
    return mind.think(body)


class Killing:
    """Runs `graphreader ingest` on one folder, over and over, and kills it now and then."""

    def __init__(
        self, forks: Forks, neo4j: Settings, corpus: str, folder: Path, texts: Path
    ) -> None:
        self.server = OpenAIServer(think)
        self._forks = forks
        self._texts = texts
        self._neo4j = neo4j
        self._corpus = corpus
        self._folder = folder
        self._trial = 0

    def start(self, asked: int) -> Fork:
        """The command with its cache, at the moment when it has asked for so many chunks."""
        home = self._folder / str(self._trial)
        values = chronicle.settings(
            self._neo4j, self.server, home, concurrency=AT_ONCE, timeout=20.0
        )
        environment = {**environment_of(values), **chronicle.environment(values)}
        environment |= {"GRAPHREADER_CACHE": str(home), "GRAPHREADER_EMBEDDINGS": "offline"}
        environment |= {"GRAPHREADER_CHUNK_TOKENS": str(world.PARAGRAPH_TOKENS)}
        arguments = ["ingest", str(self._texts), "--corpus", self._corpus, "--json"]
        before = len(self.server.requests)
        fork = self._forks.start(arguments, environment, home)
        while fork.runs and len(self.server.requests) - before < asked:
            time.sleep(0.001)
        return fork

    def run(self) -> tuple[list[str], float]:
        """Run it undisturbed; the graph afterwards, and the seconds after the last chunk."""
        fork = self.start(CHUNKS)
        began = time.monotonic()
        outcome = fork.end()
        assert outcome.code == 0, outcome.err
        return digest.content(self._neo4j, self._corpus), time.monotonic() - began

    def kill_at(self, asked: int, later: float) -> None:
        """Start anew and kill it so many seconds after so many chunks were asked for, or sooner."""
        for _ in range(10):
            self.reset()
            fork = self.start(asked)
            time.sleep(later)
            if fork.kill():
                return
            later /= 2
        raise AssertionError("every run ended before it could be killed")

    def reset(self) -> None:
        """Forget the corpus and the cached replies."""
        self._trial += 1
        self.server.requests.clear()
        with GraphReader(self._corpus, settings=self._neo4j) as reader:
            reader.delete(everything=True)
        assert digest.content(self._neo4j, self._corpus) == []

    def asked_twice(self) -> int:
        """How many extractions were asked for more than once since `reset`."""
        times = Counter(mind.passage(request.body) for request in self.server.requests)
        return sum(number - 1 for number in times.values())


@pytest.fixture
def killing(
    forks: Forks, neo4j: Settings, corpus: str, cleaned: None, tmp_path: Path
) -> Iterator[Killing]:
    sentences = [f"Anna{n} met Bert{n % 13} in Town{n % 11}." for n in range(CHUNKS)]
    texts = {f"book{file}": sentences[file::FILES] for file in range(FILES)}
    killing = Killing(forks, neo4j, corpus, tmp_path, world.write_files(tmp_path / "texts", texts))
    with killing.server:
        yield killing


# Killed at random moments, two thirds of them between the chunks, and run once more, an ingest ends
# with the graph of an undisturbed run, and no more is asked twice than was in flight at the kill.
def test_kills(killing: Killing) -> None:
    undisturbed, tail = killing.run()
    dice = random.Random(SEED)
    for number in range(KILLS):
        asked, later = CHUNKS, dice.uniform(0, tail)
        if number % 3:
            asked, later = dice.randint(0, CHUNKS - 1), dice.uniform(0, 2 * THINKING)
        killing.kill_at(asked, later)
        graph, _ = killing.run()

        assert graph == undisturbed, (asked, later, sorted({*graph} ^ {*undisturbed})[:6])
        assert killing.asked_twice() <= IN_FLIGHT
    assert len(undisturbed) > 300
