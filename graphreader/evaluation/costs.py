"""What an evaluation will cost, before anything is spent: a reader at a time, building and asking.

GraphReader's building is counted as `graphreader estimate` counts it, on the documents at native
length, and told in proportion for longer contexts. All else follows from formulas.
Graphs, gists and replies that are kept from an earlier run cost nothing, but are not looked for.

How many requests of how many tokens a reader without a graph needs, by its name.

Each formula tells the order of magnitude, and rather too much than too little.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from graphreader.baselines.read_agent.look_up import MOST_PAGES
from graphreader.baselines.read_agent.pages import preset_for
from graphreader.baselines.read_agent.reader import TASK_AWARE
from graphreader.baselines.search_agent import MOST_CALLS
from graphreader.documents import Document
from graphreader.estimate import Spending, estimate
from graphreader.evaluation.contexts import parse_length
from graphreader.evaluation.plan import Group
from graphreader.evaluation.results import corpus_of, documents_of
from graphreader.evaluation.runner import Entry
from graphreader.evaluation.scoring import RATED_TOKENS
from graphreader.llm.pricing import Prices
from graphreader.llm.window import BuildingMeasurer
from graphreader.settings import OFFLINE, Settings
from graphreader.usage import Phase

PROMPT, REPLY = 400, 130
"""Tokens of a prompt around the text that it shows, and of a reply."""

TOKENS_A_WORD = 1.33

GIST = 0.3
"""Of a page's tokens, its gist has so many (ReadAgent paper: compression rates of 66 to 97 %)."""

RATER_CALLS, RATER_PROMPT, RATER_REPLY = 2, 300, 20
"""Both raters are asked about one reference, unless the first says yes."""

RECALL_PROMPT, RECALL_REPLY = 700, 200
"""A rater counts the supporting facts in the evidence; around it stand facts and instructions."""

NOTEBOOKS, FACTS = 600, 2_000
"""Tokens of GraphReader's evidence, and of the atomic facts that it was shown."""

WITH_PAGES = ("read-agent", "gistmem", "rag-pages")
"""How the names begin of those who cut texts into ReadAgent's pages."""

_WITH_VECTORS = ("search-agent", "gistmem-retrieval")


@dataclass(frozen=True, slots=True)
class Requests:
    """So many requests of one phase, each of so many tokens in and out."""

    phase: Phase
    number: int
    sent: int
    received: int = REPLY


def with_vectors(name: str) -> bool:
    """Whether the reader of that name embeds the whole text."""
    return "embedding" in name or name.startswith(_WITH_VECTORS)


def has_gists(name: str) -> bool:
    """Whether a reader of pages has gists of them that serve for all questions."""
    return not name.startswith("rag-pages") and not name.endswith(TASK_AWARE)


def building(name: str, group: Group) -> Iterator[Requests]:
    """Pages, and gists of them unless these are made for each question.

    Pauses are looked for in as many words as a largest page has, and may end a smallest one.
    """
    if not name.startswith(WITH_PAGES):
        return
    text, sizes = group.own_tokens, preset_for(parse_length(group.length))
    page = min(text, round(sizes.max_words * TOKENS_A_WORD))
    yield Requests("paginate", _most_pages(group), page + PROMPT, 20)
    if has_gists(name):
        yield _gists(group)


def asking(name: str, group: Group, settings: Settings) -> Iterator[Requests]:
    """What one question needs at most of a reader that has no graph."""
    text = group.own_tokens
    short, long = settings.window, settings.long_window
    if name.startswith(WITH_PAGES):
        yield from _asking_pages(name, group, long)
    elif name.startswith("full-text"):
        yield Requests("answer", 1, min(text + PROMPT, long))
    elif name.startswith("chunk-read"):
        yield Requests("read", max(1, math.ceil(text / settings.chunk_tokens)), short)
    elif name.startswith("rag-"):
        k = _number(name, 1)
        yield Requests("answer", 1, min(k * (3_800 if k == 1 else 1_000), text) + PROMPT)
    elif name == "search-agent":
        yield Requests("read", MOST_CALLS, short)
        yield Requests("answer", 1, short)
    else:
        yield Requests("answer", 1, min(text, 1_000) + PROMPT)


def _asking_pages(name: str, group: Group, window: int) -> Iterator[Requests]:
    """The same of a reader with pages: gists are shown each time, pages in place of theirs."""
    text = group.own_tokens
    sizes = preset_for(parse_length(group.length))
    page = min(text, round(sizes.max_words * TOKENS_A_WORD))
    gists = min(round(GIST * text), window)
    if name.startswith("rag-pages"):
        yield Requests("answer", 1, min(_number(name, 1) * page + PROMPT, window))
    elif name.startswith("gistmem"):
        yield Requests("answer", 1, min(gists + _number(name, 0) * page + PROMPT, window))
    else:
        if name.endswith(TASK_AWARE):
            yield _gists(group)
        pages = _number(name.removesuffix(TASK_AWARE), MOST_PAGES)
        rounds = pages if name.startswith("read-agent-s") else 1
        yield Requests("look_up", rounds, gists + PROMPT, 50)
        yield Requests("answer", 1, min(gists + pages * page, text) + PROMPT)


def _most_pages(group: Group) -> int:
    """The pages of a context where each is a smallest one."""
    sizes = preset_for(parse_length(group.length))
    return max(1, math.ceil(group.own_tokens / TOKENS_A_WORD / sizes.min_words))


def _gists(group: Group) -> Requests:
    pages = _most_pages(group)
    part = math.ceil(group.own_tokens / pages)
    return Requests("gist", pages, part + PROMPT, round(GIST * part))


def rated(name: str, group: Group, settings: Settings) -> Iterator[Requests]:
    """What raters are asked about one answer, and about its evidence where the data names any.

    Of a group the first record tells whether they do.
    """
    yield Requests("rate", RATER_CALLS, RATER_PROMPT, RATER_REPLY)
    if not group.records[0].supporting:
        return
    evidence = [NOTEBOOKS, FACTS]
    if not name.startswith("graphreader"):
        evidence = [one.sent for one in asking(name, group, settings) if one.phase == "answer"]
    for size in evidence or [settings.window]:
        if size <= RATED_TOKENS:
            yield Requests("rate", 1, size + RECALL_PROMPT, RECALL_REPLY)


def _number(name: str, otherwise: int) -> int:
    """The number at the end of a reader's name."""
    last = name.rpartition("-")[2]
    return int(last) if last.isdecimal() else otherwise


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
