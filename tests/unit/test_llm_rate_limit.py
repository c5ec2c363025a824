"""The limits of requests at once, of requests a minute and of tokens a minute."""

import asyncio
import random

import pytest

from graphreader.llm.rate_limit import RateLimiter, RateLimits
from tests.virtual_time import now, virtual_time


class Requests:
    """Makes requests of `seconds` each; `starts` are the times and numbers of those that began."""

    def __init__(self, limits: RateLimits, seconds: float = 0.0) -> None:
        self.limiter = RateLimiter(limits)
        self.starts: list[tuple[float, int]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._seconds = seconds

    def make(self, *tokens: int) -> None:
        for amount in tokens:
            self.tasks.append(asyncio.create_task(self._run(len(self.tasks), amount)))

    async def finish(self) -> list[float]:
        """The times of all starts, which are in the order of arrival."""
        await asyncio.gather(*self.tasks)
        assert [number for _, number in self.starts] == list(range(len(self.tasks)))
        return [round(at, 6) for at, _ in self.starts]

    async def _run(self, number: int, tokens: int) -> None:
        async with self.limiter.slot(tokens):
            self.starts.append((now(), number))
            await asyncio.sleep(self._seconds)


def most_within(seconds: float, starts: list[tuple[float, int]]) -> int:
    """The largest sum of the amounts in any interval of so many seconds."""
    return max(
        sum(amount for at, amount in starts if start <= at < start + seconds - 1e-6)
        for start, _ in starts
    )


# Requests start in the order of their arrival, no more at once than allowed.
@virtual_time
async def test_concurrency() -> None:
    requests = Requests(RateLimits(concurrency=2), seconds=3)
    requests.make(*[0] * 5)

    assert await requests.finish() == [0, 0, 3, 3, 6]


# In any minute no more requests start than allowed, spread over it, and hardly fewer.
@pytest.mark.parametrize(("limit", "spread"), [(1, 1), (60, 10)])
@virtual_time
async def test_requests_per_minute(limit: int, spread: int) -> None:
    requests = Requests(RateLimits(10_000, requests_per_minute=limit))
    requests.make(*[0] * limit * 3)
    starts = [(at, 1) for at in await requests.finish()]

    assert most_within(60, starts) == limit
    assert most_within(10, starts) == spread
    assert now() <= 3 * 60


# The same holds for tokens, whatever the sizes of the requests.
@virtual_time
async def test_tokens_per_minute() -> None:
    dice = random.Random(7)
    sizes = [dice.randint(200, 5000) for _ in range(150)]
    requests = Requests(RateLimits(1000, tokens_per_minute=60_000))
    requests.make(*sizes)
    starts = list(zip(await requests.finish(), sizes, strict=True))

    assert 55_000 < most_within(60, starts) <= 60_000
    assert most_within(10, starts) < 15_000
    assert now() < 1.1 * sum(sizes) / 1000


# A small request does not overtake a large one; one beyond a minute's tokens runs alone.
@pytest.mark.parametrize(
    ("per_minute", "tokens", "seconds"),
    [
        (6000, [900, 5900, 1], [0, 60, 70]),
        (1000, [10, 5000, 10], [0, 60, 120]),
    ],
)
@virtual_time
async def test_large_requests(per_minute: int, tokens: list[int], seconds: list[float]) -> None:
    requests = Requests(RateLimits(tokens_per_minute=per_minute))
    requests.make(*tokens)

    assert await requests.finish() == seconds


# The real number of tokens counts as soon as it is known, be it less or more; a waiting request is
# not held up any longer.
@pytest.mark.parametrize(("real", "starts_at"), [(200, 10), (5000, 60)])
@virtual_time
async def test_settle(real: int, starts_at: int) -> None:
    requests = Requests(RateLimits(tokens_per_minute=1000))
    async with requests.limiter.slot(900) as start:
        requests.make(400)
        await asyncio.sleep(5)
        requests.limiter.settle(start, real)

    assert await requests.finish() == [starts_at]


# A service that asks to wait holds off every request; the longest wait counts.
@virtual_time
async def test_hold_off() -> None:
    requests = Requests(RateLimits())
    requests.limiter.hold_off(20)
    requests.limiter.hold_off(5)
    requests.make(0, 0, 0)
    await asyncio.sleep(10)
    requests.limiter.hold_off(30)

    assert await requests.finish() == [40, 40, 40]


# However requests are cancelled, waiting, running or in between, all slots are free in the end.
@virtual_time
async def test_cancel_at_random() -> None:
    requests, dice = Requests(RateLimits(concurrency=4), seconds=1), random.Random(5)
    requests.make(*[0] * 200)
    for task in dice.sample(requests.tasks, 130):
        await asyncio.sleep(dice.choice([0, 0.5]))
        task.cancel()
    await asyncio.gather(*requests.tasks, return_exceptions=True)
    begin = now()
    requests.tasks.clear()
    requests.starts.clear()
    requests.make(*[0] * 6)

    assert await requests.finish() == [begin] * 4 + [begin + 1] * 2
