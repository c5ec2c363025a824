"""Lists by item, and counts, as they are read from an answer."""

import pytest

from graphreader.evaluation.metrics.lists import (
    ItemCounts,
    item_counts,
    stated_numbers,
    states_count,
)

ITEMS = (("Duchess's cook", "the cook"), ("Siward",), ("Young Siward",), ("Peru and Bolivia",))
CHINESE = (("颜渊", "颜回"), ("仲弓",), ("樊迟",))


# Case, accents, articles and signs do not count, a wording is matched as a whole, and not inside a
# longer accepted wording: Young Siward is not Siward. What is no gold item counts as named, unless
# it stands in brackets or is a remark of many words. An item counts once.
@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        ("The duchess’s COOK, Síward, Young Siward and Peru and Bolivia.", (4, 4)),
        ("Young Siward", (1, 1)),
        ("Cook; Siwards", (1, 2)),
        ("the cook (of the Duchess, with pepper), Hecate and Banquo", (1, 3)),
        ("Siward. Siward again, as everybody in the whole audience had expected", (1, 1)),
        (
            "The witnesses are:\n- the cook, with her pepper\n- the Hatter, a tall man\n- Siward",
            (2, 3),
        ),
        ("1. Siward\n2. Young Siward", (2, 2)),
        ("", (0, 0)),
    ],
)
def test_items(answer: str, counts: tuple[int, int]) -> None:
    assert item_counts(answer, ITEMS, "en") == ItemCounts(*counts, gold=4)


# Chinese has no words between spaces, and its own signs and conjunctions.
@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        ("颜回、仲弓和樊迟。", (3, 3)),
        ("问仁的有《颜渊》，子贡，以及仲弓（冉雍）", (2, 3)),
        ("书中没有说", (0, 1)),
    ],
)
def test_chinese_items(answer: str, counts: tuple[int, int]) -> None:
    assert item_counts(answer, CHINESE, "zh") == ItemCounts(*counts, gold=3)


# Where the order counts, items outside the longest row in the order of the gold are not found.
@pytest.mark.parametrize(
    ("answer", "found"), [("a1, b2, c3", 3), ("c3, a1, b2", 2), ("c3, b2, a1", 1), ("b2", 1)]
)
def test_ordered_items(answer: str, found: int) -> None:
    counts = item_counts(answer, [["a1"], ["b2"], ["c3"]], "en", ordered=True)

    assert counts.found == found


# Digits with separators, words of both languages, and years by digits; no decimals, ordinals or
# marks of a list; "one" and "一" only if there is no other number.
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("26", [26]),
        ("Twenty-six of 1,234, about 3.5 %", [26, 1234]),
        ("two thousand and six; one hundred and five; three million", [2006, 105, 3_000_000]),
        ("One of them has seven", [7]),
        ("Only one.", [1]),
        ("None", [0]),
        ("1. a chapter\n2. three chapters", [3]),
        ("一共有四篇，第十二篇除外", [4]),
        ("二十六，一百零五，两千，十，一九二二年，三万", [26, 105, 2000, 10, 1922, 30_000]),
        ("只有一篇", [1]),
        ("about ninety days", [90]),
        ("someone attends often", []),
    ],
)
def test_numbers(text: str, numbers: list[int]) -> None:
    assert stated_numbers(text) == numbers


# The first or the last number is the count; numbers of the question count only without others.
@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("7", True),
        ("Of the twelve countries, seven have it.", True),
        ("2 + 1 + 4 = 7", True),
        ("Seven, of which 3 are large", True),
        ("There are 6: one more than 7 less 2", False),
        ("12", False),
        ("many", False),
    ],
)
def test_counts(answer: str, right: bool) -> None:
    assert states_count(answer, 7, "How many of the twelve countries have it?") is right
