"""The decider without a language model, network or API key: one rule for each class of task."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from graphreader.agent import tasks
from graphreader.agent.adaptive.sweep import CollectTask
from graphreader.agent.adaptive.tasks import TurnTask
from graphreader.agent.decisions import ClaimCheck
from graphreader.errors import UsageError
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget, Decision, DecisionResult, Task, TokenCallback
from graphreader.llm.window import RenderedPrompt, fit
from graphreader.offline import answering, exploration
from graphreader.offline.adaptive import collect, take_turn
from graphreader.offline.facts import extraction_of
from graphreader.reading import OFFLINE
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)
RULES: Mapping[type[Task[Any]], Callable[[Any], Decision]] = {
    ExtractionTask: lambda task: extraction_of(task.text),
    tasks.PlanTask: lambda task: exploration.plan(task.question, task.earlier),
    tasks.InitialNodesTask: exploration.choose_initial_nodes,
    tasks.FactsTask: exploration.choose_chunks,
    tasks.ChunkTask: exploration.read_chunk,
    tasks.NeighborTask: exploration.choose_neighbor,
    tasks.CondenseTask: exploration.condense,
    tasks.AnswerTask: answering.answer_from_notebooks,
    tasks.ClaimCheckTask: lambda _: ClaimCheck(claims=[], confidence="stated", explanation=""),
    TurnTask: take_turn,
    CollectTask: collect,
}
"""The rule that decides each class of task, and its subclasses; other tasks have `by_rule`."""


class OfflineDecider:
    """A decider without a model: by weighted word overlap and names; its answers are quotes.

    With a `window` it sees only the items that a prompt of that many tokens would show. Its usage
    then has the prompt's `input_tokens` as estimated tokens, which no token budget counts.
    """

    name = OFFLINE
    prompts = "offline-1"
    notice = (
        "No language model is in use: instead of an answer there are passages, ranked by the words "
        "that they share with the question (set OPENAI_API_KEY or GRAPHREADER_MODEL for answers)."
    )
    concurrency = 2  # it computes and never waits, so a higher number gains nothing

    def __init__(self, window: int | None = None, prompt_texts: Prompts | None = None) -> None:
        self._window = window
        self._prompt_texts = prompt_texts

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Take one decision by the rule of its task; it costs a call. Raises WindowError."""
        usage = Usage(calls=1)
        if self._window is not None:
            fitted = self._fit(task, self._window)
            task, usage = fitted.task, replace(usage, input_tokens=fitted.tokens, estimated=1)
        if budget:
            await budget.take(0, task.phase)
        if isinstance(task, tasks.FactsTask):
            few = min(task.own_choices, exploration.MOST_FACTS)
            task = cast(Task[D], task.keeping_own(few))
        return DecisionResult(_decision(task), task, usage)

    def measure(self, task: Task[Any]) -> int:
        """Count the tokens of a task's prompt; 0 without a window. Raises WindowError."""
        return 0 if self._window is None else self._fit(task, self._window).tokens

    async def aclose(self) -> None:
        """Do nothing: no client is open."""

    def _fit(self, task: Task[D], window: int) -> RenderedPrompt[D]:
        return fit(task, "schema", window, prompts=self._prompt_texts or Prompts())


def _decision(task: Task[D]) -> D:
    for kind in type(task).__mro__:
        if rule := RULES.get(kind):
            return cast(D, rule(task))
    if task.phase == "rate":
        raise UsageError(
            "Only a language model can rate answers: set GRAPHREADER_RATER_MODEL, or rate by "
            "exact match and F1 alone."
        )
    return task.by_rule()
