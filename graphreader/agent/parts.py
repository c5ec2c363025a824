"""What the steps of a run are made of: who decides, where they look, how far they may go."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TypeVar, cast

from langgraph.runtime import Runtime

from graphreader.agent.likeness import Likeness
from graphreader.agent.state import Costs
from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider, Heard
from graphreader.deciding.tasks import Task
from graphreader.errors import DecisionError
from graphreader.store.explorer import GraphExplorer
from graphreader.usage import Phase, Usage

T = TypeVar("T", bound=Task[Any])
Update = Mapping[str, Any]


class Step(Protocol):
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
class Parts:
    """Everything that one run needs. Other parts make another agent.

    `tokens`: whether somebody wants to hear the answer while it is written.
    """

    explorer: GraphExplorer
    decider: Decider
    likeness: Likeness
    limits: Limits
    budget: Budget = field(default_factory=Budget)
    tokens: bool = False

    async def decide(self, task: T, heard: Heard | None = None) -> tuple[Any, T, Costs]:
        """Take a decision; returns it with the task as it was shown, and what it cost."""
        decided = await self.decider.decide(task, self.budget, heard)
        return decided.decision, cast(T, decided.task), costs_of(decided.usage, task.phase)
