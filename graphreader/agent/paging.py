"""The facts of a node in pages: the most promising ones first, none left out.

A hub has more facts than a window holds. They are ranked by the words of question and plan: the
chunks by all of their facts, the facts within a chunk by their own. Of each chunk some stand on the
first pages; what else it says of the node comes after the other chunks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from graphreader.agent.ranking import by_words
from graphreader.agent.state import label
from graphreader.deciding.exploring import FactGroup
from graphreader.store.explorer import ChunkFacts

TOGETHER = 15
"""Facts of one chunk that stand together."""

A_PAGE = 200
"""Facts of a page at most; how many fit the window is seen when it is shown."""


@dataclass(frozen=True, slots=True)
class GroupedFacts:
    """Some facts of one chunk, in the order of the text; `more` are on later pages."""

    chunk: str
    index: int
    document: str
    facts: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class FactPage:
    """What may be shown next, best first, and how many facts come after it."""

    groups: Sequence[GroupedFacts]
    remaining: int


def fact_page(found: Sequence[ChunkFacts], wanted: str, shown: int) -> FactPage:
    """The facts that come after the first `shown` ones. The same arguments give the same pages."""
    ranked = by_words(found, lambda group: " ".join(group.facts), wanted)
    in_turn = zip_longest(*(_parts(group, wanted) for group in ranked))
    waiting = [part for turn in in_turn for part in turn if part]
    page: list[GroupedFacts] = []
    remaining = sum(len(part.facts) for part in waiting) - shown
    room = A_PAGE
    for part in waiting:
        skipped = min(shown, len(part.facts))
        shown -= skipped
        left = part.facts[skipped:]
        if left and len(left) <= room:
            page.append(replace(part, facts=left))
            room -= len(left)
            remaining -= len(left)
        elif left:
            break
    return FactPage(page, remaining)


def shown_group(group: GroupedFacts, read: Sequence[str]) -> FactGroup:
    """The facts as they are shown, under the name of their chunk."""
    name = label(group.document, group.index)
    return FactGroup(name, group.facts, group.chunk in read, group.more)


def _parts(group: ChunkFacts, wanted: str) -> list[GroupedFacts]:
    """The facts of a chunk in parts that stand together, the most promising ones first."""
    ranked = by_words(group.facts, str, wanted)
    parts = []
    for start in range(0, len(ranked), TOGETHER):
        best = set(ranked[start : start + TOGETHER])
        facts = tuple(fact for fact in group.facts if fact in best)
        more = max(0, len(ranked) - start - TOGETHER)
        parts.append(GroupedFacts(group.chunk, group.index, group.document, facts, more))
    return parts
