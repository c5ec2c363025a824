"""Whether a reader found what an answer rests on: by documents, and by strings, without a model.

Each function measures one reading; the mean over readings is the figure of a table. None says that
nothing can be measured (the dataset names no evidence, nothing was cited): leave it out of means.

How sure a mean is, and whether one reader is better than another on the same questions.

Questions are drawn as if they were independent; several questions about one text are not quite.
All is seeded: the same values give the same interval.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import Any

import numpy as np

from graphreader.evaluation.metrics.answers import units
from graphreader.text.sentences import sentence_spans

SHARE = 0.75
"""The least share of a sentence's content words that must stand close together."""

TELLING = 4
"""Content words of a sentence by which a document can be known."""

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

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class FactRecall:
    """How many of the supporting facts that matter are covered; relevant is 1 at least."""

    relevant: int
    covered: int


def fact_wise(recalls: Iterable[FactRecall]) -> float | None:
    """All covered facts divided by all relevant ones (table 6, "SF-wise")."""
    counted = list(recalls)
    relevant = sum(one.relevant for one in counted)
    return sum(one.covered for one in counted) / relevant if relevant else None


def sample_wise(recalls: Iterable[FactRecall]) -> float | None:
    """The share of samples all of whose relevant facts are covered (table 6, "Sample-wise")."""
    whole = [one.covered == one.relevant for one in recalls]
    return sum(whole) / len(whole) if whole else None


def fact_recall(
    evidence: str, sentences: Sequence[str], documents: Sequence[str], language: str
) -> FactRecall | None:
    """How many facts the evidence covers: supporting sentences, and texts of gold documents.

    `documents` are those of which the dataset names no sentence: one counts as covered as soon as
    one of its sentences is.
    """
    text = EvidenceText(evidence, language)
    found = [text.covers(one) for one in sentences]
    found += [text.covers_some_of(one) for one in documents]
    return FactRecall(len(found), sum(found)) if found else None


def chunk_recall(chunks: Sequence[str], sentences: Sequence[str], language: str) -> float | None:
    """The share of the supporting sentences that stand in one of the chunks shown in full."""
    texts = [EvidenceText(chunk, language) for chunk in chunks]
    found = [any(text.covers(one) for text in texts) for one in sentences]
    return sum(found) / len(found) if found else None


def document_recall(read: Collection[int], gold: Collection[int]) -> float | None:
    """The share of the gold documents that were read. Both are indices into the documents."""
    return len(set(gold) & set(read)) / len(set(gold)) if gold else None


def fcr(read: Collection[int], gold: Collection[int]) -> float | None:
    """1 where all gold documents were read, else 0. Its mean is the share of such questions."""
    return float(set(gold) <= set(read)) if gold else None


def jsr(read: Collection[int], gold: Collection[int], answered_rightly: bool) -> float | None:
    """1 where all gold documents were read and the answer is right, else 0.

    Right is what the raters call exact (LR-1) where they were asked, else an exact match; the
    chosen option, where there are options. The caller says which.
    """
    found = fcr(read, gold)
    return None if found is None else found * answered_rightly


def citation_precision(cited: Collection[int], gold: Collection[int]) -> float | None:
    """The share of the cited documents that are gold."""
    return len(set(cited) & set(gold)) / len(set(cited)) if cited and gold else None


