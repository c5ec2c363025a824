"""Recall of evidence, by documents and by strings; all values are worked by hand."""

import pytest

from graphreader.evaluation.metrics.evidence import (
    EvidenceText,
    FactRecall,
    chunk_recall,
    citation_precision,
    document_recall,
    fact_recall,
    fact_wise,
    fcr,
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
