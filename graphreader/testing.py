"""Fakes for tests of code that uses GraphReader: a chat model and a decider made of functions.

`FunctionChatModel` is a LangChain chat model whose reply is a function of the request. A decider
uses it as it uses a real model: prompt, window, structured output, parsing of the reply.

    plan = {"plan": "Look for the date.", "needs": ["date of birth"]}
    model = FunctionChatModel(function=lambda request: plan)
    decider = LanguageModelDecider(model, ModelService("fake:model"), window=4096)

`ScriptedDecider` replaces decider and model: one function for each class of task.

    plan = RationalPlan(plan="Look for the date.", needs=["date of birth"])
    decider = ScriptedDecider({PlanTask: lambda task: plan})

Both take functions instead of lists of replies, since paths send requests in any order.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field

from graphreader.errors import ReplyError
from graphreader.llm.protocols import Budget, Decision, DecisionResult, Task, TokenCallback
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a fake model; `decision` names the class of the JSON schema that it asks for."""

    messages: Sequence[BaseMessage]
    decision: str
    schema: Mapping[str, Any]
    options: Mapping[str, Any]

    @property
    def system(self) -> str:
        """The text of the first message."""
        return str(self.messages[0].text)

    @property
    def user(self) -> str:
        """The text of the last message."""
        return str(self.messages[-1].text)


class RequestRefused(Exception):
    """The fake's HTTP error, with the attributes of the errors of providers' clients."""

    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code


class FunctionChatModel(BaseChatModel):
    """A chat model that replies with `function(request)`, which may be a coroutine function.

    A returned dict or pydantic object becomes JSON content or a tool call, a string becomes
    content, an exception is raised. A parameter in `refuses` ("tools", "seed") gets status 400. The
    model does not stream and reports no usage, except in an AIMessage with `usage_metadata`.
    """

    function: Callable[[ChatRequest], Any]
    refuses: frozenset[str] = frozenset()
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    requests: list[ChatRequest] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "function"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools in any form that LangChain supports, as a chat model does."""
        schemas = [convert_to_openai_tool(tool) for tool in tools]
        bound = self.bind(tools=schemas, tool_choice=tool_choice, **kwargs)
        return cast(Runnable[LanguageModelInput, AIMessage], bound)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, kwargs)
        return _result(request, self.function(request))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, kwargs)
        reply = self.function(request)
        return _result(request, await reply if inspect.isawaitable(reply) else reply)

    def _request(self, messages: list[BaseMessage], options: dict[str, Any]) -> ChatRequest:
        own = {name: getattr(self, name) for name in ("temperature", "seed", "max_tokens")}
        parameters = {**own, **options}
        bound = options.get("response_format", {}).get("json_schema", {})
        name, schema = bound.get("name", ""), bound.get("schema", {})
        if options.get("tools"):
            tool = options["tools"][0]["function"]
            name, schema = tool["name"], tool["parameters"]
        request = ChatRequest(tuple(messages), name, schema, parameters)
        self.requests.append(request)
        for name in sorted(self.refuses):
            if parameters.get(name) is not None:
                raise RequestRefused(400, f"Unsupported parameter: '{name}'.")
        return request


def _result(request: ChatRequest, reply: Any) -> ChatResult:
    if isinstance(reply, Exception):
        raise reply
    return ChatResult(generations=[ChatGeneration(message=_message(request, reply))])


def _message(request: ChatRequest, reply: Any) -> AIMessage:
    if isinstance(reply, AIMessage):
        return reply
    if isinstance(reply, str):
        return AIMessage(reply)
    fields = reply.model_dump() if isinstance(reply, BaseModel) else dict(reply)
    if request.options.get("tools"):
        call = ToolCall(name=request.decision, args=fields, id="call-1", type="tool_call")
        return AIMessage("", tool_calls=[call])
    return AIMessage(json.dumps(fields, ensure_ascii=False))


Script = Mapping[type[Task[Any]], Callable[[Any], Decision | Awaitable[Decision]]]


class ScriptedDecider:
    """A decider that calls a function for each class of task; `asked` lists its tasks in order.

    Raises ReplyError for an invalid decision, LookupError for a task without a function.
    """

    def __init__(self, script: Script, *, name: str = "scripted", notice: str = "") -> None:
        self.name = name
        self.prompts = "scripted"
        self.notice = notice
        self.concurrency = 8
        self.asked: list[Task[Any]] = []
        self._script = script

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Call the function of the task's class; it costs one call and no tokens."""
        if budget:
            await budget.take(0, task.phase)
        self.asked.append(task)
        function = self._script.get(type(task))
        if function is None:
            raise LookupError(f"The script has no function for {type(task).__name__}")
        decision = function(task)
        if inspect.isawaitable(decision):
            decision = await decision
        if not isinstance(decision, task.decision):
            raise TypeError(f"{type(task).__name__} needs a {task.decision.__name__}")
        problem = task.problem(cast(D, decision))
        if problem is not None:
            raise ReplyError(f"The scripted decision cannot be carried out: {problem}")
        return DecisionResult(cast(D, decision), task, Usage(calls=1))

    def measure(self, task: Task[Any]) -> int:
        """Return 0, as there is no prompt."""
        return 0

    async def aclose(self) -> None:
        """Do nothing: no client is open."""
