"""Neo4j goes away in the middle of a question, for a moment or for ten seconds, and comes back."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.tasks import ChunkTask, FactsTask, InitialNodesTask, PlanTask
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.store.embedded import server as embedded
from tests.runs import world
from tests.runs.relay import Relay
from tests.servers import PROXY, command

SCRIPT: dict[Any, Any] = {
    InitialNodesTask: world.nodes("Alpha", "Epsilon"),
    ChunkTask: lambda task: world.chunk("search_more", f"{task.notebook} {task.label}."),
}


def read_in(given: Settings, corpus: str, folder: Path) -> None:
    with world.reader(given, corpus, world.scripted(world.RING_FACTS, {})) as reader:
        reader.ingest(world.write_files(folder / "texts", {"ring": world.RING}))


def ask(
    given: Settings, corpus: str, step: type[Any], happens: Callable[[], None]
) -> tuple[Reading, float]:
    """Ask on two paths; when a decision of that class is first asked for, something happens."""
    usual = world.scripted(world.RING_FACTS, SCRIPT)._script[step]
    told: list[float] = []

    def decide(task: Any) -> Any:
        if not told:
            told.append(time.monotonic())
            happens()
        return usual(task)

    decider = world.scripted(world.RING_FACTS, {**SCRIPT, step: decide})
    with world.reader(given, corpus, decider, initial_nodes=2) as reader:
        reading = reader.ask("Who met whom?")
    return reading, time.monotonic() - told[0]


def check(reading: Reading) -> None:
    """Both paths went all their ways, and are in the answer."""
    assert [path.error for path in reading.paths] == [None, None]
    assert [[call.name for call in path.functions] for path in reading.paths] == [
        ["read_chunk", "search_more", "search_more", "termination"]
    ] * 2
    assert reading.answered
    assert all(path.notebook in reading.answer for path in reading.paths)


# Away for a moment, whatever a path is just doing: the run waits and goes on, nothing is lost.
@pytest.mark.parametrize("step", [PlanTask, InitialNodesTask, FactsTask, ChunkTask])
def test_a_moment(
    neo4j: Settings, corpus: str, cleaned: None, tmp_path: Path, step: type[Any]
) -> None:
    read_in(neo4j, corpus, tmp_path)
    with Relay(neo4j) as relay:
        reading, _ = ask(relay.settings, corpus, step, lambda: relay.cut_for(0.5))

    check(reading)


# Gone at any word of what is said to it, also the last one, which closes a transaction that has
# given its rows: it is asked again.
@pytest.mark.parametrize("messages", range(8))
def test_at_any_word(
    neo4j: Settings, corpus: str, cleaned: None, tmp_path: Path, messages: int
) -> None:
    read_in(neo4j, corpus, tmp_path)
    with Relay(neo4j) as relay:
        reading, _ = ask(
            relay.settings, corpus, InitialNodesTask, lambda: relay.cut_after(messages, 0.1)
        )

    check(reading)


# Away for ten seconds: the run waits that long.
def test_ten_seconds(neo4j: Settings, corpus: str, cleaned: None, tmp_path: Path) -> None:
    read_in(neo4j, corpus, tmp_path)
    with Relay(neo4j) as relay:
        reading, seconds = ask(relay.settings, corpus, ChunkTask, lambda: relay.cut_for(10))

    check(reading)
    assert seconds > 10


USUAL_START = 8.0  # seconds that a server takes to start on a machine that does nothing else


# The embedded server killed, and started again at the same place by somebody else: the same. On a
# slow machine the run only sees the last seconds of the start.
def test_killed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    given = Settings.read(home=home, model="offline", embeddings="offline")
    began = time.monotonic()
    command(["neo4j", "start"], {"GRAPHREADER_HOME": str(home), **PROXY})
    first = embedded.ensure_running(given)
    took = time.monotonic() - began
    starting = threading.Thread(target=embedded.ensure_running, args=[given])

    def kill() -> None:
        os.kill(first.pid, signal.SIGKILL)
        starting.start()
        time.sleep(max(0.0, took - USUAL_START))

    try:
        read_in(given, "ring", tmp_path)
        reading, _ = ask(given, "ring", ChunkTask, kill)
        starting.join()
        again = embedded.ensure_running(given)
    finally:
        embedded.stop(given)

    check(reading)
    assert again.pid != first.pid
