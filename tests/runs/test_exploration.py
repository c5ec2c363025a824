"""The rules of an exploring path, the paper's and ours, on a ring of seven names."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent import decisions
from graphreader.agent.context import Limits
from graphreader.agent.decisions import InitialNodes, ProposedNode, RationalPlan
from graphreader.agent.events import (
    ChunkRead,
    Event,
    FactsRead,
    FunctionChosen,
    NeighborsSeen,
    NoteTaken,
    QuestionAnswered,
)
from graphreader.agent.exploration import Exploration
from graphreader.agent.modes import MODES
from graphreader.agent.tasks import (
    AnswerTask,
    ChunkTask,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.errors import ReplyError
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from graphreader.usage import Usage
from tests.runs import world


class Asked:
    """One question with a script: its events, its reading, and the tasks of the decider."""

    def __init__(self, given: Settings, corpus: str, decider: ScriptedDecider, changes: Any):
        settings = world.settings(given, **changes)
        with GraphReader(corpus, settings=settings, decider=decider) as reader:
            self.events: list[Event] = list(reader.stream("Who met whom?"))
        last = self.events[-1]
        assert isinstance(last, QuestionAnswered)
        self.reading: Reading = last.reading
        self._tasks = decider.asked

    def tasks(self, kind: type[Any]) -> list[Any]:
        return [task for task in self._tasks if isinstance(task, kind)]

    @property
    def chunks(self) -> list[str]:
        """The labels of the chunks that were read, in order."""
        return [task.label for task in self.tasks(ChunkTask)]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The functions of the first path, with their arguments."""
        return [(call.name, call.argument) for call in self.reading.paths[0].functions]


Ask = Callable[..., Asked]
DOC = Path(__file__).parents[2] / "docs" / "models-and-cost.md"


@pytest.fixture
def ask(neo4j: Settings, ring: str) -> Ask:
    def run(script: dict[Any, Any], start: str = "", **changes: Any) -> Asked:
        """`start`: the only initial node."""
        if start:
            script = {InitialNodesTask: world.nodes(start), **script}
            changes["initial_nodes"] = 1
        return Asked(neo4j, ring, world.scripted(world.RING_FACTS, script), changes)

    return run


def chunks(*order: str) -> Callable[[FactsTask], Any]:
    """Read the chunks of these numbers, in that order."""

    def choose(task: FactsTask) -> Any:
        numbers = {group.label.split()[-1]: n for n, group in enumerate(task.groups, 1)}
        return world.facts("read_chunk", [numbers[one] for one in order])

    return choose


def at_chunk(number: int, function: str) -> Callable[[ChunkTask], Any]:
    """Choose the function at this chunk, search on at others."""
    return lambda task: world.chunk(
        function if task.label == f"ring, chunk {number}" else "search_more"
    )


def quote_all(task: ChunkTask) -> Any:
    return world.chunk("search_more", "found", [task.text.split(".")[0]])


def onwards(task: NeighborTask) -> Any:
    return world.neighbor(1)


def no_chunk(task: FactsTask) -> Any:
    return world.facts("stop_and_read_neighbor", [], "something")


# Who proposes fewer than ten nodes is asked once more, unless fewer are listed.
@pytest.mark.parametrize(("listed", "lacks"), [(30, True), (4, False)])
def test_ten_proposals(listed: int, lacks: bool) -> None:
    task = InitialNodesTask("q", "p", tuple(f"n{n}" for n in range(listed)))
    nodes = [ProposedNode(number=n, score=50) for n in range(1, min(listed, 9) + 1)]

    assert bool(task.shortcoming(InitialNodes(nodes=nodes))) is lacks


# Numbers that were not shown are dropped, and too few nodes are filled up by rank.
def test_invented_nodes_are_dropped(ask: Ask) -> None:
    def invent(task: InitialNodesTask) -> InitialNodes:
        beta = task.nodes.index("Beta") + 1
        numbers = [99, beta, beta, 0, -1]
        return InitialNodes(nodes=[ProposedNode(number=n, score=90) for n in numbers])

    reading = ask({InitialNodesTask: invent}).reading

    names = [path.initial_node for path in reading.paths]
    assert names[0] == "Beta"
    assert len(set(names)) == 5
    assert set(names) <= set(world.RING_NAMES)


