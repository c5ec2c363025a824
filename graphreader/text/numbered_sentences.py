"""Numbered sentences of a text, and the search for those on which a statement rests.

A model names the sentences that bear a fact out by their numbers. Sentences that lack the numbers
in the fact, or most of its words, are sought again by words.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from math import fsum

from graphreader.text.lines import Span
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import terms_of

_Run = tuple[int, int]
"""The first and last number of sentences one after the other."""

MOST_SENTENCES = 6
"""Largest number of sentences, one after the other, that bear out one statement."""

SOUGHT_SHARE, WIDER_SHARE = 0.5, 0.3
"""Least share of a statement's words in sentences that nobody named, and in a named sentence
together with the one before it."""


class NumberedSentences:
    """The sentences of a text, numbered from 1. `known` are words of its headings and title."""

    def __init__(self, text: str, known: str = "") -> None:
        self._text = text
        self._spans = list(sentence_spans(text))
        self._known = known

    def numbered(self) -> str:
        """The text with the number of each sentence before it: "<1>It rained. <2>She left."."""
        parts: list[str] = []
        done = 0
        for number, (start, end) in enumerate(self._spans, 1):
            parts += [self._text[done:start], f"<{number}>", self._text[start:end]]
            done = end
        return "".join([*parts, self._text[done:]])

    def valid(self, numbers: Iterable[int]) -> list[int]:
        """Filter the numbers of sentences that exist, ascending and each once."""
        return sorted({one for one in numbers if 1 <= one <= len(self._spans)})

    def start_of(self, number: int) -> int:
        """The start of a sentence in the text."""
        return self._spans[number - 1][0]

    def span_of(self, statement: str, numbers: Iterable[int]) -> Span | None:
        """The span of the sentences that bear out a statement, best those with the `numbers`.

        These need only share a word with it, since a model words it in its own way, with names for
        pronouns; with the sentence before them some words, others half of its words, where a word
        counts the more the fewer sentences have it. The numbers in it stand in them, in a sentence
        shortly before them, or in none that has other numbers (a date may be computed). None if no
        sentences are so.
        """
        claimed = list(_runs(self.valid(numbers)))
        for run in claimed:
            start, end = self._span(*run)
            if statement in self._text[start:end]:
                return start, end
        wanted = terms_of(statement)
        figures = set(filter(_is_figure, wanted)) - self._known_terms
        weights = {one: 1 / max(1, self._frequency[one]) for one in wanted}
        if (best := self._best(weights, claimed)) and (found := self._with_figures(best, figures)):
            return self._span(*found)
        near = [at for at, one in enumerate(self._terms, 1) if not one.isdisjoint(weights)]
        pairs = [(one, after) for one, after in pairwise(near) if after == one + 1]
        wider = [(max(1, first - 1), last) for first, last in claimed]
        for runs in ([(one, one) for one in near] + wider, pairs):
            best = self._best(weights, runs)
            least = WIDER_SHARE if best in wider else SOUGHT_SHARE
            if best and self._share(weights, best) >= least and figures <= self._terms_of(best):
                return self._span(*best)
        return None

    def _best(self, weights: Mapping[str, float], runs: Iterable[_Run]) -> _Run | None:
        """The sentences with the largest share of the weights; None if no share is above 0."""
        shares = {run: share for run in runs if (share := self._share(weights, run))}
        return max(shares, key=shares.__getitem__, default=None)

    def _with_figures(self, run: _Run, figures: set[str]) -> _Run | None:
        """The sentences, perhaps with those shortly before them that have the figures."""
        first, last = run
        for begin in range(first, max(0, last - MOST_SENTENCES), -1):
            if figures <= self._terms_of((begin, last)):
                return begin, last
        return None if any(map(_is_figure, self._terms_of(run))) else run

    def _share(self, weights: Mapping[str, float], run: _Run) -> float:
        shared = fsum(weights[one] for one in weights.keys() & self._terms_of(run))
        return shared / (fsum(weights.values()) or 1)

    @cached_property
    def _known_terms(self) -> frozenset[str]:
        return terms_of(self._known)

    @cached_property
    def _terms(self) -> list[frozenset[str]]:
        return [terms_of(self._text[start:end]) for start, end in self._spans]

    @cached_property
    def _frequency(self) -> Counter[str]:
        return Counter(chain.from_iterable(self._terms))

    def _terms_of(self, run: _Run) -> frozenset[str]:
        return frozenset().union(*self._terms[run[0] - 1 : run[1]])

    def _span(self, first: int, last: int) -> Span:
        return self._spans[first - 1][0], self._spans[last - 1][1]


def _is_figure(term: str) -> bool:
    return term[:1].isdigit()


def _runs(numbers: Sequence[int]) -> Iterator[_Run]:
    """Yield the runs of numbers that stand within MOST_SENTENCES of each other."""
    first = 0
    for at, number in enumerate(numbers):
        if number - numbers[first] >= MOST_SENTENCES:
            yield numbers[first], numbers[at - 1]
            first = at
    if numbers:
        yield numbers[first], numbers[-1]
