"""The plug is pulled at any moment: SIGKILL, then the same command once more, to its end."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
CHUNKS = 60
FILES = 3
AT_ONCE = 4
IN_FLIGHT = 2 * AT_ONCE  # chunks that are asked for, or whose reply is just being kept
THINKING = 0.01  # seconds a reply takes


def think(body: Body) -> Any:
    time.sleep(THINKING)
    return mind.think(body)


@dataclass(frozen=True, slots=True)
class Moment:
    """When a process is killed: so many seconds after so many chunks were asked for."""

    asked: int
    later: float


class Killing:
    """Runs `graphreader ingest` on one folder, over and over, and kills it now and then."""

    def __init__(
        self, forks: Forks, neo4j: Settings, corpus: str, folder: Path, texts: Path
    ) -> None:
        self.server = OpenAIServer(think)
        self._forks = forks
        self.texts = texts
        self._neo4j = neo4j
        self._corpus = corpus
        self._folder = folder
        self._trial = 0

    def start(self) -> Fork:
        """The command, with the replies that were kept since `afresh`."""
        home = self._folder / str(self._trial)
        given = chronicle.settings(
            self._neo4j, self.server, home, concurrency=AT_ONCE, timeout=20.0
        )
        environment = {**environment_of(given), **chronicle.environment(given)}
        environment |= {"GRAPHREADER_CACHE": str(home), "GRAPHREADER_EMBEDDINGS": "offline"}
        environment |= {"GRAPHREADER_CHUNK_TOKENS": str(world.PARAGRAPH_TOKENS)}
        arguments = ["ingest", str(self.texts), "--corpus", self._corpus, "--json"]
        return self._forks.start(arguments, environment, home)

    def to_the_end(self) -> list[str]:
        """Run it undisturbed; what the graph is then."""
        outcome = self.start().end()
        assert outcome.code == 0, outcome.err
        return self.graph()

    def killed(self, moment: Moment) -> bool:
        """Run it and kill it at that moment; False where it had ended before."""
        before = len(self.server.requests)
        fork = self.start()
        while fork.runs and len(self.server.requests) - before < moment.asked:
            time.sleep(0.001)
        time.sleep(moment.later)
        return fork.kill()

    def kill_at(self, moment: Moment) -> None:
        """Begin afresh and kill it at that moment, or sooner where a run has ended by then."""
        for _ in range(10):
            self.afresh()
            if self.killed(moment):
                return
            moment = replace(moment, later=moment.later / 2)
        raise AssertionError("every run ended before it could be killed")

    def graph(self) -> list[str]:
        """All that the graph holds of the corpus."""
        return digest.content(self._neo4j, self._corpus)

    def afresh(self) -> None:
        """Forget the corpus and the kept replies."""
        self._trial += 1
        self.server.requests.clear()
        with GraphReader(self._corpus, settings=self._neo4j) as reader:
            reader.delete(everything=True)
        assert self.graph() == []

    def asked_twice(self) -> int:
        """How many extractions were asked for more than once since `afresh`."""
        times = Counter(mind.passage(request.body) for request in self.server.requests)
        return sum(number - 1 for number in times.values())

    def seconds_after_the_last(self) -> float:
        """How long a run goes on after its last chunk was asked for."""
        before = len(self.server.requests)
        fork = self.start()
        while fork.runs and len(self.server.requests) - before < CHUNKS:
            time.sleep(0.001)
        began = time.monotonic()
        assert fork.end().code == 0
        return time.monotonic() - began


@pytest.fixture
def killing(
    forks: Forks, neo4j: Settings, corpus: str, cleaned: None, tmp_path: Path
) -> Iterator[Killing]:
    sentences = [f"Anna{n} met Bert{n % 13} in Town{n % 11}." for n in range(CHUNKS)]
    texts = {f"book{file}": sentences[file::FILES] for file in range(FILES)}
    killing = Killing(forks, neo4j, corpus, tmp_path, world.write_files(tmp_path / "texts", texts))
    with killing.server:
        yield killing


def moments(number: int, chunks: int, tail: float) -> list[Moment]:
    """Random moments: two thirds between the chunks, the others in what is done behind the last."""
    dice = random.Random(SEED)
    between = number * 2 // 3
    return [
        *(
            Moment(dice.randint(0, chunks - 1), dice.uniform(0, 2 * THINKING))
            for _ in range(between)
        ),
        *(Moment(chunks, dice.uniform(0, tail)) for _ in range(number - between)),
    ]


# Killed at 20 random moments of reading 60 chunks and run once more, it ends with the graph of an
# undisturbed run, and no more is asked twice than was being asked at the kill.
def test_twenty_kills(killing: Killing) -> None:
    tail = killing.seconds_after_the_last()
    undisturbed = killing.graph()
    wrong = []
    for moment in moments(20, CHUNKS, tail):
        killing.kill_at(moment)
        graph = killing.to_the_end()
        asked_twice = killing.asked_twice()
        if graph != undisturbed or asked_twice > IN_FLIGHT:
            wrong.append((moment, asked_twice, sorted({*graph} ^ {*undisturbed})[:6]))

    assert wrong == []
    assert len(undisturbed) > 400