# The initial nodes have the model's highest scores, whatever the plan's needs are; of equal scores
# the node that stands first.
def test_scores_decide(ask: Ask) -> None:
    order = ["Eta", "Alpha", "Gamma", "Beta", "Zeta", "Delta", "Epsilon"]
    scores = dict(zip(order, [100, 90, 80, 70, 60, 60, 40], strict=True))

    def propose(task: InitialNodesTask) -> InitialNodes:
        return InitialNodes(
            nodes=[
                ProposedNode(number=task.nodes.index(name) + 1, score=score)
                for name, score in reversed(scores.items())
            ]
        )

    plan = RationalPlan(plan="Find Epsilon.", needs=["who met Epsilon", "where Zeta was"])
    reading = ask({PlanTask: lambda _: plan, InitialNodesTask: propose}).reading

    assert [path.initial_node for path in reading.paths] == [*order[:4], "Delta"]


# Mode `paper` has five paths of ten calls; a setting goes before that. Each prompt says how many
# calls are left, each decision is one, and none is spent on a neighbor that cannot be read.
@pytest.mark.parametrize(
    ("changes", "paths", "calls"),
    [({}, 5, 9), ({"calls": 3}, 5, 3), ({"initial_nodes": 4, "calls": 5}, 4, 5)],
    ids=str,
)
def test_calls(ask: Ask, changes: dict[str, Any], paths: int, calls: int) -> None:
    asked = ask({FactsTask: no_chunk, NeighborTask: onwards}, **changes)

    reading = asked.reading
    assert [path.calls for path in reading.paths] == [calls] * paths
    assert {path.stopped for path in reading.paths} == {"call_limit"}
    chosen = [one.call for one in asked.events if isinstance(one, FunctionChosen)]
    assert len(chosen) == sum(len(path.functions) for path in reading.paths) == calls * paths
    assert [path.usage.calls for path in reading.paths] == [calls] * paths
    first = max(task.calls_left for task in asked.tasks(FactsTask))
    assert f"Calls left after this one: {first}." in asked.tasks(FactsTask)[0].values()["calls"]
    assert first == changes.get("calls", 10) - 1


# Of the chunks that the last call chose, one is read and noted, whatever is chosen there: it is a
# decision without a call.
@pytest.mark.parametrize(
    ("calls", "function", "read"),
    [
        (1, "read_subsequent_chunk", "1"),
        (1, "termination", "1"),
        (2, "search_more", "10"),
        (2, "read_subsequent_chunk", "12"),
    ],
)
def test_one_chunk_of_the_last_call_is_read(ask: Ask, calls: int, function: str, read: str) -> None:
    def choose(task: ChunkTask) -> Any:
        return world.chunk(function, f"{task.notebook} {task.label}".strip(), [task.text[:20]])

    asked = ask({FactsTask: chunks("1", "0"), ChunkTask: choose}, "Beta", calls=calls)
    last, after = [*asked.tasks(FactsTask), *asked.tasks(ChunkTask)][calls - 1 :]
    (path,) = asked.reading.paths

    assert "This is the last call: " in last.values()["calls"]
    assert "No call is left" in after.values()["calls"]
    assert asked.chunks == [f"ring, chunk {number}" for number in read]
    assert path.notebook == " ".join(asked.chunks)
    assert {one.chunk for one in asked.reading.citations} == {int(number) for number in read}
    assert (path.stopped, path.calls, path.usage.calls) == ("call_limit", calls, calls + 1)


