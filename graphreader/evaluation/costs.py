"""The cost of an evaluation before anything is spent: for each reader building, asking, rating.

GraphReader's building is counted as `graphreader estimate` counts it, on the documents at native
length and in proportion for longer contexts. The other readers follow formulas that tell the order
of magnitude, and rather too much than too little. Graphs, gists and replies that are kept from
earlier runs would cost nothing, but are not looked for.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from graphreader.baselines.read_agent.pages import preset_for
from graphreader.baselines.read_agent.reader import MOST_PAGES, TASK_AWARE
from graphreader.baselines.search_agent import MOST_CALLS
from graphreader.estimate import Spending, estimate
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.plan import QuestionGroup, parse_length
from graphreader.evaluation.results import corpus_of, documents_of
from graphreader.evaluation.runner import Arm
from graphreader.evaluation.scoring import RATED_TOKENS
from graphreader.evaluation.variants import is_graphreader, variant
from graphreader.ingestion.loading.sources import Source
from graphreader.llm.pricing import Prices
from graphreader.llm.window import BuildingMeasurer
from graphreader.settings import OFFLINE, Settings
from graphreader.usage import Phase

PROMPT, REPLY = 400, 130
"""Tokens of a prompt around the text that it shows, and of a reply."""

_TOKENS_PER_WORD = 1.33
_CHARACTERS_PER_TOKEN = {"zh": 1.5, "en": 4.5}
_GIST = 0.3  # tokens of a gist per token of its page (ReadAgent paper: compression of 66 to 97 %)
_RECALL_PROMPT = 700  # tokens around a text in which a rater counts facts: these and instructions
_NOTEBOOKS, _FACTS = 600, 2_000  # tokens of GraphReader's evidence, and of the facts it was shown
_TOP_CHUNK, _CHUNK = 3_800, 1_000  # tokens of the one chunk of rag-...-1, and of each of several

_PAGE_READERS = ("read-agent", "gistmem", "rag-pages")
_VECTOR_READERS = ("search-agent", "gistmem-retrieval")


@dataclass(frozen=True, slots=True)
class Requests:
    """A number of requests of one phase, with the tokens that each sends and receives."""

    phase: Phase
    number: int
    sent: int
    received: int = REPLY


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


Counts = Sequence[tuple[QuestionGroup, int]]
"""Groups, each with a number of its questions above 0."""


async def estimate_costs(
    arms: Iterable[tuple[Arm, Counts, Counts]], rater: Settings | None
) -> list[Cost]:
    """The cost of what is missing for each reader and model, all repeats together.

    Each arm comes with the questions that it misses and the readings that only have to be rated.
    `rater` are the settings of the raters, None without any. Graphs, pages and gists are paid for
    by the first arm that needs them. Raises SettingsError if the file of prices or the name of a
    model is wrong.
    """
    costs: dict[tuple[str, str], Cost] = {}
    built: set[tuple[object, ...]] = set()
    for arm, missing, unrated in arms:
        reader, model, key = arm.reader.name, arm.model, _building_key(arm)
        building, asking = await _building_and_asking(arm, missing)
        rating = _rating(arm, (*missing, *unrated), rater) if rater else Spending()
        questions = sum(number for _, number in missing)
        if key in built:
            building = Spending()
        if missing:
            built.add(key)
        if before := costs.get((reader, model)):
            questions += before.questions
            building, asking = before.building + building, before.asking + asking
            rating = before.rating + rating
        costs[reader, model] = Cost(reader, model, questions, building, asking, rating)
    return list(costs.values())


def _building_key(arm: Arm) -> tuple[object, ...]:
    """A key that is equal for arms which share the same graph or gists."""
    name = arm.reader.name
    if is_graphreader(name):
        settings = variant(name).settings(arm.settings)
        return "graph", settings.model_for("extract"), settings.chunk_tokens
    if name.startswith(_PAGE_READERS):
        return "gists" if _shares_gists(name) else "pages", arm.settings.model_for("gist")
    return name, arm.model


async def _building_and_asking(arm: Arm, missing: Counts) -> tuple[Spending, Spending]:
    name, settings = arm.reader.name, arm.settings
    if is_graphreader(name):
        building, question = await _graph_costs(variant(name).settings(settings), missing)
        return building, question.times(sum(number for _, number in missing))
    prices = Prices.of(settings)
    building = asking = Spending()
    for group, number in missing:
        cost = Spending()
        for requests in _building_requests(name, group):
            cost += _cost(requests, settings, prices)
        embeddings = settings.chosen_embeddings
        has_vectors = "embedding" in name or name.startswith(_VECTOR_READERS)
        if has_vectors and embeddings != OFFLINE:
            tokens = group.own_tokens
            cost += Spending(0, tokens, 0, prices.dollars(embeddings, tokens, 0))
        building += cost
        for requests in _asking_requests(name, group, settings):
            asking += _cost(requests, settings, prices).times(number)
    return building, asking


def _rating(arm: Arm, counts: Counts, rater: Settings) -> Spending:
    prices = Prices.of(rater)
    rating = Spending()
    for group, number in counts:
        for requests in _rating_requests(arm.reader.name, group, arm.settings):
            rating += _cost(requests, rater, prices).times(number)
    return rating


def _cost(requests: Requests, settings: Settings, prices: Prices) -> Spending:
    """The cost of these requests; the offline decider has calls alone."""
    model = settings.model_for(requests.phase)
    if model == OFFLINE:
        return Spending(requests.number)
    dollars = prices.dollars(model, requests.sent, requests.received)
    return Spending(1, requests.sent, requests.received, dollars).times(requests.number)


def _record_source(record: Record) -> Source:
    """The documents of a record as `estimate` takes them."""
    return Source(record.id, record.id, lambda _: documents_of(record))


async def _graph_costs(settings: Settings, missing: Counts) -> tuple[Spending, Spending]:
    """The cost of all graphs, and of one question to them."""
    native: dict[str, tuple[Record, float]] = {}
    for group, _ in missing:
        record = group.records[0]
        own = sum(len(document.text) for document in record.documents)
        characters: float = own
        if group.target_tokens is not None:
            language = "zh" if record.language == "zh" else "en"
            characters = group.target_tokens * _CHARACTERS_PER_TOKEN[language]
        corpus = corpus_of(record)
        _, before = native.get(corpus, (record, 0.0))
        native[corpus] = (record, before + characters / max(1, own))
    measurer = BuildingMeasurer.of(settings)
    built = question = Spending()
    for record, ratio in native.values():
        source = _record_source(record)
        estimated = await estimate([source], "evaluation", measurer, settings)
        built += (estimated.reading + estimated.embedding).times(ratio)
        question = estimated.question
    return built, question


def _building_requests(name: str, group: QuestionGroup) -> Iterator[Requests]:
    """The requests for pages, and for gists unless these are made for each question.

    Pauses are looked for in as many words as a largest page has, and may end a smallest one.
    """
    if name.startswith(_PAGE_READERS):
        yield Requests("paginate", _most_pages(group), _page_tokens(group) + PROMPT, 20)
        if _shares_gists(name):
            yield _gist_requests(group)


def _asking_requests(name: str, group: QuestionGroup, settings: Settings) -> Iterator[Requests]:
    """The requests for one question to a reader without a graph, at most."""
    text, window = group.own_tokens, settings.window
    if name.startswith(_PAGE_READERS):
        yield from _page_reader_requests(name, group, settings.long_window)
    elif name.startswith("full-text"):
        yield Requests("answer", 1, min(text + PROMPT, settings.long_window))
    elif name.startswith("chunk-read"):
        yield Requests("read", max(1, math.ceil(text / settings.chunk_tokens)), window)
    elif name.startswith("rag-"):
        k = _number_in(name, 1)
        yield Requests("answer", 1, min(k * (_TOP_CHUNK if k == 1 else _CHUNK), text) + PROMPT)
    elif name == "search-agent":
        yield Requests("read", MOST_CALLS, window)
        yield Requests("answer", 1, window)
    else:
        yield Requests("answer", 1, min(text, _CHUNK) + PROMPT)


def _page_reader_requests(name: str, group: QuestionGroup, window: int) -> Iterator[Requests]:
    """The same for a reader with pages: it is shown gists each time, and some pages."""
    text, page = group.own_tokens, _page_tokens(group)
    gists = min(round(_GIST * text), window)
    if name.startswith("rag-pages"):
        yield Requests("answer", 1, min(_number_in(name, 1) * page + PROMPT, window))
    elif name.startswith("gistmem"):
        yield Requests("answer", 1, min(gists + _number_in(name, 0) * page + PROMPT, window))
    else:
        if name.endswith(TASK_AWARE):
            yield _gist_requests(group)
        pages = _number_in(name.removesuffix(TASK_AWARE), MOST_PAGES)
        rounds = pages if name.startswith("read-agent-s") else 1
        yield Requests("look_up", rounds, gists + PROMPT, 50)
        yield Requests("answer", 1, min(gists + pages * page, text) + PROMPT)


def _rating_requests(name: str, group: QuestionGroup, settings: Settings) -> Iterator[Requests]:
    """The raters' requests about one answer, and about its evidence if the data names any.

    Both raters are asked about one reference. A group's first record tells if it names evidence.
    """
    yield Requests("rate", 2, 300, 20)
    if not group.records[0].supporting:
        return
    evidence = [_NOTEBOOKS, _FACTS]
    if not is_graphreader(name):
        requests = _asking_requests(name, group, settings)
        evidence = [one.sent for one in requests if one.phase == "answer"]
    for size in evidence or [settings.window]:
        if size <= RATED_TOKENS:
            yield Requests("rate", 1, size + _RECALL_PROMPT, 200)


def _shares_gists(name: str) -> bool:
    """Whether a reader of pages has gists that serve for all questions."""
    return not name.startswith("rag-pages") and not name.endswith(TASK_AWARE)


def _page_tokens(group: QuestionGroup) -> int:
    """The tokens of a largest page."""
    words = preset_for(parse_length(group.length)).max_words
    return min(group.own_tokens, round(words * _TOKENS_PER_WORD))


def _most_pages(group: QuestionGroup) -> int:
    """The number of pages if each is a smallest one."""
    words = preset_for(parse_length(group.length)).min_words
    return max(1, math.ceil(group.own_tokens / _TOKENS_PER_WORD / words))


def _gist_requests(group: QuestionGroup) -> Requests:
    pages = _most_pages(group)
    page = math.ceil(group.own_tokens / pages)
    return Requests("gist", pages, page + PROMPT, round(_GIST * page))


def _number_in(name: str, default: int) -> int:
    """The number at the end of a reader's name."""
    last = name.rpartition("-")[2]
    return int(last) if last.isdecimal() else default
