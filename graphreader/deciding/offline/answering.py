"""The answer: the few quotes that together hold what is asked for, or that the texts do not tell.

Quotes count together only where something ties them: a word in the same quote (or its document's
title), or a name that leads from one quote to the next. So a question is not taken for answered
because each of its words stands somewhere.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from graphreader.deciding.decisions import Answer, Claim
from graphreader.deciding.offline.names import names_of
from graphreader.deciding.offline.question import Need, Question, understand
from graphreader.deciding.offline.words import fold, terms_of, title_terms
from graphreader.deciding.tasks import AnswerTask, Evidence, folded

MOST_CITED = 3
MOST_COMPARED = 14  # quotes whose combinations are looked at: 469 of them
ANOTHER = 0.6  # what one more quote must add in weight
LENGTH = 0.001  # cost of a character: of two quotes that hold the same, the shorter is closer
EVERYWHERE = 4  # quotes in which a name may stand and still lead from one to another
STEP = 0.7  # worth of a name that leads from one place to another
BY_TITLE = 0.9  # how well a document's title supports a word that the quote itself lacks
LED_TO = 0.9  # how well a quote supports a word if only a name from another quote leads to it
LOOSE = 0.6  # ... if nothing does
OF_KIND = 1.0  # worth of a date, number or new name where one is asked for
AS_GOOD = 0.85  # of the best quote's worth makes another quote worth citing beside it
HALF = 0.5  # share of each name
ENOUGH = 0.6  # share of the weight of what the question requires
ENOUGH_NAMES = 0.6  # share of the names' weight
ENOUGH_ASKED = 0.5  # share of the weight of what is asked about the names
NOT_TOLD = {"en": "The texts do not tell.", "zh": "文中没有说明。"}

_ANALYSES = {  # with an answer, without, what stands for nothing, what joins
    "en": (
        "By word overlap alone: quotes {0} hold the question's words; missing: {1}.",
        "By word overlap alone: no few quotes hold enough of the question; missing in all: {1}.",
        "none",
        ", ",
    ),
    "zh": (
        "仅凭词语重合：引文{0}含有问题的词语；缺少：{1}。",
        "仅凭词语重合：没有引文足以回答问题；全部引文都缺少：{1}。",
        "无",
        "、",
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class _Quote:
    """A quote with how well it supports each need, by itself."""

    number: int
    text: str
    label: str
    support: tuple[float, ...]
    shared: frozenset[str]  # the question's terms in the quote's own words
    holds: frozenset[str]  # ... or in its document's title
    names: frozenset[str]  # its names that the question lacks
    title: frozenset[str]
    anchored: bool  # whether it is about a name of the question, or a rare word if there is none
    of_kind: bool


def answer(task: AnswerTask) -> Answer:
    """The best combination of at most three quotes, if it supports enough of the question."""
    question = understand(task.question)
    quotes = [_quote(number, one, question) for number, one in enumerate(task.evidence, 1)]
    step = question.only_step
    useful = [quote for quote in quotes if any(quote.support) and (not step or step in quote.holds)]
    candidates = _promising(_without_names_everywhere(useful), question)
    best = _best_together(candidates, question)
    support = _support(best, question)
    answered = bool(best) and _is_enough(support, question)
    if len(best) == 1:
        best = _with_as_good(best[0], candidates, question)
    cited = sorted(best, key=lambda quote: -_weigh(quote.support, question)) if answered else []
    claims = [Claim(claim=folded(quote.text), citations=[quote.number]) for quote in cited]
    return Answer(
        analysis=_analysis(cited, quotes, question),
        answer=" ".join(one.claim for one in claims) or NOT_TOLD[question.language],
        answered=answered,
        claims=claims,
        contradictions=[],
    )


def _quote(number: int, one: Evidence, question: Question) -> _Quote:
    terms, title = terms_of(one.quote), title_terms(one.label)
    support = tuple(
        max(need.support(terms), BY_TITLE * need.support(title)) for need in question.needs
    )
    names = names_of(" ".join(one.quote.split()))
    return _Quote(
        number,
        one.quote,
        one.label,
        support,
        frozenset(n.term for n in question.needs if n.support(terms)),
        frozenset(n.term for n in question.needs if n.support(terms | title)),
        frozenset(fold(name) for name in names if not terms_of(name) <= question.terms),
        frozenset(
            fold(name) for name in names_of(one.label) if not terms_of(name) <= question.terms
        ),
        any(
            strength
            for strength, need in zip(support, question.needs, strict=True)
            if need.is_anchor
        ),
        question.fits_kind(one.quote),
    )


def _without_names_everywhere(quotes: Sequence[_Quote]) -> list[_Quote]:
    """The quotes without the names that stand in so many of them that they lead nowhere."""
    times = Counter(name for quote in quotes for name in quote.names)
    most = max(EVERYWHERE, len(quotes) // 5)
    return [
        replace(quote, names=frozenset(name for name in quote.names if times[name] <= most))
        for quote in quotes
    ]


def _weigh(support: Sequence[float], question: Question) -> float:
    return sum(s * need.weight for s, need in zip(support, question.needs, strict=True))


def _promising(quotes: Sequence[_Quote], question: Question) -> list[_Quote]:
    """The quotes that share most with the question, or that the best of those lead to."""
    weights = {quote: _weigh(quote.support, question) for quote in quotes}
    leading = sorted(quotes, key=lambda quote: -weights[quote])[:3]

    def promise(quote: _Quote) -> float:
        led_to = any(_leads(other, quote) for other in leading if other is not quote)
        return weights[quote] + led_to + OF_KIND / 2 * quote.of_kind

    return sorted(quotes, key=lambda quote: -promise(quote))[:MOST_COMPARED]


def _leads(one: _Quote, other: _Quote) -> bool:
    """Whether a name that the question lacks stands in both, or in one and the other's title."""
    return bool(one.names & (other.names | other.title) or one.title & other.names)


