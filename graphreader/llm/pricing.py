"""Prices of requests in dollars, from the user's price file or the package `genai-prices`."""

import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphreader.errors import SettingsError
from graphreader.settings import OFFLINE, Settings

# LangChain's names of providers, and the names in genai-prices.
_PROVIDERS = {
    "azure_openai": "azure",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistralai": "mistral",
    "xai": "x-ai",
}


class _Entry(BaseModel):
    """The file's prices of one model, in dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(None, ge=0)


BATCH_SHARE = 0.5  # share of a request's price that OpenAI and Anthropic charge in batches


class Prices:
    """The prices of models, from which the cost of a request follows.

    The file is TOML with one table per model, in dollars per million tokens:

        ["openai:my-model"]
        input = 0.15
        output = 0.6
        cached_input = 0.075  # default: as input

    `openai_base_url` is the address of the provider "openai" if another service answers there;
    genai-prices knows some. `share` (0-1) is the part of each price that is charged. Raises
    SettingsError.
    """

    def __init__(
        self, file: Path | None = None, *, openai_base_url: str | None = None, share: float = 1.0
    ) -> None:
        self._own = _read_file(file) if file else {}
        self._openai_base_url = openai_base_url
        self._share = share

    @classmethod
    def of(cls, settings: Settings, *, batch: bool = False) -> "Prices":
        """The prices that the settings name, reduced by BATCH_SHARE for requests in a `batch`."""
        share = BATCH_SHARE if batch else 1.0
        return cls(settings.prices, openai_base_url=settings.openai_base_url, share=share)

    def dollars(
        self, name: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0
    ) -> float | None:
        """The price of one request to `name` ("provider:model") in dollars; None: not known.

        `cached_tokens` counts the input tokens that the provider had in its cache. Each costs
        `cached_input`, or the listed price of cache reads, instead of the price of input.
        """
        if name == OFFLINE:
            return 0.0
        name, cached = _normalize(name), min(cached_tokens, input_tokens)
        entry = self._own.get(name)
        if entry is None:
            return self._listed(name, input_tokens, output_tokens, cached)
        cached_price = entry.input if entry.cached_input is None else entry.cached_input
        uncached = (input_tokens - cached) * entry.input
        price = uncached + cached * cached_price + output_tokens * entry.output
        return self._share * price / 1_000_000

    def _listed(self, name: str, input_: int, output: int, cached: int) -> float | None:
        """The price of one request by genai-prices; None for an unknown model."""
        package, providers = load_table().result()
        given, _, model = name.partition(":")
        provider = _PROVIDERS.get(given, given)
        where = {"provider_id": provider}
        if given == "openai" and self._openai_base_url:
            where = {"provider_api_url": self._openai_base_url}
        elif provider not in providers:
            return None  # genai-prices would guess by a part of the provider's name
        usage = package.Usage(input_tokens=input_, output_tokens=output, cache_read_tokens=cached)
        try:
            price = package.calc_price(usage, model, **where)
        except LookupError:
            return None
        # genai-prices also lists models without prices.
        if price.model_price.input_mtok is None:
            return None
        return self._share * float(price.total_price)


@cache
def load_table() -> "Future[tuple[Any, frozenset[str]]]":
    """Import genai-prices in a thread (0.5 s); the result is the package and its provider ids."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="prices")
    table = thread.submit(_import_table)
    thread.shutdown(wait=False)
    return table


def _import_table() -> tuple[Any, frozenset[str]]:
    package = import_module("genai_prices")
    snapshot = import_module("genai_prices.data_snapshot").get_snapshot()
    return package, frozenset(provider.id for provider in snapshot.providers)


def _read_file(file: Path) -> dict[str, _Entry]:
    try:
        tables = tomllib.loads(file.expanduser().read_text(encoding="utf-8-sig"))
        if bare := [name for name in tables if ":" not in name]:
            raise ValueError(f"{bare[0]} names no provider")
        return {_normalize(name): _Entry.model_validate(entry) for name, entry in tables.items()}
    except (OSError, ValueError) as error:  # TOML, UTF-8 and validation raise ValueErrors
        reason = str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            reason = ": ".join([*map(str, first["loc"]), first["msg"].lower()])
        raise SettingsError(
            f"The prices in {file} (GRAPHREADER_PRICES) cannot be used ({reason}): write a table "
            '["provider:model"] with `input`, `output` and, where it differs, `cached_input`, in '
            "dollars a million tokens."
        ) from None


def _normalize(name: str) -> str:
    provider, colon, model = name.partition(":")
    return f"{provider.replace('-', '_').lower()}{colon}{model}"
