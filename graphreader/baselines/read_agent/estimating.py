"""What making a gist memory can cost at most, before anything is asked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from graphreader import tokens
from graphreader.baselines.read_agent.pagination import Pagination
from graphreader.baselines.read_agent.words import words_in
from graphreader.deciding.episodes import GistTask, PauseTask
from graphreader.deciding.measuring import Measurer
from graphreader.documents import Document
from graphreader.sentences import line_spans

PAUSE_REPLY = 60
"""Tokens of a reply that chooses a pause."""

GIST_SHARE = 0.25
"""Tokens of a gist for each of its page's; the paper's gists have 0.03 to 0.16 (section 4.3)."""

TAG = 5
"""Tokens of a pause tag on a line of its own."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls and tokens of one phase."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        """Both together."""
        return Cost(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The largest number of pages, and what they cost: tokens out are estimated, not a bound.

    Pagination shows up to `max_words` to get on by `min_words`: all its prompts together may hold
    the text `max_words` / `min_words` times. Gisting holds it once (section 3.3).
    """

    pages: int = 0
    paginate: Cost = Cost()
    gist: Cost = Cost()

    def __add__(self, other: "MemoryEstimate") -> "MemoryEstimate":
        """Both together."""
        return MemoryEstimate(
            self.pages + other.pages, self.paginate + other.paginate, self.gist + other.gist
        )


def estimate(
    documents: Sequence[Document], pagination: Pagination, measurer: Measurer
) -> MemoryEstimate:
    """For all documents; what is kept of them is not looked for. Nothing is sent.

    Input tokens are 0 for whoever sends none. Raises WindowError where no prompt fits the window.
    """
    around = measurer.measure(PauseTask(("",))), measurer.measure(GistTask(""))
    parts = (_of(document.text, pagination, *around) for document in documents)
    return sum(parts, MemoryEstimate())


def _of(text: str, pagination: Pagination, pause: int, gist: int) -> MemoryEstimate:
    words, size = words_in(text), tokens.count(text)
    if not text.strip():
        return MemoryEstimate()
    asked = max(0, math.ceil((words - pagination.max_words) / pagination.min_words))
    pages = asked + 1
    shown = size + TAG * len(line_spans(text))
    times = min(asked * pagination.max_words / max(1, words), _overhead(pagination))
    return MemoryEstimate(
        pages,
        Cost(asked, asked * pause + math.ceil(times * shown) if pause else 0, asked * PAUSE_REPLY),
        Cost(pages, pages * gist + size if gist else 0, math.ceil(GIST_SHARE * size)),
    )


def _overhead(pagination: Pagination) -> float:
    return pagination.max_words / pagination.min_words
