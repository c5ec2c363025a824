"""What reading texts in will cost, and then a question, before anything is spent.

Chunks, calls and the tokens of prompts are exact: texts are loaded and cut, and prompts rendered
and counted, as they would be. What a model will reply is estimated. Nothing is sent or written.

Not in it: replies that are kept from an earlier run will cost nothing, but are not looked for; a
reply that must be asked for again comes on top, and so do the halves of a chunk that holds too much
for one reply.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import reduce

from graphreader import tokens
from graphreader.agent.tasks import AnswerTask, ChunkTask, InitialNodesTask, PlanTask
from graphreader.documents import Document
from graphreader.errors import WindowError
from graphreader.ingestion.chunking import rechunk
from graphreader.ingestion.extraction import ExtractionTask, divided
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import Source
from graphreader.llm.pricing import Prices
from graphreader.llm.window import Measurer
from graphreader.settings import DEFAULT_EMBEDDINGS, OFFLINE, Settings
from graphreader.store.catalog import ArrangedChunk, DocumentStatus
from graphreader.usage import Phase

REPLY_BASE, REPLY_RATIO = 100, 1.2
"""Tokens of an extraction's reply: a base, and more for each token of the chunk.

Measured on the replies of a language model to fifteen chunks of 40 to 1,400 tokens in English and
Chinese, 44 tokens a fact with its key elements. From 770 tokens of a chunk on its reply is as long
as it may be."""

ELEMENTS_RATIO = 0.15
"""Tokens of new key elements, which are embedded, for each token of the replies.

A fact brings 2.4 new key elements (paper, table 8: nodes to atomic facts), of 2.7 tokens each."""

TYPICAL_CALLS = 3.5
"""Function calls of a path (paper, table 7: 3.0 to 3.9 on average)."""

TYPICAL_INPUT, TYPICAL_OUTPUT = 2450, 130
"""Tokens of one decision on a question.

