"""The part of the texts to which an action is limited: documents, parts of them, or days."""

import re
from collections.abc import Sequence

from graphreader.llm.protocols import folded
from graphreader.store.records import CorpusPart

PLACES = re.compile(r"(\d+)(?:\.(\d+))?(?:\s*[-–—~]\s*(?:(\d+)\.)?(\d+))?")
"""A document, 3, documents, 3-5, a passage, 3.12, or a range of them, 3.12-14."""

_TO_THE_END = re.compile(r"(\d+\.\d+)\s*[-–—~]")  # 3.12-

_DATE = r"\d{4}(?:-\d{1,2}){0,2}"
_DAYS = re.compile(rf"({_DATE})?\s*(?:\.\.+|…|/|\bto\b|至|到)\s*({_DATE})?|({_DATE})")
_PIECES = re.compile(r"[,，;；、]|\band\b")
_MARKS = re.compile(
    r"^(?:(?:documents?|passages?|chunks?|days?|from)\b)?[\s\[\]()]*", re.IGNORECASE
)
_LAST = 10**9  # a chunk behind all others
_OPEN = "~"  # an end of days that is left open


def part_of(within: str, documents: Sequence[str]) -> CorpusPart | str:
    """Read the limit of an action; return a sentence if it is none, which says what would fit.

    `documents` are document ids in the order of their numbers.
    """
    ids: list[str] = []
    ranges: list[tuple[str, int, int]] = []
    since = until = ""
    for piece in filter(str.strip, _PIECES.split(within)):
        text = _MARKS.sub("", piece.strip()).rstrip("]) ")
        if open_range := _TO_THE_END.fullmatch(text):
            text = f"{open_range[1]}-{_LAST}"
        days, places = _DAYS.fullmatch(text), PLACES.fullmatch(text)
        if places and (not days or (text.isdigit() and int(text) <= len(documents))):
            first = int(places[1])
            last = int(places[4]) if places[4] and not places[2] else first
            numbers = range(first, last + 1)
            if not 1 <= first <= last <= len(documents):
                return no_document(text, documents)
            ids += [documents[number - 1] for number in numbers]
            begin = int(places[2] or 0)
            end = int(places[4] or begin) if places[2] else _LAST
            ranges += [(documents[number - 1], begin, end) for number in numbers]
        elif days and any(days.groups()) and not since + until:
            begins, ends, only = (_padded(one or "") for one in days.groups())
            since, until = sorted((begins or only, ends or only or _OPEN))
        else:
            return (
                "within takes documents, 3, parts of them, 3.20-40, or days, 2023-06..2023-08, "
                f"not “{folded(within)}”."
            )
    if all(begin == 0 and end == _LAST for _, begin, end in ranges):
        ranges = []
    return CorpusPart(tuple(dict.fromkeys(ids)), tuple(ranges), since, until.removesuffix(_OPEN))


def _padded(date: str) -> str:
    """A date with two digits for month and day: "2023-6" is 2023-06."""
    return "-".join(part.zfill(2) for part in date.split("-")) if date else ""


def no_document(number: str, documents: Sequence[str]) -> str:
    """Say that no document has a number, and which numbers there are."""
    known = f"there are 1 to {len(documents)}" if documents else "none was shown yet"
    return f"No document has the number {folded(number)}: {known}; list(documents) numbers all."
