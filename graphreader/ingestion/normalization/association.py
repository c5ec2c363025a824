"""Key elements that always occur together become one (InsTag's association aggregation).

Lu et al. 2023 find them by FP-Growth with a least support of 40 and a confidence of 99 %; of item
sets of two that is a count of the facts that name both. Small corpora have no such pairs.
"""

from collections.abc import Iterable
from itertools import product

from graphreader.ingestion.normalization.guard import holds, is_counted, is_name, look_alike, words
from graphreader.ingestion.normalization.merging import Element, Merge, grouped, most_telling
from graphreader.ingestion.normalization.opposites import are_opposites

MINIMUM_SUPPORT = 40
"""Facts that must name both."""

CONFIDENCE = 0.99
"""Of the facts that name either one, the part that must name both."""


def merges(pairs: Iterable[tuple[Element, Element, int]]) -> list[Merge]:
    """The merges out of pairs of elements with how many facts name both, in the order of keys.

    Each pair once, either way around. In a group every two always occur together.
    """
    always = {
        frozenset((a.id, b.id)): (a, b, together / max(a.facts, b.facts))
        for a, b, together in pairs
        if together >= MINIMUM_SUPPORT
        and together >= CONFIDENCE * max(a.facts, b.facts)
        and a.id != b.id
        and may_join(a, b)
    }
    return grouped(
        always.values(), lambda a, b: frozenset((a.id, b.id)) in always, most_telling, "association"
    )


def may_join(a: Element, b: Element) -> bool:
    """Whether two that always occur together can be one thing; symmetric.

    Numbers and dates cannot, nor opposites. A name can only be one with what holds its words or
    is held by it ("Bennet", "Elizabeth Bennet"): couples occur together as well.
    """
    if is_counted(a.name, a.key) or is_counted(b.name, b.key):
        return False
    if is_name(a.name) or is_name(b.name):
        return holds(a.key, b.key) or holds(b.key, a.key)
    ours, theirs = set(words(a.key)), set(words(b.key))
    return not any(
        are_opposites(one, other) or look_alike(one, other)
        for one, other in product(ours - theirs, theirs - ours)
    )
