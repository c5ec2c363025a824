"""The providers of models that LangChain knows: what has to be installed and set for each.

One that is not in the table is used all the same: its key is taken to stand in `NAME_API_KEY` and
its package to be `langchain-name`, which is LangChain's own habit.

Clients of LangChain: opened as the settings ask, looked into, closed.

Providers' own packages are imported when one of their models is opened. What is missing then is
told as a SettingsError with the way out.

How the client of each provider wants to be asked: the form of the reply, and the options.

Temperature and seed are set in the client when it is opened (`seeded`), the limit of the reply
with each request; each of them is a field of LangChain's class, under one of a few names. Where the
service declines one, it is left out of the requests that follow (`without`).

Keeping secrets out of what people read: messages, logs, reports.
"""

import inspect
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from langchain.chat_models import init_chat_model
from langchain.embeddings import init_embeddings
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import SecretStr, ValidationError

from graphreader.errors import SettingsError
from graphreader.llm import structured_output
from graphreader.llm.protocols import LONGEST_REPLY, ROOM_TO_THINK, Decision
from graphreader.llm.structured_output import Form
from graphreader.settings import DEFAULT_DIMENSION, OFFLINE, Settings, secrets


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider: the variable of its key, LangChain's package for it.

    `name` is LangChain's, as it stands before the colon of "provider:model"; `address` is the
    variable that holds the base URL, if we know of one.
    """

    name: str
    key: str
    package: str
    address: str = ""

    @property
    def install(self) -> str:
        """The command that installs what the provider needs."""
        return f"pip install {self.package}"


_GOOGLE_CLOUD = "GOOGLE_APPLICATION_CREDENTIALS"

_TABLE = (
    Provider("openai", "OPENAI_API_KEY", "langchain-openai", address="OPENAI_BASE_URL"),
    Provider("azure_openai", "AZURE_OPENAI_API_KEY", "langchain-openai"),
    Provider("anthropic", "ANTHROPIC_API_KEY", "langchain-anthropic", "ANTHROPIC_BASE_URL"),
    Provider("ollama", "OLLAMA_API_KEY", "langchain-ollama", "OLLAMA_HOST"),
    Provider("google_genai", "GOOGLE_API_KEY", "langchain-google-genai"),
    Provider("mistralai", "MISTRAL_API_KEY", "langchain-mistralai"),
    Provider("groq", "GROQ_API_KEY", "langchain-groq"),
    Provider("deepseek", "DEEPSEEK_API_KEY", "langchain-deepseek"),
    Provider("xai", "XAI_API_KEY", "langchain-xai"),
    Provider("openrouter", "OPENROUTER_API_KEY", "langchain-openrouter"),
    Provider("anthropic_bedrock", "AWS_ACCESS_KEY_ID", "langchain-aws"),
    Provider("bedrock", "AWS_ACCESS_KEY_ID", "langchain-aws"),
    Provider("bedrock_converse", "AWS_ACCESS_KEY_ID", "langchain-aws"),
    Provider("google_anthropic_vertex", _GOOGLE_CLOUD, "langchain-google-vertexai"),
    Provider("google_vertexai", _GOOGLE_CLOUD, "langchain-google-vertexai"),
    Provider("huggingface", "HUGGINGFACEHUB_API_TOKEN", "langchain-huggingface"),
    Provider("ibm", "WATSONX_APIKEY", "langchain-ibm"),
    Provider("perplexity", "PPLX_API_KEY", "langchain-perplexity"),
    Provider("nvidia", "NVIDIA_API_KEY", "langchain-nvidia-ai-endpoints"),
)

PROVIDERS = {provider.name: provider for provider in _TABLE}


def provider_of(name: str) -> Provider:
    """The provider of that name, out of the table or as LangChain's habits have it."""
    name = name.replace("-", "_").lower()
    usual = Provider(name, f"{name.upper()}_API_KEY", f"langchain-{name.replace('_', '-')}")
    return PROVIDERS.get(name, usual)


def provider_and_model(name: str, setting: str) -> tuple[Provider, str]:
    """Both parts of "provider:model"; the model's name may hold further colons.

    Raises SettingsError, which names the variable `setting`, where a part is missing.
    """
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise SettingsError(
            f"{setting} is '{name}', but must be provider:model (such as openai:{name or 'gpt'}) "
            f"or {OFFLINE}."
        )
    return provider_of(provider), model


T = TypeVar("T")
_OPENAI_ADDRESS = "https://api.openai.com/v1"
_NO_KEY = "none"  # what servers that need no key are sent

# Models that make vectors of any length that is asked for.
_TAKES_DIMENSIONS = re.compile(r"text-embedding-3-")
_NO_PROVIDER = re.compile(r"upported|Unable to infer")
_opened_before = count()

# Where LangChain's clients keep the provider's own asynchronous client.
_INNER = ("root_async_client", "_async_client", "async_client")


