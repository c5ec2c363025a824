"""The decider that asks a language model: any LangChain chat model.

Each decision is one prompt, measured before it is sent, and one reply, read into the task's
decision. The reply is asked for as JSON schema, else as a tool call, else as JSON in plain text:
the first form that the service does not decline is kept for the decider's life. A reply that
cannot be used, or lacks something, is sent back once, with what is wrong with it. Where a form has
never worked, and brings words instead of JSON, the schema is then told in words.

An answer that somebody wants to hear is asked for as a stream, unless the service has declined one.

`with_structured_output` of LangChain is not used: it loses the reply and its usage where the
reply is wrong or cut off.

One request to a chat model of LangChain, and what its reply says and cost.

Requests to a chat model whose reply is heard while it is written.

The reply is one JSON object, as content or as the arguments of a tool. What is told of it is one
field: the pieces by which its text grows. Thoughts and words before the object are not told, nor
is a reply that is no JSON: who listens gets those with the decision.

How one service takes to be asked, as far as it has shown: what it declined is not tried again.

Of several decisions at once each may meet the same refusal: what changes is what is asked next, so
each request remembers in which way it was made.

Two deciders as one: one that explores, another that answers.

What a model is asked and replies, in the log: all of it at DEBUG, only what goes wrong above.

Keeping LangChain quiet about a form of reply that a server refuses: we ask in another one then.

`warnings.catch_warnings` would not do: requests overlap, and each would put back the filters that
it found. So the first request of several sets one filter, and the last one takes it away.
"""

import json
import logging
import re
import time
import warnings
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
    message_chunk_to_message,
)
from pydantic_core import from_json

from graphreader import tokens
from graphreader.errors import CutOffError, DecisionError, ModelRefusedError
from graphreader.llm.cache import DecisionCache
from graphreader.llm.pricing import Prices
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import (
    ROOM_TO_THINK,
    Budget,
    Decider,
    Decision,
    DecisionResult,
    Task,
    TokenCallback,
)
from graphreader.llm.providers import OPTIONS, Dialect, Option, close
from graphreader.llm.retry import Declined, ModelService, PerLoop
from graphreader.llm.structured_output import (
    Form,
    Kind,
    UnusableReply,
    begins_at,
    finish_reason,
    holds_json,
    read,
    thought,
)
from graphreader.llm.window import Correction, RenderedPrompt, fit
from graphreader.usage import Usage

_MESSAGE = r"This model does not support OpenAI's structured|Invalid schema for OpenAI's structured"
_lock = Lock()
_requests = 0


@contextmanager
def hushed() -> Iterator[None]:
    """No warnings of LangChain about refused forms while the block runs."""
    global _requests
    with _lock:
        _requests += 1
        if _requests == 1:
            warnings.filterwarnings("ignore", message=_MESSAGE, category=UserWarning)
    try:
        yield
    finally:
        with _lock:
            _requests -= 1
            if _requests == 0:
                _let_speak()


def _let_speak() -> None:
    ours = ("ignore", re.compile(_MESSAGE, re.IGNORECASE), UserWarning, None, 0)
    if ours in warnings.filters:  # tests and others may have put back older filters
        warnings.filters.remove(ours)  # type: ignore[attr-defined]  # a list, not any sequence


async def invoke(model: Any, messages: Sequence[BaseMessage]) -> AIMessage:
    """One request. OpenAI's client raises where a reply was cut off: here it is a reply still."""
    try:
        with hushed():
            message = await model.ainvoke(messages)
    except Exception as error:
        cut_off = cut_off_in(error)
        if cut_off is None:
            raise
        return cut_off
    if not isinstance(message, AIMessage):
        raise TypeError(f"The model's reply is a {type(message).__name__}, not an AIMessage")
    return message


def cut_off_in(error: Exception) -> AIMessage | None:
    """The reply that OpenAI's client raises as an error because it was cut off."""
    completion = getattr(error, "completion", None)
    return None if completion is None else _message_of(completion)


def said(message: AIMessage) -> str:
    """What the model wrote, as content or as arguments of a tool."""
    calls = [json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls]
    broken = [call["args"] or "" for call in message.invalid_tool_calls]
    return "\n".join([*calls, *broken, str(message.text)]).strip()


def usage_of(message: AIMessage, prompt_tokens: int, encoding: str) -> Usage:
    """What one reply cost, by the provider's count, or by ours where it gives none."""
    given = message.usage_metadata
    if not given or not given["input_tokens"]:  # no prompt has none
        return Usage(1, prompt_tokens, tokens.count(said(message), encoding), estimated=1)
    cached = (given.get("input_token_details") or {}).get("cache_read") or 0
    return Usage(1, given["input_tokens"], given["output_tokens"], cached_tokens=cached)


