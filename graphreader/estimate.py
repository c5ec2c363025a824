"""Estimates of the cost of an ingest and of a question, made before anything is sent or written.

Chunks, calls and prompts are exact, replies are estimated; caches and retries do not count. A
capacity plan says what more documents of the same kind need: `docs/sizes.md` has its formula.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

from graphreader.agent.adaptive.sweep import CollectTask, tokens_at_once
from graphreader.agent.modes import mode_named
from graphreader.agent.notebook import batches
from graphreader.documents import Chunk, Document
from graphreader.errors import WindowError
from graphreader.ingestion.chunking import rechunk
from graphreader.ingestion.context import DocumentContext
from graphreader.ingestion.extraction import (
    LIMIT_BASE,
    LIMIT_RATIO,
    ExtractionTask,
    divide,
    task_of,
)
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import Source
from graphreader.ingestion.normalization.joining import MOST_NAMES, NamesTask
from graphreader.llm.pricing import Prices
from graphreader.llm.protocols import LONGEST_REPLY
from graphreader.llm.window import Measurer
from graphreader.settings import DEFAULT_DIMENSION, DEFAULT_EMBEDDINGS, OFFLINE, Settings
from graphreader.store.catalog import ChunkStatus, DocumentStatus
from graphreader.text.passages import PASSAGE_TOKENS
from graphreader.tokens import count

NAMES_PER_CHUNK = 20  # proper names in the facts of one chunk that no other chunk has
REPLY_BASE, REPLY_RATIO = 100, 1.2
"""Tokens of the reply to an extraction: a base, and more for each token of the chunk.

Measured on fifteen chunks of 40 to 1,400 tokens in English and Chinese, with 44 tokens per fact."""

EMBEDDED_RATIO = 0.15
"""Tokens of new key elements to embed, for each token of the extraction's replies.

A fact has 2.4 new key elements (paper, table 8: nodes per atomic fact) of 2.7 tokens each. The text
itself is embedded as well, in passages."""

TYPICAL_OUTPUT = 130
"""Tokens of the reply to one decision of a question."""


@dataclass(frozen=True, slots=True)
class Spending:
    """A number of requests with their tokens and price; None if the price is not known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0

    def __add__(self, other: "Spending") -> "Spending":
        """Add two spendings."""
        known = self.dollars is not None and other.dollars is not None
        dollars = (self.dollars or 0.0) + (other.dollars or 0.0) if known else None
        sent = self.input_tokens + other.input_tokens
        received = self.output_tokens + other.output_tokens
        return Spending(self.calls + other.calls, sent, received, dollars)

    def times(self, number: float) -> "Spending":
        """Multiply a spending; calls and tokens are rounded."""
        tokens = round(number * self.input_tokens), round(number * self.output_tokens)
        dollars = None if self.dollars is None else number * self.dollars
        return Spending(round(number * self.calls), *tokens, dollars)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of an ingest, and of a question after it.

    `missing` counts the `chunks` without facts, `tokens` and `bytes` (UTF-8) measure their texts.
    Calls and input tokens of `reading` are exact, except for the stage `names`.
    `question_at_most` uses all calls and the whole window. `sweep` is what a question about the
    whole takes more in mode `adaptive`: every text is read. `refused` has a reason for each source
    that cannot be read. `assumed`: no model is configured, so `model` is the default that an API
    key would bring. `batch`: the price of `reading` is the reduced price of batches.
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
    sweep: Spending = Spending()
    refused: tuple[str, ...] = ()
    assumed: bool = False
    tokens: int = 0
    bytes: int = 0
    batch: bool = False

    @property
    def dollars(self) -> float | None:
        """The price of reading and embedding; None if either is not known."""
        return (self.reading + self.embedding).dollars


