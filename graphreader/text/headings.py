"""Headings of a text by their form: "CHAPTER I", "第一章", "2.1 Methods", bold lines, dates alone.

Formats such as HTML mark their headings; rules find the others, in a text of any format, without a
model.
"""

import re
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import chain, pairwise
from typing import NamedTuple

from graphreader.documents import Heading
from graphreader.text.scripts import HAN
from graphreader.text.words import MONTHS

LONGEST_HEADING = 80  # characters

# Levels: below the six of Markdown and HTML.
VOLUME, PART, CHAPTER, SECTION, CAPITALS, NUMBERED, DATE, BOLD = 7, 8, 9, 10, 11, 12, 17, 18

_SPACE = re.compile(r"\s{1,65536}")
_WORDS = (
    ("volume|vol\\.?|book|band|tome|tomo|том|книга", VOLUME),
    ("part|teil|partie|parte|часть", PART),
    ("chapter|act|stave|canto|kapitel|chapitre|cap[ií]tulo|capitolo|hoofdstuk|глава", CHAPTER),
    ("section|scene|article|abschnitt|artikel|раздел|appendix|annex|anhang|annexe", SECTION),
)
_ORDINAL = (
    r"(?:\d{1,3}|[IVXLC]{1,8}|[ivxlc]{1,8}|[A-Z]|(?:the )?(?:first|second|third|fourth|fifth|sixth"
    r"|seventh|eighth|ninth|tenth|last|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve))"
)
_TITLE = r"(?:\.?|[ \t]*[.:—–-][ \t]*\S.*|[ \t]+[^\Wa-z_].*)"  # "Chapter 3 shows it" has none
_KEYWORDS = [
    (re.compile(rf"(?i:(?:{words})[ \t]+{_ORDINAL}){_TITLE}"), level) for words, level in _WORDS
]
_CHINESE = re.compile(
    rf"第[{HAN}〇\d]{{1,7}}(?:([卷部])|([篇編编])|([章回幕])|([节節场場条條]))"
    r"(?:[\s：:、.·—-]+.{1,40}|[^，。！？；、\s]{0,20})"
)
_LEVELS = (VOLUME, PART, CHAPTER, SECTION)
_KOREAN = re.compile(r"제\s?\d{1,3}\s?(?:(부|권)|(편)|(장|막)|(절|조))(?:[\s:.·—-].{0,60})?")
_ALONE = re.compile(
    r"(?i:prologue|epilogue|preface|foreword|introduction|afterword|acknowledge?ments|conclusions?"
    r"|bibliography|references|contents|abstract)"
    r"|序章|序言|前言|自序|楔子|引子|引言|尾[声聲]|后记|後記|跋|附[录錄]|目[录錄次]|[上中下]卷|卷[一二三四五六七八九十百]{1,4}"
)
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?[ \t]+(?=[^\Wa-z_])\S.*")
_MONTH = "(?:" + "|".join(f"{month}|{month[:3]}\\.?" for month in MONTHS) + ")"
_DAY = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
    r"|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{4}[年./]\d{1,2}[月./]\d{1,2}日?)"
)
_DATED = re.compile(
    rf"([^\W\d_][^\d.!?。！？]{{0,40}}[ \t,:：])?(?:[\d:apmAPM. ]{{4,12}} on )?\(?{_DAY}\)?"
    r"([\s,]+(?:[A-Z][a-z]{2,10}|[^\W\da-zA-Z_]{1,8}|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?))?"
)
_DECORATION = "=-–—* \t"
_BOLD = re.compile(r"(\*\*|__)(?=\S)([^*_\n]{1,78})(?<=[^\s:：])\1")
_SENTENCE_END = tuple(".,;:!?。！？；：，、…”")
_GOES_ON = tuple(",;，；、")
_NO_HEADING = re.compile(r"\||[-*+•] |```|~~~|>")
_MOST_CAPITALS = 10_000


class _Line(NamedTuple):
    """A line without white space around it, and the numbers of line ends around it (2: blank)."""

    start: int
    text: str
    before: int
    after: int


