"""The estimated cost of an evaluation: of building, asking and rating, for each reader.

The cost of GraphReader is counted as by `graphreader estimate`, for longer contexts in proportion.
The cost of other readers follows rough formulas, without vectors. Caches do not count.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from graphreader.baselines.lightrag import LightRAG
from graphreader.baselines.read_agent.gists import Pagination, preset_for
from graphreader.baselines.read_agent.reader import MOST_PAGES, TASK_AWARE
from graphreader.baselines.search_agent import MOST_CALLS
from graphreader.estimate import Spending, estimate
from graphreader.evaluation.plan import QuestionGroup, parse_length
from graphreader.evaluation.results import QuestionContext, corpus_of
from graphreader.evaluation.runner import Condition
from graphreader.evaluation.variants import is_graphreader, variant
from graphreader.ingestion.loading.sources import Source
from graphreader.llm.pricing import Prices
from graphreader.llm.window import BuildingMeasurer
from graphreader.settings import OFFLINE, Settings
from graphreader.usage import Phase

PROMPT, REPLY = 400, 130  # tokens of a prompt around the text that it shows, and of a reply

_TOKENS_PER_WORD = 1.33
_CHARACTERS_PER_TOKEN = {"zh": 1.5, "en": 4.5}
_GIST = 0.3  # tokens of a gist per token of its page (ReadAgent paper: compression of 66 to 97 %)
_TOP_CHUNK, _CHUNK = 3_800, 1_000  # tokens of the only chunk of rag-...-1, of each of several

_LIGHTRAG_CHUNK, _LIGHTRAG_PROMPT, _LIGHTRAG_REPLY = 1_100, 3_600, 800  # tokens, by its prompts

_PAGE_READERS = ("read-agent", "gistmem", "rag-pages", "rag-gists")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one reader with one model; `questions` counts questions without a reading."""

    reader: str
    model: str
    questions: int
    building: Spending
    asking: Spending
    rating: Spending

    @property
    def total(self) -> Spending:
        """Building, asking and rating together."""
        return self.building + self.asking + self.rating


QuestionCounts = Sequence[tuple[QuestionGroup, int]]
"""Pairs (group, number of its questions), without groups of no question."""


async def estimate_costs(
    conditions: Iterable[tuple[Condition, QuestionCounts, QuestionCounts]], rater: Settings | None
) -> list[Cost]:
    """Estimate the cost of each reader and model, all repetitions together.

    Each condition comes with its missing questions and its readings to rate. The first condition
    that needs a graph pays for it.
    """
    costs: dict[tuple[str, str], Cost] = {}
    built: set[tuple[object, ...]] = set()
    for condition, missing, unrated in conditions:
        name, key = condition.reader.name, _building_key(condition)
        if is_graphreader(name):
            building, asking = await _graph_costs(
                variant(name).settings(condition.settings), missing
            )
        else:
            readers = [(_BaselineCosts(name, group, condition.settings), n) for group, n in missing]
            building = sum((one.building() for one, _ in readers), Spending())
            asking = sum((one.asking().times(n) for one, n in readers), Spending())
        rating = Spending()
        if rater:
            for group, number in (*missing, *unrated):
                rating += _rating(name, group, rater).times(number)
        if key in built:
            building = Spending()
        if missing:
            built.add(key)
        nothing = Cost(name, condition.model, 0, Spending(), Spending(), Spending())
        before = costs.get((name, condition.model), nothing)
        costs[name, condition.model] = Cost(
            name,
            condition.model,
            before.questions + sum(number for _, number in missing),
            before.building + building,
            before.asking + asking,
            before.rating + rating,
        )
    return list(costs.values())


def _building_key(condition: Condition) -> tuple[object, ...]:
    """The key of a graph, or of pages and gists; conditions with equal keys share them."""
    name = condition.reader.name
    if is_graphreader(name):
        settings = variant(name).settings(condition.settings)
        return "graph", settings.model_for("extract"), settings.chunk_tokens
    if name.startswith(_PAGE_READERS):
        return "pages", condition.settings.model_for("gist")
    return name, condition.model


async def _graph_costs(settings: Settings, missing: QuestionCounts) -> tuple[Spending, Spending]:
    measurer = BuildingMeasurer.of(settings)
    built: dict[str, Spending] = {}
    asking = Spending()
    for group, number in missing:
        record = group.records[0]
        ratio = 1.0
        if group.target_tokens is not None:
            characters = sum(len(document.text) for document in record.documents)
            ratio = group.target_tokens * _CHARACTERS_PER_TOKEN[record.language] / characters
        estimated = await estimate(_sources(group), "evaluation", measurer, settings)
        graph = corpus_of(record) if group.target_tokens is None else f"{record.id} {group.length}"
        built[graph] = (estimated.reading + estimated.embedding).times(ratio)
        asking += estimated.question.times(number)
    return sum(built.values(), Spending()), asking


