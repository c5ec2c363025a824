"""A question taken apart: its terms with weights, its names, the kind of answer it asks for."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from graphreader.agent.decisions import RationalPlan
from graphreader.agent.follow_up import exchange_texts
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
    words_of,
)

AnswerKind = Literal["time", "number", "name", "other"]
NAME_WEIGHT = 2.0
RARE_WEIGHT = 2.0
COMMON_WEIGHT = 1.0
KIND_WEIGHT = 0.5  # "country" in "which country": texts name one and leave the word out
SYNONYM_SUPPORT = 0.7  # how well a near synonym supports a term
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
_KIND_WORDS = {
    "en": {"time": "a date or a year", "number": "a number", "name": "a name"},
    "zh": {"time": "日期或年份", "number": "数字", "name": "名称"},
}
_HEADED = re.compile(r"(?i)(?:what|who) (?:is|are|was|were) the\b")


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """One term that an answer must be supported by, and the question's word for it.

    `is_anchor`: it says what the question is about, a name or, without one, a rare word.
    `is_required`: the question can hardly be answered without it.
    """

    term: str
    word: str
    weight: float
    in_name: bool
    is_anchor: bool
    is_required: bool
    synonyms: frozenset[str] = frozenset()

    def support(self, terms: frozenset[str]) -> float:
        """How well `terms` support it, from 0 to 1."""
        if self.term in terms:
            return 1.0
        return SYNONYM_SUPPORT if not self.synonyms.isdisjoint(terms) else 0.0


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A parsed question; `attributes` are the words for the requested property of the names.

    `is_headed`: it begins as in "What is the weather ...?".
    """

    language: Literal["en", "zh"]
    names: tuple[str, ...]
    attributes: tuple[str, ...]
    answer_kind: AnswerKind
    terms: tuple[QuestionTerm, ...]
    is_headed: bool = False

    @property
    def weight(self) -> float:
        """The weight of all terms together."""
        return sum(one.weight for one in self.terms)

    @property
    def vocabulary(self) -> frozenset[str]:
        """The terms alone."""
        return frozenset(one.term for one in self.terms)

    @property
    def only_attribute(self) -> str:
        """The one term that is asked about the names ("When did A visit B?"), or ""."""
        return self._required[0] if self.names and len(self._required) == 1 else ""

    @property
    def head(self) -> str:
        """The attribute asked for, "weather" in "What is the weather ...?", or ""."""
        return self._required[0] if self.is_headed and self._required else ""

    @property
    def _required(self) -> list[str]:
        return [one.term for one in self.terms if one.is_required and not one.in_name]

    def overlap(self, terms: frozenset[str], without: frozenset[str] = frozenset()) -> float:
        """The weight of the question's terms that `terms` support; terms `without` do not count."""
        return sum(one.weight * one.support(terms) for one in self.terms if one.term not in without)

    def has_answer_kind(self, text: str) -> bool:
        """Whether `text` has a value of the requested kind that the question itself lacks."""
        find = _KIND_FINDERS.get(self.answer_kind)
        if find is None or (self.answer_kind == "name" and self.language == "zh"):
            return not terms_of(text) <= self.vocabulary
        return any(not terms_of(one) <= self.vocabulary for one in find(text))

    def new_name_terms(self, texts: Iterable[str]) -> frozenset[str]:
        """Terms of names in `texts` that the question lacks: they can lead to other texts."""
        names = (terms_of(name) for text in texts for name in names_of(text))
        return frozenset(term for terms in names for term in terms) - self.vocabulary


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
    kind, is_headed = _answer_kind(text), bool(_HEADED.match(text))
    return ParsedQuestion("en", names, tuple(attributes), kind, tuple(terms.values()), is_headed)


def _parse_chinese(text: str) -> ParsedQuestion:
    names, name_terms = _names_in(text)
    pieces = chinese_pieces(text)
    terms: dict[str, QuestionTerm] = {}
    for piece in (*names, *pieces, *words_of(text)):
        new = [term for term in terms_of(piece) if term not in terms]
        for term in sorted(new):
            # A piece weighs the same however many pairs of characters it has.
            in_name = term in name_terms
            weight = (NAME_WEIGHT if in_name else RARE_WEIGHT) / len(new)
            terms[term] = QuestionTerm(term, term, weight, in_name, True, True, synonyms_of(term))
    attributes = tuple(piece for piece in pieces if not terms_of(piece) <= name_terms)
    return ParsedQuestion("zh", names, attributes, _answer_kind(text), tuple(terms.values()))


def _names_in(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names, without those inside of a title ("Return to Nim's Island"), and their terms."""
    titles = titles_of(text)
    inside = {name for title in titles for name in names_of(title) if name != title}
    names = tuple(name for name in names_of(text) if name not in inside)
    return names, frozenset(term for name in names for term in terms_of(name))


def _question_term(term: str, word: str, name_terms: frozenset[str]) -> QuestionTerm:
    if term in name_terms:
        weight = COMMON_WEIGHT if is_common(term) else NAME_WEIGHT
        return QuestionTerm(term, word, weight, True, True, True)
    is_kind = is_answer_kind(term)
    weight = KIND_WEIGHT if is_kind else COMMON_WEIGHT if is_common(term) else RARE_WEIGHT
    is_anchor = not name_terms and weight == RARE_WEIGHT
    return QuestionTerm(term, word, weight, False, is_anchor, not is_kind, synonyms_of(term))


def _answer_kind(text: str) -> AnswerKind:
    matching = (kind for kind, pattern in _KIND_PATTERNS.items() if pattern.search(text))
    return next(matching, "other")
