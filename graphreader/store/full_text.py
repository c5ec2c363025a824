"""Queries for the full-text indexes, and the BM25 ranking of their results.

Lucene weighs a word by its frequency in all corpora of a database, so its results are ranked again
by BM25 over one corpus. Facts and titles are indexed by the terms of `text.words`, so that a search
also finds other forms of a word and Chinese names of two characters.

Lucene scores every text with a word of the query. So in large corpora frequent words are searched
only together with rarer words, or all at once, or each for its best texts.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import pairwise

from graphreader.text.scripts import HANGUL, KATAKANA, SOUTHEAST_ASIAN, UNSPACED, letter_pairs
from graphreader.text.words import fold, letter_terms, terms_of, word_list, words_of

TERMS_VERSION = 2
"""The version of `indexed_terms`. A corpus of an earlier one is indexed anew at its first use."""

_MOST_TERMS = 200  # Lucene refuses queries of more than 1,024 clauses; a term makes up to two
_RARITY = 1_000  # a word in 1 of 1,000 texts weighs about ten times as much as a word in every text

MANY = 20_000
"""Number of texts above which a word is frequent; smaller corpora have no frequent words."""

SAMPLE = 1_000
"""Number of key elements, with a fact of each, from which word frequencies are estimated."""

_FEWEST = 10  # smallest count in a sample that allows an estimate

# The parameters of BM25, with Lucene's values.
_SATURATION = 1.2
_LENGTH = 0.75

_STOP_WORDS = word_list("stop_words")
_RUN = re.compile(rf"[{KATAKANA}]{{3,}}|[{HANGUL}]{{3,}}|[{SOUTHEAST_ASIAN}]{{3,}}")
_WITH_DIGIT = re.compile(rf"[^\W_{UNSPACED}]*\d[^\W_{UNSPACED}]*")


@cache
def corpus_word(corpus: str) -> str:
    """The index word that marks the texts of a corpus; no tokenizer changes it."""
    return "c" + sha256(corpus.encode()).hexdigest()[:16]


def indexed_terms(text: str, corpus: str) -> str:
    """The property `terms` of a fact or document: the corpus's word, then the text's terms."""
    return " ".join([f"{corpus_word(corpus)}v{TERMS_VERSION}", *sorted(terms_of(text))])


def terms_in(indexed: str) -> frozenset[str]:
    """The terms of a text by the property `terms` of its node, of any version."""
    return frozenset(indexed.split()[1:])


@dataclass(frozen=True, slots=True)
class FrequentWords:
    """The frequent words of key elements' names, and the frequent terms of facts."""

    names: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, wordings: Sequence[Sequence[str]], facts: Sequence[str], last: str
    ) -> "FrequentWords":
        """Estimate frequent words from a sample: key elements with ids up to `last`, their facts.

        Ids are hexadecimal hashes, so `last` shows which share of all key elements these are.
        """
        part = (int(last, 16) + 1) / 16 ** len(last)
        least = max(_FEWEST, MANY * part)
        names = Counter(word for one in wordings for word in set(_written(" ".join(one))))
        terms = Counter(term for fact in facts for term in fact.split())
        return cls(
            frozenset(word for word, number in names.items() if number >= least),
            frozenset(term for term, number in terms.items() if number >= least),
        )


def terms_queries(terms: Iterable[str], corpus: str, frequent: Collection[str] = ()) -> list[str]:
    """Return Lucene queries for facts or documents of `corpus` with the terms.

    Texts of earlier versions are found too: most terms are equal in all versions.
    """
    clauses = {term: f'"{term}"' for term in sorted(terms)[:_MOST_TERMS]}
    return _queries(_any_version(corpus), clauses, frequent)


def all_terms_query(terms: Iterable[str], corpus: str) -> str:
    """Return a Lucene query for facts or passages of `corpus` with all the terms."""
    clauses = (f'+"{term}"' for term in sorted(terms)[:_MOST_TERMS])
    return " ".join([_any_version(corpus), *clauses])


def _any_version(corpus: str) -> str:
    versions = (f'"{corpus_word(corpus)}v{one}"' for one in range(1, TERMS_VERSION + 1))
    return f"+({' '.join(versions)})"


