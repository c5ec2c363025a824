"""GraphReader keeps what every reader promises (see `test_reader_contract`).

Its model finds one sentence in what it is shown.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document

from graphreader.graph_reader import GraphReader
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.providers import adapter_for
from graphreader.llm.retry import ModelService
from graphreader.offline.decider import OfflineDecider
from graphreader.reading import Reader, Reading
from graphreader.settings import Settings
from graphreader.testing import ChatRequest, FunctionChatModel
from graphreader.text.sentences import sentence_spans
from graphreader.tokens import count
from graphreader.usage import Usage
from tests.runs import lighthouse, world
from tests.runs.lighthouse import DOCUMENTS, KEY, OPTIONS, QUESTION, text_of

WINDOW = 4_096
KEEPER = re.compile(r"Keeper (\w+) of the northern road counted \d+ lamps before supper\.")


def langchain(text: str, title: str) -> Document:
    return Document(page_content=text, metadata={"title": title}, id=title)


def facts_of(text: str) -> dict[str, list[str]]:
    """One fact of each paragraph word for word, one in other words, and the key."""
    facts = {KEY: ["Marta Quiroga", "Valparaiso", "copper lighthouse"]} if KEY in text else {}
    for keeper in KEEPER.finditer(text):
        facts[keeper[0]] = [f"Keeper {keeper[1]}", "northern road"]
        facts[f"Aunt {keeper[1]} sent a letter about apples."] = [f"Aunt {keeper[1]}", "apples"]
    return facts


def fields_of(request: ChatRequest) -> Mapping[str, Any]:
    """The reply of a model that looks for the lighthouse, and else reads what comes first."""
    user = request.user
    if request.decision == "Extraction":
        facts = [{"fact": fact, "key_elements": of} for fact, of in facts_of(user).items()]
        return {"facts": facts}
    if request.decision == "RationalPlan":
        return {"plan": "Look for the lighthouse.", "needs": ["copper lighthouse"]}
    if request.decision == "InitialNodes":
        nodes = re.findall(r"(?m)^\[(\d+)\] (.+)$", user.partition("</nodes>")[0])
        scores = {
            int(n): 100 if name in ("Marta Quiroga", "Valparaiso") else 9 for n, name in nodes
        }
        return {"nodes": [{"number": n, "score": score} for n, score in scores.items()]}
    if request.decision == "NeighborDecision":
        return {"rationale": "", "function": "termination", "neighbor": 0}
    return noted(request)


def noted(request: ChatRequest) -> Mapping[str, Any]:
    user = request.user
    if request.decision == "FactsDecision":
        unread = re.findall(r"(?m)^\[(\d+)\] (?!.*\(already read\))", user)[:1]
        function = "read_chunk" if unread else "stop_and_read_neighbor"
        chunks = [int(number) for number in unread]
        return {"notebook": "Seen.", "rationale": "", "function": function, "chunks": chunks}
    quotes = [KEY] if KEY in user else []
    if request.decision == "ChunkDecision":
        function = "termination" if quotes else "search_more"
        notebook = "It is Valparaiso." if quotes else "Seen."
        return {"notebook": notebook, "quotes": quotes, "rationale": "", "function": function}
    answer = "Valparaiso" if quotes else "It is not told."
    claims = [{"claim": answer, "citations": [1]}] if quotes else []
    found = {"answer": answer, "answered": bool(quotes), "claims": claims}
    return {"analysis": "", **found, "contradictions": []}


class Modelled:
    """GraphReader with a model, and everything that it was asked about a question."""

    def __init__(self, settings: Settings, corpus: str) -> None:
        self.model = FunctionChatModel(function=fields_of)
        service, dialect = ModelService("fake:model"), adapter_for("openai", self.model)
        decider = LanguageModelDecider(lambda: self.model, service, window=WINDOW, adapter=dialect)
        self.reader = GraphReader(corpus, settings=settings, decider=decider)

    async def read(self, options: Sequence[str] = ()) -> Reading:
        self.model.requests.clear()
        return await self.reader.aask(QUESTION, options=options)

    def showed(self, text: str) -> bool:
        return lighthouse.showed(self.model.requests, text)


@pytest.fixture(scope="module")
def shelf(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, ...]]:
    """The settings, the corpus of the two books, and the titles of these by their ids."""
    corpus, home = f"test-{uuid4().hex[:12]}", tmp_path_factory.mktemp("home")
    settings = world.settings(neo4j, chunk_tokens=500, initial_nodes=3, home=home)
    with Modelled(settings, corpus).reader as reader:
        report = reader.ingest(*(langchain(one.text, one.title) for one in DOCUMENTS))
        yield settings, corpus, {one.id: one.title for one in report.documents}
        reader.delete(everything=True)


@pytest.fixture
async def asked(shelf: tuple[Any, ...]) -> AsyncIterator[Modelled]:
    asked = Modelled(*shelf[:2])
    yield asked
    await asked.reader.aclose()


# The question is answered; the reading says by whom and at what cost, to the last token.
async def test_answers(asked: Modelled, shelf: tuple[Any, ...]) -> None:
    reading = await asked.read()
    reader: Reader = asked.reader

    assert (reading.answer, reading.answered) == ("Valparaiso", True)
    assert (reading.question, reading.corpus) == (QUESTION, shelf[1])
    assert reading.reader == reader.name == "graphreader"
    assert reader.window == WINDOW
    assert reading.usage.calls == len(asked.model.requests) > 0
    assert reading.usage.input_tokens == sum(lighthouse.sizes(asked.model.requests))
    by_phase = sum(reading.phases.values(), Usage())
    assert replace(by_phase, seconds=reading.usage.seconds) == reading.usage
    assert "It is Valparaiso." in reading.evidence


# Documents count as read if a chunk of them was shown, facts if they were; shown text counts once.
async def test_counts_what_it_read(asked: Modelled, shelf: tuple[Any, ...]) -> None:
    reading = await asked.read()

    facts = {fact for one in DOCUMENTS for fact in facts_of(one.text) if asked.showed(f"- {fact}")}
    read, seen = [], 0
    for one in DOCUMENTS:
        sentences = [one.text[a:b] for a, b in sentence_spans(one.text)]
        shown = [sentence for sentence in sentences if asked.showed(sentence)]
        read += [one.title] if any(sentence.startswith("Rain") for sentence in shown) else []
        seen += count(" ".join(shown))
    seen += sum(count(fact) for fact in facts if fact.startswith("Aunt"))
    assert {shelf[2][id_] for id_ in reading.documents_read} == set(read)
    assert set(reading.facts_read) == facts
    assert len(reading.facts_read) == len(facts) > 0
    assert reading.tokens_read == pytest.approx(seen, rel=0.03)


# What is cited is a slice of a document that was read, at the place that the citation names.
async def test_cites_slices(asked: Modelled, shelf: tuple[Any, ...]) -> None:
    reading = await asked.read()

    texts = {one.title: one.text for one in DOCUMENTS}
    (cited,) = reading.citations
    assert texts[shelf[2][cited.document_id]][cited.start : cited.end] == cited.quote == KEY
    assert cited.document_id in reading.documents_read
    assert [claim.citations for claim in reading.claims] == [(1,)]


# No prompt is larger than the window, also with chunks as large as they may be and long texts.
async def test_keeps_its_window(neo4j: Settings, corpus: str, cleaned: None) -> None:
    asked = Modelled(world.settings(neo4j, chunk_tokens=2000), corpus)
    texts = [text_of(letter, 60, 50 if letter == "B" else None) for letter in "AB"]
    async with aclosing(asked.reader) as reader:
        await reader.aingest(*(langchain(text, text[:20]) for text in texts))
        building = lighthouse.sizes(asked.model.requests)
        reading = await asked.read()

    asking = lighthouse.sizes(asked.model.requests)
    assert max(*building, *asking) <= WINDOW
    assert min(max(building), max(asking)) > WINDOW / 2
    assert reading.answer == "Valparaiso"


# With a model that always says the same, so does the reader.
async def test_is_deterministic(asked: Modelled) -> None:
    first, second = await asked.read(), await asked.read()

    assert timeless(first) == timeless(second)


# Of options one is chosen; the model is shown all of them at each step.
async def test_chooses(asked: Modelled) -> None:
    reading = await asked.read(OPTIONS)

    assert reading.answer in OPTIONS
    assert reading.answered
    assert all(f"[{n}] {o}" in one.user for one in asked.model.requests for n, o in numbered())
    assert [one.quote for one in reading.citations] == [KEY]


# Without a model it answers, too, by quoting; and says that no model is in use.
async def test_offline(shelf: tuple[Any, ...]) -> None:
    async with aclosing(GraphReader(shelf[1], settings=shelf[0])) as reader:
        reading = await reader.aask(QUESTION)

    assert KEY in reading.answer
    assert KEY in [one.quote for one in reading.citations]
    assert OfflineDecider.notice in reading.notes
    facts = sum(count(fact) for fact in reading.facts_read)
    assert 0 < reading.tokens_read <= facts + sum(count(one.text) for one in DOCUMENTS)


def numbered() -> list[tuple[int, str]]:
    return list(enumerate(OPTIONS, 1))


def timeless(reading: Reading) -> Reading:
    return replace(reading, run="", usage=replace(reading.usage, seconds=0.0))
