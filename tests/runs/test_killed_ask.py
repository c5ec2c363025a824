"""The plug is pulled while a question is explored, at each kind of step; then the run goes on."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from graphreader.agent.run_store import RunStore, RunSummary
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.forks import Fork, Forks
from tests.runs.openai_faults import Body
from tests.runs.openai_server import OpenAIServer
from tests.terminal import environment_of

pytestmark = pytest.mark.slow

CHUNKS = 8
PATHS = 3
QUESTION = f"{chronicle.question(3)[:-1]}, and what did the journey back take?"
STEPS = ("RationalPlan", "ChunkDecision", "Answer")


class Asking:
    """`graphreader ask` in processes of their own, with a model that stops at one kind of step."""

    def __init__(self, forks: Forks, neo4j: Settings, corpus: str, folder: Path) -> None:
        self.server = OpenAIServer(self._think)
        self.reached, self.over = threading.Event(), threading.Event()
        self._stop_at = ""
        self._forks, self._neo4j, self._corpus, self._folder = forks, neo4j, corpus, folder

    def start(self, *arguments: str, home: str, stop_at: str = "") -> Fork:
        """The command; it hears no reply to decisions of the class `stop_at`."""
        self._stop_at = stop_at
        self.reached.clear()
        self.over.clear()
        given = chronicle.settings(
            self._neo4j, self.server, self._folder / home, concurrency=PATHS, timeout=60.0
        )
        environment = {**environment_of(given), **chronicle.environment(given)}
        environment |= {"GRAPHREADER_INITIAL_NODES": str(PATHS)}
        command = [*arguments, "--corpus", self._corpus] if "ask" in arguments else [*arguments]
        return self._forks.start([*command, "--json"], environment, self._folder / "outputs")

    async def run(self, home: str) -> RunSummary:
        """The run that is kept in this home."""
        store = RunStore(self._folder / home / "runs.sqlite")
        try:
            (run,) = await store.summaries()
        finally:
            await store.aclose()
        return run

    def prompts(self) -> Counter[str]:
        """How often each prompt was sent since the last look."""
        asked = [r.body for r in self.server.requests if "messages" in r.body]
        self.server.requests.clear()
        return Counter(json.dumps(body["messages"]) for body in asked)

    def _think(self, body: Body) -> Any:
        if mind.decision_of(body) == self._stop_at:
            self.reached.set()
            self.over.wait(30)
        return mind.think(body)


@pytest.fixture(scope="module")
def asking(
    forks: Forks, neo4j: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asking]:
    corpus, folder = f"test-{uuid4().hex[:12]}", tmp_path_factory.mktemp("killed")
    asking = Asking(forks, neo4j, corpus, folder)
    with asking.server:
        given = chronicle.settings(neo4j, asking.server, folder / "reading")
        with GraphReader(corpus, settings=given) as reader:
            reader.ingest(chronicle.write(folder / "texts", CHUNKS))
            asking.prompts()
            yield asking
            reader.delete(everything=True)


def printed(fork: Fork) -> dict[str, Any]:
    """The reading that the command printed."""
    outcome = fork.end()
    assert outcome.code == 0, outcome.err
    return dict(outcome.json)


def way(reading: dict[str, Any]) -> Any:
    """What the paths did and noted, and the answer."""
    paths = [(p["initial_node"], p["notebook"], p["functions"]) for p in reading["paths"]]
    return paths, reading["answer"], reading["claims"], reading["citations"]


@pytest.fixture(scope="module")
def undisturbed(asking: Asking) -> dict[str, Any]:
    """The reading of a run that nobody kills."""
    reading = printed(asking.start("ask", QUESTION, home="undisturbed"))
    asking.prompts()
    return reading


# Killed while a decision of any kind is asked for, a run that goes on sends again only what had no
# reply then, and comes to where it would have come.
@pytest.mark.parametrize("step", STEPS)
def test_killed(asking: Asking, undisturbed: dict[str, Any], step: str) -> None:
    fork = asking.start("ask", QUESTION, home=step, stop_at=step)
    assert asking.reached.wait(30)
    killed = fork.kill()
    asking.over.set()
    before = asking.prompts()
    run = asyncio.run(asking.run(step))
    resumed = printed(asking.start("runs", "resume", run.run, home=step))
    twice = before & asking.prompts()

    assert killed
    assert run.status == "interrupted"
    assert way(resumed) == way(undisturbed)
    assert 1 <= sum(twice.values()) <= PATHS
    assert resumed["usage"]["calls"] == undisturbed["usage"]["calls"]
