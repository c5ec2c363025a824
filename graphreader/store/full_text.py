"""Queries for the full-text indexes, and BM25 over what they return.

Lucene weighs a word by its frequency in all corpora of a database. So its results are ranked again
here, by BM25 over those of one corpus. Facts and titles are indexed by the terms of `text.words`,
so that a word in another form, or a Chinese name of two characters, is found as well.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256

from graphreader.text.words import HAN, fold, han_pairs, terms_of, word_list, words_of

TERMS_VERSION = 1
"""The number of the way in which `indexed_terms` are made; `graphreader reindex` renews others."""

_MOST_TERMS = 200  # Lucene refuses queries of more than 1,024 clauses; a term makes up to two
_RARITY = 1_000  # a word of one text in so many weighs about ten times as much as one of every text

# BM25's, as Lucene has them.
_SATURATION = 1.2
_LENGTH = 0.75

_STOP_WORDS = word_list("stop_words")
_WITH_DIGIT = re.compile(rf"[^\W_{HAN}]*\d[^\W_{HAN}]*")


@cache
def corpus_word(corpus: str) -> str:
    """The word by which a full-text index knows a corpus, safe from every tokenizer."""
    return "c" + sha256(corpus.encode()).hexdigest()[:16]


def indexed_terms(text: str, corpus: str) -> str:
    """The property `terms` of a fact or a document: the corpus's word, then the text's terms."""
    return " ".join([f"{corpus_word(corpus)}v{TERMS_VERSION}", *sorted(terms_of(text))])


def terms_query(terms: Iterable[str], corpus: str) -> str | None:
    """Return a query for facts or documents of `corpus` with any of the terms, None without one."""
    either = " ".join(f'"{term}"' for term in sorted(terms)[:_MOST_TERMS])
    return f'+"{corpus_word(corpus)}v{TERMS_VERSION}" +({either})' if either else None


def key_element_query(text: str, corpus: str) -> str | None:
    """Return a query for key elements of `corpus` with any word of `text`, None without words.

    Every word is quoted, so AND, brackets and stars mean themselves. A word is also searched as it
    is written, since the index keeps accents and does not divide "F16".
    """
    written = (word.lower() for word in [*words_of(text), *_WITH_DIGIT.findall(text)])
    terms = _without_stop_words([*_words(text), *written])
    if not terms:
        return None
    either = " ".join(f'name:"{term}" aliases:"{term}"' for term in terms)
    return f"+corpus_word:{corpus_word(corpus)} +({either})"


def rank_by_words(text: str, wordings: Mapping[str, Sequence[str]]) -> list[str]:
    """Return ids by how well their wordings match `text`, best first: BM25 over all words."""
    names = [Counter(_words(" ".join(words))) for words in wordings.values()]
    points = term_scores(_without_stop_words(_words(text)), names, [one.total() for one in names])
    scores = {id_: sum(one.values()) for id_, one in zip(wordings, points, strict=True)}
    return sorted(scores, key=lambda id_: (-scores[id_], wordings[id_]))


def term_scores(
    query: Iterable[str], texts: Sequence[Mapping[str, int]], lengths: Sequence[int]
) -> list[dict[str, float]]:
    """Return for each text what each term of the query adds to its BM25.

    A text is given by how often it has terms of the query, and its length in terms.
    """
    frequency = Counter(term for terms in texts for term in query if term in terms)
    weights = {term: math.log(1 + _RARITY / frequency[term]) for term in frequency}
    average = sum(lengths) / len(texts) if texts else 1
    scores = []
    for terms, length in zip(texts, lengths, strict=True):
        penalty = _SATURATION * (1 - _LENGTH + _LENGTH * length / average)
        scores.append(
            {t: weights[t] * terms[t] / (terms[t] + penalty) for t in weights if t in terms}
        )
    return scores


def _without_stop_words(words: Iterable[str]) -> list[str]:
    """Each word once, stop words only where there are no others."""
    different = list(dict.fromkeys(words))
    return ([word for word in different if word not in _STOP_WORDS] or different)[:_MOST_TERMS]


def _words(text: str) -> list[str]:
    return [*map(fold, words_of(text)), *han_pairs(text)]
