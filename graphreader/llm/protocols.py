"""The interfaces between readers and models: Task, Decision, Decider, Embedder and Budget."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

from graphreader.errors import BudgetError, DecisionError
from graphreader.usage import Phase, Usage

ROOM_TO_THINK = 4096
"""Tokens of output that a reasoning model may use in addition to its reply."""

LONGEST_REPLY = 4096
"""Largest reply, in tokens, that a task may request: enough for all facts of a chunk of 2,000
tokens (about 50 facts; paper, table 8)."""


class Quota(Protocol):
    """A quota shared by several runs, e.g. an access token's calls per day."""

    async def check(self) -> None:
        """Raise BudgetError if nothing is left."""
        ...

    async def check_holder(self) -> None:
        """Raise BudgetError if the holder of the quota is no longer allowed to use it."""
        ...

    async def take(self, tokens: int) -> None:
        """Reserve one call and `tokens` tokens. Raises BudgetError if they are not left."""
        ...

    async def settle(self, calls: int, tokens: int) -> None:
        """Add the difference between the real cost of a request and what it had reserved."""
        ...


@dataclass(slots=True)
class Budget:
    """The limits of one run or ingest: `max_calls` replies, `max_tokens` tokens in and out.

    None means no limit. A request reserves its largest possible cost, so parallel paths exceed
    neither limit. `answer_tokens`, with one call, are kept for the answer. Each request also takes
    from the `quota`; with `background` it lets the requests of questions go first.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    answer_tokens: int = 0
    quota: Quota | None = None
    background: bool = False
    _calls: int = field(default=0, init=False)
    _tokens: int = field(default=0, init=False)

    async def take(self, tokens: int, phase: Phase) -> None:
        """Reserve one call and `tokens` tokens. Raises BudgetError where they are not left."""
        self.check(tokens, phase)
        self._calls += 1
        self._tokens += tokens
        if self.quota:
            try:
                await self.quota.take(tokens)
            except BaseException:
                self._calls -= 1
                self._tokens -= tokens
                raise

    async def check_holder(self) -> None:
        """Raise BudgetError if the holder of the quota is no longer allowed to use it."""
        if self.quota:
            await self.quota.check_holder()

    def check(self, tokens: int, phase: Phase) -> None:
        """Raise BudgetError unless one call and `tokens` tokens are left."""
        reserved = self._reserved(phase)
        if self.max_calls is not None and self._calls + 1 + (reserved > 0) > self.max_calls:
            raise self._error("max_calls", self.max_calls, 1, int(reserved > 0))
        if self.max_tokens is not None and tokens > self.left(phase):
            raise self._error("max_tokens", self.max_tokens, tokens, reserved)

    async def settle(self, taken: int, spent: Usage) -> None:
        """Replace a reservation of one call and `taken` tokens by the real cost."""
        self._calls += spent.calls - 1
        self._tokens += spent.tokens - taken
        if self.quota:
            await self.quota.settle(spent.calls - 1, spent.tokens - taken)

    def count(self, spent: Usage) -> None:
        """Add the cost of an earlier part of the run, which a resumed run has paid already."""
        self._calls += spent.calls
        self._tokens += spent.tokens

    def divide(self, number: int, parts: int) -> None:
        """Keep only the share of path `number`, if `parts` paths divide the budget equally.

        Paths have consecutive numbers: from 1 in mode `paper`, from 2 in mode `adaptive`.
        """
        if self.max_calls is not None:
            calls = max(0, int(self.calls_left) - (self.answer_tokens > 0))
            self._calls += calls - calls // parts - ((number - 1) % parts < calls % parts)
        if self.max_tokens is not None:
            tokens = max(0, int(self.left("explore")))
            self._tokens += tokens - tokens // parts

    @property
    def calls_left(self) -> float:
        """Calls that may still be made; infinite without a limit."""
        return math.inf if self.max_calls is None else self.max_calls - self._calls

    def left(self, phase: Phase) -> float:
        """Tokens that a request may still take; infinite without a limit."""
        if self.max_tokens is None:
            return math.inf
        return self.max_tokens - self._tokens - self._reserved(phase)

    def _reserved(self, phase: Phase) -> int:
        return 0 if phase == "answer" else self.answer_tokens

    def _error(self, limit: str, value: int, requested: int, kept: int) -> BudgetError:
        option = f"--{limit.replace('_', '-')}"
        if self._calls:
            problem = f"used up: {limit} is {value:,}. For more, set {option} higher."
        else:  # nothing has been requested so far
            back = f", with the {kept:,} that are kept back for the answer" if kept else ""
            problem = (
                f"too small: {limit} is {value:,}, but the first request may need "
                f"{requested + kept:,}{back}: set {option} to that at least, better to far more."
            )
        return BudgetError(f"The budget of this run is {problem}")


@dataclass(slots=True)
class SharedBudget:
    """A budget of several ingests one after the other, as a `Quota` of each of them.

    `refused` is the error of the last request that it did not allow.
    """

    budget: Budget
    refused: BudgetError | None = None

    async def check(self) -> None:
        """Raise BudgetError if nothing is left."""
        self.budget.check(0, "extract")

    async def check_holder(self) -> None:
        """Allow its only holder always."""

    async def take(self, tokens: int) -> None:
        """Reserve one call and `tokens` tokens. Raises BudgetError if they are not left."""
        try:
            await self.budget.take(tokens, "extract")
        except BudgetError as error:
            self.refused = error
            raise

    async def settle(self, calls: int, tokens: int) -> None:
        """Add the difference between the real cost of a request and what it had reserved."""
        await self.budget.settle(0, Usage(calls=calls + 1, input_tokens=tokens))


class Decision(BaseModel):
    """The base class of all replies of a model as typed fields; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


