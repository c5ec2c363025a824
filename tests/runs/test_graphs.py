"""The agent as a graph that somebody else runs; `test_subgraph` puts it into another one."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from graphreader import GraphReader, Settings
from graphreader.agent.graph import Nodes, wired
from graphreader.deciding.exploring import ChunkTask
from graphreader.deciding.tasks import PlanTask
from graphreader.errors import UnknownCorpusError, UsageError
from graphreader.graphs import _Steps
from tests.runs import world

CONFIG: RunnableConfig = {"configurable": {"thread_id": "one"}}


def quoting(task: ChunkTask) -> Any:
    """Note and quote the sentence of the chunk."""
    sentence = task.text[: task.text.index(".") + 1]
    return world.chunk("termination", f"It says: {sentence}", [sentence])


@pytest.fixture
def reader(neo4j: Settings, ring: str) -> Iterator[GraphReader]:
    decider = world.scripted({}, {ChunkTask: quoting})
    with world.reader(neo4j, ring, decider, initial_nodes=2) as reader:
        yield reader


def checkpointed(reader: GraphReader) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The reader's graph with checkpoints of its own."""
    graph = reader.as_graph()
    graph.checkpointer = InMemorySaver()
    return graph


# A question gives what an ask gives, in any loop, and nothing of it stands among the kept runs.
def test_as_asked(reader: GraphReader) -> None:
    reading = reader.ask("Whom did Alpha meet?")
    kept = reader.runs()
    graph = reader.as_graph()
    given = [asyncio.run(graph.ainvoke({"question": "Whom did Alpha meet?"})) for _ in range(2)]

    assert [one["answer"] for one in given] == [reading.answer] * 2
    assert [len(one["paths"]) for one in given] == [2, 2]
    assert given[0]["citations"][0]["quote"] == reading.citations[0].quote
    assert reader.runs() == kept


# A second question of the same thread begins anew: nothing of the first one is in its answer.
async def test_a_second_question(reader: GraphReader) -> None:
    graph = checkpointed(reader)
    first = await graph.ainvoke({"question": "Whom did Alpha meet?"}, CONFIG)
    second = await graph.ainvoke({"question": "Whom did Delta meet?"}, CONFIG)
    alone = await reader.as_graph().ainvoke({"question": "Whom did Delta meet?"})

    assert [one["path"] for one in second["paths"]] == [1, 2]
    assert second["answer"] == alone["answer"]
    assert second["costs"] == alone["costs"]
    assert second["notes"] == alone["notes"]
    assert first["paths"] != second["paths"]


# What goes to the custom stream is plain, and says what it is.
async def test_what_is_told(reader: GraphReader) -> None:
    told = [
        item
        async for item in reader.as_graph().astream(
            {"question": "Whom did Alpha meet?"}, stream_mode="custom"
        )
    ]
    inside = [
        item
        async for _, item in reader.as_graph().astream(
            {"question": "Whom did Alpha meet?"}, stream_mode="custom", subgraphs=True
        )
    ]

    assert {one["event"] for one in told} >= {"PlanMade", "NodesChosen", "AnswerToken"}
    assert {one["event"] for one in inside} >= {"FactsRead", "FunctionChosen", "PathEnded"}
    assert all(type(one) is dict for one in inside)


# A run that is stopped on the way goes on, also where another process has its parts no more.
@pytest.mark.parametrize("remembered", [True, False])
async def test_going_on(reader: GraphReader, remembered: bool) -> None:
    graph = checkpointed(reader)
    await graph.ainvoke({"question": "Whom did Alpha meet?"}, CONFIG, interrupt_before=["path"])
    again = graph
    if not remembered:
        again = reader.as_graph()
        again.checkpointer = graph.checkpointer
    answered = await again.ainvoke(None, CONFIG)

    whole = await reader.as_graph().ainvoke({"question": "Whom did Alpha meet?"})
    assert answered["answer"] == whole["answer"]


# Steps are taken in the reader's own thread, where its driver and its clients live.
async def test_where_steps_are_taken(neo4j: Settings, ring: str) -> None:
    seen = []

    def planned(task: PlanTask) -> Any:
        seen.append(threading.current_thread().name)
        return world.plan(task)

    decider = world.scripted({}, {PlanTask: planned})
    with world.reader(neo4j, ring, decider, initial_nodes=1) as reader:
        await reader.as_graph().ainvoke({"question": "Whom did Alpha meet?"})

    assert seen == ["graphreader"]


# The budget of a run is one for all its steps.
async def test_one_budget(neo4j: Settings, ring: str) -> None:
    script = world.scripted({}, {ChunkTask: quoting})
    with world.reader(neo4j, ring, script, initial_nodes=2, max_calls=5) as reader:
        given = await reader.as_graph().ainvoke({"question": "Whom did Alpha meet?"})

    calls = sum(cost["calls"] for cost in given["costs"].values())
    assert calls <= 5
    assert {one["stopped"] for one in given["paths"]} & {"budget", "termination"}


# What cannot be asked is refused in the words of an ask.
async def test_refusals(reader: GraphReader) -> None:
    with pytest.raises(UsageError, match="The question is empty"):
        await reader.as_graph().ainvoke({"question": " "})
    reader.corpus = "nowhere"
    with pytest.raises(UnknownCorpusError, match="There is no corpus 'nowhere'"):
        await reader.as_graph().ainvoke({"question": "Why?"})


# Only so many runs are remembered as may be under way.
async def test_old_runs_are_forgotten(reader: GraphReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreader.graphs.REMEMBERED", 2)
    home = reader.home

    async def here(_: Any) -> Any:
        return home

    steps = _Steps(here)
    graph = wired(Nodes(**{one.name: steps.named(one.name) for one in fields(Nodes)}))
    for _ in range(3):
        await graph.ainvoke({"question": "Whom did Alpha meet?"})

    assert len(steps._parts) == 2
