"""What every reader promises, GraphReader and the baselines: see `graphreader.reading.Reader`.

Each decides by a chat model, which is a function that looks for one sentence in what it is shown.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from langchain_core.documents import Document as LangChainDocument

from graphreader.baselines import registry
from graphreader.documents import Document
from graphreader.errors import ModelUnavailableError, UsageError
from graphreader.graph_reader import GraphReader
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import Decider, Decision
from graphreader.llm.retry import ModelService
from graphreader.models import ModelRegistry
from graphreader.offline.decider import OfflineDecider
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.reading import Reader, Reading
from graphreader.settings import Settings
from graphreader.testing import ChatRequest, FunctionChatModel
from graphreader.text.sentences import sentence_spans
from graphreader.tokens import count
from graphreader.usage import Usage
from tests.runs import lighthouse
from tests.runs.lighthouse import DOCUMENTS, KEY, OPTIONS, QUESTION, document, text_of

D = TypeVar("D", bound=Decision)
SMALL, LARGE = 4_096, 16_000
# LightRAG, which needs a model and a package of its own, has a file of tests: test_lightrag.py.
BASELINES = [name for kind in registry.KINDS for name in kind.names if not kind.needs_model]
BASELINES += ["rag-embedding-1"]
# These read as little as they can.
SPARING = re.compile(r"golden|search-agent|read-agent.*|gistmem.*|rag-pages.*|rag-gists.*")
BUILDING = {"Extraction", "PausePoint", "Gist"}

every_reader = pytest.mark.parametrize("name", ["graphreader", *BASELINES])
every_baseline = pytest.mark.parametrize("name", BASELINES)
# The reader `golden` gets the evidence with the question.
every_searcher = pytest.mark.parametrize("name", [one for one in BASELINES if one != "golden"])


def facts_of(text: str) -> dict[str, list[str]]:
    """One fact of each paragraph word for word, one in other words, and the key."""
    facts = {KEY: ["Marta Quiroga", "Valparaiso", "copper lighthouse"]} if KEY in text else {}
    for keeper in re.finditer(r"Keeper (\w \d+) of the northern road counted \d+ lamps.*?\.", text):
        facts[keeper[0]] = [f"Keeper {keeper[1]}", "northern road"]
        facts[f"Aunt {keeper[1]} sent a letter about apples."] = [f"Aunt {keeper[1]}", "apples"]
    return facts


def reply(request: ChatRequest) -> Mapping[str, Any]:
    """The reply of a model that looks for the lighthouse, and else reads what comes first."""
    user, quotes = request.user, [KEY] if KEY in request.user else []
    match request.decision:
        case "Extraction":
            facts = [{"fact": fact, "key_elements": of} for fact, of in facts_of(user).items()]
            return {"facts": facts}
        case "RationalPlan":
            return {"plan": "Look for the lighthouse.", "needs": ["copper lighthouse"]}
        case "InitialNodes":
            nodes = re.findall(r"(?m)^\[(\d+)\] (.+) \(\d+ fact", user.partition("</nodes>")[0])
            best = ("Marta Quiroga", "Valparaiso")
            return {"nodes": [{"number": n, "score": 9 + 91 * (one in best)} for n, one in nodes]}
        case "FactsDecision":
            unread = re.findall(r"(?m)^\[(\d+)\] (?!.*\(already read\))", user)[:1]
            function = "read_chunk" if unread else "stop_and_read_neighbor"
            return {"notebook": "Seen.", "rationale": "", "function": function, "chunks": unread}
        case "ChunkDecision":
            function = "termination" if quotes else "search_more"
            notebook = "It is Valparaiso." if quotes else "Seen."
            return {"notebook": notebook, "quotes": quotes, "rationale": "", "function": function}
        case "NeighborDecision":
            return {"rationale": "", "function": "termination", "neighbor": 0}
        case "Answer":
            claims = [{"claim": "Valparaiso", "citations": [1]}] if quotes else []
            confidence = "stated" if quotes else "not in the texts"
            answer = {"answer": "Valparaiso", "confidence": confidence, "claims": claims}
            return {"analysis": "", **answer, "contradictions": []}
    return lighthouse.reply(request.decision, user)


class Subject:
    """A reader over documents, and the requests that its model gets."""

    def __init__(
        self,
        name: str,
        documents: Sequence[Document],
        settings: Settings,
        decider: Decider | None = None,
        corpus: str | None = None,
    ) -> None:
        self.name = name
        self.documents = documents
        self.model = FunctionChatModel(function=reply)
        self.settings = settings
        self.window = SMALL if name == "graphreader" else registry.window_of(name, self._models())
        self.decider = decider or LanguageModelDecider(
            self.model, ModelService("fake:model"), window=self.window
        )
        self.titles = {one.id: one.title for one in documents}
        self.reader: Reader = (
            self._graph_reader(corpus) if name == "graphreader" else self._baseline()
        )
        self.requests: list[ChatRequest] = []

    async def read(self, options: Sequence[str] = ()) -> Reading:
        if isinstance(self.reader, GraphReader):
            self.titles = {one.id: one.title for one in await self.reader.adocuments()}
        before = len(self.model.requests)
        reading = await self.reader.aask(QUESTION, options=options)
        self.requests = self.model.requests[before:]
        return reading

    def showed(self, text: str) -> bool:
        """Whether a prompt of the last question had the text, other than to build from it."""
        asking = [one for one in self.requests if one.decision not in BUILDING]
        return lighthouse.showed(asking, text)

    def derived(self) -> set[str]:
        """The facts or gists that the model made of the texts and that it was shown."""
        if self.name == "graphreader":
            facts = {fact for one in self.documents for fact in facts_of(one.text)}
            return {fact for fact in facts if self.showed(f"- {fact}")}
        gists = {reply(one)["gist"] for one in self.model.requests if one.decision == "Gist"}
        return {gist for gist in gists if self.showed(gist)}

    def _models(self, decider: Decider | None = None) -> ModelRegistry:
        return ModelRegistry(self.settings, decider, OfflineEmbedder())

    def _baseline(self) -> Reader:
        material = registry.Material(self.documents, golden=([KEY], self.documents))
        return registry.make(self.name, material, self._models(self.decider))

    def _graph_reader(self, corpus: str | None) -> GraphReader:
        """A reader of that corpus, or of a new one, which `delete` removes."""
        name = corpus or f"test-{uuid4().hex[:12]}"
        reader = GraphReader(name, settings=self.settings, decider=self.decider)
        documents = [
            LangChainDocument(page_content=one.text, metadata={"title": one.title}, id=one.id)
            for one in self.documents
        ]
        if not corpus:
            reader.ingest(*documents)
        return reader

    def delete(self) -> None:
        if isinstance(self.reader, GraphReader):
            self.reader.delete(everything=True)
            self.reader.close()


@pytest.fixture
def settings(neo4j: Settings, tmp_path: Path) -> Settings:
    return in_home(neo4j, tmp_path)


def in_home(neo4j: Settings, home: Path) -> Settings:
    changes = {"chunk_tokens": 500, "initial_nodes": 3, "window": SMALL, "long_window": LARGE}
    return neo4j.model_copy(update={"home": home, **changes})


@pytest.fixture(scope="module")
def graph_reader(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    home = tmp_path_factory.mktemp("home")
    subject = Subject("graphreader", DOCUMENTS, in_home(neo4j, home))
    yield subject
    subject.delete()


@pytest.fixture
def subject(request: pytest.FixtureRequest, name: str, settings: Settings) -> Any:
    """The reader of that name over the two books; GraphReader reads them in once for all tests."""
    if name == "graphreader":
        return request.getfixturevalue("graph_reader")
    return Subject(name, DOCUMENTS, settings)


# A question whose answer stands in the texts is answered; the reading says by whom and at what
# cost, to the last token.
@every_reader
async def test_answers(name: str, subject: Subject) -> None:
    reading = await subject.read()

    assert reading.answered
    assert reading.answer == "Valparaiso"
    assert reading.question == QUESTION
    assert reading.reader == subject.reader.name == name
    assert subject.reader.window == subject.window
    assert reading.usage.calls == len(subject.requests) > 0
    assert reading.usage.input_tokens == sum(lighthouse.sizes(subject.requests))
    by_phase = sum(reading.phases.values(), Usage())
    assert replace(by_phase, seconds=reading.usage.seconds) == reading.usage
    assert KEY in reading.evidence or "It is Valparaiso." in reading.evidence


# An empty question is refused.
@every_reader
async def test_empty_question(name: str, subject: Subject) -> None:
    with pytest.raises(UsageError, match="The question is empty: ask something"):
        await subject.reader.aask(" \n")


# No prompt is larger than the window, however long the texts are; and it is put to use.
@every_reader
async def test_keeps_its_window(name: str, settings: Settings) -> None:
    large = settings.model_copy(update={"chunk_tokens": 2_000})
    texts = [text_of(letter, 60, 50 if letter == "C" else None) for letter in "ABCDE"]
    subject = Subject(name, [document(n, text) for n, text in enumerate(texts)], large)

    await subject.read()
    subject.delete()

    sizes = lighthouse.sizes(subject.model.requests)
    assert all(size <= subject.window for size in sizes)
    if not SPARING.fullmatch(name):
        assert max(lighthouse.sizes(subject.requests)) > subject.window / 2


# Documents count as read if a passage of them was shown, and shown text counts in tokens, once; a
# gist or fact makes no document read, and counts if no text that was shown has it word for word.
@every_reader
async def test_counts_what_it_shows(name: str, subject: Subject) -> None:
    reading = await subject.read()

    derived = subject.derived()
    read, seen = set(), 0
    for one in DOCUMENTS:
        sentences = [one.text[start:end] for start, end in sentence_spans(one.text)]
        shown = [sentence for sentence in sentences if subject.showed(sentence)]
        read |= {one.title} if set(shown) - derived else set()
        seen += count(" ".join(shown))
    seen += sum(count(text) for text in derived if not any(text in one.text for one in DOCUMENTS))
    assert {subject.titles[id_] for id_ in reading.documents_read} == read
    assert reading.tokens_read == pytest.approx(seen, rel=0.03)
    if name == "graphreader":
        assert set(reading.facts_read) == derived
        assert len(reading.facts_read) == len(derived) > 0


# A citation is a slice of a document that was read, at the place that the citation names.
@every_reader
async def test_cites_slices(name: str, subject: Subject) -> None:
    reading = await subject.read()

    (cited,) = reading.citations
    text = next(one.text for one in DOCUMENTS if one.title == subject.titles[cited.document_id])
    assert text[cited.start : cited.end] == cited.quote == KEY
    if name != "gistmem":  # its gist is a quote of a page that was not shown
        assert cited.document_id in reading.documents_read
    assert [claim.citations for claim in reading.claims] == [(1,)]


# Of options one is chosen, and the answer is its own words.
@every_reader
async def test_chooses(subject: Subject) -> None:
    reading = await subject.read(OPTIONS)

    assert reading.answered
    assert reading.answer == "Valparaiso"
    assert all(subject.showed(f"[{n}] {option}") for n, option in enumerate(OPTIONS, 1))
    assert [one.quote for one in reading.citations] == [KEY]


# Without a model every reader answers, too, by quoting; and says that no model is in use.
@every_reader
async def test_offline(name: str, subject: Subject, settings: Settings) -> None:
    corpus = subject.reader.corpus if isinstance(subject.reader, GraphReader) else None
    offline = Subject(name, DOCUMENTS, settings, OfflineDecider(), corpus)

    reading = await offline.read()

    assert reading.answered
    assert KEY in reading.answer
    assert KEY in [one.quote for one in reading.citations]
    assert reading.notes[0] == OfflineDecider.notice
    facts = sum(count(fact) for fact in reading.facts_read)
    assert 0 < reading.tokens_read <= facts + sum(count(one.text) for one in DOCUMENTS)
    if isinstance(offline.reader, GraphReader):
        await offline.reader.aclose()
    else:
        assert (await offline.read(OPTIONS)).answer == "Valparaiso"


# Without any text there is no answer, no request, and a note.
@every_searcher
async def test_nothing_to_read(name: str, settings: Settings) -> None:
    subject = Subject(name, [document(1, " \n")], settings)

    reading = await subject.read()

    assert not reading.answered
    assert reading.answer
    assert reading.notes
    assert not reading.documents_read
    assert reading.tokens_read == 0
    assert not subject.model.requests


# What the texts do not tell is not answered, and nothing is cited.
@every_searcher
async def test_no_answer(name: str, settings: Settings) -> None:
    if name.startswith(("rag-", "full-text", "read-agent", "gistmem")):
        name = f"{name.removesuffix('-may-refuse')}-may-refuse"
    reading = await Subject(name, DOCUMENTS[:1], settings).read()

    assert not reading.answered
    assert reading.answer
    assert not reading.citations


# A model that is gone at the last decision is an error, since nobody knows what it would have said;
# the error has the cost of the whole question so far.
@every_baseline
async def test_unavailable_model(
    name: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide, left = OfflineDecider.decide, 1_000

    async def counting(self: OfflineDecider, *arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if not left:
            raise ModelUnavailableError("It does not answer.")
        return await decide(self, *arguments)

    monkeypatch.setattr(OfflineDecider, "decide", counting)
    elsewhere = in_home(settings, tmp_path / "other")
    await Subject(name, DOCUMENTS, elsewhere, OfflineDecider()).read()
    decisions = left = 1_000 - left

    with pytest.raises(ModelUnavailableError) as gone:
        await Subject(name, DOCUMENTS, settings, OfflineDecider()).read()

    assert gone.value.spent.calls == decisions - 1
