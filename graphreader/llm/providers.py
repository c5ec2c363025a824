"""Model providers: packages and keys, LangChain clients, and request formats.

A provider that is not in PROVIDERS has its key in `NAME_API_KEY` and the package `langchain-name`.
"""

import inspect
import math
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import httpx
from langchain.chat_models import init_chat_model
from langchain.embeddings import init_embeddings
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from pydantic import SecretStr, ValidationError

from graphreader.errors import SettingsError
from graphreader.llm.protocols import LONGEST_REPLY, ROOM_TO_THINK, Decision
from graphreader.llm.response_limit import limit_responses, reply_limit, vectors_limit
from graphreader.llm.structured_output import ReplyForm, response_format, schema_of, tool
from graphreader.settings import DEFAULT_DIMENSION, OFFLINE, Settings, secrets

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Provider:
    """A model provider: LangChain's name and package, the variables of its key and base URL."""

    name: str
    key: str
    package: str
    base_url: str = ""


PROVIDERS = {
    name: Provider(name, key, f"langchain-{package}", *base_url)
    for name, key, package, *base_url in (
        ("openai", "OPENAI_API_KEY", "openai", "OPENAI_BASE_URL"),
        ("azure_openai", "AZURE_OPENAI_API_KEY", "openai"),
        ("anthropic", "ANTHROPIC_API_KEY", "anthropic", "ANTHROPIC_BASE_URL"),
        ("ollama", "OLLAMA_API_KEY", "ollama", "OLLAMA_HOST"),
        ("google_genai", "GOOGLE_API_KEY", "google-genai"),
        ("mistralai", "MISTRAL_API_KEY", "mistralai"),
        ("anthropic_bedrock", "AWS_ACCESS_KEY_ID", "aws"),
        ("bedrock", "AWS_ACCESS_KEY_ID", "aws"),
        ("bedrock_converse", "AWS_ACCESS_KEY_ID", "aws"),
        ("google_vertexai", "GOOGLE_APPLICATION_CREDENTIALS", "google-vertexai"),
        ("google_anthropic_vertex", "GOOGLE_APPLICATION_CREDENTIALS", "google-vertexai"),
        ("huggingface", "HUGGINGFACEHUB_API_TOKEN", "huggingface"),
        ("ibm", "WATSONX_APIKEY", "ibm"),
        ("nvidia", "NVIDIA_API_KEY", "nvidia-ai-endpoints"),
        ("perplexity", "PPLX_API_KEY", "perplexity"),
    )
}
"""The providers whose key, package or base URL differ from the default names."""

_OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "none"  # the key for servers that need none
_FORM_WARNING = "(This model does not support|Invalid schema for) OpenAI's structured output"


def provider_and_model(name: str, setting: str) -> tuple[Provider, str]:
    """Split "provider:model" into both; messages name `setting`. Raises SettingsError."""
    given, _, model = name.partition(":")
    if not (given and model):
        raise SettingsError(
            f"{setting} is '{name}', but must be provider:model (such as openai:{name or 'gpt'}) "
            f"or {OFFLINE}."
        )
    provider = given.replace("-", "_").lower()
    package = f"langchain-{provider.replace('_', '-')}"
    habits = Provider(provider, f"{provider.upper()}_API_KEY", package)
    return PROVIDERS.get(provider, habits), model


def open_chat_model(settings: Settings, name: str, setting: str) -> BaseChatModel:
    """Open the chat client of `name` ("provider:model"), the value of the variable `setting`.

    Raises SettingsError.
    """
    provider, model = provider_and_model(name, setting)
    options = _common_options(settings, provider)
    options |= {"temperature": settings.temperature, "disable_streaming": True}
    if provider.name == "ollama":
        # By default Ollama truncates silently at 2,048 or 4,096 tokens. The model's own tokens
        # may be half as many again as ours.
        options["num_ctx"] = settings.window * 3 // 2 + LONGEST_REPLY + ROOM_TO_THINK

    def open_(**given: Any) -> BaseChatModel:
        client: BaseChatModel = init_chat_model(f"{provider.name}:{model}", **given)
        if provider.name == "anthropic":
            _replace_shared_connections(client)
        return client

    client = _open(provider, name, setting, options, open_)
    if provider.name == "openai":  # LangChain warns of a rejected form; we try another form
        warnings.filterwarnings("ignore", message=_FORM_WARNING, category=UserWarning)
    _keep_refusals(client)
    changes: dict[str, Any] = {}
    # LangChain drops the temperature for all GPT-5 models; GPT-5.1 and later accept it.
    accepts_temperature = bool(client.profile and client.profile.get("temperature"))
    if accepts_temperature and getattr(client, "temperature", 0) is None:
        changes["temperature"] = settings.temperature
    if settings.seed is not None and (seed := _option_fields(client).get("seed")):
        changes[seed] = settings.seed
    limit_responses(_http_clients(client), name, reply_limit)
    return client.model_copy(update=changes)


