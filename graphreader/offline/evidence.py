"""Sentences as evidence for a question: their ranking, and the few that answer it together.

Sentences answer together only if they are connected: by a name that leads from one to the other, or
because each states all that is asked about another name. So a question does not count as answered
only because each of its words occurs somewhere.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graphreader import tokens
from graphreader.llm.protocols import folded
from graphreader.text.question import ParsedQuestion, bonus
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import fold, terms_of

MOST_COMPARED = 20  # sentences that are tried in combinations
MOST_LEADING = 4  # best sentences, whose names can lead to other sentences
MOST_CITED = 3  # sentences of one answer
MOST_SHOWN = 5  # passages that are shown as an answer
ENOUGH = 0.6  # share of the required terms that makes an answer
LEAST = 0.1  # share of the question that makes a text worth noting or adding
MOST_NOTED = 4  # sentences that are noted from one text
_PRONOUN = re.compile(
    r"[\"“']*(?:(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Tt]his|[Tt]hese)\b|[他她它])"
)


class LabelledText(NamedTuple):
    """A text with the label of its source, such as the title of its document."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its document's label, its score and its support of each question term."""

    text: str
    label: str
    supports: tuple[float, ...]
    score: float


def ranked_sentences(
    texts: Iterable[LabelledText], question: ParsedQuestion, leads: frozenset[str] = frozenset()
) -> list[Sentence]:
    """Rank the sentences that share a term with the question by text or title, best first.

    A sentence that begins with a pronoun is joined to the sentence before it.
    """
    sentences = []
    for label, whole in texts:
        previous = 0
        for start, end in sentence_spans(whole):
            text = whole[start:end]
            if _PRONOUN.match(text) and question.relevance(text):
                text = whole[previous:end]
            previous = start
            sentences.append(as_evidence(text, label, question, leads))
    return sorted((one for one in sentences if one.score > 0), key=lambda one: -one.score)


def as_evidence(
    text: str, label: str, question: ParsedQuestion, leads: frozenset[str] = frozenset()
) -> Sentence:
    """Score a sentence or quote under the label of its document."""
    supports = question.supports(text, label)
    return Sentence(text, label, supports, question.share(supports) + bonus(leads, text, label))


def worth_noting(sentences: Iterable[Sentence], question: ParsedQuestion) -> list[Sentence]:
    """The first sentences that share enough with the question, without their titles."""
    return [one for one in sentences if question.relevance(one.text) >= LEAST][:MOST_NOTED]


def best_together(sentences: Sequence[Sentence], question: ParsedQuestion) -> list[Sentence]:
    """Choose the few sentences that answer together, best first; none if they are not enough.

    Enough is a share of the required terms, half of each name and half of what is asked about it.
    """
    best = _strongest_together(sentences, question)
    supports = _supports(best, question)
    required = [one for one in question.terms if one.is_required]
    named = [[t for t in question.terms if t.term in terms_of(name)] for name in question.names]
    parts = [part for part in (question.required_attributes, *named) if part]
    is_enough = question.share(supports, required) >= ENOUGH
    if not is_enough or any(2 * question.share(supports, part) < 1 for part in parts):
        return []
    return sorted(best, key=lambda one: -one.score)


def passages(
    sentences: Iterable[Sentence], best: Sequence[Sentence], question: ParsedQuestion
) -> list[Sentence]:
    """The sentences that are shown as an answer: the `best`, then the most similar others."""
    shown = list(best)
    for one in sorted(sentences, key=lambda one: -question.score(one.text, one.label)):
        if any(one.supports) and not any(
            one.text in other.text or other.text in one.text for other in shown
        ):
            shown.append(one)
    return shown[:MOST_SHOWN]


def covers(texts: Iterable[str], question: ParsedQuestion) -> bool:
    """Whether a few connected sentences support every required term of the question."""
    best = _strongest_together([as_evidence(text, "", question) for text in texts], question)
    return bool(question.required_attributes) and not missing(best, question)


def missing(sentences: Sequence[Sentence], question: ParsedQuestion) -> list[str]:
    """List the required words of the question that no sentence supports."""
    supports = zip(question.terms, _supports(sentences, question), strict=True)
    return [one.word for one, support in supports if one.is_required and not support]


def keep_best(lines: Iterable[str], question: ParsedQuestion, limit: int) -> list[str]:
    """Keep the most relevant lines in `limit` tokens, in their order, without duplicates."""
    lines = list(dict.fromkeys(lines))
    kept: set[str] = set()
    for line in sorted(lines, key=lambda one: -question.relevance(one)):
        length = tokens.count(line) + 2  # with a bullet and a line break
        if length <= limit:
            kept.add(line)
            limit -= length
    return [line for line in lines if line in kept]


def add_notes(notes: str, new: Iterable[Sentence], question: ParsedQuestion, limit: int) -> str:
    """Add sentences to notes, each a line "sentence [label]"; keep the best in `limit` tokens."""
    lines = [f"{folded(one.text)} [{folded(one.label)}]" for one in new]
    return "\n".join(keep_best([*notes.splitlines(), *lines], question, limit))


def parse_notes(notes: str) -> list[LabelledText]:
    """Return the sentences of notes that `add_notes` made, with their labels."""
    parts = (line.rpartition(" [") for line in notes.splitlines())
    return [LabelledText(label.rstrip("]"), text) for text, _, label in parts if text]


def _strongest_together(sentences: Sequence[Sentence], question: ParsedQuestion) -> list[Sentence]:
    """The few connected sentences that together support most of the question."""

    def value(group: Sequence[Sentence]) -> float:
        return question.share(_supports(group, question))

    candidates = sorted(sentences, key=lambda one: -one.score)[:MOST_COMPARED]
    groups = []
    for seed in candidates[:MOST_LEADING]:
        group = [seed]
        while len(group) < MOST_CITED:
            connected = [
                one
                for one in candidates
                if one not in group and any(_connected(one, other, question) for other in group)
            ]
            best = max(connected, key=lambda one: value([*group, one]), default=None)
            if not best or value([*group, best]) < value(group) + LEAST:
                break
            group.append(best)
        groups.append(group)
    return max(groups, key=value, default=[])


def _supports(sentences: Sequence[Sentence], question: ParsedQuestion) -> tuple[float, ...]:
    """The best support of each term by any of the sentences."""
    nothing = (0.0,) * len(question.terms)
    return tuple(map(max, zip(nothing, *(one.supports for one in sentences), strict=True)))


def _connected(one: Sentence, other: Sentence, question: ParsedQuestion) -> bool:
    """Whether a new name links two sentences, or each has a name and all required attributes."""

    def names(*texts: str) -> set[str]:
        return set(map(fold, question.new_names(texts)))

    if names(one.text) & names(other.text, other.label) or names(other.text) & names(one.label):
        return True
    by_term = [zip(question.terms, x.supports, strict=True) for x in (one, other)]
    supported = [{term for term, support in pairs if support} for pairs in by_term]
    asked = question.required_attributes
    return bool(asked) and all(
        own.issuperset(asked) and any(term.in_name for term in own) for own in supported
    )
