"""Sentences as evidence: the best of some texts, and the few that together answer a question.

Sentences answer together only if they are connected: by a name that leads from one to the other, or
by having all that is asked, each about another name. A question is not taken for answered because
each of its words occurs somewhere.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from graphreader.baselines.tasks import Excerpt
from graphreader.offline.question import ParsedQuestion
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import fold, terms_of

MOST_COMPARED = 20  # sentences of which combinations are made
MOST_LEADING = 4  # of the best, whose names can lead to others
MOST_CITED = 3  # sentences of an answer
OF_KIND = 0.2  # score of a date, number or new name where the question asks for one
ENOUGH = 0.6  # share of what is required that makes an answer
LEAST = 0.1  # share of the question that makes a text worth noting, or adding to others
MOST_NOTED = 4  # sentences noted of one text
_PRONOUNS = frozenset({"he", "she", "it", "they", "his", "her", "its", "their", "this", "these"})
_HAN_PRONOUNS = frozenset("他她它")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence under its document's label; `supports` is how well it supports each term."""

    text: str
    label: str
    supports: tuple[float, ...]
    score: float


def ranked_sentences(
    excerpts: Iterable[Excerpt], question: ParsedQuestion, leads: frozenset[str] = frozenset()
) -> list[Sentence]:
    """All sentences that share a term with the question, or whose title does, the best first.

    One that begins with a pronoun comes with the sentence before it.
    """
    sentences = []
    for excerpt in excerpts:
        previous = 0
        for start, end in sentence_spans(excerpt.text):
            text = excerpt.text[start:end]
            if _begins_with_pronoun(text) and question.relevance(text):
                text = excerpt.text[previous:end]
            previous = start
            sentences.append(as_evidence(text, excerpt.label, question, leads))
    return sorted((one for one in sentences if one.score > 0), key=lambda one: -one.score)


def as_evidence(
    text: str, label: str, question: ParsedQuestion, leads: frozenset[str] = frozenset()
) -> Sentence:
    """A sentence or quote with its score."""
    supports, score = question.supports(text, label), question.relevance(text, label, leads)
    return Sentence(text, label, supports, score)


def worth_noting(sentences: Iterable[Sentence], question: ParsedQuestion) -> list[Sentence]:
    """The first sentences that share enough with the question themselves, not by title or lead."""
    return [one for one in sentences if question.relevance(one.text) >= LEAST][:MOST_NOTED]


def best_together(sentences: Sequence[Sentence], question: ParsedQuestion) -> list[Sentence]:
    """The few sentences that make an answer, the best first; none if they are not enough."""
    best = strongest_together(sentences, question)
    if not _is_enough(_supports(best, question), question):
        return []
    if len(best) == 1:  # a question can have several answers
        best += [one for one in sentences if one not in best and _supports_as_much(one, best[0])]
    return sorted(best[:MOST_CITED], key=lambda one: -one.score)


def strongest_together(sentences: Sequence[Sentence], question: ParsedQuestion) -> list[Sentence]:
    """The few connected sentences that together support most of the question."""
    leading = sorted(sentences, key=lambda one: -one.score)[:MOST_LEADING]
    leads = question.new_name_terms(one.text for one in leading)

    def promise(one: Sentence) -> float:
        return question.relevance(one.text, one.label, frozenset() if one in leading else leads)

    candidates = sorted(sentences, key=lambda one: -promise(one))[:MOST_COMPARED]
    groups = [_grown(seed, candidates, question) for seed in candidates[:MOST_LEADING]]
    return max(groups, key=lambda group: _value(group, question), default=[])


def covers(notes: Sequence[str], question: ParsedQuestion) -> bool:
    """Whether one note has all that is asked about a name, and the notes have all names.

    Words in different notes prove little, so they are not enough.
    """
    names = [one for one in question.terms if one.in_name]
    attributes = question.required_attributes
    everything = terms_of(" \n".join(notes))
    return (
        bool(attributes)
        and all(one.support(everything) for one in names)
        and any(
            all(one.support(terms_of(note)) for one in attributes)
            and (not names or any(one.support(terms_of(note)) for one in names))
            for note in notes
        )
    )


def keep_best(
    lines: Iterable[str], question: ParsedQuestion, size: Callable[[str], int], limit: int
) -> list[str]:
    """The most relevant of different lines that fit the limit together, in their first order."""
    lines = list(dict.fromkeys(lines))
    kept: set[str] = set()
    for line in sorted(lines, key=lambda one: -question.relevance(one)):
        if (length := size(line)) <= limit:
            kept.add(line)
            limit -= length
    return [line for line in lines if line in kept]


def _grown(
    seed: Sentence, candidates: Sequence[Sentence], question: ParsedQuestion
) -> list[Sentence]:
    """The seed with the connected sentences that add most, one after the other."""
    group = [seed]
    while len(group) < MOST_CITED:
        connected = [
            one
            for one in candidates
            if one not in group and any(_connected(one, other, question) for other in group)
        ]
        best = max(connected, key=lambda one: _value([*group, one], question), default=None)
        if not best or _value([*group, best], question) < _value(group, question) + LEAST:
            break
        group.append(best)
    return group


def _value(group: Sequence[Sentence], question: ParsedQuestion) -> float:
    kind = OF_KIND * any(question.has_answer_kind(one.text) for one in group)
    return question.share(_supports(group, question)) + kind


def _supports(group: Sequence[Sentence], question: ParsedQuestion) -> tuple[float, ...]:
    """How well the sentences support each term, the best of them counting."""
    nothing = (0.0,) * len(question.terms)
    return tuple(map(max, zip(nothing, *(one.supports for one in group), strict=True)))


def _supports_as_much(one: Sentence, other: Sentence) -> bool:
    return all(bool(a) >= bool(b) for a, b in zip(one.supports, other.supports, strict=True))


def _connected(one: Sentence, other: Sentence, question: ParsedQuestion) -> bool:
    """Whether a new name leads from one to the other, or each has a name and all that is asked."""
    if _leads_to(one, other, question) or _leads_to(other, one, question):
        return True
    asked = [n for n, term in enumerate(question.terms) if term in question.required_attributes]
    named = [n for n, term in enumerate(question.terms) if term.in_name]
    return bool(asked) and all(
        all(x.supports[n] for n in asked) and any(x.supports[n] for n in named)
        for x in (one, other)
    )


def _leads_to(one: Sentence, other: Sentence, question: ParsedQuestion) -> bool:
    """Whether a name in one that the question lacks is in the other or its title."""
    names, others = question.new_names([one.text]), question.new_names([other.text, other.label])
    return not set(map(fold, names)).isdisjoint(map(fold, others))


def _is_enough(supports: Sequence[float], question: ParsedQuestion) -> bool:
    """Enough of what is required, half of each name, and half of what is asked about them."""

    def share(of: Iterable[str]) -> float:
        terms = frozenset(of)
        pairs = [
            (s, t.weight) for t, s in zip(question.terms, supports, strict=True) if t.term in terms
        ]
        weight = sum(weight for _, weight in pairs)
        return sum(support * weight for support, weight in pairs) / weight if weight else 1.0

    asked = [one.term for one in question.required_attributes]
    required = [one.term for one in question.terms if one.is_required]
    parts = [asked, *map(terms_of, question.names)]
    return (
        bool(required) and share(required) >= ENOUGH and all(2 * share(one) >= 1 for one in parts)
    )


def _begins_with_pronoun(sentence: str) -> bool:
    bare = sentence.lstrip("\"“'")
    return bare[:1] in _HAN_PRONOUNS or fold(bare.split(None, 1)[0] if bare else "") in _PRONOUNS
