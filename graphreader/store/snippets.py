"""The facts by which a search shows a long passage: they answer the query, each said once.

A word that stands in every passage found, often the name in the query, tells them apart as little
as a common word, so the other words decide, and the place that is nearest by vector.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from graphreader.documents import AtomicFact
from graphreader.text.names import names_of
from graphreader.text.words import terms_of

_NEAR = 0.3  # the weight of the nearest place; a word of half of the passages has about 0.8
_EXPLAINED = 2  # best facts that get the facts before and after them
_SHORT = 6  # terms of a fact that says little alone
_NOTHING = 1  # terms of a fact, besides the words of every passage, that say nothing
_ALIKE = 0.8  # share of common terms of two facts that say one thing
_PRONOUN = re.compile(
    r"[\"“']*(?:(?:he|she|it|they|his|her|its|their|this|that|these|those)\b|[他她它这那此])",
    re.IGNORECASE,
)


def term_weights(query: frozenset[str], passages: Sequence[Collection[str]]) -> dict[str, float]:
    """Return the weights of a query's terms by the share of the passages found that have them.

    A term of every passage has a small weight, unless there is only one.
    """
    frequency = Counter(term for terms in passages for term in query if term in terms)
    number = len(passages)
    weights = {term: math.log((1 + number) / frequency[term]) for term in frequency}
    return {term: 0.0 if frequency[term] == number > 1 else own for term, own in weights.items()}


def best_facts(
    facts: Iterable[AtomicFact],
    weights: Mapping[str, float],
    in_passage: Collection[int],
    is_near: bool,
) -> list[AtomicFact]:
    """Return the facts of a chunk that answer a query, best first.

    `in_passage` are the indexes of the facts of its best passage, which `is_near` by its vector.
    A best fact that is short or begins with a pronoun is followed by the facts before and after it.
    """
    by_index = {fact.index: fact for fact in facts}
    terms = {index: terms_of(fact.searched) for index, fact in by_index.items()}

    def score(index: int) -> float:
        own = sum(weight for term, weight in weights.items() if term in terms[index])
        return own + _NEAR * (is_near and index in in_passage)

    scores = {index: score(index) for index in by_index}
    matching = [n for n in by_index if n in in_passage or not terms[n].isdisjoint(weights)]
    ranked = sorted(matching, key=lambda n: (-scores[n], -min(len(terms[n]), 2 * _SHORT), n))
    if any(scores.values()):
        ranked = [n for n in ranked if scores[n] or len(terms[n].difference(weights)) > _NOTHING]
    order: list[int] = []
    for place, index in enumerate(ranked):
        order.append(index)
        text = by_index[index].text
        if place < _EXPLAINED and (len(terms_of(text)) < _SHORT or _PRONOUN.match(text)):
            order += [index - 1, index + 1]
    return _said_once([by_index[n] for n in dict.fromkeys(order) if n in by_index])


def _said_once(facts: Sequence[AtomicFact]) -> list[AtomicFact]:
    """Leave out facts that another one says too: of two the longer, at the better place."""
    kept: list[AtomicFact] = []
    for fact in facts:
        place = next((n for n, other in enumerate(kept) if _says(fact, other)), None)
        if place is None:
            kept.append(fact)
        elif len(fact.text) > len(kept[place].text):
            kept[place] = fact
    return kept


def _says(fact: AtomicFact, other: AtomicFact) -> bool:
    """Whether two facts say one thing: one stands in the other, or nearly all words are common.

    Facts that differ in a number or a name say two things.
    """
    shorter, longer = sorted((one.text.rstrip(".。").casefold() for one in (fact, other)), key=len)
    if shorter in longer:
        return True
    one, two = terms_of(fact.text), terms_of(other.text)
    if len(one & two) < _ALIKE * len(one | two):
        return False
    names = terms_of(" ".join([*names_of(fact.text), *names_of(other.text)]))
    return not any(term in names or any(map(str.isdigit, term)) for term in one ^ two)
