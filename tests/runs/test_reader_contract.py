"""What every reader promises, whichever it is: see `graphreader.reading.Reader`.

Each is built of documents and a decider that asks a chat model; the model is a function that finds
one sentence in what it is shown. What a reader builds before it is asked is no part of a question.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from graphreader.baselines.answering import FullText, Golden
from graphreader.baselines.chunk_reading import ChunkReader, ChunkReaderWithNotes
from graphreader.baselines.read_agent.pages import Pagination
from graphreader.baselines.read_agent.reader import GistMemRetrieval, PagesRetrieval, ReadAgent
from graphreader.baselines.retrieval import BM25, EmbeddingRanking, Retrieval, top_1_tokens
from graphreader.baselines.search_agent import SearchAgent
from graphreader.baselines.session import passages_of
from graphreader.documents import Document
from graphreader.errors import ModelUnavailableError
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import (
    Budget,
    Decider,
    Decision,
    DecisionResult,
    Task,
    TokenCallback,
)
from graphreader.llm.providers import adapter_for
from graphreader.llm.retry import ModelService
from graphreader.offline.decider import OfflineDecider
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.reading import Reader, Reading
from graphreader.testing import ChatRequest, FunctionChatModel
from graphreader.text.sentences import sentence_spans
from graphreader.tokens import count
from graphreader.usage import Usage
from tests.runs import lighthouse
from tests.runs.lighthouse import DOCUMENTS, KEY, OPTIONS, QUESTION, document, text_of

D = TypeVar("D", bound=Decision)
SMALL, LARGE = 4_096, 32_000

Build = Callable[[Sequence[Document], Decider, int], Reader]


def retrieval(kind: str, k: int) -> Build:
    def build(documents: Sequence[Document], decider: Decider, window: int) -> Reader:
        limit = top_1_tokens(decider, window) if k == 1 else 1_000
        passages = passages_of(documents, limit)
        ranking = (
            BM25(passages) if kind == "bm25" else EmbeddingRanking(passages, OfflineEmbedder())
        )
        return Retrieval(f"rag-{kind}-{k}", ranking, decider, k=k, window=window)

    return build


def search_agent(documents: Sequence[Document], decider: Decider, window: int) -> Reader:
    return SearchAgent(documents, decider, OfflineEmbedder(), window=window)


def read_agent(**options: Any) -> Build:
    def build(documents: Sequence[Document], decider: Decider, window: int) -> Reader:
        return ReadAgent(documents, builder=decider, decider=decider, window=window, **options)

    return build


def gist_mem_retrieval(documents: Sequence[Document], decider: Decider, window: int) -> Reader:
    return GistMemRetrieval(
        documents,
        builder=decider,
        decider=decider,
        ranking_of=lambda pages: EmbeddingRanking(pages, OfflineEmbedder()),
        window=window,
    )


def pages_retrieval(documents: Sequence[Document], decider: Decider, window: int) -> Reader:
    return PagesRetrieval(
        "rag-pages-bm25-3",
        documents,
        builder=decider,
        decider=decider,
        ranking_of=BM25,
        k=3,
        pages=Pagination(),
        window=window,
    )


READERS: Mapping[str, tuple[Build, int]] = {
    "rag-bm25-1": (retrieval("bm25", 1), SMALL),
    "rag-bm25-3": (retrieval("bm25", 3), SMALL),
    "rag-embedding-1": (retrieval("embedding", 1), SMALL),
    "rag-embedding-3": (retrieval("embedding", 3), SMALL),
    "full-text": (lambda d, m, w: FullText(d, m, window=w), LARGE),
    "full-text-middle": (lambda d, m, w: FullText(d, m, window=w, policy="middle"), LARGE),
    "full-text-refuse": (lambda d, m, w: FullText(d, m, window=w, policy="refuse"), LARGE),
    "chunk-read": (lambda d, m, w: ChunkReader(d, m, window=w), SMALL),
    "chunk-read-notes": (lambda d, m, w: ChunkReaderWithNotes(d, m, window=w), SMALL),
    "rag-pages-bm25-3": (pages_retrieval, LARGE),
    "golden": (lambda d, m, w: Golden([KEY], d, m, window=w), SMALL),
    "search-agent": (search_agent, SMALL),
    "read-agent-p": (read_agent(strategy="parallel"), LARGE),
    "read-agent-s": (read_agent(strategy="sequential"), LARGE),
    "read-agent-s-task-aware": (read_agent(strategy="sequential", task_aware=True), LARGE),
    "gistmem": (read_agent(strategy="gists"), LARGE),
    "gistmem-retrieval-1": (gist_mem_retrieval, LARGE),
}
# These read as little as they can.
SPARING = {
    "rag-pages-bm25-3",
    "golden",
    "search-agent",
    "read-agent-p",
    "read-agent-s",
    "read-agent-s-task-aware",
    "gistmem-retrieval-1",
    "gistmem",
}
every_reader = pytest.mark.parametrize("name", READERS)
# "golden" is given what is to be found.
every_finder = pytest.mark.parametrize("name", [name for name in READERS if name != "golden"])


def said(request: ChatRequest) -> Mapping[str, Any]:
    return lighthouse.reply(request.decision, request.user)


class Asked:
    """A reader of the contract, and everything that its model was asked."""

    def __init__(self, name: str, documents: Sequence[Document]) -> None:
        build, self.window = READERS[name]
        self.model = FunctionChatModel(function=said)
        decider = LanguageModelDecider(
            lambda: self.model,
            ModelService("fake:model"),
            window=self.window,
            adapter=adapter_for("openai", self.model),
        )
        self.reader = build(documents, decider, self.window)
        self.before = 0

    async def read(self, options: Sequence[str] = ()) -> Reading:
        if isinstance(self.reader, ReadAgent):
            await self.reader.memory(QUESTION)
        elif isinstance(self.reader, PagesRetrieval):
            await self.reader.pages()
        self.before = len(self.model.requests)
        return await self.reader.aask(QUESTION, options=options)

    @property
    def requests(self) -> list[ChatRequest]:
        """Those of the last question."""
        return self.model.requests[self.before :]

    @property
    def gists(self) -> set[str]:
        """What the model made of pages, whether it was shown or not."""
        made = [one for one in self.model.requests if one.decision == "Gist"]
        return {said(one)["gist"] for one in made}

    def showed(self, text: str) -> bool:
        return lighthouse.showed(self.requests, text)


# A question whose answer stands in the texts is answered; the reading says by whom and at what
# cost.
@every_reader
async def test_answers(name: str) -> None:
    asked = Asked(name, DOCUMENTS)

    reading = await asked.read()

    assert reading.answered
    assert reading.answer == "Valparaiso"
    assert reading.question == QUESTION
    assert reading.corpus == "c"
    assert reading.reader == asked.reader.name == name
    assert asked.reader.window == asked.window
    assert reading.usage.calls == len(asked.requests) > 0
    assert reading.usage.input_tokens == sum(lighthouse.sizes(asked.requests))
    by_phase = sum(reading.phases.values(), Usage())
    assert replace(by_phase, seconds=reading.usage.seconds) == reading.usage
    assert KEY in reading.evidence


# No prompt is larger than the window, however long the texts are; and it is put to use.
@every_reader
async def test_keeps_its_window(name: str) -> None:
    texts = [text_of(letter, 150, 140 if letter == "C" else None) for letter in "ABCDE"]
    asked = Asked(name, [document(n, text) for n, text in enumerate(texts)])

    await asked.read()

    sizes = lighthouse.sizes(asked.model.requests)
    assert all(size <= asked.window for size in sizes)
    if name == "full-text-refuse":
        assert not sizes
    elif name not in SPARING:
        assert max(sizes) > asked.window / 2


# Documents count as read if a passage of them was shown, and shown text counts in tokens, once; a
# gist makes no document read, and counts where it says something in other words.
@every_reader
async def test_counts_what_it_read(name: str) -> None:
    asked = Asked(name, DOCUMENTS)

    reading = await asked.read()

    gists = {gist for gist in asked.gists if asked.showed(gist)}
    read, seen = [], sum(count(gist) for gist in gists - {KEY})
    for one in DOCUMENTS:
        sentences = [one.text[a:b] for a, b in sentence_spans(one.text)]
        shown = [sentence for sentence in sentences if asked.showed(sentence)]
        read += [one.id] if set(shown) - gists else []
        seen += count(" ".join(shown))
    assert set(reading.documents_read) == set(read)
    assert reading.tokens_read == pytest.approx(seen, rel=0.03)


# What is cited is a slice of a document that was read, at the place that the citation names.
@every_reader
async def test_cites_slices(name: str) -> None:
    reading = await Asked(name, DOCUMENTS).read()

    texts = {one.id: one.text for one in DOCUMENTS}
    quotes = [one.quote for one in reading.citations]
    assert quotes == [KEY]
    assert all(texts[one.document_id][one.start : one.end] == KEY for one in reading.citations)
    if name != "gistmem":  # its gist is a quote of a page that was not shown
        assert {one.document_id for one in reading.citations} <= set(reading.documents_read)
    assert [claim.citations for claim in reading.claims] == [(1,)]


# An empty document among others changes nothing but its own absence.
@every_reader
async def test_survives_an_empty_document(name: str) -> None:
    documents = [document(7, ""), *DOCUMENTS, document(8, " \n\n ")]

    reading = await Asked(name, documents).read()

    assert reading.answer == "Valparaiso"
    assert not {"d7", "d8"} & set(reading.documents_read)


# Without any text there is no answer, no request, and a note.
@every_finder
@pytest.mark.parametrize("documents", [[], [document(1, "")], [document(1, " \n")]])
async def test_has_nothing_to_read(name: str, documents: list[Document]) -> None:
    asked = Asked(name, documents)

    reading = await asked.read()

    assert not reading.answered
    assert reading.answer
    assert reading.notes
    assert not reading.documents_read
    assert reading.tokens_read == 0
    assert not asked.model.requests


# What the texts do not tell is not answered, and nothing is cited.
@every_finder
async def test_does_not_find(name: str) -> None:
    reading = await Asked(name, DOCUMENTS[:1]).read()

    assert not reading.answered
    assert reading.answer
    assert not reading.citations


# With a model that always says the same, so does the reader; a second question starts afresh.
@every_reader
async def test_is_deterministic(name: str) -> None:
    asked = Asked(name, DOCUMENTS)

    first, second = await asked.read(), await asked.read()
    other = await Asked(name, DOCUMENTS).read()

    assert timeless(first) == timeless(second) == timeless(other)


# Of options one is chosen, and the answer is its own words.
@every_reader
async def test_chooses(name: str) -> None:
    asked = Asked(name, DOCUMENTS)

    reading = await asked.read(OPTIONS)

    assert reading.answered
    assert reading.answer == "Valparaiso"
    assert asked.showed("[2] Valparaiso")
    assert [one.quote for one in reading.citations] == [KEY]


# Without a model every reader answers, too, by quoting; and says that no model is in use.
@every_reader
async def test_offline(name: str) -> None:
    build, window = READERS[name]
    reader = build(DOCUMENTS, OfflineDecider(), window)

    reading = await reader.aask(QUESTION)
    chosen = await reader.aask(QUESTION, options=OPTIONS)

    assert reading.answered
    assert KEY in reading.answer
    assert KEY in [one.quote for one in reading.citations]
    assert reading.notes[0] == OfflineDecider.notice
    assert reading.tokens_read <= count("".join(one.text for one in DOCUMENTS))
    assert chosen.answer == "Valparaiso"


class UnavailableModel(OfflineDecider):
    """Decides so many times, then never again."""

    def __init__(self, decisions: int) -> None:
        super().__init__()
        self.left = decisions

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        if not self.left:
            raise ModelUnavailableError("It does not answer.")
        self.left -= 1
        return await super().decide(task, budget, on_token)


# A model that is gone at the last decision is an error, since nobody knows what it would have said;
# the error has the cost of the whole question so far.
@every_reader
async def test_unavailable_model(name: str) -> None:
    build, window = READERS[name]
    counted = UnavailableModel(1_000)
    await build(DOCUMENTS, counted, window).aask(QUESTION)
    decisions = 999 - counted.left

    with pytest.raises(ModelUnavailableError) as gone:
        await build(DOCUMENTS, UnavailableModel(decisions), window).aask(QUESTION)

    if not name.startswith("rag-pages"):  # what building the pages cost is in `building`
        assert gone.value.spent.calls == decisions


def timeless(reading: Reading) -> Reading:
    return replace(reading, usage=replace(reading.usage, seconds=0.0))
