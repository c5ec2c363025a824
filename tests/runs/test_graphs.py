"""The agent as a graph that somebody else runs; `test_subgraph` puts it into another one."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from graphreader import sync
from graphreader.agent.tasks import ChunkTask, NeighborTask, PlanTask
from graphreader.errors import UnknownCorpusError, UsageError
from graphreader.graph_reader import GraphReader
from graphreader.integrations.langgraph import ExecutionContext, agent_graph
from graphreader.settings import Settings
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

    assert second == alone
    assert [one["path"] for one in second["paths"]] == [1, 2]
    assert first["paths"] != second["paths"]


# Stopped on its way, a second question shows nothing of what the first one came to.
async def test_a_second_question_on_its_way(reader: GraphReader) -> None:
    graph = checkpointed(reader)
    await graph.ainvoke({"question": "Whom did Alpha meet?"}, CONFIG)
    second = {"question": "Whom did Delta meet?"}
    await graph.ainvoke(second, CONFIG, interrupt_before=["initial_nodes"])
    state = (await graph.aget_state(CONFIG)).values
    result = ("answer", "analysis", "unjoined", "citations", "claims", "contradictions", "paths")

    assert not any(state[name] for name in (*result, "nodes", "related", "answered"))
    assert state["question"] == second["question"]


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


@pytest.fixture
def meek(neo4j: Settings, ring: str) -> Iterator[GraphReader]:
    """A reader whose runs may have six calls, which two paths would like to exceed."""
    decider = world.scripted({}, {NeighborTask: lambda task: world.neighbor(1)})
    with world.reader(neo4j, ring, decider, initial_nodes=2, max_calls=6) as reader:
        yield reader


def calls(result: Mapping[str, Any]) -> int:
    return sum(cost["calls"] for cost in result["costs"].values())


# The budget of a run is one for all its steps, also where another process goes on with it.
@pytest.mark.parametrize("at", [["initial_nodes"], ["path"], ["answer_reasoning"]])
@pytest.mark.parametrize("remembered", [True, False])
async def test_one_budget(meek: GraphReader, at: list[str], remembered: bool) -> None:
    graph = checkpointed(meek)
    await graph.ainvoke({"question": "Whom did Alpha meet?"}, CONFIG, interrupt_before=at)
    again = graph if remembered else meek.as_graph()
    again.checkpointer = graph.checkpointer
    result = await again.ainvoke(None, CONFIG)

    assert 4 <= calls(result) <= 6
    assert "budget" in {one["stopped"] for one in result["paths"]}


# Inside of paths that are gone on with one step at a time it is the same one, too.
@pytest.mark.parametrize("remembered", [True, False])
async def test_one_budget_step_by_step(meek: GraphReader, remembered: bool) -> None:
    async def here(_: Any) -> ExecutionContext:
        return meek.context

    saver = InMemorySaver()
    graph = agent_graph(here, step_by_step=True)
    graph.checkpointer = saver
    await graph.ainvoke({"question": "Whom did Alpha meet?"}, CONFIG)
    while (await graph.aget_state(CONFIG)).next:
        if not remembered:
            graph = agent_graph(here, step_by_step=True)
            graph.checkpointer = saver
        result = await graph.ainvoke(None, CONFIG)

    assert 4 <= calls(result) <= 6


# A run that begins again before its paths has what its budget had then.
async def test_the_budget_of_a_fork(meek: GraphReader) -> None:
    graph = checkpointed(meek)
    first = await graph.ainvoke({"question": "Whom did Alpha meet?"}, CONFIG)
    history = [one async for one in graph.aget_state_history(CONFIG)]
    (before,) = [one for one in history if one.next == ("path", "path")]
    second = await graph.ainvoke(None, before.config)

    assert calls(second) == calls(first)
    assert sum(len(one["functions"]) for one in second["paths"]) == sum(
        len(one["functions"]) for one in first["paths"]
    )


# A reader that was closed meanwhile, or has lost its database, opens what a run needs anew.
@pytest.mark.parametrize("closed", [True, False])
async def test_going_on_with_another_connection(reader: GraphReader, closed: bool) -> None:
    graph = checkpointed(reader)
    await graph.ainvoke({"question": "Whom did Alpha meet?"}, CONFIG, interrupt_before=["path"])
    if closed:
        await reader.aclose()
    else:
        before = await sync.arun(reader.context.resources.connection())
        before.gone = True
    result = await graph.ainvoke(None, CONFIG)

    assert result["answered"]
    assert {one["stopped"] for one in result["paths"]} == {"termination"}
    if not closed:
        assert await sync.arun(reader.context.resources.connection()) is not before


# A reader at another corpus shares what the first one has open.
async def test_at_another_corpus(reader: GraphReader, ring: str) -> None:
    other = reader.at("nowhere")

    assert (other.corpus, reader.corpus) == ("nowhere", ring)
    assert other.context.resources is reader.context.resources
    with pytest.raises(UnknownCorpusError):
        await other.astats()
    assert other.at(ring).stats() == reader.stats()


# What cannot be asked is refused in the words of an ask.
async def test_refusals(reader: GraphReader) -> None:
    empty: Any
    for empty in ({"question": " "}, {"question": None}, {"question": ["Why?"]}, {"notes": []}):
        with pytest.raises(UsageError, match="The question is empty"):
            await reader.as_graph().ainvoke(empty)
    reader.corpus = "nowhere"
    with pytest.raises(UnknownCorpusError, match="There is no corpus 'nowhere'"):
        await reader.as_graph().ainvoke({"question": "Why?"})


# What is remembered of runs is bounded, and what is forgotten is found in their states.
async def test_old_runs_are_forgotten(meek: GraphReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreader.integrations.langgraph.MAX_SHARED_RUNS", 1)
    graph = checkpointed(meek)
    question = {"question": "Whom did Alpha meet?"}
    await graph.ainvoke(question, CONFIG, interrupt_before=["answer_reasoning"])
    other: RunnableConfig = {"configurable": {"thread_id": "two"}}
    await graph.ainvoke(question, other, interrupt_before=["path"])
    first, second = await graph.ainvoke(None, CONFIG), await graph.ainvoke(None, other)

    assert 4 <= calls(first) <= 6
    assert 4 <= calls(second) <= 6
