"""The decider that asks a language model: any LangChain chat model.

Each decision is one prompt, measured before it is sent, and one reply, read into the task's
decision. The reply is asked for as JSON schema, else as a tool call, else as JSON in plain text:
the first form that the service does not decline is kept for the decider's life. A reply that
cannot be used, or lacks something, is sent back once, with what is wrong with it. Where a form has
never worked, and brings words instead of JSON, the schema is then told in words.

An answer that somebody wants to hear is asked for as a stream, unless the service has declined one.

`with_structured_output` of LangChain is not used: it loses the reply and its usage where the
reply is wrong or cut off.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from graphreader import tokens
from graphreader.deciding import logbook
from graphreader.deciding.asking import invoke, said, usage_of
from graphreader.deciding.budget import Budget
from graphreader.deciding.clients import close
from graphreader.deciding.decider import Decided, Heard
from graphreader.deciding.decisions import Decision
from graphreader.deciding.dialects import Dialect, Option
from graphreader.deciding.fitting import Correction, Fitted, fit
from graphreader.deciding.keeping.keeping import KeptDecisions
from graphreader.deciding.listening import Listening
from graphreader.deciding.manner import Manner
from graphreader.deciding.prices import Prices
from graphreader.deciding.prompting import Prompts
from graphreader.deciding.replies.replies import Kind, UnusableReply, holds_json, read
from graphreader.deciding.replies.thoughts import thought
from graphreader.deciding.service.loops import PerLoop
from graphreader.deciding.service.service import Declined, ModelService
from graphreader.deciding.tasks import ROOM_TO_THINK, Task
from graphreader.errors import CutOffError, DecisionError
from graphreader.usage import Usage

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
        kept: KeptDecisions | None = None,
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
        self, task: Task[D], budget: Budget | None = None, heard: Heard | None = None
    ) -> Decided[D]:
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

    async def _ask(self, task: Task[D], budget: Budget, heard: Heard | None) -> Decided[D]:
        spent = Usage()
        correction: Correction | None = None
        failed: set[Kind] = set()
        spare: Decided[D] | None = None  # would do, but lacks something
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
                logbook.unusable(self.name, task.prompt, error)
                correction = self._next(reply, error, correction, failed)
            else:
                lack = reply.asked.task.shortcoming(decision)
                if lack is None or correction:
                    return Decided(decision, reply.asked.task, spent)
                spare = Decided(decision, reply.asked.task)
                correction = Correction(said(reply.message), lack.rstrip("."))

    async def _reply(
        self, task: Task[D], correction: Correction | None, budget: Budget, heard: Heard | None
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
                began = logbook.asked(self.name, asked)
                message = await self._service.call(call, tokens=most)
                cost = self._priced(usage_of(message, asked.tokens, self._encoding))
                logbook.replied(self.name, asked, message, cost, began)
                return _Reply(asked, message, cost, limit, thinks)
            except Declined as declined:
                manner.give_way(declined, asked.form, without, streamed=listener is not None)
            finally:
                budget.settle(most, cost)

    def _call(
        self, asked: Fitted[Any], limit: int, without: frozenset[Option], heard: Heard | None
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

    def _fit(self, task: Task[D], correction: Correction | None = None) -> Fitted[D]:
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

    asked: Fitted[D]
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
