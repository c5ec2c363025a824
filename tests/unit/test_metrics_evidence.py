"""Evidence found, bootstrap intervals, and the paired comparison of two readers."""

import tracemalloc
from math import sqrt

import numpy as np
import pytest

from graphreader.evaluation.metrics.evidence import (
    FLIPS,
    RESAMPLES,
    EvidenceText,
    FactRecall,
    chunk_recall,
    citation_precision,
    compare,
    document_recall,
    fact_recall,
    fact_wise,
    fcr,
    mean_interval,
    sample_wise,
)

# From HotpotQA (CC BY-SA 4.0), with a reader's notes on it.
FOUNDED = "It was founded in 1988 by editor Phil Semas and then managing editor Stacy Palmer."
ANTIC = "The magazine was published from April 1982 until June/July 1990."
NOTES = (
    "The Chronicle of Philanthropy was founded in 1988 by its editor, Phil Semas. Stacy Palmer was "
    "managing editor then. Nothing is known of Antic yet."
)


# A sentence stands in a text word for word, whatever its case, punctuation and line breaks.
def test_word_for_word() -> None:
    text = EvidenceText(
        "It says:\nthe Magazine was published from\nApril 1982 until June, July 1990", "en"
    )

    assert text.covers(ANTIC)
    assert not text.covers("The magazine was published from April 1982 until August 1990 in Ohio.")


# A word is a whole word: "art" does not stand in "party".
def test_whole_words() -> None:
    assert not EvidenceText("A party", "en").covers("Art.")
    assert EvidenceText("No art here", "en").covers("Art.")


# Retold in two neighboring sentences, all 8 content words of it are there.
def test_retold() -> None:
    assert EvidenceText(NOTES, "en").covers(FOUNDED)
    assert not EvidenceText(NOTES, "en").covers(ANTIC)


# Three of four content words are enough, two of four are not; function words do not count.
def test_share_of_content_words() -> None:
    sentence = "The river Seine was crossed by the army."  # river seine crossed army

    assert EvidenceText("An army crossed a Seine bridge.", "en").covers(sentence)
    assert not EvidenceText("The army was by the Seine, it was the army.", "en").covers(sentence)


# The words must stand close together: one in every third sentence is not enough.
def test_words_far_apart() -> None:
    near = "Seine river. The army crossed."
    far = "Seine. One day passed. Rain fell. The army. It slept. It ate. They crossed."
    sentence = "The river Seine was crossed by the army."

    assert EvidenceText(near, "en").covers(sentence)
    assert not EvidenceText(far, "en").covers(sentence)


# Chinese goes by pairs of neighboring characters: 5 of the 6 pairs, then 3 of 6.
def test_chinese() -> None:
    sentence = "贞德生于一四年。"  # 贞德 德生 生于 于一 一四 四年

    assert EvidenceText("我们知道：贞德，生于一四年！", "zh").covers(sentence)
    assert EvidenceText("贞德生于一四", "zh").covers(sentence)
    assert not EvidenceText("贞德生于法国", "zh").covers(sentence)


# Nothing is covered by an empty text, and a sentence without words by none.
def test_nothing_is_covered() -> None:
    assert not EvidenceText("", "en").covers(ANTIC)
    assert not EvidenceText("", "zh").covers("贞德")
    assert not EvidenceText("anything", "en").covers(" ... ")


# Without a sentence a document counts by any telling sentence of it, not by "He died young."
def test_documents_without_sentences() -> None:
    document = "He died young. The army crossed the river Seine at dawn. It rained."

    assert EvidenceText("At dawn the army crossed the river Seine.", "en").covers_any_sentence(
        document
    )
    assert not EvidenceText("He died young. It rained.", "en").covers_any_sentence(document)
    assert EvidenceText("He died young.", "en").covers_any_sentence("He died young.")


# Sentences and documents are counted together; without any there is nothing to measure.
def test_fact_recall() -> None:
    found = fact_recall(NOTES, [FOUNDED, ANTIC], ["A novel by somebody else entirely."], "en")

    assert found == FactRecall(relevant=3, covered=1)
    assert fact_recall(NOTES, [], [], "en") is None


# Table 6 counts both ways: 3 of 5 facts, and 1 of 2 samples whole.
def test_fact_wise_and_sample_wise() -> None:
    recalls = [FactRecall(2, 2), FactRecall(3, 1)]

    assert fact_wise(recalls) == pytest.approx(3 / 5)
    assert sample_wise(recalls) == pytest.approx(1 / 2)
    assert (fact_wise([]), sample_wise([])) == (None, None)


# A sentence must stand in one single chunk; two chunks with half of it each do not hold it.
def test_chunk_recall() -> None:
    halves = ["The magazine was published from April 1982", "until June/July 1990. It sold."]

    assert chunk_recall([ANTIC, "Other text."], [ANTIC, FOUNDED], "en") == 0.5
    assert chunk_recall(halves, [ANTIC], "en") == 0
    assert chunk_recall([], [ANTIC], "en") == 0
    assert chunk_recall([ANTIC], [], "en") is None


# Documents count once, however often they are named or read.
def test_documents() -> None:
    assert document_recall([3, 3, 1, 8], [3, 5, 3]) == 0.5
    assert document_recall([], [3]) == 0
    assert document_recall([3], []) is None


