"""The steps of a run, named after the paper: paginate, gist, look_up, answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from langgraph.types import Overwrite

from graphreader import tokens
from graphreader.agent.parts import costs_of
from graphreader.agent.state import Costs, add_costs
from graphreader.baselines.passages import Passage
from graphreader.baselines.read_agent.gist_memory import GistMemory
from graphreader.baselines.read_agent.gisting import Gisting
from graphreader.baselines.read_agent.look_up import Looked, Looking, LookUp
from graphreader.baselines.read_agent.state import PageRef, Run
from graphreader.baselines.sitting import NO_TEXT
from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.deciding.episodes import MemoryAnswerTask, MemoryChoiceTask, MemoryTask
from graphreader.documents import Document
from graphreader.errors import BudgetError, DecisionError, ReplyError, UsageError, WindowError

T = TypeVar("T", bound=MemoryTask[Any])
Update = Mapping[str, Any]

UNANSWERED: Run = {"answer": "", "analysis": "", "answered": False, "quotes": [], "evidence": ""}


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything that one run needs: the documents, whoever shortens them, whoever answers.

    `window` is how many tokens a prompt over the memory may have. `task_aware`: gists are made for
    the question that is asked.
    """

    documents: Sequence[Document]
    gisting: Gisting
    decider: Decider
    look_up: LookUp
    window: int
    budget: Budget = field(default_factory=Budget)
    task_aware: bool = False


class Steps:
    """The steps of one run; what a step knows stands in the state alone."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._memory: GistMemory | None = None

    async def paginate(self, state: Run) -> Update:
        """Cut the documents into pages; whatever an earlier question left in the state goes."""
        check_question(state)
        pages, making = await self._desk.gisting.pages(self._desk.budget)
        return {
            **UNANSWERED,
            "gists": [],
            "looking": False,
            "looked_up": [],
            "shown": [],
            "pages": [_ref(page) for page in pages],
            "notes": Overwrite(making.notes()),
            "costs": Overwrite(making.costs),
        }

    async def gist(self, state: Run) -> Update:
        """Shorten every page."""
        desk = self._desk
        question = state["question"] if desk.task_aware else ""
        pages = self._pages(state)
        gists, making = await desk.gisting.gists(pages, question, desk.budget)
        return {
            "gists": list(gists),
            "looking": bool(pages) and desk.look_up.most > 0,
            "notes": making.notes(),
            "costs": making.costs,
        }

    async def look_up(self, state: Run) -> Update:
        """Choose pages. Where no decision can be had, the answer comes from what there is."""
        asking = _Asking(self._desk)
        options, read = tuple(state.get("options") or ()), tuple(state["looked_up"])
        at = Looking(state["question"], options, self.memory(state), read)
        try:
            looked = await self._desk.look_up.look(at, asking.ask)
        except (BudgetError, ReplyError) as error:
            looked = Looked((), notes=(f"Looking up pages ended early: {error}",))
        return {
            "looked_up": [*read, *looked.pages],
            "looking": looked.again,
            "shown": _united(state["shown"], asking.shown),
            "notes": list(looked.notes),
            "costs": asking.costs,
        }

    async def answer(self, state: Run) -> Update:
        """Answer from the memory, with the pages that were looked up in their places."""
        memory, asking = self.memory(state), _Asking(self._desk)
        if not memory.pages:
            return {**UNANSWERED, "notes": [NO_TEXT]}
        looked_up = state["looked_up"]
        parts = (state["question"], memory.remembered())
        kind = MemoryChoiceTask if state.get("options") else MemoryAnswerTask
        options = tuple(state.get("options") or ())
        decision, shown = await asking.ask(kind(*parts, read=tuple(looked_up), options=options))
        left_out = len(looked_up) - len(shown.read)
        return {
            **_answered(decision, options),
            "shown": _united(state["shown"], shown.read),
            "evidence": _evidence(memory, shown.read),
            "notes": [_too_much(left_out)] if left_out else [],
            "costs": asking.costs,
        }

    def memory(self, state: Run) -> GistMemory:
        """The gist memory as the state tells it; made once for these steps."""
        if self._memory is None:
            self._memory = GistMemory(tuple(self._pages(state)), tuple(state["gists"]))
        return self._memory

    def _pages(self, state: Run) -> list[Passage]:
        documents = {document.id: document for document in self._desk.documents}
        return [
            Passage(
                documents[page["document"]],
                page["index"],
                page["start"],
                documents[page["document"]].text[page["start"] : page["end"]],
                page["tokens"],
            )
            for page in state["pages"]
        ]


def check_question(state: Run) -> None:
    """Raise UsageError where nothing is asked."""
    question = state.get("question")
    if not isinstance(question, str) or not question.strip():
        raise UsageError("The question is empty: ask something.")


class _Asking:
    """Takes the decisions of one step; `shown` are the pages that stood there in full."""

    def __init__(self, desk: Desk) -> None:
        self.costs: Costs = {}
        self.shown: list[int] = []
        self._desk = desk

    async def ask(self, task: T) -> tuple[Any, T]:
        """The decision and the task as it was shown. Raises WindowError with what to do."""
        try:
            decided = await self._desk.decider.decide(self._within(task), self._desk.budget)
        except WindowError as error:
            raise self._too_large(task) from error
        except DecisionError as error:
            self._count(costs_of(error.spent, task.phase))
            raise
        self._count(costs_of(decided.usage, task.phase))
        shown = cast(T, decided.task)
        self.shown = _united(self.shown, shown.read)
        return decided.decision, shown

    def _within(self, task: T) -> T:
        """The task with as many of its pages in full as the window holds beside the gists.

        Whoever asks a model measures the whole prompt besides. Of the budget as much is kept back
        as the answer from this memory will need.
        """
        while (size := tokens.count(task.remembered())) > self._desk.window:
            if not task.choices:
                raise self._too_large(task)
            task = task.keeping(task.choices - 1)
        budget = self._desk.budget
        budget.answer_tokens = max(budget.answer_tokens, size + MemoryAnswerTask.reply_tokens)
        return task

    def _too_large(self, task: MemoryTask[Any]) -> WindowError:
        return WindowError(
            f"The gist memory of {len(task.memory):,} pages does not fit ReadAgent's window of "
            f"{self._desk.window:,} tokens: make larger pages, which are shortened more, or set "
            "GRAPHREADER_LONG_WINDOW higher."
        )

    def _count(self, costs: Costs) -> None:
        self.costs = add_costs(self.costs, costs)


def _ref(page: Passage) -> PageRef:
    return {
        "document": page.document.id,
        "title": page.document.title,
        "index": page.index,
        "start": page.start,
        "end": page.start + len(page.text),
        "tokens": page.tokens,
    }


def _united(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return list(dict.fromkeys((*one, *other)))


def _answered(decision: Any, options: Sequence[str]) -> Update:
    """The answer; of options the chosen one, in its own words."""
    answer = options[decision.option - 1] if options else decision.answer.strip()
    return {
        "answer": answer,
        "answered": True if options else decision.answered,
        "analysis": decision.analysis,
        "quotes": decision.quotes,
    }


def _evidence(memory: GistMemory, read: Sequence[int]) -> str:
    """What was reviewed last: the pages that were looked up, in their order, or all gists."""
    pages = [memory.pages[number - 1].text.strip() for number in sorted(read)]
    return "\n\n".join(pages or memory.gists)


def _too_much(pages: int) -> str:
    what = "One page that was looked up does" if pages == 1 else f"{pages} pages looked up do"
    return f"{what} not fit the window: the gist stood in its place."