def headings_of(text: str, marked: Sequence[Heading] = ()) -> Iterator[Heading]:
    """Yield the headings of a text in order: headings `marked` by its format, and others by form.

    A line of capitals or with a number is a heading only where the format marks none. A heading
    with the next one, of its level or above it, right below is left out, as in a table of contents.
    """
    starts = {heading.start for heading in marked}
    formed = (one for one in _formed(text, not marked) if one.start not in starts)
    rest = merge(marked, formed)
    previous = next(rest, None)
    while previous:
        heading = next(rest, None)
        if heading is None or not _is_listed(text, previous, heading):
            yield previous
        previous = heading


def _is_listed(text: str, heading: Heading, following: Heading) -> bool:
    """Whether a heading by form is only listed: nothing stands between it and the next one."""
    is_near = following.start - heading.start <= 2 * LONGEST_HEADING
    if not is_near or "\n" in text[heading.start : following.start].strip():
        return False
    return VOLUME <= following.level <= heading.level and (
        heading.level <= SECTION or heading.level == following.level
    )


def _formed(text: str, is_unmarked: bool) -> Iterator[Heading]:
    capitals = set[str]()  # a line that recurs is a page head or a speaker
    for line, following in pairwise(chain(_lines(text), [None])):
        assert line
        words = line.text
        if len(words) > LONGEST_HEADING or _NO_HEADING.match(words):
            continue
        level = _level(line, is_unmarked)
        if not level or (level == CAPITALS and words in capitals):
            continue
        if level == CAPITALS and len(capitals) < _MOST_CAPITALS:
            capitals.add(words)
        bold = _BOLD.fullmatch(words)
        title = bold[2] if bold else words.strip(_DECORATION) or words
        if _is_title(line, level, following):
            assert following
            title = f"{title} {following.text}"
        yield Heading(line.start, " ".join(title.split()), level)


def _is_title(line: _Line, level: int, following: _Line | None) -> bool:
    """Whether the line below "CHAPTER I" is the chapter's title."""
    return bool(
        following
        and level <= SECTION
        and line.after == 1
        and following.after > 1
        and len(line.text.split()) <= 3
        and len(following.text) <= LONGEST_HEADING
        and not following.text.endswith(_SENTENCE_END)
    )


def _level(line: _Line, is_unmarked: bool) -> int:
    """The level of the heading that a line is by its form; 0 if it is none."""
    words = line.text
    is_at_blank = line.before > 1 or line.after > 1
    is_alone = line.before > 1 and line.after > 1
    if words[0] in "第제" and (match := _CHINESE.fullmatch(words) or _KOREAN.fullmatch(words)):
        return 0 if words.endswith(_SENTENCE_END) else _LEVELS[(match.lastindex or 1) - 1]
    if _ALONE.fullmatch(words):
        return CHAPTER if is_alone or not words[0].isascii() else 0
    if is_at_blank and not words.endswith(_GOES_ON):
        for pattern, level in _KEYWORDS:
            if pattern.fullmatch(words):
                return level
    if dated := _DATED.fullmatch(words.strip(_DECORATION)):
        return DATE if is_at_blank or not any(dated.groups()) else 0
    if not is_alone:
        return 0
    if _BOLD.fullmatch(words):
        return BOLD
    if not is_unmarked or words.endswith(_SENTENCE_END):
        return 0
    if number := _NUMBERED.fullmatch(words):
        return NUMBERED + number[1].count(".")
    return CAPITALS if words.isupper() and sum(map(str.isalpha, words)) >= 4 else 0


def _lines(text: str) -> Iterator[_Line]:
    """Yield the lines that are not blank."""
    before = 2
    for (start, end), (following, _) in pairwise(chain(line_spans(text), [(len(text), 0)])):
        after = text.count("\n", end, following) if following < len(text) else 2
        yield _Line(start, text[start:end], before, after)
        before = after


def line_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the lines that are not blank, in short steps: other threads can run."""
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield at, at + len(text[at:end].rstrip())
        at = end
