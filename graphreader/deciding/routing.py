"""Two deciders as one: one that explores, another that answers."""

from contextlib import AsyncExitStack
from typing import Any, TypeVar

from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decided, Decider, Heard
from graphreader.deciding.decisions import Decision
from graphreader.deciding.tasks import Task

D = TypeVar("D", bound=Decision)


class RoutingDecider:
    """Hands tasks of the answer's phase to `answerer`, all others to `explorer`."""

    def __init__(self, explorer: Decider, answerer: Decider) -> None:
        self.name = f"{explorer.name}, answers by {answerer.name}"
        versions = dict.fromkeys((explorer.prompts, answerer.prompts))
        self.prompts = ", ".join(versions)
        self.concurrency = explorer.concurrency  # an answer is one decision
        self._explorer = explorer
        self._answerer = answerer

    @property
    def notice(self) -> str:
        """What either has to say."""
        notices = dict.fromkeys((self._explorer.notice, self._answerer.notice))
        return " ".join(notice for notice in notices if notice)

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: Heard | None = None
    ) -> Decided[D]:
        """Have it decided by the one whose task it is."""
        return await self._decider_of(task).decide(task, budget, heard)

    def measure(self, task: Task[Any]) -> int:
        """How many tokens the prompt has for the one whose task it is."""
        return self._decider_of(task).measure(task)

    async def aclose(self) -> None:
        """Close both, also where one of them fails."""
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self._explorer.aclose)
            closing.push_async_callback(self._answerer.aclose)

    def _decider_of(self, task: Task[Any]) -> Decider:
        return self._answerer if task.phase == "answer" else self._explorer