async def estimate(
    sources: Iterable[Source],
    corpus: str,
    measurer: Measurer,
    settings: Settings,
    status: DocumentStatus | None = None,
    *,
    batch: bool = False,
) -> Estimate:
    """Estimate the cost of ingesting the chunks that the corpus lacks; all chunks if no `status`.

    Raises SettingsError.
    """
    prices, reading_prices = Prices.of(settings), Prices.of(settings, batch=batch)
    documents = chunks = missing = size = 0
    sizes: list[int] = []  # tokens of the chunks
    reading = Spending()
    refused: list[str] = []
    for source in sources:
        loaded = source.documents(corpus)
        while document := await asyncio.to_thread(next, loaded, None):
            if isinstance(document, Refused):
                refused.append(document.reason)
                continue
            number, lacking = await _missing_chunks(document, settings.chunk_tokens, status)
            documents += 1
            chunks += number
            missing += len(lacking)
            sizes += [chunk.tokens for chunk in lacking]
            size += sum(len(chunk.text.encode("utf-8", "ignore")) for chunk in lacking)
            sent = [chunk for chunk in lacking if chunk.text.strip()]
            if measurer.name == OFFLINE:
                reading += Spending(calls=len(sent))
            elif sent:
                reading += await asyncio.to_thread(
                    _calls_of, document, sent, measurer, reading_prices
                )
                if "names" in settings.stages:
                    reading += _names_call(document, number, measurer, prices)
    mode, window, tokens = mode_named(settings.mode), settings.window, sum(sizes)
    return Estimate(
        model=measurer.name,
        embeddings=_embeddings_name(settings),
        documents=documents,
        chunks=chunks,
        missing=missing,
        reading=reading,
        embedding=_embedding(tokens, reading, settings, prices),
        question=_question(True, min(mode.typical_input, window), TYPICAL_OUTPUT, settings, prices),
        question_at_most=_question(False, window, None, settings, prices),
        sweep=_sweep(sizes, settings, measurer, prices),
        refused=tuple(refused),
        tokens=tokens,
        bytes=size,
        batch=batch,
    )


async def _missing_chunks(
    document: Document, chunk_tokens: int, status: DocumentStatus | None
) -> tuple[int, list[Chunk]]:
    """Return (number of a document's chunks, chunks without facts)."""
    state = (await status.of([document.id])).get(document.id) if status else None
    known: dict[str, ChunkStatus] = {}
    former: list[Chunk] = []
    if status and state and not state.deleting:
        same_size = state.chunk_tokens == chunk_tokens
        if state.complete and same_size and state.sha256 == document.sha256:
            return state.chunks, []
        known = await status.chunks(document.id)
        if state.arranged and same_size:
            former = await status.arranged(document.id)
    chunks = await asyncio.to_thread(rechunk, document, chunk_tokens, former)
    return len(chunks), [chunk for chunk in chunks if known.get(chunk.id) != "extracted"]


def submission_cost(
    requests: int, most_tokens: int, measurer: Measurer, prices: Prices
) -> float | None:
    """Estimate the price of extractions that take at most `most_tokens`, with their replies."""
    fixed = measurer.measure(ExtractionTask("", ""))
    most = most_tokens / max(1, requests) - fixed  # of a text and the longest reply to it
    text = max(most - LONGEST_REPLY, (most - LIMIT_BASE) / (1 + LIMIT_RATIO))
    sent, received = fixed + text, REPLY_BASE + REPLY_RATIO * text
    return prices.dollars(measurer.name, round(requests * sent), round(requests * received))


def _calls_of(
    document: Document, chunks: Iterable[Chunk], measurer: Measurer, prices: Prices
) -> Spending:
    context = DocumentContext(document)
    costs = (_call_of(context, one.start, one.text, measurer, prices) for one in chunks)
    return sum(costs, Spending())


def _call_of(
    context: DocumentContext, start: int, text: str, measurer: Measurer, prices: Prices
) -> Spending:
    task = task_of(context, start, text)
    try:
        sent = measurer.measure(task)
    except WindowError:
        parts = divide(context.document, text)
        if len(parts) < 2:
            return Spending()  # it is not sent: the chunk will fail
        starts = accumulate(map(len, parts), initial=start)
        costs = (
            _call_of(context, at, part, measurer, prices)
            for at, part in zip(starts, parts, strict=False)
        )
        return sum(costs, Spending())
    if not sent:
        return Spending(calls=1)
    received = min(round(REPLY_BASE + REPLY_RATIO * count(text)), task.reply_tokens)
    return _call(measurer.name, sent, received, prices)