def _sources(group: QuestionGroup) -> list[Source]:
    """Make a source of the documents of a group's first record."""
    record = group.records[0]
    return [
        Source(record.id, record.id, lambda *_: QuestionContext(record, group.contexts).documents)
    ]


def _request(
    settings: Settings, phase: Phase, number: int, sent: int, received: int = REPLY
) -> Spending:
    """Price a number of requests by their tokens sent and received; offline, count the calls."""
    model = settings.model_for(phase)
    if model == OFFLINE:
        return Spending(number)
    dollars = Prices.of(settings).dollars(model, sent, received)
    return Spending(1, sent, received, dollars).times(number)


def _rating(name: str, group: QuestionGroup, rater: Settings) -> Spending:
    """Estimate the cost of rating one answer, and its evidence if the record names any."""
    rating = _request(rater, "rate", 2, 300, 20)
    if group.records[0].supporting:
        kinds = 2 if is_graphreader(name) else 1  # GraphReader's notebooks, and its facts
        rating += _request(rater, "rate", kinds, 2_000, 200)
    return rating


class _BaselineCosts:
    """The estimated costs of a reader without a graph for one group of questions."""

    def __init__(self, name: str, group: QuestionGroup, settings: Settings) -> None:
        self._name, self._settings, self._text = name, settings, group.own_tokens
        self._request = partial(_request, settings)
        preset = Pagination.of(settings.page_words) or preset_for(
            parse_length(group.length), group.records[0].subset
        )
        words = self._text / _TOKENS_PER_WORD
        is_split = group.contexts == "documents"
        self._documents = len(group.records[0].documents) if is_split else 1
        self._pages = max(1, math.ceil(words / preset.min_words))
        self._page = min(self._text, round(preset.max_words * _TOKENS_PER_WORD))

    def building(self) -> Spending:
        """Estimate the cost of pages and gists, or of LightRAG's index.

        A request for a page shows the largest page, and the page may be a smallest page. LightRAG
        sends two requests about each chunk, with long instructions.
        """
        if self._name == LightRAG.name:
            chunks = max(self._documents, math.ceil(self._text / _LIGHTRAG_CHUNK))
            sent = _LIGHTRAG_PROMPT + self._text // chunks
            return self._request("extract", 2 * chunks, sent, _LIGHTRAG_REPLY)
        if not self._name.startswith(_PAGE_READERS):
            return Spending()
        return self._request("paginate", self._pages, self._page + PROMPT, 20) + self._gists()

    def asking(self) -> Spending:
        """Estimate the cost of one question, at most."""
        name, text, window = self._name, self._text, self._settings.window
        last = name.removesuffix("-may-refuse").removesuffix(TASK_AWARE).rpartition("-")[2]
        k = int(last) if last.isdecimal() else 0
        if name.startswith("read-agent"):
            return self._look_ups(k or MOST_PAGES)
        if name.startswith("chunk-read"):
            chunks = max(1, math.ceil(text / self._settings.chunk_tokens))
            return self._request("read", chunks, window)
        if name == LightRAG.name:
            return self._request("look_up", 1, 700, 80) + self._request("answer", 1, window)
        if name == "search-agent":
            return self._request("read", MOST_CALLS, window) + self._request("answer", 1, window)
        if name.startswith("full-text"):
            shown = text
        elif name.startswith("gistmem"):
            shown = round(_GIST * text) + k * self._page
        elif name.startswith(("rag-pages", "rag-gists")):
            shown = k * self._page
        else:
            shown = min(text, _TOP_CHUNK if k == 1 else max(k, 1) * _CHUNK)
        return self._request("answer", 1, min(shown + PROMPT, self._settings.long_window))

    def _look_ups(self, pages: int) -> Spending:
        """Estimate a question to ReadAgent: each request shows the gists, the last also pages."""
        gists = round(_GIST * self._text)
        rounds = pages if self._name.startswith("read-agent-s") else 1
        cost = self._request("look_up", rounds, gists + PROMPT, 50)
        cost += self._request("answer", 1, min(gists + pages * self._page, self._text) + PROMPT)
        return cost + self._gists() if TASK_AWARE in self._name else cost

    def _gists(self) -> Spending:
        page = math.ceil(self._text / self._pages)
        return self._request("gist", self._pages, page + PROMPT, round(_GIST * page))