def open_chat_model(settings: Settings, name: str, setting: str) -> BaseChatModel:
    """The client of the model "provider:model", which stands in the variable `setting`.

    Temperature is set, a seed is not. Raises SettingsError.
    """
    provider, model = provider_and_model(name, setting)
    options = _options(settings, provider)
    options |= {"temperature": settings.temperature, "disable_streaming": True}
    if provider.name == "ollama":
        # Ollama takes 2,048 or 4,096 tokens unless it is told, and cuts off the rest in silence.
        options["num_ctx"] = _ollama_context(settings.window)
    full = f"{provider.name}:{model}"
    opened: BaseChatModel = _opened(
        provider, name, setting, options, lambda **given: init_chat_model(full, **given)
    )
    getattr(opened, "_async_client", None)  # Anthropic's is made when first used: not in each copy
    return _heated(opened, settings.temperature)


def _heated(model: BaseChatModel, temperature: float) -> BaseChatModel:
    """The model with the temperature, also where LangChain drops it without need.

    It does so for all of GPT-5; those from 5.1 on take one as long as they do not think.
    """
    takes_one = bool(model.profile and model.profile.get("temperature"))
    if takes_one and getattr(model, "temperature", 0) is None:
        return model.model_copy(update={"temperature": temperature})
    return model


def open_embeddings(settings: Settings, name: str, setting: str) -> Embeddings:
    """The client of the embeddings "provider:model". Raises SettingsError."""
    provider, model = provider_and_model(name, setting)
    options = _options(settings, provider)
    if provider.name == "openai":
        # LangChain's check would download token ranks and send numbers instead of text.
        options["check_embedding_ctx_length"] = False
        if takes_dimensions(name):
            options["dimensions"] = DEFAULT_DIMENSION
    full = f"{provider.name}:{model}"
    return _opened(provider, name, setting, options, lambda **given: init_embeddings(full, **given))


def takes_dimensions(name: str) -> bool:
    """Whether the embeddings are opened so that they make vectors of DEFAULT_DIMENSION."""
    provider, _, model = name.partition(":")
    return provider.lower() == "openai" and bool(_TAKES_DIMENSIONS.match(model))


def behind_proxy(client: object) -> bool:
    """Whether the client was told a proxy of its own, so that its address may be out of reach."""
    return any(getattr(client, name, None) for name in ("anthropic_proxy", "openai_proxy"))


def context_of(client: object) -> int | None:
    """The tokens that the service is told to read and write at most; it cuts off the rest."""
    told: int | None = getattr(client, "num_ctx", None)
    return told


def address_of(client: object) -> str | None:
    """The base URL that the client asks, if it can be told."""
    configured = getattr(client, "openai_api_base", None)
    addresses = [configured, *(getattr(inner, "base_url", None) for inner in _inner(client))]
    return next((str(one).rstrip("/") for one in addresses if one and str(one)), None)


def secrets_of(client: object) -> frozenset[str]:
    """The keys that the client holds, wherever it got them, and those of the environment."""
    held = [one.get_secret_value() for one in vars(client).values() if isinstance(one, SecretStr)]
    return frozenset(str(one) for one in (*held, *secrets()) if one and one != _NO_KEY)


async def close(client: object) -> None:
    """Close the client's connections, where it lets us."""
    for inner in _inner(client):
        closing = getattr(inner, "aclose", None) or getattr(inner, "close", None)
        if closing is not None:
            done = closing()
            if inspect.isawaitable(done):
                await done
            return


def _inner(client: object) -> Iterator[object]:
    """What LangChain's client wraps: the provider's own client, and what that one wraps."""
    google = getattr(getattr(client, "client", None), "aio", None)
    for inner in (*(getattr(client, name, None) for name in _INNER), google):
        if inner is not None:
            yield inner
            if (wrapped := getattr(inner, "_client", None)) is not None:
                yield wrapped


def _ollama_context(window: int) -> int:
    """Tokens that Ollama makes room for: prompt and reply, and thoughts before it.

    Prompts are counted in another encoding than the model's own, which may need half as much more.
    """
    return window + window // 2 + LONGEST_REPLY + ROOM_TO_THINK


def _options(settings: Settings, provider: Provider) -> dict[str, Any]:
    """What every client of the provider is opened with. Nobody but us asks again."""
    if provider.name == "openai":
        return _openai_options(settings)
    if provider.name == "ollama":
        return {"client_kwargs": {"timeout": settings.timeout}}  # it never asks again
    if provider.name == "anthropic":
        # A number of its own for each client: for equal ones LangChain shares one pool of
        # connections, and connections must not be shared between event loops.
        return {"max_retries": 0, "timeout": settings.timeout + next(_opened_before) / 1e6}
    return {"max_retries": 0, "timeout": math.ceil(settings.timeout)}  # some take no fractions


