"""Rendering of a task's prompt so that it fits the model's window.

All tokens are counted, with framing and schema or tool. A prompt that is too large loses
its least relevant choices (`Task.keeping`); no text is truncated.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import count
from typing import Any, Generic, Self, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from graphreader.errors import WindowError
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Decider, Decision, PlainTask, Task
from graphreader.llm.providers import provider_and_model
from graphreader.llm.structured_output import ReplyForm, response_format, schema_in_words, tool
from graphreader.settings import OFFLINE, Settings
from graphreader.tokens import DEFAULT as DEFAULT_ENCODING
from graphreader.tokens import count as count_tokens
from graphreader.tokens import encoding_for

D = TypeVar("D", bound=Decision)
# How chat formats frame messages, in tokens (OpenAI's figures; others are close).
_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_REPLY = 3
_MESSAGES: dict[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}
_count_fixed_tokens = lru_cache(256)(count_tokens)


@dataclass(frozen=True, slots=True)
class Correction:
    """An unusable reply and its `problem`; an empty reply is not shown to the model again."""

    reply: str
    problem: str


@dataclass(frozen=True, slots=True)
class RenderedPrompt(Generic[D]):
    """A task as shown to the model: messages, reply form, and size in tokens."""

    task: Task[D]
    form: ReplyForm
    messages: Sequence[BaseMessage]
    tokens: int


def fit(
    task: Task[D],
    form: ReplyForm,
    window: int,
    correction: Correction | None = None,
    *,
    prompts: Prompts,
    encoding: str = DEFAULT_ENCODING,
) -> RenderedPrompt[D]:
    """Render the task with as many of its choices as fit the window, at least its `fewest`.

    A correction is included while it fits, without the reply if necessary. Raises WindowError.
    """
    render = partial(render_prompt, form=form, prompts=prompts, encoding=encoding)
    if correction and correction.reply:
        whole = render(task, correction=correction)
        if whole.tokens <= window:
            return whole
        correction = Correction("", correction.problem)
    fitting, smallest = _shorten(task, partial(render, correction=correction), window)
    if fitting is None and correction:
        fitting, smallest = _shorten(task, render, window)
    if fitting is None:
        raise WindowError(
            f"The prompt '{task.prompt}' has {smallest.tokens:,} tokens, but the window holds "
            f"only {window:,}: set GRAPHREADER_WINDOW higher, read the texts with a smaller "
            "GRAPHREADER_CHUNK_TOKENS, or ask a shorter question."
        )
    return fitting


def message_tokens(messages: Sequence[BaseMessage], encoding: str = DEFAULT_ENCODING) -> int:
    """Count the tokens of messages with their framing."""
    total = _TOKENS_PER_REPLY
    for message in messages:
        counting = _count_fixed_tokens if isinstance(message, SystemMessage) else count_tokens
        total += _TOKENS_PER_MESSAGE + counting(message.text, encoding)
    return total


def render_prompt(
    task: Task[D],
    form: ReplyForm,
    prompts: Prompts,
    encoding: str,
    correction: Correction | None = None,
) -> RenderedPrompt[D]:
    """Render the task for a reply form, with the size of its prompt in tokens."""
    if isinstance(task, PlainTask):
        plain = [_MESSAGES[role](text) for role, text in task.messages]
        return RenderedPrompt(cast(Any, task), "text", plain, message_tokens(plain, encoding))
    prompt = prompts.of(task)
    user = prompt.render(task.values())
    messages: list[BaseMessage] = [
        SystemMessage(_system_text(prompt.system, task.decision, form)),
        HumanMessage(user),
    ]
    if correction:
        request = (
            f"Your reply cannot be used: {correction.problem}. Reply to the task anew, with one "
            "JSON object that fits the schema."
        )
        if correction.reply:
            messages += [AIMessage(correction.reply), HumanMessage(request)]
        else:
            messages[1] = HumanMessage(f"{user}\n\n{request}")
    tokens = message_tokens(messages, encoding) + _schema_tokens(task.decision, form, encoding)
    return RenderedPrompt(task, form, messages, tokens)


def _shorten(
    task: Task[D], render: Callable[[Task[D]], RenderedPrompt[D]], window: int
) -> tuple[RenderedPrompt[D] | None, RenderedPrompt[D]]:
    """Return the largest prompt that fits, if any, and the smallest prompt that does not."""
    high = render(task)
    if high.tokens <= window:
        return high, high
    if task.choices <= task.fewest:
        return None, high
    low = render(task.keeping(task.fewest))
    if low.tokens > window:
        return None, low
    for step in count():
        fewest, most = low.task.choices, high.task.choices
        if most - fewest <= 1:
            break
        # Interpolate as if all choices were equally long; every third time take the middle.
        share = (window - low.tokens) / (high.tokens - low.tokens) if step % 3 < 2 else 0.5
        number = min(max(fewest + round(share * (most - fewest)), fewest + 1), most - 1)
        middle = render(task.keeping(number))
        low, high = (middle, high) if middle.tokens <= window else (low, middle)
    return low, high


@cache
def _system_text(system: str, decision: type[Decision], form: ReplyForm) -> str:
    """The system message, with the schema where the reply form is plain text."""
    return f"{system}\n\n{schema_in_words(decision)}" if form == "text" else system


@cache
def _schema_tokens(decision: type[Decision], form: ReplyForm, encoding: str) -> int:
    if form == "text":
        return 0
    schema = response_format(decision) if form == "schema" else tool(decision)
    return count_tokens(json.dumps(schema, ensure_ascii=False), encoding)


@dataclass(frozen=True, slots=True)
class BuildingMeasurer:
    """A counter of prompt tokens for the model that reads texts, without opening its client."""

    name: str
    window: int
    prompts: Prompts

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Make the measurer of the settings. Raises SettingsError for a name without provider."""
        name = settings.model_for("extract")
        if name != OFFLINE:
            provider_and_model(name, settings.model_variable_for("extract"))
        return cls(name, settings.window, Prompts(settings.prompts))

    def measure(self, task: Task[Any]) -> int:
        """The tokens of the task's prompt; 0 offline. Raises WindowError."""
        if self.name == OFFLINE:
            return 0
        encoding = encoding_for(self.name)
        return fit(task, "schema", self.window, prompts=self.prompts, encoding=encoding).tokens


Measurer = Decider | BuildingMeasurer  # measures the size of a task's prompt
