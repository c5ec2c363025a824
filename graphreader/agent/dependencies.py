"""What the steps of a run are made of: who decides, where they look, how far they may go.

How alike texts are in meaning: their vectors, each asked for once.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TypeVar, cast

from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from graphreader.agent.state import Costs
from graphreader.errors import BudgetError, DecisionError, GraphReaderError
from graphreader.llm.protocols import Budget, Decider, Embedder, Task, TokenCallback
from graphreader.llm.providers import redacted
from graphreader.settings import secrets
from graphreader.store.explorer import GraphExplorer
from graphreader.usage import Phase, Usage

REMEMBERED = 256
"""Vectors that are kept; a question with its plan and needs has about ten."""


class QueryVectors:
    """The vectors of what a run looks for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, list[float]] = OrderedDict()

    async def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in the same order. Raises DecisionError where none can be had."""
        vectors = {text: self._known[text] for text in texts if text in self._known}
        new = [text for text in dict.fromkeys(texts) if text not in vectors]
        if new:
            vectors |= zip(new, await self._embedder.embed(new), strict=True)
        for text, vector in vectors.items():
            self._known[text] = vector
            self._known.move_to_end(text)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return [vectors[text] for text in texts]

    async def middle(self, texts: Sequence[str]) -> list[float]:
        """The mean of the texts' vectors: what is like all of them. Raises DecisionError."""
        columns = zip(*await self.vectors(texts), strict=True)
        return [sum(column) / len(texts) for column in columns]


T = TypeVar("T", bound=Task[Any])
Update = Mapping[str, Any]


class NodeFunction(Protocol):
    """A step of the run or of a path, as LangGraph calls it."""

    async def __call__(self, state: Any, runtime: Runtime[Any]) -> Update:
        """From what is known to what changes."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """N and the call limit of the paper (section 4.1), and the window of one prompt in tokens."""

    initial_nodes: int = 5
    calls: int = 10
    window: int = 4096


def spent(error: Exception, phase: Phase) -> Costs:
    """What was paid for nothing."""
    return costs_of(error.spent if isinstance(error, DecisionError) else Usage(), phase)


def costs_of(usage: Usage, phase: Phase) -> Costs:
    """The cost of one decision, in plain types."""
    return {phase: asdict(usage)} if usage != Usage() else {}


@dataclass(frozen=True, slots=True)
class AgentDependencies:
    """Everything that one run needs. Other parts make another agent.

    `tokens`: whether somebody wants to hear the answer while it is written.
    """

    explorer: GraphExplorer
    decider: Decider
    likeness: QueryVectors
    limits: Limits
    budget: Budget = field(default_factory=Budget)
    tokens: bool = False

    async def decide(self, task: T, heard: TokenCallback | None = None) -> tuple[Any, T, Costs]:
        """Take a decision; returns it with the task as it was shown, and what it cost."""
        decided = await self.decider.decide(task, self.budget, heard)
        return decided.decision, cast(T, decided.task), costs_of(decided.usage, task.phase)


NOT_OURS = (GraphBubbleUp, AssertionError)
"""What no path ends by: how LangGraph interrupts a step, and mistakes in a program."""


def stop(error: Exception) -> Update:
    """How a path ends that cannot go on; what nobody foresaw is told with its kind."""
    if isinstance(error, GraphReaderError):
        stopped = "budget" if isinstance(error, BudgetError) else "error"
        return {"stopped": stopped, "error": str(error)}
    told = redacted(f"{type(error).__name__}: {error}", secrets())
    return {"stopped": "error", "error": told}
