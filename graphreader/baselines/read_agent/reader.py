"""ReadAgent and its variants as readers: ReadAgent-P, ReadAgent-S, GistMem.

Retrieval over ReadAgent's pages, the paper's own baselines (section 4): no gists are made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import cast

from graphreader.agent.state import total_usage
from graphreader.baselines.read_agent.gists import Gisting, GistMemory
from graphreader.baselines.read_agent.graph import Answered, Desk, Nodes, Question, Steps, wired
from graphreader.baselines.read_agent.look_up import (
    MOST_PAGES,
    LookUp,
    RankingOf,
    Retrieved,
    Strategy,
    look_up_of,
)
from graphreader.baselines.read_agent.pages import Pagination
from graphreader.baselines.retrieval import Retrieval
from graphreader.baselines.session import QuestionSession, TextPassage
from graphreader.documents import Document
from graphreader.errors import UsageError
from graphreader.llm.protocols import Budget, Decider
from graphreader.reading import Reading
from graphreader.usage import Usage

WINDOW = 128_000
"""Tokens of a prompt at most (GraphReader paper, table 2)."""

TASK_AWARE = "-task-aware"
"""The end of the name of one that makes its gists for a question."""


class ReadAgent:
    """Answers from a gist memory of its documents and the pages that it looks up in it.

    `builder` paginates and makes gists, `decider` looks up and answers; both may be the same.
    Gists are made once, at the first question, or by `memory`; with `gists_home` they are kept in
    that folder, page by page. `task_aware` makes them anew for each question. `budget` is that of
    one question, with what it makes of the memory. With `strategy` "gists" nothing is looked up.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        *,
        builder: Decider,
        decider: Decider,
        strategy: Strategy = "sequential",
        max_pages: int = MOST_PAGES,
        pages: Pagination | None = None,
        window: int = WINDOW,
        gists_home: Path | None = None,
        task_aware: bool = False,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        if max_pages < 1:
            raise UsageError("ReadAgent looks up at least one page: set the number to 1 or more.")
        self.name = _name(strategy, max_pages) + (TASK_AWARE if task_aware else "")
        self.window = window
        self._documents = documents
        self._decider = decider
        self._look_up: LookUp = look_up_of(strategy, max_pages)
        self._gisting = Gisting(documents, builder, pages or Pagination(), gists_home)
        self.task_aware = task_aware
        self._budget = budget
        self._memories: dict[str, GistMemory] = {}
        self._rates: list[float] = []

    async def pages(self) -> tuple[TextPassage, ...]:
        """The pages of the documents without gists; made once. Raises DecisionError."""
        pages, _ = await self._gisting.pages()
        return pages

    async def memory(self, question: str = "") -> GistMemory:
        """The gist memory of the documents; made once, and where it is kept not even that.

        A task-aware reader has one for each question. Raises DecisionError.
        """
        key = question if self.task_aware else ""
        if key not in self._memories:
            pages, paged = await self._gisting.pages()
            gists, gisted = await self._gisting.gists(pages, key)
            notes = dict.fromkeys((*paged.notes(), *gisted.notes()))
            self._memories[key] = GistMemory(pages, gists, tuple(notes))
        return self._memories[key]

    @property
    def building(self) -> Usage:
        """What making the memory has cost so far, by `memory` or by a question."""
        return total_usage(self._gisting.building)

    @property
    def compression(self) -> Mapping[str, float]:
        """Sizes of the memory, and by which part it is shorter than the texts, up to 1 (section 4).

        `gists` is that of the gists alone, `final_query` with the pages that were looked up in
        their places, on average of the questions asked so far; empty before the first of them.
        """
        if not self._rates or not self._memories:
            return {}
        memory = next(reversed(self._memories.values()))
        return {**memory.sizes(), "final_query": round(fmean(self._rates), 4)}

    def desk(self) -> Desk:
        """What the steps of one question need, with a fresh budget."""
        return Desk(
            self._documents,
            self._gisting,
            self._decider,
            self._look_up,
            self.window,
            self._budget(),
            self.task_aware,
        )

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Make the memory if there is none, look up pages, answer.

        What it had to make of the memory stands in the reading's phases `paginate` and `gist`, and
        in `building`. Raises DecisionError; a WindowError where the memory exceeds the window.
        """
        sitting = QuestionSession(self.name, question, self._decider)
        given: Question = {"question": question, "options": list(options)}
        ended = cast(Answered, await wired(Nodes.of(Steps(self.desk()))).ainvoke(given))
        memory = await self.memory(question)
        rate = memory.compression(ended["looked_up"])
        self._rates.append(rate)
        return replace(
            _reading(sitting, memory, ended),
            pages_looked_up=len(ended["looked_up"]),
            compression=round(rate, 4),
        )


class GistMemRetrieval(ReadAgent):
    """Gist memory plus retrieval (table 8): the `k` pages that a ranking puts first are looked up.

    With `by_gists` the ranking compares gists instead of pages, as the paper does for NarrativeQA.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        *,
        builder: Decider,
        decider: Decider,
        ranking_of: RankingOf,
        k: int = 1,
        by_gists: bool = False,
        pages: Pagination | None = None,
        window: int = WINDOW,
        gists_home: Path | None = None,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        super().__init__(
            documents,
            builder=builder,
            decider=decider,
            max_pages=k,
            pages=pages,
            window=window,
            gists_home=gists_home,
            budget=budget,
        )
        self.name = f"gistmem-retrieval-{k}"
        self._look_up = Retrieved(ranking_of, k, by_gists=by_gists)


