"""A question taken apart, and how much of it a text supports.

`ParsedQuestion.relevance` is the one score of the offline decider: of nodes, facts, chunks,
sentences, quotes and pages.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Literal

from graphreader.agent.decisions import RationalPlan
from graphreader.agent.follow_up import exchange_texts
from graphreader.llm.protocols import folded
from graphreader.text.names import dates_of, names_of, numbers_of, titles_of
from graphreader.text.sentences import language_of
from graphreader.text.words import (
    chinese_pieces,
    fold,
    han_pairs,
    is_answer_kind,
    is_common,
    is_question_word,
    is_stop_word,
    synonyms_of,
    term_of,
    terms_of,
    title_terms,
    words_of,
)

AnswerKind = Literal["time", "number", "name", "other"]
# The weight of a term; that of a name or a rare word is 1.
COMMON = 0.5  # of a common word
KIND = 0.25  # of "country" in "which country": texts name one and leave the word out
# How well a term is supported; the term itself supports it by 1.
SYNONYM = 0.7  # by a near synonym
TITLE = 0.6  # by the title alone
LEAST_LEAD = 0.2  # share of the question near a name that is followed
LEAD = 0.25  # added to the relevance of a text with a name that leads on
WINDOWS = (20, 80)  # characters around a name that say what leads to it
_KIND_PATTERNS: dict[AnswerKind, re.Pattern[str]] = {
    "time": re.compile(
        r"(?i)^when\b|(what|which) (year|date|day|month|century|decade)"
        r"|何时|什么时候|哪一?年|几年|时期|年代"
    ),
    "number": re.compile(
        r"(?i)how (many|much|long|old|far|tall|large)|what (percent|number)"
        r"|多少|几[个次名位]|多[大长高]"
    ),
    "name": re.compile(r"(?i)\bwho|\bwhere\b|\bwhich\b|what (is|was) the (name|capital)|谁|哪"),
}
_KIND_FINDERS: dict[AnswerKind, Callable[[str], list[str]]] = {
    "time": dates_of,
    "number": numbers_of,
    "name": names_of,
}
_NEXT_WORD = re.compile(r" ([a-z][a-z-]+)")
_KIND_WORDS = {
    "en": {"time": "a date or a year", "number": "a number", "name": "a name"},
    "zh": {"time": "日期或年份", "number": "数字", "name": "名称"},
}


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
        if self.term in terms:
            return 1.0
        by_synonym = 0.0 if self.synonyms.isdisjoint(terms) else SYNONYM
        return max(by_synonym, TITLE) if self.term in title else by_synonym


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A parsed question; `attributes` are the words for the requested property of the names."""

    language: Literal["en", "zh"]
    names: tuple[str, ...]
    attributes: tuple[str, ...]
    answer_kind: AnswerKind
    terms: tuple[QuestionTerm, ...]

    @property
    def vocabulary(self) -> frozenset[str]:
        """The terms alone."""
        return frozenset(one.term for one in self.terms)

    @property
    def required_attributes(self) -> tuple[QuestionTerm, ...]:
        """The terms that are asked about the names."""
        return tuple(one for one in self.terms if one.is_required and not one.in_name)

    def supports(self, text: str, title: str = "") -> tuple[float, ...]:
        """How well a text under a title supports each term, from 0 to 1."""
        terms, titles = terms_of(text), title_terms(title)
        return tuple(one.support(terms, titles) for one in self.terms)

    def share(self, supports: Iterable[float]) -> float:
        """The share of the question's weight that terms supported so well have, from 0 to 1."""
        weight = sum(one.weight for one in self.terms)
        pairs = zip(self.terms, supports, strict=True)
        return sum(one.weight * support for one, support in pairs) / weight if weight else 0.0

    def relevance(self, text: str, title: str = "", leads: frozenset[str] = frozenset()) -> float:
        """The share of the question that a text under a title supports; more for a lead in it."""
        lead = 0.0 if leads.isdisjoint(terms_of(text) | title_terms(title)) else LEAD
        return self.share(self.supports(text, title)) + lead

    def lead(self, name: str, texts: Iterable[str]) -> float:
        """How much of the question stands near a name, at best, the nearest counting most.

        A word that describes another thing ("an Italian film") leads nowhere.
        """
        return max((self._lead_in(name, text) for text in texts if name in text), default=0.0)

    def _lead_in(self, name: str, text: str) -> float:
        before, _, after = text.partition(name)
        next_word = _NEXT_WORD.match(after)
        if " " not in name and next_word and not is_stop_word(next_word[1]):
            return 0.0
        near = (f"{before[-size:]} | {after[:size]}" for size in WINDOWS)
        return fmean([self.relevance(text), *map(self.relevance, near)])

    def has_answer_kind(self, text: str) -> bool:
        """Whether `text` has a value of the requested kind that the question itself lacks."""
        find = _KIND_FINDERS.get(self.answer_kind)
        if find is None or (self.answer_kind == "name" and self.language == "zh"):
            return not terms_of(text) <= self.vocabulary
        return any(not terms_of(one) <= self.vocabulary for one in find(text))

    def new_names(self, texts: Iterable[str]) -> list[str]:
        """Names in `texts` that the question lacks: they can lead to other texts."""
        names = dict.fromkeys(name for text in texts for name in names_of(folded(text)))
        return [name for name in names if not terms_of(name) <= self.vocabulary]

    def new_name_terms(self, texts: Iterable[str]) -> frozenset[str]:
        """The terms of those names that the question lacks."""
        names = self.new_names(texts)
        return frozenset(term for name in names for term in terms_of(name)) - self.vocabulary


