"""Rankings by shared words, and one ranking out of several.

Plain counting without a model: it decides what is shown first, never what is true.
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
    """The words of a text as six-letter stems; Chinese as pairs of characters.

    A word with a digit is a number or a code and stays whole. Stop words are left out.
    """
    runs = _CHINESE.findall(text.casefold())
    return {*word_stems(text), *(a + b for run in runs for a, b in pairwise(run))}


def word_stems(text: str) -> dict[str, str]:
    """The stems of the words that are not Chinese, each with one word that has it."""
    long = [word for word in _WORD.findall(text.casefold()) if len(word) > 2 or word.isdigit()]
    telling = (word for word in long if not is_stop_word(word))
    return {word if _DIGIT.search(word) else word[:6]: word for word in telling}


def rank_by_words(items: Sequence[T], text: Callable[[T], str], query: str) -> list[T]:
    """All items, first those whose text shares more and rarer words with the query.

    A word is rare if few items have it. Items with equal scores keep their order.
    """
    points = scores(items, text, query)
    return [items[i] for i in sorted(range(len(items)), key=lambda i: -points[i])]


def rank_shared(items: Sequence[T], text: Callable[[T], str], query: str) -> list[T]:
    """The same for only those items that share a word with the query."""
    points = scores(items, text, query)
    order = sorted(range(len(items)), key=lambda i: -points[i])
    return [items[i] for i in order if points[i]]


def scores(
    items: Sequence[T], text: Callable[[T], str], query: str, ignored: str = ""
) -> list[float]:
    """Score each item by the words that it shares with the query, except the `ignored` ones.

    A shared word counts at least log 2, and more the fewer items have it.
    """
    query_words = words(query) - words(ignored)
    shared = [words(text(item)) & query_words for item in items]
    frequency = Counter(word for one in shared for word in one)
    # fsum is exact in any order of the words: all processes must show the same.
    return [fsum(log(1 + len(items) / frequency[word]) for word in one) for one in shared]


def open_needs(needs: Sequence[str], notebook: str) -> list[str]:
    """The needs of which a notebook has at most half of the words; all needs if there are none."""
    noted = words(notebook)
    still_open = [need for need in needs if 2 * len(words(need) & noted) <= len(words(need))]
    return still_open or list(needs)


def fuse_rankings(rankings: Iterable[Sequence[T]], key: Callable[[T], str]) -> list[T]:
    """One ranking out of several, by reciprocal rank (Cormack et al. 2009, with their k = 60)."""
    points: defaultdict[str, float] = defaultdict(float)
    items: dict[str, T] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            points[key(item)] += 1 / (60 + rank)
            items.setdefault(key(item), item)
    return [items[id_] for id_ in sorted(items, key=lambda id_: -points[id_])]
