"""The agent as a graph that somebody else runs, alone and as a step of another graph."""

import asyncio
import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from graphreader import sync
from graphreader.agent.events import as_plain
from graphreader.agent.tasks import AnswerTask, ChunkTask, InitialNodesTask, NeighborTask
from graphreader.errors import UnknownCorpusError, UsageError
from graphreader.graph_reader import GraphReader
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.settings import Settings
from graphreader.waiting import Waiting, announce
from tests.runs import world

ALPHA = {"question": "Whom did Alpha meet?"}
DELTA = {"question": "Whom did Delta meet?"}
ANSWER = f"{ALPHA['question']} ring, chunk 0. ring, chunk 3."
Graph = CompiledStateGraph[Any, Any, Any, Any]


def quoting(task: ChunkTask) -> Any:
    """Note and quote the sentence of the chunk."""
    sentence = task.text[: task.text.index(".") + 1]
    return world.chunk("termination", f"{task.label}.", [sentence])


SCRIPT: dict[Any, Any] = {
    InitialNodesTask: world.nodes("Beta", "Epsilon"),
    ChunkTask: quoting,
    AnswerTask: lambda task: world.answer(" ".join([task.question, *task.notebooks]), 1),
}


@pytest.fixture
def reader(neo4j: Settings, ring: str) -> Iterator[GraphReader]:
    decider = world.scripted(world.RING_FACTS, SCRIPT)
    with world.reader(neo4j, ring, decider, initial_nodes=2) as reader:
        yield reader


@pytest.fixture
def meek(neo4j: Settings, ring: str) -> Iterator[GraphReader]:
    """A reader whose runs may have six calls, which two paths would like to exceed."""
    decider = world.scripted({}, {NeighborTask: lambda task: world.neighbor(1)})
    with world.reader(neo4j, ring, decider, initial_nodes=2, max_calls=6) as reader:
        yield reader


def checkpointed(reader: GraphReader, saver: InMemorySaver | None = None) -> Graph:
    """The reader's graph with checkpoints of its own."""
    graph = reader.as_graph()
    graph.checkpointer = saver or InMemorySaver()
    return graph


def config(thread: str = "one") -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def calls(result: Mapping[str, Any]) -> int:
    return sum(cost["calls"] for cost in result["costs"].values())


# A question gives what an ask gives, in any loop, and nothing of it stands among the kept runs.
def test_as_asked(reader: GraphReader) -> None:
    reading = reader.ask(ALPHA["question"])
    kept = reader.runs()
    graph = reader.as_graph()
    ended = [asyncio.run(graph.ainvoke(ALPHA)) for _ in range(2)]

    assert [one["answer"] for one in ended] == [reading.answer] * 2
    assert [len(one["paths"]) for one in ended] == [2, 2]
    assert ended[0]["citations"][0]["quote"] == reading.citations[0].quote
    assert reader.runs() == kept


