"""Ingestion on a Ray cluster: workers on any number of nodes parse, decide and embed.

The pipeline is that of one process. Its parser, decider and embedder hand their work to workers;
loading, cutting and writing stay with the process that runs it, as do kept replies and the budget.
An actor holds the limits of the whole cluster. What a lost worker had in hand is done again.
"""

import asyncio
import logging
import os
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial, wraps
from importlib import import_module
from itertools import count
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from graphreader.errors import ClusterError, DecisionError, GraphReaderError, UsageError
from graphreader.ingestion.loading.content import Content
from graphreader.ingestion.loading.parser_process import ParserProcess
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import (
    Budget,
    Decider,
    Decision,
    DecisionResult,
    Embedder,
    Task,
    TokenCallback,
    Vector,
)
from graphreader.llm.rate_limit import RateLimiter, RateLimits, RequestStart, set_rate_limiter
from graphreader.models import open_decider, open_embedder
from graphreader.settings import Settings
from graphreader.usage import Usage
from graphreader.waiting import Waiting, announce, announced_if_slow, listening

D = TypeVar("D", bound=Decision)
T = TypeVar("T")
LOCAL = "local"
"""The address that means a cluster on this machine, for one ingest."""

_MOST_WORKERS = 64  # that keep more than one Neo4j busy
_START_SECONDS = 60.0  # until the first worker is ready
_LATE_SECONDS = 10.0  # for the others after it
_TEXTS = 256  # that a worker embeds at once
_TRIES = 5  # of one piece of work, each at another worker that was lost meanwhile
_PAUSE = 1.0  # seconds before the next try, until Ray knows who is lost
_WAITING = Waiting("Ray", "Waiting for the Ray cluster and its workers", 0.0)
logger = logging.getLogger("graphreader.cluster")


class LimiterActor:
    """The actor with the rate limiter of the cluster: its requests start in order of arrival.

    It also passes on what workers wait for.
    """

    def __init__(self, limits: RateLimits) -> None:
        self._limiter = RateLimiter(limits)
        self._numbers = count()
        self._open: dict[tuple[str, int], tuple[AsyncExitStack, RequestStart]] = {}
        self._losses = Counter[str]()
        self._waiting = asyncio.Queue[Waiting]()

    async def start(self, worker: str, tokens: int) -> int:
        """Wait until a worker may start a request; return the number with which to end it."""
        stack, number, losses = AsyncExitStack(), next(self._numbers), self._losses[worker]
        with listening(self._waiting.put_nowait):
            begun = await stack.enter_async_context(self._limiter.slot(tokens))
        self._open[worker, number] = stack, begun
        if losses != self._losses[worker]:
            await self.end(worker, number, tokens)
        return number

    async def end(self, worker: str, number: int, tokens: int) -> None:
        """End a request, which took `tokens` tokens."""
        if begun := self._open.pop((worker, number), None):
            stack, start = begun
            self._limiter.settle(start, tokens)
            await stack.aclose()

    async def release(self, worker: str) -> None:
        """End the requests of a lost worker."""
        self._losses[worker] += 1
        for name, number in [one for one in self._open if one[0] == worker]:
            await self.end(name, number, self._open[name, number][1].tokens)

    async def hold_off(self, seconds: float, reason: str) -> None:
        """Start no request for `seconds`, as a service demands."""
        self._limiter.hold_off(seconds, reason)

    async def lower_concurrency(self) -> None:
        """Halve the number of requests at once, since a service cannot hold as many."""
        self._limiter.lower_concurrency(RequestStart(asyncio.get_running_loop().time(), 0))

    async def announce(self, waiting: Waiting) -> None:
        """Pass on the announcement of a wait from a worker."""
        self._waiting.put_nowait(waiting)

    async def next_waiting(self) -> Waiting:
        """Return the next event of a worker that waits."""
        return await self._waiting.get()


class _SharedLimiter:
    """The limiter of a worker process, which asks the actor."""

    def __init__(self, worker: str, limits: Any) -> None:
        self._worker = worker
        self._limits = limits

    @asynccontextmanager
    async def slot(
        self, tokens: int = 0, *, background: bool = False
    ) -> AsyncIterator[RequestStart]:
        """Wait as `RateLimiter.slot`; the whole cluster reads in, so all is in the background."""
        number = await self._limits.start.remote(self._worker, tokens)
        start = RequestStart(0.0, tokens)
        try:
            yield start
        finally:
            self._limits.end.remote(self._worker, number, start.tokens)

    def settle(self, start: RequestStart, tokens: int) -> None:
        """Replace the estimated tokens of a request by the real number."""
        start.tokens = tokens

    def hold_off(self, seconds: float, reason: str) -> None:
        """Start no request of the cluster for `seconds`, as a service demands."""
        self._limits.hold_off.remote(seconds, reason)

    def lower_concurrency(self, failed: RequestStart) -> None:
        """Halve the number of requests of the cluster at once."""
        self._limits.lower_concurrency.remote()