D = TypeVar("D", bound=Decision)


@dataclass(frozen=True, slots=True)
class Task(Generic[D]):
    """A question to a model. `prompt` names its prompt file, `decision` is the class of the reply.

    A `divisible` task is split if its reply is cut off; the `answer` of a `streamed` task is passed
    on while it is written. `ranked` names the field whose items, best first, may be too many for
    the prompt window.
    """

    prompt: ClassVar[str]
    decision: ClassVar[type[Decision]]
    phase: ClassVar[Phase]
    divisible: ClassVar[bool] = False
    streamed: ClassVar[bool] = False
    ranked: ClassVar[str] = ""

    @property
    def reply_tokens(self) -> int:
        """The largest reply in tokens, without reasoning; most tasks have a fixed number."""
        raise NotImplementedError

    def values(self) -> Mapping[str, str]:
        """The values of the prompt's `$name` places."""
        raise NotImplementedError

    @property
    def fewest(self) -> int:
        """The smallest number of choices with which the task makes sense."""
        return 0

    @property
    def choices(self) -> int:
        """The number of ranked items in the prompt; `keeping` reduces it."""
        return len(getattr(self, self.ranked)) if self.ranked else 0

    def keeping(self, number: int) -> Self:
        """A copy of the task with only the best `number` of its choices."""
        if not self.ranked:
            raise ValueError(f"{type(self).__name__} has nothing to leave out")
        return replace(self, **{self.ranked: getattr(self, self.ranked)[:number]})

    def by_rule(self) -> D:
        """Decide without a model, for the offline decider. Raises TypeError without a rule."""
        raise TypeError(f"{type(self).__name__} has no rule: it needs a language model")

    def problem(self, decision: D) -> str | None:
        """Return a sentence for the model if the decision cannot be carried out, else None."""
        return None

    def shortcoming(self, decision: D) -> str | None:
        """Return what a valid decision lacks, else None. It is sent back once, then accepted."""
        return None


class PlainReply(Decision):
    """A reply in plain text, as the model wrote it."""

    text: str


@dataclass(frozen=True, slots=True)
class PlainTask(Task[PlainReply]):
    """Messages of another program, each (role, text), sent as they are; the reply is plain text.

    `prompt` is only a name in traces. A reply that is cut off is accepted.
    """

    decision = PlainReply
    messages: tuple[tuple[str, str], ...]

    def values(self) -> Mapping[str, str]:
        """An empty mapping, since no prompt file is rendered."""
        return {}


