"""One short notebook out of long or many ones, without a model: its best sentences, whole."""

import re
from collections.abc import Sequence

from graphreader import tokens
from graphreader.deciding.decisions import Condensed
from graphreader.deciding.offline.notes import lines_of
from graphreader.deciding.offline.question import understand
from graphreader.deciding.offline.words import terms_of
from graphreader.deciding.tasks import NOTEBOOK_TOKENS, CondenseTask
from graphreader.sentences import language_of, sentence_spans

PLANNED = 0.1  # of a word of the question counts one that only the plan has
NOTHING = {"en": "Nothing was noted.", "zh": "没有记录。"}

_VOTES = {"en": " ({0} notebooks)", "zh": "（{0}本笔记）"}
_VOTED = re.compile(r"\s*[(（](\d+)(?: notebooks\)|本笔记）)")


def condense(task: CondenseTask) -> Condensed:
    """The sentences that share most with question and plan, each once, in their first order.

    A sentence of several notebooks says of how many.
    """
    votes = _votes(task.notebooks)
    question, planned = understand(task.question), terms_of(task.plan)

    def use(sentence: str) -> float:
        terms = terms_of(sentence)
        return question.overlap(terms) + PLANNED * len(terms & planned)

    lines = {one: _line(one, number) for one, number in votes.items()}
    kept: set[str] = set()
    left = NOTEBOOK_TOKENS
    for sentence in sorted(votes, key=lambda one: -use(one)):
        length = tokens.count(lines[sentence]) + 1  # the line's end
        if length <= left:
            kept.add(sentence)
            left -= length
    if votes and not kept:
        return Condensed(notebook=_beginning(max(votes, key=use)))
    notebook = "\n".join(line for sentence, line in lines.items() if sentence in kept)
    return Condensed(notebook=notebook or NOTHING[language_of(task.question)])


def _votes(notebooks: Sequence[str]) -> dict[str, int]:
    """The sentences, with the number of notebooks that hold them."""
    votes: dict[str, int] = {}
    for notebook in notebooks:
        own: dict[str, int] = {}
        for line in lines_of(notebook):
            # A notebook that was joined before counts for all that it was joined of.
            voted = _VOTED.search(line)
            for sentence in _sentences(_VOTED.sub("", line)):
                own[sentence] = max(int(voted[1]) if voted else 1, own.get(sentence, 0))
        for sentence, number in own.items():
            votes[sentence] = votes.get(sentence, 0) + number
    return votes


def _sentences(line: str) -> list[str]:
    parts = (" ".join(line[start:end].split()) for start, end in sentence_spans(line))
    return [part for part in parts if part]


def _line(sentence: str, votes: int) -> str:
    return f"- {sentence}{_VOTES[language_of(sentence)].format(votes) if votes > 1 else ''}"


def _beginning(sentence: str) -> str:
    """As much of a sentence as a notebook holds, where not one of them fits whole."""
    while tokens.count(f"- {sentence} …") > NOTEBOOK_TOKENS:
        sentence = sentence[: len(sentence) * 9 // 10]
    return f"- {sentence} …"
