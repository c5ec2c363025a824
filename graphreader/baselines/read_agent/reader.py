"""The readers of ReadAgent's pages and gists: ReadAgent-P, ReadAgent-S, GistMem, retrieval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from graphreader import tokens
from graphreader.baselines.answering import RefusableAnswer, answer_from, excerpts_of
from graphreader.baselines.read_agent.gists import GistBuilder, GistMemory
from graphreader.baselines.read_agent.tasks import (
    LookUpTask,
    MemoryAnswerTask,
    MemoryChoiceTask,
    MemoryTask,
    NextPageTask,
    RefusableMemoryAnswerTask,
)
from graphreader.baselines.retrieval import Ranking
from graphreader.baselines.session import (
    NO_TEXT,
    BaselineReader,
    QuestionSession,
    ReaderModel,
    TextPassage,
)
from graphreader.errors import BudgetError, ReplyError, WindowError
from graphreader.llm.protocols import Budget
from graphreader.reading import Reading

MOST_PAGES = 5  # pages to look up by default (the paper: 1-5 pages)

TASK_AWARE = "-task-aware"  # in the name of a reader that makes gists for each question

RankPages = Callable[[Sequence[TextPassage]], Ranking]  # makes a ranking of the passages

T = TypeVar("T", bound=MemoryTask[Any])


class PageReader(BaselineReader):
    """The base of readers of ReadAgent's pages, made at the first question or by `prepare`.

    `needs_gists`: the reader uses gists as well, which are made once for all questions.
    """

    needs_gists = False

    def __init__(self, name: str, builder: GistBuilder, model: ReaderModel) -> None:
        super().__init__(name, model)
        self.builder = builder

    async def prepare(self) -> Mapping[str, float] | None:
        """Make the pages, and the gists if needed, without a budget; return the sizes of the gists.

        Raises DecisionError.
        """
        if self.needs_gists:
            return (await self.memory()).sizes()
        await self.builder.pages(self._building_session())
        return None

    async def memory(self) -> GistMemory:
        """Make the gist memory for all questions. Raises DecisionError."""
        return await self.builder.memory(self._building_session())

    def _building_session(self) -> QuestionSession:
        """Make a session without a question and without a budget."""
        return QuestionSession(self.name, replace(self.model, budget=Budget))


class ReadAgent(PageReader):
    """A reader that answers from gists, and from the pages that it looks up for a question.

    `task_aware` makes gists for each question. At most `max_pages` are looked up, one by one
    (ReadAgent-S) or `in_parallel`, all at once (ReadAgent-P). With 0 it has the gists alone
    (GistMem).
    """

    def __init__(
        self,
        name: str,
        builder: GistBuilder,
        model: ReaderModel,
        *,
        max_pages: int = MOST_PAGES,
        in_parallel: bool = False,
        task_aware: bool = False,
    ) -> None:
        super().__init__(name, builder, model)
        self.needs_gists = not task_aware
        self._max_pages = max_pages
        self._in_parallel = in_parallel

    async def read(self, session: QuestionSession) -> Reading:
        """Make the memory if needed, look up pages, answer. Raises DecisionError."""
        memory = await self.builder.memory(session, "" if self.needs_gists else session.question)
        session.show(memory.pages_without_gist())
        looked_up: list[int] = []
        if most := min(self._max_pages, len(memory.pages)):
            try:
                await self._look_up(session, memory, looked_up, most)
            except (BudgetError, ReplyError) as error:  # the answer uses the pages so far
                session.notes.append(f"Looking up pages ended early: {error}")
        reading = await self._answer(session, memory, looked_up)
        compression = round(memory.compression(looked_up), 4)
        return replace(reading, pages_looked_up=len(looked_up), compression=compression)

    async def _look_up(
        self, session: QuestionSession, memory: GistMemory, looked_up: list[int], most: int
    ) -> None:
        """Append the numbers of at most `most` new pages to `looked_up`; ignore other numbers."""
        pages, options = memory.remembered(), session.options
        if self._in_parallel:
            task = LookUpTask(session.question, pages, most, options=options)
            decision, _ = await self._decide(session, memory, task)
            numbers = [n for n in dict.fromkeys(decision.pages) if 1 <= n <= len(pages)]
            looked_up += numbers[:most]
            return
        for left in range(most, 0, -1):
            read = tuple(looked_up)
            step = NextPageTask(session.question, pages, left, read=read, options=options)
            decision, shown = await self._decide(session, memory, step)
            if len(shown.read) < len(read):
                return  # a page that was looked up does not fit: no further page can be read
            if decision.page in read or not 1 <= decision.page <= len(pages):
                return
            looked_up.append(decision.page)

    async def _answer(
        self, session: QuestionSession, memory: GistMemory, looked_up: Sequence[int]
    ) -> Reading:
        """Answer from the memory, with looked-up pages in full."""
        if not memory.pages:
            return session.unanswered(NO_TEXT)
        options = session.options
        kind: type[MemoryTask[Any]] = MemoryAnswerTask
        if options:
            kind = MemoryChoiceTask
        elif session.may_refuse:
            kind = RefusableMemoryAnswerTask
        task: MemoryTask[Any] = kind(
            session.question, memory.remembered(), read=tuple(looked_up), options=options
        )
        decision, shown = await self._decide(session, memory, task)
        for gist in memory.gists:
            session.coverage.derived(gist)
        if left_out := len(looked_up) - len(shown.read):
            session.notes.append(
                f"{left_out} of the pages looked up did not fit the window: there stood the gists."
            )
        # Quotes are searched in the pages that were looked up, then in all others.
        texts = [memory.pages[number - 1].text.strip() for number in sorted(shown.read)]
        return session.reading(
            options[decision.option - 1] if options else decision.answer.strip(),
            answered=not isinstance(decision, RefusableAnswer) or decision.answered,
            passages=(*(memory.pages[number - 1] for number in looked_up), *memory.pages),
            quotes=decision.quotes,
            analysis=decision.analysis,
            evidence="\n\n".join(texts or memory.gists),
        )

    async def _decide(self, session: QuestionSession, memory: GistMemory, task: T) -> tuple[Any, T]:
        """Take a decision with as many pages in full as fit; return it and the task as shown.

        Raises WindowError.
        """
        too_large = WindowError(
            f"The gist memory of {len(memory.pages):,} pages does not fit ReadAgent's window of "
            f"{self.window:,} tokens: set GRAPHREADER_PAGE_WORDS to larger pages, which are "
            "shortened more, or GRAPHREADER_LONG_WINDOW higher."
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
    """Gist memory plus retrieval (table 8): a ranking chooses the `k` pages to look up."""

    def __init__(
        self, name: str, builder: GistBuilder, model: ReaderModel, rank_pages: RankPages, k: int
    ) -> None:
        super().__init__(name, builder, model, max_pages=k)
        self._rank_pages = rank_pages
        self._ranking: Ranking | None = None

    async def _look_up(
        self, session: QuestionSession, memory: GistMemory, looked_up: list[int], most: int
    ) -> None:
        self._ranking = self._ranking or self._rank_pages(memory.pages)
        best = await self._ranking.ranked(session.question)
        looked_up += [memory.pages.index(page) + 1 for page in best[:most]]


class PagesRetrieval(PageReader):
    """A reader that answers from the best `k` pages of a ranking of their texts, or `by_gists`.

    By gists it is the neural retrieval of the ReadAgent paper for NarrativeQA (section 4.3.2).
    """

    def __init__(
        self,
        name: str,
        builder: GistBuilder,
        model: ReaderModel,
        rank_pages: RankPages,
        k: int,
        *,
        by_gists: bool = False,
    ) -> None:
        super().__init__(name, builder, model)
        self.needs_gists = by_gists
        self._rank_pages = rank_pages
        self._k = k
        self._ranking: Ranking | None = None

    async def read(self, session: QuestionSession) -> Reading:
        """Rank the pages, and answer from the best. Raises DecisionError."""
        pages = await self.builder.pages(session)
        texts = [page.text for page in pages]
        if self.needs_gists:
            texts = list((await self.builder.memory(session)).gists)
        if self._ranking is None:
            ranked = [
                replace(page, text=text)
                for page, text in zip(pages, texts, strict=True)
                if text.strip()
            ]
            self._ranking = self._rank_pages(ranked)
        places = {(page.document.id, page.index): page for page in pages}
        best = (await self._ranking.ranked(session.question))[: self._k]
        return await answer_from(
            session, excerpts_of([places[one.document.id, one.index] for one in best])
        )
