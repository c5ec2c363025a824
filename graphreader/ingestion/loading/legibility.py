"""Signs that a text was read wrongly: characters without a meaning, letters that form no words."""

import unicodedata
from collections.abc import Iterator

import regex

_UNREADABLE = regex.compile(r"\ufffd|\p{Co}|\p{Cn}|[\x01-\x08\x0e-\x1f\x7f-\x9f]|\(cid:\d+\)")
_LATIN_WORD = regex.compile(r"\b\p{Latin}{4,}\b")
_VOWELS = frozenset("aeiouyæøœıəɛɔ")

_MOST_UNREADABLE = 0.01  # of the characters of a text
_FEWEST_UNREADABLE = 10
_LEAST_WITH_VOWELS = 0.85  # of the different words in Latin letters; a language has 0.95 and more
_FEWEST_LETTERS = 300  # in different words; shorter texts prove nothing
_LONGEST_WORD = 30  # letters, in any language in Latin letters
_MOST_GLUED = 0.5  # of the letters of different words


def doubts_about(text: str) -> Iterator[str]:
    """Yield sentences about signs that a text is not what its file shows."""
    unreadable = sum(1 for _ in _UNREADABLE.finditer(text))
    if unreadable >= max(_FEWEST_UNREADABLE, _MOST_UNREADABLE * len(text)):
        share = f"{unreadable:,} of its {len(text):,} characters"
        yield f"{share} cannot be read: look at its text with `graphreader preview`."
    words = set(_LATIN_WORD.findall(text))
    letters = sum(map(len, words))
    if letters < _FEWEST_LETTERS:
        return
    spoken = sum(map(_has_vowel, words))
    if spoken < _LEAST_WITH_VOWELS * len(words):
        yield "Few of its words look like words: look at its text with `graphreader preview`."
    glued = sum(len(word) for word in words if len(word) > _LONGEST_WORD)
    if glued > _MOST_GLUED * letters:
        yield (
            "Its words are not separated by spaces, so that a search does not find them: look at "
            "its text with `graphreader preview`."
        )


def _has_vowel(word: str) -> bool:
    return not _VOWELS.isdisjoint(unicodedata.normalize("NFD", word.lower()))
