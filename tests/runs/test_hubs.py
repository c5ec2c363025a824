"""A star with 5,000 facts around one node, and a rare bridge that leads out of it.

The graph is written directly, without extraction; asking goes the whole way of a chat model.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from graphreader import tokens
from graphreader.graph_reader import GraphReader
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.retry import ModelService
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.store import schema
from graphreader.store.connection import open_connection
from graphreader.store.writer import GraphWriter
from graphreader.testing import ChatRequest, FunctionChatModel
from tests.neo4j import texts

pytestmark = pytest.mark.slow

QUESTION = "Who sold the lantern that is kept in Paris?"
BRIDGE = "The lantern of Zenobia is kept in Paris."
BEHIND = "Zenobia had bought it from Odenath."
FACTS = 5_000
WINDOW = 4096
A_CHUNK = 50
FACTS_OF_A_VISITOR = 4

Parts = list[tuple[str, dict[str, list[str]]]]


def star(facts: int) -> Parts:
    """So many facts about Paris, a chunk for every 50; the bridge is the very last one."""
    made = [
        (f"Visitor{n // FACTS_OF_A_VISITOR} came to Paris in {n} days.", n // FACTS_OF_A_VISITOR)
        for n in range(facts - 1)
    ]
    named = {fact: ["Paris", f"Visitor{visitor}"] for fact, visitor in made}
    named[BRIDGE] = ["lantern", "Zenobia", "Paris"]
    every = list(named)
    groups = [every[start : start + A_CHUNK] for start in range(0, len(every), A_CHUNK)]
    return [(" ".join(group), {fact: named[fact] for fact in group}) for group in groups]


async def write(given: Settings, corpus: str, facts: int) -> None:
    """The star, and another document into which the bridge leads."""
    connection, embedder = await open_connection(given), OfflineEmbedder()
    await schema.prepare(connection)
    writer = GraphWriter(connection, corpus)
    await writer.begin_corpus(
        decider="fake:model", prompts="1", embedding=embedder.name, dimension=embedder.dimension
    )
    await texts.write(writer, "city", star(facts))
    await texts.write(writer, "queen", [(BEHIND, {BEHIND: ["Zenobia", "Odenath"]})])
    wanted = [one for one in await writer.unembedded() if not one.name.startswith("Visitor")]
    vectors = await embedder.embed([one.name for one in wanted])
    await writer.write_embeddings(zip([one.id for one in wanted], vectors, strict=True))
    await connection.aclose()


@pytest.fixture(scope="module")
def city(neo4j: Settings) -> Iterator[str]:
    """A corpus with the star."""
    corpus = f"test-{uuid4().hex[:12]}"
    asyncio.run(write(neo4j, corpus, FACTS))
    yield corpus
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.delete(everything=True)


def numbered(prompt: str, mark: str) -> dict[str, int]:
    """The first lines of what is numbered between two marks, and their numbers."""
    inside = prompt.partition(f"<{mark}>\n")[2].partition(f"\n</{mark}>")[0]
    lines = re.findall(r"^\[(\d+)\] (.*?)(?: \(\d+ fact.*)?$", inside, re.MULTILINE)
    return {name: int(n) for n, name in lines}


def mind(notes: bool) -> Any:
    """Looks for the lantern; goes over the bridge as soon as it sees it, and only then.

    Without `notes` its notebook stays empty, so that nothing of it helps to find the bridge.
    """

    def think(request: ChatRequest) -> Any:
        prompt, reason = request.user, {"rationale": "r"}
        match request.decision:
            case "RationalPlan":
                return {"plan": "Find the lantern of Paris and who sold it.", "needs": ["lantern"]}
            case "InitialNodes":
                nodes = numbered(prompt, "nodes")
                others = [n for n in nodes.values() if n != nodes["Paris"]]
                scores = [(nodes["Paris"], 100), *((n, 1) for n in others[:9])]
                return {"nodes": [{"number": n, "score": score} for n, score in scores]}
            case "FactsDecision":
                at_hub = "Current node: Paris\n" in prompt
                unread = [n for name, n in numbered(prompt, "facts").items() if "queen" in name]
                seen = BRIDGE if notes and BRIDGE in prompt else ""
                function = "stop_and_read_neighbor" if at_hub else "read_chunk"
                return {**reason, "notebook": seen, "function": function, "chunks": unread}
            case "NeighborDecision":
                bridge = numbered(prompt, "neighbors").get("Zenobia", 0)
                function = "read_neighbor_node" if bridge else "termination"
                return {**reason, "function": function, "neighbor": bridge}
            case "ChunkDecision":
                noted = {"notebook": BEHIND, "quotes": [BEHIND]}
                return {**reason, **noted, "function": "termination"}
            case "Answer":
                claim = {"claim": BEHIND, "citations": [1]}
                answer = {
                    "analysis": "",
                    "answer": "Odenath",
                    "explanation": "",
                    "confidence": "stated",
                }
                return {**answer, "claims": [claim], "contradictions": []}
        raise AssertionError(request.decision)

    return think


def asking(given: Settings, corpus: str, model: FunctionChatModel) -> GraphReader:
    """A reader whose model has a small window and goes one path."""
    decider = LanguageModelDecider(model, ModelService("fake:model"), window=WINDOW)
    changed = given.model_copy(update={"initial_nodes": 1, "window": WINDOW})
    return GraphReader(corpus, settings=changed, decider=decider)


def ask(given: Settings, corpus: str, notes: bool = True) -> tuple[Reading, FunctionChatModel]:
    model = FunctionChatModel(function=mind(notes))
    with asking(given, corpus, model) as reader:
        return reader.ask(QUESTION), model


# The one fact out of 5,000 that leads on is among those that are shown first, and so is the node
# behind it, whether or not the notebook names it already. Every prompt stays inside the window, and
# says how many facts there are in all.
@pytest.mark.parametrize("notes", [True, False], ids=["noted", "not noted"])
def test_the_rare_bridge(neo4j: Settings, city: str, notes: bool) -> None:
    reading, model = ask(neo4j, city, notes)

    (path,) = reading.paths
    facts = next(one.user for one in model.requests if one.decision == "FactsDecision")
    assert BRIDGE in facts
    assert [(call.name, call.argument) for call in path.functions] == [
        ("stop_and_read_neighbor", ""),
        ("read_neighbor_node", "Zenobia"),
        ("read_chunk", "queen, chunk 0"),
        ("termination", ""),
    ]
    assert (reading.answer, [one.quote for one in reading.citations]) == ("Odenath", [BEHIND])
    for request in model.requests:
        words = sum(tokens.count(str(message.text)) for message in request.messages)
        assert words + tokens.count(json.dumps(request.schema)) <= WINDOW
    assert re.search(r"5,?000|4,?9\d\d", facts)
