"""How far a name leads on: how much of the question stands near it in what was noted.

"... directed by Del Lord, with Larry Fine": to who asks for the director, Del Lord is the lead.
"""

import re

from graphreader.deciding.offline.names import names_of
from graphreader.deciding.offline.notes import lines_of
from graphreader.deciding.offline.question import Need, Question
from graphreader.deciding.offline.words import is_stop_word, terms_of

HALFWAY = 8  # words between a name and one of the question, at which that counts half
ATTRIBUTE = 0.2  # what is left to "Italian" in "an Italian film": it tells of another thing
COMMON = 0.3  # ... to a word of the question that is no name

_NEXT_WORD = re.compile(r" ([a-z][a-z-]+)")


def lead(node: str, notebook: str, question: Question) -> float:
    """How much a node promises, from 0 to 1: a name by the notes, a word of the question itself."""
    terms = terms_of(node)
    if not terms or not question.weight:
        return 0.0
    if names_of(node) and not terms <= question.terms:
        return nearness(node, notebook, question)
    share = question.overlap(terms) / question.weight * len(terms & question.terms) / len(terms)
    named = any(terms <= terms_of(name) for name in question.names)
    return share if named else COMMON * share


def nearness(name: str, notebook: str, question: Question) -> float:
    """How much of the question stands near a name in the noted sentence that fits best, 0 to 1."""
    lines = (line for line in lines_of(notebook) if name in line)
    return max((_near(name, line, question) for line in lines), default=0.0)


def _near(name: str, line: str, question: Question) -> float:
    if not question.weight:
        return 0.0
    before, _, after = line.partition(name)
    sides = (
        [terms_of(word) for word in reversed(before.split())],
        [terms_of(word) for word in after.split()],
    )
    near = sum(need.weight * _nearest(need, sides) for need in question.needs) / question.weight
    following = _NEXT_WORD.match(after)
    is_attribute = " " not in name and following and not is_stop_word(following[1])
    return ATTRIBUTE * near if is_attribute else near


def _nearest(need: Need, sides: tuple[list[frozenset[str]], ...]) -> float:
    """The best support for a need on either side, less the farther it stands from the name."""
    return max(
        (
            need.support(terms) / (1 + distance / HALFWAY)
            for side in sides
            for distance, terms in enumerate(side)
        ),
        default=0.0,
    )
