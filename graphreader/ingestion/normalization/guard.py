"""Which wordings may be one thing, whatever their likeness: the guard of merging.

An embedding that knows spelling finds "Austria" like "Australia", one that knows meaning finds
"1914" like "1915" and "north" like "south". So what merges must be certain without it: one wording
with other hyphens, accents or points, or British and American spelling of common words. Only two
single common words that do not look alike at all are left to the embedding: "film" and "movie".

A word is common where it has no capital. English is known; other languages merge only by hyphens,
points and accents.
"""

import re
from difflib import SequenceMatcher

from graphreader.ingestion.normalization.opposites import are_opposites, is_counting
from graphreader.ingestion.normalization.spelling import (
    ACCENT_MATTERS,
    american,
    joined,
    letters,
    plain,
    spaced,
)

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
