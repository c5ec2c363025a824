"""How many requests of how many tokens a reader without a graph needs, by its name.

Each formula tells the order of magnitude, and rather too much than too little.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from graphreader.baselines.read_agent.look_up import MOST_PAGES
from graphreader.baselines.read_agent.presets import preset_for
from graphreader.baselines.read_agent.reader import TASK_AWARE
from graphreader.baselines.search_agent import MOST_CALLS
from graphreader.evaluation.contexts import parse_length
from graphreader.evaluation.plan import Group
from graphreader.evaluation.scoring import RATED_TOKENS
from graphreader.settings import Settings
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
