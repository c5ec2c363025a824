"""The one narrow door to whatever takes decisions; nobody else knows what stands behind it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from graphreader.deciding.budget import Budget
from graphreader.deciding.decisions import Decision
from graphreader.deciding.tasks import Task
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)

Heard = Callable[[str, bool], None]
"""Takes a piece of an answer as it is written, and whether it begins one: then what was heard
before is void. For the event loop in which the decision is asked for; it must not wait."""


@dataclass(frozen=True, slots=True)
class Decided(Generic[D]):
    """A decision, the task as it was really shown (some choices may be left out), and the cost."""

    decision: D
    task: Task[D]
    usage: Usage = field(default_factory=Usage)


class Decider(Protocol):
    """Takes the decisions that reading and exploring need.

    `name` is what a corpus and a reading record ("offline", "openai:gpt-5.4-mini"); `prompts` is
    the version of its prompts or rules; `notice` is a sentence that a person must see wherever the
    decider could be mistaken for something that it is not, or empty; `concurrency` is how many
    decisions may run at once.
    """

    name: str
    prompts: str
    concurrency: int

    @property
    def notice(self) -> str:
        """See the class."""
        ...

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: Heard | None = None
    ) -> Decided[D]:
        """Take one decision, valid for the task (`task.problem(decision)` is None).

        What it costs is taken from the budget of the run. `heard` is told the pieces of an
        `Answer.answer` while a model writes it, as far as that can be: who listens must be content
        with none, and with some that are not those of the decision in the end. Raises
        DecisionError where no decision can be had; a BudgetError before anything is spent that may
        not be.
        """
        ...

    def measure(self, task: Task[Any]) -> int:
        """How many tokens the task's prompt has; 0 where nothing is sent.

        Raises WindowError where it does not fit the window.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
