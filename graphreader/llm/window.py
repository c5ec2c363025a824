"""Making a task's messages, measured, so that they never exceed the window.

Counted are the messages with their framing and the schema or tool that goes along, in the model's
encoding. What is too much loses its least choices (`Task.keeping`), as few as will do; nothing is
cut in the middle. The window is that of the input; the reply has a limit of its own.

How many tokens prompts will have, without opening a client: no key and no package is needed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from typing import Any, Generic, Protocol, Self, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from graphreader import tokens as tokens_module
from graphreader.errors import WindowError
from graphreader.llm import structured_output
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Decision, Task
from graphreader.llm.providers import provider_and_model
from graphreader.llm.structured_output import Form
from graphreader.settings import OFFLINE, Settings

D = TypeVar("D", bound=Decision)

# How chat formats frame messages, in tokens (OpenAI's figures; others are close).
_TOKENS_A_MESSAGE = 4
_TOKENS_A_REPLY = 3


@dataclass(frozen=True, slots=True)
class Correction:
    """A reply that could not be used (empty: not worth showing again), and why."""

    reply: str
    problem: str


@dataclass(frozen=True, slots=True)
class RenderedPrompt(Generic[D]):
    """A task as it is shown, in the form in which the reply is asked for, and its size."""

    task: Task[D]
    form: Form
    messages: Sequence[BaseMessage]
    tokens: int


@dataclass(frozen=True, slots=True)
class PromptForm:
    """In which words and form a task is shown, and what its tokens are."""

    form: Form
    prompts: Prompts
    encoding: str
    correction: Correction | None = None


def fit(
    task: Task[D],
    form: Form,
    window: int,
    correction: Correction | None = None,
    *,
    prompts: Prompts,
    encoding: str = tokens_module.DEFAULT,
) -> RenderedPrompt[D]:
    """The task with as many of its choices as the window holds, at least its `fewest`.

    A correction goes along as long as there is room: with the wrong reply where nothing has to be
    left out for it, else without; last of all there is none. Raises WindowError, with the
    numbers, where even that is too much.
    """
    if correction and correction.reply:
        whole = render_prompt(task, PromptForm(form, prompts, encoding, correction))
        if whole.tokens <= window:
            return whole
        correction = Correction("", correction.problem)
    fitting, smallest = _shortened(task, PromptForm(form, prompts, encoding, correction), window)
    if fitting is None and correction:
        fitting, smallest = _shortened(task, PromptForm(form, prompts, encoding), window)
    if fitting is None:
        raise WindowError(
            f"The prompt '{task.prompt}' has {smallest.tokens:,} tokens, but the window holds "
            f"only {window:,}: set GRAPHREADER_WINDOW higher, read the texts with a smaller "
            "GRAPHREADER_CHUNK_TOKENS, or ask a shorter question."
        )
    return fitting


def tokens_of(messages: Sequence[BaseMessage], encoding: str = tokens_module.DEFAULT) -> int:
    """The tokens of messages with their framing."""
    return _TOKENS_A_REPLY + sum(
        _TOKENS_A_MESSAGE
        + (_fixed_tokens if isinstance(one, SystemMessage) else tokens_module.count)(
            one.text, encoding
        )
        for one in messages
    )


def _shortened(
    task: Task[D], how: PromptForm, window: int
) -> tuple[RenderedPrompt[D] | None, RenderedPrompt[D]]:
    """The largest that fits, if any, and the smallest that does not."""
    high = render_prompt(task, how)
    if high.tokens <= window:
        return high, high
    if task.choices <= task.fewest:
        return None, high
    low = render_prompt(task.keeping(task.fewest), how)
    if low.tokens > window:
        return None, low
    for step in count():
        number = _between(low, high, window, step)
        if number is None:
            break
        tried = render_prompt(task.keeping(number), how)
        low, high = (tried, high) if tried.tokens <= window else (low, tried)
    return low, high


def _between(
    low: RenderedPrompt[Any], high: RenderedPrompt[Any], window: int, step: int
) -> int | None:
    """How many choices to try next: where the window would be full if all were equally long.

    Every third time it is the middle, in case they are not. None: nothing is left to try.
    """
    least, most = low.task.choices, high.task.choices
    if most - least <= 1:
        return None
    share = (window - low.tokens) / (high.tokens - low.tokens) if step % 3 < 2 else 0.5
    return min(max(least + round(share * (most - least)), least + 1), most - 1)


def render_prompt(task: Task[D], how: PromptForm) -> RenderedPrompt[D]:
    """The task rendered for a form, with the size of its prompt in tokens."""
    messages = _messages(task, how)
    along = _tokens_along(task.decision, how.form, how.encoding)
    return RenderedPrompt(task, how.form, messages, tokens_of(messages, how.encoding) + along)


def _messages(task: Task[Any], how: PromptForm) -> list[BaseMessage]:
    prompt = how.prompts.of(task)
    system = SystemMessage(_system(prompt.system, task.decision, how.form))
    user = prompt.render(task.values())
    if how.correction is None:
        return [system, HumanMessage(user)]
    words = (
        f"Your reply cannot be used: {how.correction.problem}. Reply to the task anew, with one "
        "JSON object that fits the schema."
    )
    if not how.correction.reply:
        return [system, HumanMessage(f"{user}\n\n{words}")]
    return [system, HumanMessage(user), AIMessage(how.correction.reply), HumanMessage(words)]


@cache
def _system(system: str, decision: type[Decision], form: Form) -> str:
    """The fixed part of the messages; where there is no better way, with the schema in words."""
    return f"{system}\n\n{structured_output.in_words(decision)}" if form == "text" else system


_fixed_tokens = lru_cache(256)(tokens_module.count)


@cache
def _tokens_along(decision: type[Decision], form: Form, encoding: str) -> int:
    """The tokens of the schema or tool that goes along with the messages."""
    if form == "text":
        return 0
    along = structured_output.response_format if form == "schema" else structured_output.tool
    return tokens_module.count(json.dumps(along(decision), ensure_ascii=False), encoding)


class Measurer(Protocol):
    """Whatever knows the size of a task's prompt; every decider does."""

    @property
    def name(self) -> str:
        """Who would be asked, "provider:model" or "offline"."""
        ...

    def measure(self, task: Task[Any]) -> int:
        """Tokens of the prompt; 0 where nothing is sent. Raises WindowError."""
        ...


@dataclass(frozen=True, slots=True)
class BuildingMeasurer:
    """Measures for the model that reads texts in, as it is asked for a JSON schema."""

    name: str
    window: int
    prompts: Prompts

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The measurer of the settings. Raises SettingsError for what is no provider:model."""
        name = settings.model_for("extract")
        if name != OFFLINE:
            provider_and_model(name, settings.model_variable_for("extract"))
        return cls(name, settings.window, Prompts(settings.prompts))

    def measure(self, task: Task[Any]) -> int:
        """Tokens of the prompt; 0 offline. Raises WindowError."""
        if self.name == OFFLINE:
            return 0
        encoding = tokens_module.encoding_for(self.name)
        return fit(task, "schema", self.window, prompts=self.prompts, encoding=encoding).tokens
