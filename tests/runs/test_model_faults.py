"""Failures of the model, and of single paths."""

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
from graphreader.llm import retry
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.store.explorer import GraphExplorer
from graphreader.testing import ScriptedDecider
from tests.runs import chronicle, digest, mind, world
from tests.runs.openai_faults import FAULTS, QUOTA, Body, Fault
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Terminal, environment_of

CHUNKS, MANY = 4, 12
QUESTION = chronicle.question(2)

pytestmark = pytest.mark.usefixtures("cleaned", "short_pauses")


@pytest.fixture
def terminal_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[[Settings], Terminal]:
    """Makes a terminal of somebody with these settings."""

    def make(settings: Settings) -> Terminal:
        terminal = Terminal(monkeypatch, capsys, tmp_path)
        terminal.set(**environment_of(settings), **chronicle.environment(settings))
        return terminal

    return make


# A quota that is used up, or a model that falls silent, ends the run with a sentence, exit code 1
# and how to go on: what was read is in the graph, and the same command asks for the rest alone.
@pytest.mark.parametrize(
    ("fault", "tries", "words"),
    [
        (QUOTA, 1, "The quota of openai:fake is used up"),
        (FAULTS["stall"], 2, "try again later, or set GRAPHREADER_TIMEOUT (now 1 seconds) higher"),
    ],
    ids=["quota", "silence"],
)
def test_a_model_goes_away(
    neo4j: Settings,
    corpus: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    terminal_of: Callable[[Settings], Terminal],
    fault: Fault,
    tries: int,
    words: str,
) -> None:
    monkeypatch.setattr(retry, "MAX_TIMEOUTS", 1)
    good, at_once = 5, 2
    options = {"concurrency": at_once, "timeout": 1.0, "keep_replies": "off"}
    texts = chronicle.write(tmp_path / "texts", MANY)
    with OpenAIServer(mind.think, faults=[Fault()] * good, always=fault) as server:
        terminal = terminal_of(chronicle.settings(neo4j, server, tmp_path / "home", **options))
        ingest = ("ingest", str(texts), "--corpus", corpus)
        outcome = terminal.run(*ingest)
        asked, server.always = len(server.requests), None
        again = terminal.run(*ingest, "--json")
        asked_again, server.always = server.requests[asked:], fault
        before = len(server.requests)
        question = terminal.run("ask", QUESTION, "--corpus", corpus)

    for ended in (outcome, question):
        assert ended.code == 1
        assert words in ended.err
        assert "Traceback" not in ended.err
        assert chronicle.KEY not in ended.out + ended.err
    assert good < asked <= (good + 2 * at_once) * tries  # those that were about to begin
    assert again.code == 0
    assert again.json["documents"][0]["asked"] == len(asked_again) == MANY - good
    answered = {one.prompt for one in server.requests[:asked] if one.answered}
    assert len(answered) == good
    assert not answered & {one.prompt for one in asked_again}
    assert len(server.requests) == before + 1


# A chunk that is too long for a reply, or for the window of the model, is divided: it stays one
# chunk, and the corpus is as if one reply had been enough.
def test_divided_chunks(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = chronicle.write(tmp_path / "texts", CHUNKS)
    window = Fault(400, "The maximum context length is 2048.", "context_length_exceeded")
    graphs, asked = [], []
    for number, fault in enumerate((None, FAULTS["cut off"], window)):

        def too_long(body: Body, _: int, fault: Fault | None = fault) -> Fault | None:
            return fault if len(mind.names(mind.passage(body))) > 12 else None

        with OpenAIServer(mind.think, script=too_long) as server:
            home = tmp_path / str(number)
            given = chronicle.settings(neo4j, server, home, chunk_tokens=2000)
            with GraphReader(corpus, settings=given) as reader:
                assert reader.ingest(texts).complete
                graphs.append(digest.content(neo4j, corpus))
                asked.append(len(server.requests))
                reader.delete(everything=True)

    assert graphs[0] == graphs[1] == graphs[2]
    assert asked[0] == 1 < asked[1] == asked[2]


# A chunk that the model refuses is listed with the reason, the rest is complete; --retry-failed
# asks for it and for nothing else, and in the end the graph is as if nothing had been.
def test_hopeless_chunks(
    neo4j: Settings, corpus: str, tmp_path: Path, terminal_of: Callable[[Settings], Terminal]
) -> None:
    hopeless = [chronicle.meeting(number) for number in (4, 9)]
    texts = chronicle.write(tmp_path / "texts", MANY, files=2)

    def refuse(body: Body, _: int) -> Fault | None:
        passage = mind.passage(body)
        return FAULTS["refused"] if any(one in passage for one in hopeless) else None

    with OpenAIServer(mind.think, script=refuse) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home")
        terminal, requests = terminal_of(given), []
        outcomes = []
        for arguments in ([str(texts)], *[["--retry-failed"]] * 3):
            outcomes.append(terminal.run("ingest", *arguments, "--corpus", corpus, "--json"))
            requests.append([mind.passage(body) for body in server.chats])
            server.requests.clear()
            server.script = refuse if len(outcomes) < 2 else None
        message = terminal.run("ingest", str(texts), "--corpus", corpus)
        disturbed = digest.content(neo4j, corpus)
        with GraphReader(corpus, settings=given) as reader:
            reader.delete(everything=True)
            reader.ingest(texts)

    documents = [outcome.json["documents"] for outcome in outcomes]
    failed = [chunk for one in documents[0] for chunk in one["failed"]]
    assert [one.code for one in (*outcomes, message)] == [1, 1, 0, 0, 0]
    assert [one.json["asked_chunks"] for one in outcomes] == [MANY, 2, 2, 0]
    assert sorted(chunk["chunk"] for chunk in failed) == [2, 4]
    assert all("refuses to reply" in one["reason"] for one in failed)
    assert [one["status"] for one in documents[0]] == ["incomplete"] * 2
    assert {one["status"] for one in documents[2]} == {"read"}
    assert [len(set(one)) for one in requests] == [MANY, 2, 2, 0]
    assert all(any(one in passage for passage in requests[2]) for one in hopeless)
    assert disturbed == digest.content(neo4j, corpus)


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
