"""Estimates the cost of an ingest, and of a question after it; nothing is sent or written.

Chunks, calls and prompts are exact, replies are estimated; caches and retries do not count.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graphreader.agent.adaptive.tasks import PATH_CALLS, TurnTask
from graphreader.agent.tasks import AnswerTask, ChunkTask, InitialNodesTask, PlanTask
from graphreader.documents import Document
from graphreader.errors import WindowError
from graphreader.ingestion.chunking import rechunk
from graphreader.ingestion.extraction import ExtractionTask, divide
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import Source
from graphreader.llm.pricing import Prices
from graphreader.llm.window import Measurer
from graphreader.settings import DEFAULT_EMBEDDINGS, OFFLINE, Mode, Settings
from graphreader.store.catalog import ArrangedChunk, DocumentStatus
from graphreader.tokens import count
from graphreader.usage import Phase

REPLY_BASE, REPLY_RATIO = 100, 1.2
"""Tokens of an extraction's reply: a base, and more for each token of the chunk.

Measured on fifteen chunks of 40 to 1,400 tokens in English and Chinese, with 44 tokens per fact."""

ELEMENTS_RATIO = 0.15
"""Tokens of new key elements, which are embedded, for each token of the replies.

A fact brings 2.4 new key elements (paper, table 8: nodes per atomic fact) of 2.7 tokens each."""

TYPICAL_CALLS = 7.4
"""Calls of a path, with those that condense: a question of mode `paper` takes 31 to 48 in all.

Measured with models of today, whose paths end later than the paper's (table 7: 3.0 to 3.9)."""

TYPICAL_TURNS = 2  # turns of mode `adaptive`: measured 1.3 to 3

TYPICAL_INPUT: Mapping[Mode, int] = {"adaptive": 2750, "paper": 1300}
"""Prompt tokens of a decision on a question: measured 2,200 to 8,900 and about 52,000 in all."""

TYPICAL_OUTPUT = 130
"""Tokens of its reply."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Requests, their tokens, and dollars; None where the price is not known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0

    def __add__(self, other: "Spending") -> "Spending":
        """Add two spendings."""
        dollars = _sum(self.dollars, other.dollars)
        sent = self.input_tokens + other.input_tokens
        received = self.output_tokens + other.output_tokens
        return Spending(self.calls + other.calls, sent, received, dollars)

    def times(self, number: float) -> "Spending":
        """Multiply a spending; calls and tokens are rounded."""
        tokens = round(number * self.input_tokens), round(number * self.output_tokens)
        dollars = None if self.dollars is None else number * self.dollars
        return Spending(round(number * self.calls), *tokens, dollars)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of an ingest, and of a question after it.

    `missing` counts the `chunks` without facts. Calls and input tokens of `reading` are exact.
    `question_at_most` uses all calls and the whole window. `refused` are reasons of sources.
    `assumed`: no model is configured, so `model` is what a key would bring; nothing is sent now.
    """

    model: str
    embeddings: str
    documents: int
    chunks: int
    missing: int
    reading: Spending
    embedding: Spending
    question: Spending
    question_at_most: Spending
    refused: tuple[str, ...] = ()
    assumed: bool = False

    @property
    def dollars(self) -> float | None:
        """The price of reading and embedding; None where either is not known."""
        return _sum(self.reading.dollars, self.embedding.dollars)


async def estimate(
    sources: Iterable[Source],
    corpus: str,
    measurer: Measurer,
    settings: Settings,
    status: DocumentStatus | None = None,
) -> Estimate:
    """Estimate the cost of the missing chunks, without `status` of all. Raises SettingsError."""
    prices = Prices.of(settings)
    documents = chunks = missing = 0
    reading = Spending()
    refused: list[str] = []
    for source in sources:
        loaded = source.documents(corpus)
        while document := await asyncio.to_thread(next, loaded, None):
            if isinstance(document, Refused):
                refused.append(document.reason)
                continue
            number, texts = await _missing_chunks(document, settings.chunk_tokens, status)
            documents += 1
            chunks += number
            missing += len(texts)
            for text in texts:
                # A blank chunk is not sent.
                if text.strip():
                    reading += await asyncio.to_thread(_call_of, document, text, measurer, prices)
    window = settings.window
    return Estimate(
        model=measurer.name,
        embeddings=_embeddings_name(settings),
        documents=documents,
        chunks=chunks,
        missing=missing,
        reading=reading,
        embedding=_embedding(reading, settings, prices),
        question=_question(
            True, min(TYPICAL_INPUT[settings.mode], window), TYPICAL_OUTPUT, settings, prices
        ),
        question_at_most=_question(False, window, None, settings, prices),
        refused=tuple(refused),
    )


