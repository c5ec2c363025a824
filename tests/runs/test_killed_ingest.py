"""SIGKILL at several moments of an ingest, then the same command once more, to its end."""

import random
import time
from collections import Counter
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

pytestmark = pytest.mark.slow

SEED = 20_261_121
CHUNKS = 24
FILES = 3
AT_ONCE = 4
IN_FLIGHT = 2 * AT_ONCE  # chunks that are asked for, or whose reply is just being cached
THINKING = 0.01  # seconds a reply takes


def think(body: Body) -> Any:
    time.sleep(THINKING)
    return mind.think(body)


class Killing:
    """Runs `graphreader ingest` on one folder, over and over, and kills it now and then."""

    def __init__(self, forks: Forks, neo4j: Settings, corpus: str, folder: Path) -> None:
        self.server = OpenAIServer(think)
        self.home = folder / "first"
        self._forks = forks
        self._neo4j = neo4j
        self._corpus = corpus
        sentences = [f"Anna{n} met Bert{n % 13} in Town{n % 11}." for n in range(CHUNKS)]
        books = {f"book{file}": sentences[file::FILES] for file in range(FILES)}
        self._texts = world.write_files(folder / "texts", books)

    def start(self, asked: int) -> Fork:
        """The command, at the moment when so many chunks were asked for since `reset`."""
        values = chronicle.settings(
            self._neo4j, self.server, self.home, concurrency=AT_ONCE, timeout=20.0
        )
        environment = {**environment_of(values), **chronicle.environment(values)}
        environment |= {"GRAPHREADER_CACHE": str(self.home), "GRAPHREADER_EMBEDDINGS": "offline"}
        environment |= {"GRAPHREADER_CHUNK_TOKENS": str(world.PARAGRAPH_TOKENS)}
        arguments = ["ingest", str(self._texts), "--corpus", self._corpus, "--json"]
        fork = self._forks.start(arguments, environment, self.home)
        requests = self.server.requests
        while fork.runs and (len(requests) < asked or len(self.asked()) < asked):
            time.sleep(0.005)
        return fork

    def run(self) -> list[str]:
        """Run it undisturbed; the graph afterwards."""
        outcome = self.start(0).end()
        assert outcome.code == 0, outcome.err
        return digest.content(self._neo4j, self._corpus)

    def reset(self) -> None:
        """Forget the corpus and the cached replies."""
        self.home = self.home.with_name("second")
        self.server.requests.clear()
        with GraphReader(self._corpus, settings=self._neo4j) as reader:
            reader.delete(everything=True)

    def asked(self) -> Counter[Any]:
        """How often each chunk was asked for since `reset`."""
        return Counter(mind.passage(request.body) for request in self.server.requests)


# Killed twice between the chunks and once after the last one, an ingest that is run once more ends
# with the graph of an undisturbed run, and no more is asked twice than was in flight at a kill.
@pytest.mark.usefixtures("cleaned")
def test_kills(forks: Forks, neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    dice = random.Random(SEED)
    killing = Killing(forks, neo4j, corpus, tmp_path)
    with killing.server:
        undisturbed = killing.run()
        killing.reset()
        for asked, pause in (
            (dice.randint(0, CHUNKS // 2), 2 * THINKING),
            (dice.randint(CHUNKS // 2, CHUNKS - 1), 2 * THINKING),
            (CHUNKS, 0.3),
        ):
            fork = killing.start(asked)
            time.sleep(dice.uniform(0, pause))
            assert fork.kill() or asked == CHUNKS
        graph = killing.run()

    assert graph == undisturbed, sorted({*graph} ^ {*undisturbed})[:6]
    assert len(undisturbed) > 200
    again = killing.asked().total() - CHUNKS
    assert again <= 3 * IN_FLIGHT
