"""The decision which key elements are merged: rules, similarity, association, groups.

There are two steps of InsTag (Lu et al. 2023), to which the paper refers: a cosine of at least
0.95, or 40 common facts and 99 %. The rules are stricter than InsTag's: since embeddings find
"Austria" similar to "Australia", a merge must be certain by spelling or place; the embedding
decides only for two single common words that do not look alike: "film", "movie". InsTag drops rare
tags; rare key elements are kept.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from itertools import combinations, product
from typing import Literal

from graphreader.documents import KeyElement
from graphreader.ingestion.normalization.rules import (
    ACCENT_MATTERS,
    american,
    join_hyphens,
    letters,
    normalize,
    space_hyphens,
    strip_accents,
)
from graphreader.store.writer import FREQUENT
from graphreader.text.scripts import HAN_RUN
from graphreader.text.words import is_stop_word

Stage = Literal["semantic", "association"]
_STAGES: tuple[Stage, ...] = ("semantic", "association")

THRESHOLD = 0.95  # smallest cosine (-1..1) of two near-duplicates: InsTag's distance of 0.05

MINIMUM_SUPPORT = FREQUENT  # smallest number of facts that name both elements of an associated pair

CONFIDENCE = 0.99
"""Smallest share of the facts of either element of an associated pair that name both (0-1)."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A decision to make `element` a wording of `into`; `score` is a cosine or confidence (0-1)."""

    element: KeyElement
    into: KeyElement
    stage: Stage
    score: float


Pair = tuple[KeyElement, KeyElement, float]


def semantic_merges(
    elements: Mapping[str, KeyElement], similarities: Iterable[tuple[str, str, float]]
) -> list[Merge]:
    """Return the merges of similar pairs (id, id, cosine) and of names of one place, by key."""
    pairs = [
        (elements[one], elements[other], score)
        for one, other, score in similarities
        if score >= THRESHOLD and one in elements and other in elements
    ]
    named: dict[str, list[KeyElement]] = defaultdict(list)
    for element in elements.values():
        if place := _place(element):
            named[place].append(element)
    for same in named.values():
        pairs += [(one, other, 1.0) for one, other in combinations(same, 2)]
    return group(
        pairs,
        may_merge,
        lambda element: (_place(element) != element.key, *rank_by_facts(element)),
        "semantic",
    )


def association_merges(pairs: Iterable[tuple[KeyElement, KeyElement, int]]) -> list[Merge]:
    """Return the merges of pairs given with their number of common facts, sorted by key."""
    together = {
        frozenset((a.id, b.id)): (a, b, facts / max(a.facts, b.facts))
        for a, b, facts in pairs
        if facts >= MINIMUM_SUPPORT
        and facts >= CONFIDENCE * max(a.facts, b.facts)
        and a.id != b.id
        and may_associate(a, b)
    }
    return group(
        together.values(),
        lambda a, b: frozenset((a.id, b.id)) in together,
        rank_by_facts,
        "association",
    )


def group(
    pairs: Iterable[Pair],
    allowed: Callable[[KeyElement, KeyElement], bool],
    rank: Callable[[KeyElement], tuple[int | str, ...]],
    stage: Stage,
) -> list[Merge]:
    """Group pairs by descending score; return merges into each group's element of smallest `rank`.

    A group grows only if all its pairs are `allowed`, so no chain joins different meanings.
    """
    group_of: dict[str, list[KeyElement]] = {}
    best: dict[str, float] = {}
    ordered = [(a, b, score) if a.id <= b.id else (b, a, score) for a, b, score in pairs]
    for first, second, score in sorted(ordered, key=lambda p: (-p[2], p[0].id, p[1].id)):
        ours = group_of.setdefault(first.id, [first])
        theirs = group_of.setdefault(second.id, [second])
        if ours is theirs or not all(allowed(one, other) for one in ours for other in theirs):
            continue
        for member in (first, second):
            best.setdefault(member.id, score)
        ours.extend(theirs)
        group_of.update((member.id, ours) for member in theirs)
    merges = []
    for members in {id(members): members for members in group_of.values()}.values():
        head, *others = sorted(members, key=lambda member: (rank(member), member.id))
        merges += [Merge(other, head, stage, best[other.id]) for other in others]
    return sorted(merges, key=_by_key)


