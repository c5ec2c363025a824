"""A question taken apart, and how much of it a text supports.

`ParsedQuestion.relevance` is the one score of what is decided without a model: of nodes, facts,
chunks, sentences, quotes and pages. Passages that stand for an answer are ranked by it.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import fmean
from typing import Literal

from graphreader.text import words
from graphreader.text.names import names_of, titles_of
from graphreader.text.sentences import language_of
from graphreader.text.words import terms_of, title_terms

# The weight of a term; that of a name or a rare word is 1.
COMMON = 0.5  # of a common word
KIND = 0.25  # of "country" in "which country": texts name one and leave the word out
# How well a term is supported; the term itself supports it by 1.
SYNONYM = 0.7  # by a near synonym
TITLE = 0.6  # by the title alone
BREVITY = 150  # terms of a passage that scores half of its relevance
LEAST_LEAD = 0.2  # share of the question near a name that is followed
LEAD = 0.25  # added to the relevance of a text with a name that leads on
WINDOWS = (20, 80)  # characters around a name that say what leads to it
_NEXT_WORD = re.compile(r" ([a-z][a-z-]+)")


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """One term that an answer must be supported by, and the question's word for it.

    `is_required`: the question can hardly be answered without it.
    """

    term: str
    word: str
    weight: float
    in_name: bool
    is_required: bool
    synonyms: frozenset[str] = frozenset()

    def support(self, terms: frozenset[str], title: frozenset[str] = frozenset()) -> float:
        """How well the terms of a text and of its title support it, from 0 to 1."""
        if words.has_term(terms, self.term):
            return 1.0
        by_synonym = SYNONYM * any(words.has_term(terms, one) for one in self.synonyms)
        return max(by_synonym, TITLE) if words.has_term(title, self.term) else by_synonym


@dataclass(frozen=True)
class ParsedQuestion:
    """A parsed question; `attributes` are the words for the requested property of the names."""

    language: Literal["en", "zh"]
    names: tuple[str, ...]
    attributes: tuple[str, ...]
    terms: tuple[QuestionTerm, ...]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The terms alone."""
        return frozenset(one.term for one in self.terms)

    @cached_property
    def required_attributes(self) -> tuple[QuestionTerm, ...]:
        """The terms that are asked about the names."""
        return tuple(one for one in self.terms if one.is_required and not one.in_name)

    def supports(self, text: str, title: str = "") -> tuple[float, ...]:
        """How well a text under a title supports each term, from 0 to 1."""
        terms, titles = terms_of(text), title_terms(title)
        return tuple(one.support(terms, titles) for one in self.terms)

    def share(self, supports: Iterable[float], of: Collection[QuestionTerm] | None = None) -> float:
        """The share of the weight of all terms, or some, that is supported so, from 0 to 1."""
        pairs = zip(self.terms, supports, strict=True)
        weighed = [(one.weight, support) for one, support in pairs if of is None or one in of]
        weight = sum(weight for weight, _ in weighed)
        return sum(weight * support for weight, support in weighed) / weight if weight else 0.0

    def relevance(self, text: str, title: str = "", leads: frozenset[str] = frozenset()) -> float:
        """The share of the question that a text under a title supports; more for a lead in it."""
        return self.share(self.supports(text, title)) + bonus(leads, text, title)

    def score(self, text: str, title: str = "") -> float:
        """The relevance of a passage, from 0 to 1; less for a long one, which says less of it."""
        return self.relevance(text, title) * BREVITY / (BREVITY + len(terms_of(text)))

    def lead(self, name: str, texts: Iterable[str]) -> float:
        """How much of the question stands near a name, at best, the nearest counting most.

        A word that describes another thing ("an Italian film") leads nowhere.
        """
        best = 0.0
        for text in texts:
            before, place, after = text.partition(name)
            following = None if " " in name else _NEXT_WORD.match(after)
            if place and (following is None or words.is_stop_word(following[1])):
                near = (f"{before[-size:]} | {after[:size]}" for size in WINDOWS)
                best = max(best, fmean(map(self.relevance, (text, *near))))
        return best

    def new_names(self, texts: Iterable[str]) -> list[str]:
        """Names in `texts` that the question lacks: they can lead to other texts."""
        names = dict.fromkeys(name for text in texts for name in names_of(" ".join(text.split())))
        return [name for name in names if not terms_of(name) <= self.vocabulary]

    def new_name_terms(self, texts: Iterable[str]) -> frozenset[str]:
        """The terms of those names that the question lacks."""
        names = self.new_names(texts)
        return frozenset(term for name in names for term in terms_of(name)) - self.vocabulary


@lru_cache(maxsize=256)
def parse_question(question: str) -> ParsedQuestion:
    """Take a question apart. One that asks for nothing has no terms."""
    text = " ".join(question.split())
    # A name inside of a title is none ("Return to Nim's Island").
    inside = {name for title in titles_of(text) for name in names_of(title) if name != title}
    names = tuple(name for name in names_of(text) if name not in inside)
    name_terms = frozenset(term for name in names for term in terms_of(name))
    terms: dict[str, QuestionTerm] = {}
    attributes = []
    for piece in (*words.words_of(text), *names, *words.chinese_pieces(text, 1)):
        own = terms_of(piece)
        if len(piece) > 2 and words.HAN_RUN.fullmatch(piece) and not own <= name_terms:
            own |= {piece[-1]}  # a verb may stand behind a name: 关羽死
        new = [t for t in own if t in name_terms or not words.is_question_word(t)]
        new = sorted(term for term in new if term not in terms)
        for term in new:
            # A Chinese piece weighs the same however many pairs of characters it has.
            word = piece if len(new) == 1 else term
            in_name = term in name_terms
            is_kind = not in_name and words.is_answer_kind(term)
            weight = (KIND if is_kind else COMMON if words.is_common(term) else 1.0) / len(new)
            synonyms = frozenset() if in_name else words.synonyms_of(term)
            terms[term] = QuestionTerm(term, word, weight, in_name, not is_kind, synonyms)
        if not name_terms.issuperset(new):
            attributes.append(piece)
    return ParsedQuestion(language_of(text), names, tuple(attributes), tuple(terms.values()))


def bonus(leads: frozenset[str], text: str, title: str) -> float:
    """What a term that leads on adds to the relevance of a text under a title."""
    return 0.0 if leads.isdisjoint(terms_of(text) | title_terms(title)) else LEAD