def _names_call(document: Document, chunks: int, measurer: Measurer, prices: Prices) -> Spending:
    """Estimate the request about a document's names, of which one in four gets a pair."""
    number = min(MOST_NAMES, NAMES_PER_CHUNK * chunks)
    task = NamesTask(document.title, (("Ada Byron", 10),) * number)
    sent = measurer.measure(task)
    if not sent:
        return Spending()
    return _call(measurer.name, sent, task.reply_tokens // 4, prices)


def _embedding(tokens: int, reading: Spending, settings: Settings, prices: Prices) -> Spending:
    """Estimate the cost of the vectors of a text's passages and of its new key elements."""
    name = _embeddings_name(settings)
    if ":" not in name:  # nothing is sent
        return Spending()
    sent = tokens + round(EMBEDDED_RATIO * reading.output_tokens)
    return Spending(0, sent, 0, prices.dollars(name, sent, 0))


def _question(
    is_typical: bool, sent: int, received: int | None, settings: Settings, prices: Prices
) -> Spending:
    """Add up the decisions of a question; with `received` None their replies are the longest."""
    costs = []
    mode = mode_named(settings.mode)
    for phase, task, number in mode.decisions(mode.limits(settings), is_typical):
        name = settings.model_for(phase)
        call = Spending(calls=1)
        if name != OFFLINE:
            longest = cast(int, task.reply_tokens)  # fixed for each kind of a question's tasks
            call = _call(name, sent, received or longest, prices)
        costs.append(call.times(number))
    return sum(costs, Spending())


def _sweep(
    sizes: Iterable[int], settings: Settings, measurer: Measurer, prices: Prices
) -> Spending:
    """Estimate the decisions that read every chunk, given by their tokens, for one question."""
    model = settings.model_for("explore")
    if settings.mode != "adaptive" or settings.sweep == "never" or model == OFFLINE:
        return Spending()
    fixed, room = measurer.measure(CollectTask("", "", ())), tokens_at_once(settings.window)
    sent = [fixed + sum(one) for one in batches(sizes, room, lambda size: size)]
    return sum((_call(model, one, TYPICAL_OUTPUT, prices) for one in sent), Spending())


def _call(model: str, sent: int, received: int, prices: Prices) -> Spending:
    return Spending(1, sent, received, prices.dollars(model, sent, received))


def _embeddings_name(settings: Settings) -> str:
    """Name the embeddings of the settings, as if a missing API key were set."""
    uses_openai = settings.chosen_model.startswith("openai:") and not settings.openai_base_url
    return settings.embeddings or (
        DEFAULT_EMBEDDINGS if uses_openai else settings.chosen_embeddings
    )


REPLY_PER_FACT, TEXT_PER_FACT = 44, 24
"""Tokens of an extraction's reply for one fact; tokens of text for one fact without a model
(measured, 50 MB)."""

MENTIONS_PER_FACT, OFFLINE_MENTIONS_PER_FACT = 5, 5.7
"""Key elements of a fact: of four to six, as the prompt asks; without a model (measured, 50 MB)."""

ELEMENTS, ELEMENTS_EXPONENT = 8, 0.8
"""Heaps' law for the key elements of a number of facts: factor and exponent.

It gives 1.3 a fact at 10,000 facts (measured 1.4 in English prose and 1.5 in a made-up chronicle)
and 0.5 at a million (measured 1.0 in the chronicle)."""

FACTS_A_SECOND, VECTORS_A_SECOND = 1850, 1000
"""Facts with their key elements, and vectors of DEFAULT_DIMENSION, that two slow cores write in a
second (measured, 1,000 chunks)."""

REPLY_SECONDS, REPLY_TOKENS_A_SECOND = 1.0, 80
"""Seconds until a model begins its reply, and its pace then; assumed, as services differ widely."""

FACT_BYTES, MENTION_BYTES, ELEMENT_BYTES, CHUNK_BYTES = 600, 75, 430, 1000
TEXT_BYTES = 1.2  # of each byte of text
NUMBER_BYTES, INDEXED_NUMBER_BYTES, INDEXED_FACT_BYTES = 4.5, 4.2, 37
FIXED_BYTES = 480_000_000  # room that files reserve, and the transaction log
"""All constants of bytes: the disk that Neo4j 2026 needs for each item (measured, 50 MB).

The room of INDEXED items is in Lucene's files."""

HEAPS = ((500_000, 512), (5_000_000, 1024))
"""Pairs (facts, MiB of heap that suffice for them): the first is measured, the second assumed."""

MIB = 2**20
SMALLEST_PAGE_CACHE = 128  # MiB


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    """The estimated time, money and storage that a corpus of `documents` documents needs.

    `hours` has the time by each limit; the longest counts. The limits are the settings
    "requests_per_minute", "tokens_per_minute" and "concurrency", which do not limit batches, and
    "writing" into Neo4j. `disk` is in bytes; `heap`, `page_cache` and `file_cache` (the operating
    system's, for vectors and words) are in MiB.
    """

    documents: int
    chunks: int
    facts: int
    key_elements: int
    reading: Spending
    embedding: Spending
    hours: Mapping[str, float]
    disk: int
    heap: int
    page_cache: int
    file_cache: int

    @property
    def dollars(self) -> float | None:
        """The price of reading and embedding; None if either is not known."""
        return (self.reading + self.embedding).dollars

    @property
    def limit(self) -> str:
        """The limit with the longest time, which determines the time of the ingest."""
        return max(self.hours, key=self.hours.__getitem__)


def plan(sample: Estimate, documents: int, settings: Settings) -> CapacityPlan:
    """Estimate time, money and storage for `documents` documents like the sample."""
    share = documents / sample.documents
    reading, embedding = sample.reading.times(share), sample.embedding.times(share)
    chunks, with_model = round(share * sample.missing), reading.output_tokens > 0
    if with_model:
        facts = round((reading.output_tokens - REPLY_BASE * reading.calls) / REPLY_PER_FACT)
    else:
        facts = round(share * sample.tokens / TEXT_PER_FACT)
    elements = round(ELEMENTS * facts**ELEMENTS_EXPONENT)
    # A model also embeds passages; DEFAULT_DIMENSION is a guess for some models.
    passages = round(share * sample.tokens / PASSAGE_TOKENS)
    vectors = elements + (passages if embedding.input_tokens else 0)
    numbers = vectors * DEFAULT_DIMENSION
    mentions = facts * (MENTIONS_PER_FACT if with_model else OFFLINE_MENTIONS_PER_FACT)
    lucene = INDEXED_NUMBER_BYTES * numbers + INDEXED_FACT_BYTES * facts
    disk = (
        FIXED_BYTES
        + TEXT_BYTES * share * sample.bytes
        + CHUNK_BYTES * chunks
        + FACT_BYTES * facts
        + MENTION_BYTES * mentions
        + ELEMENT_BYTES * elements
        + (NUMBER_BYTES + INDEXED_NUMBER_BYTES) * numbers
    )
    return CapacityPlan(
        documents=documents,
        chunks=chunks,
        facts=facts,
        key_elements=elements,
        reading=reading,
        embedding=embedding,
        hours=_hours(Spending() if sample.batch else reading, facts, vectors, settings),
        disk=round(disk),
        heap=next((heap for most, heap in HEAPS if facts <= most), 2048),
        page_cache=max(SMALLEST_PAGE_CACHE, round((disk - lucene - FIXED_BYTES) / MIB)),
        file_cache=round(lucene / MIB),
    )


def _hours(reading: Spending, facts: int, vectors: int, settings: Settings) -> dict[str, float]:
    hours = {"writing": (facts / FACTS_A_SECOND + vectors / VECTORS_A_SECOND) / 3600}
    tokens = reading.input_tokens + reading.output_tokens
    if tokens:
        seconds = REPLY_SECONDS * reading.calls + reading.output_tokens / REPLY_TOKENS_A_SECOND
        hours["concurrency"] = seconds / settings.concurrency / 3600
        if settings.requests_per_minute:
            hours["requests_per_minute"] = reading.calls / settings.requests_per_minute / 60
        if settings.tokens_per_minute:
            hours["tokens_per_minute"] = tokens / settings.tokens_per_minute / 60
    return hours
