"""The cost of an evaluation before anything is spent: for each reader building, asking, rating.

GraphReader's is counted as by `graphreader estimate`, for longer contexts in proportion; that of
others follows rough formulas, without vectors. What earlier runs have kept does not count.
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
from graphreader.evaluation.results import Context, corpus_of
from graphreader.evaluation.runner import Arm
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
_TOP_CHUNK, _CHUNK = 3_800, 1_000  # tokens of the one chunk of rag-...-1, and of each of several

_LIGHTRAG_CHUNK, _LIGHTRAG_PROMPT, _LIGHTRAG_REPLY = 1_100, 3_600, 800  # tokens, by its prompts

_PAGE_READERS = ("read-agent", "gistmem", "rag-pages", "rag-gists")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one reader with one model; `questions` are those without a reading."""

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


Counts = Sequence[tuple[QuestionGroup, int]]  # groups, each with a number of its questions above 0


async def estimate_costs(
    arms: Iterable[tuple[Arm, Counts, Counts]], rater: Settings | None
) -> list[Cost]:
    """The cost of each reader and model, all repeats together.

    An arm comes with the questions it misses and the readings to rate; the first one pays for a
    graph.
    """
    costs: dict[tuple[str, str], Cost] = {}
    built: set[tuple[object, ...]] = set()
    for arm, missing, unrated in arms:
        name, key = arm.reader.name, _building_key(arm)
        if is_graphreader(name):
            building, asking = await _graph_costs(variant(name).settings(arm.settings), missing)
        else:
            readers = [(_BaselineCosts(name, group, arm.settings), n) for group, n in missing]
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
        nothing = Cost(name, arm.model, 0, Spending(), Spending(), Spending())
        before = costs.get((name, arm.model), nothing)
        costs[name, arm.model] = Cost(
            name,
            arm.model,
            before.questions + sum(number for _, number in missing),
            before.building + building,
            before.asking + asking,
            before.rating + rating,
        )
    return list(costs.values())


def _building_key(arm: Arm) -> tuple[object, ...]:
    """A key that is equal for arms which share the same graph, or pages and gists."""
    name = arm.reader.name
    if is_graphreader(name):
        settings = variant(name).settings(arm.settings)
        return "graph", settings.model_for("extract"), settings.chunk_tokens
    if name.startswith(_PAGE_READERS):
        return "pages", arm.settings.model_for("gist")
    return name, arm.model


async def _graph_costs(settings: Settings, missing: Counts) -> tuple[Spending, Spending]:
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
    """The documents of the first record as a source."""
    record = group.records[0]
    return [Source(record.id, record.id, lambda _: Context(record, group.contexts).documents)]


def _request(
    settings: Settings, phase: Phase, number: int, sent: int, received: int = REPLY
) -> Spending:
    """The cost of requests that send and receive so many tokens; offline of calls alone."""
    model = settings.model_for(phase)
    if model == OFFLINE:
        return Spending(number)
    dollars = Prices.of(settings).dollars(model, sent, received)
    return Spending(1, sent, received, dollars).times(number)


def _rating(name: str, group: QuestionGroup, rater: Settings) -> Spending:
    """The cost of rating one answer against one reference, and its evidence if any is known."""
    rating = _request(rater, "rate", 2, 300, 20)
    if group.records[0].supporting:
        kinds = 2 if is_graphreader(name) else 1  # GraphReader's notebooks, and its facts
        rating += _request(rater, "rate", kinds, 2_000, 200)
    return rating


class _BaselineCosts:
    """The costs of a reader without a graph for one group of questions."""

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
        """Pages and gists; each request shows a largest page, and may end a smallest one.

        LightRAG asks twice about each chunk, with long instructions.
        """
        if self._name == LightRAG.name:
            chunks = max(self._documents, math.ceil(self._text / _LIGHTRAG_CHUNK))
            sent = _LIGHTRAG_PROMPT + self._text // chunks
            return self._request("extract", 2 * chunks, sent, _LIGHTRAG_REPLY)
        if not self._name.startswith(_PAGE_READERS):
            return Spending()
        return self._request("paginate", self._pages, self._page + PROMPT, 20) + self._gists()

    def asking(self) -> Spending:
        """One question, at most."""
        name, text, window = self._name, self._text, self._settings.window
        last = name.removesuffix(TASK_AWARE).removesuffix("-may-refuse").rpartition("-")[2]
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
        """ReadAgent is shown the gists each time, and in the end some pages."""
        gists = round(_GIST * self._text)
        rounds = pages if self._name.startswith("read-agent-s") else 1
        cost = self._request("look_up", rounds, gists + PROMPT, 50)
        cost += self._request("answer", 1, min(gists + pages * self._page, self._text) + PROMPT)
        return cost + self._gists() if self._name.endswith(TASK_AWARE) else cost

    def _gists(self) -> Spending:
        page = math.ceil(self._text / self._pages)
        return self._request("gist", self._pages, page + PROMPT, round(_GIST * page))