def empty_answer_problem(decision: Any, otherwise: str = "") -> str | None:
    """Return the `Task.problem` of a decision that claims an answer but has an empty `answer`.

    `otherwise` is what the model may do instead; its words name only fields of the decision.
    """
    if getattr(decision, "answered", True) and not decision.answer.strip():
        return f"The answer is empty: give it{f', or {otherwise}' if otherwise else ''}."
    return None


def folded(text: str) -> str:
    """The text in one line, with single spaces."""
    return " ".join(text.split())


def names(items: Sequence[str]) -> str:
    """A numbered list of names, each in one line."""
    return numbered([folded(item) for item in items])


def labelled(word: str, items: Sequence[str]) -> str:
    """The items, each after its label ("Notebook 1: ..."), with further lines indented."""
    texts = [item.replace("\n", "\n  ") or "(empty)" for item in items]
    return "\n".join(f"{word} {number}: {text}" for number, text in enumerate(texts, 1))


def numbered(items: Sequence[str]) -> str:
    """The items, each on a new line: "[1] ..." and so on."""
    return "\n".join(f"[{number}] {item}" for number, item in enumerate(items, 1))


def bulleted(items: Sequence[str]) -> str:
    """One item per line, or "(none)"."""
    return "\n".join(f"- {folded(item)}" for item in items) or "(none)"


TokenCallback = Callable[[str, bool], None]
"""A callback for an answer that is being written: the next piece, and whether it begins an answer
(all earlier pieces are then void). It runs in the request's event loop and must not block."""


@dataclass(frozen=True, slots=True)
class DecisionResult(Generic[D]):
    """A decision, its task as shown to the model (perhaps with fewer choices), and the cost."""

    decision: D
    task: Task[D]
    usage: Usage = field(default_factory=Usage)


class Decider(Protocol):
    """The interface of everything that answers tasks: a language model, rules, or a test's script.

    `name` is stored in records ("openai:gpt-5.4-mini"), `prompts` is the version of prompts or
    rules, `concurrency` the number of tasks that may run at once.
    """

    name: str
    prompts: str
    concurrency: int

    @property
    def notice(self) -> str:
        """A sentence for the user, such as a warning about the reply cache; empty: none."""

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Take one decision that is valid for the task. Raises DecisionError and BudgetError.

        `on_token` may receive pieces of the answer, also pieces that the final answer lacks.
        """

    def measure(self, task: Task[Any]) -> int:
        """The tokens of the task's prompt; 0 where nothing is sent. Raises WindowError."""

    async def aclose(self) -> None:
        """Close the connections."""


Vector: TypeAlias = list[float]


async def embed_all(embedder: "Embedder", texts: Sequence[str]) -> list[Vector]:
    """Return one vector per text, in order. Raises DecisionError, also if a text has none."""
    vectors = await embedder.embed(texts)
    for text, vector in zip(texts, vectors, strict=True):
        if vector is None:
            raise DecisionError(f"{embedder.name} gave no usable vector for {text[:60]!r}.")
    return [vector for vector in vectors if vector is not None]


def is_storable(vector: Sequence[float]) -> bool:
    """Whether Neo4j can store and compare a vector: its squared length must fit a 32-bit float."""
    return 2.0**-63 < math.hypot(*vector) < 2.0**63


class Embedder(Protocol):
    """The interface of an embedding model: texts become nonzero vectors, compared by cosine.

    `name` is stored in the corpus ("offline-1", "openai:text-embedding-3-small"). An embedder whose
    attribute `compares_words` is true embeds no passages: the full-text index does that better.
    A method `in_background()`, where there is one, returns an embedder of equal vectors for
    ingests, whose requests let the requests of questions go first.
    """

    name: str
    dimension: int

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        """Return one vector of `dimension` numbers per text, in order. Raises DecisionError.

        None stands for a text to which the service gave no usable vector.
        """

    async def aclose(self) -> None:
        """Close the connections."""