# A question takes no more decisions than the mode, the estimate and the docs say.
def test_most_decisions(ask: Ask) -> None:
    def first_unread(task: FactsTask) -> Any:
        (first, *_) = (n for n, group in enumerate(task.groups, 1) if not group.read)
        return world.facts("read_chunk", [first])

    def answer(task: AnswerTask) -> Any:
        return world.answer(task.evidence[0].quote, 1)  # a claim that needs no check

    script = {FactsTask: first_unread, ChunkTask: quote_all, NeighborTask: onwards}
    reading = ask({**script, AnswerTask: answer}).reading

    most = sum(number for *_, number in MODES["paper"].decisions(Limits(), False))
    assert [path.calls for path in reading.paths] == [10] * 5
    assert [path.usage.calls for path in reading.paths] == [11] * 5
    assert reading.usage.calls == most == 58
    assert f"at most {most}: 11 on each of five paths" in " ".join(DOC.read_text("utf-8").split())


# Short documents that wait are read together, and what is quoted is found in each of them. Chunks
# of a longer document are read one by one, though they are short.
def test_short_documents_together(
    neo4j: Settings, corpus: str, cleaned: None, tmp_path: Path
) -> None:
    letters = {f"letter{n}": [f"Ada saw town{n}."] for n in range(6)}
    book = [f"Ada left town{n}." for n in range(6)]
    facts = {sentence: sentence[:-1].split() for (sentence,) in letters.values()}
    facts |= {sentence: sentence[:-1].split() for sentence in book}
    script = {
        FactsTask: world.read_all,
        ChunkTask: lambda task: world.chunk("search_more", "x", list(facts)),
    }
    decider = world.scripted(facts, {InitialNodesTask: world.nodes("Ada"), **script})
    files = world.write_files(tmp_path, {**letters, "book": book})
    with world.reader(neo4j, corpus, decider, initial_nodes=1) as reader:
        reader.ingest(files)
    asked = Asked(neo4j, corpus, decider, {"initial_nodes": 1})

    together = [task for task in asked.tasks(ChunkTask) if task.together]
    alone = [task for task in asked.tasks(ChunkTask) if not task.together]
    assert [len(task.texts) for task in together] == [4, 2]
    assert all("letter" in label for task in together for label, _ in task.texts)
    assert "Each of these chunks is a whole document." in together[0].values()["around"]
    assert {task.label for task in alone} == {f"book, chunk {n}" for n in range(6)}
    assert len(asked.reading.citations) == 12
    read = [argument for name, argument in asked.calls if name == "read_chunk"]
    assert sum(isinstance(event, ChunkRead) for event in asked.events) == len(read[0].split("; "))


# A path that finds nothing costs two calls, one for the facts and one for the neighbors. Where no
# path found anything, nobody is asked for an answer, and the answer says so.
def test_a_dead_path_costs_two_calls(ask: Ask) -> None:
    asked = ask({FactsTask: lambda task: world.facts("stop_and_read_neighbor", [])})

    for path in asked.reading.paths:
        assert [call.name for call in path.functions] == ["stop_and_read_neighbor", "termination"]
        assert (path.calls, path.stopped) == (2, "termination")
    assert asked.tasks(AnswerTask) == []
    assert (asked.reading.answer, asked.reading.answered) == ("The texts do not tell.", False)


# A path that has visited every node within reach stops, because nothing is left.
def test_nothing_is_left(ask: Ask) -> None:
    asked = ask({FactsTask: no_chunk, NeighborTask: onwards}, "Alpha", calls=100)

    (path,) = asked.reading.paths
    assert (path.stopped, path.notebook) == ("nothing_left", "something")
    assert sorted(task.node for task in asked.tasks(FactsTask)) == sorted(world.RING_NAMES)


