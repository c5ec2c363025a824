"""Rules of the paper that no other test of a run stands for; the others are in test_exploration."""

from itertools import pairwise
from typing import Any, get_args

import pytest

from graphreader.agent import decisions
from graphreader.agent.decisions import InitialNodes, ProposedNode
from graphreader.agent.events import (
    ChunkRead,
    Event,
    FactsRead,
    FunctionChosen,
    NeighborsSeen,
    NoteTaken,
    QuestionAnswered,
)
from graphreader.agent.tasks import AnswerTask, ChunkTask, FactsTask, InitialNodesTask, NeighborTask
from graphreader.graph_reader import GraphReader
from graphreader.llm import protocols
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Task
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import world

PROMPTS = Prompts()


def watch(
    given: Settings, corpus: str, script: dict[Any, Any], **changes: Any
) -> tuple[list[Event], Reading]:
    decider = world.scripted(world.RING_FACTS, script)
    changed = world.settings(given, **changes)
    with GraphReader(corpus, settings=changed, decider=decider) as reader:
        events = list(reader.stream("Who met whom?"))
    last = events[-1]
    assert isinstance(last, QuestionAnswered)
    return events, last.reading


def system_of(task: Task[Any]) -> str:
    """The fixed part of a task's prompt, in one line."""
    return " ".join(PROMPTS.of(task).system.split())


# Each step has the paper's functions (figures 9, 10, 11), and but for turning pages no others.
@pytest.mark.parametrize(
    ("decision", "functions"),
    [
        (decisions.FactsDecision, {"read_chunk", "stop_and_read_neighbor"}),
        (
            decisions.ChunkDecision,
            {"search_more", "read_previous_chunk", "read_subsequent_chunk", "termination"},
        ),
        (decisions.NeighborDecision, {"read_neighbor_node", "termination"}),
    ],
)
def test_functions_of_the_steps(decision: type[protocols.Decision], functions: set[str]) -> None:
    named = set(get_args(decision.model_fields["function"].annotation))

    assert named - {"next_page"} == functions


# The fact step leans to reading (figure 9): several chunks at once, also for a fact that is only
# slightly relevant, and it stops only when sure.
def test_the_fact_step_leans_to_reading() -> None:
    system = system_of(FactsTask("q", "p", (), "", "n", ()))

    assert "You may name several" in system
    assert "Even if a fact is only slightly relevant, read its chunk" in system
    assert "Choose stop_and_read_neighbor only when you are quite sure" in system


# At least ten different nodes are to be proposed, scored from 0 to 100 (figure 8); who proposes
# fewer is asked once more, unless fewer are listed.
def test_ten_proposals() -> None:
    def lacks(listed: int, proposed: int) -> bool:
        task = InitialNodesTask("q", "p", tuple(f"n{n}" for n in range(listed)))
        nodes = [ProposedNode(number=n, score=50) for n in range(1, proposed + 1)]
        return task.shortcoming(InitialNodes(nodes=nodes)) is not None

    assert [lacks(30, 9), lacks(30, 10), lacks(4, 3), lacks(4, 4)] == [True, False, True, False]
    system = system_of(InitialNodesTask("q", "p", ("n",)))
    assert "at least 10 different nodes" in system
    assert "Score each from 0 to 100" in system
    assert "Be diverse" in system


# Paths set out from the nodes with the best scores, in whatever order these are named.
def test_the_best_scores_count(neo4j: Settings, ring: str) -> None:
    def worst_first(task: InitialNodesTask) -> InitialNodes:
        scores = {name: 10 * rank for rank, name in enumerate(world.RING_NAMES)}
        listed = sorted(task.nodes, key=lambda name: scores[name])
        return InitialNodes(
            nodes=[
                ProposedNode(number=task.nodes.index(name) + 1, score=scores[name])
                for name in listed
            ]
        )

    _, reading = watch(neo4j, ring, {InitialNodesTask: worst_first})

    assert [path.initial_node for path in reading.paths] == [*reversed(world.RING_NAMES[2:])]


# The answer joins the notebooks first; only where they contradict each other the majority decides.
def test_join_before_vote() -> None:
    system = system_of(AnswerTask("q", "p", (), ()))

    assert system.index("Join them: what one lacks, another may have") < system.index("majority")
    assert "Only where notebooks contradict each other on the same point, let the majority" in (
        system
    )


# The notebook is written at the facts and at the chunks, never at the neighbors (figure 11).
def test_the_neighbor_step_writes_nothing(neo4j: Settings, ring: str) -> None:
    def note(task: ChunkTask) -> Any:
        return world.chunk("search_more", f"{task.notebook} {task.label}.".strip())

    script = {ChunkTask: note, NeighborTask: lambda task: world.neighbor(1)}
    events, reading = watch(neo4j, ring, script, initial_nodes=1)
    at: list[str] = []
    for event in events:
        if isinstance(event, FactsRead | ChunkRead | NeighborsSeen):
            at.append(type(event).__name__)
        elif isinstance(event, NoteTaken):
            at.append("note")

    assert "notebook" not in decisions.NeighborDecision.model_fields
    assert at.count("NeighborsSeen") > 1
    assert at.count("note") > 1
    assert ("NeighborsSeen", "note") not in pairwise(at)
    assert reading.paths[0].notebook.count("ring, chunk") == at.count("ChunkRead")