def _message_of(completion: Any) -> AIMessage:
    """The message of a chat completion of OpenAI's client."""
    choice = completion.choices[0]
    message = AIMessage(
        choice.message.content or "", response_metadata={"finish_reason": choice.finish_reason}
    )
    if completion.usage is not None:
        sent, received = completion.usage.prompt_tokens, completion.usage.completion_tokens
        details = getattr(completion.usage, "completion_tokens_details", None)
        reasoning = getattr(details, "reasoning_tokens", None) or 0
        details = getattr(completion.usage, "prompt_tokens_details", None)
        cached = getattr(details, "cached_tokens", None) or 0
        message.usage_metadata = {
            "input_tokens": sent,
            "output_tokens": received,
            "total_tokens": sent + received,
            "input_token_details": {"cache_read": cached},
            "output_token_details": {"reasoning": reasoning},
        }
    return message


class Listening:
    """Asks one thing, by a stream of which `heard` gets the pieces of one field's text.

    A stream that broke off makes the next try a request for the reply in one piece: what lies
    between us and a service may be bad at streams.
    """

    def __init__(
        self, model: Any, messages: Sequence[BaseMessage], field: str, heard: TokenCallback
    ) -> None:
        self._model = model
        self._messages = messages
        self._field = field
        self._heard = heard
        self._broke_off = False

    async def ask(self) -> AIMessage:
        """One request.

        Raises ConnectionError where the stream ends before the reply does, NotImplementedError
        where there is none.
        """
        if self._broke_off:
            return await invoke(self._model, self._messages)
        chunks: list[AIMessage] = []
        try:
            await self._listen(chunks)
            message = _whole(chunks)
        except Exception as error:
            if not chunks and _tells_of_no_stream(error):
                raise NotImplementedError("The service gives no stream") from error
            cut_off = cut_off_in(error)
            if cut_off is None:
                raise
            message = cut_off
        finally:
            self._broke_off = bool(chunks)  # who asks again had no good end
        return message

    async def _listen(self, chunks: list[AIMessage]) -> None:
        growing = GrowingField(self._field)
        begins = True
        with hushed():
            async with aclosing(self._model.astream(self._messages)) as stream:
                async for chunk in stream:
                    chunks.append(chunk)
                    if piece := growing.grown_by(chunk):
                        self._heard(piece, begins)
                        begins = False


class GrowingField:
    """The text of one field of a JSON object, read while the object is written."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._content = ""
        self._begin: int | None = None
        self._arguments = ""
        self._value = ""

    def grown_by(self, chunk: AIMessage) -> str:
        """What the next chunk of the reply adds to the field's text."""
        self._content += str(chunk.text)
        for call in getattr(chunk, "tool_call_chunks", []):
            self._arguments += call["args"] or ""
        try:
            fields = from_json(self._object(), allow_partial="trailing-strings")
        except ValueError:  # not, or no longer, the beginning of one JSON value
            return ""
        value = fields.get(self._field) if isinstance(fields, dict) else None
        if not isinstance(value, str) or not value.startswith(self._value):
            return ""
        piece, self._value = value[len(self._value) :], value
        return piece

    def _object(self) -> str:
        """The JSON object as far as it is written."""
        if self._arguments:
            return self._arguments
        if self._begin is None:
            self._begin = begins_at(self._content)
        return "" if self._begin is None else self._content[self._begin :]


def _tells_of_no_stream(error: Exception) -> bool:
    """Whether it is how OpenAI's client, or LangChain, takes a reply that is no stream."""
    return isinstance(error, AssertionError | IndexError) or "No generation chunks" in str(error)


def _whole(chunks: Sequence[AIMessage]) -> AIMessage:
    """The message that the chunks are pieces of. Raises ConnectionError where the end lacks."""
    pieces = [chunk for chunk in chunks if isinstance(chunk, AIMessageChunk)]
    if not pieces:  # of a client that does not stream
        return chunks[-1]
    whole = pieces[0] + pieces[1:] if len(pieces) > 1 else pieces[0]
    message = message_chunk_to_message(whole)
    if not isinstance(message, AIMessage) or not isinstance(whole, AIMessageChunk):
        raise TypeError(f"The model's reply is a {type(message).__name__}, not an AIMessage")
    if whole.tool_call_chunks:
        message.tool_calls, message.invalid_tool_calls = _calls(whole)
    if not (finish_reason(message) or message.tool_calls or _ends(message.text)):
        raise ConnectionError("The stream ended in the middle of the reply")
    return message


