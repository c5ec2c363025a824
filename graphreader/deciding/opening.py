"""Opening what the settings ask for: a decider, an embedder.

Importing this module imports LangChain, which is slow: only code that opens something does.
Providers' own packages are imported when one of their models is opened.
"""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, TypeVar

from langchain.chat_models import init_chat_model
from langchain.embeddings import init_embeddings
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from graphreader.deciding.decider import Decider
from graphreader.deciding.embedder import Embedder
from graphreader.deciding.embedding import ModelEmbedder, dimension_of
from graphreader.deciding.fitting import Form
from graphreader.deciding.language_model import LanguageModelDecider
from graphreader.deciding.offline.decider import OfflineDecider
from graphreader.deciding.offline.embedding import OfflineEmbedder
from graphreader.deciding.service import ModelService
from graphreader.errors import SettingsError
from graphreader.settings import DEFAULT_DIMENSION, OFFLINE, Settings

T = TypeVar("T")

_OPENAI_ADDRESS = "https://api.openai.com/v1"
_NO_KEY = "none"  # what servers that need no key are sent
_KEYS = {  # where a provider's key is not PROVIDER_API_KEY
    "azure_openai": "AZURE_OPENAI_API_KEY",
    "google_genai": "GOOGLE_API_KEY",
    "mistralai": "MISTRAL_API_KEY",
    "huggingface": "HUGGINGFACEHUB_API_TOKEN",
}
# Providers whose clients take `response_format` as OpenAI's does. Others start with a tool.
_TAKE_SCHEMAS = {"openai", "azure_openai", "deepseek", "groq", "together", "fireworks", "xai"}
# Models that make vectors of any length that is asked for.
_TAKES_DIMENSIONS = re.compile(r"text-embedding-3-")


def open_decider(settings: Settings) -> Decider:
    """The decider of the settings. Asks nothing yet.

    Raises SettingsError where the model, its provider's package or its key is missing.
    """
    name = settings.chosen_model
    if name == OFFLINE:
        return OfflineDecider()
    provider, _ = _provider_and_model(name, "GRAPHREADER_MODEL")
    options = _options(settings, provider)
    options |= {"temperature": settings.temperature, "disable_streaming": True}

    def model() -> BaseChatModel:
        opened: BaseChatModel = _opened(
            name, "GRAPHREADER_MODEL", lambda: init_chat_model(name, **options)
        )
        return opened

    first = model()  # what is missing is said now, not at the first decision
    form: Form = "schema" if provider in _TAKE_SCHEMAS else "tool"
    service = _service(settings, name, "GRAPHREADER_MODEL", provider, first)
    return LanguageModelDecider(model, service, window=settings.window, form=form)


def open_embedder(settings: Settings) -> Embedder:
    """The embedder of the settings.

    Where the length of the vectors is not known, one text is embedded to find it, which blocks.
    Raises SettingsError as `open_decider` does, and DecisionError where that text fails.
    """
    name = settings.chosen_embeddings
    if name == OFFLINE:
        return OfflineEmbedder()
    provider, model = _provider_and_model(name, "GRAPHREADER_EMBEDDINGS")
    options = _options(settings, provider)
    fixed = provider == "openai" and _TAKES_DIMENSIONS.match(model)
    if provider == "openai":
        # LangChain's check would download token ranks and send numbers instead of text.
        options["check_embedding_ctx_length"] = False
    if fixed:
        options["dimensions"] = DEFAULT_DIMENSION

    def embeddings() -> Embeddings:
        return _opened(name, "GRAPHREADER_EMBEDDINGS", lambda: init_embeddings(name, **options))

    def service() -> ModelService:
        return _service(settings, name, "GRAPHREADER_EMBEDDINGS", provider, first)

    first = embeddings()  # what is missing is said now
    dimension = DEFAULT_DIMENSION if fixed else _probed_dimension(first, service())
    return ModelEmbedder(embeddings, service(), dimension=dimension)


def _probed_dimension(embeddings: Embeddings, service: ModelService) -> int:
    """The length of the model's vectors, asked for in a thread: a loop may be running here."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(dimension_of(embeddings, service))).result()


def _provider_and_model(name: str, setting: str) -> tuple[str, str]:
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise SettingsError(
            f"{setting} is '{name}', but must be provider:model (such as openai:{name or 'gpt'}) "
            f"or {OFFLINE}."
        )
    return provider.replace("-", "_").lower(), model


def _options(settings: Settings, provider: str) -> dict[str, Any]:
    """What every client of the provider is opened with."""
    if provider != "openai":
        return {"max_retries": 0, "timeout": settings.timeout}
    key = settings.openai_api_key
    if key is None and settings.openai_base_url is None:
        raise SettingsError(
            "OPENAI_API_KEY is not set: set it (in .env or in the environment), set "
            "OPENAI_BASE_URL for a server that needs no key, or set GRAPHREADER_MODEL=offline "
            "and GRAPHREADER_EMBEDDINGS=offline."
        )
    return {
        "max_retries": 0,
        # A Timeout, not a number: for numbers LangChain shares one pool of connections between
        # all models, and connections must not be shared between event loops.
        "timeout": import_module("openai").Timeout(settings.timeout, connect=10.0),
        "api_key": key.get_secret_value() if key else _NO_KEY,
        "base_url": settings.openai_base_url or _OPENAI_ADDRESS,
    }


def _service(
    settings: Settings, name: str, setting: str, provider: str, client: object
) -> ModelService:
    address = (settings.openai_base_url or _OPENAI_ADDRESS) if provider == "openai" else None
    return ModelService(
        name,
        setting=setting,
        key=_key_variable(provider),
        address=address.rstrip("/") if address else None,
        timeout=settings.timeout,
        concurrency=settings.concurrency,
        secrets=_secrets_of(client),
    )


def _secrets_of(client: object) -> frozenset[str]:
    """The keys that a provider's client holds, from wherever it got them."""
    held = [one.get_secret_value() for one in vars(client).values() if isinstance(one, SecretStr)]
    return frozenset(str(one) for one in held if one and one != _NO_KEY)


def _opened(name: str, setting: str, build: Callable[[], T]) -> T:
    """What `build` gives; its failures as SettingsErrors with the way out."""
    provider = name.partition(":")[0]
    try:
        return build()
    except ImportError as error:
        package = re.search(r"pip install [\"']?([\w.\[\]-]+)", str(error))
        wanted = package[1] if package else f"langchain-{provider}"
        raise SettingsError(
            f"{setting} is '{name}', which needs a further package: pip install {wanted}"
        ) from error
    except Exception as error:  # each provider's client has its own way to miss a key
        if isinstance(error, ValueError) and "upported" in str(error):
            raise SettingsError(
                f"{setting} is '{name}', but there is no provider '{provider}': use openai, "
                "anthropic, ollama or any other that LangChain knows."
            ) from error
        key = _key_variable(provider)
        base = ", OPENAI_BASE_URL" if provider == "openai" else ""
        raise SettingsError(
            f"{name} cannot be opened: check {key} (is it set?){base} and {setting}."
        ) from error


def _key_variable(provider: str) -> str:
    return _KEYS.get(provider, f"{provider.upper()}_API_KEY")
