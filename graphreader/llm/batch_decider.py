"""The decider of `ingest --batch`, which takes its replies from batches and sends nothing itself.

The model's client gets another HTTP transport: it looks a request up among the replies of batches
by corpus, address and body, and collects it for the next batch where there is no reply. So requests
and replies, with corrections, are equal to those without a batch. A request that waits keeps the
context that it was sent with: an edit elsewhere in the document changes the context of a chunk, but
its reply is taken all the same.
"""

import json
import re
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib import import_module
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from graphreader.errors import (
    BudgetError,
    CutOffError,
    DecisionError,
    PendingError,
    ReplyError,
    WindowError,
)
from graphreader.llm.batches import FAILED, BatchQueue
from graphreader.llm.cache import key_of
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import Budget, Decision, DecisionResult, Task, TokenCallback
from graphreader.llm.retry import ModelService, causes
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)
T = TypeVar("T")


_CONTEXT = re.compile(r"<context>.*?</context>", re.DOTALL)


@dataclass(slots=True)
class _Conversation:
    """The requests of one decision that were answered, and the budget of its further requests.

    `is_counted`: an earlier report contains the cost of the last reply, which had `status`.
    """

    budget: Budget
    keys: list[str] = field(default_factory=list)
    is_counted: bool = False
    status: int = 0


_conversation: ContextVar[_Conversation] = ContextVar("conversation")


class _UnansweredError(Exception):
    """A request without a reply: it is `in_batch` already, or must be collected."""

    def __init__(self, key: str, path: str, body: Any, *, in_batch: bool) -> None:
        super().__init__(key)
        self.request = key, path, body
        self.in_batch = in_batch


class BatchTransport:
    """An httpx transport that answers requests from the batches of a queue."""

    def __init__(self, queue: BatchQueue, base_url: str) -> None:
        self._queue = queue
        self._base_url = base_url

    async def handle_async_request(self, request: Any) -> Any:
        """Answer a request. Raises _UnansweredError, and ReplyError if it failed for good."""
        content = await request.aread()
        url = str(request.url)
        key = key_of(self._queue.corpus, url, _CONTEXT.sub("", content.decode()))
        answer = await self._queue.lookup(key)
        if answer is None or answer[0] is None:
            path = url.removeprefix(self._base_url)
            raise _UnansweredError(key, path, json.loads(content), in_batch=answer is not None)
        status, text, is_counted = answer
        if status == FAILED:
            raise ReplyError(text)
        conversation = _conversation.get()
        conversation.keys.append(key)
        conversation.is_counted = is_counted
        conversation.status = status or 0
        httpx = import_module(type(request).__module__.partition(".")[0])  # or its successor
        headers = {"content-type": "application/json"}
        return httpx.Response(status, headers=headers, content=text.encode(), request=request)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


class BatchService(ModelService):
    """A model service without retries: a failed request is repeated by the next batch."""

    def __init__(self, name: str, *, queue: BatchQueue, **options: Any) -> None:
        super().__init__(name, **options)
        self._queue = queue

    async def call(
        self, request: Callable[[], Awaitable[T]], tokens: int = 0, *, background: bool = False
    ) -> T:
        """Return the result of `request`. Raises PendingError where it waits for a batch."""
        try:
            return await request()
        except Exception as error:
            for cause in causes(error):
                if isinstance(cause, ReplyError):
                    raise cause from None
                if isinstance(cause, _UnansweredError):
                    if not cause.in_batch:
                        budget = _conversation.get().budget
                        await self._queue.collect(*cause.request, tokens, budget)
                    raise PendingError("The reply comes with a batch.") from None
            if _conversation.get().status == HTTPStatus.OK:
                raise ReplyError(
                    f"{self.name} gave a reply in a batch that is none of its provider "
                    f"({type(error).__name__})."
                ) from error
            raise self.exception_of(error) from error


class BatchDecider(LanguageModelDecider):
    """A decider that answers from finished batches; tasks without a reply raise PendingError."""

    watches_replies = False  # a reply of a batch is complete

    def __init__(
        self, client: BaseChatModel, service: BatchService, *, queue: BatchQueue, **options: Any
    ) -> None:
        super().__init__(client, service, **options)
        self.queue = queue

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Decide by the replies at hand. Raises PendingError, or ReplyError if none is usable.

        New requests reserve from the budget. Each decision learns by itself what the service
        rejects: else its requests would depend on the order of the decisions.
        """
        conversation = _Conversation(budget or Budget())
        token = _conversation.set(conversation)
        try:
            result = await super(BatchDecider, self.with_initial_capabilities()).decide(task)
        except (PendingError, BudgetError, CutOffError, WindowError):
            self.queue.count(conversation.keys)
            raise
        except DecisionError as error:
            await self.queue.fail(conversation.keys, str(error))
            failure = ReplyError(str(error))
            failure.spent = error.spent
            raise failure from error
        finally:
            _conversation.reset(token)
        self.queue.settle(conversation.keys)
        return result

    def _usage(self, message: AIMessage, prompt_tokens: int) -> Usage:
        """The cost of one reply; zero if an earlier run has counted it."""
        if _conversation.get().is_counted:
            return Usage()
        return super()._usage(message, prompt_tokens)

    async def aclose(self) -> None:
        """Close the connections and the files."""
        await super().aclose()
        await self.queue.aclose()
