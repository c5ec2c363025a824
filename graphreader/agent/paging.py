"""The facts of a node in pages: the most promising ones first, none left out.

A hub has more facts than a window holds. They are ranked by the words of question and plan: the
chunks by all of their facts, the facts within a chunk by their own. Of each chunk some stand on the
first pages; what else it says of the node comes after the other chunks. Chunks that were read come
last: they cannot be chosen any more.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from graphreader.agent.ranking import by_words
from graphreader.store.found import ChunkFacts, StoredFact

TOGETHER = 15
"""Facts of one chunk that stand together."""

A_PAGE = 200
"""Facts of a page at most; how many fit the window is seen when it is shown."""

CHUNKS_OF_A_PAGE = 60


@dataclass(frozen=True, slots=True)
class GroupedFacts:
    """Some facts of one chunk, in the order of the text; `more` are on later pages."""

    chunk: str
    index: int
    document: str
    document_id: str
    facts: tuple[StoredFact, ...]
    more: int
    headed: bool = False


@dataclass(frozen=True, slots=True)
class FactPage:
    """What may be shown next, best first, and how many facts come after it."""

    groups: Sequence[GroupedFacts]
    remaining: int


def fact_page(
    found: Sequence[ChunkFacts], wanted: str, shown: int, read: Collection[str] = ()
) -> FactPage:
    """The facts that come after the first `shown` ones. The same arguments give the same pages."""
    ranked = by_words(found, lambda group: " ".join(fact.text for fact in group.facts), wanted)
    ranked.sort(key=lambda group: group.chunk in read)
    in_turn = zip_longest(*(_parts(group, wanted) for group in ranked))
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


def _parts(group: ChunkFacts, wanted: str) -> list[GroupedFacts]:
    """The facts of a chunk in parts that stand together, the most promising ones first."""
    ranked = by_words(group.facts, lambda fact: fact.text, wanted)
    parts = []
    for start in range(0, len(ranked), TOGETHER):
        facts = sorted(ranked[start : start + TOGETHER], key=lambda fact: fact.index)
        more = max(0, len(ranked) - start - TOGETHER)
        parts.append(
            GroupedFacts(
                group.chunk,
                group.index,
                group.document,
                group.document_id,
                tuple(facts),
                more,
                group.headed,
            )
        )
    return parts
