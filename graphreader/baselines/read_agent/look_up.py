"""Which pages are looked up for a question: all at once, one after the other, or none (3.2).

Numbers of pages that there are not, or that were named before, are passed over.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from graphreader.baselines.read_agent.gists import GistMemory
from graphreader.baselines.read_agent.tasks import LookUpTask, MemoryTask, NextPageTask, pages_among
from graphreader.baselines.retrieval import Ranking
from graphreader.baselines.session import TextPassage
from graphreader.llm.protocols import Decision

D = TypeVar("D", bound=Decision)
Strategy = Literal["parallel", "sequential", "gists"]

MOST_PAGES = 5
"""Pages to look up at most, where nothing else is said (look up 1-5 pages)."""


@dataclass(frozen=True, slots=True)
class Looking:
    """What is known when pages are chosen; `read` are those looked up so far, in that order."""

    question: str
    options: tuple[str, ...]
    memory: GistMemory
    read: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Looked:
    """The pages that are looked up now, and whether to look again."""

    pages: tuple[int, ...]
    again: bool = False
    notes: tuple[str, ...] = ()


Ask = Callable[[MemoryTask[Any]], Awaitable[tuple[Any, MemoryTask[Any]]]]
"""Takes a decision; returns it with the task as it was really shown."""


class LookUp(Protocol):
    """Chooses pages. `most` are looked up in all; 0: the gists are all that there is."""

    @property
    def most(self) -> int:
        """See the class."""
        ...

    async def look(self, at: Looking, ask: Ask) -> Looked:
        """Choose."""
        ...


@dataclass(frozen=True, slots=True)
class Parallel:
    """ReadAgent-P: up to `most` pages, as few as possible, from one decision; it may be none."""

    most: int = MOST_PAGES

    async def look(self, at: Looking, ask: Ask) -> Looked:
        """Ask once."""
        most = min(self.most, len(at.memory.pages))
        task = LookUpTask(at.question, at.memory.remembered(), most, options=at.options)
        decision, _ = await ask(task)
        return Looked(tuple(pages_among(decision.pages, len(at.memory.pages))[:most]))


@dataclass(frozen=True, slots=True)
class Sequential:
    """ReadAgent-S: one page a decision, which sees the pages before; until it stops."""

    most: int = MOST_PAGES

    async def look(self, at: Looking, ask: Ask) -> Looked:
        """Ask for one page more."""
        pages = len(at.memory.pages)
        left = min(self.most, pages) - len(at.read)
        task = NextPageTask(
            at.question, at.memory.remembered(), left, read=at.read, options=at.options
        )
        decision, shown = await ask(task)
        if len(shown.read) < len(at.read):
            full = "A page that was looked up does not fit the window: no further one was read."
            return Looked((), notes=(full,))
        chosen = pages_among([decision.page], pages, at.read)
        return Looked(tuple(chosen), again=bool(chosen) and left > 1)


@dataclass(frozen=True, slots=True)
class GistsOnly:
    """GistMem: nothing is looked up."""

    most: int = 0

    async def look(self, at: Looking, ask: Ask) -> Looked:
        """Nothing."""
        return Looked(())


RankingOf = Callable[[Sequence[TextPassage]], Ranking]
"""Makes a ranking of the passages."""


class Retrieved:
    """Retrieval in the place of a decision: the pages that a ranking puts first (table 8).

    It ranks the pages, or with `by_gists` their gists, as the paper does where pages are too long
    to be embedded (4.3.2). The index is made once, at the first question.
    """

    def __init__(self, ranking_of: RankingOf, most: int = 1, *, by_gists: bool = False) -> None:
        self.most = most
        self._ranking_of = ranking_of
        self._by_gists = by_gists
        self._ranking: Ranking | None = None
        self._of: GistMemory | None = None

    async def look(self, at: Looking, ask: Ask) -> Looked:
        """Take those that are ranked first."""
        if self._ranking is None or self._of != at.memory:
            self._ranking, self._of = self._ranking_of(self._ranked(at.memory)), at.memory
        numbers = {(page.document.id, page.index): n for n, page in enumerate(at.memory.pages, 1)}
        best = (await self._ranking.ranked(at.question))[: self.most]
        return Looked(tuple(numbers[page.document.id, page.index] for page in best))

    def _ranked(self, memory: GistMemory) -> list[TextPassage]:
        if not self._by_gists:
            return list(memory.pages)
        return [
            TextPassage(page.document, page.index, page.start, gist, page.tokens)
            for page, gist in zip(memory.pages, memory.gists, strict=True)
        ]


def look_up_of(strategy: Strategy, most: int = MOST_PAGES) -> LookUp:
    """The way of looking up that is called so."""
    match strategy:
        case "parallel":
            return Parallel(most)
        case "sequential":
            return Sequential(most)
        case "gists":
            return GistsOnly()
