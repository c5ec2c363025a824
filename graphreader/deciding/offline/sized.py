"""The offline decider inside a window: it is shown what a model would have been sent, no more."""

from dataclasses import replace
from typing import Any, TypeVar

from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decided, Heard
from graphreader.deciding.decisions import Decision
from graphreader.deciding.fitting import Fitted, fit
from graphreader.deciding.offline.decider import OfflineDecider
from graphreader.deciding.prompting import Prompts
from graphreader.deciding.tasks import Task

D = TypeVar("D", bound=Decision)


class SizedOfflineDecider(OfflineDecider):
    """Decides over what of a task fits into `window`, and counts the prompt.

    Usage has its tokens as `input_tokens`, marked as estimated. For measuring readers against each
    other; a budget in tokens does not see them.
    """

    def __init__(self, window: int, prompts: Prompts) -> None:
        self._window = window
        self._prompts_shown = prompts

    def measure(self, task: Task[Any]) -> int:
        """How many tokens the task's prompt has. Raises WindowError."""
        return self._fit(task).tokens

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: Heard | None = None
    ) -> Decided[D]:
        """Take one decision. Raises WindowError for a prompt that does not fit."""
        fitted = self._fit(task)
        decided = await super().decide(fitted.task, budget, heard)
        usage = replace(decided.usage, input_tokens=fitted.tokens, estimated=1)
        return replace(decided, usage=usage)

    def _fit(self, task: Task[D]) -> Fitted[D]:
        return fit(task, "schema", self._window, prompts=self._prompts_shown)
