"""Putting what may be too much into an order: by shared words, the rarer the better.

Plain counting, no model: it decides what is shown first, never what is true.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import fsum, log
from typing import TypeVar

from graphreader.text.words import is_stop_word

T = TypeVar("T")
_WORD = re.compile(r"[^\W_\u3400-\u9fff]+")
_DIGIT = re.compile(r"\d")
_CHINESE = re.compile(r"[\u3400-\u9fff]+")


def words(text: str) -> set[str]:
    """The words of a text, shortened to their stems by length; Chinese by pairs of characters.

    What holds a digit is a number or a code, and stays whole. Stop words say nothing.
    """
    runs = _CHINESE.findall(text.casefold())
    return {*wordings(text), *(a + b for run in runs for a, b in pairwise(run))}


def wordings(text: str) -> dict[str, str]:
    """The same stems without Chinese, each with a word of the text that it stands for."""
    found = [word for word in _WORD.findall(text.casefold()) if len(word) > 2 or word.isdigit()]
    told = (word for word in found if not is_stop_word(word))
    return {word if _DIGIT.search(word) else word[:6]: word for word in told}


def by_words(items: Sequence[T], text: Callable[[T], str], wanted: str) -> list[T]:
    """The items, those first whose text shares more and rarer words with `wanted`.

    A word is rare when few items hold it. Items that share the same keep their order.
    """
    shared = scores(items, text, wanted)
    return [items[i] for i in sorted(range(len(items)), key=lambda i: -shared[i])]


def sharing(items: Sequence[T], text: Callable[[T], str], wanted: str) -> list[T]:
    """The same, but only those items that share a word with `wanted`."""
    shared = scores(items, text, wanted)
    order = sorted(range(len(items)), key=lambda i: -shared[i])
    return [items[i] for i in order if shared[i]]


def scores(
    items: Sequence[T], text: Callable[[T], str], wanted: str, known: str = ""
) -> list[float]:
    """What each item shares with `wanted`, but for what is `known`: the more and the rarer words.

    Such a word is worth at least log 2.
    """
    asked = words(wanted) - words(known)
    held = [words(text(item)) & asked for item in items]
    times = Counter(word for words_ in held for word in words_)
    # Exact, so in any order of the words: what is shown must be the same in every process.
    return [fsum(log(1 + len(items) / times[word]) for word in words_) for words_ in held]


def missing(needs: Sequence[str], notebook: str) -> list[str]:
    """The needs that a notebook does not speak of yet; all of them where it speaks of all.

    It speaks of a need whose words it has for the most part.
    """
    noted = words(notebook)
    open_ = [need for need in needs if 2 * len(words(need) & noted) <= len(words(need))]
    return open_ or list(needs)


def fused(rankings: Iterable[Sequence[T]], key: Callable[[T], str]) -> list[T]:
    """One ranking out of several, by reciprocal ranks (Cormack et al. 2009, with their k = 60)."""
    scores: defaultdict[str, float] = defaultdict(float)
    items: dict[str, T] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[key(item)] += 1 / (60 + rank)
            items.setdefault(key(item), item)
    return [items[id_] for id_ in sorted(items, key=lambda id_: -scores[id_])]