Together they make the 52.8k tokens of a question (paper, table 5) for its 20.5 decisions; so long
were the replies of a language model to seventy such prompts."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the graph has of a document.

    `unchanged` is the number of its chunks where nothing is to be done for it; otherwise
    `extracted` are the ids of those that have their facts, and `old` the chunks of its former text.
    """

    unchanged: int | None = None
    extracted: frozenset[str] = frozenset()
    old: tuple[ArrangedChunk, ...] = ()


LookUp = Callable[[Document], Awaitable[Known]]


@dataclass(frozen=True, slots=True)
class Spending:
    """Requests, their tokens, and dollars; None: the price is not known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0

    def __add__(self, other: "Spending") -> "Spending":
        """Both together."""
        return Spending(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            _sum(self.dollars, other.dollars),
        )

    def times(self, number: int) -> "Spending":
        """So often."""
        dollars = None if self.dollars is None else number * self.dollars
        return Spending(
            number * self.calls, number * self.input_tokens, number * self.output_tokens, dollars
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an ingest will cost, and a question after it.

    `chunks` are those of all `documents`, `missing` those of them that have no facts yet. Of
    `reading` calls and input tokens are exact, output tokens and dollars estimated. `embedding` is
    estimated. `question` is a typical one; `question_at_most` has all paths use all their calls and
    fill the window each time. `refused` says why something gives no document.
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

    @property
    def dollars(self) -> float | None:
        """Reading and embedding together."""
        return _sum(self.reading.dollars, self.embedding.dollars)


async def nothing_known(document: Document) -> Known:
    """Say that everything is new."""
    return Known()


def known_in(states: DocumentStatus, chunk_tokens: int) -> LookUp:
    """Looks up what the graph has of a document that would be cut into chunks of that size."""

    async def look_up(document: Document) -> Known:
        state = (await states.of([document.id])).get(document.id)
        if state is None or state.deleting:
            return Known()
        as_large = state.chunk_tokens == chunk_tokens
        if state.complete and as_large and state.sha256 == document.sha256:
            return Known(unchanged=state.chunks)
        chunks = await states.chunks(document.id)
        old = await states.arranged(document.id) if state.arranged and as_large else []
        return Known(
            extracted=frozenset(chunk.id for chunk in chunks if chunk.error is None),
            old=tuple(old),
        )

    return look_up


async def estimate(
    sources: Iterable[Source],
    corpus: str,
    measurer: Measurer,
    settings: Settings,
    look_up: LookUp = nothing_known,
) -> Estimate:
    """Count what is missing of what the sources hold.

    Raises SettingsError where the file of prices makes no sense.
    """
    estimating = _Estimating(measurer, settings)
    for source in sources:
        found = source.documents(corpus)
        while one := await asyncio.to_thread(next, found, None):
            if isinstance(one, Refused):
                estimating.refused.append(one.reason)
            else:
                await asyncio.to_thread(estimating.take, one, await look_up(one))
    return estimating.estimate()


class _Estimating:
    """Counts document by document."""

    def __init__(self, measurer: Measurer, settings: Settings) -> None:
        self.refused: list[str] = []
        self._measurer = measurer
        self._settings = settings
        self._prices = Prices.of(settings)
        self._documents = self._chunks = self._missing = 0
        self._reading = Spending()

    def take(self, document: Document, known: Known) -> None:
        """Count one document."""
        self._documents += 1
        if known.unchanged is not None:
            self._chunks += known.unchanged
            return
        chunks = rechunk(document, self._settings.chunk_tokens, known.old)
        missing = [one for one in chunks if one.id not in known.extracted]
        self._chunks += len(chunks)
        self._missing += len(missing)
        for chunk in missing:
            if chunk.text.strip():
                self._reading += self._extraction(document, chunk.text)

    def estimate(self) -> Estimate:
        """What was counted, with what comes after it."""
        calls, window = self._settings.path_calls, self._settings.window
        return Estimate(
            model=self._measurer.name,
            embeddings=_embeddings_of(self._settings),
            documents=self._documents,
            chunks=self._chunks,
            missing=self._missing,
            reading=self._reading,
            embedding=self._embedding(),
            question=self._question(
                min(TYPICAL_CALLS, calls), min(TYPICAL_INPUT, window), TYPICAL_OUTPUT
            ),
            question_at_most=self._question(calls, window, None),
            refused=tuple(self.refused),
        )

    def _extraction(self, document: Document, text: str) -> Spending:
        """One call, or several where the prompt does not fit the window."""
        task = ExtractionTask(document.title, text)
        try:
            sent = self._measurer.measure(task)
        except WindowError:
            parts = divided(document, text)
            if len(parts) < 2:
                return Spending()  # it is not sent: its chunk will be marked as failed
            return reduce(Spending.__add__, (self._extraction(document, part) for part in parts))
        if not sent:
            return Spending(calls=1)
        received = min(round(REPLY_BASE + REPLY_RATIO * tokens.count(text)), task.reply_tokens)
        return self._cost(self._measurer.name, sent, received)

    def _embedding(self) -> Spending:
        name = _embeddings_of(self._settings)
        if name == OFFLINE:
            return Spending()
        sent = round(ELEMENTS_RATIO * self._reading.output_tokens)
        return Spending(0, sent, 0, self._prices.dollars(name, sent, 0))

    def _question(self, path_calls: float, sent: int, received: int | None) -> Spending:
        """Plan, initial nodes, the paths' calls and the answer, with replies of `received` tokens.

        None: of as many as they may have.
        """
        explored = round(self._settings.paths * path_calls)
        decisions: list[tuple[Phase, int, int]] = [
            ("plan", PlanTask.reply_tokens, 1),
            ("select", InitialNodesTask.reply_tokens, 1),
            ("explore", ChunkTask.reply_tokens, explored),
            ("answer", AnswerTask.reply_tokens, 1),
        ]
        costs = [
            self._decision(phase, sent, received or longest).times(number)
            for phase, longest, number in decisions
        ]
        return reduce(Spending.__add__, costs)

    def _decision(self, phase: Phase, sent: int, received: int) -> Spending:
        name = self._settings.model_for(phase)
        return Spending(calls=1) if name == OFFLINE else self._cost(name, sent, received)

    def _cost(self, name: str, sent: int, received: int) -> Spending:
        return Spending(1, sent, received, self._prices.dollars(name, sent, received))


def _embeddings_of(settings: Settings) -> str:
    """Those of the settings, as if a key that is still missing were set."""
    asks_openai = settings.chosen_model.startswith("openai:") and not settings.openai_base_url
    return settings.embeddings or (
        DEFAULT_EMBEDDINGS if asks_openai else settings.chosen_embeddings
    )


def _sum(one: float | None, other: float | None) -> float | None:
    """The sum; None where either is not known."""
    return None if one is None or other is None else one + other
