"""Follow-up questions: a run that goes on from the answer of another one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from graphreader.agent.adaptive.tasks import Turn, TurnTask
from graphreader.agent.events import PlanMade
from graphreader.agent.tasks import AnswerTask, ChunkTask, PlanTask
from graphreader.errors import ModelUnavailableError, UnknownRunError, UsageError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import world
from tests.terminal import Terminal, environment_of

QUESTION = "Whom did Alpha meet?"
FOLLOW_UP = "And whom did that one meet?"


@pytest.fixture
def settings(neo4j: Settings, tmp_path: Path) -> Settings:
    """Settings with a home of the test's own."""
    return world.settings(neo4j, home=tmp_path / "home", initial_nodes=1)


@pytest.fixture
def decider() -> ScriptedDecider:
    script = {
        ChunkTask: lambda task: world.chunk("termination", "Noted.", [task.text.split(".")[0]]),
        AnswerTask: lambda task: world.answer(f"To “{task.question}”: Beta.", 1),
        TurnTask: lambda task: Turn(findings=[], answer="Gamma"),
    }
    return world.scripted(world.RING_FACTS, script)


@pytest.fixture
def reader(settings: Settings, ring: str, decider: ScriptedDecider) -> Iterator[GraphReader]:
    with GraphReader(ring, settings=settings, decider=decider) as reader:
        yield reader


def earlier(decider: ScriptedDecider, kind: type[Any]) -> list[str]:
    return [task.earlier for task in decider.asked if isinstance(task, kind)]


# A follow-up sees question and answer of the run before, at the plan and at the answer, and one
# that follows it those of both. It is kept with the run that it follows, and can be forked.
def test_chain(reader: GraphReader, decider: ScriptedDecider) -> None:
    first = reader.ask(QUESTION)
    second = reader.ask(FOLLOW_UP, follow=first.run[:6])
    third = reader.ask("And then?", follow=second.run)
    fork = reader.resume(third.run, step=1)
    plans, answers = earlier(decider, PlanTask), earlier(decider, AnswerTask)

    assert plans == answers
    assert plans[0] == ""
    assert f"> Earlier question: {QUESTION}\n> Answer: To “{QUESTION}”: Beta." in plans[1]
    assert f"> Earlier question: {FOLLOW_UP}\n> Answer: To “{FOLLOW_UP}”: Beta." in plans[2]
    assert f"Earlier question: {QUESTION}" in plans[2]
    assert plans[3] == plans[2]
    assert first.question == QUESTION
    runs = {one.run: one.follow for one in reader.runs()}
    assert runs == {
        first.run: None,
        second.run: first.run,
        third.run: second.run,
        fork.run: second.run,
    }


# In mode adaptive the first turn sees the exchange, which is searched for beside the question.
def test_adaptive(reader: GraphReader, decider: ScriptedDecider) -> None:
    first = reader.ask(QUESTION, mode="paper")
    second = reader.ask(FOLLOW_UP, follow=first.run, mode="adaptive")
    [task] = [task for task in decider.asked if isinstance(task, TurnTask)]
    searches = [result["action"] for result in task.results]

    assert second.answer == "Gamma"
    assert f"> Earlier question: {QUESTION}" in task.earlier
    assert searches[:2] == [f"search({FOLLOW_UP})", f"search({QUESTION} {first.answer})"]


# A follow-up that breaks off before its first step still knows what it follows when it is resumed,
# and the id of a run stands for one question with one exchange.
def test_resumed(
    reader: GraphReader, settings: Settings, decider: ScriptedDecider, ring: str
) -> None:
    def fail(task: PlanTask) -> Any:
        raise ModelUnavailableError("Nobody is there.")

    first = reader.ask(QUESTION)
    broken = world.scripted(world.RING_FACTS, {PlanTask: fail})
    with GraphReader(ring, settings=settings, decider=broken) as other:
        with pytest.raises(ModelUnavailableError):
            other.ask(FOLLOW_UP, follow=first.run, run="second")
        with pytest.raises(UsageError, match="has no answer to follow up yet"):
            other.ask("And then?", follow="second")
    with pytest.raises(UsageError, match="about another question"):
        reader.ask(FOLLOW_UP, run="second")
    events = list(reader.stream(FOLLOW_UP, follow=first.run, run="second"))

    assert any(isinstance(event, PlanMade) for event in events)
    assert QUESTION in earlier(decider, PlanTask)[1]


# A run of another corpus, or none, is refused before anything is asked.
def test_refused(reader: GraphReader, decider: ScriptedDecider) -> None:
    first = reader.ask(QUESTION)
    asked = len(decider.asked)

    with pytest.raises(UsageError, match=f"is about the corpus '{reader.corpus}', not 'other'"):
        reader.at("other").ask(FOLLOW_UP, follow=first.run)
    with pytest.raises(UnknownRunError, match="No run 'nothing' is kept"):
        reader.ask(FOLLOW_UP, follow="nothing")
    assert len(decider.asked) == asked


# The command asks the corpus of the run; `runs show` names the run that was followed.
def test_command(terminal: Terminal, settings: Settings, ring: str) -> None:
    terminal.set(**environment_of(settings), GRAPHREADER_HOME=str(settings.home), COLUMNS="100")
    first = terminal.run("ask", QUESTION, "--corpus", ring, "--json").json
    second = terminal.run("ask", FOLLOW_UP, "--follow", first["run"], "--json").json
    third = terminal.run("ask", FOLLOW_UP, "--follow", second["run"])
    other = terminal.run("ask", FOLLOW_UP, "--follow", first["run"], "--corpus", "other")
    unknown = terminal.run("ask", FOLLOW_UP, "--follow", "nothing")
    file = terminal.run("ask", "--file", "-", "--follow", first["run"])
    shown = terminal.run("runs", "show", second["run"])

    assert (second["corpus"], second["confidence"]) == (ring, "stated")
    assert f"It follows up run {first['run']}\n" in shown.out
    assert f"graphreader runs show {second['run']}" in shown.out
    assert third.code == 0
    assert 'graphreader ask "..." --follow ' in third.out
    assert [one.code for one in (other, unknown, file)] == [2, 2, 2]
    assert "not 'other'" in other.err
    assert "No run 'nothing' is kept" in unknown.err


# In a graph that somebody else runs the exchange is part of the input, and of that question alone.
async def test_hosted(reader: GraphReader, decider: ScriptedDecider) -> None:
    graph = reader.as_graph()
    graph.checkpointer = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "one"}}
    await graph.ainvoke({"question": FOLLOW_UP, "earlier": "> Alpha met Beta."}, config)
    await graph.ainvoke({"question": QUESTION}, config)

    assert earlier(decider, PlanTask) == ["> Alpha met Beta.", ""]
