"""What tokens cost in dollars: by a person's own file, else by the table of `genai-prices`.

The table comes with that package and is never updated over the network: a newer package knows
newer prices. A model of one's own server has no price unless the file names it; nothing is guessed.
Prices are list prices: discounts, batches and taxes are not in them, nor what a provider takes for
writing into its prompt cache.
"""

import os
import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphreader.errors import SettingsError
from graphreader.settings import OFFLINE, Settings

# LangChain's names of providers, where the table's are others.
_PROVIDERS = {
    "anthropic_bedrock": "aws",
    "azure_ai": "azure",
    "azure_openai": "azure",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "google_anthropic_vertex": "google",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistralai": "mistral",
    "xai": "x-ai",
}


class _Entry(BaseModel):
    """What the file says about one model, in dollars a million tokens."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(None, ge=0)

    def dollars(self, fresh: int, cached: int, output: int) -> float:
        """What so many tokens cost; `fresh` are those of the input that are not `cached`."""
        for_cached = self.input if self.cached_input is None else self.cached_input
        return (fresh * self.input + cached * for_cached + output * self.output) / 1_000_000


class Prices:
    """Knows what a request to a model costs.

    The file is TOML: a table a model, named "provider:model", in dollars a million tokens:

        ["openai:my-model"]
        input = 0.15
        output = 0.6
        cached_input = 0.075  # left out: as input

    Raises SettingsError where the file cannot be read or says something else. `openai_base_url` is
    where models of the provider "openai" are asked, if not at OpenAI: their prices are known where
    the table knows the address.
    """

    def __init__(self, file: Path | None = None, *, openai_base_url: str | None = None) -> None:
        self._own = _own(file) if file else {}
        self._openai_base_url = openai_base_url
        _table()  # begins to read it

    @classmethod
    def of(cls, settings: Settings) -> "Prices":
        """The prices of the settings."""
        return cls(settings.prices, openai_base_url=settings.openai_base_url)

    def dollars(
        self, name: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0
    ) -> float | None:
        """Dollars of one request to the model `name` ("provider:model"); None: not known.

        `cached_tokens` are those of the input tokens that came from the provider's prompt cache.
        Some providers charge more for a long request: so what many requests cost is the sum of
        what each costs. The first time may wait for the table, later ones take 60 microseconds.
        """
        if name == OFFLINE:
            return 0.0
        name = _normal(name)
        cached_tokens = min(cached_tokens, input_tokens)
        if name in self._own:
            return self._own[name].dollars(
                input_tokens - cached_tokens, cached_tokens, output_tokens
            )
        return self._listed(name, input_tokens, output_tokens, cached_tokens)

    def _listed(self, name: str, input_: int, output: int, cached: int) -> float | None:
        """What the table says about one request; None for a model that it does not know."""
        package, providers = _table().result()
        provider, _, model = name.partition(":")
        where = {"provider_id": _PROVIDERS.get(provider, provider)}
        if provider == "openai" and self._openai_base_url:
            where = {"provider_api_url": self._openai_base_url}
        elif where["provider_id"] not in providers:
            return None  # the package would guess by a part of the provider's name
        usage = package.Usage(input_tokens=input_, output_tokens=output, cache_read_tokens=cached)
        try:
            found = package.calc_price(usage, model, **where)
        except LookupError:
            return None
        # It also lists models without saying what they cost.
        return None if found.model_price.input_mtok is None else float(found.total_price)


@cache
def _table() -> "Future[tuple[Any, frozenset[str]]]":
    """The package and its providers, read in a thread: a loop would stand still for 0.4 s."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="prices")
    reading = thread.submit(_read_table)
    thread.shutdown(wait=False)
    return reading


def _read_table() -> tuple[Any, frozenset[str]]:
    package = import_module("genai_prices")
    snapshot = import_module("genai_prices.data_snapshot").get_snapshot()
    return package, frozenset(provider.id for provider in snapshot.providers)


def _own(file: Path) -> dict[str, _Entry]:
    """The prices of a person's file."""
    try:
        text = Path(os.path.expanduser(file)).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(
            f"The prices in {file} cannot be read ({error.strerror}): check GRAPHREADER_PRICES."
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(
            f"The prices in {file} are not UTF-8: save the file as UTF-8."
        ) from None
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"The prices in {file} are not valid TOML: {error}.") from None
    return {_normal(name): _entry(file, name, entry) for name, entry in tables.items()}


def _entry(file: Path, name: str, entry: object) -> _Entry:
    provider, _, model = name.partition(":")
    if not (provider and model):
        raise SettingsError(
            f"The prices in {file} name [{name}], which is no model: write "
            f'["provider:model"], with the quotation marks.'
        )
    try:
        return _Entry.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        wrong = f"{where}: {first['msg'].lower()}" if where else first["msg"].lower()
        raise SettingsError(
            f'The prices of ["{name}"] in {file} make no sense ({wrong}): give `input`, `output` '
            "and, where it differs, `cached_input`, in dollars a million tokens."
        ) from None


def _normal(name: str) -> str:
    """The name with the provider as LangChain writes it."""
    provider, colon, model = name.partition(":")
    return f"{provider.replace('-', '_').lower()}{colon}{model}"