async def _missing_chunks(
    document: Document, chunk_tokens: int, status: DocumentStatus | None
) -> tuple[int, list[str]]:
    """The number of a document's chunks, and the texts of those that have no facts yet."""
    state = (await status.of([document.id])).get(document.id) if status else None
    extracted: set[str] = set()
    former: list[ArrangedChunk] = []
    if status and state and not state.deleting:
        same_size = state.chunk_tokens == chunk_tokens
        if state.complete and same_size and state.sha256 == document.sha256:
            return state.chunks, []
        extracted = {one.id for one in await status.chunks(document.id) if one.error is None}
        if state.arranged and same_size:
            former = await status.arranged(document.id)
    chunks = await asyncio.to_thread(rechunk, document, chunk_tokens, former)
    return len(chunks), [chunk.text for chunk in chunks if chunk.id not in extracted]


def _call_of(document: Document, text: str, measurer: Measurer, prices: Prices) -> Spending:
    task = ExtractionTask(document.title, text)
    try:
        sent = measurer.measure(task)
    except WindowError:
        parts = divide(document, text)
        if len(parts) < 2:
            return Spending()  # it is not sent: the chunk will fail
        return sum((_call_of(document, part, measurer, prices) for part in parts), Spending())
    if not sent:
        return Spending(calls=1)
    received = min(round(REPLY_BASE + REPLY_RATIO * count(text)), task.reply_tokens)
    return _call(measurer.name, sent, received, prices)


def _embedding(reading: Spending, settings: Settings, prices: Prices) -> Spending:
    name = _embeddings_name(settings)
    if ":" not in name:  # nothing is sent
        return Spending()
    sent = round(ELEMENTS_RATIO * reading.output_tokens)
    return Spending(0, sent, 0, prices.dollars(name, sent, 0))


def _question(
    is_typical: bool, sent: int, received: int | None, settings: Settings, prices: Prices
) -> Spending:
    """The decisions of a question, typically or at most; `received` None: the maximum."""
    costs = []
    for phase, maximum, number in _decisions(is_typical, settings):
        name = settings.model_for(phase)
        call = Spending(calls=1)
        if name != OFFLINE:
            call = _call(name, sent, received or maximum, prices)
        costs.append(call.times(number))
    return sum(costs, Spending())


def _decisions(is_typical: bool, settings: Settings) -> list[tuple[Phase, int, int]]:
    """The phase, the longest reply in tokens and the number of the decisions of a question."""
    calls = settings.path_calls
    if settings.mode == "adaptive":
        turns = min(TYPICAL_TURNS, calls) if is_typical else calls
        paths = 0 if is_typical else settings.paths * PATH_CALLS
        return [
            ("explore", TurnTask.reply_tokens, turns - 1 + paths),
            ("answer", TurnTask.reply_tokens, 1),
        ]
    return [
        ("plan", PlanTask.reply_tokens, 1),
        ("select", InitialNodesTask.reply_tokens, 1),
        (
            "explore",
            ChunkTask.reply_tokens,
            round(settings.paths * (min(TYPICAL_CALLS, calls) if is_typical else calls)),
        ),
        ("answer", AnswerTask.reply_tokens, 1),
    ]


def _call(model: str, sent: int, received: int, prices: Prices) -> Spending:
    return Spending(1, sent, received, prices.dollars(model, sent, received))


def _embeddings_name(settings: Settings) -> str:
    """The embeddings of the settings, as if an API key that is still missing were set."""
    uses_openai = settings.chosen_model.startswith("openai:") and not settings.openai_base_url
    return settings.embeddings or (
        DEFAULT_EMBEDDINGS if uses_openai else settings.chosen_embeddings
    )
