"""Exact match and F1, by published examples and by hand."""

import pytest

from graphreader.evaluation.metrics.answers import exact_match, f1, normalized, units

# SCROLLS's own example of its metrics, which are SQuAD's:
# https://huggingface.co/datasets/tau/scrolls/blob/main/metrics/scrolls.py
SCROLLS = [
    ("exact match example", ["exact match example"]),
    ("hello there", ["hello", "hi there"]),
    ("general kenobi", ["commander kenobi"]),
]


# The published example of SCROLLS has its published figures: EM 33.3333, F1 72.2222.
def test_published_example() -> None:
    em = [exact_match(answer, references, "en") for answer, references in SCROLLS]
    found = [f1(answer, references, "en") for answer, references in SCROLLS]

    assert round(100 * sum(em) / 3, 4) == 33.3333
    assert round(100 * sum(found) / 3, 4) == 72.2222


# Case, punctuation, articles and white space do not count; a hyphen joins, as SQuAD has it.
@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  The  Rock    n  Roll. ", "rock n roll"),
        ("An apple, a pear, and THE plum!", "apple pear and plum"),
        ("modern-day Italians", "modernday italians"),
        ("theory", "theory"),
        ("1916–2003", "1916–2003"),  # only ASCII punctuation goes
        ("the", ""),
    ],
)
def test_normal_form(text: str, normal: str) -> None:
    assert normalized(text, "en") == normal


# Chinese loses its own punctuation and all white space; LongBench's list leaves "《" and "·".
def test_normal_form_of_chinese() -> None:
    assert normalized(" 《毕业 风暴》，ABC。", "zh") == "《毕业风暴abc"
    assert normalized("提莫·贝克曼（导演）", "zh") == "提莫·贝克曼导演"
    assert units("北京, 1949", "zh") == list("北京1949")


# The better of two references counts: 2 of 3 words right and 2 of 2 found is 0.8.
def test_f1_by_hand() -> None:
    assert f1("the tall Ann Lee", ["Bob", "Ann Lee"], "en") == pytest.approx(0.8)
    assert f1("Ann Lee", ["Bob"], "en") == 0


# A word counts as often as it stands in both: 1 of 3, 1 of 1, so 0.5.
def test_f1_counts_words_as_often_as_both_have_them() -> None:
    assert f1("no no no", ["no"], "en") == pytest.approx(0.5)


# LongBench has no rule for yes and no: "yes it is" keeps its share (1 of 3, 1 of 1).
def test_f1_of_yes_and_no() -> None:
    assert f1("yes it is", ["yes"], "en") == pytest.approx(0.5)
    assert f1("no", ["yes"], "en") == 0


# Chinese is compared by characters: 2 of 4 are right, 2 of 2 found, so 2/3.
def test_f1_of_chinese() -> None:
    assert f1("北京大学。", ["北京"], "zh") == pytest.approx(2 / 3)
    assert exact_match("《北京大学》", ["《北京大学"], "zh") == 1
    assert exact_match("北京大学", ["北京", "北京 大学。"], "zh") == 1


# An empty answer is no match of anything that has words, and has no F1.
def test_nothing() -> None:
    assert exact_match("", ["Ann"], "en") == 0
    assert f1("", ["Ann"], "en") == 0
    assert f1("The", ["a"], "en") == 0
    assert exact_match("The", ["a"], "en") == 1
    assert (f1("Ann", [], "en"), exact_match("Ann", [], "en")) == (0, 0)
