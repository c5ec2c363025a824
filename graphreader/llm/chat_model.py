"""The decider that asks a language model through a LangChain chat model.

A reply is requested as JSON schema, else as a tool call, else as JSON in text: the first form that
the service accepts. An unusable reply is sent back once. (`with_structured_output` would lose wrong
replies and their usage.)
"""

import json
import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Self, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from pydantic_core import from_json

from graphreader.errors import CutOffError, DecisionError, ModelRefusedError
from graphreader.llm.cache import DecisionCache
from graphreader.llm.pricing import Prices, load_table
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import (
    ROOM_TO_THINK,
    Budget,
    Decision,
    DecisionResult,
    PlainTask,
    Task,
    TokenCallback,
)
from graphreader.llm.providers import OPTIONS, Option, ProviderAdapter, close
from graphreader.llm.retry import Failure, ModelService, RequestRejected
from graphreader.llm.structured_output import (
    REPETITION,
    ReplyForm,
    UnusableReply,
    finish_reason,
    has_reasoning,
    has_repetition,
    holds_json,
    is_complete,
    is_repetitive,
    object_start,
    read,
)
from graphreader.llm.window import Correction, RenderedPrompt, fit
from graphreader.tokens import DEFAULT as DEFAULT_ENCODING
from graphreader.tokens import count as count_tokens
from graphreader.usage import Usage, is_token_count

D = TypeVar("D", bound=Decision)
logger = logging.getLogger("graphreader.llm")
SMALLEST_LIMIT = 1024
"""Smallest limit of a reply, in tokens; a rejected limit is halved down to it, then omitted."""
MOST_WATCHED = 16
"""Requests at once above which no reply is watched: a streamed token takes 0.2 ms of CPU."""

_NEXT_FORM: dict[ReplyForm, ReplyForm] = {"schema": "tool", "tool": "text"}


