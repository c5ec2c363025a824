"""Full-text queries out of any words, without Lucene's syntax ever being triggered.

Lucene weighs a word by how rare it is in its whole index, which has the names of all corpora. So
what it finds is weighed here anew, by the names that were found in one corpus. Only which of very
many names are looked at at all is left to it.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256

MOST_TERMS = 200
"""Lucene refuses queries of more than 1,024 clauses; each term makes two."""

RARE = 1_000
"""A word of one name in so many weighs ten times as much as one of every name, or nearly so."""

# BM25's, as Lucene has them.
_SATURATION = 1.2
_LENGTH = 0.75

_ENGLISH = """
a an and are as at be been but by can could did do does for from had has have he her him his how i
if in into is it its me my of on or our she should so that the their them then there these they this
those to was we were what when where which who whom whose why will with would you your
"""
_FUNCTION_WORDS = frozenset(_ENGLISH.split())

_WORD = re.compile(r"\w+")
_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")


def lucene(text: str, corpus: str) -> str | None:
    """Return a query for key elements of `corpus` that hold any word of `text`, None without words.

    Every word is quoted, so AND, brackets and stars mean themselves. Chinese has no spaces: its
    runs are asked for by pairs of characters. English function words count only where there is
    nothing else: a large part of all names holds them, and each of these would be weighed.
    """
    terms = _asked(text)
    if not terms:
        return None
    either = " ".join(f'name:"{term}" aliases:"{term}"' for term in terms)
    return f"+corpus_word:{corpus_word(corpus)} +({either})"


def by_words(text: str, wordings: Mapping[str, Sequence[str]]) -> list[str]:
    """Ids by how well their wordings match `text`, best first: BM25 over all words of each.

    Those that share no word with it come last; equal ones are in the order of their wordings.
    """
    asked = _asked(text)
    held = {id_: Counter(_terms(" ".join(words))) for id_, words in wordings.items()}
    often = Counter(term for terms in held.values() for term in asked if term in terms)
    weights = {term: math.log(1 + RARE / often[term]) for term in often}
    average = sum(map(Counter.total, held.values())) / len(held) if held else 1

    def score(id_: str) -> float:
        terms = held[id_]
        longer = _SATURATION * (1 - _LENGTH + _LENGTH * terms.total() / average)
        return sum(weights[term] * terms[term] / (terms[term] + longer) for term in weights)

    return sorted(held, key=lambda id_: (-score(id_), wordings[id_]))


def corpus_word(corpus: str) -> str:
    """A word for a corpus that no other one has, whatever an analyzer makes of the name."""
    return "c" + sha256(corpus.encode()).hexdigest()[:16]


def _asked(text: str) -> list[str]:
    """The words to look for: each once, function words only where there are no others."""
    terms = list(dict.fromkeys(_terms(text)))
    return ([term for term in terms if term not in _FUNCTION_WORDS] or terms)[:MOST_TERMS]


def _terms(text: str) -> list[str]:
    terms: list[str] = []
    for word in _WORD.findall(text.lower()):
        for part in _CHINESE.findall(word):
            terms += [part[i : i + 2] for i in range(len(part) - 1)] or [part]
        rest = _CHINESE.sub(" ", word).split()
        terms += rest
    return terms