def _ends(text: str) -> bool:
    """Whether the JSON object that the text is has come to its end."""
    begin = begins_at(text)
    try:
        json.JSONDecoder(strict=False).raw_decode(text, begin or 0)
    except ValueError:
        return False
    return True


def _calls(whole: AIMessageChunk) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """The calls of tools whose arguments are JSON, and the others.

    LangChain itself would take the beginning of an object for the whole one.
    """
    good: list[ToolCall] = []
    bad: list[InvalidToolCall] = []
    for call in whole.tool_call_chunks:
        try:
            arguments = json.loads(call["args"] or "{}", strict=False)
        except ValueError:
            arguments = None
        name = call["name"] or ""
        if isinstance(arguments, dict):
            good.append(ToolCall(name=name, args=arguments, id=call["id"], type="tool_call"))
        else:
            bad.append(
                InvalidToolCall(
                    name=name,
                    args=call["args"],
                    id=call["id"],
                    error="no JSON object",
                    type="invalid_tool_call",
                )
            )
    return good, bad


logger = logging.getLogger("graphreader.llm")
_NEXT_FORM: dict[Form, Form] = {"schema": "tool", "tool": "text"}


class Manner:
    """The way in which a service is asked next; `name` is that of the model, for messages.

    `form` is that of the reply, `without` are the options left out, `streams` whether replies may
    come in pieces, `thinks` whether the model needs room to think first.
    """

    def __init__(self, name: str, form: Form) -> None:
        self.form: Form = form
        self.without: frozenset[Option] = frozenset()
        self.streams = True
        self.thinks = False
        self._name = name
        self._form_works = False

    def give_way(
        self, declined: Declined, form: Form, without: frozenset[Option], *, streamed: bool
    ) -> None:
        """Ask in another way from now on than in this one. Raises where there is none."""
        kind = declined.failure.kind
        if kind == "content":
            raise UnusableReply("refused") from declined
        # A form may be declined only because it does not go together with a stream.
        if streamed and kind not in OPTIONS and "stream" in str(declined.failure).lower():
            self.streams = False
        elif kind == "form" and form in _NEXT_FORM:
            if self.form == form:  # another decision may have been here before
                self.form = _NEXT_FORM[form]
        elif kind in OPTIONS and kind not in without:
            self.without |= {kind}
        else:
            raise ModelRefusedError(
                f"{self._name} refuses the request ({declined.failure}): check that it is a model "
                "for chats, or use another one (GRAPHREADER_MODEL)."
            ) from declined
        self._tell()

    def works(self) -> None:
        """The form was understood: a reply was in JSON."""
        self._form_works = True

    def goes_over_to_words(self, form: Form) -> bool:
        """Whether the service seems to ignore schema and tool, so that they are told in words."""
        if self._form_works or form == "text":
            return False
        self.form = "text"
        self._tell()
        return True

    def _tell(self) -> None:
        without, streams = ", ".join(sorted(self.without)) or "nothing", self.streams
        logger.debug(
            "%s is asked by %s, streams: %s, without: %s", self._name, self.form, streams, without
        )


def log_request(model: str, what: RenderedPrompt[Any]) -> float:
    """A request is sent; returns when, for its reply."""
    texts = [message.text for message in what.messages]
    logger.debug(
        "%s is asked for %s by %s, %d tokens: %s",
        model,
        what.task.prompt,
        what.form,
        what.tokens,
        texts,
    )
    return time.monotonic()


def log_reply(
    model: str, what: RenderedPrompt[Any], message: AIMessage, cost: Usage, since: float
) -> None:
    """Its reply is there, usable or not."""
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug(
            "%s replies to %s after %.1f s, %d tokens: %s",
            model,
            what.task.prompt,
            time.monotonic() - since,
            cost.output_tokens,
            said(message),
        )


def log_unusable_reply(model: str, prompt: str, error: UnusableReply) -> None:
    """A reply is no decision. It may be asked for again."""
    logger.warning("A reply of %s to %s is unusable: %s", model, prompt, error.kind)
    logger.debug("What is wrong with it: %s", error.problem)


D = TypeVar("D", bound=Decision)


