"""How the client of each provider wants to be asked: the form of the reply, and the options.

Temperature and seed are set in the client when it is opened (`seeded`), the limit of the reply
with each request; each of them is a field of LangChain's class, under one of a few names. Where the
service declines one, it is left out of the requests that follow (`without`).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableLambda

from graphreader.deciding import schemas
from graphreader.deciding.decisions import Decision
from graphreader.deciding.fitting import Form

Option = Literal["temperature", "seed", "limit"]
"""What a request may ask for beside the form; "limit" is that of the reply, in tokens."""

OPTIONS: tuple[Option, ...] = ("temperature", "seed", "limit")

_FIELDS: Mapping[Option, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "seed": ("seed", "random_seed"),
    "limit": ("max_tokens", "max_output_tokens", "num_predict", "max_completion_tokens"),
}
_STRICT_TOOLS = {"openai", "azure_openai"}  # others refuse the word, or ask for another address


def _response_format(decision: type[Decision]) -> dict[str, Any]:
    """OpenAI's way, which most others have taken over."""
    return {"response_format": schemas.response_format(decision)}


def _output_config(decision: type[Decision]) -> dict[str, Any]:
    """Anthropic's."""
    return {
        "output_config": {
            "format": {"type": "json_schema", "schema": schemas.schema_of(decision)},
        }
    }


def _format(decision: type[Decision]) -> dict[str, Any]:
    """Ollama's: the server itself holds any model to it."""
    return {"format": schemas.schema_of(decision)}


def _response_json_schema(decision: type[Decision]) -> dict[str, Any]:
    """Google's."""
    return {
        "response_mime_type": "application/json",
        "response_json_schema": schemas.schema_of(decision),
    }


# The providers whose clients hand a schema on. Others are asked for a tool first.
_SCHEMAS: Mapping[str, Callable[[type[Decision]], dict[str, Any]]] = {
    "anthropic": _output_config,
    "azure_openai": _response_format,
    "deepseek": _response_format,
    "fireworks": _response_format,
    "google_genai": _response_json_schema,
    "groq": _response_format,
    "mistralai": _response_format,
    "ollama": _format,
    "openai": _response_format,
    "openrouter": _response_format,
    "together": _response_format,
    "xai": _response_format,
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one provider's client is asked. `form` is the form of reply to try first.

    `fields` names the client's field for each option that it has, `declines` what its model is
    known not to take; `along` goes with every request that is not streamed. `limit_in_body`: the
    limit goes past the client, under the name `max_tokens`. `asks_for_usage`: the client has to be
    told to ask what a streamed reply has cost.
    """

    form: Form = "schema"
    fields: Mapping[Option, str] = field(default_factory=dict)
    schema: Callable[[type[Decision]], dict[str, Any]] = _response_format
    strict_tools: bool = False
    declines: frozenset[Option] = frozenset()
    limit_in_body: bool = False
    along: Mapping[str, Any] = field(default_factory=dict)
    asks_for_usage: bool = False

    def bound(
        self,
        model: BaseChatModel,
        decision: type[Decision],
        form: Form,
        *,
        limit: int | None,
        without: Collection[Option] = (),
        streamed: bool = False,
    ) -> Runnable[Any, AIMessage]:
        """The model, made to reply with the decision in the form, in at most `limit` tokens.

        `streamed`: it will be asked for a stream. `without` are options that the service has
        declined. Takes some 30 microseconds. A client that knows no tools declines them when it is
        asked, as services do.
        """
        left_out = self.declines.union(without)
        changes: dict[str, Any] = {
            self.fields[option]: None
            for option in ("temperature", "seed")
            if option in left_out and option in self.fields
        }
        along = {} if streamed else dict(self.along)
        if streamed:
            changes["disable_streaming"] = False  # as all clients are opened
            changes |= {"stream_usage": True} if self.asks_for_usage else {}
        if limit is not None and "limit" in self.fields.keys() - left_out:
            if self.limit_in_body:
                along["extra_body"] = {"max_tokens": limit}
            else:
                changes[self.fields["limit"]] = limit
        if changes:
            model = model.model_copy(update=changes)
        if form == "schema":
            return model.bind(**self.schema(decision), **along)
        if form == "tool":
            return self._with_tool(model, decision, along)
        return model.bind(**along)

    def _with_tool(
        self, model: BaseChatModel, decision: type[Decision], along: Mapping[str, Any]
    ) -> Runnable[Any, AIMessage]:
        if not _knows_tools(model):
            return RunnableLambda(_decline_tools)
        forced = None if _thinks(model) else decision.__name__
        tool = schemas.tool(decision, strict=self.strict_tools)
        try:
            return model.bind_tools([tool], tool_choice=forced, **along)
        except (NotImplementedError, TypeError, ValueError):  # Cohere's wants it otherwise
            return RunnableLambda(_decline_tools)


def dialect_of(provider: str, model: BaseChatModel) -> Dialect:
    """The dialect of a provider's client; `provider` is LangChain's name of it.

    What the model can do is taken from LangChain's profile of it, where there is one. A service
    may know better, and then declines: that costs one request in the life of a decider.
    """
    elsewhere = _is_elsewhere(provider, model)
    profile: Mapping[str, Any] = {} if elsewhere else (model.profile or {})
    fields = _fields_of(model)
    takes_no_temperature = profile.get("temperature") is False and "temperature" in fields
    return Dialect(
        form=_first_form(provider, model, profile),
        fields=fields,
        schema=_SCHEMAS.get(provider, _response_format),
        strict_tools=provider in _STRICT_TOOLS,
        declines=frozenset({"temperature"} if takes_no_temperature else ()),
        # LangChain sends `max_completion_tokens`, which OpenAI wants and other servers ignore.
        limit_in_body=elsewhere,
        # LangChain would stream from Ollama word by word.
        along={"stream": False} if provider == "ollama" else {},
        asks_for_usage="stream_usage" in type(model).model_fields,
    )


def seeded(model: BaseChatModel, seed: int | None) -> BaseChatModel:
    """The model with the seed, if its client takes one."""
    name = _fields_of(model).get("seed")
    return model if name is None or seed is None else model.model_copy(update={name: seed})


def _first_form(provider: str, model: BaseChatModel, profile: Mapping[str, Any]) -> Form:
    """The best one that is not known to be out of question."""
    if provider in _SCHEMAS and profile.get("structured_output") is not False:
        return "schema"
    can_tools = _knows_tools(model) and profile.get("tool_calling") is not False
    return "tool" if can_tools else "text"


def _fields_of(model: BaseChatModel) -> dict[Option, str]:
    """The client's own name for each option that it has."""
    has = type(model).model_fields
    found = {option: [name for name in _FIELDS[option] if name in has] for option in OPTIONS}
    return {option: names[0] for option, names in found.items() if names}


def _is_elsewhere(provider: str, model: BaseChatModel) -> bool:
    """Whether OpenAI's client asks another server, whose models only share a name with OpenAI's."""
    address = str(getattr(model, "openai_api_base", None) or "https://api.openai.com")
    return provider == "openai" and urlsplit(address).hostname != "api.openai.com"


def _knows_tools(model: BaseChatModel) -> bool:
    return type(model).bind_tools is not BaseChatModel.bind_tools


def _thinks(model: BaseChatModel) -> bool:
    """Whether Claude was told to think first: then it takes no order to use a tool."""
    thinking = getattr(model, "thinking", None) or {}
    return isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive")


def _decline_tools(_: Any) -> AIMessage:
    raise NotImplementedError("The model's client knows no tools.")
