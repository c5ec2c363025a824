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

CLAIMED_SHARE = 0.3
"""Least share of a statement's words in sentences that a model names: pronouns became names."""

SOUGHT_SHARE = 0.5  # ... and in sentences that are found by their words


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

    def end_of(self, number: int) -> int:
        """The end of a sentence in the text; for number 0 the end of the text."""
        return self._spans[number - 1][1] if number else len(self._text)

    def span_of(self, statement: str, numbers: Iterable[int]) -> Span | None:
        """The span of the sentences that bear out a statement, best those with the `numbers`.

        None if no sentences have the numbers in it and enough of its words; a word counts the more
        the fewer sentences have it.
        """
        claimed = list(_runs(self.valid(numbers)))
        for run in claimed:
            start, end = self._span(*run)
            if statement in self._text[start:end]:
                return start, end
        wanted = terms_of(statement)
        figures = {one for one in wanted if one[:1].isdigit()} - terms_of(self._known)
        weights = {one: 1 / max(1, self._frequency[one]) for one in wanted}
        near = [at for at, one in enumerate(self._terms, 1) if not one.isdisjoint(weights)]
        pairs = [(one, after) for one, after in pairwise(near) if after == one + 1]
        for runs, least in (
            (claimed, CLAIMED_SHARE),
            ([(one, one) for one in near], SOUGHT_SHARE),
            (pairs, SOUGHT_SHARE),
        ):
            shares = [(self._share(weights, run), run) for run in runs]
            share, best = max(shares, key=lambda one: one[0], default=(0.0, (1, 1)))
            if share and share >= least and figures <= self._terms_of(best):
                return self._span(*best)
        return None

    def _share(self, weights: Mapping[str, float], run: _Run) -> float:
        shared = fsum(weights[one] for one in weights.keys() & self._terms_of(run))
        return shared / (fsum(weights.values()) or 1)

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


def _runs(numbers: Sequence[int]) -> Iterator[_Run]:
    """Yield the runs of numbers that stand within MOST_SENTENCES of each other."""
    first = 0
    for at, number in enumerate(numbers):
        if number - numbers[first] >= MOST_SENTENCES:
            yield numbers[first], numbers[at - 1]
            first = at
    if numbers:
        yield numbers[first], numbers[-1]
