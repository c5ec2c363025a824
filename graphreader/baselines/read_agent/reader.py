"""ReadAgent and its variants as readers: ReadAgent-P, ReadAgent-S, GistMem, and retrieval.

A question takes four steps, named as in the paper: paginate, gist, look up (again and again),
answer. Retrieval over ReadAgent's pages is the paper's own baseline (section 4), without gists.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar, cast

from graphreader import tokens
from graphreader.baselines.read_agent.gists import BuildReport, GistBuilder, GistMemory
from graphreader.baselines.read_agent.look_up import (
    MOST_PAGES,
    LookUpRequest,
    LookUpStrategy,
    RankPages,
    RetrievalLookUp,
    Strategy,
    look_up_strategy,
)
from graphreader.baselines.read_agent.pages import Pagination
from graphreader.baselines.read_agent.tasks import MemoryAnswerTask, MemoryChoiceTask, MemoryTask
from graphreader.baselines.retrieval import Retrieval
from graphreader.baselines.session import NO_TEXT, QuestionSession, TextPassage
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError, UsageError, WindowError
from graphreader.llm.protocols import Budget, Decider
from graphreader.reading import Reading
from graphreader.usage import Usage

WINDOW = 128_000
"""Tokens of a prompt at most (GraphReader paper, table 2)."""

TASK_AWARE = "-task-aware"
"""The end of the name of a reader that makes its gists for a question."""

T = TypeVar("T", bound=MemoryTask[Any])


class ReadAgent:
    """Answers from a gist memory of its documents and the pages that it looks up in it.

    `builder` paginates and makes gists, `decider` looks up and answers; both can be the same.
    Gists are made once, at the first question or by `memory`; with `gists_home` they are kept in
    that folder, page by page. `task_aware` makes them anew for each question. `budget` is that of
    one question, with what it builds of the memory. With `strategy` "gists" nothing is looked up.
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
        self.task_aware = task_aware
        self._decider = decider
        self._look_up: LookUpStrategy = look_up_strategy(strategy, max_pages)
        self._builder = GistBuilder(documents, builder, pages or Pagination(), gists_home)
        self._budget = budget
        self._memories: dict[str, GistMemory] = {}
        self._rates: list[float] = []

    async def pages(self) -> tuple[TextPassage, ...]:
        """The pages of the documents without gists; made once. Raises DecisionError."""
        return await self._builder.pages()

    async def memory(self, question: str = "", report: BuildReport | None = None) -> GistMemory:
        """The gist memory of the documents; made once, or read from the cache.

        A task-aware reader has one for each question. `report` gets what it cost this time. Raises
        DecisionError.
        """
        key = question if self.task_aware else ""
        report = report or BuildReport()
        pages = await self._builder.pages(report)
        gists = await self._builder.gists(pages, key, report)
        if key not in self._memories:
            self._memories[key] = GistMemory(pages, gists, tuple(report.notes))
        return self._memories[key]

    @property
    def building(self) -> Usage:
        """The cost of making the memory so far, by `memory` or by a question."""
        return self._builder.building

    @property
    def compression(self) -> Mapping[str, float]:
        """Sizes of the memory, and the share by which it is shorter than the texts (section 4).

        `gists` is that of the gists alone, `final_query` with the pages that were looked up in
        their places, on average of the questions asked so far; empty before the first of them.
        """
        if not self._rates or not self._memories:
            return {}
        memory = next(reversed(self._memories.values()))
        return {**memory.sizes(), "final_query": round(fmean(self._rates), 4)}

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Make the memory if there is none, look up pages, answer.

        The cost of making the memory is in the reading's phases `paginate` and `gist`, and in
        `building`. Raises DecisionError; a WindowError where the memory exceeds the window.
        """
        if not question.strip():
            raise UsageError("The question is empty: ask something.")
        session = QuestionSession(self.name, question, self._decider, self._budget())
        report = BuildReport(session.budget)
        memory = await self.memory(question, report)
        for phase, usage in report.usage.items():
            session.count(usage, phase)
        session.notes += report.notes
        looked_up = await self._choose_pages(session, memory, tuple(options))
        reading = await self._answer(session, memory, tuple(options), looked_up)
        rate = memory.compression(looked_up)
        self._rates.append(rate)
        return replace(reading, pages_looked_up=len(looked_up), compression=round(rate, 4))

    async def _choose_pages(
        self, session: QuestionSession, memory: GistMemory, options: tuple[str, ...]
    ) -> list[int]:
        """The numbers of the pages to look up, in the order in which they are chosen.

        Where a decision fails or the budget is used up, a note says so, and the answer is drawn
        from the pages chosen so far.
        """
        whole = [page for n, page in enumerate(memory.pages, 1) if memory.is_whole(n)]
        session.show(whole)
        looked_up: list[int] = []
        again = bool(memory.pages) and self._look_up.most > 0
        while again:
            request = LookUpRequest(session.question, options, memory, tuple(looked_up))
            try:
                result = await self._look_up.choose(
                    request, lambda task: self._decide(session, memory, task)
                )
            except (BudgetError, ReplyError) as error:
                session.notes.append(f"Looking up pages ended early: {error}")
                break
            looked_up += result.pages
            session.notes += result.notes
            again = result.again
        return looked_up

    async def _answer(
        self,
        session: QuestionSession,
        memory: GistMemory,
        options: tuple[str, ...],
        looked_up: Sequence[int],
    ) -> Reading:
        """Answer from the memory, with the pages that were looked up in their places."""
        if not memory.pages:
            return session.unanswered(NO_TEXT)
        kind = MemoryChoiceTask if options else MemoryAnswerTask
        task: MemoryTask[Any] = kind(
            session.question, memory.remembered(), read=tuple(looked_up), options=options
        )
        decision, shown = await self._decide(session, memory, task)
        for gist in memory.gists:
            session.coverage.derived(gist)
        if left_out := len(looked_up) - len(shown.read):
            pages = "One page that was looked up does"
            if left_out > 1:
                pages = f"{left_out} pages looked up do"
            session.notes.append(f"{pages} not fit the window: the gist stood in its place.")
        # Quotes are looked for in the pages that were looked up, then in all others.
        texts = [memory.pages[number - 1].text.strip() for number in sorted(shown.read)]
        return session.reading(
            options[decision.option - 1] if options else decision.answer.strip(),
            answered=True if options else decision.answered,
            passages=(*(memory.pages[number - 1] for number in looked_up), *memory.pages),
            quotes=decision.quotes,
            analysis=decision.analysis,
            evidence="\n\n".join(texts or memory.gists),
        )

    async def _decide(self, session: QuestionSession, memory: GistMemory, task: T) -> tuple[Any, T]:
        """The decision and the task as it was shown. Raises WindowError with what to do.

        The task has as many of its pages in full as the window holds beside the gists; a decider
        that asks a model measures the whole prompt besides. The budget keeps back what the answer
        from this memory needs.
        """
        too_large = WindowError(
            f"The gist memory of {len(memory.pages):,} pages does not fit ReadAgent's window of "
            f"{self.window:,} tokens: make larger pages, which are shortened more, or set "
            "GRAPHREADER_LONG_WINDOW higher."
        )
        while (size := tokens.count(task.remembered())) > self.window:
            if not task.choices:
                raise too_large
            task = task.keeping(task.choices - 1)
        answer_tokens = size + MemoryAnswerTask.reply_tokens
        session.budget.answer_tokens = max(session.budget.answer_tokens, answer_tokens)
        try:
            result = await session.decide(task)
        except WindowError as error:
            raise too_large from error
        shown = cast(T, result.task)
        session.show(memory.pages[number - 1] for number in shown.read)
        return result.decision, shown


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
        ranking_of: RankPages,
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
        self._look_up = RetrievalLookUp(ranking_of, k, by_gists=by_gists)


def _name(strategy: Strategy, most: int) -> str:
    if strategy == "gists":
        return "gistmem"
    number = "" if most == MOST_PAGES else f"-{most}"
    return f"read-agent-{strategy[0]}{number}"


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
        ranking_of: RankPages,
        k: int,
        pages: Pagination,
        window: int,
        gists_home: Path | None = None,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.name = name
        self.window = window
        self._builder = GistBuilder(documents, builder, pages, gists_home)
        self._decider = decider
        self._ranking_of = ranking_of
        self._k = k
        self._budget = budget
        self._retrieval: Retrieval | None = None

    async def pages(self) -> tuple[TextPassage, ...]:
        """The pages of the documents. Raises DecisionError."""
        return await self._builder.pages()

    @property
    def building(self) -> Usage:
        """The cost of making the pages so far, by `pages` or by a question."""
        return self._builder.building

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Rank, and answer from the best. Raises DecisionError.

        The cost of making the pages is in the reading's phase `paginate`, too.
        """
        report = BuildReport()
        pages = await self._builder.pages(report)
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
        return replace(
            reading,
            usage=reading.usage + sum(report.usage.values(), Usage()),
            phases={**report.usage, **reading.phases},
            notes=(*reading.notes, *report.notes),
        )
