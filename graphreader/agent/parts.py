"""What the steps of a run are made of: who decides, where they look, how far they may go."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from graphreader.agent.state import Cost
from graphreader.deciding.decider import Decider
from graphreader.deciding.embedder import Embedder
from graphreader.deciding.tasks import Task
from graphreader.errors import DecisionError, GraphReaderError
from graphreader.store.explorer import GraphExplorer

T = TypeVar("T", bound=Task[Any])
Update = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """N and the call limit of the paper (section 4.1), and the window of one prompt in tokens."""

    initial_nodes: int = 5
    calls: int = 10
    window: int = 4096


def spent(error: GraphReaderError) -> Cost:
    """What was paid for nothing."""
    return _cost(*error.spent) if isinstance(error, DecisionError) else _cost(0, 0, 0)


def _cost(calls: int, input_tokens: int, output_tokens: int) -> Cost:
    return {"calls": calls, "input_tokens": input_tokens, "output_tokens": output_tokens}


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that a run needs. Other parts make another agent."""

    explorer: GraphExplorer
    decider: Decider
    embedder: Embedder
    limits: Limits

    async def decide(self, task: T) -> tuple[Any, T, Cost]:
        """Take a decision; returns it with the task as it was shown, and what it cost."""
        decided = await self.decider.decide(task)
        usage = decided.usage
        cost = _cost(usage.calls, usage.input_tokens, usage.output_tokens)
        return decided.decision, cast(T, decided.task), cost
