"""Making a task's messages, measured, so that they never exceed the window.

Counted are the messages with their framing and the schema or tool that goes along. What is too
much loses its least choices (`Task.keeping`), as few as will do; nothing is cut in the middle.
The window is that of the input; the reply has the model's own limit.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from graphreader.deciding import schemas
from graphreader.deciding.decisions import Decision
from graphreader.deciding.prompting import prompt_of
from graphreader.deciding.tasks import Task
from graphreader.errors import WindowError
from graphreader.tokens import count

D = TypeVar("D", bound=Decision)
Form = Literal["schema", "tool", "text"]

# How chat formats frame messages, in tokens (OpenAI's figures; others are close).
_TOKENS_A_MESSAGE = 4
_TOKENS_A_REPLY = 3


@dataclass(frozen=True, slots=True)
class Correction:
    """A reply that could not be used (empty: not worth showing again), and why."""

    reply: str
    problem: str


@dataclass(frozen=True, slots=True)
class Fitted(Generic[D]):
    """A task as it is shown, in the form in which the reply is asked for, and its size."""

    task: Task[D]
    form: Form
    messages: Sequence[BaseMessage]
    tokens: int


def fit(task: Task[D], form: Form, window: int, correction: Correction | None = None) -> Fitted[D]:
    """The task with as many of its choices as the window holds, at least its `fewest`.

    A correction goes along as long as there is room: with the wrong reply where nothing has to be
    left out for it, else without; last of all there is none. Raises WindowError, with the
    numbers, where even that is too much.
    """
    if correction and correction.reply:
        whole = _measured(task, form, correction)
        if whole.tokens <= window:
            return whole
        correction = Correction("", correction.problem)
    fitting, smallest = _shortened(task, form, window, correction)
    if fitting is None and correction:
        fitting, smallest = _shortened(task, form, window, None)
    if fitting is None:
        raise WindowError(
            f"The prompt '{task.prompt}' has {smallest.tokens:,} tokens, but the window holds "
            f"only {window:,}: set GRAPHREADER_WINDOW higher, read the texts with a smaller "
            "GRAPHREADER_CHUNK_TOKENS, or ask a shorter question."
        )
    return fitting


def _shortened(
    task: Task[D], form: Form, window: int, correction: Correction | None
) -> tuple[Fitted[D] | None, Fitted[D]]:
    """The largest that fits, if any, and the smallest that was tried."""
    smallest = _measured(task, form, correction)
    if smallest.tokens <= window:
        return smallest, smallest
    fitting = None
    low, high = task.fewest, task.choices - 1
    while low <= high:
        middle = (low + high) // 2
        tried = _measured(task.keeping(middle), form, correction)
        if tried.tokens <= window:
            fitting, low = tried, middle + 1
        else:
            smallest, high = tried, middle - 1
    return fitting, smallest


def tokens_of(messages: Sequence[BaseMessage]) -> int:
    """The tokens of messages with their framing."""
    return _TOKENS_A_REPLY + sum(_TOKENS_A_MESSAGE + count(str(one.text)) for one in messages)


def _measured(task: Task[D], form: Form, correction: Correction | None) -> Fitted[D]:
    messages = _messages(task, form, correction)
    return Fitted(task, form, messages, tokens_of(messages) + _tokens_along(task.decision, form))


def _messages(task: Task[Any], form: Form, correction: Correction | None) -> list[BaseMessage]:
    prompt = prompt_of(task)
    along = f"\n\n{schemas.in_words(task.decision)}" if form == "text" else ""
    system = SystemMessage(prompt.system + along)
    user = prompt.render(task.values())
    if correction is None:
        return [system, HumanMessage(user)]
    words = (
        f"Your reply cannot be used: {correction.problem}. Reply to the task anew, with one JSON "
        "object that fits the schema."
    )
    if not correction.reply:
        return [system, HumanMessage(f"{user}\n\n{words}")]
    return [system, HumanMessage(user), AIMessage(correction.reply), HumanMessage(words)]


@cache
def _tokens_along(decision: type[Decision], form: Form) -> int:
    """The tokens of the schema or tool that goes along with the messages."""
    if form == "text":
        return 0
    along = schemas.response_format if form == "schema" else schemas.tool
    return count(json.dumps(along(decision), ensure_ascii=False))