def _with_failures_as_values(
    method: Callable[..., Awaitable[T]],
) -> Callable[..., Awaitable[T | GraphReaderError]]:
    """Let a method of a worker return a GraphReaderError: Ray would wrap it."""

    @wraps(method)
    async def call(worker: "Worker", *values: Any) -> T | GraphReaderError:
        await worker.ready()
        try:
            with listening(worker.limits.announce.remote):
                return await method(worker, *values)
        except GraphReaderError as error:
            return error

    return call


class Worker:
    """The actor that works on one processor."""

    def __init__(self, name: str, settings: Settings, limits: str) -> None:
        ray: Any = import_module("ray")
        self._name = name
        self._settings = settings.model_copy(update={"keep_replies": "off"})
        self.limits = ray.get_actor(limits)  # a handle as a value would not survive a restart
        self._decider: Decider | None = None
        self._embedder: Embedder | None = None
        self._parser = ParserProcess()
        self._parsing = asyncio.Lock()

    async def ready(self) -> str:
        """Share the cluster's rate limits and return the name of the worker."""
        set_rate_limiter(_SharedLimiter(self._name, self.limits))
        return self._name

    @_with_failures_as_values
    async def decide(
        self, task: Task[D], max_calls: int | None, max_tokens: int | None
    ) -> DecisionResult[D]:
        """Take a decision within a budget of its own."""
        self._decider = self._decider or open_decider(self._settings, "build")
        return await self._decider.decide(task, Budget(max_calls, max_tokens))

    @_with_failures_as_values
    async def embed(
        self, name: str, dimension: int, texts: Sequence[str]
    ) -> Sequence[Vector | None]:
        """Embed texts by the embedder of that name."""
        self._embedder = self._embedder or open_embedder(self._settings, name, dimension)
        return await self._embedder.embed(texts)

    @_with_failures_as_values
    async def parse(self, suffix: str, data: bytes, shown: str, ocr: str = "") -> Content:
        """Parse a file, in a process of its own, one at a time."""
        async with self._parsing:
            return await asyncio.to_thread(self._parser.parse, suffix, data, shown, ocr)


class Workers:
    """The workers of a cluster, as this process sees them. Each call takes the least busy one.

    A lost worker is left out until Ray has started it again.
    """

    def __init__(self, handles: dict[str, Any], limits: Any, lost: tuple[type[Exception], ...]):
        self._handles = handles
        self._limits = limits
        self._lost = lost  # Ray's errors for a lost worker
        self._busy = Counter[str]()
        self._restarting: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()

    async def call(self, method: str, *values: Any) -> Any:
        """The result of a method of a worker. Raises ClusterError where none is left."""
        for _ in range(_TRIES):
            name = min(self._handles, key=lambda one: (one in self._restarting, self._busy[one]))
            self._busy[name] += 1
            try:
                result = await getattr(self._handles[name], method).remote(*values)
            except self._lost as error:
                if name not in self._restarting:
                    logger.warning("Worker %s is lost: %s", name, type(error).__name__)
                    self._restarting[name] = asyncio.create_task(self._restarted(name))
                await asyncio.sleep(_PAUSE)
                continue
            finally:
                self._busy[name] -= 1
            if isinstance(result, GraphReaderError):
                raise result
            return result
        raise ClusterError(
            "The Ray cluster has lost its workers, one after the other: look at its log, and run "
            "the same command again. What was read is kept."
        )

    def parse(self, suffix: str, data: bytes, shown: str, ocr: str = "") -> Content:
        """Parse a file at a worker. Raises DocumentError. Blocks: not for the event loop."""
        call = self.call("parse", suffix, data, shown, ocr)
        content: Content = asyncio.run_coroutine_threadsafe(call, self._loop).result()
        return content

    def close(self) -> None:
        """Stop waiting for lost workers."""
        for one in self._restarting.values():
            one.cancel()

    async def _restarted(self, name: str) -> None:
        """End the requests of a lost worker, and return once it is there again."""
        with suppress(*self._lost):
            await self._limits.release.remote(name)
        while True:
            await asyncio.sleep(_PAUSE)
            with suppress(*self._lost):
                await self._handles[name].ready.remote()
                del self._restarting[name]
                return


