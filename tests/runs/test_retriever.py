"""A reader as a LangChain retriever."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from graphreader.agent.decisions import Answer
from graphreader.agent.tasks import AnswerTask, ChunkTask, FactsTask, InitialNodesTask
from graphreader.errors import GraphReaderError, UsageError
from graphreader.graph_reader import GraphReader
from graphreader.integrations.langchain import GraphReaderRetriever
from graphreader.settings import Settings
from tests.runs import world

QUESTION = "Who met Beta?"


def first_chunk(task: FactsTask) -> Any:
    """Reads the first chunk that is shown, and no other one."""
    return world.facts("read_chunk", [1], task.notebook)


def quoting(task: ChunkTask) -> Any:
    """Keeps the first sentence of the chunk as a quote, and ends the path."""
    return world.chunk("termination", "Alpha did.", [task.text.split(".")[0] + "."])


def citing_alpha(task: AnswerTask) -> Answer:
    """Rests the answer on the quote of Alpha alone."""
    numbers = [n for n, one in enumerate(task.evidence, 1) if "Alpha met" in one.quote]
    return world.answer("Alpha did.", *numbers)


SCRIPT: dict[Any, Any] = {
    InitialNodesTask: world.nodes("Beta", "Gamma"),
    FactsTask: first_chunk,
    ChunkTask: quoting,
    AnswerTask: citing_alpha,
}


@pytest.fixture
def reader(neo4j: Settings, ring: str) -> Iterator[GraphReader]:
    decider = world.scripted(world.RING_FACTS, SCRIPT)
    with world.reader(neo4j, ring, decider, initial_nodes=2) as reader:
        yield reader


def seen(documents: list[Document]) -> list[tuple[str, int, list[int], bool]]:
    """Kind, chunk, paths, cited."""
    return [
        (one.metadata["kind"], one.metadata["chunk"], one.metadata["paths"], one.metadata["cited"])
        for one in documents
    ]


# What was read and looked at comes back: the cited first, then what more paths saw, then in order.
def test_what_an_exploration_found(reader: GraphReader, ring: str) -> None:
    documents = GraphReaderRetriever(reader=reader).invoke(QUESTION)

    assert seen(documents) == [
        ("chunk", 0, [1], True),
        ("atomic_fact", 0, [1], True),
        ("atomic_fact", 1, [1, 2], False),
        ("chunk", 1, [2], False),
        ("atomic_fact", 2, [2], False),
    ]
    chunk, fact, both, *_ = documents
    [document] = reader.documents()
    passage = reader.chunk("ring", 0)
    assert chunk.page_content == passage.text == world.padded(world.RING[0]) + "\n\n"
    assert chunk.id == passage.id
    assert chunk.metadata == {
        "kind": "chunk",
        "corpus": ring,
        "document": "ring",
        "document_id": document.id,
        "source": document.source,
        "chunk": 0,
        "start": 0,
        "end": len(passage.text),
        "places": "",
        "paths": [1],
        "cited": True,
        "quotes": ["Alpha met Beta here."],
    }
    assert fact.page_content == "Alpha met Beta here."
    assert fact.metadata == {**chunk.metadata, "kind": "atomic_fact", "key_elements": ["Beta"]}
    assert both.metadata["key_elements"] == ["Beta", "Gamma"]


# Awaiting gives the same, also where many ask at once and in another loop than the first.
def test_awaited(reader: GraphReader) -> None:
    retriever = GraphReaderRetriever(reader=reader)
    expected = retriever.invoke(QUESTION)

    assert asyncio.run(retriever.ainvoke(QUESTION)) == expected
    assert asyncio.run(retriever.abatch([QUESTION] * 2)) == [expected] * 2


# Only so many as are wanted, and no facts where none are wanted.
def test_options(reader: GraphReader) -> None:
    chunks = GraphReaderRetriever(reader=reader, facts=False).invoke(QUESTION)
    three = GraphReaderRetriever(reader=reader, k=3).invoke(QUESTION)

    assert [kind for kind, *_ in seen(chunks)] == ["chunk", "chunk"]
    assert [chunk for _, chunk, *_ in seen(three)] == [0, 0, 1]
    with pytest.raises(ValidationError):
        GraphReaderRetriever(reader=reader, k=0)
    with pytest.raises(ValidationError):
        GraphReaderRetriever(reader=reader, mode="quick")


# It is a link of a chain as any other retriever. What goes wrong is an error of ours in words.
async def test_in_a_chain(neo4j: Settings, reader: GraphReader) -> None:
    retriever = GraphReaderRetriever(reader=reader, facts=False)
    chain = retriever | RunnableLambda(lambda found: " / ".join(one.page_content for one in found))

    assert (await chain.ainvoke(QUESTION)).startswith("Alpha met Beta here.")
    with pytest.raises(UsageError, match="question is empty"):
        chain.invoke(" ")
    with (
        GraphReader("nothing-here", settings=neo4j) as nothing,
        pytest.raises(GraphReaderError, match="There is no corpus"),
    ):
        GraphReaderRetriever(reader=nothing).invoke(QUESTION)


# Nothing of the reader, which knows passwords, gets into what is dumped or printed of it.
def test_dumped(reader: GraphReader) -> None:
    retriever = GraphReaderRetriever(reader=reader, k=3)
    copied = retriever.model_copy(update={"k": 1})

    assert retriever.model_dump(exclude_none=True) == {"facts": True, "k": 3}
    assert len(copied.invoke(QUESTION)) == 1
    assert "SecretStr" not in repr(retriever)
