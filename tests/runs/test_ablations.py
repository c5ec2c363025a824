"""The ablations of the agent: what is left out or random, and what stays."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document

from graphreader.agent.decisions import FactsDecision
from graphreader.agent.events import CandidatesFound, Event, NodesChosen, PlanMade, QuestionAnswered
from graphreader.agent.graph import NodeSet
from graphreader.agent.tasks import (
    AnswerTask,
    ChunkTask,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.evaluation.variants import WITHOUT_PLAN, without_node_selection
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import world

WITHOUT_NODE_SELECTION = without_node_selection(0)
QUESTION = "Who in the guild taught Person7?"
TAUGHT = [(f"Person{n}", f"Person{(n + 1) % 40}", f"Person{(n + 7) % 40}") for n in range(40)]
FACTS = {f"{a} of the guild taught {b} and {c}.": [a, b, c, "guild"] for a, b, c in TAUGHT}
NAMES = {name for names in FACTS.values() for name in names}

WANDERING: dict[Any, Any] = {
    FactsTask: lambda task: world.facts("stop_and_read_neighbor", []),
    NeighborTask: lambda task: world.neighbor(1),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A reading, what happened on the way, and what was decided."""

    reading: Reading
    events: list[Event]
    tasks: list[Any]

    def of(self, kind: type[Any]) -> list[Any]:
        return [one for one in (*self.events, *self.tasks) if isinstance(one, kind)]

    @property
    def nodes(self) -> list[str]:
        return [path.initial_node for path in self.reading.paths]

    @property
    def ways(self) -> list[list[str]]:
        """The nodes at which each path was, in their order."""
        return [
            [path.initial_node]
            + [call.argument for call in path.functions if call.name == "read_neighbor_node"]
            for path in self.reading.paths
        ]


class Guild:
    """A corpus of forty people who taught each other; all of them are of one guild."""

    def __init__(self, settings: Settings, corpus: str) -> None:
        self._settings, self._corpus = settings, corpus

    def reader(
        self, decider: ScriptedDecider, nodes: NodeSet | None, **changes: Any
    ) -> GraphReader:
        settings = self._settings.model_copy(update=changes)
        return GraphReader(self._corpus, settings=settings, decider=decider, nodes=nodes)

    def ask(
        self,
        nodes: NodeSet | None,
        script: dict[Any, Any] | None = None,
        question: str = QUESTION,
        **changes: Any,
    ) -> Asked:
        decider = world.scripted({}, WANDERING if script is None else script)
        with closing(self.reader(decider, nodes, **changes)) as reader:
            *events, last = reader.stream(question)
        assert isinstance(last, QuestionAnswered)
        return Asked(last.reading, events, decider.asked)


@pytest.fixture(scope="module")
def guild(neo4j: Settings) -> Iterator[Guild]:
    settings, corpus = world.settings(neo4j, kept_runs=0), f"test-{uuid4().hex[:12]}"
    guild = Guild(settings, corpus)
    decider = world.scripted(FACTS, {})
    with guild.reader(decider, None) as reader:
        text = "\n\n".join(map(world.padded, FACTS))
        reader.ingest(Document(page_content=text, id="guild"))
        yield guild
        reader.delete(everything=True)


# Without a plan no model is asked for one: each later step has the question in its place. The rest
# is unchanged: nodes are chosen among candidates, neighbors by the model.
def test_without_plan(guild: Guild) -> None:
    asked = guild.ask(WITHOUT_PLAN, {FactsTask: _read_one_chunk})

    assert not asked.of(PlanTask)
    assert asked.of(PlanMade) == [PlanMade(QUESTION)]
    later = [*asked.of(InitialNodesTask), *asked.of(FactsTask), *asked.of(ChunkTask)]
    assert {task.plan for task in (*later, *asked.of(AnswerTask))} == {QUESTION}
    assert asked.reading.plan == QUESTION
    assert "plan" not in asked.reading.phases
    assert asked.reading.usage.calls == len(asked.tasks)
    assert len(asked.of(CandidatesFound)) == len(asked.of(InitialNodesTask)) == 1
    assert asked.of(NeighborTask)
    assert len(asked.reading.paths) == 5


def _read_one_chunk(task: FactsTask) -> FactsDecision:
    unread = [n for n, group in enumerate(task.groups, 1) if not group.read][:1]
    return world.facts("read_chunk" if unread else "stop_and_read_neighbor", unread)


# Random nodes are nodes of the graph, as many as there are paths, none twice, and no model chose.
# Chunks are read as usual, and what a random path was shown is counted like any other's.
def test_random_nodes(guild: Guild) -> None:
    asked = guild.ask(WITHOUT_NODE_SELECTION, {FactsTask: _read_one_chunk}, initial_nodes=9)

    assert len(asked.nodes) == len(set(asked.nodes)) == 9
    assert set(asked.nodes) <= NAMES
    assert asked.of(NodesChosen) == [NodesChosen(tuple(asked.nodes))]
    assert {type(task) for task in asked.tasks} == {PlanTask, FactsTask, ChunkTask}
    assert "select" not in asked.reading.phases
    assert asked.reading.usage.calls == len(asked.tasks)
    assert len(asked.reading.documents_read) == 1
    assert asked.reading.tokens_read > 0


# With one seed a question takes the same way again; another question, or seed, takes another, as
# does an agent that chooses. Neighbors have the seed as well. A random neighbor shares a fact with
# its node, was not visited before, and counts as a call.
def test_random_neighbors(guild: Guild) -> None:
    few: Any = {"initial_nodes": 3, "calls": 6}
    first, again = (guild.ask(WITHOUT_NODE_SELECTION, **few) for _ in range(2))
    question = guild.ask(WITHOUT_NODE_SELECTION, question="Who was taught by Person31?", **few)
    seed, chosen = guild.ask(without_node_selection(1), **few), guild.ask(None, **few)
    neighbors = NodeSet(
        planning=WITHOUT_NODE_SELECTION.planning, exploration=without_node_selection(1).exploration
    )
    other_neighbors = guild.ask(neighbors, **few)

    assert first.ways == again.ways
    for other in (question, seed, chosen):
        assert set(other.nodes) != set(first.nodes)
        assert other.ways != first.ways
    assert other_neighbors.nodes == first.nodes
    assert other_neighbors.ways != first.ways
    facts = [set(names) for names in FACTS.values()]
    for path, way in zip(first.reading.paths, first.ways, strict=True):
        calls = Counter(call.name for call in path.functions)
        assert set(calls) == {"stop_and_read_neighbor", "read_neighbor_node"}
        assert path.calls == len(path.functions) == sum(calls.values())
        assert len(way) == len(set(way)) == 1 + calls["read_neighbor_node"]
        assert all(any(set(pair) <= names for names in facts) for pair in pairwise(way))


# A random path ends only when it has visited every neighbor of its node.
def test_nothing_left(guild: Guild) -> None:
    asked = guild.ask(WITHOUT_NODE_SELECTION, initial_nodes=1, calls=100)
    (path,) = asked.reading.paths
    (way,) = asked.ways

    beside = {name for names in FACTS.values() if way[-1] in names for name in names}
    assert path.stopped == "nothing_left"
    assert beside <= set(way)
    assert len(set(way)) == len(way) > 7
