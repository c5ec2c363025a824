"""The offline decider with the sizes of the prompts that a model would have been sent."""

from dataclasses import replace
from typing import TypeVar

from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decided, Heard
from graphreader.deciding.decisions import Decision
from graphreader.deciding.fitting import fit
from graphreader.deciding.offline.decider import OfflineDecider
from graphreader.deciding.prompting import Prompts
from graphreader.deciding.tasks import Task
from graphreader.errors import WindowError

D = TypeVar("D", bound=Decision)


class SizedOfflineDecider(OfflineDecider):
    """Decides the same, and counts each prompt as it would fit into `window`.

    Usage has these tokens as `input_tokens`, marked as estimated. For measuring readers against
    each other; a budget in tokens does not see them.
    """

    def __init__(self, window: int, prompts: Prompts) -> None:
        self._window = window
        self._prompts_shown = prompts

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: Heard | None = None
    ) -> Decided[D]:
        """Take one decision, as without a count."""
        decided = await super().decide(task, budget, heard)
        try:
            fitted = fit(task, "schema", self._window, prompts=self._prompts_shown)
        except WindowError:
            return decided  # such a prompt is never sent
        usage = replace(decided.usage, input_tokens=fitted.tokens, estimated=1)
        return replace(decided, usage=usage)
