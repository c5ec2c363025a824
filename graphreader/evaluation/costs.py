"""What an evaluation will cost, before anything is spent: a reader at a time, building and asking.

GraphReader's building is counted as `graphreader estimate` counts it, on the documents at native
length, and told in proportion for longer contexts. All else follows from formulas.
Graphs, gists and replies that are kept from an earlier run cost nothing, but are not looked for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from graphreader.deciding.measuring import BuildingMeasurer
from graphreader.deciding.prices import Prices
from graphreader.documents import Document
from graphreader.evaluation.entry import Entry
from graphreader.evaluation.expected_requests import (
    WITH_PAGES,
    Requests,
    asking,
    building,
    has_gists,
    rated,
    with_vectors,
)
from graphreader.evaluation.plan import Group
from graphreader.evaluation.record_documents import corpus_of, documents_of
from graphreader.ingestion.estimating import Spending, estimate
from graphreader.settings import OFFLINE, Settings


@dataclass(frozen=True, slots=True)
class Cost:
    """What one reader will cost with one model; `questions` are those that it is still asked."""

    reader: str
    model: str
    questions: int
    building: Spending
    asking: Spending
    rating: Spending

    @property
    def whole(self) -> Spending:
        """All together."""
        return self.building + self.asking + self.rating

    def again(self, other: "Cost") -> "Cost":
        """With another repeat."""
        return Cost(
            self.reader,
            self.model,
            self.questions + other.questions,
            self.building + other.building,
            self.asking + other.asking,
            self.rating + other.rating,
        )


Missing = Sequence[tuple[Group, int]]
"""Groups with the number of their questions that are still to be asked; none has 0."""


def built_by(entry: Entry) -> tuple[object, ...]:
    """What readers have in common that find built what one of them built."""
    name, settings = entry.entrant.name, settings_for(entry.entrant.name, entry.settings)
    if name.startswith("graphreader"):
        return "graph", settings.model_for("extract"), settings.chunk_tokens
    if name.startswith(WITH_PAGES):
        return "gists" if has_gists(name) else "pages", settings.model_for("gist")
    return name, entry.model


async def cost_of(
    entry: Entry,
    missing: Missing,
    rater: Settings | None,
    *,
    unrated: Missing = (),
    is_built: bool = False,
) -> Cost:
    """What is missing of one reader. `rater` are the settings of the raters, None without any.

    `unrated` are readings that are there, and only to be rated. With `is_built` its graphs and
    gists are there, built by another reader.
    Raises SettingsError where the file of prices, or a model's name, makes no sense.
    """
    name, settings = entry.entrant.name, entry.settings
    pricing = _Pricing(settings)
    questions = sum(number for _, number in missing)
    if name.startswith("graphreader"):
        built, question = await _graph_reader(settings_for(name, settings), missing)
        asked = question.times(questions)
    else:
        built = _sum(_building(name, group, pricing) for group, _ in missing)
        asked = _sum(
            pricing.spending(one).times(number)
            for group, number in missing
            for one in asking(name, group, settings)
        )
    if is_built:
        built = Spending()
    rating = Spending()
    if rater is not None:
        of_rater = _Pricing(rater)
        rating = _sum(
            of_rater.spending(one).times(number)
            for group, number in (*missing, *unrated)
            for one in rated(name, group, settings)
        )
    return Cost(name, entry.model, questions, built, asked, rating)


def settings_for(name: str, settings: Settings) -> Settings:
    """Those of a variant of GraphReader, as far as they change what it costs."""
    if name == "graphreader-fast":
        return settings.model_copy(update={"mode": "fast"})
    if found := re.fullmatch(r"graphreader-nodes-(\d+)", name):
        return settings.model_copy(update={"initial_nodes": int(found[1])})
    if name == "graphreader-one-path":
        return settings.model_copy(update={"initial_nodes": 1})
    if found := re.fullmatch(r"graphreader-chunk-(\d+)", name):
        return settings.model_copy(update={"chunk_tokens": int(found[1])})
    return settings


@dataclass(frozen=True, slots=True)
class _Given:
    """Documents that are at hand, as a source of them."""

    group: Group

    @property
    def size(self) -> int:
        """Tokens, which is nearly as good as bytes."""
        return self.group.own_tokens

    def documents(self, corpus: str) -> Iterator[Document]:
        """Those of the group at native length."""
        record = self.group.records[0]
        yield from documents_of(record, corpus_of(record))


async def _graph_reader(settings: Settings, missing: Missing) -> tuple[Spending, Spending]:
    """What its graphs cost, and one question."""
    native: dict[str, tuple[Group, float]] = {}
    for group, _ in missing:
        record = group.records[0]
        corpus = corpus_of(record)
        own = sum(len(document.text) for document in record.documents)
        asked = own if group.tokens is None else group.tokens * _characters_a_token(record.language)
        before = native[corpus][1] if corpus in native else 0.0
        native[corpus] = (group, before + asked / max(1, own))
    measurer = BuildingMeasurer.of(settings)
    built = question = Spending()
    for group, times in native.values():
        found = await estimate([_Given(group)], "evaluation", measurer, settings)
        built += _scaled(found.reading + found.embedding, times)
        question = found.question
    return built, question


def _characters_a_token(language: str) -> float:
    return 1.5 if language == "zh" else 4.5


def _building(name: str, group: Group, pricing: "_Pricing") -> Spending:
    """Pages and gists; vectors of the whole text."""
    found = _sum(pricing.spending(one) for one in building(name, group))
    return found + pricing.embedding(group.own_tokens) if with_vectors(name) else found


class _Pricing:
    """Knows the models and prices of some settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._prices = Prices.of(settings)

    def spending(self, requests: Requests) -> Spending:
        """What these requests cost; offline they are calls alone."""
        model = self._settings.model_for(requests.phase)
        if model == OFFLINE:
            return Spending(requests.number)
        dollars = self._prices.dollars(model, requests.sent, requests.received)
        one = Spending(1, requests.sent, requests.received, dollars)
        return one.times(requests.number)

    def embedding(self, tokens: int) -> Spending:
        """What the vectors of so much text cost."""
        model = self._settings.chosen_embeddings
        if model == OFFLINE:
            return Spending()
        return Spending(0, tokens, 0, self._prices.dollars(model, tokens, 0))


def _scaled(spending: Spending, times: float) -> Spending:
    return Spending(
        round(spending.calls * times),
        round(spending.input_tokens * times),
        round(spending.output_tokens * times),
        None if spending.dollars is None else spending.dollars * times,
    )


def _sum(spendings: Iterator[Spending]) -> Spending:
    return reduce(Spending.__add__, spendings, Spending())
