"""The terms of a question, and a score for how much of the question a text supports.

`ParsedQuestion.relevance` is the one score of all decisions without a model: on nodes, facts,
chunks, sentences, quotes and pages. It also ranks the passages that are shown as an answer.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from statistics import fmean
from typing import Literal

from graphreader.text import words
from graphreader.text.names import names_of, titles_of
from graphreader.text.scripts import HAN_RUN, simplified
from graphreader.text.sentences import language_of
from graphreader.text.words import is_question_word, terms_of, title_terms, word_list

# Weights of terms: a name or a rare word has the weight 1.
COMMON = 0.5  # a common word
KIND = 0.25  # "country" in "which country": a text names a country without the word
# Supports of a term: a text that has the term itself supports it by 1.
SYNONYM = 0.7  # the text has a near synonym
TITLE = 0.6  # only the title has the term
BREVITY = 150  # a passage with this many terms scores half of its relevance
LEAST_LEAD = 0.2  # share of the question that must stand near a name for it to be followed
LEAD = 0.25  # added to the relevance of a text that has a followed name
WINDOWS = (20, 80)  # characters around a name in which the question's words count
_NEXT_WORD = re.compile(r" ([a-z][a-z-]+)")
_DETAIL = re.compile(r"(?i)\b(?:who|whom|whose|when|where|which|why|how many|is|does|did|says?)\b")
_SUMMARIES = terms_of(" ".join(word_list("summaries")))
_WHOLES = terms_of(" ".join(word_list("wholes")))


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A term of a question that a text can support, with its word in the question and its weight.

    `is_required`: a text without the term can hardly answer the question. `forms` are other terms
    of the same number: "3.500" is 3500, too.
    """

    term: str
    word: str
    weight: float
    in_name: bool
    is_required: bool
    synonyms: frozenset[str] = frozenset()
    forms: tuple[str, ...] = ()

    def support(self, terms: frozenset[str], title: frozenset[str] = frozenset()) -> float:
        """Score from 0 to 1 how well a text with these terms and title supports the term."""
        if words.has_term(terms, self.term) or not terms.isdisjoint(self.forms):
            return 1.0
        by_synonym = SYNONYM * any(words.has_term(terms, one) for one in self.synonyms)
        return max(by_synonym, TITLE) if words.has_term(title, self.term) else by_synonym


@dataclass(frozen=True)
class ParsedQuestion:
    """A question split into names, attributes (words for what is asked about them) and terms."""

    language: Literal["en", "zh"]
    names: tuple[str, ...]
    attributes: tuple[str, ...]
    terms: tuple[QuestionTerm, ...]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The terms of the question, without their weights."""
        return frozenset(term for one in self.terms for term in (one.term, *one.forms))

    @cached_property
    def required_attributes(self) -> tuple[QuestionTerm, ...]:
        """The required terms outside of names: they say what the question asks about the names."""
        return tuple(one for one in self.terms if one.is_required and not one.in_name)

    def supports(self, text: str, title: str = "") -> tuple[float, ...]:
        """Score from 0 to 1, for each term, how well a text under a title supports it."""
        terms, titles = terms_of(text), title_terms(title)
        return tuple(one.support(terms, titles) for one in self.terms)

    def share(self, supports: Iterable[float], of: Collection[QuestionTerm] | None = None) -> float:
        """The mean of the supports of all terms, or of the terms `of`, by weight; from 0 to 1."""
        pairs = zip(self.terms, supports, strict=True)
        weighed = [(one.weight, support) for one, support in pairs if of is None or one in of]
        weight = sum(weight for weight, _ in weighed)
        return sum(weight * support for weight, support in weighed) / weight if weight else 0.0

    def relevance(self, text: str, title: str = "", leads: frozenset[str] = frozenset()) -> float:
        """The share of the question that a text supports, plus a bonus for a term of `leads`."""
        return self.share(self.supports(text, title)) + bonus(leads, text, title)

    def score(self, text: str, title: str = "") -> float:
        """The relevance of a passage, from 0 to 1, reduced by its length."""
        return self.relevance(text, title) * BREVITY / (BREVITY + len(terms_of(text)))

    def lead(self, name: str, texts: Iterable[str]) -> float:
        """The largest share of the question near a name in a text; closer words count more.

        A word that describes a noun behind it ("an Italian film") is not followed: 0.
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
        """List names in `texts` that the question does not have: they may lead to other texts."""
        names = dict.fromkeys(name for text in texts for name in names_of(" ".join(text.split())))
        return [name for name in names if not terms_of(name) <= self.vocabulary]

    def new_name_terms(self, texts: Iterable[str]) -> frozenset[str]:
        """The terms of the names in `texts` that the question does not have."""
        names = self.new_names(texts)
        return frozenset(term for name in names for term in terms_of(name)) - self.vocabulary


