import asyncio
import operator
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from examples import subgraph as example
from graphreader.agent.tasks import AnswerTask, ChunkTask, InitialNodesTask
from graphreader.errors import UsageError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import world

QUESTION = "Who met Beta?"
SCRIPT: dict[Any, Any] = {
    InitialNodesTask: world.nodes("Beta", "Epsilon"),
    ChunkTask: lambda task: world.chunk("termination", f"{task.label}.", [task.text[:20]]),
    AnswerTask: lambda task: world.answer(" ".join([task.question, *task.notebooks]), 1),
}


class Story(TypedDict, total=False):
    """What the graph around knows: of the agent's own keys only question, answer and notes."""

    question: str
    answer: str
    notes: Annotated[list[str], operator.add]
    title: str


Graph = CompiledStateGraph[Story, Any, Any, Any]


@pytest.fixture
def reader(neo4j: Settings, ring: str) -> Iterator[GraphReader]:
    decider = world.scripted(world.RING_FACTS, SCRIPT)
    with world.reader(neo4j, ring, decider, initial_nodes=2) as reader:
        yield reader


def around(reader: GraphReader, stop_before: str = "", **options: Any) -> Graph:
    """A graph that asks, and then makes a title of the answer; it may stop before a step inside."""
    asking = reader.as_graph()
    if stop_before:
        asking = asking.copy({"interrupt_before_nodes": [stop_before]})
    graph = StateGraph(Story)
    graph.add_node("read", asking)
    graph.add_node("entitle", lambda state: {"title": state["answer"].upper()})
    graph.add_edge(START, "read")
    graph.add_edge("read", "entitle")
    graph.add_edge("entitle", END)
    return graph.compile(**options)


def config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


# It is a step as any other: only the keys that both have go in and come out.
async def test_a_step(reader: GraphReader) -> None:
    ended = await around(reader).ainvoke({"question": QUESTION})

    assert ended == {
        "question": QUESTION,
        "answer": f"{QUESTION} ring, chunk 0. ring, chunk 3.",
        "notes": [],
        "title": f"{QUESTION} ring, chunk 0. ring, chunk 3.".upper(),
    }


# With the checkpointer of the graph around the steps of all paths are seen, and what they tell.
async def test_streamed(reader: GraphReader) -> None:
    agent = around(reader, checkpointer=InMemorySaver())
    steps: Counter[tuple[int, str]] = Counter()
    events: list[dict[str, Any]] = []
    async for namespace, mode, data in agent.astream(
        {"question": QUESTION}, config("one"), stream_mode=["updates", "custom"], subgraphs=True
    ):
        if mode == "custom":
            events.append(data)
        else:
            steps.update((len(namespace), name) for name in data)

    assert steps == {
        (0, "read"): 1,
        (0, "entitle"): 1,
        (1, "rational_plan"): 1,
        (1, "initial_nodes"): 1,
        (1, "path"): 2,
        (1, "answer_reasoning"): 1,
        (2, "explore_atomic_facts"): 2,
        (2, "explore_chunks"): 2,
        (2, "end_path"): 2,
    }
    chosen = [
        (one["path"], one["call"]["name"]) for one in events if one["event"] == "FunctionChosen"
    ]
    assert sorted(chosen) == [
        (1, "read_chunk"),
        (1, "termination"),
        (2, "read_chunk"),
        (2, "termination"),
    ]
    assert [one["event"] for one in events if one["event"] == "PlanMade"] == ["PlanMade"]
    assert (await agent.aget_state(config("one"))).values["title"].startswith("WHO MET BETA?")


# Stopped before a step inside, what is known there can be changed, and the run goes on with it.
async def test_interrupted_inside(reader: GraphReader) -> None:
    agent = around(reader, stop_before="initial_nodes", checkpointer=InMemorySaver())
    stopped = await agent.ainvoke({"question": QUESTION}, config("one"))
    state = await agent.aget_state(config("one"), subgraphs=True)
    inside = state.tasks[0].state
    assert inside is not None
    await agent.aupdate_state(inside.config, {"plan": "Another plan."})
    ended = await agent.ainvoke(None, config("one"))

    assert "answer" not in stopped
    assert state.next == ("read",)
    assert inside.next == ("initial_nodes",)
    assert inside.values["plan"] == "Look at what the texts say."
    assert ended["title"].startswith("WHO MET BETA?")
    asked = [task for task in reader._resources.decider().asked if isinstance(task, AnswerTask)]
    assert asked[-1].plan == "Another plan."


# A graph that stops before a step inside by its own wiring is gone on with by a command.
async def test_interrupted_by_the_graph_around(reader: GraphReader) -> None:
    agent = around(reader, checkpointer=InMemorySaver(), interrupt_before=["entitle"])
    stopped = await agent.ainvoke({"question": QUESTION}, config("one"))
    ended = await agent.ainvoke(Command(resume=True), config("one"))

    assert stopped["answer"].startswith(QUESTION)
    assert "title" not in stopped
    assert ended["title"] == stopped["answer"].upper()


# Two runs of one graph at once, with one saver: each has the answer to its own question.
async def test_two_at_once(reader: GraphReader) -> None:
    agent = around(reader, checkpointer=InMemorySaver())
    questions = [f"{QUESTION} ({n})" for n in range(2)]
    ended = await asyncio.gather(
        *(agent.ainvoke({"question": one}, config(one)) for one in questions)
    )

    assert [one["answer"] for one in ended] == [
        f"{one} ring, chunk 0. ring, chunk 3." for one in questions
    ]


# A second question on the same thread begins anew: nothing of the first one is left in it.
async def test_a_second_question(reader: GraphReader) -> None:
    agent = around(reader, checkpointer=InMemorySaver())
    first = await agent.ainvoke({"question": QUESTION}, config("one"))
    second = await agent.ainvoke({"question": "Who met Zeta?"}, config("one"))

    assert first["answer"] == f"{QUESTION} ring, chunk 0. ring, chunk 3."
    assert second["answer"] == "Who met Zeta? ring, chunk 0. ring, chunk 4."


# The same graph serves one event loop after another.
def test_in_several_loops(reader: GraphReader) -> None:
    agent = around(reader)
    answers = [asyncio.run(agent.ainvoke({"question": QUESTION}))["answer"] for _ in range(2)]

    assert answers == [f"{QUESTION} ring, chunk 0. ring, chunk 3."] * 2


# What fails in it fails the graph around with an error of ours; without an event loop LangGraph
# itself says what to call.
async def test_errors(reader: GraphReader, neo4j: Settings) -> None:
    with (
        GraphReader("nothing-here", settings=neo4j) as nothing,
        pytest.raises(UsageError, match="There is no corpus 'nothing-here'"),
    ):
        await around(nothing).ainvoke({"question": QUESTION})
    with pytest.raises(UsageError, match="question is empty"):
        await around(reader).ainvoke({"question": " "})
    with pytest.raises(TypeError, match="ainvoke"):
        around(reader).invoke({"question": QUESTION})


# The example shows which steps were gone through, those of the paths inside of those of the run.
@pytest.mark.usefixtures("at_home")
async def test_example(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    await example.main(corpus)
    lines = capsys.readouterr().out.splitlines()

    assert lines[:2] == ["   rational_plan", "   initial_nodes"]
    assert lines.count("   path") == lines.count("     end_path") == 2
    assert lines[-3:-1] == [" read", " entitle"]
    assert "BENEDICT XV" in lines[-1]
