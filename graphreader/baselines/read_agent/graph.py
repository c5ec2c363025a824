"""ReadAgent as a graph of LangGraph: paginate, gist, look_up (again and again), answer.

Nothing but wiring: the steps stand in `steps`. A reader's deciders belong to its own event loop, so
a graph that is run elsewhere, in LangGraph Studio, takes each step there.

The steps of a run, named after the paper: paginate, gist, look_up, answer.

What a run knows, in plain JSON types only: so it can be stored, shown and resumed.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, Protocol, TypeVar, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Checkpointer, Overwrite
from typing_extensions import TypedDict

from graphreader import tokens as tokens_module
from graphreader.agent.dependencies import costs_of
from graphreader.agent.state import Costs, add_costs, total_usage
from graphreader.baselines.read_agent.gists import Gisting, GistMemory
from graphreader.baselines.read_agent.look_up import Looked, Looking, LookUp
from graphreader.baselines.read_agent.tasks import MemoryAnswerTask, MemoryChoiceTask, MemoryTask
from graphreader.baselines.session import NO_TEXT, TextPassage
from graphreader.documents import Document
from graphreader.errors import BudgetError, DecisionError, ReplyError, UsageError, WindowError
from graphreader.llm.protocols import Budget, Decider


class PageRef(TypedDict):
    """A page: a slice of the document of that id, `index` counts from 0 within it."""

    document: str
    title: str
    index: int
    start: int
    end: int
    tokens: int


class Question(TypedDict):
    """What the world puts in; with `options` one of them is to be chosen."""

    question: str
    options: NotRequired[list[str]]


class Answered(TypedDict):
    """What the world gets back. `looked_up` and `shown` are numbers of pages, as in `Run`."""

    answer: str
    analysis: str
    answered: bool
    quotes: list[str]
    looked_up: list[int]
    shown: list[int]
    evidence: str
    notes: list[str]
    costs: Costs


def add_notes(one: list[str], other: list[str]) -> list[str]:
    """Both, each note once."""
    return list(dict.fromkeys([*one, *other]))


class Run(TypedDict, total=False):
    """What the whole run knows.

    `gists[n]` is that of `pages[n]`, which in prompts is page n + 1. `looking` says whether pages
    are (still) to be looked up. `looked_up` are their numbers, in the order in which they were
    chosen; `shown` those that stood in a prompt in full. `evidence` is what the answer was drawn
    from.
    """

    question: str
    options: list[str]
    pages: list[PageRef]
    gists: list[str]
    looking: bool
    looked_up: list[int]
    shown: list[int]
    answer: str
    analysis: str
    answered: bool
    quotes: list[str]
    evidence: str
    notes: Annotated[list[str], add_notes]
    costs: Annotated[Costs, add_costs]


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

    def _pages(self, state: Run) -> list[TextPassage]:
        documents = {document.id: document for document in self._desk.documents}
        return [
            TextPassage(
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
        while (size := tokens_module.count(task.remembered())) > self._desk.window:
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


def _ref(page: TextPassage) -> PageRef:
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


FIRST = "paginate"

# The words on the edges.
LOOK_UP = "look up"
GISTS_ONLY = "gists only, no text"
ONE_MORE = "one more page"
ENOUGH = "stop, number of pages, nothing left, budget"
Agent = CompiledStateGraph[Run, Any, Question, Answered]


class Place(Protocol):
    """Where the steps of a run are taken: whose documents and deciders, in which event loop."""

    async def desk(self) -> Desk:
        """What a step needs, with a budget of its own; called in the loop of `arun`."""
        ...

    async def arun(self, work: Coroutine[Any, Any, Update]) -> Update:
        """Do the work where the deciders live."""
        ...


Source = Callable[[Runtime[Any]], Awaitable[Place]]
"""Whose place it is, by what the run was given as its context."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The steps of the drawing, by their names."""

    paginate: Callable[..., Awaitable[Update]]
    gist: Callable[..., Awaitable[Update]]
    look_up: Callable[..., Awaitable[Update]]
    answer: Callable[..., Awaitable[Update]]

    @classmethod
    def of(cls, steps: Steps) -> "Nodes":
        """The steps of one run."""
        return cls(steps.paginate, steps.gist, steps.look_up, steps.answer)


def read_agent_graph(source: Source, context_schema: type[Any] | None = None) -> Agent:
    """The graph for whoever runs it elsewhere; nothing is opened before its first step.

    It keeps nothing itself: checkpoints are those of whoever runs it. Its steps raise what an ask
    raises.
    """

    def named(name: str) -> Callable[..., Awaitable[Update]]:
        async def step(state: Run, runtime: Runtime[Any]) -> Update:
            place = await source(runtime)
            return await place.arun(_taken(name, place, state))

        return step

    return wired(Nodes(*map(named, Nodes.__slots__)), context_schema=context_schema)


def wired(
    nodes: Nodes,
    checkpointer: Checkpointer = None,
    context_schema: type[Any] | None = None,
) -> Agent:
    """The graph out of any steps. Which pages are looked up, and how, the steps decide."""
    graph = StateGraph(Run, context_schema, input_schema=Question, output_schema=Answered)
    graph.add_node("paginate", nodes.paginate)
    graph.add_node("gist", nodes.gist)
    graph.add_node("look_up", nodes.look_up)
    graph.add_node("answer", nodes.answer)
    graph.add_edge(START, "paginate")
    graph.add_edge("paginate", "gist")
    graph.add_conditional_edges("gist", after_gist, {LOOK_UP: "look_up", GISTS_ONLY: "answer"})
    graph.add_conditional_edges("look_up", after_look_up, {ONE_MORE: "look_up", ENOUGH: "answer"})
    graph.add_edge("answer", END)
    return graph.compile(name="read_agent", checkpointer=checkpointer)


def after_gist(state: Run) -> str:
    """Whether any page is to be looked up."""
    return LOOK_UP if state["looking"] else GISTS_ONLY


def after_look_up(state: Run) -> str:
    """Whether one more page is to be looked up: in sequence only."""
    return ONE_MORE if state["looking"] else ENOUGH


async def _taken(name: str, place: Place, state: Run) -> Update:
    check_question(state)
    desk = await place.desk()
    if name != FIRST:  # the first step begins anew, also on a thread that was used before
        desk.budget.count(total_usage(state.get("costs", {})))
    step: Callable[[Run], Awaitable[Update]] = getattr(Steps(desk), name)
    return await step(state)
