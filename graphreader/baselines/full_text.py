"""Full Text Read: the whole text in one prompt, as far as a large window holds it (appendix D)."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal

from graphreader import tokens
from graphreader.baselines.answering import FULL_TEXT, WHOLE_TEXT, Source, answer_from
from graphreader.baselines.passages import Passage
from graphreader.baselines.sitting import Sitting
from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.deciding.passages import Excerpt
from graphreader.documents import Document
from graphreader.errors import WindowError
from graphreader.ingestion.chunking import Span, pack
from graphreader.reading import Reading
from graphreader.sentences import line_spans

Policy = Literal["head", "middle", "refuse"]

_PARTS = 8  # of the window, at most: what a paragraph is cut into that does not fit into it


class FullText:
    """Answers from all documents, one after the other in their order.

    What is done with a text larger than the window is the `policy`. "head" shows the longest head
    of whole paragraphs that fits (table 3); "middle" shows head and tail and leaves paragraphs in
    the middle out; "refuse" shows nothing: the reading is unanswered, and its note says why. A
    single paragraph that is larger than the window is cut at the ends of sentences.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        decider: Decider,
        *,
        window: int,
        policy: Policy = "head",
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.name = "full-text" if policy == "head" else f"full-text-{policy}"
        self.window = window
        self._paragraphs = [
            passage for document in documents for passage in _paragraphs(document, window)
        ]
        self._decider = decider
        self._policy = policy
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Answer from what the policy shows. Raises DecisionError."""
        sitting = Sitting(self.name, question, self._decider, self._budget())
        sources = _sources(self._paragraphs)
        if self._policy != "refuse":
            ranked = [sources[at] for at in self._in_order()]
            return await answer_from(
                sitting, question, options, ranked, window=self.window, how=FULL_TEXT
            )
        size = sum(paragraph.tokens for paragraph in self._paragraphs)
        if size <= self.window:
            try:
                return await answer_from(
                    sitting, question, options, sources, window=self.window, how=WHOLE_TEXT
                )
            except WindowError:
                pass  # with the prompt it is too large
        return sitting.unanswered(
            f"The text has {size:,} tokens, which do not fit into the window of {self.window:,}: "
            "nothing was read.",
            passages=self._paragraphs,
        )

    def _in_order(self) -> list[int]:
        """The paragraphs' numbers, in the order in which they are shown while there is room.

        That is by how much stands between them and the beginning; with "middle", or the end.
        """
        ends = list(accumulate(paragraph.tokens for paragraph in self._paragraphs))

        def rank(at: int) -> int:
            start = ends[at] - self._paragraphs[at].tokens
            return min(start, ends[-1] - ends[at]) if self._policy == "middle" else start

        return sorted(range(len(ends)), key=lambda at: (rank(at), at))


def _sources(paragraphs: Sequence[Passage]) -> list[Source]:
    """Paragraphs of one document are shown as one text."""
    return [
        Source(Excerpt(one.document.title, one.text, place, one.document.id), one)
        for place, one in enumerate(paragraphs)
    ]


def _paragraphs(document: Document, window: int) -> Iterator[Passage]:
    """The document's paragraphs, each with the white space behind it."""
    text = document.text
    starts = [0, *(start for start, _ in line_spans(text)[1:]), len(text)]
    for index, (start, end, size) in enumerate(_spans(starts, text, window)):
        yield Passage(document, index, start, text[start:end], size)


def _spans(starts: Sequence[int], text: str, window: int) -> Iterator[Span]:
    for start, end in pairwise(starts):
        part = text[start:end]
        if not part.strip():
            continue
        size = tokens.count(part)
        if size <= window:
            yield start, end, size
        else:
            pieces = pack(part, max(64, window // _PARTS))
            yield from ((start + a, start + b, size) for a, b, size in pieces)