def open_embeddings(settings: Settings, name: str, setting: str) -> Embeddings:
    """Open the client of the embedding model `name` ("provider:model"). Raises SettingsError."""
    provider, model = provider_and_model(name, setting)
    options = _common_options(settings, provider)
    if provider.name == "openai":
        # LangChain's check would download token ranks and send numbers in place of text.
        options["check_embedding_ctx_length"] = False
        if has_default_dimension(name):
            options["dimensions"] = DEFAULT_DIMENSION
    open_ = partial(init_embeddings, f"{provider.name}:{model}")
    client: Embeddings = _open(provider, name, setting, options, open_)
    limit_responses(_http_clients(client), name, vectors_limit)
    return client


def has_default_dimension(name: str) -> bool:
    """Whether the embedding model is opened with vectors of DEFAULT_DIMENSION numbers."""
    return name.lower().startswith("openai:text-embedding-3-")  # their vectors have any length


def health_url(client: object) -> str | None:
    """The URL to check before the first request; None behind a proxy, which may hide it."""
    proxies = ("anthropic_proxy", "openai_proxy")
    return None if any(getattr(client, name, None) for name in proxies) else base_url(client)


def base_url(client: object) -> str | None:
    """The base URL to which the client sends requests; None if the client hides it."""
    configured = getattr(client, "openai_api_base", None)
    urls = [configured, *(getattr(inner, "base_url", None) for inner in _inner_clients(client))]
    return next((str(url).rstrip("/") for url in urls if url), None)


def secrets_of(client: object) -> frozenset[str]:
    """All API keys in the client and in the environment, to be removed from messages."""
    held = [one.get_secret_value() for one in vars(client).values() if isinstance(one, SecretStr)]
    return frozenset(str(one) for one in (*held, *secrets()) if one and one != _NO_KEY)


def api_client(client: object) -> Any:
    """The provider's own asynchronous client inside LangChain's client."""
    return next(_inner_clients(client))


def with_transport(client: BaseChatModel, transport: object) -> BaseChatModel:
    """Copy a client of OpenAI or Anthropic so that `transport` answers its HTTP requests."""
    inner = api_client(client)
    # The providers' clients use httpx, or its successor.
    http = next(one for one in type(inner._client).__mro__ if one.__name__ == "AsyncClient")
    replaced = inner.copy(http_client=http(transport=transport))
    changed = client.model_copy()
    if "root_async_client" in vars(changed):
        vars(changed).update(root_async_client=replaced, async_client=replaced.chat.completions)
    else:
        vars(changed)["_async_client"] = replaced
    return changed


async def close(client: object) -> None:
    """Close the client's connections, where it has a method for it."""
    for inner in _inner_clients(client):
        close_method = getattr(inner, "aclose", None) or getattr(inner, "close", None)
        if close_method is not None:
            result = close_method()
            if inspect.isawaitable(result):
                await result
            return


def _inner_clients(client: object) -> Iterator[object]:
    """Yield the provider's asynchronous client inside LangChain's client, and its HTTP client."""
    names = ("root_async_client", "_async_client", "async_client")
    google = getattr(getattr(client, "client", None), "aio", None)
    for inner in (*(getattr(client, name, None) for name in names), google):
        if inner is not None:
            yield inner
            if (wrapped := getattr(inner, "_client", None)) is not None:
                yield wrapped


def _http_clients(client: object) -> list[Any]:
    """The HTTP clients, of httpx or its successor, inside LangChain's client."""
    inner = list(_inner_clients(client))
    inner += [getattr(one, "_client", None) for one in inner]
    return list({id(one): one for one in inner if hasattr(one, "event_hooks")}.values())


