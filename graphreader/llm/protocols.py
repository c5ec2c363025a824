"""The one narrow door to whatever takes decisions; nobody else knows what stands behind it.

The door to whatever turns words into vectors.

What one run may spend, so that it ends in good order with what it has.

Whoever decides takes what a request may cost at most before it is sent, and settles afterwards
what it really cost. So neither limit is passed, also where several paths ask at once. A part is
kept back for the answer: a run that may explore no further can still answer from its notebooks.

`max_tokens` is kept as well as a request's cost can be told before: a service that takes no limit
for its replies, or whose tokenizer counts more than ours, may pass it by what the requests under
way cost beyond that. What they really cost counts for every later one.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from graphreader.errors import BudgetError
from graphreader.usage import Phase, Usage


@dataclass(slots=True)
class Budget:
    """At most `max_calls` replies and `max_tokens` tokens in and out; None: as many as it takes.

    `answer_tokens` is what is kept back for the answer, with one call; 0: nothing is.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    answer_tokens: int = 0
    _calls: int = field(default=0, init=False)
    _tokens: int = field(default=0, init=False)

    def take(self, tokens: int, phase: Phase) -> None:
        """Set aside one call and so many tokens. Raises BudgetError where they are not there."""
        keeps = self._keeps_back(phase)
        if self.max_calls is not None and self._calls + 1 + keeps > self.max_calls:
            raise self._refusal("max_calls", self.max_calls, 1, 1 if keeps else 0)
        if self.max_tokens is not None and tokens > self.left(phase):
            kept = self.answer_tokens if keeps else 0
            raise self._refusal("max_tokens", self.max_tokens, tokens, kept)
        self._calls += 1
        self._tokens += tokens

    def settle(self, taken: int, spent: Usage) -> None:
        """Put back what was set aside for one call and count what it really cost."""
        self._calls += spent.calls - 1
        self._tokens += spent.tokens - taken

    def count(self, spent: Usage) -> None:
        """Count what an earlier part of the run has cost."""
        self._calls += spent.calls
        self._tokens += spent.tokens

    def left(self, phase: Phase) -> float:
        """Tokens that a request may still take; infinitely many without a limit."""
        if self.max_tokens is None:
            return math.inf
        kept = self.answer_tokens if self._keeps_back(phase) else 0
        return self.max_tokens - self._tokens - kept

    def _keeps_back(self, phase: Phase) -> bool:
        return self.answer_tokens > 0 and phase != "answer"

    def _refusal(self, limit: str, value: int, asked: int, kept: int) -> BudgetError:
        option = f"--{limit.replace('_', '-')}"
        if self._calls:
            return BudgetError(
                f"The budget of this run is used up: {limit} is {value:,}. For more, set {option} "
                "higher."
            )
        # Nothing was asked yet, nor is anything under way.
        back = f", with the {kept:,} that are kept back for the answer" if kept else ""
        return BudgetError(
            f"The budget of this run is too small: {limit} is {value:,}, but the first request may "
            f"need {asked + kept:,}{back}: set {option} to that at least, better to far more."
        )


class Decision(BaseModel):
    """What every decision has in common: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class Worded(Protocol):
    """What gives an answer in free words, or says that there is none."""

    answer: str
    answered: bool


def wordless(decision: Worded) -> str | None:
    """Why an answer cannot be taken that is said to be one, and has no words."""
    if decision.answered and not decision.answer.strip():
        return "The answer is empty: give it, or set answered to false."
    return None


D = TypeVar("D", bound=Decision)

ROOM_TO_THINK = 4096
"""Tokens of output that a model which thinks first gets beside its reply."""

LONGEST_REPLY = 1500
"""Tokens of the longest reply that a task asks for."""


@dataclass(frozen=True, slots=True)
class Task(Generic[D]):
    """One decision to take. `prompt` names the prompt file, `decision` the class of the answer.

    `phase` is what it is taken for; `reply_tokens` is how long the reply may be, without what a
    model thinks first. A `divisible` task whose reply is cut off is not asked again: whoever asks
    makes two of it. The `answer` of a `streamed` task can be followed while it is written.
    """

    prompt: ClassVar[str]
    decision: ClassVar[type[Decision]]
    phase: ClassVar[Phase]
    reply_tokens: ClassVar[int]
    divisible: ClassVar[bool] = False
    streamed: ClassVar[bool] = False

    def values(self) -> Mapping[str, str]:
        """What stands in the prompt's `$name` places."""
        raise NotImplementedError

    @property
    def fewest(self) -> int:
        """How few of its choices may be shown."""
        return 0

    def problem(self, decision: D) -> str | None:
        """Why the decision cannot be carried out, as a sentence for who took it; None if it can."""
        return None

    def shortcoming(self, decision: D) -> str | None:
        """What a decision that can be carried out lacks. It is sent back once, then taken as is."""
        return None

    @property
    def choices(self) -> int:
        """How many ranked things are shown; fewer can be shown with `keeping`."""
        return 0

    def keeping(self, number: int) -> Self:
        """The same task with only the best `number` of its choices."""
        raise ValueError(f"{type(self).__name__} has nothing to leave out")


def folded(text: str) -> str:
    """In one line, with single spaces."""
    return " ".join(text.split())


def names(items: Sequence[str]) -> str:
    """Numbered names, each in one line."""
    return numbered([folded(item) for item in items])


def labelled(word: str, items: Sequence[str]) -> str:
    """The items, each after its name, "Notebook 1: ..." and so on.

    Further lines of an item are indented, so that none can pass for another item.
    """
    shown = [item.replace("\n", "\n  ") or "(empty)" for item in items]
    return "\n".join(f"{word} {number}: {item}" for number, item in enumerate(shown, 1))


def numbered(items: Sequence[str]) -> str:
    """The items, each on a new line, "[1] ..." and so on."""
    return "\n".join(f"[{number}] {item}" for number, item in enumerate(items, 1))


def bulleted(items: Sequence[str]) -> str:
    """One item a line, or "(none)"."""
    return "\n".join(f"- {folded(item)}" for item in items) or "(none)"


TokenCallback = Callable[[str, bool], None]
"""Takes a piece of an answer as it is written, and whether it begins one: then what was heard
before is void. For the event loop in which the decision is asked for; it must not wait."""


@dataclass(frozen=True, slots=True)
class DecisionResult(Generic[D]):
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
        self, task: Task[D], budget: Budget | None = None, heard: TokenCallback | None = None
    ) -> DecisionResult[D]:
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


class Embedder(Protocol):
    """Turns texts into vectors whose cosine tells how alike they are.

    `name` is what a corpus records ("offline-1", "openai:text-embedding-3-small");
    `dimension` is the length of every vector. No vector is all zeros: Neo4j refuses such.
    """

    name: str
    dimension: int

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in the same order. Raises DecisionError where none can be had."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
