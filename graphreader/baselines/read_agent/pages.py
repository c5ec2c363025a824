"""Episode pagination: a document is cut into pages where a reader would pause (section 3.1).

Up to `max_words` are shown, tagged at the ends of paragraphs, else sentences, from `min_words` on;
the decider chooses a tag. In Chinese and Japanese a character is a word.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import islice, pairwise

from graphreader import tokens
from graphreader.baselines.read_agent.tasks import PauseTask
from graphreader.baselines.session import TextPassage
from graphreader.documents import Document
from graphreader.ingestion.chunking import in_grapheme
from graphreader.text.sentences import line_spans, sentence_spans

LONGEST_WORD = 40  # characters
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_CJK_PUNCTUATION = "\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”…—"
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}{_CJK_PUNCTUATION}]{{1,{LONGEST_WORD}}}")


def words_in(text: str) -> int:
    """How many words `text` has."""
    return sum(1 for _ in _WORD.finditer(text))


@dataclass(frozen=True, slots=True)
class Pagination:
    """The fewest and most words of a page; a document's last page can have fewer."""

    min_words: int = 280
    max_words: int = 600


@dataclass(frozen=True, slots=True)
class Stretch:
    """The text shown from one pause on, text[start:end], and the points at which it can pause."""

    start: int
    end: int
    points: tuple[int, ...]

    def task(self, text: str) -> PauseTask:
        """The choice of one of the points."""
        parts = tuple(text[a:b] for a, b in pairwise((self.start, *self.points)))
        return PauseTask(parts, text[self.points[-1] : self.end])


class Pauses:
    """The points at which reading a text can pause, none of them inside of a character."""

    def __init__(self, text: str, pagination: Pagination) -> None:
        self._text = text
        self._pagination = pagination
        self._paragraphs = [start for start, _ in line_spans(text)]

    def after(self, start: int) -> Stretch:
        """The stretch from `start` on; its only point is its end where there is no choice."""
        most = self._pagination.max_words
        words = [word.start() for word in islice(_WORD.finditer(self._text, start), most + 1)]
        if len(words) <= most:
            return Stretch(start, len(self._text), (len(self._text),))
        end = next((at for at in words[:0:-1] if not in_grapheme(self._text, at)), words[-1])
        points = self._between(self._paragraphs, words, end)
        points = points or self._between(self._sentences(start, end), words, end)
        return Stretch(start, end, points or (end,))

    def _between(self, places: list[int], words: list[int], end: int) -> tuple[int, ...]:
        """The places up to the end that leave the page at least its fewest words."""
        least = words[self._pagination.min_words - 1] + 1
        return tuple(places[bisect_left(places, least) : bisect_right(places, end)])

    def _sentences(self, start: int, end: int) -> list[int]:
        """The starts of the sentences in the paragraph that goes beyond the end."""
        paragraph = self._paragraphs[max(0, bisect_right(self._paragraphs, end) - 1)]
        begin = max(start, paragraph)
        return [begin + at for at, _ in sentence_spans(self._text[begin:end])[1:]]


async def paginate(
    document: Document, pagination: Pagination, choose: Callable[[Stretch], Awaitable[int]]
) -> list[TextPassage]:
    """The pages of a document; `choose` chooses one of several points of a stretch."""
    text = document.text
    if not text.strip():
        return []
    pauses = Pauses(text, pagination)
    pages: list[TextPassage] = []
    start = 0
    while start < len(text):
        stretch = pauses.after(start)
        points = stretch.points
        end = points[0] if len(points) == 1 else await choose(stretch)
        page = text[start:end]
        pages.append(TextPassage(document, len(pages), start, page, tokens.count(page)))
        start = end
    return pages


_SHORTEST_LV_EVAL = 12_000  # tokens; a context built for 16k can be shorter than that
_ABOVE_64K = 96_000  # tokens


def preset_for(length: int | None) -> Pagination:
    """The sizes of the papers for a context of so many tokens; None: native length (appendix D)."""
    if length is None or length < _SHORTEST_LV_EVAL:
        return Pagination(280, 600)
    return Pagination(1_000, 5_000) if length < _ABOVE_64K else Pagination(2_000, 10_000)
