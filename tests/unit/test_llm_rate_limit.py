"""The limits of requests at once, of requests a minute and of tokens a minute."""

import asyncio
import random

import pytest

from graphreader.llm.rate_limit import RateLimiter, RateLimits, configure_rate_limits, rate_limiter
from tests.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limits() -> RateLimits:
    return RateLimits(concurrency=1000)


@pytest.fixture
def limiter(clock: Clock, limits: RateLimits) -> RateLimiter:
    return RateLimiter(limits, clock=clock.now, call_later=clock.later)


async def settled() -> None:
    """Every task comes to where it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


class Requests:
    """Makes requests; `starts` are their times and names. Each runs until it is ended."""

    def __init__(self, limiter: RateLimiter, clock: Clock | None = None) -> None:
        self.starts: list[tuple[float, int]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._limiter = limiter
        self._clock = clock or Clock()
        self._ends: dict[int, asyncio.Event] = {}

    def make(self, *tokens: int) -> None:
        for amount in tokens:
            name = len(self.tasks)
            self._ends[name] = asyncio.Event()
            self.tasks.append(asyncio.create_task(self._run(name, amount)))

    def end(self, *names: int) -> None:
        for name in names:
            self._ends[name].set()

    @property
    def names(self) -> list[int]:
        return [name for _, name in self.starts]

    @property
    def seconds(self) -> list[float]:
        return [at - 1000 for at, _ in self.starts]

    async def finish(self) -> None:
        """Let time pass, timer by timer, until every request has started, and end all."""
        await settled()
        while len(self.starts) < len(self.tasks):
            self._clock.ring()
            await settled()
        self.end(*self.names)
        await asyncio.gather(*self.tasks)

    async def _run(self, name: int, tokens: int) -> None:
        async with self._limiter.slot(tokens):
            self.starts.append((self._clock.time, name))
            await self._ends[name].wait()


def most_within(seconds: float, starts: list[tuple[float, int]]) -> int:
    """The largest sum of the amounts in any interval of so many seconds."""
    return max(
        sum(amount for at, amount in starts if start <= at < start + seconds) for start, _ in starts
    )


# Requests start in the order of their arrival, no more at once than allowed.
async def test_order_and_concurrency(limiter: RateLimiter, limits: RateLimits) -> None:
    limits.concurrency = 2
    requests = Requests(limiter)
    requests.make(*[0] * 6)
    await settled()
    first = requests.names
    requests.end(1)
    requests.make(0)
    await settled()
    requests.end(*range(7))
    await asyncio.gather(*requests.tasks)

    assert first == [0, 1]
    assert requests.names == list(range(7))


# In any minute no more requests start than allowed, spread over it, and hardly fewer.
@pytest.mark.parametrize(("limit", "spread"), [(1, 1), (11, 2), (60, 10), (500, 84)])
async def test_requests_per_minute(
    limit: int, spread: int, limiter: RateLimiter, limits: RateLimits, clock: Clock
) -> None:
    limits.requests_per_minute, limits.concurrency = limit, 10_000
    requests = Requests(limiter, clock)
    requests.make(*[0] * limit * 4)
    await requests.finish()
    starts = [(at, 1) for at, _ in requests.starts]

    assert requests.names == list(range(limit * 4))
    assert most_within(60, starts) == limit
    assert most_within(10, starts) == spread
    assert clock.time - 1000 <= 4 * 60


# The same holds for tokens, whatever the sizes of the requests.
async def test_tokens_per_minute(limiter: RateLimiter, limits: RateLimits, clock: Clock) -> None:
    dice = random.Random(7)
    sizes = [dice.randint(200, 5000) for _ in range(150)]
    limits.tokens_per_minute = 60_000
    requests = Requests(limiter, clock)
    requests.make(*sizes)
    await requests.finish()
    starts = [(at, sizes[name]) for at, name in requests.starts]

    assert 55_000 < most_within(60, starts) <= 60_000
    assert most_within(10, starts) < 15_000
    assert clock.time - 1000 < 1.1 * sum(sizes) / 1000


# A small request does not overtake a large one; one beyond a minute's tokens runs alone.
@pytest.mark.parametrize(
    ("per_minute", "tokens", "seconds"),
    [(6000, [900, 5900, 1], [0, 60, 70]), (1000, [10, 5000, 10], [0, 60, 120])],
)
async def test_large_requests(
    per_minute: int,
    tokens: list[int],
    seconds: list[float],
    limiter: RateLimiter,
    limits: RateLimits,
    clock: Clock,
) -> None:
    limits.tokens_per_minute = per_minute
    requests = Requests(limiter, clock)
    requests.make(*tokens)
    await requests.finish()

    assert requests.names == [0, 1, 2]
    assert requests.seconds == seconds


# All limits hold together.
async def test_all_limits(limiter: RateLimiter, limits: RateLimits, clock: Clock) -> None:
    limits.concurrency, limits.requests_per_minute, limits.tokens_per_minute = 2, 6, 600
    requests = Requests(limiter, clock)
    requests.make(100, 10, 10, 500, 10)
    for seconds in (0, 10, 20):
        clock.go_on(seconds)
        await settled()
    requests.end(0)  # only now the third has a place
    await settled()
    requests.end(1, 2)
    await requests.finish()

    # The first fills a sixth of the tokens; the fourth fits when the first is a minute ago.
    assert requests.seconds == [0, 10, 30, 60, 70]


# The real number of tokens counts from the moment that it is known, be it less or more.
@pytest.mark.parametrize(("settled_as", "starts_at"), [(200, 10), (800, 60), (5000, 60)])
async def test_settle(
    settled_as: int, starts_at: int, limiter: RateLimiter, limits: RateLimits, clock: Clock
) -> None:
    limits.tokens_per_minute = 1000
    requests = Requests(limiter, clock)
    async with limiter.slot(900) as slot:
        slot.settle(settled_as)
    requests.make(400)
    await requests.finish()

    assert requests.seconds == [starts_at]


# A request of more than a minute ago counts no more, however it is settled.
async def test_settle_late(limiter: RateLimiter, limits: RateLimits, clock: Clock) -> None:
    limits.tokens_per_minute = 1000
    requests = Requests(limiter, clock)
    async with limiter.slot(900) as slot:
        clock.go_on(61)
        async with limiter.slot(900):
            slot.settle(100_000)
    requests.make(50)
    await requests.finish()

    assert requests.seconds == [71]


# A service that asks to wait holds off every request; the longest wait counts.
async def test_hold_off(limiter: RateLimiter, clock: Clock) -> None:
    requests = Requests(limiter, clock)
    limiter.hold_off(20)
    limiter.hold_off(5)
    requests.make(0, 0, 0)
    await settled()
    clock.go_on(10)
    limiter.hold_off(30)
    await settled()
    await requests.finish()

    assert requests.seconds == [40, 40, 40]


# Nothing polls: there is at most one timer, and none once no request waits for time.
async def test_one_timer(limiter: RateLimiter, limits: RateLimits, clock: Clock) -> None:
    limits.requests_per_minute = 6
    requests = Requests(limiter, clock)
    requests.make(0, 0, 0, 0)
    await settled()
    timers = [len(clock.set_alarms)]
    clock.go_on(10)
    await settled()
    timers.append(len(clock.set_alarms))
    for task in requests.tasks[2:]:
        task.cancel()
    await settled()
    timers.append(len(clock.set_alarms))
    requests.end(0, 1)
    await asyncio.gather(*requests.tasks, return_exceptions=True)

    assert timers == [1, 1, 0]


# A cancelled request, waiting or running or in the moment of its start, keeps no slot.
async def test_cancel(limiter: RateLimiter, limits: RateLimits) -> None:
    limits.concurrency = 1
    requests = Requests(limiter)
    requests.make(0, 0, 0, 0)
    await settled()
    running, chosen, waiting, last = requests.tasks
    waiting.cancel()
    await settled()
    running.cancel()
    await asyncio.sleep(0)  # the next one has been admitted, and did not run yet
    chosen.cancel()
    await settled()
    names = requests.names
    requests.end(3)
    await last
    results = await asyncio.gather(running, chosen, waiting, return_exceptions=True)

    assert names == [0, 3]
    assert all(isinstance(one, asyncio.CancelledError) for one in results)


# However requests are cancelled, in the end all slots are free.
async def test_cancel_at_random() -> None:
    limiter, dice = RateLimiter(RateLimits(concurrency=4)), random.Random(5)

    async def request() -> None:
        async with limiter.slot():
            await asyncio.sleep(dice.random() / 1000)

    tasks = [asyncio.create_task(request()) for _ in range(200)]
    for task in dice.sample(tasks, 130):
        await asyncio.sleep(dice.choice([0, 0.0005]))
        task.cancel()
    async with asyncio.timeout(20):
        await asyncio.gather(*tasks, return_exceptions=True)
    requests = Requests(limiter)
    requests.make(*[0] * 6)
    await settled()
    running = len(requests.names)
    requests.end(*range(6))
    await asyncio.gather(*requests.tasks)

    assert running == 4


# The process has one limiter in a loop, with the limits that were configured last; real time works.
def test_process_limiter() -> None:
    async def use() -> int:
        configure_rate_limits(1)
        assert rate_limiter() is rate_limiter()
        rate_limiter().hold_off(0.05)
        requests = Requests(rate_limiter())
        requests.make(0, 0)
        async with asyncio.timeout(20):
            while not requests.names:
                await asyncio.sleep(0.01)
        started = len(requests.names)
        requests.end(0, 1)
        await asyncio.gather(*requests.tasks)
        return started

    try:
        assert [asyncio.run(use()), asyncio.run(use())] == [1, 1]
    finally:
        configure_rate_limits(8)
