"""Opening what the settings ask for: a decider, an embedder.

Importing this module imports LangChain, which is slow: only code that opens something does.

Who decides and who makes vectors, for readers with different windows.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Literal

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel

from graphreader import tokens
from graphreader.agent.tasks import AnswerTask
from graphreader.llm import retry
from graphreader.llm.cache import DecisionCache, ReplyCache
from graphreader.llm.chat_model import LanguageModelDecider, RoutingDecider
from graphreader.llm.embeddings import ModelEmbedder, dimension_of
from graphreader.llm.pricing import Prices
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget, Decider, Embedder
from graphreader.llm.providers import (
    address_of,
    behind_proxy,
    context_of,
    dialect_of,
    open_chat_model,
    open_embeddings,
    provider_and_model,
    secrets_of,
    seeded,
    takes_dimensions,
)
from graphreader.llm.retry import ModelService
from graphreader.offline.decider import OfflineDecider
from graphreader.offline.embedder import OfflineEmbedder
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


def _kept(settings: Settings, name: str, client: object) -> DecisionCache:
    """The replies of this model at this address; other options would give other replies."""
    about = (address_of(client), settings.temperature, settings.seed, context_of(client))
    return DecisionCache(ReplyCache.of(settings), name, *about)


def _service(settings: Settings, name: str, setting: str, client: object) -> ModelService:
    retry.rate_limiter().configure(
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


class ModelRegistry:
    """The deciders and the embedder of the settings, each opened when first needed.

    A decider has its window within, so there is one for each window. What is given takes the place
    of all of them, and is not closed here.
    """

    def __init__(
        self,
        settings: Settings,
        decider: Decider | None = None,
        embedder: Embedder | None = None,
        opened_by: Callable[[Settings, Purpose], Decider] = open_decider,
    ) -> None:
        self.settings = settings
        self._opened_by = opened_by
        self._decider = decider
        self._embedder = embedder
        self._opened: dict[tuple[Purpose, int], Decider] = {}
        self._own_embedder: Embedder | None = None

    @property
    def window(self) -> int:
        """The short one: that of retrieval and of those who read chunk by chunk."""
        return self.settings.window

    @property
    def long_window(self) -> int:
        """The long one: that of full text and of gists."""
        return self.settings.long_window

    def asker(self, window: int) -> Decider:
        """Whoever reads and answers within that window."""
        return self._decider or self._open("ask", window)

    def builder(self, window: int) -> Decider:
        """Whoever makes pages and gists."""
        return self._decider or self._open("build", window)

    def embedder(self) -> Embedder:
        """Whoever makes vectors."""
        if self._embedder:
            return self._embedder
        self._own_embedder = self._own_embedder or open_embedder(self.settings)
        return self._own_embedder

    def budget(self) -> Budget:
        """What one question may cost."""
        return Budget(self.settings.max_calls, self.settings.max_tokens)

    def budget_of_steps(self) -> Budget:
        """The same for whoever takes many steps in the short window: the answer's part is kept."""
        kept = self.window + AnswerTask.reply_tokens
        return Budget(self.settings.max_calls, self.settings.max_tokens, kept)

    def _open(self, purpose: Purpose, window: int) -> Decider:
        if (purpose, window) not in self._opened:
            settings = self.settings.model_copy(update={"window": window})
            self._opened[purpose, window] = self._opened_by(settings, purpose)
        return self._opened[purpose, window]

    async def aclose(self) -> None:
        """Close what was opened here."""
        async with AsyncExitStack() as closing:
            for one in (*self._opened.values(), self._own_embedder):
                if one:
                    closing.push_async_callback(one.aclose)
            self._opened, self._own_embedder = {}, None
