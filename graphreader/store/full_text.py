"""Full-text queries out of any words, without Lucene's syntax ever being triggered."""

import re
from hashlib import sha256

MOST_TERMS = 200
"""Lucene refuses queries of more than 1,024 clauses; each term makes two."""

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
    terms = list(dict.fromkeys(_terms(text)))
    terms = [term for term in terms if term not in _FUNCTION_WORDS] or terms
    terms = terms[:MOST_TERMS]
    if not terms:
        return None
    either = " ".join(f'name:"{term}" aliases:"{term}"' for term in terms)
    return f"+corpus_word:{corpus_word(corpus)} +({either})"


def corpus_word(corpus: str) -> str:
    """A word for a corpus that no other one has, whatever an analyzer makes of the name."""
    return "c" + sha256(corpus.encode()).hexdigest()[:16]


def _terms(text: str) -> list[str]:
    terms: list[str] = []
    for word in _WORD.findall(text.lower()):
        for part in _CHINESE.findall(word):
            terms += [part[i : i + 2] for i in range(len(part) - 1)] or [part]
        rest = _CHINESE.sub(" ", word).split()
        terms += rest
    return terms
