"""Something fails at one step of one path, or of all: what becomes of the others and the answer."""

from collections.abc import Callable
from pathlib import Path
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
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.store.explorer import GraphExplorer
from graphreader.testing import ScriptedDecider
from tests.runs import chronicle, digest, mind, world
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Terminal, environment_of

FAILING = "Epsilon"
LONG = f"{FAILING} met somebody, as the texts say in many words that need much room. " * 60

DECISIONS = [DecisionError("No decision."), ModelUnavailableError("The model went away.")]
OTHERS = [StoreError("Neo4j could not."), TimeoutError("It took too long."), RuntimeError("Oh!")]
by_kind = pytest.mark.parametrize(
    "failure", [*DECISIONS, *OTHERS], ids=lambda one: type(one).__name__
)


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


def failing(
    failure: Exception, otherwise: Callable[[Any], Any], notes: bool = False
) -> Callable[[Any], Any]:
    """Fails on the second path; `notes`: that is seen by the notebook, there is no node."""

    def decide(task: Any) -> Any:
        if FAILING in (" ".join(task.notebooks) if notes else task.node):
            raise failure
        return otherwise(task)

    return decide


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
@by_kind
@pytest.mark.parametrize("step", [FactsTask, ChunkTask, NeighborTask])
def test_a_decision_fails(neo4j: Settings, ring: str, step: type[Any], failure: Exception) -> None:
    usual = scripted({})._script[step]
    reading = ask(neo4j, ring, {step: failing(failure, usual)})

    noted = {
        FactsTask: "",
        ChunkTask: f"Facts of {FAILING}.",
        NeighborTask: f"Facts of {FAILING}. ring, chunk ",
    }
    check(reading, failure, noted[step])


# A notebook that cannot be condensed ends its path, which brings all of it home.
@by_kind
def test_condensing_fails(neo4j: Settings, ring: str, failure: Exception) -> None:
    def long(task: FactsTask) -> Any:
        text = LONG if task.node == FAILING else f"Facts of {task.node}."
        return world.read_all(task).model_copy(update={"notebook": text})

    def condense(task: CondenseTask) -> Any:
        raise failure

    reading = ask(neo4j, ring, {FactsTask: long, CondenseTask: condense})

    check(reading, failure, LONG)


# A statement that Neo4j refuses in the middle of a path ends that path alone.
@by_kind
@pytest.mark.parametrize("method", ["facts", "chunk", "neighbors"])
def test_a_statement_fails(
    neo4j: Settings,
    ring: str,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    failure: Exception,
) -> None:
    ask_database = getattr(GraphExplorer, method)
    ids = _ids(neo4j, ring)

    async def refused(self: GraphExplorer, id_: str, *others: Any, **named: Any) -> Any:
        if id_ in ids:
            raise failure
        return await ask_database(self, id_, *others, **named)

    monkeypatch.setattr(GraphExplorer, method, refused)
    reading = ask(neo4j, ring, {})

    noted = {"facts": "", "chunk": f"Facts of {FAILING}.", "neighbors": f"Facts of {FAILING}."}
    check(reading, failure, noted[method])


def _ids(given: Settings, corpus: str) -> set[str]:
    """The ids of the failing node and of the chunks with facts of it."""
    statement = """
    MATCH (k:KeyElement {corpus: $corpus, name: $name})<--(:AtomicFact)<--(c:Chunk)
    UNWIND [k.id, c.id] AS id RETURN DISTINCT id
    """
    return {row["id"] for row in digest.rows(given, statement, corpus=corpus, name=FAILING)}


# Where every path fails there is nothing to answer from: the reason of the first one is the error.
@by_kind
@pytest.mark.parametrize("step", [FactsTask, ChunkTask])
def test_every_path_fails(neo4j: Settings, ring: str, step: type[Any], failure: Exception) -> None:
    def fail(task: Any) -> Any:
        raise failure

    silent = {FactsTask: lambda task: world.read_all(task)}
    with pytest.raises(DecisionError, match="Every path failed") as caught:
        ask(neo4j, ring, {**silent, step: fail})

    assert str(failure) in str(caught.value)
    assert caught.value.exit_code == 1


# Without a plan and without scores a question is answered all the same; that is noted.
@pytest.mark.parametrize("failure", [ReplyError("Nonsense."), BudgetError("No more.")])
@pytest.mark.parametrize("step", [PlanTask, InitialNodesTask])
def test_planning_fails(neo4j: Settings, ring: str, step: type[Any], failure: Exception) -> None:
    def fail(task: Any) -> Any:
        raise failure

    reading = ask(neo4j, ring, {step: fail})

    assert reading.answered
    assert len(reading.paths) == 2
    assert any(str(failure) in note for note in reading.notes)


# A service that is away at the beginning, and a database that is, are told as they are.
@pytest.mark.parametrize("failure", [*DECISIONS, OTHERS[0]], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("step", [PlanTask, InitialNodesTask])
def test_nothing_can_begin(neo4j: Settings, ring: str, step: type[Any], failure: Exception) -> None:
    def fail(task: Any) -> Any:
        raise failure

    with pytest.raises(type(failure), match=str(failure)):
        ask(neo4j, ring, {step: fail})


# Where the last decision fails the notebooks are given, unanswered: nothing that was found is lost.
@pytest.mark.parametrize("failure", [ReplyError("Nonsense."), *DECISIONS], ids=str)
def test_the_answer_fails(neo4j: Settings, ring: str, failure: Exception) -> None:
    def fail(task: AnswerTask) -> Any:
        raise failure

    reading = ask(neo4j, ring, {AnswerTask: fail})

    assert not reading.answered
    assert str(failure) in reading.analysis
    assert all(path.notebook in reading.answer for path in reading.paths)


# The command ends with exit code 1 and the reason where every path fails.
def test_the_command_says_so(
    neo4j: Settings,
    corpus: str,
    cleaned: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def nonsense(body: Body, _: int) -> Fault | None:
        return Fault(content="Well.") if mind.decision_of(body) == "FactsDecision" else None

    texts = chronicle.write(tmp_path / "texts", 3)
    with OpenAIServer(mind.think, script=nonsense) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home")
        with GraphReader(corpus, settings=given) as reader:
            reader.ingest(texts)
        terminal = Terminal(monkeypatch, capsys, tmp_path)
        terminal.set(**environment_of(given), **chronicle.environment(given))
        ended = terminal.run("ask", chronicle.question(1), "--corpus", corpus)

    assert ended.code == 1
    assert "Every path failed" in ended.err
    assert "Traceback" not in ended.err
