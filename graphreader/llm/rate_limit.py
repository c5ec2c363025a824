"""Rate limits of the process: simultaneous requests, requests and tokens per minute.

The limits belong to an account, so all services share them. In any 60 seconds no more requests
start than allowed, spread over the minute: after a sixth of them within 10 seconds the next waits.
(A token bucket would admit twice the limit, and could not correct estimates.)

Background requests (ingestion) let all other requests go first, and leave them a quarter of the
simultaneous requests while questions are asked.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from graphreader.waiting import SLOW_SECONDS, Waiting, announce

logger = logging.getLogger("graphreader.llm")
DEFAULT_CONCURRENCY = 8  # requests at once, by default

_MINUTE = 60.0
_PARTS = 6  # parts of a minute; smaller parts would slow short runs down


@dataclass(slots=True)
class RateLimits:
    """The limits of a process; None: no limit. Changes apply from the next request."""

    concurrency: int = DEFAULT_CONCURRENCY
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass(slots=True)
class RequestStart:
    """The start of a request in seconds of the loop's clock, and its (first estimated) tokens."""

    at: float
    tokens: int


class RateLimiter:
    """A limiter that admits the requests of one event loop in order of arrival.

    There are two queues: requests in the `background`, and all others, which go first.
    """

    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits
        self._starts: deque[RequestStart] = deque()  # of the last minute
        self._running = {False: 0, True: 0}  # by whether they are in the background
        self._waiting = 0  # requests outside the background
        self._latest = -_MINUTE  # start of the latest such request
        self._most = 0  # requests at once since the concurrency was lowered
        self._lowered_at = -1.0
        self._held: tuple[float, str] = (0.0, "")  # (time, reason) until which no request starts
        # Only the first request of each queue waits for a slot; the others wait for this lock.
        self._first_in_line = {False: asyncio.Lock(), True: asyncio.Lock()}
        self._change = asyncio.Event()

    @asynccontextmanager
    async def slot(
        self, tokens: int = 0, *, background: bool = False
    ) -> AsyncIterator[RequestStart]:
        """Wait until a request of `tokens` tokens may start; it ends with the block."""
        announced = ""
        self._waiting += not background
        try:
            async with self._first_in_line[background]:
                while (wait := self._wait(tokens, background))[0] > 0:
                    delay, reason = wait
                    self._change.clear()
                    if delay > SLOW_SECONDS and reason not in ("", announced):
                        text = f"Requests wait: {reason}, next in {round(delay)} s"
                        announce(Waiting("rate limit", text, delay))
                        announced = reason
                    with suppress(TimeoutError):
                        async with asyncio.timeout(delay):
                            await self._change.wait()
                start = RequestStart(asyncio.get_running_loop().time(), tokens)
                self._starts.append(start)
                self._running[background] += 1
                self._most = max(self._most, sum(self._running.values()))
        finally:
            if not background:
                self._waiting -= 1
                self._latest = asyncio.get_running_loop().time()
            self._change.set()
        try:
            yield start
        finally:
            self._running[background] -= 1
            self._change.set()

    def lower_concurrency(self, failed: RequestStart) -> None:
        """Halve the number of requests at once, since a service cannot hold all of them.

        They fail together, so a request that began before the latest change changes nothing.
        """
        if failed.at > self._lowered_at:
            self._limits.concurrency = max(1, min(self._limits.concurrency, self._most) // 2)
            self._lowered_at, self._most = asyncio.get_running_loop().time(), 0
            logger.warning("%d requests at once from now on", self._limits.concurrency)

    def settle(self, start: RequestStart, tokens: int) -> None:
        """Replace the estimated tokens of a request by the real number."""
        start.tokens = tokens
        self._change.set()

    def hold_off(self, seconds: float, reason: str) -> None:
        """Start no request for `seconds`, as a service demands."""
        self._held = max(self._held, (asyncio.get_running_loop().time() + seconds, reason))

    def _wait(self, tokens: int, background: bool) -> tuple[float, str]:
        """Return (seconds, limit): how long the first request in a queue must wait, and why.

        `limit` is the sentence about the limit that blocks it, "" if only concurrency does.
        """
        limits, now = self._limits, asyncio.get_running_loop().time()
        while self._starts and self._starts[0].at + _MINUTE <= now:
            self._starts.popleft()
        kept = limits.concurrency // 4 if background and self._latest + _MINUTE > now else 0
        if (
            sum(self._running.values()) >= limits.concurrency
            or (background and self._waiting)
            or (background and self._running[True] >= limits.concurrency - kept)
        ):
            return _MINUTE, ""
        waits = [self._held]
        if (most := limits.requests_per_minute) is not None:
            requests = [(start.at, 1) for start in self._starts]
            reason = f"GRAPHREADER_REQUESTS_PER_MINUTE is {most:,}"
            waits.append((_earliest(requests, 1, most), reason))
        if (most := limits.tokens_per_minute) is not None and tokens:
            amounts = [(start.at, start.tokens) for start in self._starts if start.tokens]
            reason = f"GRAPHREADER_TOKENS_PER_MINUTE is {most:,}"
            waits.append((_earliest(amounts, tokens, most), reason))
        at, reason = max(waits)
        return at - now, reason


def _earliest(starts: list[tuple[float, int]], amount: int, limit: int) -> float:
    """The time at which a request of `amount` may start, given the `starts` of the last minute."""
    # The second bound is below a sixth, so that one request of any size starts in each part.
    return max(
        _time_below(limit - amount, _MINUTE, starts),
        _time_below((limit - 1) // _PARTS, _MINUTE / _PARTS, starts),
    )


def _time_below(most: int, seconds: float, starts: Sequence[tuple[float, int]]) -> float:
    """The time at which the sum of amounts in the last `seconds` is at most `most`."""
    total = 0
    for at, amount in reversed(starts):
        total += amount
        if total > most:
            return at + seconds
    return 0.0


_limits = RateLimits()
_limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, RateLimiter] = WeakKeyDictionary()


def rate_limiter() -> RateLimiter:
    """Return the limiter of the running event loop. GraphReader uses one loop per process."""
    return _limiters.setdefault(asyncio.get_running_loop(), RateLimiter(_limits))


def set_rate_limiter(limiter: Any) -> None:
    """Replace the limiter of the running event loop by an object with its methods."""
    _limiters[asyncio.get_running_loop()] = limiter


def configure_rate_limits(
    concurrency: int, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
) -> None:
    """Set the limits of the process; a later call replaces them."""
    _limits.concurrency = concurrency
    _limits.requests_per_minute = requests_per_minute
    _limits.tokens_per_minute = tokens_per_minute