def _name(strategy: Strategy, most: int) -> str:
    if strategy == "gists":
        return "gistmem"
    number = "" if most == MOST_PAGES else f"-{most}"
    return f"read-agent-{strategy[0]}{number}"


def _reading(sitting: QuestionSession, memory: GistMemory, ended: Answered) -> Reading:
    """The reading; quotes are looked for in the pages that were looked up, then in all others."""
    for phase, cost in ended["costs"].items():
        sitting.count(Usage(**cost), phase)
    sitting.notes += ended["notes"]
    whole = [n for n in range(1, len(memory.pages) + 1) if memory.is_whole(n)]
    sitting.show(memory.pages[n - 1] for n in (*whole, *ended["shown"]))
    for gist in memory.gists:
        sitting.shown.derived(gist)
    if not memory.pages:
        return sitting.unanswered()
    looked_up = [memory.pages[n - 1] for n in ended["looked_up"]]
    return sitting.reading(
        ended["answer"],
        answered=ended["answered"],
        passages=(*looked_up, *memory.pages),
        quotes=ended["quotes"],
        analysis=ended["analysis"],
        evidence=ended["evidence"],
    )


class PagesRetrieval:
    """Answers from the `k` pages that a ranking puts first.

    Pages are made once, at the first question or by `pages`, and kept as ReadAgent keeps them:
    `builder` paginates, `decider` answers.
    """

    def __init__(
        self,
        name: str,
        documents: Sequence[Document],
        *,
        builder: Decider,
        decider: Decider,
        ranking_of: RankingOf,
        k: int,
        pages: Pagination,
        window: int,
        gists_home: Path | None = None,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.name = name
        self.window = window
        self._gisting = Gisting(documents, builder, pages, gists_home)
        self._decider = decider
        self._ranking_of = ranking_of
        self._k = k
        self._budget = budget
        self._retrieval: Retrieval | None = None

    async def pages(self) -> tuple[TextPassage, ...]:
        """The pages of the documents. Raises DecisionError."""
        pages, _ = await self._gisting.pages()
        return pages

    @property
    def building(self) -> Usage:
        """What making the pages has cost so far, by `pages` or by a question."""
        return total_usage(self._gisting.building)

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Rank, and answer from the best. Raises DecisionError.

        What it had to make of the pages stands in the reading's phase `paginate`, too.
        """
        pages, making = await self._gisting.pages()
        if self._retrieval is None:
            self._retrieval = Retrieval(
                self.name,
                self._ranking_of(pages),
                self._decider,
                k=self._k,
                window=self.window,
                budget=self._budget,
            )
        reading = await self._retrieval.aask(question, options=options)
        made = {phase: Usage(**cost) for phase, cost in making.costs.items()}
        return replace(
            reading,
            usage=reading.usage + sum(made.values(), Usage()),
            phases={**made, **reading.phases},
            notes=(*reading.notes, *making.notes()),
        )
