"""Metrics of answers that are lists or numbers, against gold items and an exact count."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphreader.text.words import casefolded, is_stop_word

_ARTICLES = {"a", "an", "the"}
_DIGIT_GROUPS = re.compile(r"(?<=\d)[,，](?=\d{3}(?!\d))")
_WORD = re.compile(r"[^\W_]+")
_MARKED_LINE = re.compile(r"^[ \t]*(?:[-*•·–]|\(?\d{1,3}[.)、）])[ \t]*(\S.*)", re.MULTILINE)
_BRACKETS = re.compile(r"[(（\[【][^()（）\[\]【】]*[)）\]】]")
_SEPARATOR = re.compile(
    r"[\n;；,，、。!！?？|》]|\.(?=\s|$)|(?<=\s)(?:and|or|as well as)(?=\s)|以及|[和与及]"
)

_LONGEST_ITEM = {"en": 4, "zh": 8}
"""The most words, in Chinese characters, of a part of a sentence that is an item, not a remark."""


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """The numbers of gold items that an answer names, of all items that it names, and of gold."""

    found: int
    named: int
    gold: int


def folded(text: str, language: str) -> str:
    """Put spaces around the words of a text, without case, accents, signs and articles.

    A Chinese text has no spaces. Digits lose their separators of thousands.
    """
    plain = unicodedata.normalize("NFKD", casefolded(_DIGIT_GROUPS.sub("", text)))
    words = _WORD.findall("".join(sign for sign in plain if not unicodedata.combining(sign)))
    if language == "zh":
        return "".join(words)
    return f" {' '.join(word for word in words if word not in _ARTICLES)} "


def item_counts(
    answer: str, items: Sequence[Sequence[str]], language: str, *, ordered: bool = False
) -> ItemCounts:
    """Count the items that an answer names; an item has several accepted wordings.

    A wording counts where its words stand, but not inside a longer accepted wording. Lines with
    marks are items, else the short parts of sentences between commas and the like. If `ordered`,
    only the longest row of items in the order of the gold counts as found.
    """
    wordings = [(folded(one, language), n) for n, item in enumerate(items) for one in item]
    text, places, known = folded(answer, language), dict[int, int](), list[str]()
    for wording, number in sorted(wordings, key=lambda one: -len(one[0])):
        at = text.find(wording) if wording.strip() else -1
        if at >= 0:
            places[number] = min(at, places.get(number, at))
            known.append(wording)
            text = text.replace(wording, re.sub(r"\S", "\0", wording))
    wrong = sum(
        not any(wording in part or part in wording for wording in known)
        for part in _named_parts(answer, language)
    )
    found = [places[number] for number in sorted(places)]
    return ItemCounts(
        _longest_rise(found) if ordered else len(found), len(found) + wrong, len(items)
    )


def _named_parts(answer: str, language: str) -> Iterator[str]:
    """Yield the parts of an answer that may each be an item of a list."""
    lines = _MARKED_LINE.findall(answer)
    if len(lines) > 1:
        yield from (folded(line, language) for line in lines)
        return
    for one in _SEPARATOR.split(_DIGIT_GROUPS.sub("", _BRACKETS.sub(" ", answer))):
        part = folded(one, language)
        units = list(part) if language == "zh" else part.split()
        content = (one for one in units if not one.isdecimal())
        has_content = any(language == "zh" or not is_stop_word(one) for one in content)
        if has_content and len(units) <= _LONGEST_ITEM[language]:
            yield part


def _longest_rise(places: Sequence[int]) -> int:
    """The length of the longest row of places that rise, others between them left out."""
    rows: list[int] = []
    for n, place in enumerate(places):
        before = (row for row, at in zip(rows, places[:n], strict=True) if at < place)
        rows.append(1 + max(before, default=0))
    return max(rows, default=0)


_TO_NINETEEN = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen",
)
_TENS = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")
_NUMBER_WORDS = {word: value for value, word in enumerate(_TO_NINETEEN)}
_NUMBER_WORDS |= {word: 10 * value for value, word in enumerate(_TENS, 2)}
_NUMBER_WORDS["none"] = 0
_ENGLISH_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_ENGLISH = "|".join((*_NUMBER_WORDS, *_ENGLISH_SCALES))
_CHINESE_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")}
_CHINESE_DIGITS |= {"〇": 0, "○": 0, "两": 2}
_CHINESE_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
_CHINESE = "".join((*_CHINESE_DIGITS, *_CHINESE_SCALES))
_NUMBER = re.compile(
    rf"(?<![\d.第])\d+(?:\.\d+)?|(?<![第{_CHINESE}])[{_CHINESE}]+"
    rf"|\b(?:{_ENGLISH})(?:(?:\s+|-|\s+and\s+)(?:{_ENGLISH}))*\b"
)


def stated_numbers(text: str) -> list[int]:
    """List the whole numbers of a text in their order, in digits or English or Chinese words.

    The marks of a list are left out, and so are "one" and "一" beside other numbers, since they
    are articles and pronouns too.
    """
    lines = _MARKED_LINE.findall(text)
    text = "\n".join(lines) if len(lines) > 1 else text
    written = _NUMBER.findall(_DIGIT_GROUPS.sub("", casefolded(text)))
    strong = [one for one in written if one not in ("one", "一")] or written
    return [_number(one) for one in strong if "." not in one]


def _number(written: str) -> int:
    """The value of a number in digits or words."""
    if written.isdecimal():
        return int(written)
    words: Sequence[str] = re.findall(r"[a-z]+", written) or written
    scales = _ENGLISH_SCALES | _CHINESE_SCALES
    values = _NUMBER_WORDS | _CHINESE_DIGITS
    if len(words) > 1 and all(word in _CHINESE_DIGITS for word in words):
        return int("".join(str(values[word]) for word in words))  # a year
    total = group = last = 0
    for word in words:
        if word in ("thousand", "million", "万"):
            total, group, last = total + max(group + last, 1) * scales[word], 0, 0
        elif word in scales:
            group, last = group + max(last, 1) * scales[word], 0
        elif word != "and":
            last += values[word]
    return total + group + last


def states_count(answer: str, count: int, question: str) -> bool:
    """Whether the first or the last number of an answer is the count.

    Numbers of the question count only in an answer without others: "Of the twelve, seven".
    """
    asked = set(stated_numbers(question))
    numbers = stated_numbers(answer)
    own = [number for number in numbers if number not in asked] or numbers
    return bool(own) and count in (own[0], own[-1])