class EvidenceText:
    """A text in which facts are looked for.

    A sentence is covered when it stands there word for word (case, punctuation and white space do
    not count), or when `SHARE` of its content words stand in two neighboring sentences of the text.
    Content words are all but a short list of function words, as they stand: no stems, no synonyms,
    so that what a notebook retells freely is missed. In Chinese they are pairs of neighboring
    characters.
    """

    def __init__(self, text: str, language: str) -> None:
        self._language = language
        self._text = text
        self._words = self._line(text)
        self._sentences: list[frozenset[str]] | None = None

    def covers(self, sentence: str) -> bool:
        """Whether the sentence is covered; never one without words."""
        line = self._line(sentence)
        if not line.strip():
            return False
        return line in self._words or self._retells(self._content(sentence))

    def covers_some_of(self, document: str) -> bool:
        """Whether a sentence of the document is covered.

        Sentences with fewer than `TELLING` content words do not count unless there are no others.
        """
        sentences = [document[start:end] for start, end in sentence_spans(document)]
        telling = [one for one in sentences if len(self._content(one)) >= TELLING]
        return any(self.covers(one) for one in telling or sentences)

    def _retells(self, content: frozenset[str]) -> bool:
        wanted = SHARE * len(content)
        return bool(content) and any(
            len(content & close) >= wanted for close in self._neighbors() if content & close
        )

    def _neighbors(self) -> Iterator[frozenset[str]]:
        if self._sentences is None:
            spans = sentence_spans(self._text)
            self._sentences = [self._content(self._text[start:end]) for start, end in spans]
        following = self._sentences[1:]
        for one, other in zip_longest(self._sentences, following, fillvalue=frozenset[str]()):
            yield one | other

    def _content(self, text: str) -> frozenset[str]:
        if self._language == "zh":
            line = self._line(text)
            return frozenset(line[at : at + 2] for at in range(len(line) - 1))
        return frozenset(_WORD.findall(text.casefold())) - _FUNCTION_WORDS

    def _line(self, text: str) -> str:
        """All words in one line, each between spaces; Chinese without any space."""
        if self._language == "zh":
            return "".join(units(text, "zh"))
        return f" {' '.join(_WORD.findall(text.casefold()))} "


LEVEL = 0.95
RESAMPLES = 2_000
FLIPS = 10_000
_TRIED_ALL = 12  # differences of which all 4,096 signs are tried

_AT_ONCE = 1_000_000
"""Numbers drawn at a time: of many questions all of them would take gigabytes."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval, and of how many values."""

    mean: float
    low: float
    high: float
    number: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the first reader has more than the second, a question at a time.

    `p` is how often a difference of means as large as this one, in either direction, would come up
    if the two readers were alike (sign-flip test).
    """

    difference: Interval
    p: float
    wins: int
    ties: int
    losses: int


def mean_interval(
    values: Iterable[float | None], *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval | None:
    """The mean and its 95 % interval by the percentile bootstrap; None of no values.

    None among the values is left out.
    """
    known = np.array([value for value in values if value is not None], dtype=float)
    if not len(known):
        return None
    chance = np.random.default_rng(seed)
    means = [
        known[chance.integers(len(known), size=(rows, len(known)))].mean(axis=1)
        for rows in _blocks(resamples, len(known))
    ]
    edge = (1 - LEVEL) / 2
    low, high = np.quantile(np.concatenate(means), [edge, 1 - edge])
    return Interval(float(known.mean()), float(low), float(high), len(known))


def compare(
    first: Mapping[str, float | None], second: Mapping[str, float | None], *, seed: int = 0
) -> Comparison | None:
    """The scores of two readers, by the questions' ids; None where they share no scored question.

    Questions that one of them lacks are left out.
    """
    pairs = ((score, second.get(key)) for key, score in first.items())
    differences = [one - other for one, other in pairs if one is not None and other is not None]
    interval = mean_interval(differences, seed=seed)
    if interval is None:
        return None
    return Comparison(
        difference=interval,
        p=_sign_flip(np.array(differences), seed),
        wins=sum(one > 0 for one in differences),
        ties=sum(one == 0 for one in differences),
        losses=sum(one < 0 for one in differences),
    )


def _sign_flip(differences: "np.ndarray[Any, np.dtype[np.float64]]", seed: int) -> float:
    """The share of sign assignments whose mean is at least as far from 0; all of them if few."""
    unlike = differences[differences != 0]
    seen = abs(unlike.sum()) - 1e-9
    if len(unlike) <= _TRIED_ALL:
        signs = np.array(list(product((-1, 1), repeat=len(unlike)))).reshape(
            2 ** len(unlike), len(unlike)
        )
        return float(np.mean(abs(signs @ unlike) >= seen))
    chance = np.random.default_rng(seed)
    as_far = sum(
        int(np.sum(abs(chance.choice((-1, 1), size=(rows, len(unlike))) @ unlike) >= seen))
        for rows in _blocks(FLIPS, len(unlike))
    )
    return (1 + as_far) / (1 + FLIPS)


def _blocks(rows: int, width: int) -> Iterator[int]:
    """So many rows in blocks that are small enough. Chance goes on from one to the next."""
    block = max(1, _AT_ONCE // width)
    for start in range(0, rows, block):
        yield min(block, rows - start)
