"""Words as this reader compares them: folded, lightly stemmed; Chinese as pairs of characters.

No grammar and no dictionary. "Canadian" and "Canada", "directed" and "director" meet in a stem;
irregular forms and near synonyms meet through the short lists of `vocabulary`.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import chain

from graphreader.deciding.offline.vocabulary import (
    COMMON_WORDS,
    GROUPS,
    IRREGULAR,
    KIND_WORDS,
    SCAFFOLDING,
    STOP_WORDS,
)

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
HAN_RUN = re.compile(f"[{HAN}]+")
_CHUNK_NUMBER = re.compile(r"\W+(?:chunk )?\[?\d+\]?$")
_WORD = re.compile(rf"\d+(?:[.,]\d+)*|[^\W\d_{HAN}]+(?:['’.][^\W\d_{HAN}]+)*")

# Longest first; what is left must keep at least so many letters.
_SUFFIXES = (
    *(
        (s, 4)
        for s in ["izations", "ization", "ations", "ation", "itions", "ition", "nesses", "ments"]
    ),
    *(
        (s, 4)
        for s in [
            "ness",
            "ment",
            "ities",
            "ians",
            "ian",
            "ions",
            "ion",
            "isms",
            "ism",
            "ists",
            "ist",
        ]
    ),
    *((s, 3) for s in ["ings", "ing", "ers", "ors", "ess", "ies", "ity", "ied"]),
    *((s, 4) for s in ["ive", "ans", "an", "als", "al", "ly"]),
    *((s, 3) for s in ["ed", "er", "or", "es"]),
    *((s, 3) for s in ["s", "e", "y", "a"]),
)


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """Lower case, without accents and without a possessive 's."""
    word = word.replace("’", "'").casefold()
    if not word.isascii():
        apart = unicodedata.normalize("NFKD", word)
        word = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return word.removesuffix("'s").rstrip("'.")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """What alike forms of a folded word have in common; not always a word itself."""
    word = IRREGULAR.get(word, word)
    if not word.isalpha() or len(word) < 4:
        return word
    for _ in range(2):
        for suffix, least in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= least:
                word = word[: -len(suffix)]
                break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word


_STEMS_OF = {  # several lists meet words by stem, so that "battles" is as common as "battle"
    name: frozenset(stem(word) for word in words)
    for name, words in (
        ("scaffolding", SCAFFOLDING),
        ("common", COMMON_WORDS),
        ("kind", KIND_WORDS),
    )
}
_GROUP_OF: dict[str, frozenset[str]] = {}
for _group in GROUPS:
    _members = frozenset(stem(word) for word in _group)
    for _member in _members:
        _GROUP_OF[_member] = _GROUP_OF.get(_member, frozenset()) | _members


def words_of(text: str) -> list[str]:
    """The words and numbers of `text` outside Chinese, as written, stop words included."""
    return _WORD.findall(text)


def is_stop_word(word: str) -> bool:
    """Whether the word says nothing about what a text is about."""
    return not _counts(fold(word))


def is_scaffolding(term: str) -> bool:
    """Whether a term belongs to the asking rather than to what is asked for."""
    return term in _STEMS_OF["scaffolding"]


def is_common(term: str) -> bool:
    """Whether a term is so common that it identifies nothing alone."""
    return term in _STEMS_OF["common"]


def is_kind(term: str) -> bool:
    """Whether a term names the kind of answer, of which texts give one without the word."""
    return term in _STEMS_OF["kind"]


def alike(term: str) -> frozenset[str]:
    """Terms that may answer for this one, without the term itself."""
    return _GROUP_OF.get(term, frozenset()) - {term}


@lru_cache(maxsize=8192)
def terms_of(text: str) -> frozenset[str]:
    """What `text` is compared by: stems of its words without stop words, pairs of Han characters.

    Numbers stay exact ("1,000" is "1000"). A single Han character between other signs counts.
    """
    folded = (fold(word) for word in _WORD.findall(text))
    stems = (term_of(word) for word in folded if _counts(word))
    return frozenset(chain(stems, han_pairs(text)))


def _counts(folded: str) -> bool:
    """Stop words and single letters say nothing; a single digit may be what is asked for."""
    return folded not in STOP_WORDS and (len(folded) > 1 or folded.isdigit())


def title_terms(label: str) -> frozenset[str]:
    """The terms of a chunk's label ("Joan of Arc, chunk 3") without the chunk's number."""
    return terms_of(_CHUNK_NUMBER.sub("", label))


def term_of(folded: str) -> str:
    """The term of one folded word or number."""
    return folded.replace(",", "") if folded[0].isdigit() else stem(folded)


def han_pairs(text: str) -> list[str]:
    """Every two neighboring Han characters; a run of one character as it is."""
    pairs: list[str] = []
    for run in HAN_RUN.findall(text):
        pairs.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return pairs
