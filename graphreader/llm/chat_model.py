"""The decider that asks a language model through a LangChain chat model.

Each decision is one prompt that is measured before it is sent, and one reply that is read into the
task's decision. The reply is requested as JSON schema, else as a tool call, else as JSON in plain
text: the first form that the service accepts is used from then on. An unusable or incomplete reply
is sent back once with its problem. Where a form has never worked and brings prose instead of JSON,
the schema is put into the prompt.

LangChain's `with_structured_output` is not used: it loses the reply and its usage where the reply
is wrong or cut off.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from graphreader.errors import CutOffError, DecisionError, ModelRefusedError
from graphreader.llm.cache import DecisionCache
from graphreader.llm.pricing import Prices
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import (
    ROOM_TO_THINK,
    Budget,
    Decision,
    DecisionResult,
    Task,
    TokenCallback,
)
from graphreader.llm.providers import OPTIONS, Option, ProviderAdapter, close
from graphreader.llm.rate_limit import PerLoop
from graphreader.llm.retry import ModelService, RequestRejected
from graphreader.llm.structured_output import (
    ReplyForm,
    UnusableReply,
    has_reasoning,
    holds_json,
    read,
)
from graphreader.llm.transport import StreamedRequest, invoke, reply_text
from graphreader.llm.window import Correction, RenderedPrompt, fit
from graphreader.tokens import DEFAULT as DEFAULT_ENCODING
from graphreader.tokens import count as count_tokens
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)
logger = logging.getLogger("graphreader.llm")

_NEXT_FORM: dict[ReplyForm, ReplyForm] = {"schema": "tool", "tool": "text"}


class _Capabilities:
    """What a service has accepted and rejected so far; it decides how the next request is made.

    Several decisions may meet the same rejection, so each request remembers how it was made.
    `without` are the rejected options, `streams` is whether replies may be streamed, `reasons` is
    whether the model needs room for reasoning, `form_works` is whether a reply was JSON.
    """

    def __init__(self, form: ReplyForm) -> None:
        self.form = form
        self.without: frozenset[Option] = frozenset()
        self.streams = True
        self.reasons = False
        self.form_works = False
        self._first_form = form

    def adapt(
        self,
        rejection: RequestRejected,
        form: ReplyForm,
        without: frozenset[Option],
        *,
        streamed: bool,
    ) -> bool:
        """Change how requests are made after a rejected one; False: there is no other way."""
        failure = rejection.failure
        if failure.kind == "rejected" and streamed and "stream" in str(failure).lower():
            self.streams = False  # the form may be rejected only together with streaming
        elif failure.kind == "rejected" and form in _NEXT_FORM:
            if self.form == form:  # else another decision has changed it before
                self.form = _NEXT_FORM[form]
        elif failure.kind in OPTIONS and failure.kind not in without:
            self.without |= {failure.kind}
        else:
            self.form = self._first_form  # the form was not the reason
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Reply(Generic[D]):
    """A prompt and its reply. `limit` is that of the reply in tokens, `had_room` for reasoning."""

    prompt: RenderedPrompt[D]
    message: AIMessage
    usage: Usage
    limit: int
    had_room: bool


class LanguageModelDecider:
    """Takes decisions by asking a chat model.

    `open_client` opens the LangChain client, once per event loop. `window` is the largest prompt in
    tokens of `encoding`, with the framing of its messages and the schema or tool. `adapter` knows
    the parameters of the provider's client. With a `cache`, replies are kept and used again. `name`
    and `concurrency` are the service's.
    """

    def __init__(
        self,
        open_client: Callable[[], BaseChatModel],
        service: ModelService,
        *,
        window: int,
        adapter: ProviderAdapter,
        prompts: Prompts | None = None,
        encoding: str = DEFAULT_ENCODING,
        cache: DecisionCache | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.name = service.name
        self.concurrency = service.concurrency
        self._prompts = prompts or Prompts()
        self.prompts = self._prompts.version
        self._clients = PerLoop(open_client)
        self._service = service
        self._window = window
        self._adapter = adapter
        self._encoding = encoding
        self._cache = cache
        self._prices = prices or Prices()
        self._capabilities = _Capabilities(adapter.form)

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Ask the model, once or twice as a rule (see the module), unless a kept reply serves.

        The usage counts every reply; its `seconds` stay 0, since the wall clock of the whole
        reading counts. Raises DecisionError, whose `spent` is the cost of the replies.
        """
        ask = partial(self._ask, task, budget or Budget(), on_token)
        if self._cache is None:
            return await ask()
        # The key holds everything that may be shown. The reply form makes no difference to it, and
        # the window only where choices may be left out.
        prompt = self._prompts.of(task)
        window = str(self._window) if task.choices else ""
        texts = (prompt.system, prompt.render(task.values()), window)
        return await self._cache.get_or_ask(task, texts, ask)

    @property
    def notice(self) -> str:
        """What a person should know about the reply cache, if anything."""
        return self._cache.trouble if self._cache else ""

    def prompts_of(self, task: type[Task[Any]]) -> str:
        """The version of the prompt of this class of tasks; other prompts do not change it."""
        return self._prompts.version_of(task.prompt)

    def measure(self, task: Task[Any]) -> int:
        """The tokens of the task's prompt. Raises WindowError."""
        return self._fit(task).tokens

    async def aclose(self) -> None:
        """Close the running loop's connections and the reply cache."""
        await close(self._clients.pop())
        if self._cache is not None:
            await self._cache.aclose()

    async def _ask(
        self, task: Task[D], budget: Budget, on_token: TokenCallback | None
    ) -> DecisionResult[D]:
        """Ask until a reply is usable, at most twice as a rule."""
        spent = Usage()
        correction: Correction | None = None
        was_prose = False
        incomplete: DecisionResult[D] | None = None  # valid, but lacks something
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
                correction = Correction(reply_text(reply.message), shortcoming.rstrip("."))

    async def _request(
        self,
        task: Task[D],
        correction: Correction | None,
        budget: Budget,
        on_token: TokenCallback | None,
    ) -> _Reply[D]:
        """One reply; the request is made in another way where the service rejects it."""
        capabilities = self._capabilities
        while True:
            prompt = self._fit(task, correction)
            without, reasons = capabilities.without, capabilities.reasons
            # Room for reasoning only as far as the budget has it.
            left = budget.left(task.phase) - prompt.tokens - task.reply_tokens
            room = min(ROOM_TO_THINK, left) if reasons else 0
            limit = task.reply_tokens + int(max(0, room))
            streamed = on_token is not None and task.streamed and capabilities.streams
            client = self._adapter.bind(
                self._clients.get(),
                task.decision,
                prompt.form,
                limit=limit,
                without=without,
                streamed=streamed,
            ).with_config(run_name=task.prompt)  # the name in traces
            send: Callable[[], Awaitable[AIMessage]] = partial(invoke, client, prompt.messages)
            if streamed and on_token:
                send = StreamedRequest(client, prompt.messages, "answer", on_token).send
            reserved, usage = prompt.tokens + limit, Usage()
            budget.take(reserved, task.phase)
            try:
                message = await self._send(prompt, send, reserved)
                usage = self._priced(usage_of(message, prompt.tokens, self._encoding))
                return _Reply(prompt, message, usage, limit, reasons)
            except RequestRejected as rejection:
                if rejection.failure.kind == "content":
                    raise UnusableReply("refused") from rejection
                if not capabilities.adapt(rejection, prompt.form, without, streamed=streamed):
                    raise ModelRefusedError(
                        f"{self.name} refuses the request ({rejection}): check that it is a model "
                        "for chats, or use another one (GRAPHREADER_MODEL)."
                    ) from rejection
                logger.debug(
                    "%s: next form %s, streaming %s, rejected options: %s",
                    self.name,
                    capabilities.form,
                    capabilities.streams,
                    sorted(capabilities.without),
                )
            finally:
                budget.settle(reserved, usage)

    async def _send(
        self,
        prompt: RenderedPrompt[Any],
        send: Callable[[], Awaitable[AIMessage]],
        tokens: int,
    ) -> AIMessage:
        """The service's reply, with request and reply in the log."""
        debug = logger.isEnabledFor(logging.DEBUG)
        if debug:
            logger.debug(
                "%s: request for %s by %s, %d tokens: %s",
                self.name,
                prompt.task.prompt,
                prompt.form,
                prompt.tokens,
                [message.text for message in prompt.messages],
            )
        start = time.monotonic()
        message = await self._service.call(send, tokens=tokens)
        if debug:
            logger.debug(
                "%s: reply to %s after %.1f s: %s",
                self.name,
                prompt.task.prompt,
                time.monotonic() - start,
                reply_text(message),
            )
        return message

    def _fit(self, task: Task[D], correction: Correction | None = None) -> RenderedPrompt[D]:
        return fit(
            task,
            self._capabilities.form,
            self._window,
            correction,
            prompts=self._prompts,
            encoding=self._encoding,
        )

    def _priced(self, usage: Usage) -> Usage:
        dollars = self._prices.dollars(
            self.name, usage.input_tokens, usage.output_tokens, usage.cached_tokens
        )
        return replace(usage, unpriced=1) if dollars is None else replace(usage, dollars=dollars)

    def _read(self, reply: _Reply[D]) -> D:
        """The decision in the reply. Raises UnusableReply."""
        task = reply.prompt.task
        decision = read(reply.message, task)
        if holds_json(reply.message):
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
        """What is added to the task when it is asked again; raises where it is not."""
        capabilities, text = self._capabilities, reply_text(reply.message)
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
                f"The reply is longer than {reply.limit:,} tokens, the most that it may have: read "
                "the text with a smaller GRAPHREADER_CHUNK_TOKENS."
            )
            too_long.spent = error.spent
            raise too_long from error
        if before or error.kind == "refused":
            raise error
        return Correction("" if error.kind == "cut_off" else text, error.problem)


def usage_of(message: AIMessage, prompt_tokens: int, encoding: str) -> Usage:
    """The cost of one reply by the provider's count, or by ours where it gives none."""
    usage = message.usage_metadata
    if not usage or not usage["input_tokens"]:  # no prompt has none
        return Usage(1, prompt_tokens, count_tokens(reply_text(message), encoding), estimated=1)
    cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
    return Usage(1, usage["input_tokens"], usage["output_tokens"], cached_tokens=cached)