# All nodes of a run, each of which opens its context anew, share the vectors of its queries.
async def test_each_query_is_embedded_once(neo4j: Settings, ring: str) -> None:
    embedded = Counter[str]()

    class CountingEmbedder(OfflineEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            embedded.update(texts)
            return await super().embed(texts)

    decider = world.scripted({}, {NeighborTask: lambda task: world.neighbor(1)})
    settings = world.settings(neo4j, initial_nodes=2)
    embedder = CountingEmbedder()
    with GraphReader(ring, settings=settings, decider=decider, embedder=embedder) as reader:
        ended = await reader.as_graph().ainvoke(ALPHA)

    functions = [one["name"] for path in ended["paths"] for one in path["functions"]]
    assert functions.count("read_neighbor_node") > 1
    assert embedded[ALPHA["question"]] == 1


# A second question of the same thread begins anew: nothing of the first one is in its answer, nor
# in its state while it is on its way.
async def test_a_second_question(reader: GraphReader) -> None:
    graph = checkpointed(reader)
    first = await graph.ainvoke(ALPHA, config())
    await graph.ainvoke(DELTA, config(), interrupt_before=["initial_nodes"])
    state = (await graph.aget_state(config())).values
    second = await graph.ainvoke(None, config())
    result = ("answer", "analysis", "unjoined", "citations", "claims", "contradictions", "paths")

    assert not any(state[name] for name in (*result, "nodes", "related", "answered"))
    assert state["question"] == DELTA["question"]
    assert second == await reader.as_graph().ainvoke(DELTA)
    assert [one["path"] for one in second["paths"]] == [1, 2]
    assert first["answer"] != second["answer"]


# A run that is stopped goes on, also where another process has its dependencies no more, or where
# the reader was closed meanwhile or has lost its database.
@pytest.mark.parametrize("meanwhile", ["another process", "closed", "lost"])
async def test_resumed(reader: GraphReader, meanwhile: str) -> None:
    graph = checkpointed(reader)
    await graph.ainvoke(ALPHA, config(), interrupt_before=["path"])
    before = await sync.arun(reader.resources.connection())
    if meanwhile == "another process":
        graph = checkpointed(reader, graph.checkpointer)
    elif meanwhile == "closed":
        await reader.aclose()
    else:
        before.is_lost = True
    ended = await graph.ainvoke(None, config())

    assert ended["answer"] == ANSWER
    assert {one["stopped"] for one in ended["paths"]} == {"termination"}
    now = await sync.arun(reader.resources.connection())
    assert (now is not before) is (meanwhile != "another process")


# The budget of a run is one for all its steps, also where another process goes on with it.
@pytest.mark.parametrize(
    ("at", "remembered"), [("initial_nodes", True), ("path", False), ("answer_reasoning", False)]
)
async def test_one_budget(meek: GraphReader, at: str, remembered: bool) -> None:
    graph = checkpointed(meek)
    await graph.ainvoke(ALPHA, config(), interrupt_before=[at])
    again = graph if remembered else checkpointed(meek, graph.checkpointer)
    result = await again.ainvoke(None, config())

    assert 4 <= calls(result) <= 6
    assert "budget" in {one["stopped"] for one in result["paths"]}


# What cannot be asked is refused in the words of an ask.
async def test_refusals(reader: GraphReader) -> None:
    empty: Any
    for empty in ({"question": " "}, {"question": ["Why?"]}, {"notes": []}):
        with pytest.raises(UsageError, match="The question is empty"):
            await reader.as_graph().ainvoke(empty)
    with pytest.raises(UnknownCorpusError, match="There is no corpus 'nowhere'"):
        await reader.at("nowhere").as_graph().ainvoke(ALPHA)
    with pytest.raises(TypeError, match="ainvoke"):
        reader.as_graph().invoke(ALPHA)


class Story(TypedDict, total=False):
    """The state of the graph around: of the agent's own keys only question, answer and notes."""

    question: str
    answer: str
    notes: Annotated[list[str], operator.add]
    title: str


def around(reader: GraphReader) -> Graph:
    """A graph that asks, and then makes a title of the answer."""
    graph = StateGraph(Story)
    graph.add_node("read", reader.as_graph())
    graph.add_node("entitle", lambda state: {"title": state["answer"].upper()})
    graph.add_edge(START, "read")
    graph.add_edge("read", "entitle")
    graph.add_edge("entitle", END)
    return graph.compile(checkpointer=InMemorySaver())


# What a node waits for is in the custom stream while it waits.
async def test_waits(neo4j: Settings, ring: str) -> None:
    outage = Waiting("fake:model", "fake:model: 500, try 2 of 6 in 8 s", 8.0)

    def nodes(task: Any) -> Any:
        announce(outage)
        return world.nodes("Beta")(task)

    with world.reader(neo4j, ring, world.scripted({}, {InitialNodesTask: nodes})) as reader:
        stream = reader.as_graph().astream(ALPHA, stream_mode="custom", subgraphs=True)
        events = [event async for _, event in stream]

    assert as_plain(outage) in events
    assert events.index(as_plain(outage)) < len(events) - 1


# It is a step as any other: only the keys that both have go in and come out. With the checkpointer
# of the graph around the steps of all paths are seen, and their events; two runs at once each have
# the answer to their own question.
async def test_a_step_of_another_graph(reader: GraphReader) -> None:
    agent = around(reader)
    steps: Counter[tuple[int, str]] = Counter()
    chosen: list[tuple[int, str]] = []
    modes: Any = ["updates", "custom"]
    stream = agent.astream(ALPHA, config(), stream_mode=modes, subgraphs=True)
    async for namespace, mode, data in stream:
        if mode == "updates":
            steps.update((len(namespace), name) for name in data)
        elif data["event"] == "FunctionChosen":
            chosen.append((data["path"], data["call"]["name"]))
    both = [agent.ainvoke(one, config(one["question"])) for one in (ALPHA, DELTA)]
    ended = await asyncio.gather(*both)

    assert ended[0] == {**ALPHA, "answer": ANSWER, "notes": [], "title": ANSWER.upper()}
    assert ended[1]["answer"] == ANSWER.replace("Alpha", "Delta")
    assert steps == {
        **{(0, step): 1 for step in ("read", "entitle")},
        **{(1, step): 1 for step in ("rational_plan", "initial_nodes", "answer_reasoning")},
        (1, "path"): 2,
        **{(2, step): 2 for step in ("explore_atomic_facts", "explore_chunks", "end_path")},
    }
    functions = ("read_chunk", "termination")
    assert sorted(chosen) == [(path, name) for path in (1, 2) for name in functions]
