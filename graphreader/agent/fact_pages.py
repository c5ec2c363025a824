"""The facts of a node in pages: the most promising ones first, none left out.

A hub has more facts than a window holds. They are ranked by the words of what is wanted: the
chunks by all that they hold and by their document's title, the facts within a chunk by their own. A
document that is called like the node comes first, and so does one whose whole title, if it has
several words, stands in what is wanted. Of each chunk some facts stand on the first pages; what
else it says of the node comes after the other chunks. Chunks that were read come last: they cannot
be chosen any more.

What a fact needs beside it to be understood: its heading, and where it is thin what goes before.

Facts are to stand alone, pronouns replaced; some do not ("The original score was rejected.": of
which film?). Then the fact right before it in the chunk mostly tells.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from graphreader.agent.ranking import by_words, scores, wordings, words
from graphreader.agent.state import label
from graphreader.agent.tasks import FactGroup
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import ChunkFacts, Context, StoredFact

TOGETHER = 3
"""Facts of one chunk that stand together."""

A_PAGE = 200
"""Facts of a page at most; how many fit the window is seen when it is shown."""

CHUNKS_OF_A_PAGE = 60
_WORDS = re.compile(r"[^\W_]+")
_BEHIND = re.compile(r" \([^)]*\)$")  # "Li Yu (director)" is called Li Yu


@dataclass(frozen=True, slots=True)
class GroupedFacts:
    """Some facts of one chunk, in the order of the text; `more` are on later pages.

    `holds` are the wanted words that stand in the chunk, `promise` is how it ranks beside the best
    chunk that was not read, from 0 to 1.
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
    """What may be shown next, best first, and how many facts come after it."""

    groups: Sequence[GroupedFacts]
    remaining: int


def fact_page(
    found: Sequence[ChunkFacts],
    wanted: str,
    shown: int,
    read: Collection[str] = (),
    node: str = "",
) -> FactPage:
    """The facts that come after the first `shown` ones. The same arguments give the same pages.

    What the chunks share with the name of their `node` does not tell them apart.
    """
    points = _points(found, wanted, node)
    unread = [p for p, group in zip(points, found, strict=True) if group.chunk not in read]
    best = max(unread, default=0.0)
    order = sorted(range(len(found)), key=lambda i: (found[i].chunk in read, -points[i]))
    ranked = ((found[i], min(1.0, points[i] / best) if best else 1.0) for i in order)
    in_turn = zip_longest(*(_parts(group, wanted, promise) for group, promise in ranked))
    waiting = [part for turn in in_turn for part in turn if part]
    page: list[GroupedFacts] = []
    remaining = sum(len(part.facts) for part in waiting) - shown
    room = A_PAGE
    for part in waiting:
        skipped = min(shown, len(part.facts))
        shown -= skipped
        left = part.facts[skipped:]
        if not left:
            continue
        if len(left) > room or len(page) == CHUNKS_OF_A_PAGE:
            break
        page.append(replace(part, facts=left))
        room -= len(left)
        remaining -= len(left)
    return FactPage(page, remaining)


def _points(found: Sequence[ChunkFacts], wanted: str, node: str) -> list[float]:
    """How much each chunk promises; of a document that the node or `wanted` calls, the most."""
    shared = scores(found, _held, wanted, node)
    called, told = words(node), _spaced(wanted)
    first = max(shared, default=0.0) + 1
    return [
        points + first * _is_meant(_BEHIND.sub("", group.document), called, told)
        for points, group in zip(shared, found, strict=True)
    ]


def _is_meant(title: str, called: set[str], told: str) -> bool:
    """Whether a title says the node's name, or is of several words and stands whole in `told`."""
    own = words(title)
    return bool(called and own == called) or (len(own) > 1 and _spaced(title) in told)


def _spaced(text: str) -> str:
    """The words of a text in lower case between single spaces, without any other signs."""
    return f" {' '.join(_WORDS.findall(text.casefold()))} "


def _held(group: ChunkFacts) -> str:
    return " ".join([group.document, *group.holds, *(fact.text for fact in group.facts)])


def _parts(group: ChunkFacts, wanted: str, promise: float) -> list[GroupedFacts]:
    """The facts of a chunk in parts that stand together, the most promising ones first."""
    ranked = by_words(group.facts, lambda fact: fact.text, wanted)
    told = wordings(wanted)
    whole = GroupedFacts(
        group.chunk,
        group.index,
        group.document,
        group.document_id,
        (),
        0,
        group.headed,
        tuple(told[stem] for stem in group.holds if stem in told),
        promise,
    )
    return [
        replace(
            whole,
            facts=tuple(sorted(ranked[start : start + TOGETHER], key=lambda fact: fact.index)),
            more=max(0, len(ranked) - start - TOGETHER),
        )
        for start in range(0, len(ranked), TOGETHER)
    ]


_POINTING = re.compile(
    r"(?i)\A(?:he|she|it|they|his|her|its|their|this|that|these|those|there|then|both|the latter"
    r"|the former|the (?:original|same|other|second|first|next|last|following|previous)|another"
    r"|such)\b|\A[他她它其该此这那两后]"
)

_TELLING = re.compile(r"(?<=\s)[^\W\d_a-z]|\d|[\"“«「《]")  # a name, a number, a title
_LONG = 12  # words that tell enough without any of these
_HAN = re.compile(r"[\u3400-\u9fff]")
_LONG_HAN = 12  # characters


def is_thin(fact: str) -> bool:
    """Whether a fact alone may leave open what it is about."""
    if _POINTING.match(fact):
        return True
    if _HAN.search(fact):
        return len(fact) < _LONG_HAN
    return not _TELLING.search(fact) and len(fact.split()) < _LONG


async def in_context(
    explorer: GraphExplorer, groups: Sequence[GroupedFacts], read: Collection[str]
) -> tuple[FactGroup, ...]:
    """The facts as they are shown: under the name of their chunk, thin ones with what precedes."""
    wanted: dict[str, list[int]] = {}
    for group in groups:
        thin = [fact.index for fact in group.facts if is_thin(fact.text)]
        if thin or group.headed:
            wanted.setdefault(group.chunk, []).extend(thin)
    found = await explorer.contexts(wanted) if wanted else {}
    return tuple(_shown(group, found.get(group.chunk), group.chunk in read) for group in groups)


def _shown(group: GroupedFacts, context: Context | None, read: bool) -> FactGroup:
    name = label(group.document, group.index)
    facts = tuple(fact.text for fact in group.facts)
    shown = FactGroup(
        name, facts, read, group.more, holds=group.holds, promise=0.0 if read else group.promise
    )
    if context is None:
        return shown
    listed = {fact.index for fact in group.facts}
    before = tuple(
        "" if fact.index - 1 in listed else context.before.get(fact.index, "")
        for fact in group.facts
    )
    return replace(shown, heading=context.heading or "", before=before)