def _best_together(quotes: Sequence[_Quote], question: Question) -> tuple[_Quote, ...]:
    whole = [(quote,) for quote in quotes if all(quote.support)]
    sets = whole or (s for size in range(1, MOST_CITED + 1) for s in combinations(quotes, size))
    return max(sets, key=lambda chosen: _worth(chosen, question), default=())


def _with_as_good(best: _Quote, quotes: Sequence[_Quote], question: Question) -> tuple[_Quote, ...]:
    """A question may have several answers: other quotes that do nearly as well by themselves."""
    least = AS_GOOD * _worth((best,), question)
    others = (
        quote
        for quote in quotes
        if quote is not best
        and _worth((quote,), question) >= least
        and all(
            bool(own) >= bool(its) for own, its in zip(quote.support, best.support, strict=True)
        )
    )
    return (best, *others)[:MOST_CITED]


def _worth(chosen: tuple[_Quote, ...], question: Question) -> float:
    kind = OF_KIND * any(quote.of_kind for quote in chosen)
    steps = sum(a.label != b.label and _leads(a, b) for a, b in combinations(chosen, 2))
    cost = ANOTHER * (len(chosen) - 1) + LENGTH * sum(len(quote.text) for quote in chosen)
    return _weigh(_support(chosen, question), question) + kind + STEP * steps - cost


def _support(chosen: Sequence[_Quote], question: Question) -> tuple[float, ...]:
    """How well the quotes together support each need, from 0 to 1."""
    if not chosen:
        return (0.0,) * len(question.needs)
    ties = [_tie(quote, chosen) for quote in chosen]
    return tuple(
        max(quote.support[n] * tie for quote, tie in zip(chosen, ties, strict=True))
        for n in range(len(question.needs))
    )


def _tie(quote: _Quote, chosen: Sequence[_Quote]) -> float:
    """How much a quote counts beside the others, by what ties it to them."""
    others = [other for other in chosen if other is not quote]
    led_to = any(_leads(quote, other) for other in others)
    if quote.anchored and (not others or led_to or any(quote.shared & o.shared for o in others)):
        return 1.0
    return LED_TO if led_to else LOOSE


def _is_enough(support: Sequence[float], question: Question) -> bool:
    def share(of: Callable[[Need], bool]) -> float:
        needs = [(s, n.weight) for s, n in zip(support, question.needs, strict=True) if of(n)]
        weight = sum(weight for _, weight in needs)
        return sum(s * weight for s, weight in needs) / weight if weight else 1.0

    def of_name(name: str) -> Callable[[Need], bool]:
        terms = terms_of(name)
        return lambda need: need.term in terms

    held = {need.term for s, need in zip(support, question.needs, strict=True) if s}
    return (
        any(need.is_required for need in question.needs)
        and (not question.head or question.head in held)
        and share(lambda need: need.is_required) >= ENOUGH
        and share(lambda need: need.in_name) >= ENOUGH_NAMES
        and all(share(of_name(name)) >= HALF for name in question.names)
        and share(lambda need: need.is_required and not need.in_name) >= ENOUGH_ASKED
    )


def _analysis(cited: Sequence[_Quote], quotes: Sequence[_Quote], question: Question) -> str:
    """What the cited quotes hold of the question; without any, what stands in none of all."""
    missing = [
        need.word
        for n, need in enumerate(question.needs)
        if not any(quote.support[n] for quote in cited or quotes)
    ]
    found, not_found, none, comma = _ANALYSES[question.language]
    numbers = comma.join(str(quote.number) for quote in cited)
    return (found if cited else not_found).format(numbers, comma.join(missing) or none)
