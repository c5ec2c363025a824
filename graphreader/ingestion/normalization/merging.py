"""Merges as data: which key element goes into which, and how pairs become groups.

A merge says that two key elements are one thing. Nothing here looks at words or at the graph: the
stages say which pairs may become one, this module makes of the pairs what can be written. Its
answers depend on the set of what it is given, never on the order.

Which wordings may be one thing, whatever their likeness: the guard of merging.

An embedding that knows spelling finds "Austria" like "Australia", one that knows meaning finds
"1914" like "1915" and "north" like "south". So what merges must be certain without it: one wording
with other hyphens, accents or points, or British and American spelling of common words. Only two
single common words that do not look alike at all are left to the embedding: "film" and "movie".

A word is common where it has no capital. English is known; other languages merge only by hyphens,
points and accents.

Near-duplicate key elements become one, by likeness and under a guard (InsTag's semantic step).

Lu et al. 2023 cluster PhraseBERT embeddings by DBSCAN with a distance of 0.05. Here pairs of a
cosine of at least 0.95 are candidates, whatever made the embeddings, and the guard decides; forms
of one place need no likeness. Nothing is searched here: candidates come from the vector index.

Key elements that always occur together become one (InsTag's association aggregation).

Lu et al. 2023 find them by FP-Growth with a least support of 40 and a confidence of 99 %; of item
sets of two that is a count of the facts that name both. Small corpora have no such pairs.

Words that likeness must never make one: what counts, and what stands in one row of a choice.

Embeddings find "north" like "south", because both stand in the same places of texts. The rows are
data: opposites.txt beside this module.

Adjective and noun forms of one place: "Canadian" is shown as "Canada" (paper, figure 21).

The table is data: places.tsv beside this module.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from itertools import combinations, product
from types import MappingProxyType
from typing import Literal

from graphreader.ingestion.normalization.rules import (
    ACCENT_MATTERS,
    american,
    joined,
    letters,
    normalize,
    plain,
    spaced,
)

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


_NEGATIONS = ("un", "in", "im", "il", "ir", "non", "dis", "mis", "anti", "a", "counter")


def is_counting(word: str) -> bool:
    """Whether a lower-case English word is a number, an order, a month or a day of the week."""
    return word in _rows()[0]


def are_opposites(one: str, other: str) -> bool:
    """Whether two lower-case English words are different choices, or one says no to the other."""
    longer, shorter = sorted((one, other), key=len, reverse=True)
    if longer != shorter and longer in {negation + shorter for negation in _NEGATIONS}:
        return True
    return one != other and any(one in row and other in row for row in _rows())


@cache
def _rows() -> tuple[frozenset[str], ...]:
    table = files("graphreader.ingestion.normalization").joinpath("opposites.txt")
    lines = table.read_text(encoding="utf-8").splitlines()
    return tuple(frozenset(line.split()) for line in lines if not line.startswith("#"))


_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W_]+(?:['.][^\W_]+)*")
_SINGLE = re.compile(r"[a-z]{4,}")  # of shorter ones, hashed embeddings find some alike
_ANY_SINGLE = "*"  # no key: a mark of what may mean one thing with any other word
_ROMAN = re.compile(r"(?=[IVXLCDM]{2})M{0,3}(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})")


def is_counted(name: str, key: str) -> bool:
    """Whether a number, an order or a date stands in it: digits, Roman, Chinese or in words."""
    return (
        any(map(str.isnumeric, key))
        or any(map(is_counting, words(key)))
        or any(map(_ROMAN.fullmatch, words(name)))
    )


def is_name(name: str) -> bool:
    """Whether it may name one thing: a capital stands in it, or Chinese, which has none."""
    return name != name.lower() or bool(_HAN.search(name))


def words(text: str) -> list[str]:
    """The words, also those that hyphens join."""
    return _WORD.findall(text)


def holds(longer: str, shorter: str) -> bool:
    """Whether all words of one key stand in the other; of Chinese, all signs in a row."""
    if _HAN.search(shorter):
        return shorter in longer
    return set(words(shorter)) <= set(words(longer))


def one_name(one: str, other: str, *, accents: bool = True) -> bool:
    """Whether two keys write one name, but for hyphens, points, and accents left out.

    "Bâle" is no "bale": without `accents` those count, as they do where they make another word.
    """
    one, other = spaced(one), spaced(other)
    if one == other:
        return True
    word = plain(one)
    if not accents or word != plain(other) or len(word) < 4 or word in ACCENT_MATTERS:
        return False  # of three letters one may be an acronym: "ACS", "Ács"
    return all(
        ours == theirs or 1 in (len(ours), len(theirs))  # "à" is "a", but not "á"
        for ours, theirs in zip(letters(one), letters(other), strict=True)
    )


def one_word(one: str, other: str) -> bool:
    """Whether two keys of common words spell the same: "hard-rock", "colour", "cofounder"."""
    return any(_spelled(way(one)) == _spelled(way(other)) for way in (spaced, joined))


def may_mean_one(one: str, other: str) -> bool:
    """Whether only an embedding can tell that two single common words mean one thing."""
    single = _SINGLE.fullmatch(one) and _SINGLE.fullmatch(other)
    return bool(single) and not look_alike(one, other) and not are_opposites(one, other)


def marks(key: str) -> frozenset[str]:
    """Signs of a key, of which two keys share one wherever this guard may make one of them.

    So whoever has nothing in common with others need not be compared with any.
    """
    spellings = (plain(spaced(key)), *(" ".join(_spelled(way(key))) for way in (spaced, joined)))
    return frozenset((*spellings, _ANY_SINGLE) if _SINGLE.fullmatch(key) else spellings)


def look_alike(one: str, other: str) -> bool:
    """Whether likeness may come from spelling alone: "employer", "employee"."""
    alike = one[:3] == other[:3] or one[-4:] == other[-4:]
    one, other = sorted((one, other))  # the matcher is not symmetric
    return alike or SequenceMatcher(None, one, other, autojunk=False).ratio() >= 0.5


def _spelled(key: str) -> list[str]:
    return [american(word) for word in key.removeprefix("the ").split()]


@cache
def place_forms() -> Mapping[str, str]:
    """The key of the place for the key of each of its forms, the place itself among them."""
    table = files("graphreader.ingestion.normalization").joinpath("places.tsv")
    forms: dict[str, str] = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            place, others = line.split("\t")
            for form in others.split(", "):
                forms[normalize(form)] = forms[normalize(f"the {form}")] = normalize(place)
            forms[normalize(place)] = normalize(place)  # "the Niger" is a river
    return MappingProxyType(forms)


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


MINIMUM_SUPPORT = 40
"""Facts that must name both."""

CONFIDENCE = 0.99
"""Of the facts that name either one, the part that must name both."""


def association_merges(pairs: Iterable[tuple[Element, Element, int]]) -> list[Merge]:
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