def _openai_options(settings: Settings) -> dict[str, Any]:
    key = settings.openai_api_key
    if key is None and settings.openai_base_url is None:
        raise SettingsError(
            "OPENAI_API_KEY is not set: set it (in .env or in the environment), set "
            "OPENAI_BASE_URL for a server that needs no key, or set GRAPHREADER_MODEL=offline "
            "and GRAPHREADER_EMBEDDINGS=offline."
        )
    return {
        "max_retries": 0,
        # A Timeout, not a number, for the same reason as at Anthropic's.
        "timeout": import_module("openai").Timeout(settings.timeout, connect=10.0),
        "api_key": key.get_secret_value() if key else _NO_KEY,
        "base_url": settings.openai_base_url or _OPENAI_ADDRESS,
    }


def _opened(
    provider: Provider, name: str, setting: str, options: dict[str, Any], build: Callable[..., T]
) -> T:
    """What `build` gives; its failures as SettingsErrors with the way out."""
    try:
        opened = _built(build, options)
    except ImportError as error:
        raise SettingsError(
            f"{setting} is '{name}', which needs a further package: {provider.install}"
        ) from error
    except Exception as error:  # each provider's client has its own way to miss a key
        if isinstance(error, ValueError) and _NO_PROVIDER.search(str(error)):
            raise SettingsError(_no_provider(provider, name, setting)) from error
        base = f", {provider.address}" if provider.address else ""
        raise SettingsError(
            f"{name} cannot be opened: check {provider.key} (is it set?){base} and {setting}."
        ) from error
    if _lacks_key(provider, opened):
        raise SettingsError(
            f"{provider.key} is not set: set it (in .env or in the environment), or choose another "
            f"model in {setting}."
        )
    return opened


def _lacks_key(provider: Provider, client: object) -> bool:
    """Whether the client was opened with an empty key; Anthropic's is, and fails when it asks."""
    key = getattr(client, f"{provider.name}_api_key", None)
    return isinstance(key, SecretStr) and not key.get_secret_value()


def _no_provider(provider: Provider, name: str, setting: str) -> str:
    if setting == "GRAPHREADER_EMBEDDINGS":
        known = provider.name in PROVIDERS
        what = "LangChain knows no embeddings of" if known else "there is no provider"
        return (
            f"{setting} is '{name}', but {what} '{provider.name}': use openai, ollama, "
            "google_genai, any other that LangChain has embeddings of, or offline."
        )
    return (
        f"{setting} is '{name}', but there is no provider '{provider.name}': use openai, "
        "anthropic, ollama or any other that LangChain knows."
    )


def _built(build: Callable[..., T], options: dict[str, Any]) -> T:
    """What `build` gives, without the options that the client forbids."""
    try:
        return build(**options)
    except ValidationError as error:
        forbidden = {one["loc"][0] for one in error.errors() if one["type"] == "extra_forbidden"}
        if not forbidden & options.keys():
            raise
        return build(**{key: one for key, one in options.items() if key not in forbidden})


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
    return {"response_format": structured_output.response_format(decision)}


def _output_config(decision: type[Decision]) -> dict[str, Any]:
    """Anthropic's."""
    return {
        "output_config": {
            "format": {"type": "json_schema", "schema": structured_output.schema_of(decision)},
        }
    }


def _format(decision: type[Decision]) -> dict[str, Any]:
    """Ollama's: the server itself holds any model to it."""
    return {"format": structured_output.schema_of(decision)}


def _response_json_schema(decision: type[Decision]) -> dict[str, Any]:
    """Google's."""
    return {
        "response_mime_type": "application/json",
        "response_json_schema": structured_output.schema_of(decision),
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
        tool = structured_output.tool(decision, strict=self.strict_tools)
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


_USERINFO = re.compile(r"^(\w[\w+.-]*://)?.*@", re.DOTALL)
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_USERINFO_WITHIN = re.compile(r"(?<=://)[^/\s]*@")

_KEY = re.compile(
    r"\b(sk|gsk|pk|hf|xai|key|api)[-_][\w*.\-]{6,}|\bAIza[\w\-]{10,}|Bearer\s+\S+", re.IGNORECASE
)


def shown(address: str) -> str:
    """An address without what may be secret in it: user, password, query."""
    return _QUERY.sub("", _USERINFO.sub(r"\1", address))


def redacted(words: str, secrets: Iterable[str] = ()) -> str:
    """A service's words with `secrets` blotted out, and whatever else looks like a key.

    A secret of less than 6 characters is none; it might stand inside of any word.
    """
    long = [secret for secret in secrets if len(secret) >= 6]
    for secret in sorted(long, key=len, reverse=True):
        words = words.replace(secret, "...")
    return _KEY.sub("...", _USERINFO_WITHIN.sub("", words))
