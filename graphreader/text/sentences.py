"""Rules for sentence and line boundaries of English and Chinese text.

White space, the closing punctuation, the word before it and the word after it decide; there is no
trained model and no grammar.
"""

import re
from collections.abc import Iterator
from typing import Literal

from graphreader.text.lines import ENDS, FULL_STOPS, Span, line_spans
from graphreader.text.scripts import HAN, HANGUL, KANA
from graphreader.text.words import word_list

CHARACTERS_AT_ONCE = 65_536
"""The length of the part of a line that is searched in one step."""

_SPACE = re.compile(r"\s*+")
_SIGNS = re.compile(rf"[.!?]++|…++|．++|[{FULL_STOPS}]++")
_WORD_BEFORE = re.compile(r"[^\s(\[{\"'“‘«—]+\Z")
_OPENING = re.compile(r"[\"'“‘«(\[{「『（【《*_¿¡—–-]*")
_NEXT_WORD = re.compile(r"[A-Za-z]++(?![.\w])")
_ENUMERATOR = re.compile(r"(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})\Z")
# "3. Mai" and "z. B." of German.
_GERMAN_MONTH = re.compile(
    r"(?:Jan|Feb|Jänner|März|April|Mai|Jun|Jul|August|Sept|Okt|Nov|Dez)(?:uar|ruar|i|ember|ober)?\b"
)
_LETTER_WITH_STOP = re.compile(r"[^\W\d_]\.")
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[A-Z]\Z|(?:[A-Z]\.-)+[A-Z]\Z")
_SAYING = re.compile(
    r"(?:[A-Z][\w'’.]*\s+){1,3}(?:said|asked|replied|answered|cried|exclaimed|whispered|shouted"
    r"|muttered|murmured|returned|remarked|added|continued|inquired|repeated|demanded|called)\b"
)
_NEVER_LAST = word_list("never_last")
_BEFORE_NUMBER = word_list("before_number")
_RARELY_LAST = word_list("rarely_last")
_FIRST_WORDS = word_list("first_words")


def sentence_spans(text: str) -> Iterator[Span]:
    """Yield the spans (start, end) of the sentences of `text`, with only white space between them.

    A blank line always ends a sentence; a line break does unless the text is hard-wrapped.
    Headings, list items and rows of tables are sentences of their own.
    """
    for line in line_spans(text):
        yield from _split_line(text, *line)


def language_of(text: str) -> Literal["en", "zh"]:
    """The language of a text: "zh" if it has more Chinese characters than words, else "en".

    Each kana and hangul character counts as a word.
    """
    sample = text[:60_000]
    han = len(re.findall(f"[{HAN}]", sample))
    words = len(re.findall(rf"[{KANA}{HANGUL}]|[^\W\d_{HAN}{KANA}{HANGUL}]+", sample))
    return "zh" if han > words else "en"


def _split_line(text: str, start: int, end: int) -> Iterator[Span]:
    cased = any(char.isupper() for char in text[start : min(end, start + 2000)])
    begin = start
    for match in _possible_ends(text, start, end):
        if match.end() < end and _ends_sentence(text, begin, match, end, cased):
            yield begin, match.end()
            begin = _skip_space(text, match.end(), end)
    if begin < end:
        yield begin, end


def _possible_ends(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield the matches of `ENDS`; a search looks at a part of the text, to let others work."""
    while start < end:
        signs = _SIGNS.search(text, start, min(end, start + CHARACTERS_AT_ONCE))
        if not signs:
            start += CHARACTERS_AT_ONCE
            continue
        match = ENDS.match(text, signs.start(), end)
        if match:
            yield match
        start = match.end() if match else signs.end()


def _skip_space(text: str, position: int, end: int) -> int:
    space = _SPACE.match(text, position, end)
    return space.end() if space else position


def _ends_sentence(text: str, begin: int, match: re.Match[str], end: int, cased: bool) -> bool:
    """Whether the punctuation in `match` ends the sentence that begins at `begin`."""
    sign = text[match.start()]
    if sign in FULL_STOPS:
        return True
    if sign == "…" and text[match.end() - 1] == "…" and match.end() - match.start() > 1:
        # "我……我" is a stammer
        return match.start() == begin or text[match.start() - 1] != text[match.end()]
    position = _skip_space(text, match.end(), end)
    opening = _OPENING.match(text, position, end)
    after = opening.end() if opening else position
    if after < end and cased and text[after].islower():
        return False
    quoted = match.end() - match.start() > 1
    if sign in "!?":
        return not (quoted and _SAYING.match(text, position, end))
    return sign != "." or not _is_abbreviation(text, begin, match, after, end)


def _is_abbreviation(text: str, begin: int, match: re.Match[str], after: int, end: int) -> bool:
    """Whether the full stop belongs to an abbreviation, an initial or an enumeration."""
    if match.group().startswith(".."):
        return False
    before = _WORD_BEFORE.search(text, max(begin, match.start() - 24), match.start())
    if before is None:
        return False
    word = before.group()
    low = word.lower()
    if low in _NEVER_LAST or (before.start() == begin and _ENUMERATOR.match(word)):
        return True
    if word.isdigit() and len(word) < 3 and _GERMAN_MONTH.match(text, after, end):
        return True
    if len(word) == 1 and word.islower() and _LETTER_WITH_STOP.match(text, after, end):
        return True
    if low in _BEFORE_NUMBER and after < end and text[after].isdigit():
        return True
    if word.islower() and len(word) < 4 and text[before.start() - 1 : before.start()] == "(":
        return True  # "(d. Paris, 1895)", "(fl. 1320)"
    if low in _RARELY_LAST or _INITIAL.match(word):
        following = _NEXT_WORD.match(text, after, end)
        return following is None or following.group() not in _FIRST_WORDS
    return False
