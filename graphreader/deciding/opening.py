"""Opening what the settings ask for: a decider, an embedder.

Importing this module imports LangChain, which is slow: only code that opens something does.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel

from graphreader import tokens
from graphreader.deciding.clients import (
    address_of,
    behind_proxy,
    context_of,
    open_chat_model,
    open_embeddings,
    secrets_of,
    takes_dimensions,
)
from graphreader.deciding.decider import Decider
from graphreader.deciding.dialects import dialect_of, seeded
from graphreader.deciding.embedder import Embedder
from graphreader.deciding.embedding import ModelEmbedder, dimension_of
from graphreader.deciding.keeping.keeping import KeptDecisions
from graphreader.deciding.keeping.reply_cache import ReplyCache
from graphreader.deciding.language_model import LanguageModelDecider
from graphreader.deciding.offline.decider import OfflineDecider
from graphreader.deciding.offline.embedding import OfflineEmbedder
from graphreader.deciding.prices import Prices
from graphreader.deciding.prompting import Prompts
from graphreader.deciding.providers import provider_and_model
from graphreader.deciding.routing import RoutingDecider
from graphreader.deciding.service import traffic
from graphreader.deciding.service.service import ModelService
from graphreader.settings import DEFAULT_DIMENSION, OFFLINE, Settings
from graphreader.usage import Phase

Purpose = Literal["build", "ask"]

_EMBEDDINGS = "GRAPHREADER_EMBEDDINGS"


def open_decider(settings: Settings, purpose: Purpose = "ask") -> Decider:
    """The decider that reads texts in, or the one that explores and answers. Asks nothing yet.

    Raises SettingsError where the model, its provider's package or its key is missing, or where
    the files of prompts or prices cannot be used.
    """
    if purpose == "build":
        return _decider(settings, "extract", keeps=settings.keep_replies != "off")
    keeps = settings.keep_replies == "all"
    explorer = _decider(settings, "explore", keeps=keeps)
    if settings.model_for("answer") == settings.model_for("explore"):
        return explorer
    return RoutingDecider(explorer, _decider(settings, "answer", keeps=keeps))


def open_embedder(settings: Settings) -> Embedder:
    """The embedder of the settings.

    Where the length of the vectors is not known, one text is embedded to find it, which blocks.
    Raises SettingsError as `open_decider` does, and DecisionError where that text fails.
    """
    name = settings.chosen_embeddings
    if name == OFFLINE:
        return OfflineEmbedder()

    def embeddings() -> Embeddings:
        return open_embeddings(settings, name, _EMBEDDINGS)

    def service() -> ModelService:
        return _service(settings, name, _EMBEDDINGS, first)

    first = embeddings()  # what is missing is said now
    fixed = takes_dimensions(name)
    dimension = DEFAULT_DIMENSION if fixed else _probed_dimension(first, service())
    return ModelEmbedder(embeddings, service(), dimension=dimension)


def _decider(settings: Settings, phase: Phase, *, keeps: bool) -> Decider:
    """Whoever takes the decisions of a phase; `keeps`: replies of models are used again."""
    name = settings.model_for(phase)
    if name == OFFLINE:
        return OfflineDecider()
    setting = settings.model_variable_for(phase)
    provider, _ = provider_and_model(name, setting)

    def model() -> BaseChatModel:
        return seeded(open_chat_model(settings, name, setting), settings.seed)

    first = model()  # what is missing is said now, not at the first decision
    return LanguageModelDecider(
        model,
        _service(settings, name, setting, first),
        window=settings.window,
        dialect=dialect_of(provider.name, first),
        prompts=Prompts(settings.prompts),
        encoding=tokens.encoding_for(name),
        kept=_kept(settings, name, first) if keeps else None,
        prices=Prices.of(settings),
    )


def _kept(settings: Settings, name: str, client: object) -> KeptDecisions:
    """The replies of this model at this address; other options would give other replies."""
    about = (address_of(client), settings.temperature, settings.seed, context_of(client))
    return KeptDecisions(ReplyCache.of(settings), name, *about)


def _service(settings: Settings, name: str, setting: str, client: object) -> ModelService:
    traffic.limiter().configure(
        concurrency=settings.concurrency,
        requests_per_minute=settings.requests_per_minute,
        tokens_per_minute=settings.tokens_per_minute,
    )
    provider, _ = provider_and_model(name, setting)
    return ModelService(
        name,
        setting=setting,
        key=provider.key,
        base=provider.address,
        # Behind a proxy the address itself may be out of reach: no first contact.
        address=None if behind_proxy(client) else address_of(client),
        timeout=settings.timeout,
        concurrency=settings.concurrency,
        secrets=secrets_of(client),
    )


def _probed_dimension(embeddings: Embeddings, service: ModelService) -> int:
    """The length of the model's vectors, asked for in a thread: a loop may be running here."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(dimension_of(embeddings, service))).result()
