"""Making a task's messages, measured, so that they never exceed the window.

Counted are the messages with their framing and the schema or tool that goes along, in the model's
encoding. What is too much loses its least choices (`Task.keeping`), as few as will do; nothing is
cut in the middle. The window is that of the input; the reply has a limit of its own.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from typing import Any, Generic, Literal, TypeVar, get_args

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from graphreader import tokens
from graphreader.deciding import schemas
from graphreader.deciding.decisions import Decision
from graphreader.deciding.exploring import ChunkTask
from graphreader.deciding.prompting import Prompts
from graphreader.deciding.tasks import NOTEBOOK_TOKENS, PLAN_TOKENS, Task
from graphreader.errors import SettingsError, WindowError

D = TypeVar("D", bound=Decision)
Form = Literal["schema", "tool", "text"]

LEAST_QUESTION = 100
"""Tokens of a question that always find room."""

LABEL_TOKENS = 60
"""Room for the label of a chunk: a document's title and the chunk's number."""

_SMALLEST_CHUNK = 50  # that the settings take

# How chat formats frame messages, in tokens (OpenAI's figures; others are close).
_TOKENS_A_MESSAGE = 4
_TOKENS_A_REPLY = 3

# Where one text goes on in another, words merge otherwise than counted apart: a token or two.
_TOKENS_A_SEAM = 2


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


@dataclass(frozen=True, slots=True)
class _How:
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
    encoding: str = tokens.DEFAULT,
) -> Fitted[D]:
    """The task with as many of its choices as the window holds, at least its `fewest`.

    A correction goes along as long as there is room: with the wrong reply where nothing has to be
    left out for it, else without; last of all there is none. Raises WindowError, with the
    numbers, where even that is too much.
    """
    if correction and correction.reply:
        whole = _measured(task, _How(form, prompts, encoding, correction))
        if whole.tokens <= window:
            return whole
        correction = Correction("", correction.problem)
    fitting, smallest = _shortened(task, _How(form, prompts, encoding, correction), window)
    if fitting is None and correction:
        fitting, smallest = _shortened(task, _How(form, prompts, encoding), window)
    if fitting is None:
        raise WindowError(
            f"The prompt '{task.prompt}' has {smallest.tokens:,} tokens, but the window holds "
            f"only {window:,}: set GRAPHREADER_WINDOW higher, read the texts with a smaller "
            "GRAPHREADER_CHUNK_TOKENS, or ask a shorter question."
        )
    return fitting


def tokens_of(messages: Sequence[BaseMessage], encoding: str = tokens.DEFAULT) -> int:
    """The tokens of messages with their framing."""
    return _TOKENS_A_REPLY + sum(
        _TOKENS_A_MESSAGE
        + (_fixed_tokens if isinstance(one, SystemMessage) else tokens.count)(one.text, encoding)
        for one in messages
    )


def room_for_question(
    chunk_tokens: int, window: int, *, prompts: Prompts, encoding: str = tokens.DEFAULT
) -> int:
    """Tokens that the largest prompt of a path leaves for its question; below 0: none, by so many.

    It is the one that shows a whole chunk beside a full plan and a full notebook, in the form
    that takes most. What it can do without (earlier actions, chunks that wait) is not counted.
    """
    bare = ChunkTask("", "", ("",) * 99, "", "", "", "", ("",) * 99).keeping(0)
    forms: tuple[Form, ...] = get_args(Form)
    largest = max(_measured(bare, _How(form, prompts, encoding)).tokens for form in forms)
    seams = _TOKENS_A_SEAM * len(bare.values())
    taken = largest + seams + chunk_tokens + NOTEBOOK_TOKENS + PLAN_TOKENS + LABEL_TOKENS
    return window - taken


def check_chunk_fits(
    chunk_tokens: int, window: int, *, prompts: Prompts, encoding: str = tokens.DEFAULT
) -> None:
    """Raise SettingsError, with the numbers, where a chunk leaves no room for a question."""
    room = room_for_question(chunk_tokens, window, prompts=prompts, encoding=encoding)
    lacking = LEAST_QUESTION - room
    if lacking <= 0:
        return
    along = window - room - chunk_tokens + LEAST_QUESTION
    largest = chunk_tokens - lacking
    smaller = f"GRAPHREADER_CHUNK_TOKENS to at most {largest:,} or "
    raise SettingsError(
        f"A chunk (GRAPHREADER_CHUNK_TOKENS, {chunk_tokens:,}) and what goes along with it "
        f"({along:,} tokens) do not fit into the model's window (GRAPHREADER_WINDOW, "
        f"{window:,}): set {smaller if largest >= _SMALLEST_CHUNK else ''}GRAPHREADER_WINDOW to at "
        f"least {window + lacking:,}."
    )


def _shortened(task: Task[D], how: _How, window: int) -> tuple[Fitted[D] | None, Fitted[D]]:
    """The largest that fits, if any, and the smallest that does not."""
    high = _measured(task, how)
    if high.tokens <= window:
        return high, high
    if task.choices <= task.fewest:
        return None, high
    low = _measured(task.keeping(task.fewest), how)
    if low.tokens > window:
        return None, low
    for step in count():
        number = _between(low, high, window, step)
        if number is None:
            break
        tried = _measured(task.keeping(number), how)
        low, high = (tried, high) if tried.tokens <= window else (low, tried)
    return low, high


def _between(low: Fitted[Any], high: Fitted[Any], window: int, step: int) -> int | None:
    """How many choices to try next: where the window would be full if all were equally long.

    Every third time it is the middle, in case they are not. None: nothing is left to try.
    """
    least, most = low.task.choices, high.task.choices
    if most - least <= 1:
        return None
    share = (window - low.tokens) / (high.tokens - low.tokens) if step % 3 < 2 else 0.5
    return min(max(least + round(share * (most - least)), least + 1), most - 1)


def _measured(task: Task[D], how: _How) -> Fitted[D]:
    messages = _messages(task, how)
    along = _tokens_along(task.decision, how.form, how.encoding)
    return Fitted(task, how.form, messages, tokens_of(messages, how.encoding) + along)


def _messages(task: Task[Any], how: _How) -> list[BaseMessage]:
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
    return f"{system}\n\n{schemas.in_words(decision)}" if form == "text" else system


_fixed_tokens = lru_cache(256)(tokens.count)


@cache
def _tokens_along(decision: type[Decision], form: Form, encoding: str) -> int:
    """The tokens of the schema or tool that goes along with the messages."""
    if form == "text":
        return 0
    along = schemas.response_format if form == "schema" else schemas.tool
    return tokens.count(json.dumps(along(decision), ensure_ascii=False), encoding)
