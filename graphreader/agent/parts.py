"""What the steps of a run are made of: who decides, where they look, how far they may go."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from graphreader.agent.state import Cost
from graphreader.deciding.decider import Decider
from graphreader.deciding.decisions import Decision
from graphreader.deciding.embedder import Embedder
from graphreader.deciding.tasks import Task
from graphreader.store.explorer import GraphExplorer

D = TypeVar("D", bound=Decision)
Update = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """N and the call limit of the paper (section 4.1), and the window of one prompt in tokens."""

    initial_nodes: int = 5
    calls: int = 10
    window: int = 4096


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that a run needs. Other parts make another agent."""

    explorer: GraphExplorer
    decider: Decider
    embedder: Embedder
    limits: Limits

    async def decide(self, task: Task[D]) -> tuple[D, Cost]:
        """Take a decision, and say what it cost."""
        decided = await self.decider.decide(task)
        usage = decided.usage
        return decided.decision, {
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        }