def combine(merges: Iterable[Merge]) -> list[Merge]:
    """Reduce chains of merges (A into B, B into C) to one merge per element (A into C).

    Semantic merges precede merges by association, and high scores precede low scores; a merge that
    would close a circle is dropped. The result is sorted by key.
    """
    steps: dict[str, Merge] = {}

    def last(element: KeyElement) -> KeyElement:
        while element.id in steps:
            element = steps[element.id].into
        return element

    def precedence(merge: Merge) -> tuple[int, float, str, str]:
        return _STAGES.index(merge.stage), -merge.score, merge.element.id, merge.into.id

    for merge in sorted(merges, key=precedence):
        element, into = last(merge.element), last(merge.into)
        if element.id != into.id:
            steps[element.id] = Merge(element, into, merge.stage, merge.score)
    ends = (Merge(one.element, last(one.into), one.stage, one.score) for one in steps.values())
    return sorted(ends, key=_by_key)


def rank_by_facts(element: KeyElement) -> tuple[int, int, str]:
    """The sort key for the head of a group: most facts, then shortest key, then first key."""
    return -element.facts, len(element.key), element.key


def _by_key(merge: Merge) -> tuple[str, str]:
    return merge.element.key, merge.element.id


def may_merge(a: KeyElement, b: KeyElement) -> bool:
    """Whether two similar elements may be merged: as names of one place, or as one wording."""
    if _place(a) and _place(a) == _place(b):
        return True
    if not (is_comparable(a.name, a.key) and is_comparable(b.name, b.key)):
        return False
    names = is_name(a.name) + is_name(b.name)
    if names:
        return is_same_name(a.key, b.key, accents=names == 2)
    return is_same_word(a.key, b.key) or may_be_synonyms(a.key, b.key)


def may_associate(a: KeyElement, b: KeyElement) -> bool:
    """Whether two elements that always occur together may be merged.

    No numbers, no antonyms, and names only of common words: couples occur together as well.
    """
    if is_counted(a.name, a.key) or is_counted(b.name, b.key):
        return False
    if is_name(a.name) or is_name(b.name):
        return contains(a.key, b.key) or contains(b.key, a.key)
    ours, theirs = set(words(a.key)), set(words(b.key))
    return not any(
        are_antonyms(one, other) or look_alike(one, other)
        for one, other in product(ours - theirs, theirs - ours)
    )


def blocking_keys(key: str) -> frozenset[str]:
    """Return the blocking keys of a key; two elements share one if the rules may merge them."""
    spellings = (
        strip_accents(space_hyphens(key)),
        *(" ".join(_american_words(way(key))) for way in (space_hyphens, join_hyphens)),
    )
    return frozenset((*spellings, _ANY_WORD) if _SINGLE_WORD.fullmatch(key) else spellings)


_WORD = re.compile(r"[^\W_]+(?:['.][^\W_]+)*")
# Hashed embeddings find some shorter words similar to each other.
_SINGLE_WORD = re.compile(r"[a-z]{4,}")
_ANY_WORD = "*"  # the blocking key that all single words share: any two may be synonyms
_ROMAN = re.compile(r"(?=[IVXLCDM]{2})M{0,3}(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})")
_NEGATIONS = ("un", "in", "im", "il", "ir", "non", "dis", "mis", "anti", "a", "counter")


def is_comparable(name: str, key: str) -> bool:
    """Whether an element may merge with another by similarity; numbers and dates may not."""
    return len(key) > 2 and not is_counted(name, key)


