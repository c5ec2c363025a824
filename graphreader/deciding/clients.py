"""Clients of LangChain: opened as the settings ask, looked into, closed.

Providers' own packages are imported when one of their models is opened. What is missing then is
told as a SettingsError with the way out.
"""

import inspect
import math
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import count
from typing import Any, TypeVar

from langchain.chat_models import init_chat_model
from langchain.embeddings import init_embeddings
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr, ValidationError

from graphreader.deciding.providers import PROVIDERS, Provider, provider_and_model
from graphreader.deciding.tasks import LONGEST_REPLY, ROOM_TO_THINK
from graphreader.errors import SettingsError
from graphreader.settings import DEFAULT_DIMENSION, Settings, secrets

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
