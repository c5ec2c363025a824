"""Merges as data: which key element goes into which, and how pairs become groups.

A merge says that two key elements are one thing. Nothing here looks at words or at the graph: the
stages say which pairs may become one, this module makes of the pairs what can be written. Its
answers depend on the set of what it is given, never on the order.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Stage = Literal["semantic", "association"]
_STAGES: tuple[Stage, ...] = ("semantic", "association")


@dataclass(frozen=True, slots=True)
class Element:
    """A key element of the base graph; `facts` is how many facts name it."""

    id: str
    key: str
    name: str
    facts: int


@dataclass(frozen=True, slots=True)
class Merge:
    """`element` becomes a wording of `into`; `score` is a cosine, or a confidence up to 1."""

    element: Element
    into: Element
    stage: Stage
    score: float


Pair = tuple[Element, Element, float]


def grouped(
    pairs: Iterable[Pair],
    allowed: Callable[[Element, Element], bool],
    rank: Callable[[Element], tuple[int | str, ...]],
    stage: Stage,
) -> list[Merge]:
    """The groups that pairs with scores make, the likest first, as merges into each group's head.

    A group only grows where every two of its members are `allowed`, so that no chain of small
    steps joins two different things. The head is the member of the smallest `rank`.
    """
    group_of: dict[str, list[Element]] = {}
    best: dict[str, float] = {}
    for first, second, score in sorted(map(_in_order, pairs), key=_likest_first):
        ours = group_of.setdefault(first.id, [first])
        theirs = group_of.setdefault(second.id, [second])
        if ours is theirs or not all(allowed(one, other) for one in ours for other in theirs):
            continue
        for member in (first, second):
            best.setdefault(member.id, score)
        ours.extend(theirs)
        group_of.update((member.id, ours) for member in theirs)
    groups = {id(group): group for group in group_of.values()}.values()
    merges = []
    for group in groups:
        head, *others = sorted(group, key=lambda member: (rank(member), member.id))
        merges += [Merge(other, head, stage, best[other.id]) for other in others]
    return sorted(merges, key=_by_element)


def combined(merges: Iterable[Merge]) -> list[Merge]:
    """Every element once, into the last of the chain that it begins; in the order of keys.

    Merges by meaning count before those by association, likelier ones before others. A merge of
    what was merged already is one of what it was merged into; one that closes a circle is left out.
    """
    steps: dict[str, Merge] = {}

    def last(element: Element) -> Element:
        while element.id in steps:
            element = steps[element.id].into
        return element

    for merge in sorted(merges, key=_first_to_count):
        element, into = last(merge.element), last(merge.into)
        if element.id != into.id:
            steps[element.id] = Merge(element, into, merge.stage, merge.score)
    followed = (Merge(m.element, last(m.into), m.stage, m.score) for m in steps.values())
    return sorted(followed, key=_by_element)


def most_telling(element: Element) -> tuple[int, int, str]:
    """The rank of the head of a group: most facts, then the shortest key, then the smallest."""
    return -element.facts, len(element.key), element.key


def _in_order(pair: Pair) -> Pair:
    first, second, score = pair
    return pair if first.id <= second.id else (second, first, score)


def _likest_first(pair: Pair) -> tuple[float, str, str]:
    return -pair[2], pair[0].id, pair[1].id


def _first_to_count(merge: Merge) -> tuple[int, float, str, str]:
    return _STAGES.index(merge.stage), -merge.score, merge.element.id, merge.into.id


def _by_element(merge: Merge) -> tuple[str, str]:
    return merge.element.key, merge.element.id
