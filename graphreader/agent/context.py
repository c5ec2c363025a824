"""The context of a run, which its nodes share: graph, decider, vectors, limits and budget."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langgraph.errors import GraphBubbleUp
from langgraph.func import task as langgraph_task

from graphreader.agent.state import Costs
from graphreader.errors import BudgetError, DecisionError, GraphReaderError
from graphreader.llm.cache import decision_record, key_of, restore_decision
from graphreader.llm.protocols import (
    Budget,
    Decider,
    DecisionResult,
    Embedder,
    Task,
    TokenCallback,
    embed_all,
)
from graphreader.settings import SweepChoice, redact
from graphreader.store.explorer import GraphExplorer
from graphreader.usage import Phase, Usage

if TYPE_CHECKING:
    from graphreader.agent.graph import NodeSet

T = TypeVar("T", bound=Task[Any])
Update = Mapping[str, Any]  # what a node changes in the state

NodeFunction = Callable[..., Awaitable[Update]]
"""A node of the agent's graph, as LangGraph calls it: with the state and `runtime`."""

NOT_OURS = (GraphBubbleUp, AssertionError)
"""Exceptions that end no path: LangGraph's interrupts, and mistakes in the program."""


@dataclass(frozen=True, slots=True)
class Limits:
    """N and the call limit of the paper (section 4.1), and the window of one prompt in tokens.

    `sweep` says whether mode `adaptive` may read all texts for a question, and `sweep_tokens` how
    many tokens of them at most; `second_try`, whether it explores before an answer that is likely.
    """

    initial_nodes: int = 5
    calls: int = 10
    window: int = 4096
    sweep: SweepChoice = "auto"
    sweep_tokens: int = 100_000
    second_try: bool = False

    @property
    def path_decisions(self) -> int:
        """The most decisions of a path: its calls, and one on a chunk that the last call chose."""
        return self.calls + 1


MOST_VECTORS = 256
"""Vectors of queries that are kept; one of 1,536 numbers takes about 50 KB."""


class QueryVectors:
    """A cache of the vectors of queries: a text of a run is embedded once, in all its nodes."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._cache: dict[str, list[float]] = {}

    async def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text, in order. Raises DecisionError."""
        known = {text: self._cache[text] for text in texts if text in self._cache}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            embedded = dict(zip(new, await embed_all(self._embedder, new), strict=True))
            known |= embedded
            self._cache |= embedded
            for oldest in list(self._cache)[:-MOST_VECTORS]:
                del self._cache[oldest]
        return [known[text] for text in texts]

    async def mean(self, texts: Sequence[str]) -> list[float]:
        """Return the mean of the texts' vectors. Raises DecisionError."""
        columns = zip(*await self.vectors(texts), strict=True)
        return [sum(column) / len(texts) for column in columns]


@dataclass(frozen=True, slots=True)
class RunContext:
    """The context of one run: everything that its nodes need besides their state.

    Our own runs pass it to LangGraph as their context. `nodes` are classes in place of the usual
    nodes, `notes` are sentences with which the reading's notes begin.
    `checkpointed`: LangGraph saves each decision. `earlier` has the decisions of nodes that a
    repaired run repeats, by task key. `unsaved`: decisions that LangGraph has not saved yet.
    After `stopping` is set, no new decision starts.
    """

    explorer: GraphExplorer
    decider: Decider
    vectors: QueryVectors
    limits: Limits
    budget: Budget = field(default_factory=Budget)
    nodes: "NodeSet | None" = None
    notes: list[str] = field(default_factory=list)
    stream_answer: bool = False
    checkpointed: bool = False
    earlier: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    unsaved: set[asyncio.Future[DecisionResult[Any]]] = field(default_factory=set)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def decide(self, task: T, on_token: TokenCallback | None = None) -> tuple[Any, T, Costs]:
        """Take a decision. Returns it with the task as it was shown, and its cost."""
        if self.checkpointed:
            result = await self._decide_once(task, on_token)
        else:
            result = await self.decider.decide(task, self.budget, on_token)
        return result.decision, cast(T, result.task), costs_of(result.usage, task.phase)

    async def _decide_once(
        self, task: Task[Any], on_token: TokenCallback | None
    ) -> DecisionResult[Any]:
        """Take a decision that is kept, or return the kept one."""
        shown = [part for pair in sorted(task.values().items()) for part in pair]
        key = key_of(task.prompt, task.phase, *shown)
        while True:
            future: asyncio.Future[DecisionResult[Any]] = asyncio.get_running_loop().create_future()
            self.unsaved.add(future)
            try:
                record = await _decide(self, task, key, on_token, future)
            finally:
                self.unsaved.discard(future)
            if future.done():  # it may show another selection than the first choices of the task
                return future.result()
            if kept := _kept_result(task, key, record):
                self.budget.count(kept.usage)
                return kept
            # Else it was kept for another prompt: the graph has changed since.

    async def stop(self) -> None:
        """Start no further decision, and wait until LangGraph has saved the latest decisions."""
        self.stopping.set()
        while any(future.done() for future in self.unsaved):
            await asyncio.sleep(0)


async def _take_decision(
    context: RunContext,
    task: Task[Any],
    key: str,
    on_token: TokenCallback | None,
    future: asyncio.Future[DecisionResult[Any]],
) -> dict[str, Any]:
    """Take a decision and return it in plain JSON types; `future` gets the result itself."""
    if context.stopping.is_set():
        await asyncio.Event().wait()  # until LangGraph cancels the task
    while context.earlier.get(key):
        record = context.earlier[key].pop(0)
        if result := _kept_result(task, key, record):
            future.set_result(result)  # the budget has counted it with the step that is repeated
            return record
    result = await context.decider.decide(task, context.budget, on_token)
    future.set_result(result)
    return {"prompt": key, **decision_record(result), "usage": asdict(result.usage)}


_decide = cast(
    Callable[..., Awaitable[dict[str, Any]]],
    cast(Any, langgraph_task)(_take_decision, name="decide"),
)
"""A LangGraph task: its result is checkpointed; `future` gets none if the checkpoint has it."""


def _kept_result(task: Task[Any], key: str, record: dict[str, Any]) -> DecisionResult[Any] | None:
    """The decision of a checkpoint, with its cost; None if it does not suit the task."""
    result = restore_decision(task, record) if record["prompt"] == key else None
    return replace(result, usage=Usage(**record["usage"])) if result else None


def wasted_costs(error: Exception, phase: Phase) -> Costs:
    """The cost of a decision that failed."""
    return costs_of(error.spent if isinstance(error, DecisionError) else Usage(), phase)


def costs_of(usage: Usage, phase: Phase) -> Costs:
    """The cost of one decision, in plain JSON types."""
    return {phase: asdict(usage)} if usage != Usage() else {}


def end_with_error(error: Exception) -> Update:
    """End a path because of an error; an unforeseen one is reported with its type."""
    stopped, message = "budget" if isinstance(error, BudgetError) else "error", str(error)
    if not isinstance(error, GraphReaderError):
        message = redact(f"{type(error).__name__}: {error}")
    return {"stopped": stopped, "error": message}