class LanguageModelDecider:
    """Takes decisions by asking a chat model.

    `open_model` is called once for each event loop. `window` is how many tokens one prompt may
    have, with the framing of its messages and the schema or tool, counted in `encoding`.
    `dialect` knows how this provider wants to be asked, `prices` what it costs; with `kept`,
    replies are kept and used again. `name` and `concurrency` are the service's.
    """

    def __init__(
        self,
        open_model: Callable[[], BaseChatModel],
        service: ModelService,
        *,
        window: int,
        dialect: Dialect,
        prompts: Prompts | None = None,
        encoding: str = tokens.DEFAULT,
        kept: DecisionCache | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.name = service.name
        self.concurrency = service.concurrency
        self._prompts = prompts or Prompts()
        self.prompts = self._prompts.version
        self._models = PerLoop(open_model)
        self._service = service
        self._window = window
        self._dialect = dialect
        self._encoding = encoding
        self._kept = kept
        self._prices = prices or Prices()
        self._manner = Manner(self.name, dialect.form)

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Ask the model, once or twice as a rule (see the module), unless a kept reply serves.

        The usage counts every reply; its `seconds` stay 0: what counts is the wall clock of the
        whole reading. Raises DecisionError, whose `spent` says what the replies have cost.
        """
        ask = partial(self._ask, task, budget or Budget(), heard)
        if self._kept is None:
            return await ask()
        return await self._kept.or_asked(task, self._asked_whole(task), ask)

    @property
    def notice(self) -> str:
        """What a person should know of the replies that are kept, if anything."""
        return self._kept.trouble if self._kept else ""

    def prompts_of(self, task: type[Task[Any]]) -> str:
        """The version of what tasks of this class are asked by; others' prompts change nothing."""
        return self._prompts.version_of(task.prompt)

    def measure(self, task: Task[Any]) -> int:
        """How many tokens the task's prompt has. Raises WindowError."""
        return self._fit(task).tokens

    async def aclose(self) -> None:
        """Close the running loop's connections, where the model's client lets us."""
        await close(self._models.pop())
        if self._kept is not None:
            await self._kept.aclose()

    async def _ask(
        self, task: Task[D], budget: Budget, heard: TokenCallback | None
    ) -> DecisionResult[D]:
        spent = Usage()
        correction: Correction | None = None
        failed: set[Kind] = set()
        spare: DecisionResult[D] | None = None  # would do, but lacks something
        while True:
            reply: _Reply[D] | None = None
            try:
                reply = await self._reply(task, correction, budget, heard)
                spent += reply.usage
                decision = self._read(reply)
            except DecisionError as error:
                if spare:
                    return replace(spare, usage=spent)
                error.spent = spent
                if not (reply and isinstance(error, UnusableReply)):
                    raise
                failed.add(error.kind)
                log_unusable_reply(self.name, task.prompt, error)
                correction = self._next(reply, error, correction, failed)
            else:
                lack = reply.asked.task.shortcoming(decision)
                if lack is None or correction:
                    return DecisionResult(decision, reply.asked.task, spent)
                spare = DecisionResult(decision, reply.asked.task)
                correction = Correction(said(reply.message), lack.rstrip("."))

    async def _reply(
        self,
        task: Task[D],
        correction: Correction | None,
        budget: Budget,
        heard: TokenCallback | None,
    ) -> "_Reply[D]":
        """Send one request, in another way where the service declines the first one."""
        manner = self._manner
        while True:
            asked = self._fit(task, correction)
            without, thinks = manner.without, manner.thinks
            limit = self._limit(task, budget.left(task.phase) - asked.tokens)
            listener = heard if manner.streams and task.streamed else None
            call = self._call(asked, limit, without, listener)
            most, cost = asked.tokens + limit, Usage()
            budget.take(most, task.phase)
            try:
                began = log_request(self.name, asked)
                message = await self._service.call(call, tokens=most)
                cost = self._priced(usage_of(message, asked.tokens, self._encoding))
                log_reply(self.name, asked, message, cost, began)
                return _Reply(asked, message, cost, limit, thinks)
            except Declined as declined:
                manner.give_way(declined, asked.form, without, streamed=listener is not None)
            finally:
                budget.settle(most, cost)

    def _call(
        self,
        asked: RenderedPrompt[Any],
        limit: int,
        without: frozenset[Option],
        heard: TokenCallback | None,
    ) -> Callable[[], Awaitable[AIMessage]]:
        """What makes one request, as a stream where somebody wants to hear the answer."""
        model = self._dialect.bound(
            self._models.get(),
            asked.task.decision,
            asked.form,
            limit=limit,
            without=without,
            streamed=heard is not None,
        ).with_config(run_name=asked.task.prompt)  # for whoever traces it
        if heard is None:
            return partial(invoke, model, asked.messages)
        return Listening(model, asked.messages, "answer", heard).ask

    def _fit(self, task: Task[D], correction: Correction | None = None) -> RenderedPrompt[D]:
        return fit(
            task,
            self._manner.form,
            self._window,
            correction,
            prompts=self._prompts,
            encoding=self._encoding,
        )

    def _asked_whole(self, task: Task[Any]) -> Sequence[str]:
        """All that the task could show, by which its decision is kept.

        The form would make no difference, nor does the window where there is nothing to leave out.
        """
        prompt = self._prompts.of(task)
        window = str(self._window) if task.choices else ""
        return prompt.system, prompt.render(task.values()), window

    def _limit(self, task: Task[Any], left: float) -> int:
        """How many tokens the reply may have: room to think only as far as the budget has it."""
        room = ROOM_TO_THINK if self._manner.thinks else 0
        return task.reply_tokens + int(max(0, min(room, left - task.reply_tokens)))

    def _priced(self, usage: Usage) -> Usage:
        dollars = self._prices.dollars(
            self.name, usage.input_tokens, usage.output_tokens, usage.cached_tokens
        )
        return replace(usage, unpriced=1) if dollars is None else replace(usage, dollars=dollars)

    def _read(self, reply: "_Reply[D]") -> D:
        """The decision of the reply. Raises UnusableReply."""
        decision = read(reply.message, reply.asked.task)
        if holds_json(reply.message):
            self._manner.works()
        problem = reply.asked.task.problem(decision)
        if problem is not None:
            raise UnusableReply("misfit", problem)
        return decision

    def _next(
        self,
        reply: "_Reply[Any]",
        error: UnusableReply,
        before: Correction | None,
        failed: Collection[Kind],
    ) -> Correction | None:
        """What goes along when the task is asked again; raises where it is not."""
        if self._needs_room(reply, error):
            return before
        if before and "no_json" in failed and self._manner.goes_over_to_words(reply.asked.form):
            return Correction("", error.problem)
        return _correction(reply, error, before)

    def _needs_room(self, reply: "_Reply[D]", error: UnusableReply) -> bool:
        """Whether the model spent its limit on thinking, so that it gets more for the same task."""
        if error.kind != "cut_off":
            return False
        if thought(reply.message) or not said(reply.message):
            self._manner.thinks = True
        return self._manner.thinks and not reply.had_room


@dataclass(frozen=True, slots=True)
class _Reply(Generic[D]):
    """What was asked, what came back, what it cost; how long it might be, and if to think."""

    asked: RenderedPrompt[D]
    message: AIMessage
    usage: Usage
    limit: int
    had_room: bool


def _correction(reply: _Reply[Any], error: UnusableReply, before: Correction | None) -> Correction:
    """What goes along when the task is asked again; raises where it is not."""
    if error.kind == "cut_off" and reply.asked.task.divisible:
        longest = CutOffError(
            f"The reply is longer than {reply.limit:,} tokens, the most that it may have: read the "
            "text with a smaller GRAPHREADER_CHUNK_TOKENS."
        )
        longest.spent = error.spent
        raise longest from error
    if before or error.kind == "refused":
        raise error
    return Correction("" if error.kind == "cut_off" else said(reply.message), error.problem)


class RoutingDecider:
    """Hands tasks of the answer's phase to `answerer`, all others to `explorer`."""

    def __init__(self, explorer: Decider, answerer: Decider) -> None:
        self.name = f"{explorer.name}, answers by {answerer.name}"
        versions = dict.fromkeys((explorer.prompts, answerer.prompts))
        self.prompts = ", ".join(versions)
        self.concurrency = explorer.concurrency  # an answer is one decision
        self._explorer = explorer
        self._answerer = answerer

    @property
    def notice(self) -> str:
        """What either has to say."""
        notices = dict.fromkeys((self._explorer.notice, self._answerer.notice))
        return " ".join(notice for notice in notices if notice)

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Have it decided by the one whose task it is."""
        return await self._decider_of(task).decide(task, budget, heard)

    def measure(self, task: Task[Any]) -> int:
        """How many tokens the prompt has for the one whose task it is."""
        return self._decider_of(task).measure(task)

    async def aclose(self) -> None:
        """Close both, also where one of them fails."""
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self._explorer.aclose)
            closing.push_async_callback(self._answerer.aclose)

    def _decider_of(self, task: Task[Any]) -> Decider:
        return self._answerer if task.phase == "answer" else self._explorer
