"""The words of English and Chinese text, and the terms by which texts are compared.

A term is a stemmed word in lower case, a number, or a pair of Chinese characters. There is no
grammar and no dictionary: "Canadian" and "Canada", "directed" and "director" share a stem. The
short lists of `word_lists.toml` are made for frequent questions about texts.
"""

import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files
from itertools import chain

from graphreader.text.scripts import HAN, HAN_RUN, han_pairs

_LISTS: dict[str, str] = tomllib.loads(
    files("graphreader").joinpath("text/word_lists.toml").read_text(encoding="utf-8")
)


def word_list(name: str) -> frozenset[str]:
    """Read one list of words of `word_lists.toml`."""
    return frozenset(_LISTS[name].split())


def _groups(name: str) -> list[list[str]]:
    return [group.split() for group in _LISTS[name].split("|")]


MONTHS = _LISTS["months"].split()
_STOP_WORDS = word_list("stop_words")
_BASE_FORMS = {form: forms[0] for forms in _groups("irregular_forms") for form in forms}
CHINESE_JOINTS = re.compile(
    "|".join(
        [
            *sorted(_LISTS["chinese_question_words"].split(), key=len, reverse=True),
            f"[{_LISTS['chinese_particles']}]",
        ]
    )
)
_CHUNK_NUMBER = re.compile(r"\W+(?:chunk )?\[?\d+\]?$")
_WORD = re.compile(rf"\d+(?:[.,]\d+)*|[^\W\d_{HAN}]+(?:['’.][^\W\d_{HAN}]+)*")
_ALPHANUMERIC = re.compile(r"[^\W_]+")
# Suffixes in the order in which they are removed; the number of letters that must be left.
_SUFFIXES = [
    (suffix, fewest)
    for suffixes, fewest in (
        ("izations ization ations ation itions ition nesses ments ness ment ities ians ian", 4),
        ("ions ion isms ism ists ist", 4),
        ("ings ing ers ors ess ies ity ied", 3),
        ("ive ans an als al ly", 4),
        ("ed er or es s e y a", 3),
    )
    for suffix in suffixes.split()
]


def casefolded(text: str) -> str:
    """The text in lower case; compatibility forms, as full-width letters, become ordinary."""
    return unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """Turn a word to lower case, without accents and possessive 's."""
    word = word.replace("’", "'").casefold()
    if not word.isascii():
        decomposed = unicodedata.normalize("NFKD", word)
        word = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    return word.removesuffix("'s").rstrip("'.")


_SUFFIXES_BY_END = {
    last: [one for one in _SUFFIXES if one[0][-1] == last] for last in {s[-1] for s, _ in _SUFFIXES}
}


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem that the forms of a folded word share; it need not be a word."""
    word = _BASE_FORMS.get(word, word)
    if not word.isalpha() or len(word) < 4:
        return word
    for _ in range(2):
        for suffix, fewest in _SUFFIXES_BY_END.get(word[-1], ()):
            if word.endswith(suffix) and len(word) - len(suffix) >= fewest:
                word = word[: -len(suffix)]
                break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word


# The lists are compared by stem, so that "battles" is as common as "battle".
_QUESTION_STEMS = frozenset(map(stem, word_list("question_words")))
_COMMON_STEMS = frozenset(map(stem, word_list("common_words")))
_KIND_STEMS = frozenset(map(stem, word_list("answer_kinds")))
_SYNONYMS_OF: dict[str, frozenset[str]] = {}
for _stems in (frozenset(map(stem, group)) for group in _groups("synonyms")):
    _SYNONYMS_OF |= {term: _SYNONYMS_OF.get(term, frozenset()) | _stems for term in _stems}


def words_of(text: str) -> list[str]:
    """List the words and numbers of a text as written, with stop words, without Chinese."""
    return _WORD.findall(text)


def alphanumeric_words(text: str) -> list[str]:
    """The runs of letters and digits of any script, as written."""
    return _ALPHANUMERIC.findall(text)


def lower_words(text: str) -> list[str]:
    """The runs of letters, digits and underscores of any script, in lower case."""
    return re.findall(r"\w+", text.casefold())


def is_stop_word(word: str) -> bool:
    """Whether a word says nothing about the subject of a text, such as "the"."""
    return not _has_content(fold(word))


def is_question_word(term: str) -> bool:
    """Whether a term only introduces a question, such as "which"."""
    return term in _QUESTION_STEMS


def is_common(term: str) -> bool:
    """Whether a term is so common that it identifies nothing alone."""
    return term in _COMMON_STEMS


def is_answer_kind(term: str) -> bool:
    """Whether a term names the kind of an answer, such as "country": texts often omit it."""
    return term in _KIND_STEMS


def synonyms_of(term: str) -> frozenset[str]:
    """The near synonyms of a term, without the term itself."""
    return _SYNONYMS_OF.get(term, frozenset()) - {term}


@lru_cache(maxsize=8192)
def terms_of(text: str) -> frozenset[str]:
    """The terms by which a text is compared: stems of content words, pairs of Han characters."""
    return frozenset(chain(filter(None, map(_term, words_of(text))), han_pairs(text)))


@lru_cache(maxsize=65536)
def _term(word: str) -> str | None:
    folded = fold(word)
    return term_of(folded) if _has_content(folded) else None


def title_terms(label: str) -> frozenset[str]:
    """The terms of a chunk's label ("Joan of Arc, chunk 3") without the chunk's number."""
    return terms_of(_CHUNK_NUMBER.sub("", label))


def term_of(folded_word: str) -> str:
    """The term of one folded word or number."""
    return folded_word.replace(",", "") if folded_word[0].isdigit() else stem(folded_word)


def chinese_pieces(text: str, shortest: int = 2) -> list[str]:
    """Split Chinese text at question words and particles; leave out pieces under `shortest`."""
    pieces = (piece for run in HAN_RUN.findall(text) for piece in CHINESE_JOINTS.split(run))
    return [piece for piece in pieces if len(piece) >= shortest]


def has_term(terms: frozenset[str], term: str) -> bool:
    """Whether a text with these terms has a term; one Han character may be part of a pair."""
    return term in terms or (
        len(term) == 1 and bool(HAN_RUN.match(term)) and any(term in one for one in terms)
    )


def _has_content(folded_word: str) -> bool:
    """Whether a word is neither a stop word nor one letter; one digit has content."""
    return folded_word not in _STOP_WORDS and (len(folded_word) > 1 or folded_word.isdigit())
