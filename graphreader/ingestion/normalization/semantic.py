"""Near-duplicate key elements become one, by likeness and under a guard (InsTag's semantic step).

Lu et al. 2023 cluster PhraseBERT embeddings by DBSCAN with a distance of 0.05. Here pairs of a
cosine of at least 0.95 are candidates, whatever made the embeddings, and the guard decides; forms
of one place need no likeness. Nothing is searched here: candidates come from the vector index.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from graphreader.ingestion.normalization.guard import (
    is_counted,
    is_name,
    may_mean_one,
    one_name,
    one_word,
)
from graphreader.ingestion.normalization.merging import (
    Element,
    Merge,
    Pair,
    grouped,
    most_telling,
)
from graphreader.ingestion.normalization.places import place_forms

THRESHOLD = 0.95
"""The least cosine (-1..1) of two near-duplicates: InsTag's distance of 0.05."""


def is_compared(name: str, key: str) -> bool:
    """Whether this element could merge with any other by likeness; numbers and dates cannot."""
    return len(key) > 2 and not is_counted(name, key)


def may_merge(a: Element, b: Element) -> bool:
    """Whether two elements that are alike are one thing: forms of one place, or one wording.

    Symmetric. It trusts no embedding: it must be right for one that knows only spelling.
    """
    if _place_of(a) is not None and _place_of(a) == _place_of(b):
        return True
    if not (is_compared(a.name, a.key) and is_compared(b.name, b.key)):
        return False
    names = is_name(a.name) + is_name(b.name)
    if names:
        return one_name(a.key, b.key, accents=names == 2)
    return one_word(a.key, b.key) or may_mean_one(a.key, b.key)


def merges(
    elements: Mapping[str, Element], likenesses: Iterable[tuple[str, str, float]]
) -> list[Merge]:
    """The merges out of likenesses (two ids of `elements`, a cosine), in the order of keys.

    Forms of one place that stand in `elements` merge too, with a score of 1. The head of a group is
    the place itself if it is there, else the element with most facts. Likenesses below the
    threshold, and of elements that are not there, count for nothing.
    """
    return grouped(
        [*_of_places(elements.values()), *_alike(elements, likenesses)],
        may_merge,
        lambda element: (_place_of(element) != element.key, *most_telling(element)),
        "semantic",
    )


def _alike(
    elements: Mapping[str, Element], likenesses: Iterable[tuple[str, str, float]]
) -> Iterator[Pair]:
    for one, other, score in likenesses:
        if score >= THRESHOLD and one in elements and other in elements:
            yield elements[one], elements[other], score


def _of_places(elements: Iterable[Element]) -> Iterator[Pair]:
    forms: dict[str, list[Element]] = defaultdict(list)
    for element in elements:
        place = _place_of(element)
        if place is not None:
            forms[place].append(element)
    for together in forms.values():
        yield from ((one, other, 1.0) for one, other in combinations(together, 2))


def _place_of(element: Element) -> str | None:
    """The key of the place; a turkey, or what is polished, has no capital and is none."""
    return place_forms().get(element.key) if is_name(element.name) else None