def _common_options(settings: Settings, provider: Provider) -> dict[str, Any]:
    if provider.name == "ollama":
        return {"client_kwargs": {"timeout": settings.timeout}}  # Ollama's client never retries
    if provider.name != "openai":
        return {
            "max_retries": 0,
            "timeout": math.ceil(settings.timeout),
        }  # some clients accept no fractions
    key = settings.openai_api_key
    if key is None and settings.openai_base_url is None:
        raise SettingsError(
            "OPENAI_API_KEY is not set: set it (in .env or in the environment), set "
            "OPENAI_BASE_URL for a server that needs no key, or set GRAPHREADER_MODEL=offline "
            "and GRAPHREADER_EMBEDDINGS=offline."
        )
    return {
        "max_retries": 0,
        # A Timeout, not a number: clients with equal numbers share one connection pool, and
        # closing one client would close it for all.
        "timeout": httpx.Timeout(settings.timeout, connect=10.0),
        "api_key": key.get_secret_value() if key else _NO_KEY,
        "base_url": settings.openai_base_url or _OPENAI_URL,
    }


def _replace_shared_connections(client: Any) -> None:
    """Give Anthropic's client its own connection pool; LangChain shares one (see above)."""
    anthropic = import_module("anthropic")
    parameters = client._client_params
    connections = {name: parameters[name] for name in ("base_url", "timeout") if name in parameters}
    http_client = anthropic.DefaultAsyncHttpxClient(**connections, proxy=client.anthropic_proxy)
    vars(client)["_async_client"] = anthropic.AsyncClient(**parameters, http_client=http_client)


def _keep_refusals(client: Any) -> None:
    """Let OpenAI's client keep the refusals of streamed replies; LangChain drops them."""
    convert = getattr(client, "_convert_chunk_to_generation_chunk", None)
    if convert is None:
        return

    def converted(chunk: dict[str, Any], *others: Any) -> Any:
        generated = convert(chunk, *others)
        deltas = [one.get("delta") or {} for one in chunk.get("choices") or ()]
        if generated and (refusal := "".join(one.get("refusal") or "" for one in deltas)):
            generated.message.additional_kwargs["refusal"] = refusal
        return generated

    vars(client)["_convert_chunk_to_generation_chunk"] = converted


def _open(
    provider: Provider, name: str, setting: str, options: dict[str, Any], open_: Callable[..., T]
) -> T:
    """Call `open_` without the options that the client forbids. Raises SettingsError."""
    base = f", {provider.base_url}" if provider.base_url else ""
    problem = SettingsError(
        f"{setting} is '{name}', which cannot be opened: check {provider.key} (is it set?){base}, "
        "and that LangChain knows the provider."
    )
    try:
        try:
            client = open_(**options)
        except ValidationError as error:
            problems = error.errors()
            forbidden = {one["loc"][0] for one in problems if one["type"] == "extra_forbidden"}
            if not forbidden & options.keys():
                raise
            client = open_(**{key: options[key] for key in options.keys() - forbidden})
    except ImportError as error:
        raise SettingsError(
            f"{setting} is '{name}', which needs a further package: pip install "
            f"{_missing_package(provider, error)}"
        ) from error
    except Exception as error:  # each provider's client reports a missing key in its own way
        raise problem from error
    key = getattr(client, f"{provider.name}_api_key", None)
    if (
        isinstance(key, SecretStr) and not key.get_secret_value()
    ):  # Anthropic's client opens without a key
        raise problem
    return client


def _missing_package(provider: Provider, error: ImportError) -> str:
    """The package that an import lacks, which may be one that the provider's package imports."""
    try:  # LangChain's own error names only this package
        import_module(provider.package.replace("-", "_"))
    except ImportError as first:
        error = first
    one: BaseException | None = error
    while one is not None and not isinstance(one, ModuleNotFoundError):
        one = one.__cause__ or one.__context__
    return one.name.partition(".")[0].replace("_", "-") if one and one.name else provider.package


Option = Literal["temperature", "seed", "limit", "bounds"]
"""A parameter that a service may reject; "limit" is the largest reply in tokens, "bounds" are the
largest numbers of items of the lists in a schema."""

_FIELDS: Mapping[Option, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "seed": ("seed", "random_seed"),
    "limit": ("max_tokens", "max_output_tokens", "num_predict", "max_completion_tokens"),
}
OPTIONS: tuple[Option, ...] = (*_FIELDS, "bounds")
_STRICT_TOOLS = {
    "openai",
    "azure_openai",
}  # other providers refuse `strict`, or need another URL for it
_BOUND_CLIENTS = 64  # cached, because LangChain describes each new client for traces


