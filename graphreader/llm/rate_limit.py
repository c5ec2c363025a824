"""Limits the requests of the process: how many run at once, and requests and tokens per minute.

The limits belong to an account and not to a reader, so all services share them. Requests are
admitted in the order in which they arrive. `Retry-After` of one service holds off every request.

In any 60 seconds no more starts than allowed. The load is spread as well: once a sixth of a limit
has started within 10 seconds, the next request waits, since many services count in shorter
intervals than minutes. A request that is larger than a whole minute's tokens runs alone.

Requests and tokens are logged per request (a sliding window): a token bucket such as aiolimiter's
admits up to twice the limit within a minute and cannot correct an estimate afterwards.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

DEFAULT_CONCURRENCY = 8
"""Requests at once until `configure` sets another number; the default of the settings too."""

_MINUTE = 60.0
_PARTS = 6  # of a minute; smaller parts would slow short runs down


class PerLoop(Generic[T]):
    """One value per event loop, made on first use: connections and futures belong to a loop.

    The package uses one loop; callers may use a decider of their own in several.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """The running loop's value."""
        loop = asyncio.get_running_loop()
        if loop not in self._values:
            self._values[loop] = self._make()
        return self._values[loop]

    def pop(self) -> T | None:
        """Forget the running loop's value and return it, if there is one."""
        return self._values.pop(asyncio.get_running_loop(), None)


@dataclass(slots=True)
class RateLimits:
    """What is allowed at once and per minute; None: no limit. Changes count from the next start."""

    concurrency: int = DEFAULT_CONCURRENCY
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass(slots=True)
class _Start:
    """One request that has started: when, and its amount (1, or its tokens)."""

    at: float
    amount: int


class _LastMinute:
    """The requests, or tokens, that started in the last minute."""

    def __init__(self) -> None:
        self._starts: deque[_Start] = deque()

    def earliest(self, amount: int, limit: int | None, now: float) -> float:
        """When `amount` may start if nothing else starts before; `now` if it may at once."""
        while self._starts and self._starts[0].at + _MINUTE <= now:
            self._starts.popleft()
        if limit is None:
            return now
        # The second bound is below a sixth, so one request, however large, starts in each part.
        return max(
            self._below(limit - amount, _MINUTE, now),
            self._below((limit - 1) // _PARTS, _MINUTE / _PARTS, now),
        )

    def add(self, amount: int, now: float) -> _Start:
        """Record a start. Its amount may be corrected later."""
        self._starts.append(_Start(now, amount))
        return self._starts[-1]

    def _below(self, most: int, seconds: float, now: float) -> float:
        """When the sum over the last `seconds` is `most` or less, or nothing is left of it."""
        recent = [start for start in self._starts if start.at + seconds > now]
        total, at = sum(start.amount for start in recent), now
        for start in recent:
            if total <= most:
                break
            total, at = total - start.amount, start.at + seconds
        return at


class Timer(Protocol):
    """A scheduled call, such as asyncio's TimerHandle."""

    def cancel(self) -> None:
        """Do not make the call."""


class Slot:
    """One request that has been admitted."""

    def __init__(self, limiter: "RateLimiter", start: _Start | None) -> None:
        self._limiter = limiter
        self._start = start

    def settle(self, tokens: int) -> None:
        """Replace the estimate of the request's tokens by the number that it really took."""
        if self._start is not None:
            self._start.amount = tokens
            self._limiter.admit()


@dataclass(slots=True)
class _Waiting:
    """A request in the queue; `admitted` gets its slot."""

    tokens: int
    admitted: asyncio.Future[Slot]


class RateLimiter:
    """Admits requests in order of arrival, in one event loop; see `rate_limiter`.

    `clock` returns seconds and `call_later` schedules a call (the running loop's by default).
    """

    def __init__(
        self,
        limits: RateLimits,
        *,
        clock: Callable[[], float] = monotonic,
        call_later: Callable[[float, Callable[[], None]], Timer] | None = None,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._call_later = call_later
        self._requests = _LastMinute()
        self._tokens = _LastMinute()
        self._held_until = clock()
        self._running = 0
        self._queue: deque[_Waiting] = deque()
        self._timer: Timer | None = None

    @asynccontextmanager
    async def slot(self, tokens: int = 0) -> AsyncIterator[Slot]:
        """Wait until a request of so many tokens may start; it ends with the block."""
        slot = self._start(tokens) if not self._queue and self._delay(tokens) == 0 else None
        if slot is None:
            slot = await self._wait(tokens)
        try:
            yield slot
        finally:
            self._running -= 1
            self.admit()

    def hold_off(self, seconds: float) -> None:
        """Start no request for so many seconds: a service has asked to wait."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def admit(self) -> None:
        """Start waiting requests as far as the limits allow; set a timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._queue and (delay := self._delay(self._queue[0].tokens)) is not None:
            if delay > 0:
                call_later = self._call_later or asyncio.get_running_loop().call_later
                self._timer = call_later(delay, self.admit)
                return
            waiting = self._queue.popleft()
            if not waiting.admitted.done():
                waiting.admitted.set_result(self._start(waiting.tokens))

    def _delay(self, tokens: int) -> float | None:
        """Seconds until the next request may start; None: not before another one ends."""
        limits, now = self._limits, self._clock()
        if self._running >= limits.concurrency:
            return None
        by_requests = self._requests.earliest(1, limits.requests_per_minute, now)
        by_tokens = self._tokens.earliest(tokens, limits.tokens_per_minute, now)
        return max(0.0, max(by_requests, by_tokens, self._held_until) - now)

    def _start(self, tokens: int) -> Slot:
        limits, now = self._limits, self._clock()
        self._running += 1
        if limits.requests_per_minute is not None:
            self._requests.add(1, now)
        limited = tokens and limits.tokens_per_minute is not None
        return Slot(self, self._tokens.add(tokens, now) if limited else None)

    async def _wait(self, tokens: int) -> Slot:
        waiting = _Waiting(tokens, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        if len(self._queue) == 1:
            self.admit()
        try:
            return await waiting.admitted
        except asyncio.CancelledError:
            if waiting in self._queue:
                self._queue.remove(waiting)
            elif not waiting.admitted.cancelled():  # it was admitted in the same moment
                self._running -= 1
            self.admit()
            raise


_limits = RateLimits()
_limiters = PerLoop(lambda: RateLimiter(_limits))


def rate_limiter() -> RateLimiter:
    """The limiter of the process, for the running event loop."""
    return _limiters.get()


def configure_rate_limits(
    concurrency: int, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
) -> None:
    """Set the limits of the process. The last call counts."""
    _limits.concurrency = concurrency
    _limits.requests_per_minute = requests_per_minute
    _limits.tokens_per_minute = tokens_per_minute
