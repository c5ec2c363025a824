"""A reader as a tool of a LangChain agent."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from graphreader.agent.tasks import AnswerTask, ChunkTask, InitialNodesTask
from graphreader.graph_reader import GraphReader
from graphreader.integrations.langchain import in_words
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.retry import ModelService
from graphreader.reading import Contradiction, Reading
from graphreader.settings import Settings
from graphreader.testing import ChatRequest, FunctionChatModel
from tests.runs import world

QUESTION = "Who met Beta?"
GIVEN: Any = {"messages": [("user", "Beta?")]}
SCRIPT: dict[Any, Any] = {
    InitialNodesTask: world.nodes("Beta"),
    ChunkTask: lambda task: world.chunk("termination", "Alpha.", [task.text.split(".")[0] + "."]),
    AnswerTask: lambda task: world.answer("Alpha did.", 1),
}


@pytest.fixture
def reader(neo4j: Settings, ring: str) -> Iterator[GraphReader]:
    decider = world.scripted(world.RING_FACTS, SCRIPT)
    with world.reader(neo4j, ring, decider, initial_nodes=1) as reader:
        yield reader


def asks_once(question: str = QUESTION) -> FunctionChatModel:
    """A model that calls the first tool once, and then repeats the tool's result."""

    def reply(request: ChatRequest) -> AIMessage:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            return AIMessage(f"I am told: {last.text}")
        call = ToolCall(name=request.decision, args={"question": question}, id="1")
        return AIMessage("", tool_calls=[call])

    return FunctionChatModel(function=reply)


def tool_message(messages: list[BaseMessage]) -> ToolMessage:
    [message] = [one for one in messages if isinstance(one, ToolMessage)]
    return message


# An agent asks by the tool and goes on with the answer and its quotes; the whole reading is beside.
def test_in_an_agent(reader: GraphReader) -> None:
    agent = create_agent(asks_once(), [reader.as_tool()])
    messages = agent.invoke(GIVEN)["messages"]
    message = tool_message(messages)

    assert message.text == "Alpha did.\n\nQuotes:\n[1] ring: Alpha met Beta here."
    assert messages[-1].text == f"I am told: {message.text}"
    assert message.status == "success"
    assert isinstance(message.artifact, Reading)
    assert message.artifact.question == QUESTION
    assert message.artifact.run == reader.runs()[0].run


# The same awaited, with the steps of the agent kept: they know nothing of those of the run. A saver
# gives the reading back in plain types. Two agents may ask at once.
async def test_awaited(reader: GraphReader) -> None:
    saver, tool = InMemorySaver(), reader.as_tool()
    agent = create_agent(asks_once(), [tool], checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "one"}, "recursion_limit": 4}
    modes: Any = ["updates", "custom"]
    stream = agent.astream(GIVEN, config, stream_mode=modes, subgraphs=True)
    nodes = [(namespace, name) async for namespace, _, data in stream for name in data]
    message = tool_message(agent.get_state(config).values["messages"])
    both = [create_agent(asks_once(one), [tool]).ainvoke(GIVEN) for one in ("Who?", "What?")]
    ended = await asyncio.gather(*both)

    assert nodes == [((), "model"), ((), "tools"), ((), "model")]
    assert message.artifact["answered"] is True
    assert {one.config["configurable"]["thread_id"] for one in saver.list(None)} == {"one"}
    questions = [tool_message(one["messages"]).artifact.question for one in ended]
    assert questions == ["Who?", "What?"]


# What fails is told to the agent in words, which may go on with that; nothing else is in them.
def test_failure_in_words(neo4j: Settings) -> None:
    with GraphReader("nothing-here", settings=neo4j) as reader:
        agent = create_agent(asks_once(), [reader.as_tool()])
        messages = agent.invoke(GIVEN)["messages"]

    message = tool_message(messages)
    assert message.status == "error"
    assert message.text.startswith("There is no corpus 'nothing-here'")
    assert message.artifact is None
    assert messages[-1].text.startswith("I am told: There is no corpus")


# What should be known with the answer comes with it: that no model decided, which texts differ,
# which paths stopped early and why.
def test_notes(neo4j: Settings, ring: str, reader: GraphReader) -> None:
    with GraphReader(ring, settings=neo4j) as offline:
        words = offline.as_tool("ask_the_ring", "Knows who.").invoke({"question": QUESTION})
    one = Contradiction("One says Beta, one Gamma.", (1, 2))
    reading = replace(
        reader.ask(QUESTION),
        contradictions=(one,),
        notes=("Path 1 failed.",),
        explanation="The link is inferred.",
        confidence="likely",
    )

    assert "\nNote: No language model" in words
    first, second, *_ = in_words(reading).splitlines()
    assert first == f"{reading.answer} (likely, not stated)"
    assert second == "The link is inferred."
    assert in_words(reading).splitlines()[-2:] == [
        "The texts differ: One says Beta, one Gamma.",
        "Note: Path 1 failed.",
    ]


# The decisions of the run are no messages of the agent: a chat that streams shows its words alone.
async def test_streamed_messages(neo4j: Settings, ring: str) -> None:
    inner = FunctionChatModel(function=lambda request: "The model's own words, of no use.")
    decider = LanguageModelDecider(inner, ModelService("fake:model"), window=4096)
    settings = world.settings(neo4j, initial_nodes=1)
    with GraphReader(ring, settings=settings, decider=decider) as reader:
        agent = create_agent(asks_once(), [reader.as_tool()])
        stream = agent.astream(GIVEN, stream_mode="messages")
        shown = [one.text async for one, _ in stream if isinstance(one, AIMessage)]

    assert inner.requests
    assert not [text for text in shown if "own words" in text]
