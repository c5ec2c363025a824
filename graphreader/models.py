"""Deciders and embedders, opened as the settings say. The import of LangChain is slow."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any, Literal, TypeVar

from graphreader.agent.tasks import AnswerTask
from graphreader.errors import SettingsError, UsageError
from graphreader.llm import providers
from graphreader.llm.batch_decider import BatchDecider, BatchService, BatchTransport
from graphreader.llm.batches import PROVIDERS, BatchQueue
from graphreader.llm.cache import DecisionCache, ReplyCache
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.embedder import ModelEmbedder, probe_dimension
from graphreader.llm.pricing import Prices
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import (
    Budget,
    Decider,
    Decision,
    DecisionResult,
    Embedder,
    Quota,
    Task,
    TokenCallback,
)
from graphreader.llm.rate_limit import configure_rate_limits
from graphreader.llm.retry import ModelService
from graphreader.offline.decider import OfflineDecider
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.settings import DEFAULT_DIMENSION, OFFLINE, Settings
from graphreader.tokens import encoding_for
from graphreader.usage import Phase

D = TypeVar("D", bound=Decision)
Purpose = Literal["build", "ask"]
_EMBEDDINGS = "GRAPHREADER_EMBEDDINGS"
TRANSFER_SECONDS = 1_800.0  # for the files of a batch
logger = logging.getLogger("graphreader.llm")


def open_decider(settings: Settings, purpose: Purpose = "ask") -> Decider:
    """The decider that reads texts, or that explores and answers. Raises SettingsError."""
    if purpose == "build":
        return _open_phase(settings, "extract", keep_replies=settings.keep_replies != "off")
    keep_replies = settings.keep_replies == "all"
    explorer = _open_phase(settings, "explore", keep_replies=keep_replies)
    if settings.model_for("answer") == settings.model_for("explore"):
        return explorer
    return RoutingDecider(explorer, _open_phase(settings, "answer", keep_replies=keep_replies))


def open_embedder(
    settings: Settings, name: str | None = None, dimension: int | None = None
) -> Embedder:
    """The embedder of the settings, or of this name and length of vectors. Raises SettingsError.

    Where the length is not known, the call blocks while one text is embedded.
    """
    name = name or settings.chosen_embeddings
    if name in (OFFLINE, OfflineEmbedder.name):
        return OfflineEmbedder()
    client = providers.open_embeddings(settings, name, _EMBEDDINGS)
    service = ModelService(name, **_service_options(settings, name, _EMBEDDINGS, client))
    if dimension is None and providers.has_default_dimension(name):
        dimension = DEFAULT_DIMENSION
    if dimension is None:
        with ThreadPoolExecutor(1) as thread:  # an event loop may be running here
            dimension = thread.submit(asyncio.run, probe_dimension(client, service)).result()
        client = providers.open_embeddings(settings, name, _EMBEDDINGS)  # the first one is closed
    return ModelEmbedder(client, service, dimension=dimension)


def open_batch_decider(settings: Settings, corpus: str) -> BatchDecider:
    """The decider that reads texts into a corpus by batches. Raises SettingsError."""
    name, setting = settings.model_for("extract"), settings.model_variable_for("extract")
    if name == OFFLINE or _provider(name, setting) not in PROVIDERS:
        raise SettingsError(
            f"{setting} is '{name}', but only OpenAI and Anthropic have batches: leave --batch out."
        )
    network = providers.open_chat_model(settings, name, setting)
    patient = settings.model_copy(update={"timeout": max(settings.timeout, TRANSFER_SECONDS)})
    service = ModelService(name, **_service_options(patient, name, setting, network))
    place, provider = settings.database_of("batches"), _provider(name, setting)
    queue = BatchQueue(place, provider, network, service, corpus)
    transport = BatchTransport(queue, providers.base_url(network) or "")
    return BatchDecider(
        providers.with_transport(network, transport),
        BatchService(name, queue=queue, **_service_options(settings, name, setting, network)),
        queue=queue,
        prices=Prices.of(settings, batch=True),
        # Always kept: the parts of a chunk may be answered by several batches.
        **_decider_options(settings, name, setting, network, keep_replies=True),
    )


def _open_phase(settings: Settings, phase: Phase, *, keep_replies: bool) -> Decider:
    """The decider of a phase; `keep_replies`: replies of models are kept and used again."""
    name, setting = settings.model_for(phase), settings.model_variable_for(phase)
    if name == OFFLINE:
        return OfflineDecider()
    client = providers.open_chat_model(settings, name, setting)
    return LanguageModelDecider(
        client,
        ModelService(name, **_service_options(settings, name, setting, client)),
        prices=Prices.of(settings),
        **_decider_options(settings, name, setting, client, keep_replies),
    )


def _decider_options(
    settings: Settings, name: str, setting: str, client: object, keep_replies: bool
) -> dict[str, Any]:
    cache = None
    if keep_replies:  # with other options, or at another address, replies would be others
        options = (settings.temperature, settings.seed, getattr(client, "num_ctx", None))
        kept = ReplyCache(settings.database_of("replies"))
        cache = DecisionCache(kept, name, providers.base_url(client), *options)
    return {
        "window": settings.window,
        "provider": _provider(name, setting),
        "prompts": Prompts(settings.prompts),
        "encoding": encoding_for(name),
        "cache": cache,
    }


def _service_options(settings: Settings, name: str, setting: str, client: object) -> dict[str, Any]:
    configure_rate_limits(
        settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute
    )
    provider, _ = providers.provider_and_model(name, setting)
    return {
        "setting": setting,
        "key": provider.key,
        "base": provider.base_url,
        "url": providers.health_url(client),
        "timeout": settings.timeout,
        "concurrency": settings.concurrency,
        "secrets": providers.secrets_of(client),
    }


def _provider(name: str, setting: str) -> str:
    return providers.provider_and_model(name, setting)[0].name


class RoutingDecider:
    """A decider that hands tasks of the answer phase to `answerer`, all others to `explorer`."""

    def __init__(self, explorer: Decider, answerer: Decider) -> None:
        self.name = f"{explorer.name}, answers by {answerer.name}"
        self.prompts = ", ".join(dict.fromkeys((explorer.prompts, answerer.prompts)))
        self.concurrency = explorer.concurrency  # an answer is one decision
        self._explorer = explorer
        self._answerer = answerer

    @property
    def notice(self) -> str:
        """The notices of both deciders, each once."""
        return " ".join(dict.fromkeys((self._explorer.notice, self._answerer.notice))).strip()

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Let the decider of the task's phase decide."""
        return await self._decider_of(task).decide(task, budget, on_token)

    def measure(self, task: Task[Any]) -> int:
        """The tokens of the prompt for the task's decider."""
        return self._decider_of(task).measure(task)

    async def aclose(self) -> None:
        """Close both deciders."""
        try:
            await self._explorer.aclose()
        finally:
            await self._answerer.aclose()

    def _decider_of(self, task: Task[Any]) -> Decider:
        return self._answerer if task.phase == "answer" else self._explorer


