"""Something fails at one step of one path, or of all: what becomes of the others and the answer."""

from collections.abc import Callable
from typing import Any

import pytest

from graphreader.agent.tasks import (
    AnswerTask,
    ChunkTask,
    CondenseTask,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.errors import (
    BudgetError,
    DecisionError,
    ModelUnavailableError,
    ReplyError,
    StoreError,
)
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.store.explorer import GraphExplorer
from graphreader.testing import ScriptedDecider
from tests.runs import world

FAILING = "Epsilon"
LONG = f"{FAILING} met somebody, as the texts say in many words that need much room. " * 60

AWAY = ModelUnavailableError("The model went away.")
REFUSED = StoreError("Neo4j could not.")
BUG = RuntimeError("Oh!")


def scripted(script: dict[Any, Any]) -> ScriptedDecider:
    """Two paths which note what they see, from opposite ends of the ring."""
    ways: dict[Any, Any] = {
        InitialNodesTask: world.nodes("Alpha", FAILING),
        FactsTask: lambda task: world.read_all(task).model_copy(
            update={"notebook": f"{task.notebook} Facts of {task.node}.".strip()}
        ),
        ChunkTask: lambda task: world.chunk("search_more", f"{task.notebook} {task.label}."),
    }
    return world.scripted(world.RING_FACTS, ways | script)


def ask(given: Settings, corpus: str, script: dict[Any, Any]) -> Reading:
    with world.reader(given, corpus, scripted(script), initial_nodes=2) as reader:
        return reader.ask("Who met whom?")


def fail(failure: Exception) -> Callable[[Any], Any]:
    def raise_it(task: Any) -> Any:
        raise failure

    return raise_it


def check(reading: Reading, failure: Exception, notebook: str) -> None:
    """The second path ended with its notebook, the first one well, and both are in the answer."""
    first, second = reading.paths
    assert (first.stopped, first.error) == ("termination", None)
    assert second.stopped == "error"
    assert str(failure) in (second.error or "")
    assert second.notebook.startswith(notebook)
    assert reading.answered
    assert first.notebook in reading.answer
    assert notebook.strip() in reading.answer
    assert any(note.startswith("Path 2 stopped early") for note in reading.notes)


# A path that fails at a decision ends there with all that it had noted; nothing else is touched.
@pytest.mark.parametrize(
    ("step", "notebook", "failure"),
    [
        (FactsTask, "", AWAY),
        (ChunkTask, f"Facts of {FAILING}.", BUG),
        (NeighborTask, f"Facts of {FAILING}. ring, chunk ", AWAY),
    ],
)
def test_a_decision_fails(
    neo4j: Settings, ring: str, step: type[Any], notebook: str, failure: Exception
) -> None:
    usual = scripted({})._script[step]

    def decide(task: Any) -> Any:
        if task.node == FAILING:
            raise failure
        return usual(task)

    check(ask(neo4j, ring, {step: decide}), failure, notebook)


# A notebook that cannot be condensed ends its path, which brings all of it home.
def test_condensing_fails(neo4j: Settings, ring: str) -> None:
    def long(task: FactsTask) -> Any:
        text = LONG if task.node == FAILING else f"Facts of {task.node}."
        return world.read_all(task).model_copy(update={"notebook": text})

    check(ask(neo4j, ring, {FactsTask: long, CondenseTask: fail(AWAY)}), AWAY, LONG)


# A statement that Neo4j refuses in the middle of a path ends that path alone.
def test_a_statement_fails(neo4j: Settings, ring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = GraphExplorer.chunk

    async def refused(self: GraphExplorer, id_: str) -> Any:
        found = await chunk(self, id_)
        if found and FAILING in found.text:
            raise REFUSED
        return found

    monkeypatch.setattr(GraphExplorer, "chunk", refused)

    check(ask(neo4j, ring, {}), REFUSED, f"Facts of {FAILING}.")


# Where every path fails there is nothing to answer from: the reason of the first one is the error.
@pytest.mark.parametrize(("step", "failure"), [(FactsTask, AWAY), (ChunkTask, BUG)])
def test_every_path_fails(neo4j: Settings, ring: str, step: type[Any], failure: Exception) -> None:
    silent = {FactsTask: lambda task: world.read_all(task)}
    with pytest.raises(DecisionError, match="Every path failed") as caught:
        ask(neo4j, ring, {**silent, step: fail(failure)})

    assert str(failure) in str(caught.value)
    assert caught.value.exit_code == 1


# Without a plan or scores that can be used, the question is answered all the same, and that is
# noted; a service or a database that is away at the beginning is reported as it is.
@pytest.mark.parametrize("step", [PlanTask, InitialNodesTask])
def test_planning_fails(neo4j: Settings, ring: str, step: type[Any]) -> None:
    for unusable in (ReplyError("Nonsense."), BudgetError("No more.")):
        reading = ask(neo4j, ring, {step: fail(unusable)})

        assert reading.answered
        assert len(reading.paths) == 2
        assert any(str(unusable) in note for note in reading.notes)
    for failure in (DecisionError("No decision."), AWAY, REFUSED):
        with pytest.raises(type(failure), match=str(failure)):
            ask(neo4j, ring, {step: fail(failure)})


# Where the last decision fails the notebooks are given, unanswered: nothing that was found is lost.
@pytest.mark.parametrize("failure", [ReplyError("Nonsense."), AWAY], ids=str)
def test_the_answer_fails(neo4j: Settings, ring: str, failure: Exception) -> None:
    reading = ask(neo4j, ring, {AnswerTask: fail(failure)})

    assert (reading.answered, reading.citations) == (False, ())
    assert str(failure) in reading.analysis
    assert all(path.notebook in reading.answer for path in reading.paths)
