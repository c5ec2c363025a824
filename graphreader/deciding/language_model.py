"""The decider that asks a language model: any LangChain chat model.

Each decision is one prompt, measured before it is sent, and one reply, read into the task's
decision. The reply is asked for as JSON schema, else as a tool call, else as JSON in plain text:
the first form that the service does not decline is kept for the decider's life. A reply that
cannot be used, or lacks something, is sent back once, with what is wrong with it.

`with_structured_output` of LangChain is not used: it loses the reply and its usage where the
reply is wrong or cut off.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from graphreader.deciding import schemas
from graphreader.deciding.decider import Decided
from graphreader.deciding.decisions import Decision
from graphreader.deciding.fitting import Correction, Fitted, Form, fit
from graphreader.deciding.hushing import hushed
from graphreader.deciding.loops import PerLoop
from graphreader.deciding.prompting import version
from graphreader.deciding.replies import UnusableReply, read
from graphreader.deciding.service import Declined, ModelService
from graphreader.deciding.tasks import Task
from graphreader.errors import DecisionError, ModelRefusedError
from graphreader.reading import Usage
from graphreader.tokens import count

D = TypeVar("D", bound=Decision)
_NEXT_FORM: dict[Form, Form] = {"schema": "tool", "tool": "text"}


class LanguageModelDecider:
    """Takes decisions by asking a chat model.

    `open_model` is called once for each event loop. `window` is how many tokens one prompt may
    have, with the framing of its messages and the schema or tool; `form` is the first form of
    reply that is asked for. `name` and `concurrency` are the service's.
    """

    def __init__(
        self,
        open_model: Callable[[], BaseChatModel],
        service: ModelService,
        *,
        window: int,
        form: Form = "schema",
    ) -> None:
        self.name = service.name
        self.prompts = version()
        self.notice = ""
        self.concurrency = service.concurrency
        self._models = PerLoop(open_model)
        self._service = service
        self._window = window
        self._form: Form = form
        self._form_works = False
        self._takes_temperature = True

    async def decide(self, task: Task[D]) -> Decided[D]:
        """Ask the model, at most twice (see the module); the usage counts every reply.

        `usage.seconds` stays 0: what counts is the wall clock of the whole reading. Raises
        DecisionError, whose `spent` says what the replies have cost.
        """
        spent = Usage()
        correction: Correction | None = None
        spare: Decided[D] | None = None  # would do, but lacks something
        while True:
            try:
                asked, message = await self._reply(task, correction)
                spent += usage_of(message, asked.tokens)
                decision = self._read(asked, message)
            except DecisionError as error:
                if spare:
                    return replace(spare, usage=spent)
                error.spent = (spent.calls, spent.input_tokens, spent.output_tokens)
                if correction or not isinstance(error, UnusableReply) or error.kind == "refused":
                    raise
                text = "" if error.kind == "cut_off" else _text_of(message)
                correction = Correction(text, error.problem)
            else:
                lack = asked.task.shortcoming(decision)
                if lack is None or correction:
                    return Decided(decision, asked.task, spent)
                spare = Decided(decision, asked.task)
                correction = Correction(_text_of(message), lack.rstrip("."))

    async def aclose(self) -> None:
        """Close the running loop's connections, where the model's client lets us."""
        client = getattr(self._models.pop(), "root_async_client", None)
        if client is not None:
            await client.close()

    async def _reply(
        self, task: Task[D], correction: Correction | None
    ) -> tuple[Fitted[D], AIMessage]:
        """What was asked, and the reply."""
        while True:
            asked = fit(task, self._form, self._window, correction)
            with_temperature = self._takes_temperature
            model = self._bound(task.decision, asked.form)
            try:
                return asked, await self._service.call(partial(_invoke, model, asked.messages))
            except Declined as declined:
                self._give_way(declined, asked, with_temperature)

    def _bound(self, decision: type[Decision], form: Form) -> Any:
        model = self._models.get()
        if not self._takes_temperature:
            model = model.model_copy(update={"temperature": None})
        if form == "schema":
            return model.bind(response_format=schemas.response_format(decision))
        if form == "tool":
            return model.bind_tools([schemas.tool(decision)], tool_choice=decision.__name__)
        return model

    def _give_way(self, declined: Declined, asked: Fitted[Any], with_temperature: bool) -> None:
        """Ask in another way from now on. Raises where there is none."""
        kind = declined.failure.kind
        if kind == "content":
            raise UnusableReply("refused") from declined
        if kind == "form" and asked.form in _NEXT_FORM:
            if self._form == asked.form:  # another decision may have been here before
                self._form = _NEXT_FORM[asked.form]
        elif kind == "temperature" and with_temperature:
            self._takes_temperature = False
        else:
            raise ModelRefusedError(
                f"{self.name} refuses the request ({declined.failure})."
            ) from declined

    def _read(self, asked: Fitted[D], message: AIMessage) -> D:
        """The decision of the reply. Raises UnusableReply."""
        try:
            decision = cast(D, read(message, asked.task.decision))
        except UnusableReply as error:
            if error.kind == "no_json" and not self._form_works:
                # The service ignores schema and tool without a word: say it in words.
                self._form = "text"
            raise
        self._form_works = True
        problem = asked.task.problem(decision)
        if problem is not None:
            raise UnusableReply("misfit", problem)
        return decision


def usage_of(message: AIMessage, prompt_tokens: int) -> Usage:
    """What one reply cost, by the provider's count, or by ours where it gives none."""
    given = message.usage_metadata
    if given and (given["input_tokens"] or given["output_tokens"]):
        return Usage(1, given["input_tokens"], given["output_tokens"])
    return Usage(1, prompt_tokens, count(_text_of(message)))


async def _invoke(model: Any, messages: Sequence[BaseMessage]) -> AIMessage:
    """One request. OpenAI's client raises where a reply was cut off: here it is a reply still."""
    try:
        with hushed():
            message = await model.ainvoke(messages)
    except Exception as error:
        completion = getattr(error, "completion", None)
        if completion is None:
            raise
        return _message_of(completion)
    if not isinstance(message, AIMessage):
        raise TypeError(f"The model's reply is a {type(message).__name__}, not an AIMessage")
    return message


def _message_of(completion: Any) -> AIMessage:
    """The message of a chat completion of OpenAI's client."""
    choice = completion.choices[0]
    message = AIMessage(
        choice.message.content or "", response_metadata={"finish_reason": choice.finish_reason}
    )
    if completion.usage is not None:
        sent, received = completion.usage.prompt_tokens, completion.usage.completion_tokens
        message.usage_metadata = {
            "input_tokens": sent,
            "output_tokens": received,
            "total_tokens": sent + received,
        }
    return message


def _text_of(message: AIMessage) -> str:
    """What the model wrote, as content or as arguments of a tool."""
    calls = [json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls]
    broken = [call["args"] or "" for call in message.invalid_tool_calls]
    return "\n".join([*calls, *broken, str(message.text)]).strip()