class _Capabilities:
    """Features that a service has accepted or rejected so far; they shape the next request.

    `without` are the rejected options, `most` is the largest limit of a reply not yet rejected,
    `reasons`: the model reasons before it replies, `form_works`: a reply was JSON,
    `counts_streams`: a streamed reply has the service's token counts.
    """

    def __init__(self, form: ReplyForm) -> None:
        self.form = form
        self.without: frozenset[Option] = frozenset()
        self.most = sys.maxsize
        self.streams = True
        self.counts_streams = True
        self.reasons = False
        self.form_works = False
        self._first_form = form

    def adapt(
        self,
        failure: Failure,
        form: ReplyForm,
        without: frozenset[Option],
        limit: int,
        *,
        streamed: bool,
    ) -> bool:
        """Change the next request after a rejection; False: there is nothing left to change."""
        if failure.kind == "rejected" and streamed and "stream" in str(failure).lower():
            self.streams = False  # the form may be rejected only together with streaming
        elif failure.kind == "rejected" and form in _NEXT_FORM:
            if self.form == form:  # else another decision has changed it already
                self.form = _NEXT_FORM[form]
        elif failure.kind == "limit" and limit > SMALLEST_LIMIT:
            self.most = min(self.most, limit // 2)
        elif failure.kind in OPTIONS and failure.kind not in without:
            self.without |= {failure.kind}
        else:
            self.form = self._first_form  # the form was not the reason
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Reply(Generic[D]):
    """A prompt and its reply of up to `limit` tokens; `had_room`: with tokens for reasoning."""

    prompt: RenderedPrompt[D]
    message: AIMessage
    usage: Usage
    limit: int
    had_room: bool

    @property
    def end(self) -> str:
        """The reason why a reply was cut off: its limit, or the service's context."""
        length, counted = self.usage.output_tokens, not self.usage.estimated
        if length >= (self.limit if counted else self.limit // 2):
            return f"is longer than {self.limit:,} tokens, the most that it may have"
        return (
            f"was cut off by the service after {length:,} of the {self.limit:,} tokens that it may "
            f"have, together with its prompt {self.usage.tokens:,}: its context is too small, so "
            "start it with a larger one (llama.cpp: -c, or -np 1)"
        )


class LanguageModelDecider:
    """A decider that asks a chat model, in the event loop in which it is first used.

    `window` is the largest prompt in tokens of `encoding`, with framing and schema or tool.
    """

    watches_replies = True
    """Whether replies of services for small models are streamed, to end those that repeat."""

    def __init__(
        self,
        client: BaseChatModel,
        service: ModelService,
        *,
        window: int,
        provider: str = "openai",
        prompts: Prompts | None = None,
        encoding: str = DEFAULT_ENCODING,
        cache: DecisionCache | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.name = service.name
        self.concurrency = service.concurrency
        self._prompts = prompts or Prompts()
        self.prompts = self._prompts.version
        self._service = service
        self._window = window
        self._adapter = ProviderAdapter(provider, client)
        self._encoding = encoding
        self._cache = cache
        self._prices = prices or Prices()
        self._capabilities = _Capabilities(self._adapter.form)
        is_small = self._adapter.serves_small_models and self.concurrency <= MOST_WATCHED
        self.watches_replies = self.watches_replies and is_small

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Ask the model, unless the reply is in the cache. Raises DecisionError with the cost.

        Raises BudgetError and WindowError before a request, ModelUnavailableError after all
        retries, ModelRefusedError (key, quota), ReplyError if the second reply is unusable too.
        """
        return await self.cached_or(task, partial(self._ask, task, budget or Budget(), on_token))

    async def cached_or(
        self, task: Task[D], ask: Callable[[], Awaitable[DecisionResult[D]]]
    ) -> DecisionResult[D]:
        """Return the cached reply to a task, else the result of `ask`, which is cached."""
        if self._cache is None:
            return await ask()
        # The key covers all that may be shown: not the reply form, and the window only where
        # choices may be left out.
        if isinstance(task, PlainTask):
            texts = [part for message in task.messages for part in message]
        else:
            prompt = self._prompts.of(task)
            window = str(self._window) if task.choices else ""
            texts = [prompt.system, prompt.render(task.values()), window]
        return await self._cache.get_or_ask(task, texts, ask)

    def with_initial_capabilities(self) -> Self:
        """A copy of the decider that knows nothing of what the service rejects."""
        other = copy(self)
        other._capabilities = _Capabilities(self._adapter.form)
        return other

    @property
    def notice(self) -> str:
        """A sentence for the user about a problem of the reply cache; empty: none."""
        return self._cache.trouble if self._cache else ""

    def prompts_of(self, task: type[Task[Any]]) -> str:
        """The version (a hash) of the prompt of one class of tasks."""
        return self._prompts.version_of(task.prompt)

    def measure(self, task: Task[Any]) -> int:
        """The tokens of the task's prompt. Raises WindowError."""
        return self._fit(task).tokens

    async def aclose(self) -> None:
        """Close the connections and the reply cache."""
        await close(self._adapter.client)
        if self._cache is not None:
            await self._cache.aclose()

    async def _ask(
        self, task: Task[D], budget: Budget, on_token: TokenCallback | None
    ) -> DecisionResult[D]:
        """Ask until a reply is usable, at most twice as a rule."""
        spent = Usage()
        correction: Correction | None = None
        was_prose = False
        incomplete: DecisionResult[D] | None = None  # valid, but with a shortcoming
        while True:
            reply: _Reply[D] | None = None
            try:
                reply = await self._request(task, correction, budget, on_token)
                spent += reply.usage
                decision = self._read(reply)
            except DecisionError as error:
                if incomplete:
                    return replace(incomplete, usage=spent)
                error.spent = spent
                if not (reply and isinstance(error, UnusableReply)):
                    raise
                logger.warning("%s: unusable reply to %s: %s", self.name, task.prompt, error.kind)
                logger.debug("%s: problem of the reply: %s", self.name, error.problem)
                was_prose = was_prose or error.kind == "no_json"
                correction = self._correct(reply, error, correction, was_prose)
            else:
                shortcoming = reply.prompt.task.shortcoming(decision)
                if shortcoming is None or correction:
                    return DecisionResult(decision, reply.prompt.task, spent)
                incomplete = DecisionResult(decision, reply.prompt.task)
                correction = Correction(_reply_text(reply.message), shortcoming.rstrip("."))

    async def _request(
        self,
        task: Task[D],
        correction: Correction | None,
        budget: Budget,
        on_token: TokenCallback | None,
    ) -> _Reply[D]:
        """Send one request, changed as often as the service rejects it, and return the reply."""
        capabilities = self._capabilities
        longest = task.reply_tokens  # which an extraction counts anew
        while True:
            prompt = self._fit(task, correction)
            without, reasons = capabilities.without, capabilities.reasons
            # Reasoning tokens are allowed only as far as the budget has them.
            left = budget.left(task.phase) - prompt.tokens - longest
            room = min(ROOM_TO_THINK, left) if reasons else 0
            limit = min(longest + int(max(0, room)), capabilities.most)
            listener = on_token if task.streamed and capabilities.streams else None
            watched = self.watches_replies and capabilities.streams and capabilities.counts_streams
            streamed = listener is not None or watched
            client = self._adapter.bind(
                task.decision,
                prompt.form,
                limit=limit,
                without=without,
                streamed=streamed,
            ).with_config(run_name=task.prompt)  # the name in traces
            reserved, usage = prompt.tokens + limit, Usage()
            await budget.take(reserved, task.phase)
            try:
                request = _Request(client, prompt.messages, listener, streamed=streamed)
                message = await self._send(prompt, request, reserved, budget.background)
                if streamed and not message.usage_metadata and finish_reason(message) != REPETITION:
                    capabilities.counts_streams = False
                usage = self._usage(message, prompt.tokens)
                return _Reply(prompt, message, usage, limit, reasons)
            except RequestRejected as rejection:
                if rejection.failure.kind == "content":
                    raise UnusableReply("refused") from rejection
                sent = prompt.form, without, limit
                if not capabilities.adapt(rejection.failure, *sent, streamed=streamed):
                    raise ModelRefusedError(
                        f"{self.name} refuses the request ({rejection}): check that it is a model "
                        "for chats, or use another one (GRAPHREADER_MODEL)."
                    ) from rejection
                now = capabilities.form, capabilities.streams, sorted(capabilities.without)
                logger.debug(
                    "%s: next form %s, streaming %s, rejected options: %s, limit at most %d",
                    *(self.name, *now, capabilities.most),
                )
            finally:
                await budget.settle(reserved, usage)

    async def _send(
        self,
        prompt: RenderedPrompt[Any],
        request: "_Request",
        tokens: int,
        background: bool,
    ) -> AIMessage:
        load_table()  # import prices while the model writes
        start, kind = time.monotonic(), prompt.task.prompt
        texts = [message.text for message in prompt.messages]
        about = self.name, kind, prompt.form, prompt.tokens, texts
        logger.debug("%s: request for %s by %s, %d tokens: %s", *about)
        message = await self._service.call(request.send, tokens, background=background)
        answer = self.name, kind, time.monotonic() - start, _reply_text(message)
        logger.debug("%s: reply to %s after %.1f s: %s", *answer)
        return message

    def _fit(self, task: Task[D], correction: Correction | None = None) -> RenderedPrompt[D]:
        form, encoding = self._capabilities.form, self._encoding
        return fit(task, form, self._window, correction, prompts=self._prompts, encoding=encoding)

    def _usage(self, message: AIMessage, prompt_tokens: int) -> Usage:
        """The cost of one reply by the provider's token counts, else by our own."""
        counted = message.usage_metadata
        counts = (counted["input_tokens"], counted["output_tokens"]) if counted else (0, 0)
        if counted and counts[0] and all(map(is_token_count, counts)):  # 0 means unknown
            cached = (counted.get("input_token_details") or {}).get("cache_read") or 0
            cached = cached if is_token_count(cached) else 0
            usage = Usage(1, *counts, cached_tokens=min(cached, counts[0]))
        else:
            reply_tokens = count_tokens(_reply_text(message), self._encoding)
            usage = Usage(1, prompt_tokens, reply_tokens, estimated=1)
        dollars = self._prices.dollars(
            self.name, usage.input_tokens, usage.output_tokens, usage.cached_tokens
        )
        return replace(usage, unpriced=1) if dollars is None else replace(usage, dollars=dollars)

    def _read(self, reply: _Reply[D]) -> D:
        task = reply.prompt.task
        decision = read(reply.message, task)
        if reply.prompt.form != "text" and holds_json(reply.message):
            self._capabilities.form_works = True
        problem = task.problem(decision)
        if problem is not None:
            raise UnusableReply("misfit", problem)
        return decision

    def _correct(
        self,
        reply: _Reply[Any],
        error: UnusableReply,
        before: Correction | None,
        was_prose: bool,
    ) -> Correction | None:
        """Return the correction for the next attempt; raise the error if there is none."""
        capabilities, text = self._capabilities, _reply_text(reply.message)
        if error.kind == "cut_off":
            capabilities.reasons |= has_reasoning(reply.message) or not text
            if capabilities.reasons and not reply.had_room:
                return before  # the limit was spent on reasoning: the same task with more room
        ignores_form = not capabilities.form_works and reply.prompt.form != "text"
        if before and was_prose and ignores_form:
            capabilities.form = "text"
            logger.debug("%s ignores the form: the schema goes into the prompt", self.name)
            return Correction("", error.problem)
        if error.kind == "cut_off" and reply.prompt.task.divisible:
            too_long = CutOffError(
                f"The reply {reply.end}: read the text with a smaller GRAPHREADER_CHUNK_TOKENS, or "
                "with another model (GRAPHREADER_MODEL)."
            )
            too_long.spent = error.spent
            raise too_long from error
        if before and error.kind == "cut_off":
            last = UnusableReply("cut_off", f"it {reply.end}")
            last.spent = error.spent
            raise last from error
        if before or error.kind == "refused":
            raise error
        is_endless = error.kind in ("cut_off", "repetitive")
        return Correction("" if is_endless else text, error.problem)


class _Request:
    """One request to a chat client.

    A streamed reply ends when it begins to repeat itself without end. With `on_token` its answer
    is passed on in pieces.
    """

    def __init__(
        self,
        client: Any,
        messages: Sequence[BaseMessage],
        on_token: TokenCallback | None,
        *,
        streamed: bool,
    ) -> None:
        self._client = client
        self._messages = messages
        self._on_token = on_token
        self._streamed = streamed

    async def send(self) -> AIMessage:
        """Send the request; a call after a broken stream requests the reply in one piece."""
        chunks: list[Any] = []
        try:
            if not self._streamed:
                return cast(AIMessage, await self._client.ainvoke(self._messages))
            repeats = await self._receive(chunks)
        except Exception as error:
            # OpenAI's client and LangChain raise these errors for a reply that is no stream.
            no_stream = isinstance(error, AssertionError | IndexError) or (
                "No generation chunks" in str(error)
            )
            if self._streamed and no_stream and not chunks:
                raise NotImplementedError("The service gives no stream") from error
            self._streamed = self._streamed and not chunks
            raise
        if not isinstance(chunks[-1], AIMessageChunk):
            return cast(AIMessage, chunks[-1])  # the client does not stream
        whole = chunks[0] + chunks[1:]
        if repeats:
            whole.response_metadata["finish_reason"] = REPETITION
        if not (finish_reason(whole) or is_complete(whole)):
            self._streamed = False
            raise ConnectionError("The stream ended in the middle of the reply")
        return cast(AIMessage, message_chunk_to_message(whole))

    async def _receive(self, chunks: list[Any]) -> bool:
        """Receive a stream to its end, or until it repeats itself; returns whether it does."""
        answer, written = GrowingAnswer(), WrittenReply(self._messages)
        begins = True
        stream: AsyncIterator[AIMessageChunk]
        async with aclosing(self._client.astream(self._messages)) as stream:
            async for chunk in stream:
                chunks.append(chunk)
                if self._on_token and (piece := answer.add(chunk)):
                    self._on_token(piece, begins)
                    begins = False
                if written.add(chunk):
                    return True
        return False


class WrittenReply:
    """The text and the arguments of tools of a reply to messages, while it is being written."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self._messages = messages
        self._pieces: list[str] = []
        self._unchecked = 0

    def add(self, chunk: AIMessage) -> bool:
        """Add the next chunk of the reply; return whether the reply repeats itself without end."""
        calls = getattr(chunk, "tool_call_chunks", [])
        pieces = [str(chunk.text), *(call["args"] or "" for call in calls)]
        self._pieces += pieces
        self._unchecked += sum(map(len, pieces))
        if self._unchecked < _CHECKED_CHARACTERS:
            return False
        self._unchecked, self._pieces = 0, ["".join(self._pieces)]
        return is_repetitive(self._pieces[0]) and not any(
            has_repetition(message.text) for message in self._messages
        )


_CHECKED_CHARACTERS = 500  # of a growing reply, after which it is looked at


class GrowingAnswer:
    """The field `answer` of a reply's JSON object, read while the object is being written."""

    def __init__(self) -> None:
        self._content = ""
        self._start: int | None = None
        self._arguments = ""
        self._text = ""

    def add(self, chunk: AIMessage) -> str:
        """Add the next chunk of the reply; return the text by which the answer grows."""
        self._content += str(chunk.text)
        for call in getattr(chunk, "tool_call_chunks", []):
            self._arguments += call["args"] or ""
        if self._start is None:
            self._start = object_start(self._content)
        content = "" if self._start is None else self._content[self._start :]
        try:
            fields = from_json(self._arguments or content, allow_partial="trailing-strings")
        except ValueError:  # not the start of one JSON value
            return ""
        text = fields.get("answer") if isinstance(fields, dict) else None
        if not isinstance(text, str) or not text.startswith(self._text):
            return ""
        piece, self._text = text[len(self._text) :], text
        return piece


def _reply_text(message: AIMessage) -> str:
    calls = [json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls]
    unparsed = [call["args"] or "" for call in message.invalid_tool_calls]
    return "\n".join([*calls, *unparsed, str(message.text)]).strip()