_LIKE_OPENAI = "azure_openai deepseek fireworks groq mistralai openai openrouter together xai"
# The parameters that pass a JSON schema to each provider whose client supports it.
_SCHEMA_OPTIONS: Mapping[str, Callable[[type[Decision], bool], dict[str, Any]]] = {
    "anthropic": lambda one, bounded: {
        "output_config": {
            "format": {"type": "json_schema", "schema": schema_of(one, bounded=bounded)}
        }
    },
    "google_genai": lambda one, bounded: {
        "response_mime_type": "application/json",
        "response_json_schema": schema_of(one, bounded=bounded),
    },
    "ollama": lambda one, bounded: {"format": schema_of(one, bounded=bounded)},
    **dict.fromkeys(
        _LIKE_OPENAI.split(),
        lambda one, bounded: {"response_format": response_format(one, bounded=bounded)},
    ),
}


class ProviderAdapter:
    """An adapter that binds decisions to a chat client; `form` is the reply form to try first."""

    def __init__(self, provider: str, client: BaseChatModel) -> None:
        self.client = client
        self.bind = lru_cache(_BOUND_CLIENTS)(self._bind)
        """Return a client set to the reply form, at most `limit` tokens, `without` options."""
        self._provider = provider
        self._fields = _option_fields(client)
        # OpenAI's client takes another form of schema in its Responses interface.
        is_openai_client = any(one.__name__ == "BaseChatOpenAI" for one in type(client).__mro__)
        self._takes_body = is_openai_client and not getattr(client, "use_responses_api", None)
        # Models of other servers with OpenAI's protocol share only a name with OpenAI's models.
        url = str(getattr(client, "openai_api_base", None) or _OPENAI_URL)
        is_openai = urlsplit(url).hostname == urlsplit(_OPENAI_URL).hostname
        self._only_compatible = provider == "openai" and not is_openai
        self.serves_small_models = self._only_compatible or provider == "ollama"
        """Whether a model of any size may answer, such as one that repeats itself without end."""
        profile: Mapping[str, Any] = {} if self._only_compatible else (client.profile or {})
        rejects_temperature = profile.get("temperature") is False
        self._unsupported: set[Option] = {"temperature"} if rejects_temperature else set()
        self.form: ReplyForm = "text"
        if provider in _SCHEMA_OPTIONS and profile.get("structured_output") is not False:
            self.form = "schema"
        elif profile.get("tool_calling") is not False:
            has_tools = type(client).bind_tools is not BaseChatModel.bind_tools
            self.form = "tool" if has_tools else "text"

    def _bind(
        self,
        decision: type[Decision],
        form: ReplyForm,
        *,
        limit: int,
        without: Collection[Option] = (),
        streamed: bool = False,
    ) -> Runnable[Any, AIMessage]:
        without = self._unsupported.union(without)
        changes: dict[str, Any] = {
            self._fields[option]: None
            for option in ("temperature", "seed")
            if option in without and option in self._fields
        }
        parameters: dict[str, Any] = {}
        if streamed:
            changes["disable_streaming"] = False  # every client is opened with True
            if "stream_usage" in type(self.client).model_fields:
                changes["stream_usage"] = True
        elif self._provider == "ollama":
            parameters["stream"] = False  # LangChain would stream word by word
        if "limit" in self._fields.keys() - without:
            # LangChain sends `max_completion_tokens`, which OpenAI wants and other servers ignore.
            if self._only_compatible:
                parameters["extra_body"] = {"max_tokens": limit}
            else:
                changes[self._fields["limit"]] = limit
        client = self.client.model_copy(update=changes) if changes else self.client
        # Anthropic, Azure and OpenAI's fine-tuned models refuse bounds.
        bounded = self.serves_small_models and "bounds" not in without
        if form == "schema":
            schema = _SCHEMA_OPTIONS.get(self._provider, _SCHEMA_OPTIONS["openai"])
            options = schema(decision, bounded)
            if self._takes_body:
                # As a parameter it would be copied part by part, and a reply cut off be an error.
                options = {"extra_body": {**options, **parameters.pop("extra_body", {})}}
            return client.bind(**options, **parameters)
        if form == "text":
            return client.bind(**parameters)
        offered = [tool(decision, strict=self._provider in _STRICT_TOOLS, bounded=bounded)]
        return client.bind_tools(offered, tool_choice=decision.__name__, **parameters)


def _option_fields(client: BaseChatModel) -> dict[Option, str]:
    known = type(client).model_fields
    fields = {option: [one for one in names if one in known] for option, names in _FIELDS.items()}
    return {option: names[0] for option, names in fields.items() if names}