def in_background(embedder: Embedder) -> Embedder:
    """Return an embedder with the same vectors that lets the requests of questions go first."""
    of_background = getattr(embedder, "in_background", None)
    return of_background() if of_background else embedder


class ModelRegistry:
    """The models of a reader: a decider for each window, and embedders, opened at first use."""

    def __init__(
        self,
        settings: Settings,
        decider: Decider | None = None,
        embedder: Embedder | None = None,
        opened_by: Callable[[Settings, Purpose], Decider] = open_decider,
    ) -> None:
        self.settings = settings
        self.window = settings.window
        self.long_window = settings.long_window
        self._open = opened_by
        self.own_decider = decider
        self._embedder = embedder
        self._opened: dict[tuple[Purpose, int], Decider] = {}
        self._embedders: dict[tuple[str | None, int | None], Embedder] = {}

    @property
    def has_own(self) -> bool:
        """Whether a decider or embedder was passed in."""
        return bool(self.own_decider or self._embedder)

    def asker(self, window: int) -> Decider:
        """The decider that explores, reads and answers within that window."""
        return self._decider_of("ask", window)

    def builder(self, window: int) -> Decider:
        """The decider that extracts facts, or makes pages and gists."""
        return self._decider_of("build", window)

    @property
    def builder_name(self) -> str:
        """The name of the decider that extracts facts; it is not opened."""
        return self.own_decider.name if self.own_decider else self.settings.model_for("extract")

    @property
    def embedder_name(self) -> str:
        """The name of the embedder of the settings, which is not opened."""
        if self._embedder:
            return self._embedder.name
        chosen = self.settings.chosen_embeddings
        return OfflineEmbedder.name if chosen == OFFLINE else chosen

    def embedder(self, name: str | None = None, dimension: int | None = None) -> Embedder:
        """The embedder of the settings, or of this name and dimension. Raises SettingsError."""
        if self._embedder and name in (None, self._embedder.name):
            return self._embedder
        key = name, dimension
        if key not in self._embedders:
            self._embedders[key] = open_embedder(self.settings, name, dimension)
        return self._embedders[key]

    def budget(self, quota: Quota | None = None) -> Budget:
        """Return the budget of one question or ingest."""
        return Budget(self.settings.max_calls, self.settings.max_tokens, quota=quota)

    def budget_of_steps(self, quota: Quota | None = None) -> Budget:
        """Return the budget of a multi-step reader, of which a part is reserved for the answer."""
        reserved = self.window + AnswerTask.reply_tokens
        return Budget(self.settings.max_calls, self.settings.max_tokens, reserved, quota)

    def batch_decider(self, corpus: str) -> BatchDecider:
        """A decider that extracts facts by batches; the caller closes it. Raises UsageError."""
        if self.own_decider:
            raise UsageError("Batches need the model of the settings: leave `batch` out.")
        return open_batch_decider(self.settings, corpus)

    def _decider_of(self, purpose: Purpose, window: int) -> Decider:
        if self.own_decider:
            return self.own_decider
        if (purpose, window) not in self._opened:
            settings = self.settings.model_copy(update={"window": window})
            self._opened[purpose, window] = self._open(settings, purpose)
        return self._opened[purpose, window]

    async def aclose(self) -> None:
        """Close the deciders and embedders that were opened here; a later use opens them anew."""
        opened: list[Decider | Embedder] = [*self._opened.values(), *self._embedders.values()]
        self._opened, self._embedders = {}, {}
        async with AsyncExitStack() as stack:
            for one in opened:
                stack.push_async_callback(one.aclose)