# Chunks are read in the order that the decision names them. The previous and the subsequent chunk
# go to the front of the queue, the rest waits behind them. At an edge of the document there is
# none, and a chunk that was read before is not read again: both are said, and the queue goes on.
@pytest.mark.parametrize(
    ("start", "order", "decide", "read", "argument"),
    [
        ("Gamma", "21", at_chunk(9, ""), "21", None),
        ("Delta", "32", at_chunk(3, "read_previous_chunk"), "32", "ring, chunk 2"),
        ("Alpha", "06", at_chunk(0, "read_subsequent_chunk"), "016", "ring, chunk 1"),
        ("Eta", "56", at_chunk(6, "read_subsequent_chunk"), "56", "there is none"),
        ("Beta", "01", at_chunk(0, "read_previous_chunk"), "01", "there is none"),
        ("Beta", "01", at_chunk(1, "read_previous_chunk"), "01", "ring, chunk 0, already read"),
    ],
)
def test_queue(
    ask: Ask, start: str, order: str, decide: Any, read: str, argument: str | None
) -> None:
    asked = ask({FactsTask: chunks(*order), ChunkTask: decide}, start)

    assert asked.chunks == [f"ring, chunk {number}" for number in read]
    assert asked.calls[0] == ("read_chunk", "; ".join(f"ring, chunk {n}" for n in order))
    assert [a for name, a in asked.calls if name.startswith("read_") and name != "read_chunk"] == (
        [argument] if argument else []
    )
    for task in asked.tasks(ChunkTask):
        assert task.has_previous is not task.label.endswith(" 0")
        assert task.has_subsequent is not task.label.endswith(" 6")
    assert asked.tasks(ChunkTask)[0].queued == (f"ring, chunk {order[1]}",)


# A chunk that was read is not read again where it is named once more, among others.
def test_named_again(ask: Ask) -> None:
    def every_chunk(task: FactsTask) -> Any:
        return world.facts("read_chunk", list(range(1, len(task.groups) + 1)))

    def to_beta(task: NeighborTask) -> Any:
        return world.neighbor(task.neighbors.index("Beta") + 1 if task.node == "Alpha" else 0)

    asked = ask({FactsTask: every_chunk, NeighborTask: to_beta}, "Alpha")

    assert sorted(asked.chunks) == ["ring, chunk 0", "ring, chunk 1", "ring, chunk 6"]
    named = [argument for name, argument in asked.calls if name == "read_chunk"]
    assert named[1] == "ring, chunk 1"


# The neighbors are those of the node where the path stands, without the visited ones.
def test_neighbors_are_the_nodes_own(ask: Ask) -> None:
    def to_beta(task: NeighborTask) -> Any:
        return world.neighbor(task.neighbors.index("Beta") + 1 if "Beta" in task.neighbors else 0)

    asked = ask({FactsTask: no_chunk, NeighborTask: to_beta}, "Alpha")
    shown = [set(task.neighbors) for task in asked.tasks(NeighborTask)]
    assert shown == [{"Beta", "Eta"}, {"Gamma"}]


# Neighbors whose chunks are all read are marked, not hidden: unread chunks may lie behind them, and
# the path goes on without a decision about their facts. Those with nothing behind them come last.
def test_neighbors_lead_on(neo4j: Settings, corpus: str, cleaned: None, tmp_path: Path) -> None:
    facts = {
        "Ada saw Aaron.": ["Ada", "Aaron"],
        "Ada met Xeno.": ["Ada", "Xeno"],
        "Xeno founded Bolton.": ["Xeno", "Bolton"],
        "Bolton lies in Kent.": ["Bolton", "Kent"],
    }
    *first, last = facts
    script = {
        InitialNodesTask: world.nodes("Ada"),
        ChunkTask: lambda task: world.chunk("search_more", task.text.split(".")[0]),
        NeighborTask: onwards,
    }
    decider = world.scripted(facts, script)
    files = world.write_files(tmp_path, {"atlas": [" ".join(first), last]})
    with world.reader(neo4j, corpus, decider, initial_nodes=1) as reader:
        reader.ingest(files)
    asked = Asked(neo4j, corpus, decider, {"initial_nodes": 1})

    at_ada, at_xeno, *_ = asked.tasks(NeighborTask)
    assert dict(zip(at_ada.neighbors, at_ada.marks, strict=True)) == {
        "Xeno": "all read",
        "Aaron": "dead end",
    }
    assert at_ada.values()["neighbors"] == "[1] Xeno (all read)\n[2] Aaron (dead end)"
    assert (at_xeno.neighbors, at_xeno.marks) == (("Bolton",), ("",))
    assert [task.node for task in asked.tasks(FactsTask)] == ["Ada", "Bolton"]
    assert asked.reading.paths[0].notebook == "Bolton lies in Kent"


