"""The words of a printed page, joined to segments: a line of one column, or a cell of a table.

The plane of a page has its origin at the lower left; lengths are points.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from graphreader.ingestion.loading.notation import END, SUBSCRIPT, SUPERSCRIPT, write_out
from graphreader.text.scripts import CJK, FULL_WIDTH_SIGNS

HYPHENS = ("-", "\u2010")
_PARTED_NUMBER = re.compile(r"\d–\Z|://\Z|\w/\Z")  # of a number, or an address
UNSPACED = re.compile(rf"[{CJK}{FULL_WIDTH_SIGNS}]")
NUMBER = re.compile(r"[($€£¥+−–-]*\d[\d.,]*\)?%?\)?|[—–]")
AMOUNT = re.compile(r"[($€£¥+−–-]*\d{1,3}(?:[.,]\d{1,3})+\)?%?\)?")
CELL_SPACE = 0.35  # em; the least gap of two numbers that are cells of a table

_BODY = 0.7  # em; the height of a line above its base for the comparison with others
_NEAR = 1.0  # em; words with a wider gap are cells or columns of their own
_WORD_SPACE = 0.17  # em; the least gap of words in which no space is written
_LEADERS = re.compile(r"(?: ?\.){4,}")
_MARKER = re.compile(
    r"(?:[•◦▪‣●○■□–*·☐☑☒✓➢\-]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]|[①-⑳]|\[(?:\d{1,3}|[ x])\]"
    r"|(?:Item|ITEM) \d{1,2}[A-C]?\.)"
)


class Rule(NamedTuple):
    """A horizontal line that is drawn on the page: its height and its ends."""

    base: float
    left: float
    right: float


@dataclass(slots=True, eq=False)
class Word:
    """A word, or a part of one, that stands at one place: its ends, its base and its size (em).

    `is_spaced` says that a space is written before it.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    is_spaced: bool = False

    @property
    def top(self) -> float:
        """The height up to which it is compared with others."""
        return self.base + _BODY * self.size


@dataclass(slots=True, eq=False)
class PageLine:
    """A line of a page in its reading order, or a row of a table.

    `before` is the text between the line before and this one; `is_full` says that it reaches the
    end of its column, so that its last sentence may run on.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    before: str = "\n\n"
    is_row: bool = False
    is_full: bool = False


@dataclass(slots=True, eq=False)
class Segment:
    """Words side by side without a wide gap: a line of one column, or a cell of a table."""

    words: list[Word]
    left: float = 0
    right: float = 0
    base: float = 0
    size: float = 0
    _text: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.measure()

    def measure(self) -> None:
        """Take the measures from the words; most of its letters say base and size."""
        self.left = min(word.left for word in self.words)
        self.right = max(word.right for word in self.words)
        self.size = _main_size(self.words)
        self.base = median(word.base for word in self.words if word.size == self.size)
        self._text = ""

    @property
    def top(self) -> float:
        """The height up to which it is compared with others."""
        return self.base + _BODY * self.size

    @property
    def text(self) -> str:
        """The words with their spaces, raised and lowered words in plain notation."""
        self._text = self._text or text_of(self.words)
        return self._text


def _main_size(words: list[Word]) -> float:
    """The size of most letters."""
    if len(words) == 1:
        return words[0].size
    letters: Counter[float] = Counter()
    for word in words:
        letters[word.size] += len(word.text)
    return letters.most_common(1)[0][0]


def _overlap(one: "Word | Segment", other: "Word | Segment") -> bool:
    """Whether two parts stand on one line: half of the smaller one's height is in the other."""
    low, high = max(one.base, other.base), min(one.top, other.top)
    return high - low > 0.5 * _BODY * min(one.size, other.size)


def segments_of(words: list[Word]) -> list[Segment]:
    """Join words that follow each other in the file, then those that only stand side by side."""
    segments: list[Segment] = []
    run: list[Word] = []
    for word in words:
        if run:
            last = run[-1]
            size = max(last.size, word.size)
            gap = word.left - last.right
            if not (-0.5 * size < gap < _near(last, word) * size and _overlap(last, word)):
                segments.append(Segment(run))
                run = []
        run.append(word)
    if run:
        segments.append(Segment(run))
    return _neighbours_joined(segments)


