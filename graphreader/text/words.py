"""The words of a text in any script, and the terms by which texts are compared.

A term is a stemmed word in lower case, a number, or a pair of letters of a script without spaces,
such as Chinese. There is no grammar and no dictionary: "Canadian" and "Canada", "directed" and
"director" share a stem. The short lists of `word_lists.toml` are made for frequent questions.
"""

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain

import regex

from graphreader.text.scripts import (
    HAN,
    HAN_RUN,
    HANGUL,
    KANA,
    KATAKANA,
    UNSPACED,
    compatible,
    letter_pairs,
    simplified,
    unspaced_runs,
)

_LISTS: dict[str, str] = {
    name: words
    for file in ("word_lists.toml", "name_lists.toml")
    for name, words in tomllib.loads(
        files("graphreader").joinpath("text", file).read_text(encoding="utf-8")
    ).items()
}


def word_list(name: str) -> frozenset[str]:
    """Read one list of words of `word_lists.toml` or `name_lists.toml`."""
    return frozenset(_LISTS[name].split())


def word_groups(name: str) -> list[list[str]]:
    """Read one list of groups of words of `word_lists.toml`."""
    return [group.split() for group in _LISTS[name].split("|")]


MONTHS = _LISTS["months"].split()
_STOP_WORDS = word_list("stop_words")
_BASE_FORMS = {form: forms[0] for forms in word_groups("irregular_forms") for form in forms}
_HANGUL, _KANA = re.compile(f"[{HANGUL}]"), re.compile(f"[{KANA}]")
_JAPANESE_WORD = re.compile(f"[{KATAKANA}]+|[{HAN}]+")
_KOREAN_PARTICLE = re.compile(
    "(?<=..)(?:습니까|습니다|이었다|입니다|에서|으로|에게|이다|였다|은|는|이|가|을|를|의|에|와|과|도)$"
)
CHINESE_JOINTS = re.compile(
    "|".join(
        [
            *sorted(_LISTS["chinese_question_words"].split(), key=len, reverse=True),
            f"[{_LISTS['chinese_particles']}]",
        ]
    )
)
_CHUNK_NUMBER = re.compile(r"\W+(?:chunk )?\[?\d+\]?$")
_LETTER = rf"[[\p{{L}}\p{{M}}]--[{UNSPACED}]]"
# Words, with digits (F16), signs (C++, C#, AT&T) and joints (don't, U.S.); numbers; .NET.
_WORD_FORM = (
    r"LETTER+(?:\d(?:LETTER|\d)*|(?:['’.]LETTER+)+|(?<=\b[A-Za-z])(?:\+\+(?![A-Za-z])|#(?!\w))"
    r"|(?<=[A-Z])(?:&[A-Z]+)+(?!\w))?"
    r"|\d+(?:[.,]\d+)*|(?<![\w.])\.[A-Z]\w+"
)
_WORD = regex.compile(_WORD_FORM.replace("LETTER", _LETTER), regex.V1)
_ASCII_WORD = re.compile(_WORD_FORM.replace("LETTER", "[A-Za-z]"), re.ASCII)
_ALPHANUMERIC = regex.compile(r"\b[A-Za-z](?:\+\+(?![A-Za-z])|#(?!\w))|[\p{L}\p{M}\p{N}]+")
_LOWER_WORD = regex.compile(r"[\p{L}\p{M}\p{N}_]+")
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]")
# The groups of a number: 2,000,000.5 and 2.000.000 and 2'000'000 and 2 000 000 (also no-break).
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}([.,'’ ])\d{3}(?:\1\d{3})*+([.,]\d++)?(?![.,]?\d)")
_CODE = re.compile(r"(?<![^\W_])([A-Z]{1,6})-(\d++)(?![^\W_])")  # F-16 is F16, too
_DOTTED = re.compile(r"(?<![\w.])\.[A-Z]\w+")  # .NET
LINE_END_WITHIN = re.compile(rf"(?<=[{HAN}{KANA}])[^\S\n]*+\n[^\S\n]*+(?=[{HAN}{KANA}])")
MAY = regex.compile(
    r"(?<=\b(?i:in|of|on|by|since|until|before|after|during|early|late|mid|last|next|from|to)[ -]"
    r"|\d(?:st|nd|rd|th|\.)? )May\b|\bMay(?=,? \d)"
)
"""A pattern of the name of the month, by the words before and after it: "may" is a stop word."""

# Letters that no decomposition turns into ordinary letters.
_LETTERS = str.maketrans({"ı": "i", "ø": "o", "ł": "l", "đ": "d", "œ": "oe", "æ": "ae"})
_CUT = regex.compile(
    r"(?<![\p{L}\p{M}\-\u2010/.@])([\p{L}\p{M}]{2,}+)[-\u2010][^\S\n]*+\n[^\S\n]*+"
    r"(\p{Ll}[\p{L}\p{M}]*+)(?![-\u2010]\w|[/@]|\.\w)"
)
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


# Combining classes: vowel signs, and the nukta and virama of Indian scripts, are no accents.
_KEPT_MARKS = {0, 7, 9}


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """Turn a word to lower case, without accents and possessive 's."""
    word = word.replace("’", "'").casefold()
    if not word.isascii():
        decomposed = unicodedata.normalize("NFKD", word.translate(_LETTERS))
        word = "".join(sign for sign in decomposed if unicodedata.combining(sign) in _KEPT_MARKS)
    return word.removesuffix("'s").rstrip("'.")


_SUFFIXES_BY_END = {
    last: [one for one in _SUFFIXES if one[0][-1] == last] for last in {s[-1] for s, _ in _SUFFIXES}
}
_SHORT_ROOT = re.compile(r"[^aeiou]*[aeiouy][^aeiouwxy]")  # "plan": "planned", not "planed"


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
_QUESTION_STEMS = frozenset(
    stem(fold(word)) for word in word_list("question_words") | word_list("foreign_question_words")
)
_COMMON_STEMS = frozenset(map(stem, word_list("common_words")))
_KIND_STEMS = frozenset(map(stem, word_list("answer_kinds")))
_SYNONYMS_OF: dict[str, frozenset[str]] = {}
for _stems in (frozenset(map(stem, group)) for group in word_groups("synonyms")):
    _SYNONYMS_OF |= {term: _SYNONYMS_OF.get(term, frozenset()) | _stems for term in _stems}


def words_of(text: str) -> list[str]:
    """List the words and numbers of a text as written, with stop words.

    Letters of scripts without spaces are left out; see `letter_pairs`.
    """
    words: list[str] = (_ASCII_WORD if text.isascii() else _WORD).findall(text)
    return words


def alphanumeric_words(text: str) -> list[str]:
    """The runs of letters, their marks and digits of any script, as written; also C++ and C#."""
    words: list[str] = _ALPHANUMERIC.findall(text)
    return words


def lower_words(text: str) -> list[str]:
    """The runs of letters, their marks, digits and underscores of any script, in lower case."""
    words: list[str] = _LOWER_WORD.findall(text.casefold())
    return words


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
    """The terms by which a text is compared: stems of content words, pairs of unspaced letters.

    A word that a hyphen divides at the end of a line has its parts and the whole as terms.
    """
    text = _GROUPS.sub(_joined_groups, compatible(text))
    words = words_of(text)
    words += ["".join(parts) for parts in _CODE.findall(text)]
    if "\n" in text:
        words += ["".join(parts) for parts in _CUT.findall(text)]
        text = LINE_END_WITHIN.sub("", text)
    is_mixed = len(words) == 1 or not text.isupper()
    terms = {_term(word, is_mixed) for word in words}
    may = ("may",) if "May" in text and MAY.search(text) else ()
    return frozenset((*filter(None, terms), *may, *letter_terms(text)))


def words_with_forms(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """List the words and numbers of a text, each with the terms of its forms, most of them none.

    Only a number with groups ("20 000", "3.500"), a code ("B-52", ".NET") and the month May have
    some: a text that has any of them has the number, the code or the month.
    """
    found = chain(
        ((match.span(), _forms_of_number(match)) for match in _GROUPS.finditer(text)),
        ((match.span(), (fold(match[1] + match[2]),)) for match in _CODE.finditer(text)),
        ((match.span(), (fold(match[0]),)) for match in _DOTTED.finditer(text)),
        ((match.span(), ("may",)) for match in MAY.finditer(text)),
    )
    pieces: list[tuple[str, tuple[str, ...]]] = []
    at = 0
    for (start, end), forms in sorted(found):
        if forms and start >= at:
            pieces += [(word, ()) for word in words_of(text[at:start])]
            pieces.append((text[start:end], forms))
            at = end
    return pieces + [(word, ()) for word in words_of(text[at:])]


def _forms_of_number(number: re.Match[str]) -> tuple[str, ...]:
    joined = _joined_groups(number)
    if joined == number[0]:
        return ()
    return tuple(joined.split()[: 1 if number[1] == " " else None])


def letter_terms(text: str) -> list[str]:
    """The terms of scripts without spaces: pairs of adjacent letters, in simplified Chinese."""
    return letter_pairs(simplified(compatible(text)))


def _joined_groups(number: re.Match[str]) -> str:
    """A number without the signs between its groups of three digits.

    It stands beside the number as written where that may be another number, or several: 12.500 is a
    decimal number in English, and 520 480 may be two numbers of a row.
    """
    written, sign, decimals = number[0], number[1], number[2] or ""
    if decimals and decimals[0] == sign:
        return written
    groups = written.removesuffix(decimals)
    joined = groups.replace(sign, "") + decimals.replace(",", ".")
    if sign == "." and groups.count(".") == 1 and not decimals:
        return f"{joined} {written}"
    if sign == " ":
        is_one = decimals or groups.count(" ") > 1 or groups.endswith("000")
        return f"{joined} {written}" if is_one else written
    return joined


@lru_cache(maxsize=65536)
def _term(word: str, is_mixed: bool) -> str | None:
    """The term of a word as written; None for a stop word.

    In a text with small letters, a word in capitals is no stop word: "WHO", "IT", "vitamin K".
    """
    if _INITIALS.fullmatch(word):
        word = word.replace(".", "")
    folded = fold(word)
    capitals = word.removesuffix("'s").removesuffix("’s")
    is_name = is_mixed and capitals.isupper() and capitals not in ("A", "I")
    return term_of(folded) if folded and (is_name or _has_content(folded)) else None


def title_terms(label: str) -> frozenset[str]:
    """The terms of a chunk's label ("Joan of Arc, chunk 3") without the chunk's number."""
    return terms_of(_CHUNK_NUMBER.sub("", label))


def term_of(folded_word: str) -> str:
    """The term of one folded word or number."""
    if not folded_word[0].isdigit():
        return stem(folded_word)
    # The groups of 2,000 are joined before: one comma is a decimal comma, as in 12,5.
    return folded_word.replace(",", "." if folded_word.count(",") == 1 else "")


def unspaced_words(text: str, shortest: int = 2) -> list[str]:
    """List the words of scripts without spaces, as far as rules find them, as written.

    In Chinese these are the pieces between question words and particles, in Japanese runs of
    katakana and of Han characters, in Korean words without a particle; of other scripts whole runs.
    Words of fewer letters than `shortest` are left out.
    """
    words = (word for run in unspaced_runs(text) for word in _words_of_run(run))
    return [word for word in words if len(word) >= shortest]


def _words_of_run(run: str) -> list[str]:
    if _HANGUL.search(run):
        return [] if is_question_word(fold(run)) else [_KOREAN_PARTICLE.sub("", run)]
    if _KANA.search(run):
        return _JAPANESE_WORD.findall(run) or [run]
    joints = [match.span() for match in CHINESE_JOINTS.finditer(simplified(run))]
    starts, ends = [0, *(end for _, end in joints)], [*(start for start, _ in joints), len(run)]
    return [run[start:end] for start, end in zip(starts, ends, strict=True)]


def has_term(terms: frozenset[str], term: str) -> bool:
    """Whether a text with these terms has a term; one Han character may be part of a pair."""
    return term in terms or (
        len(term) == 1 and bool(HAN_RUN.match(term)) and any(term in one for one in terms)
    )


def _has_content(folded_word: str) -> bool:
    """Whether a word is neither a stop word nor one letter; one digit has content."""
    return folded_word not in _STOP_WORDS and (len(folded_word) > 1 or folded_word.isdigit())


def occurs(words: str, text: str) -> bool:
    """Whether a text contains some words, not only as a part of longer words."""
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (
            (before.isalnum() and _is_in_word(words[0]))
            or (after.isalnum() and _is_in_word(words[-1]))
        ):
            return True
        start = text.find(words, start + 1)
    return False


def occurrences(words: str, text: str) -> list[str]:
    """List the places of a text where some words stand side by side, in small letters.

    Other regular forms of the words count too, "veterans" of "veteran", but no other word that
    has its stem, such as "conditions" of "condor".
    """
    pattern, bases = _forms_of(words)
    if not bases:
        return []
    places = (match[0].casefold() for match in pattern.finditer(compatible(text)))
    return [" ".join(place.split()) for place in places if _are_forms(place, bases)]


@lru_cache(maxsize=64)
def _forms_of(words: str) -> tuple[re.Pattern[str], list[frozenset[str]]]:
    """A pattern of all places that may have the words in some form, and the words' bases."""
    pieces = alphanumeric_words(compatible(words).casefold())
    is_spaced = [not unspaced_runs(piece) for piece in pieces]
    pattern = ""
    for place, piece in enumerate(pieces):
        if place:
            pattern += r"[\W_]{1,3}" if is_spaced[place - 1] and is_spaced[place] else r"[\W_]{0,3}"
        form = stem(fold(piece))
        is_word = is_spaced[place] and piece.isalpha() and piece.startswith(form)
        pattern += re.escape(form) + r"[^\W\d_]*" if is_word else re.escape(piece)
    if pieces:
        pattern = r"(?<![^\W_])" * is_spaced[0] + pattern + r"(?![^\W_])" * is_spaced[-1]
    return re.compile(pattern, re.IGNORECASE), [_bases(fold(piece)) for piece in pieces]


def _are_forms(place: str, bases: Sequence[frozenset[str]]) -> bool:
    """Whether the words of a place are forms of the words with these bases."""
    own = [_bases(fold(word)) for word in alphanumeric_words(place)]
    return len(own) == len(bases) and all(map(frozenset.intersection, own, bases))


@lru_cache(maxsize=4096)
def _bases(word: str) -> frozenset[str]:
    """The words of which a folded word may be a regular form: "parties" of "party"."""
    word = _BASE_FORMS.get(word, word)
    bases = {word}
    if word.endswith("s") and not word.endswith("ss"):
        bases.add(word[:-1])
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        bases.add(word[:-2])
    if word.endswith(("ies", "ied")):
        bases.add(f"{word[:-3]}y")
    for suffix in ("ed", "ing"):
        root = word.removesuffix(suffix)
        if root == word or not re.search("[aeiouy]", root):
            continue
        bases.add(f"{root}e")
        if not _SHORT_ROOT.fullmatch(root) and len(root) > 2:
            bases.add(root)
        if len(root) > 3 and root[-1] == root[-2]:  # "travelled", "running"
            bases.add(root[:-1])
    return frozenset(bases)


def _is_in_word(character: str) -> bool:
    """Whether a character is part of a word; Chinese characters are not."""
    return character.isdecimal() or character.lower() != character.upper()
