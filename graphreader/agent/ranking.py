"""Rankings by shared words, fusion of rankings, and pages of ranked facts.

A hub has more facts than a window holds, so the facts of a node come in pages of chunks. Chunks are
ranked by the query's words in their facts and document's title: first chunks of documents that the
node or the query names, last chunks that were read already.
Some facts cannot be understood alone ("The original score was rejected."); they are shown with the
previous fact.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import fsum, log
from typing import TypeVar

from graphreader.agent.state import label
from graphreader.agent.tasks import FactGroup
from graphreader.documents import AtomicFact, ChunkFacts, ChunkRef
from graphreader.store.explorer import GraphExplorer
from graphreader.text.scripts import HAN_RUN
from graphreader.text.words import fold, terms_of, words_of

CHUNKS_PER_PAGE = 60

_PARENTHESIS = re.compile(r" \([^)]*\)$")  # the title "Li Yu (director)" means the name Li Yu
_POINTING = re.compile(
    r"(?i)\A(?:he|she|it|they|his|her|its|their|this|that|these|those|there|then|both|the latter"
    r"|the former|the (?:original|same|other|second|first|next|last|following|previous)|another"
    r"|such)\b|\A[他她它其该此这那两后]"
)
_NAME_OR_NUMBER = re.compile(r"(?<=\s)[^\W\d_a-z]|\d|[\"“«「《]")
_LONG_WORDS = 12  # words; a longer fact is understood without a name or a number
_LONG_HAN = 12  # characters; the limit for a Chinese fact

T = TypeVar("T")


def rank_by_words(items: Sequence[T], text: Callable[[T], str], query: str) -> list[T]:
    """Sort items by how many and how rare words their texts share with the query."""
    points = scores(items, text, query)
    return [items[i] for i in sorted(range(len(items)), key=lambda i: -points[i])]


def rank_shared(items: Sequence[T], text: Callable[[T], str], query: str) -> list[T]:
    """Sort the items that share a word with the query, like `rank_by_words`; drop the others."""
    points = scores(items, text, query)
    order = sorted(range(len(items)), key=lambda i: -points[i])
    return [items[i] for i in order if points[i]]


def scores(
    items: Sequence[T], text: Callable[[T], str], query: str, ignored: str = ""
) -> list[float]:
    """Score each item by the words that it shares with the query; rare words count more."""
    query_terms = terms_of(query) - terms_of(ignored)
    shared = [terms_of(text(item)) & query_terms for item in items]
    frequency = Counter(term for one in shared for term in one)
    # fsum is exact in any order of the words: all processes must give one result.
    return [fsum(log(1 + len(items) / frequency[term]) for term in one) for one in shared]


def open_needs(needs: Sequence[str], notebook: str) -> list[str]:
    """Return the needs with at most half of their words in the notebook; if none, all needs."""
    noted = terms_of(notebook)
    still_open = [one for one in needs if 2 * len(terms_of(one) & noted) <= len(terms_of(one))]
    return still_open or list(needs)


def fuse_rankings(rankings: Iterable[Sequence[T]], key: Callable[[T], str]) -> list[T]:
    """Fuse rankings into one by reciprocal rank (Cormack et al. 2009, with their k = 60)."""
    points: defaultdict[str, float] = defaultdict(float)
    items: dict[str, T] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            points[key(item)] += 1 / (60 + rank)
            items.setdefault(key(item), item)
    return [items[id_] for id_ in sorted(items, key=lambda id_: -points[id_])]


def page_of_facts(
    groups: Sequence[ChunkFacts[ChunkRef]],
    query: str,
    shown: int,
    read: Collection[str] = (),
    node: str = "",
) -> tuple[list[ChunkFacts[ChunkRef]], int]:
    """Return a page of chunks with their best facts, and the number of chunks after it.

    It begins after the first `shown` chunks. `read` are the ids of chunks that were read already.
    Words of the name of the `node` are ignored, since all of its chunks share them.
    """
    points = _chunk_scores(groups, query, node)
    order = sorted(range(len(groups)), key=lambda i: (groups[i].chunk.id in read, -points[i]))
    page = [groups[i] for i in order[shown : shown + CHUNKS_PER_PAGE]]
    return page, len(order) - shown - len(page)


async def fact_groups(
    explorer: GraphExplorer,
    page: Sequence[ChunkFacts[ChunkRef]],
    query: str,
    read: Collection[str],
) -> tuple[FactGroup, ...]:
    """Convert facts to the form of prompts: by chunk, with labels, headings and context."""
    best = [rank_by_words(one.facts, lambda fact: fact.text, query) for one in page]
    needed = {
        one.chunk.id: indexes
        for one, facts in zip(page, best, strict=True)
        if (indexes := [fact.index for fact in facts if needs_context(fact.text)])
    }
    before = await explorer.preceding_facts(needed) if needed else {}
    names = distinct_titles(one.chunk for one in page)
    return tuple(
        _fact_group(
            one.chunk,
            facts,
            names[one.chunk.document_id],
            before.get(one.chunk.id, {}),
            one.chunk.id in read,
        )
        for one, facts in zip(page, best, strict=True)
    )


def distinct_titles(chunks: Iterable[ChunkRef]) -> dict[str, str]:
    """Return the documents' titles by id; equal titles each with the beginning of the id."""
    titles = {one.document_id: one.document for one in chunks}
    times = Counter(titles.values())
    return {
        id_: f"{title} ({id_[:6]})" if times[title] > 1 else title for id_, title in titles.items()
    }


def needs_context(fact: str) -> bool:
    """Whether a fact may be unclear without the previous fact."""
    if _POINTING.match(fact):
        return True
    if HAN_RUN.search(fact):
        return len(fact) < _LONG_HAN
    return not _NAME_OR_NUMBER.search(fact) and len(fact.split()) < _LONG_WORDS


def _chunk_scores(groups: Sequence[ChunkFacts[ChunkRef]], query: str, node: str) -> list[float]:
    """Score each chunk; chunks of a document that the node or query names score highest."""

    def text(group: ChunkFacts[ChunkRef]) -> str:
        return " ".join([group.chunk.document, *(fact.text for fact in group.facts)])

    shared = scores(groups, text, query, node)
    bonus = max(shared, default=0.0) + 1
    return [
        points + bonus * _is_named(_PARENTHESIS.sub("", group.chunk.document), node, query)
        for points, group in zip(shared, groups, strict=True)
    ]


def _is_named(title: str, node: str, query: str) -> bool:
    """Whether a title is the node's name, or has several terms and is in the query."""
    terms = terms_of(title)
    if not terms or terms == terms_of(node):
        return bool(terms)
    return len(terms) > 1 and terms <= terms_of(query) and _spaced(title) in _spaced(query)


def _spaced(text: str) -> str:
    return f" {' '.join(map(fold, words_of(text)))} "


def _fact_group(
    chunk: ChunkRef,
    best: Sequence[AtomicFact],
    title: str,
    before: Mapping[int, str],
    read: bool,
) -> FactGroup:
    listed = {fact.index for fact in best}
    return FactGroup(
        label(title, chunk.index),
        tuple(fact.attributed for fact in best),
        read,
        heading=chunk.section,
        before=tuple(
            "" if fact.index - 1 in listed else before.get(fact.index, "") for fact in best
        ),
        under=tuple(fact.heading for fact in best),
        indexes=tuple(fact.index for fact in best),
    )