def _neighbours_joined(segments: list[Segment]) -> list[Segment]:
    """Join segments of one line without a wide gap between them; a list's sign joins its item."""
    joined: list[Segment] = []
    for row in rows_of(segments, exact=True):
        run: list[Segment] = []
        right = size = 0.0
        for segment in row:
            if run:
                last = run[-1]
                gap = segment.left - right
                near = _near(last.words[-1], segment.words[0]) * max(size, segment.size)
                near = near if len(run) > 1 or not _is_marker(last) else 5 * size
                is_raised = gap < 0 and segment.size < 0.85 * size and segment.right < right
                if not (-size < gap < near or is_raised):
                    joined.append(_united(run))
                    run = []
            right = max(right, segment.right) if run else segment.right
            size = max(size, segment.size) if run else segment.size
            run.append(segment)
        joined.append(_united(run))
    return joined


def _united(run: list[Segment]) -> Segment:
    if len(run) == 1:
        return run[0]
    words = [word for segment in run for word in segment.words]
    return Segment(sorted(words, key=lambda word: word.left))


def _near(last: Word, word: Word) -> float:
    """The gap, in em, from which on two words are apart; numbers side by side are cells."""
    if AMOUNT.fullmatch(word.text):
        return CELL_SPACE if NUMBER.fullmatch(last.text) else 0.75
    return _NEAR


def _is_marker(segment: Segment) -> bool:
    return len(segment.words) <= 2 and bool(_MARKER.fullmatch(segment.text))


def rows_of(segments: Sequence[Segment], *, exact: bool = False) -> list[list[Segment]]:
    """Gather segments that stand on one line, from the top; `exact`: nearly on one base."""
    rows: list[tuple[Segment, list[Segment]]] = []  # with the largest of each
    for segment in sorted(segments, key=lambda one: -one.base):
        for number in range(len(rows) - 1, max(-1, len(rows) - 5), -1):
            first, row = rows[number]
            is_one = _overlap(first, segment)
            if exact and is_one:
                small = min(first.size, segment.size) < 0.85 * max(first.size, segment.size)
                is_one = small or abs(first.base - segment.base) < 0.2 * first.size
            if is_one:
                row.append(segment)
                if segment.size > first.size:
                    rows[number] = segment, row
                break
        else:
            rows.append((segment, [segment]))
    return [sorted(row, key=lambda one: one.left) for _, row in rows]


def glue(before: str, after: str) -> str:
    """The text between two lines of one paragraph: none between Chinese or Japanese letters.

    After a hyphen the line end stays, by which the word is made whole later.
    """
    if before.endswith(HYPHENS) and len(before) > 1 and before[-2].isalnum():
        return "\n" if after[:1].islower() else ""
    if _PARTED_NUMBER.search(before) and after[:1].isalnum():
        return ""
    both = UNSPACED.match(before[-1:]) and UNSPACED.match(after[:1])
    return "" if both else " "


def text_of(words: list[Word]) -> str:
    """Write words of one line with spaces, with raised and lowered words in plain notation."""
    size = _main_size(words)
    large = [word for word in words if word.size > 0.85 * size]
    base = median(word.base for word in large)
    text, last = "", None
    has_marks = False
    for word in words:
        shift = (word.base - base) / size
        part = word.text
        is_small = word.size < 0.85 * size
        if is_small and shift > 0.15 and large and len(part) < 12:
            part, has_marks = f"{SUPERSCRIPT}{part}{END}", True
        elif is_small and shift < -0.08 and len(part) < 12:
            part, has_marks = f"{SUBSCRIPT}{part}{END}", True
        if last is not None and _is_apart(last, word):
            text += " "
        text += part
        last = word
    if has_marks:
        text = write_out(text)[0]
    return " ".join(_LEADERS.sub(" ... ", text).split())


def _is_apart(last: Word, word: Word) -> bool:
    """Whether a space stands between two words of one line."""
    gap = word.left - last.right
    size = max(last.size, word.size)
    if UNSPACED.match(last.text[-1]) and UNSPACED.match(word.text[0]):
        return gap > 0.6 * size
    return (word.is_spaced and gap > -0.1 * size) or gap > _WORD_SPACE * size
