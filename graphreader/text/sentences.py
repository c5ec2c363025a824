"""Rules for sentence and line boundaries of English and Chinese text.

White space, the closing punctuation, the word before it and the word after it decide; there is no
trained model and no grammar.
"""

import re
from itertools import pairwise
from typing import Literal

from graphreader.text.scripts import EAST_ASIAN, HANGUL, KANA
from graphreader.text.words import word_list

Span = tuple[int, int]
_CLOSING = r"[\"'”’»)\]}」』）】》〉*_]*+(?:\[(?:\d{1,3}|[a-z]|note \d{1,3})\])*"
_LINE = re.compile(r"[^\n]*\n?")
_MARKED = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-*+•][ \t]+\S|\d{1,3}[.)][ \t]+\S|\||```|~~~)")
_ALONE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\||```|~~~|[-=*_][-=*_ \t]{2,}$)")
_ENDS = re.compile(
    rf"(?:(?<![.!?])[.!?]++|(?<!…)…++){_CLOSING}(?=\s|\Z)"
    rf"|[。！？；｡]+[。！？；｡…]*{_CLOSING}"
    rf"|…{{2,}}{_CLOSING}"
    rf"|(?<=[{EAST_ASIAN}])[.!?．]+{_CLOSING}(?=[{EAST_ASIAN}“「『])"
    r"|(?<=[a-z]{2}|\d\d|[0-9a-z][)\]])[.!?](?=[A-Z][a-z]*[ ,])"  # a lost paragraph break
)
_WORD_BEFORE = re.compile(r"[^\s(\[{\"'“‘«—]+\Z")
_FIRST_WORD = re.compile(rf"[{EAST_ASIAN}]|\S+")
_OPENING = re.compile(r"[\"'“‘«(\[{「『（【《*_¿¡—–-]*")
_NEXT_WORD = re.compile(r"[A-Za-z]++(?![.\w])")
_ENUMERATOR = re.compile(r"(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})\Z")
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[A-Z]\Z|(?:[A-Z]\.-)+[A-Z]\Z")
_SAYING = re.compile(
    r"(?:[A-Z][\w'’.]*\s+){1,3}(?:said|asked|replied|answered|cried|exclaimed|whispered|shouted"
    r"|muttered|murmured|returned|remarked|added|continued|inquired|repeated|demanded|called)\b"
)
_NEVER_LAST = word_list("never_last")
_BEFORE_NUMBER = word_list("before_number")
_RARELY_LAST = word_list("rarely_last")
_FIRST_WORDS = word_list("first_words")


def sentence_spans(text: str) -> list[Span]:
    """The spans (start, end) of the sentences of `text`, with only white space between them.

    A blank line always ends a sentence; a line break does unless the text is hard-wrapped.
    Headings, list items and rows of tables are sentences of their own.
    """
    return [span for line in line_spans(text) for span in _split_line(text, *line)]


def line_spans(text: str) -> list[Span]:
    """The spans of logical lines, in which hard-wrapped lines are joined, without white space."""
    lines = _lines(text)
    width = _wrap_width(text, lines)
    joined: list[Span] = []
    previous: Span | None = None
    for line in lines:
        if line[0] == line[1]:
            previous = None
            continue
        if previous and _runs_on(text, previous, line, width):
            joined[-1] = (joined[-1][0], line[1])
        else:
            joined.append(line)
        previous = line
    return joined


def language_of(text: str) -> Literal["en", "zh"]:
    """The language of a text: "zh" if it has more Chinese characters than words, else "en".

    Each kana and hangul character counts as a word.
    """
    sample = text[:60_000]
    han = len(re.findall(f"[{EAST_ASIAN}]", sample))
    words = len(re.findall(rf"[{KANA}{HANGUL}]|[^\W\d_{EAST_ASIAN}{KANA}{HANGUL}]+", sample))
    return "zh" if han > words else "en"


def _lines(text: str) -> list[Span]:
    """The span of each line without white space around it; a blank line has an empty span."""
    spans = []
    for line in _LINE.finditer(text):
        start, end = line.span()
        content = text[start:end].lstrip("\ufeff" if start == 0 else None)
        start = end - len(content.lstrip())
        spans.append((start, start + len(content.strip())))
    return spans


def _wrap_width(text: str, lines: list[Span]) -> int | None:
    """The column at which a text is hard-wrapped, or None if it is not."""
    sample = lines[:4000]
    pairs = [(a, b) for a, b in pairwise(sample) if a[0] < a[1] and b[0] < b[1]]
    if len(pairs) < 4:
        return None
    lengths = sorted(end - start for (start, end), _ in pairs)
    width = lengths[int(len(lengths) * 0.95)]
    if not 30 <= width <= 120:
        return None
    full = sum(_is_full(text, a, b, width) for a, b in pairs)
    return width if full >= 0.6 * len(pairs) else None


def _is_full(text: str, line: Span, following: Span, width: int) -> bool:
    first = _FIRST_WORD.match(text, *following)
    word = first.end() - first.start() if first else 0
    return line[1] - line[0] + 1 + word > width - 4


def _runs_on(text: str, line: Span, following: Span, width: int | None) -> bool:
    if _ALONE.match(text, *line) or _MARKED.match(text, *following):
        return False
    if _ALONE.match(text, *following):
        return False
    if width and _is_full(text, line, following, width):
        return True
    ended = _ENDS.search(text, max(line[0], line[1] - 8), line[1])
    long_enough = width is not None or line[1] - line[0] >= 40
    return long_enough and text[following[0]].islower() and not ended


def _split_line(text: str, start: int, end: int) -> list[Span]:
    spans = []
    cased = any(char.isupper() for char in text[start : min(end, start + 2000)])
    begin = start
    for match in _ENDS.finditer(text, start, end):
        if match.start() < begin or match.end() == end:
            continue
        if not _ends_sentence(text, begin, match, end, cased):
            continue
        spans.append((begin, match.end()))
        begin = _skip_space(text, match.end(), end)
    if begin < end:
        spans.append((begin, end))
    return spans


def _skip_space(text: str, position: int, end: int) -> int:
    while position < end and text[position].isspace():
        position += 1
    return position


def _ends_sentence(text: str, begin: int, match: re.Match[str], end: int, cased: bool) -> bool:
    """Whether the punctuation in `match` ends the sentence that begins at `begin`."""
    sign = text[match.start()]
    if sign in "。！？；｡":
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
    if low in _BEFORE_NUMBER and after < end and text[after].isdigit():
        return True
    if low in _RARELY_LAST or _INITIAL.match(word):
        following = _NEXT_WORD.match(text, after, end)
        return following is None or following.group() not in _FIRST_WORDS
    return False
