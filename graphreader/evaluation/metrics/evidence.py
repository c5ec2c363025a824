"""Metrics of a reader's evidence (None: not measurable), and intervals of means."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np

from graphreader.evaluation.metrics.answers import units
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import lower_words

_SHARE = 0.75  # the least share of a sentence's content words that must stand close together

_MIN_CONTENT_WORDS = 4  # the least number of content words in a sentence that identifies a document

_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the and or but nor so yet if as than that this these those of in on at by for from "
        "to into with without over under after before between during is are was were be been "
        "being am has have had having do does did will would can could shall should may might "
        "must not no it its he him his she her hers they them their we us our you your i me my "
        "who whom whose which what when where there here until while because also s",
    )
)


@dataclass(frozen=True, slots=True)
class FactRecall:
    """The numbers of relevant supporting facts (at least 1), and of covered facts among them."""

    relevant: int
    covered: int


def fact_recall(
    evidence: str, sentences: Sequence[str], documents: Sequence[str], language: str
) -> FactRecall | None:
    """Count the facts that the evidence covers: sentences, and documents by any sentence."""
    text = EvidenceText(evidence, language)
    covered = [text.covers(one) for one in sentences]
    covered += [text.covers_any_sentence(one) for one in documents]
    return FactRecall(len(covered), sum(covered)) if covered else None


def chunk_recall(chunks: Sequence[str], sentences: Sequence[str], language: str) -> float | None:
    """The share of the supporting sentences that stand in a chunk that was shown in full."""
    texts = [EvidenceText(chunk, language) for chunk in chunks]
    covered = [any(text.covers(one) for text in texts) for one in sentences]
    return sum(covered) / len(covered) if covered else None


def document_recall(read: Collection[int], gold: Collection[int]) -> float | None:
    """The share of the gold documents that were read; both are indexes of documents."""
    return len(set(gold) & set(read)) / len(set(gold)) if gold else None


def fcr(read: Collection[int], gold: Collection[int]) -> float | None:
    """FCR of one reading: 1 if all gold documents were read, else 0."""
    return float(set(gold) <= set(read)) if gold else None


def citation_precision(cited: Collection[int], gold: Collection[int]) -> float | None:
    """The share of the cited documents that are gold documents."""
    return len(set(cited) & set(gold)) / len(set(cited)) if cited and gold else None


class EvidenceText:
    """A text that is searched for supporting facts.

    It covers a sentence that it has word for word, or of whose content words two neighboring
    sentences have most (`_SHARE`); in Chinese pairs of characters count.
    """

    def __init__(self, text: str, language: str) -> None:
        self._language = language
        self._text = text
        self._words = self._line(text)

    def covers(self, sentence: str) -> bool:
        """Whether the text covers a sentence; False for a sentence without words."""
        line = self._line(sentence)
        if not line.strip():
            return False
        return line in self._words or self._has_content(self._content(sentence))

    def covers_any_sentence(self, document: str) -> bool:
        """Whether the text covers a sentence of a document; short sentences count if all are."""
        sentences = [document[start:end] for start, end in sentence_spans(document)]
        long = [one for one in sentences if len(self._content(one)) >= _MIN_CONTENT_WORDS]
        return any(self.covers(one) for one in long or sentences)

    def _has_content(self, content: frozenset[str]) -> bool:
        least = _SHARE * len(content)
        return bool(content) and any(len(content & pair) >= least for pair in self._sentence_pairs)

    @cached_property
    def _sentence_pairs(self) -> list[frozenset[str]]:
        spans = sentence_spans(self._text)
        sentences = [self._content(self._text[start:end]) for start, end in spans]
        return [one | other for one, other in pairwise([*sentences, frozenset()])]

    def _content(self, text: str) -> frozenset[str]:
        if self._language == "zh":
            line = self._line(text)
            return frozenset(line[at : at + 2] for at in range(len(line) - 1))
        return frozenset(lower_words(text)) - _FUNCTION_WORDS

    def _line(self, text: str) -> str:
        """Put the words of a text in one line, each between spaces; Chinese without spaces."""
        if self._language == "zh":
            return "".join(units(text, "zh"))
        return f" {' '.join(lower_words(text))} "


_LEVEL = 0.95
RESAMPLES = 2_000
FLIPS = 10_000
_SEED = 0
_EXACT_TEST = 12  # the most differences of which all assignments of signs (4,096) are tried

_BLOCK = 1_000_000
"""Random numbers that are drawn at once: all numbers at once would take gigabytes."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval, and the number of its values."""

    mean: float
    low: float
    high: float
    number: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The paired difference of two readers, with `p` of a sign-flip permutation test."""

    difference: Interval
    p: float
    wins: int
    ties: int
    losses: int


def mean_interval(values: Iterable[float | None]) -> Interval | None:
    """Compute a mean and its 95 % interval by the percentile bootstrap; None without values."""
    known = np.array([value for value in values if value is not None], dtype=float)
    if not len(known):
        return None
    random = np.random.default_rng(_SEED)
    means = [
        known[random.integers(len(known), size=(rows, len(known)))].mean(axis=1)
        for rows in _blocks(RESAMPLES, len(known))
    ]
    edge = (1 - _LEVEL) / 2
    low, high = np.quantile(np.concatenate(means), [edge, 1 - edge])
    return Interval(float(known.mean()), float(low), float(high), len(known))


def compare(
    first: Mapping[str, float | None], second: Mapping[str, float | None]
) -> Comparison | None:
    """Compare the scores of two readers by question id; None if they share no question."""
    pairs = ((score, second.get(key)) for key, score in first.items())
    differences = [one - other for one, other in pairs if one is not None and other is not None]
    interval = mean_interval(differences)
    if interval is None:
        return None
    return Comparison(
        difference=interval,
        p=_sign_flip(np.array(differences)),
        wins=sum(one > 0 for one in differences),
        ties=sum(one == 0 for one in differences),
        losses=sum(one < 0 for one in differences),
    )


def _sign_flip(differences: "np.ndarray[Any, np.dtype[np.float64]]") -> float:
    """The p of a sign-flip test: the share of sign assignments with a sum as far from 0.

    Of many assignments a sample is drawn.
    """
    unequal = differences[differences != 0]
    observed = abs(unequal.sum()) - 1e-9
    if len(unequal) <= _EXACT_TEST:
        signs = np.array(list(product((-1, 1), repeat=len(unequal))))
        return float(np.mean(abs(signs @ unequal) >= observed))
    random = np.random.default_rng(_SEED)
    extreme = sum(
        int(np.sum(abs(random.choice((-1, 1), size=(rows, len(unequal))) @ unequal) >= observed))
        for rows in _blocks(FLIPS, len(unequal))
    )
    return (1 + extreme) / (1 + FLIPS)


def _blocks(rows: int, width: int) -> Iterator[int]:
    """Split a number of rows into blocks; one random generator serves all blocks in turn."""
    block = max(1, _BLOCK // width)
    for start in range(0, rows, block):
        yield min(block, rows - start)