def is_counted(name: str, key: str) -> bool:
    """Whether a name contains a number, ordinal or date: digits, Roman, Chinese or in words."""
    return (
        any(map(str.isnumeric, key))
        or not _antonym_rows()[0].isdisjoint(words(key))
        or any(map(_ROMAN.fullmatch, words(name)))
    )


def is_name(name: str) -> bool:
    """Whether a text may be a proper name: it has a capital letter or a Chinese character."""
    return name != name.lower() or bool(HAN_RUN.search(name))


def words(text: str) -> list[str]:
    """Split a text into its words, without hyphens and other signs."""
    return _WORD.findall(text)


def contains(longer: str, shorter: str) -> bool:
    """Whether `longer` contains all words of `shorter`, or its Chinese characters in a row."""
    if HAN_RUN.search(shorter):
        return shorter in longer
    return set(words(shorter)) <= set(words(longer))


def is_same_name(one: str, other: str, *, accents: bool = True) -> bool:
    """Whether two keys differ only in hyphens, points and, with `accents`, accents of names."""
    one, other = space_hyphens(one), space_hyphens(other)
    if one == other:
        return True
    bare = strip_accents(one)
    if not accents or bare != strip_accents(other) or len(bare) < 4 or bare in ACCENT_MATTERS:
        return False  # a word of three letters may be an acronym: "ACS", "Ács"
    return all(
        ours == theirs or 1 in (len(ours), len(theirs))  # "à" is "a", but not "á"
        for ours, theirs in zip(letters(one), letters(other), strict=True)
    )


def is_same_word(one: str, other: str) -> bool:
    """Whether two keys are spellings of the same common words: "hard-rock", "colour"."""
    return any(
        _american_words(way(one)) == _american_words(way(other))
        for way in (space_hyphens, join_hyphens)
    )


def may_be_synonyms(one: str, other: str) -> bool:
    """Whether two keys are single common words, which only an embedding can compare."""
    if is_stop_word(one) or is_stop_word(other):
        return False  # "goings", "mines": vectors of words without content agree by chance
    single = _SINGLE_WORD.fullmatch(one) and _SINGLE_WORD.fullmatch(other)
    return bool(single) and not look_alike(one, other) and not are_antonyms(one, other)


def look_alike(one: str, other: str) -> bool:
    """Whether similarity may come from spelling alone, as for "employer" and "employee"."""
    same_ends = one[:3] == other[:3] or one[-4:] == other[-4:]
    one, other = sorted((one, other))  # the matcher is asymmetric
    return same_ends or SequenceMatcher(None, one, other, autojunk=False).ratio() >= 0.5


def _american_words(key: str) -> list[str]:
    return [american(word) for word in key.removeprefix("the ").split()]


def are_antonyms(one: str, other: str) -> bool:
    """Whether two lower-case English words are opposites, or one negates the other."""
    longer, shorter = sorted((one, other), key=len, reverse=True)
    if longer != shorter and longer in {negation + shorter for negation in _NEGATIONS}:
        return True
    return one != other and any(one in row and other in row for row in _antonym_rows())


@cache
def _antonym_rows() -> tuple[frozenset[str], ...]:
    """The rows of antonyms.txt; the first row has numbers, ordinals, months and days."""
    return tuple(frozenset(line.split()) for line in _lines("antonyms.txt"))


@cache
def place_names() -> Mapping[str, str]:
    """A mapping from keys of places' names to keys of places ("USA": "United States")."""
    names: dict[str, str] = {}
    for line in _lines("places.tsv"):
        place, *others = re.split(r"\t|, ", line)
        for name in (place, *others):
            names[normalize(name)] = names[normalize(f"the {name}")] = normalize(place)
    return names


def _lines(name: str) -> list[str]:
    text = files("graphreader.ingestion.normalization").joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _place(element: KeyElement) -> str | None:
    """The key of the place that an element names, if any; "turkey" without capital is no place."""
    return place_names().get(element.key) if is_name(element.name) else None
