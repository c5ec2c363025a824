"""Headings of a text by their form: "CHAPTER I", "第一章", "2.1 Methods", bold lines, dates alone.

Formats such as HTML mark their headings; rules recognize others, in a text of any format, without a
model.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import chain, pairwise
from typing import NamedTuple

from graphreader.documents import Heading
from graphreader.text.blocks import lines_with_code
from graphreader.text.lines import lines_of
from graphreader.text.scripts import HAN
from graphreader.text.words import MONTHS

LONGEST_HEADING = 80  # characters

# Levels: below the six of Markdown and HTML.
VOLUME, PART, CHAPTER, SECTION, CAPITALS, NUMBERED, DATE, BOLD = 7, 8, 9, 10, 11, 12, 17, 18

# English words before a number; words of other languages before or after an ordinal.
_WORDS = (
    ("volume|vol\\.?|book", "band|buch|tome|tomo|livre|libro|том|книга", VOLUME),
    ("part", "teil|deel|partie|parte|часть", PART),
    ("chapter|chap\\.?|act|stave|canto|lesson|letter", "kapitel|hoofdstuk|chapitre|cap[ií]tulo"
     "|capitolo|acte|akt|глава|действие", CHAPTER),
    ("section|scene|article|appendix|annex|exhibit|schedule", "abschnitt|artikel|szene|anhang"
     "|annexe|sección|раздел", SECTION),
)  # fmt: skip
_ORDINAL = (
    r"(?:\d{1,3}|[IVXLC]{1,8}|[A-Z]|(?:the )?(?:first|second|third|fourth|fifth|sixth|seventh|last"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven"
    r"|eigh|nine)teen|(?:twen|thir|for|fif)ty(?:-\w{3,5})?))\b"
)
_TITLE = r"(?:\.?|[ \t]*[.:—–-]+[ \t]*[^\Wa-z_].*|[ \t]+[“\"‘'(]?[^\Wa-z_].*)"
_KEYWORDS = [
    (
        re.compile(
            rf"(?i:(?:{english}|{others})[ \t]+{_ORDINAL}){_TITLE}"
            rf"|(?i:(?:[^\W\d_]+[ \t]+)?(?:{others})(?:[ \t]+[^\W\d_]+)?)\.?"
        ),
        level,
    )
    for english, others, level in _WORDS
]
_CHINESE = re.compile(
    rf"(?:正文 )?第 ?[{HAN}〇\d]{{1,7}} ?(?:([卷部])|([篇編编])|([章回幕話])|([节節场場条條]))"
    r"(?:[\s：:、.·—-]+(.{1,40})|([^，。！？；、\s]{0,20}))"
)
_KOREAN = re.compile(r"제\s?\d{1,3}\s?(?:(부|권)|(편)|(장|막)|(절|조))(?:[\s:.·—-](.{0,60}))?")
_LEVELS = (VOLUME, PART, CHAPTER, SECTION)
_ALONE = re.compile(
    r"(?i:prologue|epilogue|preface|foreword|introduction|afterword|acknowledge?ments|conclusions?"
    r"|bibliography|references|contents|abstract|appendix|vorwort|einleitung|prolog|epilog|nachwort"
    r"|préface|prólogo|epílogo|пролог|эпилог)"
    r"|序章|序言|前言|自序|楔子|引子|引言|尾[声聲]|后记|後記|跋|附[录錄]|目[录錄次]|摘要|结论|結論|番外"
    r"|参考文献|參考文獻|[上中下]卷|卷[一二三四五六七八九十百]{1,4}|プロローグ|エピローグ|あとがき"
)
_NUMBERED = re.compile(r"((?:\d{1,2}\.){0,3})(\d{1,2})\.?[ \t]+(?=[^\Wa-z_])\S.*")
_MONTH = "(?i:" + "|".join(f"{month}|{month[:3]}\\.?" for month in MONTHS) + ")"
_YEAR = r"(?:1\d|20)\d\d"
_DAY = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? {_YEAR}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}"
    rf"|{_YEAR}-\d{{2}}-\d{{2}}|\d{{1,2}}[./]\d{{1,2}}[./]{_YEAR}|{_YEAR}[年./]\d{{1,2}}[月./]\d{{1,2}}日?)"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}\.?|星期.|[周週].|\([月火水木金土日]\)"
# "Posted on" and "Born" say what the date is of: they head nothing.
_DATED = re.compile(
    rf"(?:(?:{_WEEKDAY}|[^\W\d_]{{3,20}}|(?i:date|day \d+)),? ?:? )?"
    r"((?i:(?:conversation|session|meeting|interview|hearing|chat|call|log|minutes|diary|entry|letter"
    rf"|journal|transcript)\b[^\d.!?]{{0,20}}[ ,:] ?))?(?:{_TIME} on )?\(?{_DAY}\)?"
    rf"(?:[\s,]+(?:{_WEEKDAY}|{_TIME}))?"
)
_NO_DATE = re.compile(
    r"(?i:posted|updated|published|born|died|released?|copied|created|modified|printed|retrieved)\b"
)
# "Date: 2024-09-18" is the value of a label, unless dates with this label recur.
_LABEL = re.compile(rf"(?!(?:{_WEEKDAY}) ?:)([^\W\d_][^\d:：]{{0,40}}?)\s?[:：]")
_BOLD = re.compile(r"(\*\*|__)(?=\S)([^*_\n]{1,78})(?<=[^\s:：])\1")
_DECORATION = "=-–—*#【】 \t"
_UNDERLINE = re.compile(r"([=~^\"*+-])\1{2,}")
_NO_HEADING = re.compile(r"\||[-*+•] |```|~~~|>")
_LETTER = re.compile(r"[“\"'‘(]?[^\W\d_]")
_SENTENCE_END = tuple(".,;:!?。！？；：，、…”")
_GOES_ON = tuple(",;，；、")
# A longer line that ends with a full stop is a sentence, except for the place of a scene.
_WORDS_OF_TITLE = 7
_OF_A_PLAY = re.compile(rf"(?i:act|scene|acte|akt|szene)[ \t]+{_ORDINAL}\.")
_TIMES = 2  # a line of capitals that stands more often is a page head or a speaker
_MOST_CAPITALS = 10_000  # also of labels


class _Line(NamedTuple):
    """A line without white space around it, and whether blank lines are above and below it."""

    start: int
    text: str
    above: bool
    below: bool


def headings_of(text: str, marked: Sequence[Heading] = ()) -> Iterator[Heading]:
    """Yield the headings of a text in order: headings `marked` by its format, and others by form.

    Lines of capitals, with a number or with a line below are headings only where the format marks
    none. A heading with the next one, of its level or above it, right below is left out, as in a
    table of contents. Code between fences has no headings.
    """
    starts = {heading.start for heading in marked}
    formed = (one for one in _formed(text, not marked) if one.start not in starts)
    rest = merge(marked, formed, key=lambda heading: heading.start)
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
    times = _recurring_capitals(text) if is_unmarked else Counter()
    numbers, underlines = set[str](), list[str]()
    labels: Counter[str] | None = None
    lines = chain([None], _lines(text), [None])
    for (before, line), (_, following) in pairwise(pairwise(lines)):
        if line is None or len(line.text) > LONGEST_HEADING or _NO_HEADING.match(line.text):
            continue
        words = line.text
        level = _level(line)
        if level == DATE and (label := _LABEL.match(words)):
            labels = _dated_labels(text) if labels is None else labels
            level = DATE if labels[label[1].casefold()] > 1 else 0
        if level and level <= SECTION and _is_in_contents(level, before, line, following):
            continue
        if is_unmarked and not level:
            level = _unmarked_level(line, following, numbers, underlines)
            if level == CAPITALS and times[_without_digits(words)] > _TIMES:
                continue
        if level:
            bold = _BOLD.fullmatch(words)
            title = bold[2] if bold else words.strip(_DECORATION) or words
            if _is_title(line, level, following):
                assert following
                title = f"{title} {following.text}"
            yield Heading(line.start, " ".join(title.split()), level)


def _level(line: _Line) -> int:
    """The level of the heading that a line is by its form, in any text; 0 if it is none."""
    words = line.text.strip("【】 ")
    is_alone = line.above and line.below
    if match := _CHINESE.fullmatch(words) or _KOREAN.fullmatch(words):
        *kinds, title = match.groups()[:5]
        level = next(level for kind, level in zip(kinds, _LEVELS, strict=True) if kind)
        is_clear = title or line.above or line.below or (level == CHAPTER and len(words) < 6)
        return level if is_clear and not words.endswith(("，", "。", "；", "、", "：", ".")) else 0
    if _ALONE.fullmatch(words):
        return CHAPTER if is_alone or not words[0].isascii() else 0
    if (line.above or (line.below and not words.endswith("."))) and not words.endswith(_GOES_ON):
        is_long = len(words.split()) > _WORDS_OF_TITLE and not _OF_A_PLAY.match(words)
        is_sentence = is_long and words.endswith(".") and not words.isupper()
        if level := 0 if is_sentence else _keyword_level(words):
            return level
    dated = _DATED.fullmatch(words.strip(_DECORATION))
    if dated and not _NO_DATE.match(words):
        return DATE
    return BOLD if is_alone and _BOLD.fullmatch(words) else 0


def _keyword_level(words: str) -> int:
    return next((level for pattern, level in _KEYWORDS if pattern.fullmatch(words)), 0)


def _unmarked_level(
    line: _Line, following: _Line | None, numbers: set[str], underlines: list[str]
) -> int:
    """The level of a line with a line below, a number or capitals; 0 if it is no heading.

    A number follows another one of its list, or is 1.
    """
    words = line.text
    rule = following and not line.below and _UNDERLINE.fullmatch(following.text)
    if line.above and rule and len(rule[0]) >= len(words) and _LETTER.match(words):
        if rule[1] not in underlines:
            underlines.append(rule[1])
        return 1 + underlines.index(rule[1])
    if not (line.above and line.below) or words.endswith(_SENTENCE_END):
        return 0
    if number := _NUMBERED.fullmatch(words):
        prefix, last = number[1], int(number[2])
        if last != 1 and f"{prefix}{last - 1}" not in numbers:
            return 0
        numbers.add(f"{prefix}{last}")
        return NUMBERED + prefix.count(".")
    return CAPITALS if _is_in_capitals(words) else 0


def _is_in_capitals(words: str) -> bool:
    letters = sum(map(str.isalpha, words))
    is_text = words[0].isalpha() and letters >= 4 and not words.startswith("BY ")
    return is_text and words.isupper() and letters + words.count(" ") >= 0.8 * len(words)


def _recurring_capitals(text: str) -> Counter[str]:
    """The number of lines of capitals, by their words without digits."""
    times = Counter[str]()
    for (start, end), _ in lines_of(text):
        if end - start <= LONGEST_HEADING and _is_in_capitals(words := text[start:end]):
            key = _without_digits(words)
            if key in times or len(times) < _MOST_CAPITALS:
                times[key] += 1
    return times


def _dated_labels(text: str) -> Counter[str]:
    """The number of lines "Label: date", by their labels."""
    times = Counter[str]()
    for (start, end), _ in lines_of(text):
        label = _LABEL.match(text, start, min(end, start + LONGEST_HEADING))
        if label and end - start <= LONGEST_HEADING and _DATED.fullmatch(text, start, end):
            key = label[1].casefold()
            if key in times or len(times) < _MOST_CAPITALS:
                times[key] += 1
    return times


def _without_digits(words: str) -> str:
    return " ".join(re.sub(r"\d", "", words).split())


def _is_in_contents(level: int, before: _Line | None, line: _Line, following: _Line | None) -> bool:
    """Whether a line right above or below is on the same level, as in a table of contents."""
    near = (before if not line.above else None), (following if not line.below else None)
    return any(one and level in (_level(one), _keyword_level(one.text)) for one in near)


def _is_title(line: _Line, level: int, following: _Line | None) -> bool:
    """Whether the line below "CHAPTER I" is the chapter's title."""
    return bool(
        following
        and VOLUME <= level <= SECTION
        and not line.below
        and following.below
        and len(line.text.split()) <= 3
        and len(following.text) <= LONGEST_HEADING
        and _LETTER.match(following.text)
        and not following.text.endswith(_SENTENCE_END)
        and not _keyword_level(following.text)
    )


def _lines(text: str) -> Iterator[_Line]:
    """Yield the lines that are not blank, outside of code."""
    lines = chain(lines_with_code(text), [((0, 0), True, None)])
    for ((start, end), above, code), (_, below, _) in pairwise(lines):
        if not code:
            yield _Line(start, text[start:end], above or not start, below)