class ClusterDecider:
    """A decider whose decisions are taken by the workers of a cluster, as `decider` would.

    Replies are cached in this process, which also has the budget.
    """

    def __init__(self, decider: Decider, workers: Workers) -> None:
        self.name = decider.name
        self.prompts = decider.prompts
        self.concurrency = decider.concurrency
        self._decider = decider
        self._workers = workers

    @property
    def notice(self) -> str:
        """A sentence for the user from the local decider; empty: none."""
        return self._decider.notice

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Let a worker take a decision, unless the reply is cached here."""
        ask = partial(self._ask, task, budget or Budget())
        if isinstance(self._decider, LanguageModelDecider):
            return await self._decider.cached_or(task, ask)
        return await ask()

    def measure(self, task: Task[Any]) -> int:
        """Measure the prompt of a task in tokens."""
        return self._decider.measure(task)

    async def aclose(self) -> None:
        """Do nothing: the owner of the local decider closes it."""

    async def _ask(self, task: Task[D], budget: Budget) -> DecisionResult[D]:
        """Let a worker decide, within a part of the budget that is reserved for it."""
        decided: DecisionResult[D]
        if budget.max_calls is budget.max_tokens is None and not budget.quota:
            decided = await self._workers.call("decide", task, None, None)
            return decided
        tokens = self.measure(task) + task.reply_tokens
        taken, spent = 0, Usage()
        try:
            await budget.take(tokens, task.phase)
            taken = 1
            at_once = 2 * self.concurrency
            if budget.calls_left > at_once and budget.left(task.phase) > at_once * tokens:
                # A second request follows where the reply is unusable.
                await budget.take(tokens, task.phase)
                taken = 2
            decided = await self._workers.call("decide", task, taken, taken * tokens)
            spent = decided.usage
            return decided
        except DecisionError as error:
            spent = error.spent
            raise
        finally:
            for _ in range(taken):
                await budget.settle(tokens, spent)
                spent = Usage()


class ClusterEmbedder:
    """An embedder whose vectors are made by the workers of a cluster, as `embedder` would."""

    def __init__(self, embedder: Embedder, workers: Workers) -> None:
        self.name = embedder.name
        self.dimension = embedder.dimension
        self.compares_words = getattr(embedder, "compares_words", False)
        self._workers = workers

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Embed texts at the workers, _TEXTS at once. Raises DecisionError."""
        parts = [list(texts[start : start + _TEXTS]) for start in range(0, len(texts), _TEXTS)]
        vectors = await asyncio.gather(
            *(self._workers.call("embed", self.name, self.dimension, part) for part in parts)
        )
        return [vector for part in vectors for vector in part]

    async def aclose(self) -> None:
        """Do nothing: the workers end with the cluster."""


@asynccontextmanager
async def cluster(address: str, settings: Settings) -> AsyncIterator[Workers]:
    """Start workers on a Ray cluster, one for each free processor, until the block ends.

    The address LOCAL starts a cluster on this machine. Raises UsageError without Ray, ClusterError.
    """
    try:
        ray: Any = import_module("ray")  # slow, and needs the extra [ray]
    except ImportError as error:
        raise UsageError(
            'Ray is not installed: pip install -e ".[ray]" in the checkout, or leave --ray out.'
        ) from error
    lost = (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError)
    is_own = not ray.is_initialized()
    try:
        if is_own:
            connecting = asyncio.create_task(asyncio.to_thread(_connect, ray, address))
            try:
                with announced_if_slow(_WAITING):
                    await asyncio.shield(connecting)
            finally:
                await asyncio.wait([connecting])  # Ray cannot be shut down while it starts
        name = f"graphreader-limits-{uuid4().hex}"
        # On the node of this process: if that node is lost, the ingest ends in any case.
        here = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        limits = ray.remote(num_cpus=0, name=name, scheduling_strategy=here)(LimiterActor).remote(
            RateLimits(
                settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute
            )
        )
        with announced_if_slow(_WAITING):
            handles = await _workers(ray, settings, name)
        logger.info("%d workers on the Ray cluster %s", len(handles), address)
        workers = Workers(handles, limits, lost)
        announcing = asyncio.create_task(_announce(limits))
        try:
            yield workers
        finally:
            announcing.cancel()
            workers.close()
            for handle in (*handles.values(), limits):
                ray.kill(handle)
    finally:
        if is_own:
            await asyncio.to_thread(ray.shutdown)


def _connect(ray: Any, address: str) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address == LOCAL:
            options["include_dashboard"] = False
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else Ray sends reports
        elif port := urlsplit(f"//{address}").port:  # Ray itself tries for many minutes
            socket.create_connection((urlsplit(f"//{address}").hostname, port), 5).close()
        ray.init(address=address, **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise ClusterError(
            f"There is no Ray cluster at {address!r}: start one with `ray start --head`, check the "
            f"address, or leave --ray out. {error}"
        ) from error


async def _workers(ray: Any, settings: Settings, limits: str) -> dict[str, Any]:
    """Start a worker for each processor; workers without a free processor do not start."""
    processors = sum(one["Resources"].get("CPU", 0) for one in ray.nodes() if one["Alive"])
    number = max(1, min(int(processors), _MOST_WORKERS))
    actor = ray.remote(num_cpus=1, max_restarts=-1, scheduling_strategy="SPREAD")(Worker)
    handles = {f"worker-{n}": actor.remote(f"worker-{n}", settings, limits) for n in range(number)}
    starting = {asyncio.ensure_future(one.ready.remote()) for one in handles.values()}
    ready, late = await asyncio.wait(
        starting, timeout=_START_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    if late and ready:
        more, late = await asyncio.wait(late, timeout=_LATE_SECONDS)
        ready |= more
    names = {one.result() for one in ready}
    for one in late:
        one.cancel()
    for name in handles.keys() - names:
        ray.kill(handles.pop(name))
    if not handles:
        raise ClusterError(
            "No worker of the Ray cluster has started within a minute: look whether it has free "
            "processors (`ray status`) and GraphReader is installed on its nodes."
        )
    return handles


async def _announce(limits: Any) -> None:
    """Announce the waits of the workers in this process."""
    while True:
        announce(await limits.next_waiting.remote())