@lru_cache(maxsize=256)
def parse_question(question: str) -> ParsedQuestion:
    """Take a question apart. One that asks for nothing has no terms."""
    text = " ".join(question.split())
    return (_parse_chinese if language_of(text) == "zh" else _parse_english)(text)


def plan(question: str, earlier: str = "") -> RationalPlan:
    """The rational plan. Its needs are the names and the attributes (in Chinese one by one).

    The names of the exchange that a question follows up are needs as well.
    """
    parsed = parse_question(question)
    is_chinese = parsed.language == "zh"
    attributes = parsed.attributes if is_chinese else (" ".join(parsed.attributes),)
    context = (name for text in exchange_texts(earlier) for name in names_of(text))
    needs = dict.fromkeys([*parsed.names, *attributes, *context])
    write = _chinese_plan if is_chinese else _english_plan
    return RationalPlan(plan=write(parsed, question.strip()), needs=[one for one in needs if one])


def _english_plan(parsed: ParsedQuestion, question: str) -> str:
    if not parsed.terms:
        return f"Find sentences that answer: {question}"
    steps = [f"Find what the texts say about {', '.join(parsed.names)}."] if parsed.names else []
    if parsed.attributes:
        steps.append(f"Look there for these words or near ones: {', '.join(parsed.attributes)}.")
    if kind := _KIND_WORDS["en"].get(parsed.answer_kind):
        steps.append(f"The answer should hold {kind}.")
    return " ".join([*steps, "Where a sentence leads to another name, follow it."])


def _chinese_plan(parsed: ParsedQuestion, question: str) -> str:
    words = "、".join((*parsed.names, *parsed.attributes))
    kind = _KIND_WORDS["zh"].get(parsed.answer_kind)
    steps = [f"在文中查找：{words or question}。"]
    steps += [f"答案应包含{kind}。"] if kind else []
    return "".join([*steps, "若句子提到其他名称，则继续查找该名称。"])


def _parse_english(text: str) -> ParsedQuestion:
    names, name_terms = _names_in(text)
    terms: dict[str, QuestionTerm] = {}
    attributes: list[str] = []
    for word in words_of(text):
        if is_stop_word(word):
            continue
        term = term_of(fold(word))
        if term in terms or (is_question_word(term) and term not in name_terms):
            continue
        terms[term] = _question_term(term, word, name_terms)
        if term not in name_terms:
            attributes.append(word)
    for pair in han_pairs(text):
        terms.setdefault(pair, _question_term(pair, pair, name_terms))
    return ParsedQuestion("en", names, tuple(attributes), _answer_kind(text), tuple(terms.values()))


def _parse_chinese(text: str) -> ParsedQuestion:
    names, name_terms = _names_in(text)
    pieces = chinese_pieces(text)
    terms: dict[str, QuestionTerm] = {}
    for piece in (*names, *pieces, *words_of(text)):
        new = [term for term in terms_of(piece) if term not in terms]
        for term in sorted(new):
            # A piece weighs the same however many pairs of characters it has.
            synonyms = synonyms_of(term)
            terms[term] = QuestionTerm(
                term, term, 1 / len(new), term in name_terms, is_required=True, synonyms=synonyms
            )
    attributes = tuple(piece for piece in pieces if not terms_of(piece) <= name_terms)
    return ParsedQuestion("zh", names, attributes, _answer_kind(text), tuple(terms.values()))


def _names_in(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names, without those inside of a title ("Return to Nim's Island"), and their terms."""
    titles = titles_of(text)
    inside = {name for title in titles for name in names_of(title) if name != title}
    names = tuple(name for name in names_of(text) if name not in inside)
    return names, frozenset(term for name in names for term in terms_of(name))


def _question_term(term: str, word: str, name_terms: frozenset[str]) -> QuestionTerm:
    in_name = term in name_terms
    is_kind = not in_name and is_answer_kind(term)
    weight = KIND if is_kind else COMMON if is_common(term) else 1.0
    synonyms = frozenset() if in_name else synonyms_of(term)
    return QuestionTerm(term, word, weight, in_name, not is_kind, synonyms)


def _answer_kind(text: str) -> AnswerKind:
    matching = (kind for kind, pattern in _KIND_PATTERNS.items() if pattern.search(text))
    return next(matching, "other")
