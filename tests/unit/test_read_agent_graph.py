"""ReadAgent as a graph of LangGraph: its drawing, its plain state, and a place elsewhere."""

import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from graphreader.baselines.read_agent.gists import Gisting
from graphreader.baselines.read_agent.graph import Desk, Nodes, Steps, wired
from graphreader.baselines.read_agent.look_up import LookUp, Sequential
from graphreader.baselines.read_agent.tasks import NextPage
from graphreader.errors import UsageError
from graphreader.testing import ScriptedDecider
from tests.unit.episodic import SMALL, STORY, document, kinds_of, scripted

QUESTION = {"question": "Which castle is it?"}


def desk(decider: ScriptedDecider, look_up: LookUp | None = None, **options: Any) -> Desk:
    documents = [document(STORY)]
    gisting = Gisting(documents, decider, SMALL)
    return Desk(documents, gisting, decider, look_up or Sequential(), 128_000, **options)


def turning(*pages: int) -> ScriptedDecider:
    return scripted(next_page=lambda task: NextPage(page=[*pages, 0][len(task.read)]))


# The drawing has the paper's steps, and the sequential look-up is a loop.
def test_drawing() -> None:
    drawn = wired(Nodes.of(Steps(desk(scripted())))).get_graph()

    edges = {(edge.source, edge.target, edge.data) for edge in drawn.edges}
    assert edges == {
        ("__start__", "paginate", None),
        ("paginate", "gist", None),
        ("gist", "look_up", "look up"),
        ("gist", "answer", "gists only, no text"),
        ("look_up", "look_up", "one more page"),
        ("look_up", "answer", "stop, number of pages, nothing left, budget"),
        ("answer", "__end__", None),
    }


# The state is plain JSON after every step, and tells pages, gists and what was looked up.
async def test_plain_state() -> None:
    graph = wired(Nodes.of(Steps(desk(turning(4, 2)))), InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    result = await graph.ainvoke(QUESTION, config)

    states = [one.values async for one in graph.aget_state_history(config)]
    assert all(json.loads(json.dumps(state)) == state for state in states)
    assert states[0]["gists"][0] == "Danko Jones is"
    assert states[0]["pages"][3]["start"] == STORY.index("Its name")
    assert [state["looked_up"] for state in states if "looked_up" in state][::-1] == [
        [],
        [],
        [4],
        [4, 2],
        [4, 2],
        [4, 2],
    ]
    assert result["answer"] == "Toronto"
    assert "pages" not in result


# A run that fails goes on, on the same thread, at the step that failed.
async def test_goes_on() -> None:
    fails = [True]

    def next_page(task: Any) -> NextPage:
        if task.read and fails.pop() if fails else False:
            raise ConnectionError("gone")
        return NextPage(page=[4, 2, 0][len(task.read)])

    decider = scripted(next_page=next_page)
    graph = wired(Nodes.of(Steps(desk(decider))), InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    fails[:] = [True]
    with pytest.raises(ConnectionError):
        await graph.ainvoke(QUESTION, config)
    result = await graph.ainvoke(None, config)

    assert result["looked_up"] == [4, 2]
    assert kinds_of(decider).count("gist") == 6


# An empty question is refused before anything is read.
async def test_empty_question() -> None:
    decider = scripted()
    with pytest.raises(UsageError, match="empty"):
        await wired(Nodes.of(Steps(desk(decider)))).ainvoke({"question": " "})

    assert decider.asked == []