# The notebook goes from step to step: it is written at the facts and at the chunks, never at the
# neighbors (figure 11). Paths share nothing.
def test_each_path_has_its_notebook(ask: Ask) -> None:
    def note(task: ChunkTask) -> Any:
        return world.chunk("search_more", f"{task.notebook}|{task.label}")

    asked = ask({ChunkTask: note, NeighborTask: onwards})
    for path, number in zip(asked.reading.paths, range(1, 6), strict=True):
        own = [event for event in asked.events if getattr(event, "path", 0) == number]
        at = [type(one) for one in own if isinstance(one, NeighborsSeen | NoteTaken | ChunkRead)]
        read = [one for one in own if isinstance(one, ChunkRead)]

        assert path.notebook == "".join(f"|{one.document}, chunk {one.chunk}" for one in read)
        assert (NeighborsSeen, NoteTaken) not in pairwise(at)
        assert at.count(NeighborsSeen) > 1
    assert "notebook" not in decisions.NeighborDecision.model_fields


# What a failing decision paid for is counted, and the question is answered all the same.
def test_failures_are_counted(ask: Ask) -> None:
    def useless(task: Any) -> Any:
        error = ReplyError("The model does not make sense.")
        error.spent = Usage(2, 100, 10)
        raise error

    def fail_at_gamma(task: ChunkTask) -> Any:
        return useless(task) if task.node == "Gamma" else world.chunk("termination", "found")

    script = {PlanTask: useless, InitialNodesTask: useless, ChunkTask: fail_at_gamma}
    reading = ask(script, initial_nodes=7).reading

    assert reading.answered
    assert reading.plan == reading.question
    assert sum("does not make sense" in one for one in reading.notes) == 3
    assert (reading.usage.input_tokens, reading.usage.output_tokens) == (300, 30)


# A number that stands only in what was left out cannot be chosen.
def test_only_what_was_shown_is_chosen(neo4j: Settings, ring: str) -> None:
    class Shortened(ScriptedDecider):
        async def decide(self, task: Any, budget: Any = None, on_token: Any = None) -> Any:
            result = await super().decide(task, budget, on_token)
            if isinstance(task, InitialNodesTask | FactsTask):
                return replace(result, task=task.keeping(1))
            return result

    decider = Shortened(world.scripted(world.RING_FACTS, {})._script)
    asked = Asked(neo4j, ring, decider, {"initial_nodes": 2})

    paths = asked.reading.paths
    assert all(";" not in call.argument for path in paths for call in path.functions)
    nodes = asked.tasks(InitialNodesTask)[0].nodes
    assert [path.initial_node for path in paths] == list(nodes[:2])
    assert all(len(one.facts) == 1 for one in asked.events if isinstance(one, FactsRead))


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

    assert ask({NeighborTask: onwards}, initial_nodes=2).reading.paths
    assert changed == []


# A quote that does not stand in the chunk is dropped; one that does is cited to the letter.
def test_quotes_are_checked(ask: Ask) -> None:
    def quote(task: ChunkTask) -> Any:
        words = task.text.split("here.")[0] + "here."
        made_up = ["This was never said by anybody.", "", "..."]
        return world.chunk("termination", "found", [*made_up, words.replace(" ", "\n  ")])

    reading = ask({ChunkTask: quote}).reading

    assert reading.citations
    text = "\n\n".join(world.padded(sentence) for sentence in world.RING) + "\n"
    for one in reading.citations:
        assert one.quote == text[one.start : one.end] == world.RING[one.chunk]


# Texts without any key element tell nothing: that is the answer at once, without a path.
def test_no_key_elements(neo4j: Settings, corpus: str, cleaned: None, tmp_path: Path) -> None:
    decider = world.scripted({}, {})
    with world.reader(neo4j, corpus, decider) as reader:
        reader.ingest(world.write_files(tmp_path, {"book": ["Nothing happened here at all."]}))
        reading = reader.ask("Who?")

    assert (reading.answer, reading.answered) == ("The texts do not tell.", False)
    assert (reading.paths, reading.citations) == ((), ())
    assert reading.notes
    assert InitialNodesTask not in map(type, decider.asked)
