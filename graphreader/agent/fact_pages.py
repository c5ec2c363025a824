"""The facts of a node in pages: the most promising ones first, none left out.

A hub has more facts than a window holds. Chunks are ranked by the words of the query that they and
their document's title have, facts within a chunk by their own words. A document whose title is the
node's name comes first, and so does one whose title, if it has several words, stands in the query.
The first pages have some facts of each chunk; its other facts come after the other chunks. Chunks
that are read already come last, because they cannot be chosen any more.

A fact should be understood alone, with pronouns replaced. Some facts are not ("The original score
was rejected.": of which film?). They are shown with the fact that stands right before them.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from graphreader.agent.ranking import rank_by_words, scores, word_stems, words
from graphreader.agent.state import label
from graphreader.agent.tasks import FactGroup
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import ChunkFacts, Context, StoredFact

FACTS_PER_PART = 3
"""Facts of one chunk that stand together."""

FACTS_PER_PAGE = 200
"""Facts of a page at most; how many fit the window is known when the prompt is made."""

CHUNKS_PER_PAGE = 60

_WORDS = re.compile(r"[^\W_]+")
_PARENTHESIS = re.compile(r" \([^)]*\)$")  # the title "Li Yu (director)" is the name Li Yu
_POINTING = re.compile(
    r"(?i)\A(?:he|she|it|they|his|her|its|their|this|that|these|those|there|then|both|the latter"
    r"|the former|the (?:original|same|other|second|first|next|last|following|previous)|another"
    r"|such)\b|\A[他她它其该此这那两后]"
)
_NAME_OR_NUMBER = re.compile(r"(?<=\s)[^\W\d_a-z]|\d|[\"“«「《]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LONG_WORDS = 12  # words of a fact that is understood without a name or a number
_LONG_HAN = 12  # characters of such a Chinese fact


@dataclass(frozen=True, slots=True)
class FactPart:
    """Some facts of one chunk, in the order of the text; `more` are on later pages.

    `holds` are the words of the query that stand in the chunk. `promise` is how the chunk ranks
    beside the best unread one, from 0 to 1.
    """

    chunk: str
    index: int
    document: str
    document_id: str
    facts: tuple[StoredFact, ...]
    more: int
    headed: bool = False
    holds: tuple[str, ...] = ()
    promise: float = 0.0


@dataclass(frozen=True, slots=True)
class FactPage:
    """The facts of one page, best first, and how many facts come after it."""

    parts: Sequence[FactPart]
    remaining: int


def page_of_facts(
    groups: Sequence[ChunkFacts],
    query: str,
    shown: int,
    read: Collection[str] = (),
    node: str = "",
) -> FactPage:
    """The facts that come after the first `shown` ones. The same arguments give the same page.

    `read` are the ids of chunks that are read already. Words of the name of the `node` do not
    count, since all of its chunks share them.
    """
    points = _chunk_scores(groups, query, node)
    unread = [p for p, group in zip(points, groups, strict=True) if group.chunk not in read]
    best = max(unread, default=0.0)
    order = sorted(range(len(groups)), key=lambda i: (groups[i].chunk in read, -points[i]))
    ranked = ((groups[i], min(1.0, points[i] / best) if best else 1.0) for i in order)
    in_turn = zip_longest(*(_parts_of(group, query, promise) for group, promise in ranked))
    waiting = [part for turn in in_turn for part in turn if part]
    parts: list[FactPart] = []
    remaining = sum(len(part.facts) for part in waiting) - shown
    room = FACTS_PER_PAGE
    for part in waiting:
        skipped = min(shown, len(part.facts))
        shown -= skipped
        facts = part.facts[skipped:]
        if not facts:
            continue
        if len(facts) > room or len(parts) == CHUNKS_PER_PAGE:
            break
        parts.append(replace(part, facts=facts))
        room -= len(facts)
        remaining -= len(facts)
    return FactPage(parts, remaining)


async def add_context(
    explorer: GraphExplorer, parts: Sequence[FactPart], read: Collection[str]
) -> tuple[FactGroup, ...]:
    """The facts as they are shown: under their chunk's label, with what explains them."""
    needed: dict[str, list[int]] = {}
    for part in parts:
        unclear = [fact.index for fact in part.facts if needs_context(fact.text)]
        if unclear or part.headed:
            needed.setdefault(part.chunk, []).extend(unclear)
    contexts = await explorer.contexts(needed) if needed else {}
    return tuple(_fact_group(part, contexts.get(part.chunk), part.chunk in read) for part in parts)


def needs_context(fact: str) -> bool:
    """Whether a fact alone may leave open what it is about."""
    if _POINTING.match(fact):
        return True
    if _HAN.search(fact):
        return len(fact) < _LONG_HAN
    return not _NAME_OR_NUMBER.search(fact) and len(fact.split()) < _LONG_WORDS


def _chunk_scores(groups: Sequence[ChunkFacts], query: str, node: str) -> list[float]:
    """Score each chunk; those of a document that the node or the query names score highest."""
    shared = scores(groups, _text_of, query, node)
    node_words, spaced_query = words(node), _spaced(query)
    bonus = max(shared, default=0.0) + 1
    return [
        points + bonus * _is_named(_PARENTHESIS.sub("", group.document), node_words, spaced_query)
        for points, group in zip(shared, groups, strict=True)
    ]


def _is_named(title: str, node_words: set[str], spaced_query: str) -> bool:
    """Whether a title is the node's name, or has several words and stands in the query."""
    title_words = words(title)
    return bool(node_words and title_words == node_words) or (
        len(title_words) > 1 and _spaced(title) in spaced_query
    )


def _spaced(text: str) -> str:
    """The words of a text in lower case between single spaces, without any other signs."""
    return f" {' '.join(_WORDS.findall(text.casefold()))} "


def _text_of(group: ChunkFacts) -> str:
    return " ".join([group.document, *group.holds, *(fact.text for fact in group.facts)])


def _parts_of(group: ChunkFacts, query: str, promise: float) -> list[FactPart]:
    """The facts of a chunk in parts that stand together, the most promising ones first."""
    ranked = rank_by_words(group.facts, lambda fact: fact.text, query)
    stems = word_stems(query)
    chunk = FactPart(
        group.chunk,
        group.index,
        group.document,
        group.document_id,
        (),
        0,
        group.headed,
        tuple(stems[stem] for stem in group.holds if stem in stems),
        promise,
    )
    size = FACTS_PER_PART
    return [
        replace(
            chunk,
            facts=tuple(sorted(ranked[start : start + size], key=lambda fact: fact.index)),
            more=max(0, len(ranked) - start - size),
        )
        for start in range(0, len(ranked), size)
    ]


def _fact_group(part: FactPart, context: Context | None, read: bool) -> FactGroup:
    name = label(part.document, part.index)
    facts = tuple(fact.text for fact in part.facts)
    promise = 0.0 if read else part.promise
    group = FactGroup(name, facts, read, part.more, holds=part.holds, promise=promise)
    if context is None:
        return group
    listed = {fact.index for fact in part.facts}
    before = tuple(
        "" if fact.index - 1 in listed else context.before.get(fact.index, "")
        for fact in part.facts
    )
    return replace(group, heading=context.heading or "", before=before)
