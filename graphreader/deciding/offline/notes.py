"""The notebook of a reader without a model: sentences that overlap with what is asked."""

from collections.abc import Iterable

from graphreader.deciding.offline.names import names_of
from graphreader.deciding.offline.question import Question
from graphreader.deciding.offline.words import terms_of

LONGEST_NOTEBOOK = 2_000  # characters, some 500 tokens
_MARK = "- "


def lines_of(notebook: str) -> list[str]:
    """The noted sentences."""
    return [line.removeprefix(_MARK) for line in notebook.split("\n") if line.strip()]


def noted(notebook: str, sentences: Iterable[str], question: Question) -> str:
    """The notebook with the sentences added, the least useful lines left out where it is full."""
    lines = list(dict.fromkeys([*lines_of(notebook), *(" ".join(s.split()) for s in sentences)]))
    lines = [a for a in lines if not any(a != b and a in b for b in lines)]
    best = sorted(lines, key=lambda line: -question.overlap(terms_of(line)))
    kept: set[str] = set()
    left = LONGEST_NOTEBOOK
    for line in best:
        if len(line) + 3 <= left:
            kept.add(line)
            left -= len(line) + 3
    return "\n".join(_MARK + line for line in lines if line in kept)


def bridges_of(notebook: str, question: Question) -> frozenset[str]:
    """Terms of the names that the notes add to the question: where a second step may lead."""
    lines = (line for line in lines_of(notebook) if question.overlap(terms_of(line)) > 0)
    names = (terms_of(name) for line in lines for name in names_of(line))
    return frozenset(term for terms in names for term in terms) - question.terms


def covers(notebook: str, question: Question) -> bool:
    """Whether one noted sentence holds all that is asked about a name, and the notes all names.

    Words that stand in different sentences prove little, so reading goes on.
    """
    names = [need for need in question.needs if need.in_name]
    asked = [need for need in question.needs if not need.in_name and need.is_required]
    everything = terms_of(notebook)
    lines = [terms_of(line) for line in lines_of(notebook)]
    return (
        bool(asked)
        and all(need.support(everything) for need in names)
        and any(
            all(need.support(line) for need in asked)
            and (not names or any(need.support(line) for need in names))
            for line in lines
        )
    )
