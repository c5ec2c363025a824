"""The pages looked up for a question: all at once, one after the other, or none (section 3.2).

Numbers that name no page, or a page that was named before, are ignored.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from graphreader.baselines.read_agent.gists import GistMemory
from graphreader.baselines.read_agent.tasks import LookUpTask, MemoryTask, NextPageTask, pages_among
from graphreader.baselines.retrieval import Ranking
from graphreader.baselines.session import TextPassage

Strategy = Literal["parallel", "sequential", "gists"]
MOST_PAGES = 5
"""Pages to look up at most by default (the paper: look up 1-5 pages)."""


@dataclass(frozen=True, slots=True)
class LookUpRequest:
    """What is known when pages are chosen; `read` are those looked up so far, in that order."""

    question: str
    options: tuple[str, ...]
    memory: GistMemory
    read: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LookUpResult:
    """The pages to look up now, whether to choose again, and notes for the person who asks."""

    pages: tuple[int, ...]
    again: bool = False
    notes: tuple[str, ...] = ()


DecideOnMemory = Callable[[MemoryTask[Any]], Awaitable[tuple[Any, MemoryTask[Any]]]]
"""Takes a decision; returns it with the task as it was really shown."""
RankPages = Callable[[Sequence[TextPassage]], Ranking]
"""Makes a ranking of the passages."""


class LookUpStrategy(Protocol):
    """Chooses pages, at most `most` in all; 0: the gists alone are the memory."""

    @property
    def most(self) -> int:
        """See the class."""
        ...

    async def choose(self, request: LookUpRequest, decide: DecideOnMemory) -> LookUpResult:
        """Choose pages. Raises DecisionError."""
        ...


@dataclass(frozen=True, slots=True)
class ParallelLookUp:
    """ReadAgent-P: up to `most` pages, as few as possible or none, from one decision."""

    most: int = MOST_PAGES

    async def choose(self, request: LookUpRequest, decide: DecideOnMemory) -> LookUpResult:
        """Take the one decision."""
        pages = len(request.memory.pages)
        most = min(self.most, pages)
        memory = request.memory.remembered()
        task = LookUpTask(request.question, memory, most, options=request.options)
        decision, _ = await decide(task)
        return LookUpResult(tuple(pages_among(decision.pages, pages)[:most]))


@dataclass(frozen=True, slots=True)
class SequentialLookUp:
    """ReadAgent-S: one page a decision, which sees the pages before; until it stops."""

    most: int = MOST_PAGES

    async def choose(self, request: LookUpRequest, decide: DecideOnMemory) -> LookUpResult:
        """Choose one page more."""
        pages, read = len(request.memory.pages), request.read
        left = min(self.most, pages) - len(read)
        memory = request.memory.remembered()
        task = NextPageTask(request.question, memory, left, read=read, options=request.options)
        decision, shown = await decide(task)
        if len(shown.read) < len(read):
            note = "A page that was looked up does not fit the window: no further one was read."
            return LookUpResult((), notes=(note,))
        chosen = pages_among([decision.page], pages, read)
        return LookUpResult(tuple(chosen), again=bool(chosen) and left > 1)


@dataclass(frozen=True, slots=True)
class NoLookUp:
    """GistMem: no page is looked up."""

    most: int = 0

    async def choose(self, request: LookUpRequest, decide: DecideOnMemory) -> LookUpResult:
        """Choose nothing."""
        return LookUpResult(())


class RetrievalLookUp:
    """Retrieval in the place of a decision: the pages that a ranking puts first (table 8).

    It ranks the pages, or with `by_gists` their gists, as the paper does where pages are too long
    to be embedded (4.3.2). The index is made once, at the first question.
    """

    def __init__(self, ranking_of: RankPages, most: int = 1, *, by_gists: bool = False) -> None:
        self.most = most
        self._ranking_of = ranking_of
        self._by_gists = by_gists
        self._ranking: Ranking | None = None
        self._memory: GistMemory | None = None

    async def choose(self, request: LookUpRequest, decide: DecideOnMemory) -> LookUpResult:
        """Choose the pages ranked first."""
        memory = request.memory
        if self._ranking is None or self._memory != memory:
            self._ranking, self._memory = self._ranking_of(self._passages(memory)), memory
        numbers = {(page.document.id, page.index): n for n, page in enumerate(memory.pages, 1)}
        best = (await self._ranking.ranked(request.question))[: self.most]
        return LookUpResult(tuple(numbers[page.document.id, page.index] for page in best))

    def _passages(self, memory: GistMemory) -> list[TextPassage]:
        if not self._by_gists:
            return list(memory.pages)
        return [
            TextPassage(page.document, page.index, page.start, gist, page.tokens)
            for page, gist in zip(memory.pages, memory.gists, strict=True)
        ]


def look_up_strategy(strategy: Strategy, most: int = MOST_PAGES) -> LookUpStrategy:
    """The strategy of that name, with at most so many pages."""
    match strategy:
        case "parallel":
            return ParallelLookUp(most)
        case "sequential":
            return SequentialLookUp(most)
        case "gists":
            return NoLookUp()
