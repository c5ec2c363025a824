"""ROUGE, by the examples of SCROLLS and of the package rouge-score, and by hand."""

import sys

import pytest

from graphreader.errors import UsageError
from graphreader.evaluation.metrics import answers
from graphreader.evaluation.metrics.answers import Rouge, rouge


# The published example of SCROLLS: ROUGE-1 72.2222, ROUGE-2 33.3333, ROUGE-L 72.2222.
# https://huggingface.co/datasets/tau/scrolls/blob/main/metrics/scrolls.py
def test_published_example_of_scrolls() -> None:
    found = [
        rouge("exact match example", ["exact match example"], "en"),
        rouge("hello there", ["hello", "hi there"], "en"),
        rouge("general kenobi", ["commander kenobi"], "en"),
    ]

    assert round(100 * sum(one.rouge1 for one in found) / 3, 4) == 72.2222
    assert round(100 * sum(one.rouge2 for one in found) / 3, 4) == 33.3333
    assert round(100 * sum(one.rouge_l for one in found) / 3, 4) == 72.2222


# The examples of rouge-score's own tests (Apache-2.0), several references and none in common.
@pytest.mark.parametrize(
    ("answer", "references", "scores"),
    [
        ("testing", ["testing one two"], (1 / 2, 0, 1 / 2)),
        ("testing one", ["testing one two"], (4 / 5, 2 / 3, 4 / 5)),
        ("testing two", ["testing one two"], (4 / 5, 0, 4 / 5)),
        ("text first", ["first text", "first something"], (1, 0, 1 / 2)),
        ("", ["testing one two"], (0, 0, 0)),
        ("testing", [], (0, 0, 0)),
    ],
)
def test_published_examples_of_the_package(
    answer: str, references: list[str], scores: tuple[float, float, float]
) -> None:
    found = rouge(answer, references, "en")

    assert (found.rouge1, found.rouge2, found.rouge_l) == pytest.approx(scores)


# Each kind takes its own best reference: single words from one, pairs from the other.
# "a b c": 3 of 3 words of "c b a", but no pair; of "a b x y z" 1 pair of 2 and of 4, so 1/3.
def test_best_reference_for_each_kind() -> None:
    found = rouge("a b c", ["c b a", "a b x y z"], "en")

    assert (found.rouge1, found.rouge2) == pytest.approx((1, 1 / 3))


# Words count as they stand, as in SCROLLS; with the stemmer their stems.
def test_stemmer() -> None:
    assert rouge("he discussed papers", ["discussing a paper"], "en").rouge1 == 0
    stemmed = rouge("he discussed papers", ["discussing a paper"], "en", stemmer=True)
    assert stemmed.rouge1 == pytest.approx(2 / 3)


# Chinese counts by characters: 2 of 4 and of 2; 1 pair of 3 and of 1; so 2/3, 1/2, 2/3.
def test_chinese() -> None:
    found = rouge("北京，大学", ["北京。"], "zh")

    assert (found.rouge1, found.rouge2, found.rouge_l) == pytest.approx((2 / 3, 1 / 2, 2 / 3))
    assert rouge("北京", ["北京"], "en") == Rouge(0, 0, 0)  # the package's tokenizer sees no word


# Where rouge-score is missing, a sentence says what to install.
def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    answers._scorer.cache_clear()

    with pytest.raises(UsageError, match=r"rouge-score: pip install 'graphreader\[evaluate\]'"):
        rouge("a", ["a"], "en")
