"""Neo4j goes away in the middle of a question, for a moment or for seconds, and comes back."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from graphreader.agent.events import QuestionAnswered
from graphreader.agent.tasks import ChunkTask, FactsTask, InitialNodesTask, PlanTask
from graphreader.settings import Settings
from graphreader.waiting import Waiting
from tests.runs import world
from tests.runs.relay import Relay

pytestmark = pytest.mark.slow

SCRIPT: dict[Any, Any] = {
    InitialNodesTask: world.nodes("Alpha", "Epsilon"),
    ChunkTask: lambda task: world.chunk("search_more", f"{task.notebook} {task.label}."),
}


def ask(
    settings: Settings, corpus: str, step: type[Any], happens: Callable[[], None]
) -> tuple[float, list[tuple[float, str]]]:
    """Ask on two paths; when a decision of that class is first asked for, something happens.

    Returns the seconds from then on, and what was waited for, and when. Both paths went all their
    ways, and are in the answer.
    """
    usual = world.scripted(world.RING_FACTS, SCRIPT)._script[step]
    began: list[float] = []

    def decide(task: Any) -> Any:
        if not began:
            began.append(time.monotonic())
            happens()
        return usual(task)

    decider = world.scripted(world.RING_FACTS, {**SCRIPT, step: decide})
    waits: list[tuple[float, str]] = []
    with world.reader(settings, corpus, decider, initial_nodes=2) as reader:
        for event in reader.stream("Who met whom?"):
            if isinstance(event, Waiting):
                waits.append((time.monotonic() - began[0], event.text))
            elif isinstance(event, QuestionAnswered):
                reading = event.reading

    assert [path.error for path in reading.paths] == [None, None]
    assert [[call.name for call in path.functions] for path in reading.paths] == [
        ["read_chunk", "search_more", "search_more", "termination"]
    ] * 2
    assert reading.answered
    assert all(path.notebook.strip() in reading.answer for path in reading.paths)
    return time.monotonic() - began[0], waits


# Away for a moment, whatever a path is just doing: the run waits and goes on, nothing is lost.
@pytest.mark.parametrize("step", [PlanTask, FactsTask])
def test_a_moment(neo4j: Settings, ring: str, step: type[Any]) -> None:
    with Relay(neo4j) as relay:
        ask(relay.settings, ring, step, lambda: relay.cut_for(0.2))


# Gone at any word of what is said to it, also the last one, which closes a transaction that has
# given its rows: it is asked again.
@pytest.mark.parametrize("messages", [0, 2, 4, 5, 6, 7])
def test_at_any_word(neo4j: Settings, ring: str, messages: int) -> None:
    with Relay(neo4j) as relay:
        ask(relay.settings, ring, InitialNodesTask, lambda: relay.cut_after(messages, 0.1))


# Frozen in the middle of a run: that is said while it is, and then that it has ended.
def test_frozen(neo4j: Settings, ring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreader.store.connection.SLOW_SECONDS", 0.5)
    with Relay(neo4j) as relay:
        _, waits = ask(relay.settings, ring, ChunkTask, lambda: relay.stall_for(1.0))

    texts = [text for _, text in waits]
    assert texts[0] == "Waiting for Neo4j"
    assert set(texts) == {texts[0], ""}
    assert texts[-1] == ""


# Away for longer than the longest pause between two attempts: the run waits that long, and says so
# meanwhile.
def test_some_seconds(neo4j: Settings, ring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreader.store.connection._LONGEST_PAUSE", 0.5)
    with Relay(neo4j) as relay:
        seconds, waits = ask(relay.settings, ring, ChunkTask, lambda: relay.cut_for(1.7))

    assert waits[0][0] < 1.7 < seconds
    assert re.fullmatch(r"Neo4j does not answer; trying again for up to 4\d s", waits[0][1])
