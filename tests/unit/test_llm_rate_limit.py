"""The rate limiter: requests at once, requests and tokens per minute, Retry-After."""

import asyncio
import random

import pytest

from graphreader.llm.rate_limit import (
    RateLimiter,
    RateLimits,
)
from graphreader.waiting import listening
from tests.virtual_time import now, virtual_time


class Requests:
    """Makes requests of `seconds` each; `starts` are the times and numbers of those that began."""

    def __init__(self, limits: RateLimits, seconds: float = 0.0) -> None:
        self.limiter = RateLimiter(limits)
        self.starts: list[tuple[float, int]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._seconds = seconds

    def make(self, *tokens: int, background: bool = False) -> None:
        for amount in tokens:
            run = self._run(len(self.tasks), amount, background)
            self.tasks.append(asyncio.create_task(run))

    async def finish(self) -> list[float]:
        """The times of all starts, which are in the order of arrival."""
        await asyncio.gather(*self.tasks)
        assert [number for _, number in self.starts] == list(range(len(self.tasks)))
        return [round(at, 6) for at, _ in self.starts]

    async def _run(self, number: int, tokens: int, background: bool) -> None:
        async with self.limiter.slot(tokens, background=background):
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


# Requests of work in the background let others go first, and leave them a quarter of the places.
@virtual_time
async def test_background() -> None:
    requests = Requests(RateLimits(concurrency=4), seconds=3)
    requests.make(*[0] * 12, background=True)
    await asyncio.sleep(1)
    requests.make(0)
    await asyncio.sleep(6)
    requests.make(0)
    await asyncio.gather(*requests.tasks)

    *behind, question, another = [at for _, at in sorted((n, at) for at, n in requests.starts)]
    assert behind == [0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9]
    assert (question, another) == (3, 7)


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


# A request that waits for a limit a minute, or as a service demands, says so once; one that waits
# until others have ended does not.
@virtual_time
async def test_announced_limits() -> None:
    heard: list[tuple[float, str]] = []
    requests = Requests(RateLimits(1, requests_per_minute=6), seconds=4.0)
    with listening(lambda waiting: heard.append((now(), waiting.text))):
        requests.make(0, 0)
        await asyncio.sleep(5)
        requests.limiter.hold_off(20, "fake:model: 429")
        requests.make(0)
        await requests.finish()

    assert heard == [
        (4, "Requests wait: GRAPHREADER_REQUESTS_PER_MINUTE is 6, next in 6 s"),
        (10, "Requests wait: fake:model: 429, next in 15 s"),
        (29, "Requests wait: GRAPHREADER_REQUESTS_PER_MINUTE is 6, next in 6 s"),
    ]


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
    requests.limiter.hold_off(20, "")
    requests.limiter.hold_off(5, "")
    requests.make(0, 0, 0)
    await asyncio.sleep(10)
    requests.limiter.hold_off(30, "")

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