def key_element_queries(
    text: str, corpus: str, frequent: Collection[str] = (), near: Collection[str] = ()
) -> list[str]:
    """Return Lucene queries for key elements of `corpus` with words of `text`.

    Every word is quoted, so AND, brackets and stars are plain text. A word is also searched as
    written, since the index keeps accents and does not divide "F16". Words in `near` are also
    searched with one letter changed.
    """
    terms = _without_stop_words([*_words(text), *_written(text)])
    clauses = {term: f'name:"{term}" aliases:"{term}"' for term in terms}
    own = f"+corpus_word:{corpus_word(corpus)}"
    # Two frequent words may be one name.
    pairs = pairwise([clause for word, clause in clauses.items() if word in frequent])
    names = [f"{own} +({one}) +({other})" for one, other in pairs]
    if clauses:
        clauses |= {f"{w}~1": f"name:{w}~1 aliases:{w}~1" for w in near if w not in frequent}
    return list(dict.fromkeys([*_queries(own, clauses, frequent), *names]))


def all_words_query(words: str, corpus: str) -> str:
    """Return a Lucene query for key elements of `corpus` with all the words in their wordings.

    A word of a wording may be longer: "veteran" is also searched as the beginning of "veterans".
    """
    clauses = []
    for word in dict.fromkeys(_written(words)):
        longer = f" name:{word}* aliases:{word}*" if word.isalnum() and len(word) > 2 else ""
        clauses.append(f'+(name:"{word}" aliases:"{word}"{longer})')
    own = f"+corpus_word:{corpus_word(corpus)}"
    return " ".join([own, *clauses[:_MOST_TERMS]]) if clauses else ""


def _queries(corpus: str, clauses: Mapping[str, str], frequent: Collection[str]) -> list[str]:
    """Return queries for texts with any rare word; if all are frequent, with all and with each."""
    rare = [clause for word, clause in clauses.items() if word not in frequent]
    often = [clause for word, clause in clauses.items() if word in frequent]
    if rare:
        return [" ".join([corpus, f"+({' '.join(rare)})", *often])]
    each = [f"{corpus} +({clause})" for clause in often]
    together = " ".join([corpus, *(f"+({clause})" for clause in often)])
    return [together, *each] if len(each) > 1 else each


def rank_by_words(
    text: str, wordings: Mapping[str, Sequence[str]], *, matching: bool = False
) -> list[str]:
    """Rank ids by the BM25 score of their wordings for `text`, best first.

    Ids without a common word come last, or with `matching` not at all.
    """
    names = [Counter(_words(" ".join(words))) for words in wordings.values()]
    points = term_scores(_without_stop_words(_words(text)), names, [one.total() for one in names])
    scores = {id_: sum(one.values()) for id_, one in zip(wordings, points, strict=True)}
    scores = {id_: score for id_, score in scores.items() if score or not matching}
    return sorted(scores, key=lambda id_: (-scores[id_], wordings[id_]))


def term_scores(
    query: Iterable[str],
    texts: Sequence[Mapping[str, int]],
    lengths: Sequence[int],
    frequent: Collection[str] = (),
) -> list[dict[str, float]]:
    """Return, for each text, the part of its BM25 score that each term of the query adds.

    A text is given by its counts of the query's terms, and its length in terms. A `frequent` term
    is counted as present in every text, since few of its texts may be among these.
    """
    frequency = Counter(term for terms in texts for term in query if term in terms)
    frequency.update({term: _RARITY for term in frequency if term in frequent})
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
    """Remove repeated words, and stop words unless there are no other words."""
    different = list(dict.fromkeys(words))
    return ([word for word in different if word not in _STOP_WORDS] or different)[:_MOST_TERMS]


def _words(text: str) -> list[str]:
    return [*map(fold, words_of(text)), *letter_terms(text)]


def _written(text: str) -> list[str]:
    """The words of a text as the index of names has them: as written, in small letters.

    Of Chinese and hiragana it has single characters, of which a pair is a phrase, of other scripts
    without spaces whole runs.
    """
    written = (word.lower() for word in [*words_of(text), *_WITH_DIGIT.findall(text)])
    return [*written, *letter_pairs(text), *_RUN.findall(text)]
