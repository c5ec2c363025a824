"""What a question needs: its words with weights, its names, and the kind of answer it asks for."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from graphreader.text.names import dates_of, names_of, numbers_of, titles_of
from graphreader.text.sentences import language_of
from graphreader.text.words import (
    CHINESE_ASKING,
    CHINESE_PARTICLES,
    HAN_RUN,
    alike,
    fold,
    han_pairs,
    is_common,
    is_kind,
    is_scaffolding,
    is_stop_word,
    term_of,
    terms_of,
    words_of,
)

Kind = Literal["time", "number", "name", "other"]
NAME_WEIGHT = 2.0
RARE_WEIGHT = 2.0
COMMON_WEIGHT = 1.0
KIND_WEIGHT = 0.5  # "country" in "which country": texts name one and leave the word out
ALIKE_SUPPORT = 0.7  # a near synonym supports a word by so much

_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "time",
        re.compile(
            r"(?i)^when\b|(what|which) (year|date|day|month|century|decade)"
            r"|何时|什么时候|哪一?年|几年|时期|年代"
        ),
    ),
    (
        "number",
        re.compile(
            r"(?i)how (many|much|long|old|far|tall|large)|what (percent|number)"
            r"|多少|几[个次名位]|多[大长高]"
        ),
    ),
    (
        "name",
        re.compile(r"(?i)\bwho|\bwhere\b|\bwhich\b|what (is|was) the (name|capital)|谁|哪"),
    ),
)

_HEADED = re.compile(r"(?i)(?:what|who) (?:is|are|was|were) the\b")
_FINDERS = {"time": dates_of, "number": numbers_of, "name": names_of}
_ASKING = re.compile("|".join(CHINESE_ASKING))
_PARTICLES = re.compile(f"[{''.join(sorted(CHINESE_PARTICLES))}]")


@dataclass(frozen=True, slots=True)
class Need:
    """One term that an answer must be supported by, and the question's word for it.

    `is_anchor`: it says what the question is about, a name or, where there is none, a rare word.
    `is_required`: the question can hardly be answered without it.
    `alike`: terms that may stand for it.
    """

    term: str
    word: str
    weight: float
    in_name: bool
    is_anchor: bool
    is_required: bool
    alike: frozenset[str] = frozenset()

    def support(self, terms: frozenset[str]) -> float:
        """How well `terms` support it, from 0 to 1."""
        if self.term in terms:
            return 1.0
        return ALIKE_SUPPORT if not self.alike.isdisjoint(terms) else 0.0


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart; `asked` are the words for what is asked about the names."""

    language: Literal["en", "zh"]
    names: tuple[str, ...]
    asked: tuple[str, ...]
    kind: Kind
    needs: tuple[Need, ...]
    is_headed: bool = False

    @property
    def weight(self) -> float:
        """The weight of all needs together."""
        return sum(need.weight for need in self.needs)

    @property
    def terms(self) -> frozenset[str]:
        """The terms of all needs."""
        return frozenset(need.term for need in self.needs)

    @property
    def only_step(self) -> str:
        """The one term that is asked about the names ("When did A visit B?"), or nothing.

        Then a sentence without it is no part of the answer, whichever names it holds.
        """
        return self._asked[0] if self.names and len(self._asked) == 1 else ""

    @property
    def head(self) -> str:
        """The attribute asked for, "weather" in "What is the weather ...?", or nothing."""
        return self._asked[0] if self.is_headed and self._asked else ""

    @property
    def _asked(self) -> list[str]:
        return [need.term for need in self.needs if need.is_required and not need.in_name]

    def overlap(self, terms: frozenset[str], without: frozenset[str] = frozenset()) -> float:
        """The weight of the needs that `terms` support, leaving the terms `without` out."""
        return sum(
            need.weight * need.support(terms) for need in self.needs if need.term not in without
        )

    def fits_kind(self, text: str) -> bool:
        """Whether `text` holds something of the kind asked for that the question itself lacks."""
        find = _FINDERS.get(self.kind)
        if find is None or (self.kind == "name" and self.language == "zh"):
            return not terms_of(text) <= self.terms
        return any(not terms_of(found) <= self.terms for found in find(text))


@lru_cache(maxsize=256)
def understand(question: str) -> Question:
    """Take a question apart. One that asks for nothing at all has no needs."""
    text = " ".join(question.split())
    return (_chinese if language_of(text) == "zh" else _english)(text)


def _english(text: str) -> Question:
    names = _names_in(text)
    in_names = frozenset(term for name in names for term in terms_of(name))
    needs: dict[str, Need] = {}
    asked: list[str] = []
    for word in words_of(text):
        if is_stop_word(word):
            continue
        term = term_of(fold(word))
        if term in needs or (is_scaffolding(term) and term not in in_names):
            continue
        needs[term] = _need(term, word, in_names)
        if term not in in_names:
            asked.append(word)
    for pair in han_pairs(text):
        needs.setdefault(pair, _need(pair, pair, in_names))
    headed = bool(_HEADED.match(text))
    return Question("en", names, tuple(asked), _kind(text), tuple(needs.values()), headed)


def _chinese(text: str) -> Question:
    names = _names_in(text)
    left = _ASKING.sub(" ", text)
    pieces = [p for run in HAN_RUN.findall(left) for p in _PARTICLES.split(run) if len(p) > 1]
    in_names = frozenset(term for name in names for term in terms_of(name))
    needs: dict[str, Need] = {}
    for piece in (*names, *pieces, *words_of(left)):
        new = [term for term in terms_of(piece) if term not in needs]
        for term in sorted(new):
            # A piece weighs the same however many pairs of characters it has.
            weight = (NAME_WEIGHT if term in in_names else RARE_WEIGHT) / len(new)
            needs[term] = Need(term, term, weight, term in in_names, True, True, alike(term))
    asked = tuple(p for p in pieces if not terms_of(p) <= in_names)
    return Question("zh", names, asked, _kind(text), tuple(needs.values()))


def _names_in(text: str) -> tuple[str, ...]:
    """Names without what stands in a title besides ("Return to Nim's Island")."""
    titles = titles_of(text)
    inside = {name for title in titles for name in names_of(title) if name != title}
    return tuple(name for name in names_of(text) if name not in inside)


def _need(term: str, word: str, in_names: frozenset[str]) -> Need:
    if term in in_names:
        weight = COMMON_WEIGHT if is_common(term) else NAME_WEIGHT
        return Need(term, word, weight, True, True, True)
    weight = KIND_WEIGHT if is_kind(term) else COMMON_WEIGHT if is_common(term) else RARE_WEIGHT
    anchor = not in_names and weight == RARE_WEIGHT
    return Need(term, word, weight, False, anchor, not is_kind(term), alike(term))


def _kind(text: str) -> Kind:
    for kind, pattern in _KINDS:
        if pattern.search(text):
            return kind
    return "other"
