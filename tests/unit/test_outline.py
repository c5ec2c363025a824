"""Outlines: a line a chunk, folded until they fit; the ranges are always said."""

import math
import re

import pytest

from graphreader.outline import OutlineEntry, main_headings, outline_text, shortened
from graphreader.tokens import count


def entry(chunk: int, summary: str, *headings: str) -> OutlineEntry:
    return OutlineEntry(chunk, headings, summary, 2000)


BOOK = [
    entry(0, "How it began.", "One"),
    entry(1, "What followed.", "One"),
    entry(2, "A voyage.", "One", "Two"),
    entry(3, "The end.", "Two"),
]
ENGLISH = [
    entry(n, f"In part {n} the miller of Bergen loses another of his ships.", f"Chapter {n // 6}")
    for n in range(120)
]
CHINESE = [entry(n, f"第{n}回中孙悟空大闹天宫，众神仙惊慌失措，玉帝无计可施。") for n in range(120)]


# Each line has the index of its chunk; a heading is given once, where its chunks begin, and again
# at the beginning of a part.
def test_lines() -> None:
    assert outline_text(BOOK, math.inf).splitlines() == [
        "[0] One: How it began.",
        "[1] What followed.",
        "[2] Two: A voyage.",
        "[3] The end.",
    ]
    assert outline_text(BOOK, math.inf, 1, 2).splitlines() == [
        "[1] One: What followed.",
        "[2] Two: A voyage.",
    ]
    assert outline_text([], 100) == outline_text(BOOK, 100, 9) == ""
    assert outline_text([entry(7, "")], 100) == "[7]"


# What is too long is folded until it fits, as little as needed: one line for more and more chunks,
# whose ranges leave none out.
@pytest.mark.parametrize("entries", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_folding(entries: list[OutlineEntry]) -> None:
    before = 0
    for most in (20, 60, 200, 600, 1500, 9000):
        text = outline_text(entries, most)
        ranges = [[int(n) for n in one.split("-")] for one in re.findall(r"(?m)^\[(.+?)\]", text)]
        chunks = [n for one in ranges for n in range(one[0], one[-1] + 1)]

        assert count(text) <= most
        assert chunks == list(range(120))
        assert len(ranges) >= before
        before = len(ranges)
    assert len(ranges) == 120


# Lines of several chunks have the headings of all and the first sentence; from half of their length
# on they end where a heading begins.
def test_groups() -> None:
    sections, tens = (outline_text(one, 600).splitlines() for one in (ENGLISH, CHINESE))

    assert sections[:2] == [
        f"[0-5] Chapter 0: {ENGLISH[0].summary}",
        f"[6-11] Chapter 1: {ENGLISH[6].summary}",
    ]
    assert tens[:2] == [f"[0-9] {CHINESE[0].summary}", f"[10-19] {CHINESE[10].summary}"]
    assert outline_text(ENGLISH, 300).startswith("[0-11] Chapter 0; Chapter 1: ")


# No outline is shorter than its ranges.
def test_no_room() -> None:
    assert outline_text(CHINESE, 0) == "[0-119]"


# A long sentence becomes one line and is cut at a word; Chinese, which has no spaces, at a sign.
@pytest.mark.parametrize(
    ("text", "most", "short"),
    [
        ("Short \n enough.", 20, "Short enough."),
        ("The miller of Bergen, who had lost it all", 24, "The miller of Bergen…"),
        ("The miller of Bergen lost", 21, "The miller of Bergen…"),
        ("孙悟空大闹天宫，众神仙惊慌失措", 9, "孙悟空大闹天宫…"),
        ("x" * 40, 10, "xxxxxxxxx…"),
        ("any", 0, ""),
    ],
)
def test_shortened(text: str, most: int, short: str) -> None:
    assert shortened(text, most) == short


# The main headings are of the highest level with several: a lone one of a higher level is a title.
def test_main_headings() -> None:
    assert main_headings(["Book", "One", "Part", "Two"], [1, 2, 3, 2]) == ["One", "Two"]
    assert main_headings(["Book", "One"], [1, 2]) == ["Book", "One"]
    assert main_headings([], []) == []
