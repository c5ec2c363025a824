"""Which chunk is worth reading: by its title, the words that stand in it, and how it was come to.

Reading is what costs. So of what holds no more than a word or two of the question nothing is read,
unless its title or a lead says that it is meant.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphreader.deciding.exploring import FactGroup, FactsTask
from graphreader.deciding.offline.leads import nearness
from graphreader.deciding.offline.question import Question, understand
from graphreader.deciding.offline.words import terms_of, title_terms

# Shares of the question's weight that a chunk must be worth to be read.
LEAST_ASKED = 0.2  # where a path sets out from a name of the question
LEAST_LED_TO = 0.35  # where the notes led to the node
LEAST_CHUNK = 0.4

# Where a path sets out from another word of a question that has names, one of these must hold.
BESIDE = 0.4  # of the question's weight stands in the chunk beside the word itself
NEARLY_ALL = 0.7  # ... with the word

IN_A_FACT = 0.3  # what it counts besides that one fact holds what the chunk holds
ASKED_TITLE = 0.4  # what a document is worth that is called as the question says
LED_TO_TITLE = 0.3  # ... and one that is called like the name that the notes led to
LED_TO = 0.5  # what a chunk gains by the lead to its node
NAMELESS = 0.8  # what counts of one that neither holds a name of the question nor was led to

_QUALIFIER = re.compile(r" \([^)]*\)(?=, chunk \d+$)")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a path is: what the node is called, how far the notes led to it, how it was come to."""

    question: Question
    own: frozenset[str]
    led: float
    is_first: bool

    @classmethod
    def of(cls, task: FactsTask) -> "_Place":
        question, own = understand(task.question), terms_of(task.node)
        led = 0.0 if own <= question.terms else nearness(task.node, task.notebook, question)
        return cls(question, own, led, not task.actions)

    @property
    def is_asked_about(self) -> bool:
        """Whether the node is one of the question's names, or it has none to set out from."""
        return not self.question.names or self.is_named

    @property
    def is_named(self) -> bool:
        return any(self.own == terms_of(name) for name in self.question.names)


def worth_reading(task: FactsTask, groups: Sequence[FactGroup]) -> int | None:
    """The place of the unread chunk that is worth most, if enough; only what is shown counts."""
    place = _Place.of(task)
    unread = {n: group for n, group in enumerate(groups) if not group.read}
    scores = {n: _worth(group, place) for n, group in unread.items()}
    sets_out = place.is_first and place.is_named
    # Chinese has no word ends to go by, so the shares of single pairs of characters must do.
    is_easy = sets_out or place.question.language == "zh"
    least = LEAST_ASKED if is_easy else LEAST_LED_TO if place.led else LEAST_CHUNK
    if sets_out and len(scores) == 1:
        # All that is told of who is asked about: it may lead on, whatever it is.
        scores = {n: max(score, least) for n, score in scores.items()}
    # What the best one says leads on better than the second best.
    best = max(scores, key=lambda n: scores[n], default=None)
    return best if best is not None and scores[best] >= least else None


def _worth(group: FactGroup, place: _Place) -> float:
    """The share of the question's weight that the chunk holds, and what else speaks for it."""
    question, own, led = place.question, place.own, place.led
    if not question.weight:
        return 0.0
    facts = [terms_of(fact) for fact in group.facts]
    title = title_terms(_QUALIFIER.sub("", group.label))
    held = frozenset[str]().union(*facts, title, terms_of(" ".join(group.holds)))
    is_asked = bool(title) and title <= question.terms and not _is_part_of_a_name(title, question)
    is_led_to = bool(led) and own <= title
    is_all_asked = question.terms <= own  # some questions are all name: that must do
    if not (question.overlap(held, own) or is_all_asked or is_asked or is_led_to):
        return 0.0
    if not (is_asked or led or _is_told_of(held, place)):
        return 0.0
    whole = question.overlap(held) / question.weight
    in_a_fact = max((question.overlap(terms | title, own) for terms in facts), default=0.0)
    follows = led * LED_TO * (1 + whole) + (LED_TO_TITLE + led) * is_led_to
    if not led and not any(n.support(held) for n in question.needs if n.in_name):
        whole *= NAMELESS if question.names else 1
    return whole + IN_A_FACT * in_a_fact / question.weight + ASKED_TITLE * is_asked + follows


def _is_told_of(held: frozenset[str], place: _Place) -> bool:
    """Whether a chunk to which neither its title nor a lead points may be about what is asked.

    Where a path went on by a mere word of the question, it is not; where it set out from one, most
    of the question must stand there. In Chinese, where few names show, that cannot be told.
    """
    question, weight = place.question, place.question.weight
    if question.language == "zh" or (place.is_first and place.is_asked_about):
        return True
    beside = question.overlap(held - place.own) / weight
    whole = question.overlap(held) / weight
    return place.is_first and (beside >= BESIDE or whole >= NEARLY_ALL)


def _is_part_of_a_name(title: frozenset[str], question: Question) -> bool:
    return any(title < terms_of(name) for name in question.names)