@lru_cache(maxsize=256)
def asked_names(question: str) -> list[str]:
    """List the names in a question, without words such as "Name" or "List" that only begin it."""
    names = names_of(" ".join(question.split()))
    return [name for name in names if not all(map(is_question_word, terms_of(name)))]


def asks_about_whole(question: str) -> bool:
    """Whether a question in English asks to sum up a text and names nothing that is in it."""
    terms = terms_of(question)
    sums_up = bool(terms & _SUMMARIES) and terms <= _SUMMARIES | _WHOLES
    return sums_up and not _DETAIL.search(question)


def parse_question(question: str) -> ParsedQuestion:
    """Split a question into names, attributes and terms; no terms if it asks for nothing."""
    text = " ".join(question.split())
    # A name inside of a title is not a name of the question ("Return to Nim's Island").
    inside = {name for title in titles_of(text) for name in names_of(title) if name != title}
    names = tuple(name for name in names_of(text) if name not in inside)
    name_terms = frozenset(term for name in names for term in terms_of(name))
    terms: dict[str, QuestionTerm] = {}
    attributes = []
    pieces = words.words_with_forms(text)
    codes = [(code.lstrip("."), forms) for code, forms in pieces if forms]
    parts = {term for _, forms in codes for term in forms}
    parts |= {words.term_of(words.fold(one)) for code, _ in codes for one in words.words_of(code)}
    others = [(piece, ()) for piece in (*names, *words.unspaced_words(text, 1))]
    for piece, forms in chain(pieces, others):
        own = frozenset(forms[:1]) or terms_of(piece)
        if len(piece) > 2 and HAN_RUN.fullmatch(piece) and not own <= name_terms:
            own |= {simplified(piece[-1])}  # a verb may stand behind a name: 关羽死
        new = [t for t in own if t in name_terms or not words.is_question_word(t)]
        ignored = parts if piece in names and not forms else ()  # of "B-52" in the name of it
        new = sorted(term for term in new if term not in terms and term not in ignored)
        for term in new:
            # A Chinese piece weighs the same however many pairs of characters it has.
            word = piece if len(new) == 1 else term
            in_name = term in name_terms
            is_kind = not in_name and words.is_answer_kind(term)
            weight = (KIND if is_kind else COMMON if words.is_common(term) else 1.0) / len(new)
            synonyms = frozenset() if in_name else words.synonyms_of(term)
            required = not is_kind
            terms[term] = QuestionTerm(term, word, weight, in_name, required, synonyms, forms[1:])
        if not name_terms.issuperset(new):
            attributes.append(piece)
    return ParsedQuestion(language_of(text), names, tuple(attributes), tuple(terms.values()))


def bonus(leads: frozenset[str], text: str, title: str) -> float:
    """The bonus LEAD if a text or its title has one of the terms `leads`, else 0."""
    return 0.0 if leads.isdisjoint(terms_of(text) | title_terms(title)) else LEAD
