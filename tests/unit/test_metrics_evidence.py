"""Metrics of evidence, bootstrap intervals, and the paired comparison of two readers."""

from math import sqrt
from typing import Any

import pytest

from graphreader.evaluation.metrics.evidence import (
    Comparison,
    EvidenceText,
    FactRecall,
    Interval,
    chunk_recall,
    citation_precision,
    compare,
    document_recall,
    fact_recall,
    fcr,
    mean_interval,
)

# From HotpotQA (CC BY-SA 4.0), with a reader's notes on it.
FOUNDED = "It was founded in 1988 by editor Phil Semas and then managing editor Stacy Palmer."
ANTIC = "The magazine was published from April 1982 until June/July 1990."
NOTES = (
    "The Chronicle of Philanthropy was founded in 1988 by its editor, Phil Semas. Stacy Palmer was "
    "managing editor then. Nothing is known of Antic yet."
)
SEINE = "The river Seine was crossed by the army."  # content words: river seine crossed army


# A text covers a sentence word for word, or with most of its content words in two neighboring
# sentences.
@pytest.mark.parametrize(
    ("text", "sentence", "covered"),
    [
        # Whatever its case, punctuation and line breaks.
        (
            "It says:\nthe Magazine was published from\nApril 1982 until June, July 1990",
            ANTIC,
            True,
        ),
        (ANTIC, "The magazine was published from April 1982 until August 1990 in Ohio.", False),
        # A word is a whole word.
        ("A party", "Art.", False),
        # All eight content words in two neighboring sentences.
        (NOTES, FOUNDED, True),
        (NOTES, ANTIC, False),
        # Three of four content words are enough, two of four are not; function words do not count.
        ("An army crossed a Seine bridge.", SEINE, True),
        ("The army was by the Seine, it was the army.", SEINE, False),
        # The words must stand close together.
        ("Seine. One day passed. Rain fell. The army. It slept. They crossed.", SEINE, False),
        # Nothing is covered by an empty text, and a sentence without words by none.
        ("", ANTIC, False),
        ("anything", " ... ", False),
    ],
)
def test_covered_sentences(text: str, sentence: str, covered: bool) -> None:
    assert EvidenceText(text, "en").covers(sentence) == covered


# Chinese goes by pairs of neighboring characters: 5 of the 6 pairs, then 3 of 6.
def test_chinese() -> None:
    sentence = "贞德生于一四年。"  # 贞德 德生 生于 于一 一四 四年

    assert EvidenceText("我们知道：贞德，生于一四年！", "zh").covers(sentence)
    assert EvidenceText("贞德生于一四", "zh").covers(sentence)
    assert not EvidenceText("贞德生于法国", "zh").covers(sentence)
    assert not EvidenceText("", "zh").covers("贞德")


# Without a named sentence a document counts by any of its sentences that has enough content words,
# not by "He died young.".
def test_documents_without_sentences() -> None:
    document = "He died young. The army crossed the river Seine at dawn. It rained."

    assert EvidenceText("At dawn the army crossed the Seine.", "en").covers_any_sentence(document)
    assert not EvidenceText("He died young. It rained.", "en").covers_any_sentence(document)
    assert EvidenceText("He died young.", "en").covers_any_sentence("He died young.")


# Sentences and documents are counted together. Without any fact there is nothing to measure.
def test_fact_recall() -> None:
    recall = fact_recall(NOTES, [FOUNDED, ANTIC], ["A novel by somebody else entirely."], "en")

    assert recall == FactRecall(relevant=3, covered=1)
    assert fact_recall(NOTES, [], [], "en") is None


# A sentence must stand in one single chunk; two chunks with half of it each do not contain it.
def test_chunk_recall() -> None:
    halves = ["The magazine was published from April 1982", "until June/July 1990. It sold."]

    assert chunk_recall([ANTIC, "Other text."], [ANTIC, FOUNDED], "en") == 0.5
    assert chunk_recall(halves, [ANTIC], "en") == 0
    assert chunk_recall([], [ANTIC], "en") == 0
    assert chunk_recall([ANTIC], [], "en") is None


# Documents count once, however often they are named or read; FCR requires all gold ones; a reading
# that cites nothing has no precision.
def test_documents() -> None:
    assert document_recall([3, 3, 1, 8], [3, 5, 3]) == 0.5
    assert document_recall([], [3]) == 0
    assert document_recall([3], []) is None
    assert [fcr([1, 3, 5], [5, 3]), fcr([1, 3], [5, 3]), fcr([1], [])] == [1, 0, None]
    assert citation_precision([4, 4, 2], [2, 7]) == 0.5
    assert citation_precision([], [2]) is citation_precision([2], []) is None


def interval_of(values: Any) -> Interval:
    interval = mean_interval(values)
    assert interval is not None
    return interval


def compared(first: Any, second: Any) -> Comparison:
    comparison = compare(first, second)
    assert comparison is not None
    return comparison


# Of 0/1 scores the interval is close to the normal one: 0.6 ± 1.96 · sqrt(0.6 · 0.4 / 100); four
# times as many values make it half as wide. The same values give the same interval.
def test_intervals() -> None:
    interval = interval_of([1] * 60 + [0] * 40)
    more = interval_of([1] * 240 + [0] * 160)
    reach = 1.96 * sqrt(0.6 * 0.4 / 100)

    assert (interval.mean, interval.number) == (pytest.approx(0.6), 100)
    assert interval.low == pytest.approx(0.6 - reach, abs=0.015)
    assert interval.high == pytest.approx(0.6 + reach, abs=0.015)
    assert more.high - more.low == pytest.approx(reach, abs=0.016)
    assert interval == interval_of([1] * 60 + [0] * 40)


# What cannot be measured is left out; no values have no mean.
def test_few_values() -> None:
    assert interval_of([0.5, None, 0.5]) == Interval(0.5, 0.5, 0.5, 2)
    assert mean_interval([None]) is None


# Three wins and no loss: of the 8 sign assignments 2 are as far from 0. Differences 0.2, 0.2 and
# -0.1: |sum| >= 0.3 for 4 of 8 (+++, ++-, --+, ---).
def test_comparison_by_hand() -> None:
    first = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5, "only here": 1.0, "unscored": None}
    second = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.5, "only there": 1.0, "unscored": 1.0}
    one = compared(first, second)

    assert (one.wins, one.ties, one.losses) == (3, 1, 0)
    assert (one.difference.mean, one.difference.number) == (0.75, 4)
    assert one.p == 2 / 8
    assert compare({"a": 1.0}, {"b": 1.0}) is None
    assert compared({"a": 0.2, "b": 0.2, "c": 0.0}, {"a": 0.0, "b": 0.0, "c": 0.1}).p == 4 / 8