# FCR wants all gold documents.
def test_fcr() -> None:
    assert fcr([1, 3, 5], [5, 3]) == 1
    assert fcr([1, 3], [5, 3]) == 0
    assert fcr([1], []) is None


# One of the two cited documents is gold; who cites nothing has no precision.
def test_citation_precision() -> None:
    assert citation_precision([4, 4, 2], [2, 7]) == 0.5
    assert citation_precision([], [2]) is None
    assert citation_precision([2], []) is None


# Of 0/1 scores the interval is close to the normal one: 0.6 ± 1.96 · sqrt(0.6 · 0.4 / 100).
def test_interval_of_a_share() -> None:
    interval = mean_interval([1] * 60 + [0] * 40)

    assert interval is not None
    assert interval.mean == pytest.approx(0.6)
    assert interval.number == 100
    reach = 1.96 * sqrt(0.6 * 0.4 / 100)
    assert interval.low == pytest.approx(0.6 - reach, abs=0.015)
    assert interval.high == pytest.approx(0.6 + reach, abs=0.015)


# Four times as many values make it half as wide.
def test_more_values_are_surer() -> None:
    few, many = mean_interval([0, 1] * 50), mean_interval([0, 1] * 200)

    assert few is not None
    assert many is not None
    assert (many.high - many.low) / (few.high - few.low) == pytest.approx(0.5, abs=0.08)


# The same values and seed give the same interval, another seed nearly the same.
def test_seeds() -> None:
    values = [0.1 * n for n in range(30)]
    first, other = mean_interval(values), mean_interval(values, seed=1)

    assert first == mean_interval(values)
    assert first is not None
    assert other is not None
    assert first != other
    assert first.low == pytest.approx(other.low, abs=0.05)


# What cannot be measured is left out; equal values leave no doubt; no values have no mean.
def test_few_values() -> None:
    alike = mean_interval([0.5, None, 0.5])

    assert alike is not None
    assert (alike.mean, alike.low, alike.high, alike.number) == (0.5, 0.5, 0.5, 2)
    assert mean_interval([None]) is None
    assert mean_interval([]) is None


# Three wins and no loss: of the 8 sign assignments 2 are as far from 0, so p is 1/4.
def test_comparison_by_hand() -> None:
    first = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5, "only here": 1.0, "unscored": None}
    second = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.5, "only there": 1.0, "unscored": 1.0}

    compared = compare(first, second)

    assert compared is not None
    assert (compared.wins, compared.ties, compared.losses) == (3, 1, 0)
    assert compared.difference.mean == pytest.approx(0.75)
    assert compared.difference.number == 4
    assert compared.p == pytest.approx(2 / 8)


# Differences 0.2, 0.2, -0.1: |sum| >= 0.3 for 4 of 8 sign assignments (+++, ++-, --+, ---).
def test_p_counts_sizes() -> None:
    compared = compare({"a": 0.2, "b": 0.2, "c": 0.0}, {"a": 0.0, "b": 0.0, "c": 0.1})

    assert compared is not None
    assert compared.p == pytest.approx(4 / 8)


# With many questions the signs are drawn: a clear lead has a small p, none has a large one.
def test_many_questions() -> None:
    better = {str(n): 1.0 if n % 4 else 0.0 for n in range(100)}
    worse = {str(n): 1.0 if n % 2 else 0.0 for n in range(100)}
    mixed = {str(n): 1.0 if n % 2 == 0 else 0.0 for n in range(100)}

    ahead, level = compare(better, worse), compare(worse, mixed)

    assert ahead is not None
    assert level is not None
    assert (ahead.wins, ahead.ties, ahead.losses) == (25, 75, 0)
    assert ahead.p < 0.001
    assert ahead.difference.low > 0
    assert (level.wins, level.losses) == (50, 50)
    assert level.p > 0.9
    assert compare(worse, better) != ahead


# The same reader twice has no difference; readers of other questions cannot be compared.
def test_no_difference() -> None:
    same = compare({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0})

    assert same is not None
    assert (same.p, same.difference.low, same.difference.high, same.ties) == (1, 0, 0, 2)
    assert compare({"a": 1.0}, {"b": 1.0}) is None


# What is drawn in blocks is what would be drawn at once, and so are the figures.
def test_blocks() -> None:
    values = np.random.default_rng(5).normal(0.05, 1, size=700)
    interval = mean_interval(values)
    compared = compare(dict(enumerate(values)), dict.fromkeys(range(700), 0.0))

    drawn = np.random.default_rng(0).integers(700, size=(RESAMPLES, 700))
    signs = np.random.default_rng(0).choice((-1, 1), size=(FLIPS, 700))
    as_far = np.sum(abs(signs @ values) >= abs(values.sum()) - 1e-9)
    assert interval is not None
    assert compared is not None
    assert interval.low == pytest.approx(np.quantile(values[drawn].mean(axis=1), 0.025))
    assert compared.p == pytest.approx((1 + as_far) / (1 + FLIPS))


# Thousands of questions take no more memory than hundreds: 160 megabytes would be one draw of all.
def test_memory() -> None:
    better = {str(n): 1.0 if n % 3 else 0.5 for n in range(2_000)}
    tracemalloc.start()
    compare(better, dict.fromkeys(better, 0.25))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 60_000_000
