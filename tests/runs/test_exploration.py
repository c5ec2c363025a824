"""The rules of an exploring path, each on a small world."""

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.decisions import Answer, InitialNodes, ProposedNode
from graphreader.agent.exploration import Exploration
from graphreader.agent.tasks import (
    AnswerTask,
    ChunkTask,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.errors import DecisionError, GraphReaderError, ModelUnavailableError, ReplyError
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from graphreader.usage import Usage
from tests.runs import world

Ask = Callable[..., tuple[Reading, ScriptedDecider]]


@pytest.fixture
def ask(neo4j: Settings, corpus: str, tmp_path: Path) -> Ask:
    """Asks a ring of seven names, one sentence a chunk, with a script."""
    world.write_files(tmp_path, {"ring": world.RING})

    def run(script: dict[Any, Any], **changes: Any) -> tuple[Reading, ScriptedDecider]:
        decider = world.scripted(world.RING_FACTS, script)
        with world.reader(neo4j, corpus, decider, **changes) as reader:
            reader.ingest(tmp_path)
            try:
                return reader.ask("Who met whom?"), decider
            finally:
                reader.delete(everything=True)

    return run


def tasks(decider: ScriptedDecider, kind: type[Any]) -> list[Any]:
    return [task for task in decider.asked if isinstance(task, kind)]


# Five paths set out, from five different nodes, in the order of their scores.
def test_five_paths(ask: Ask) -> None:
    reading, _ = ask({InitialNodesTask: world.nodes("Eta", "Beta", "Zeta", "Alpha", "Delta")})

    assert [path.initial_node for path in reading.paths] == [
        "Eta", "Beta", "Zeta", "Alpha", "Delta",
    ]  # fmt: skip


# Numbers that were not shown are dropped, and too few nodes are filled up by rank.
def test_invented_nodes_are_dropped(ask: Ask) -> None:
    def invent(task: InitialNodesTask) -> InitialNodes:
        beta = task.nodes.index("Beta") + 1
        numbers = [99, beta, beta, 0, -1]
        return InitialNodes(nodes=[ProposedNode(number=n, score=90) for n in numbers])

    reading, _ = ask({InitialNodesTask: invent})

    names = [path.initial_node for path in reading.paths]
    assert names[0] == "Beta"
    assert len(set(names)) == 5
    assert set(names) <= set(world.RING_NAMES)


# A path that finds nothing at a node and its neighbors costs two calls.
def test_a_dead_path_costs_two_calls(ask: Ask) -> None:
    reading, _ = ask({FactsTask: lambda task: world.facts("stop_and_read_neighbor", [])})

    for path in reading.paths:
        assert [call.name for call in path.functions] == ["stop_and_read_neighbor", "termination"]
        assert (path.calls, path.stopped) == (2, "termination")


# A path that never ends by itself stops at its tenth call, with its notebook.
def test_the_tenth_call_is_the_last(ask: Ask) -> None:
    reading, _ = ask(
        {
            FactsTask: lambda task: world.facts("stop_and_read_neighbor", [], "something"),
            NeighborTask: lambda task: world.neighbor(1),
        }
    )

    for path in reading.paths:
        assert path.calls == len(path.functions) == 10
        assert (path.stopped, path.notebook) == ("call_limit", "something")


# The limit of calls is a setting.
def test_the_limit_is_a_setting(ask: Ask) -> None:
    reading, _ = ask({NeighborTask: lambda task: world.neighbor(1)}, calls=3, initial_nodes=2)

    assert [path.calls for path in reading.paths] == [3, 3]


# A path that has visited every node within reach stops, because nothing is left.
def test_nothing_is_left(ask: Ask) -> None:
    reading, decider = ask(
        {
            FactsTask: lambda task: world.facts("stop_and_read_neighbor", []),
            NeighborTask: lambda task: world.neighbor(1),
        },
        calls=100,
        initial_nodes=1,
    )

    (path,) = reading.paths
    assert path.stopped == "nothing_left"
    visited = [task.node for task in tasks(decider, FactsTask)]
    assert len(visited) == len(set(visited))


# Chunks are read in the order that the decision names them, and none of them twice.
def test_the_queue_keeps_its_order(ask: Ask) -> None:
    def backwards(task: FactsTask) -> Any:
        unread = [n for n, group in enumerate(task.groups, 1) if not group.read]
        if not unread:
            return world.facts("stop_and_read_neighbor", [])
        order = sorted(unread, key=lambda n: task.groups[n - 1].label, reverse=True)
        return world.facts("read_chunk", [order[0], *order])

    reading, decider = ask(
        {
            InitialNodesTask: world.nodes("Gamma"),
            FactsTask: backwards,
            NeighborTask: lambda task: world.neighbor(1),
        },
        initial_nodes=1,
    )

    labels = [task.label for task in tasks(decider, ChunkTask)]
    assert labels[:2] == ["ring, chunk 2", "ring, chunk 1"]
    assert len(labels) == len(set(labels))
    assert reading.paths[0].functions[0].argument == "ring, chunk 2; ring, chunk 1"


# The previous chunk goes to the front of the queue, the rest waits behind it.
def test_previous_goes_to_the_front(ask: Ask) -> None:
    def last_first(task: FactsTask) -> Any:
        order = sorted(range(len(task.groups)), key=lambda n: task.groups[n].label, reverse=True)
        return world.facts("read_chunk", [n + 1 for n in order])

    _, decider = ask(
        {
            InitialNodesTask: world.nodes("Delta"),
            FactsTask: last_first,
            ChunkTask: lambda task: (
                world.chunk("read_previous_chunk")
                if task.label == "ring, chunk 3"
                else world.chunk("search_more")
            ),
        },
        initial_nodes=1,
    )

    assert [task.label for task in tasks(decider, ChunkTask)] == ["ring, chunk 3", "ring, chunk 2"]
    assert tasks(decider, ChunkTask)[0].queued == ("ring, chunk 2",)


# Subsequent chunks are read to the document's end, which is said, and never beyond it.
def test_subsequent_ends_with_the_document(ask: Ask) -> None:
    reading, decider = ask(
        {
            InitialNodesTask: world.nodes("Zeta"),
            FactsTask: lambda task: world.facts("read_chunk", [1]),
            ChunkTask: lambda task: world.chunk("read_subsequent_chunk"),
        },
        initial_nodes=1,
    )

    labels = [task.label for task in tasks(decider, ChunkTask)]
    assert labels[-1] == "ring, chunk 6"
    assert tasks(decider, ChunkTask)[-1].has_subsequent is False
    calls = [call for call in reading.paths[0].functions if call.name == "read_subsequent_chunk"]
    assert calls[-1].argument == "there is none"
    assert reading.paths[0].functions[-1].name == "termination"


# Before the first chunk there is none either.
def test_previous_ends_with_the_document(ask: Ask) -> None:
    reading, decider = ask(
        {
            InitialNodesTask: world.nodes("Beta"),
            FactsTask: lambda task: world.facts("read_chunk", [1, 2]),
            ChunkTask: lambda task: world.chunk("read_previous_chunk"),
        },
        initial_nodes=1,
    )

    first = next(task for task in tasks(decider, ChunkTask) if task.label == "ring, chunk 0")
    assert first.has_previous is False
    arguments = [call.argument for call in reading.paths[0].functions]
    assert "there is none" in arguments
    assert reading.paths[0].stopped == "termination"


# The neighbors are those of the node where the path stands, without the visited ones.
def test_neighbors_are_the_nodes_own(ask: Ask) -> None:
    _, decider = ask(
        {
            InitialNodesTask: world.nodes("Alpha"),
            FactsTask: lambda task: world.facts("stop_and_read_neighbor", []),
            NeighborTask: lambda task: world.neighbor(
                task.neighbors.index("Beta") + 1 if "Beta" in task.neighbors else 0
            ),
        },
        initial_nodes=1,
    )

    first, second = tasks(decider, NeighborTask)
    assert set(first.neighbors) == {"Beta", "Eta"}
    assert set(second.neighbors) == {"Gamma"}


# Previous actions are shown to every later decision.
def test_previous_actions_are_shown(ask: Ask) -> None:
    _, decider = ask({InitialNodesTask: world.nodes("Alpha")}, initial_nodes=1)

    (last,) = tasks(decider, NeighborTask)
    first, *others = last.actions
    assert re.fullmatch(r"at Alpha: read_chunk\(ring, chunk \d; ring, chunk \d\)", first)
    assert all(re.fullmatch(r"at ring, chunk \d: search_more\(\)", one) for one in others)
    assert len(others) == 2


# The notebook goes from step to step; the neighbor step leaves it as it is; paths share nothing.
def test_each_path_has_its_notebook(ask: Ask) -> None:
    def note(task: ChunkTask) -> Any:
        return world.chunk("search_more", f"{task.notebook}|{task.label}")

    reading, decider = ask({ChunkTask: note})

    for path in reading.paths:
        asked = [task for task in tasks(decider, NeighborTask) if task.node == path.initial_node]
        assert path.notebook == asked[0].notebook
        assert path.notebook.count("|") == 2


# A path that fails ends with its notebook and its reason; the others and the answer go on.
def test_a_failure_stays_in_its_path(ask: Ask) -> None:
    def fail_at_gamma(task: ChunkTask) -> Any:
        if task.node == "Gamma":
            raise ModelUnavailableError("The model went away.")
        return world.chunk("search_more", "found")

    reading, _ = ask(
        {
            InitialNodesTask: world.nodes("Alpha", "Beta", "Gamma", "Delta", "Epsilon"),
            ChunkTask: fail_at_gamma,
        }
    )

    stopped = [path.stopped for path in reading.paths]
    assert stopped == ["termination", "termination", "error", "termination", "termination"]
    assert reading.paths[2].error == "The model went away."
    assert reading.answered
    assert "Path 3 stopped early: The model went away." in reading.notes


# A reply that cannot be used at the plan or at the initial nodes does not end the run.
def test_planning_has_defaults(ask: Ask) -> None:
    def useless(task: Any) -> Any:
        error = ReplyError("The model does not make sense.")
        error.spent = Usage(2, 100, 10)
        raise error

    def note(task: ChunkTask) -> Any:
        return world.chunk("termination", "found")

    reading, _ = ask({PlanTask: useless, InitialNodesTask: useless, ChunkTask: note})

    assert reading.answered
    assert reading.plan == reading.question
    assert len(reading.paths) == 5
    assert sum("does not make sense" in one for one in reading.notes) == 2
    assert (reading.usage.input_tokens, reading.usage.output_tokens) == (200, 20)


# A reply that cannot be used at the answer gives the notebooks, unanswered.
def test_answering_has_a_default(ask: Ask) -> None:
    def useless(task: AnswerTask) -> Any:
        raise ReplyError("The notebooks do not fit.")

    def note(task: ChunkTask) -> Any:
        return world.chunk("termination", f"found at {task.node}")

    reading, _ = ask({AnswerTask: useless, ChunkTask: note})

    assert (reading.answered, reading.citations) == (False, ())
    assert "found at Alpha" in reading.answer
    assert "do not fit" in reading.analysis


# What a failing path paid for is counted.
def test_failures_are_counted(ask: Ask) -> None:
    def fail_at_gamma(task: ChunkTask) -> Any:
        if task.node == "Gamma":
            error = ModelUnavailableError("The model went away.")
            error.spent = Usage(1, 5000, 7)
            raise error
        return world.chunk("termination", "found")

    reading, _ = ask(
        {InitialNodesTask: world.nodes("Alpha", "Gamma"), ChunkTask: fail_at_gamma},
        initial_nodes=2,
    )

    assert (reading.usage.input_tokens, reading.usage.output_tokens) == (5000, 7)


# A number that stands only in what was left out cannot be chosen.
def test_only_what_was_shown_is_chosen(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    class Shortened(ScriptedDecider):
        async def decide(self, task: Any, budget: Any = None, heard: Any = None) -> Any:
            decided = await super().decide(task, budget, heard)
            if isinstance(task, InitialNodesTask | FactsTask):
                return replace(decided, task=task.keeping(1))
            return decided

    world.write_files(tmp_path, {"ring": world.RING})
    ways = world.scripted(world.RING_FACTS, {})._script
    decider = Shortened(ways)
    with world.reader(neo4j, corpus, decider, initial_nodes=2) as reader:
        reader.ingest(tmp_path)
        reading = reader.ask("Who met whom?")
        reader.delete(everything=True)

    chosen = [call.argument for path in reading.paths for call in path.functions]
    assert all(";" not in argument for argument in chosen)
    first = tasks(decider, InitialNodesTask)[0]
    assert [path.initial_node for path in reading.paths] == list(first.nodes[:2])


# A step never changes the state that it is given.
def test_steps_leave_their_state_alone(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    changed: list[str] = []
    for name in ("explore_atomic_facts", "explore_chunks", "explore_neighbors", "end_path"):
        step = getattr(Exploration, name)

        async def watched(
            self: Exploration, state: Any, runtime: Any, step: Any = step, name: str = name
        ) -> Any:
            before = deepcopy(state)
            update = await step(self, state, runtime)
            changed.extend([name] if state != before else [])
            return update

        monkeypatch.setattr(Exploration, name, watched)
    reading, _ = ask({NeighborTask: lambda task: world.neighbor(1)})

    assert reading.paths
    assert changed == []


# Where every path fails, the run fails, with the reason.
def test_all_paths_fail(ask: Ask) -> None:
    def fail(task: FactsTask) -> Any:
        raise ModelUnavailableError("The model went away.")

    with pytest.raises(DecisionError, match=r"Every path failed.*The model went away"):
        ask({FactsTask: fail})


# What one notebook knows of Danny and another of Alice is joined before anybody votes.
def test_notebooks_are_joined(ask: Ask) -> None:
    known = {"Alpha": "Danny played 1972-1990.", "Beta": "Alice played for 15 years."}

    def note(task: ChunkTask) -> Any:
        return world.chunk("search_more", known.get(task.node, ""))

    def join(task: AnswerTask) -> Answer:
        both = all(text in " ".join(task.notebooks) for text in known.values())
        return Answer(
            analysis="1990-1972=18 years against 15",
            answer="Danny" if both else "unknown",
            answered=both,
        )

    begin = world.nodes("Alpha", "Beta")
    reading, _ = ask({InitialNodesTask: begin, ChunkTask: note, AnswerTask: join})

    assert (reading.answer, reading.answered) == ("Danny", True)


# Where no path found anything, nobody is asked, and the answer says so.
def test_nothing_was_found(ask: Ask) -> None:
    reading, decider = ask({})

    assert tasks(decider, AnswerTask) == []
    assert (reading.answer, reading.answered) == ("The texts do not tell.", False)


# A quote that does not stand in the chunk is dropped; one that does is cited to the letter.
def test_quotes_are_checked(ask: Ask) -> None:
    def quote(task: ChunkTask) -> Any:
        words = task.text.split("here.")[0] + "here."
        made_up = ["This was never said by anybody.", "", "..."]
        return world.chunk("termination", "found", [*made_up, words.replace(" ", "\n  ")])

    reading, _ = ask({ChunkTask: quote})

    assert reading.citations
    text = "\n\n".join(world.padded(sentence) for sentence in world.RING) + "\n"
    for one in reading.citations:
        assert one.quote == text[one.start : one.end]
        assert one.quote in world.RING
        assert world.RING[one.chunk] == one.quote


# A citation of a quote that was not shown is dropped, and there is none without an answer.
@pytest.mark.parametrize("answered", [True, False])
def test_citations_are_checked(ask: Ask, answered: bool) -> None:
    def cite(task: AnswerTask) -> Answer:
        return world.answer("x", 99, 0, 1, 1, -3, answered=answered)

    def quote(task: ChunkTask) -> Any:
        return world.chunk("termination", "found", [task.text.split(" here.")[0]])

    reading, _ = ask({AnswerTask: cite, ChunkTask: quote})

    assert len(reading.citations) == len(reading.claims) == (1 if answered else 0)


# Asking leaves documents, chunks, facts and key elements exactly as they were.
def test_asking_changes_nothing(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    world.write_files(tmp_path, {"ring": world.RING})
    with world.reader(neo4j, corpus, world.scripted(world.RING_FACTS, {})) as reader:
        reader.ingest(tmp_path)
        before = reader.stats(), reader.documents()
        reader.ask("Who met whom?")

        assert (reader.stats(), reader.documents()) == before
        reader.delete(everything=True)


# Equal sentences of two corpora never meet.
def test_corpora_never_meet(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    world.write_files(tmp_path / "one", {"ring": world.RING})
    world.write_files(tmp_path / "two", {"secret": [f"{world.RING[0]} Secretly."]})
    decider = world.scripted(world.RING_FACTS, {})
    with (
        world.reader(neo4j, corpus, decider) as one,
        world.reader(neo4j, f"{corpus}-2", world.scripted(world.RING_FACTS, {})) as two,
    ):
        one.ingest(tmp_path / "one")
        two.ingest(tmp_path / "two")
        one.ask("Who met whom?")
        shown = {group.label for task in tasks(decider, FactsTask) for group in task.groups}
        one.delete(everything=True)

        assert all(label.startswith("ring") for label in shown)
        assert two.stats().facts == 1
        two.delete(everything=True)


# An empty question and an empty corpus name are refused in words.
def test_empty_questions_are_refused(neo4j: Settings, corpus: str) -> None:
    with (
        world.reader(neo4j, corpus, world.scripted({}, {})) as reader,
        pytest.raises(GraphReaderError, match="question is empty"),
    ):
        reader.ask("  \n ")


# A mode that does not exist is refused in words.
def test_unknown_modes_are_refused(neo4j: Settings, corpus: str) -> None:
    with (
        world.reader(neo4j, corpus, world.scripted({}, {})) as reader,
        pytest.raises(GraphReaderError, match="no mode 'quick': choose paper or fast"),
    ):
        reader.ask("Who?", mode="quick")  # type: ignore[arg-type]  # as a program without types