# A call is one chosen function: reading a node's facts is none, and each decision is one.
def test_calls_are_functions(neo4j: Settings, ring: str) -> None:
    script = {NeighborTask: lambda task: world.neighbor(1)}
    events, reading = watch(neo4j, ring, script, initial_nodes=1)

    (path,) = reading.paths
    chosen = [event.call for event in events if isinstance(event, FunctionChosen)]
    assert tuple(chosen) == path.functions
    assert path.calls == len(path.functions) == 10
    assert path.usage.calls == 10


# A path that finds nothing costs two calls, one for the facts and one for the neighbors.
def test_a_dead_path(neo4j: Settings, ring: str) -> None:
    script = {FactsTask: lambda task: world.facts("stop_and_read_neighbor", [])}
    _, reading = watch(neo4j, ring, script)

    names = [[call.name for call in path.functions] for path in reading.paths]
    assert names == [["stop_and_read_neighbor", "termination"]] * 5


# The subsequent chunk goes to the front of the queue; what was chosen before waits behind it.
def test_subsequent_goes_to_the_front(neo4j: Settings, ring: str) -> None:
    read: list[str] = []

    def first_on(task: ChunkTask) -> Any:
        read.append(task.label)
        function = "read_subsequent_chunk" if task.label == "ring, chunk 0" else "search_more"
        return world.chunk(function)

    def first_and_last(task: FactsTask) -> Any:
        labels = {group.label: n for n, group in enumerate(task.groups, 1)}
        return world.facts("read_chunk", [labels["ring, chunk 0"], labels["ring, chunk 6"]])

    script = {
        InitialNodesTask: world.nodes("Alpha"),
        FactsTask: first_and_last,
        ChunkTask: first_on,
    }
    watch(neo4j, ring, script, initial_nodes=1)

    assert read == ["ring, chunk 0", "ring, chunk 1", "ring, chunk 6"]


# A chunk beside this one that was read before is not read again: that is said, the queue goes on.
def test_beside_what_was_read(neo4j: Settings, ring: str) -> None:
    script: dict[Any, Any] = {
        InitialNodesTask: world.nodes("Beta"),
        ChunkTask: lambda task: world.chunk(
            "read_previous_chunk" if task.label == "ring, chunk 1" else "search_more"
        ),
        FactsTask: lambda task: world.facts(
            "read_chunk",
            sorted(
                range(1, len(task.groups) + 1), key=lambda number: task.groups[number - 1].label
            ),
        ),
    }
    _, reading = watch(neo4j, ring, script, initial_nodes=1)

    calls = [(call.name, call.argument) for call in reading.paths[0].functions]
    assert calls == [
        ("read_chunk", "ring, chunk 0; ring, chunk 1"),
        ("search_more", ""),
        ("read_previous_chunk", "ring, chunk 0, already read"),
        ("termination", ""),
    ]


# A chunk that was read is not read again where it is named once more, among others.
def test_named_again(neo4j: Settings, ring: str) -> None:
    read: list[str] = []

    def every_chunk(task: FactsTask) -> Any:
        return world.facts("read_chunk", list(range(1, len(task.groups) + 1)))

    def to_beta(task: NeighborTask) -> Any:
        return world.neighbor(task.neighbors.index("Beta") + 1 if task.node == "Alpha" else 0)

    def note(task: ChunkTask) -> Any:
        read.append(task.label)
        return world.chunk("search_more")

    script = {
        InitialNodesTask: world.nodes("Alpha"),
        FactsTask: every_chunk,
        ChunkTask: note,
        NeighborTask: to_beta,
    }
    _, reading = watch(neo4j, ring, script, initial_nodes=1)

    assert sorted(read) == ["ring, chunk 0", "ring, chunk 1", "ring, chunk 6"]
    named = [call.argument for call in reading.paths[0].functions if call.name == "read_chunk"]
    assert named[1] == "ring, chunk 1"


# Termination ends a path at once, whatever still waits to be read.
def test_termination_at_a_chunk(neo4j: Settings, ring: str) -> None:
    script = {ChunkTask: lambda task: world.chunk("termination", "All is known.")}
    events, reading = watch(neo4j, ring, script)

    for path in reading.paths:
        assert [call.name for call in path.functions] == ["read_chunk", "termination"]
        assert (path.stopped, path.notebook) == ("termination", "All is known.")
    assert sum(isinstance(event, ChunkRead) for event in events) == 5


# Mode `paper` has five paths of ten calls, mode `fast` two of five; a setting goes before both.
@pytest.mark.parametrize(
    ("changes", "paths", "calls"),
    [
        ({}, 5, 10),
        ({"mode": "paper"}, 5, 10),
        ({"mode": "fast"}, 2, 5),
        ({"mode": "fast", "calls": 3}, 2, 3),
        ({"mode": "fast", "initial_nodes": 4}, 4, 5),
    ],
    ids=str,
)
def test_modes(neo4j: Settings, ring: str, changes: dict[str, Any], paths: int, calls: int) -> None:
    script = {NeighborTask: lambda task: world.neighbor(1)}
    _, reading = watch(neo4j, ring, script, **changes)

    assert [path.calls for path in reading.paths] == [calls] * paths
    assert {path.stopped for path in reading.paths} == {"call_limit"}
