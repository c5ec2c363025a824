import asyncio
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from graphreader.llm import retry
from graphreader.llm.retry import Limiter
from tests.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(clock: Clock) -> Limiter:
    return Limiter(concurrency=1000, clock=clock.now, later=clock.later)


async def turns() -> None:
    """Let the loop do what there is to do."""
    for _ in range(5):
        await asyncio.sleep(0)


class Asker:
    """Asks for slots, notes when each request began, and holds it until it is told to leave."""

    def __init__(self, limiter: Limiter, clock: Clock | None = None) -> None:
        self.began: list[tuple[float, int]] = []
        self._limiter = limiter
        self._now: Callable[[], float] = clock.now if clock else time.monotonic
        self._ends: dict[int, asyncio.Event] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def ask(self, name: int, tokens: int = 0) -> asyncio.Task[None]:
        self._ends[name] = asyncio.Event()
        self.tasks.append(asyncio.create_task(self._request(name, tokens)))
        return self.tasks[-1]

    def leave(self, name: int) -> None:
        self._ends[name].set()

    @property
    def names(self) -> list[int]:
        return [name for _, name in self.began]

    async def _request(self, name: int, tokens: int) -> None:
        async with self._limiter.slot(tokens):
            self.began.append((self._now(), name))
            await self._ends[name].wait()


async def all_begun(asker: Asker, clock: Clock) -> None:
    """Let time pass, alarm by alarm, until everybody has begun, and end all requests."""
    await turns()
    while len(asker.began) < len(asker.tasks):
        clock.ring()
        await turns()
    for name in asker.names:
        asker.leave(name)
    await asyncio.gather(*asker.tasks)


def most_within(seconds: float, begun: list[tuple[float, int]]) -> int:
    """The largest sum of the second numbers in any stretch of so many seconds."""
    return max(
        sum(amount for at, amount in begun if start <= at < start + seconds) for start, _ in begun
    )


# Two loops in two threads share the limit: it is used in full and never passed.
def test_concurrency_of_two_loops_at_once() -> None:
    limiter = Limiter(concurrency=3)
    lock, barrier = threading.Lock(), threading.Barrier(2)
    now, most, done = 0, 0, 0

    async def request() -> None:
        nonlocal now, most, done
        async with limiter.slot():
            with lock:
                now += 1
                most = max(most, now)
            await asyncio.sleep(0.001)
            with lock:
                now -= 1
                done += 1

    async def several() -> None:
        barrier.wait()
        async with asyncio.timeout(20):
            await asyncio.gather(*(request() for _ in range(100)))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: asyncio.run(several()), range(2)))

    assert most == 3
    assert done == 200


# One loop after the other may use the limiter.
def test_several_loops() -> None:
    limiter = Limiter(concurrency=1)

    async def several() -> int:
        asker = Asker(limiter)
        for name in range(5):
            asker.ask(name)
            asker.leave(name)
        await asyncio.gather(*asker.tasks)
        return len(asker.began)

    assert [asyncio.run(several()) for _ in range(3)] == [5, 5, 5]


# The process has one limiter, whichever thread asks for it.
def test_one_limiter() -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: retry.rate_limiter(), range(50)))

    assert len(set(map(id, found))) == 1
    assert found[0] is retry.rate_limiter()


# Who comes first begins first, and a newcomer does not take the place that has become free.
async def test_first_come_first_served() -> None:
    limiter = Limiter(concurrency=2)
    asker = Asker(limiter)
    for name in range(6):
        asker.ask(name)
    await turns()
    asker.leave(1)
    asker.ask(6)
    await turns()
    asker.leave(0)
    for name in range(2, 7):
        await turns()
        asker.leave(name)
    await asyncio.gather(*asker.tasks)

    assert asker.names == list(range(7))


# A small request does not overtake a large one that waits for its tokens.
async def test_small_ones_wait_behind_large_ones(limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=10, tokens_per_minute=6000)
    asker = Asker(limiter, clock)
    for name, tokens in enumerate([900, 5900, 1]):
        asker.ask(name, tokens)
    await turns()
    begun_at_once = asker.names
    await all_begun(asker, clock)

    assert begun_at_once == [0]
    assert asker.names == [0, 1, 2]


# In any minute no more requests begin than allowed, spread over it, and hardly fewer.
@pytest.mark.parametrize(("limit", "spread"), [(1, 1), (11, 2), (60, 10), (500, 84)])
async def test_requests_per_minute(limit: int, spread: int, limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=10_000, requests_per_minute=limit)
    asker = Asker(limiter, clock)
    begin = clock.time
    for name in range(limit * 4):
        asker.ask(name)
    await all_begun(asker, clock)
    begun = [(at, 1) for at, _ in asker.began]

    assert asker.names == list(range(limit * 4))
    assert most_within(60, begun) == limit
    assert most_within(10, begun) == spread
    assert clock.time - begin <= 4 * 60


# The same for tokens, whatever the sizes of the requests.
async def test_tokens_per_minute(limiter: Limiter, clock: Clock) -> None:
    dice = random.Random(7)
    sizes = [dice.randint(200, 5000) for _ in range(150)]
    limiter.configure(concurrency=1000, tokens_per_minute=60_000)
    asker = Asker(limiter, clock)
    begin = clock.time
    for name, tokens in enumerate(sizes):
        asker.ask(name, tokens)
    await all_begun(asker, clock)
    begun = [(at, sizes[name]) for at, name in asker.began]

    assert 55_000 < most_within(60, begun) <= 60_000
    assert most_within(10, begun) < 15_000
    assert clock.time - begin < 1.1 * sum(sizes) / 1000


# Both limits hold together, and with the number of requests at once.
async def test_all_limits_together(limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=2, requests_per_minute=6, tokens_per_minute=600)
    asker = Asker(limiter, clock)
    for name, tokens in enumerate([100, 10, 10, 500, 10]):
        asker.ask(name, tokens)
    await turns()
    clock.go_on(10)
    await turns()
    clock.go_on(20)
    await turns()
    asker.leave(0)  # only now is there a place for the third
    await turns()
    asker.leave(1)
    asker.leave(2)
    await all_begun(asker, clock)

    # The first fills a sixth of the tokens; the fourth fits when the first is a minute ago.
    assert [at - 1000 for at, _ in asker.began] == [0, 10, 30, 60, 70]


# A request that is larger than a minute's tokens goes alone, and the next a minute later.
async def test_larger_than_a_minute(limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=10, tokens_per_minute=1000)
    asker = Asker(limiter, clock)
    for name, tokens in enumerate([10, 5000, 10]):
        asker.ask(name, tokens)
    await all_begun(asker, clock)

    assert [at - 1000 for at, _ in asker.began] == [0, 60, 120]


# What a request took in fact counts from the moment that it is known, be it less or more.
@pytest.mark.parametrize(("settled", "begins_at"), [(200, 10), (800, 60), (5000, 60)])
async def test_settling(settled: int, begins_at: int, limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=10, tokens_per_minute=1000)
    asker = Asker(limiter, clock)
    async with limiter.slot(900) as slot:
        slot.settle(settled)
    asker.ask(0, 400)
    await all_begun(asker, clock)

    assert asker.began == [(1000 + begins_at, 0)]


# What has long been forgotten cannot be settled any more, which does no harm.
async def test_settling_late(limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=10, tokens_per_minute=1000)
    asker = Asker(limiter, clock)
    async with limiter.slot(900) as slot:
        clock.go_on(61)
        async with limiter.slot(900):
            slot.settle(100_000)
    asker.ask(0, 50)
    await all_begun(asker, clock)

    assert asker.began == [(1071, 0)]


# A service that asks to wait holds off everybody; the longest wait counts.
async def test_hold_off(limiter: Limiter, clock: Clock) -> None:
    asker = Asker(limiter, clock)
    limiter.hold_off(20)
    limiter.hold_off(5)
    for name in range(3):
        asker.ask(name)
    await turns()
    clock.go_on(10)
    limiter.hold_off(30)
    await turns()
    await all_begun(asker, clock)

    assert asker.began == [(1040, 0), (1040, 1), (1040, 2)]


# Real timers work as the tests' do.
async def test_real_time() -> None:
    limiter = Limiter()
    limiter.hold_off(0.05)
    begin = time.monotonic()
    async with asyncio.timeout(20), limiter.slot():
        waited = time.monotonic() - begin

    assert 0.05 <= waited < 5


# Raising a limit wakes those who wait for it, be it one of places or of time; lowering wakes none.
async def test_raised_limits(limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=1, requests_per_minute=2)
    asker = Asker(limiter, clock)
    for name in range(6):
        asker.ask(name)
    await turns()
    first = len(asker.began)
    limiter.configure(concurrency=3, requests_per_minute=2)
    await turns()
    by_places = len(asker.began)
    limiter.configure(concurrency=3)
    await turns()
    by_time = len(asker.began)
    limiter.configure(concurrency=2)
    asker.leave(0)
    await turns()
    lowered = len(asker.began)
    for name in range(1, 6):
        asker.leave(name)
    await asyncio.gather(*asker.tasks)

    assert (first, by_places, by_time, lowered) == (1, 1, 3, 3)
    assert len(asker.began) == 6


# Nobody polls: there is one timer at most, and none once nobody waits for time.
async def test_one_timer(limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=10, requests_per_minute=6)
    asker = Asker(limiter, clock)
    for name in range(4):
        asker.ask(name)
    await turns()
    waiting = len(clock.set_alarms)
    clock.go_on(10)
    await turns()
    still_waiting = len(clock.set_alarms)
    for task in asker.tasks[2:]:
        task.cancel()
    await turns()

    assert (waiting, still_waiting, clock.set_alarms) == (1, 1, [])
    assert len(clock.alarms) == 2


# Who is cancelled, waiting or holding, or at the very moment of its turn, keeps no slot.
async def test_cancelling() -> None:
    limiter = Limiter(concurrency=1)
    asker = Asker(limiter)
    holding, chosen, waiting, last = (asker.ask(name) for name in range(4))
    await turns()
    waiting.cancel()
    await turns()
    holding.cancel()
    await asyncio.sleep(0)  # now it has left, and the next one has been chosen, but not yet run
    chosen.cancel()
    await turns()
    begun = asker.names
    asker.leave(3)
    await last
    results = await asyncio.gather(holding, chosen, waiting, return_exceptions=True)

    assert begun == [0, 3]
    assert all(isinstance(one, asyncio.CancelledError) for one in results)


# However tasks are cancelled, in whichever thread, in the end all slots are free.
def test_cancelling_at_random() -> None:
    limiter = Limiter(concurrency=4)

    async def request(dice: random.Random) -> None:
        async with limiter.slot():
            await asyncio.sleep(dice.random() / 1000)

    async def several(seed: int) -> None:
        dice = random.Random(seed)
        tasks = [asyncio.create_task(request(dice)) for _ in range(150)]
        for task in dice.sample(tasks, 100):
            await asyncio.sleep(dice.choice([0, 0.0005]))
            task.cancel()
        async with asyncio.timeout(20):
            await asyncio.gather(*tasks, return_exceptions=True)

    async def all_slots() -> int:
        asker = Asker(limiter)
        for name in range(6):
            asker.ask(name)
        await turns()
        begun = len(asker.began)
        for name in range(6):
            asker.leave(name)
        await asyncio.gather(*asker.tasks)
        return begun

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda seed: asyncio.run(several(seed)), range(3)))

    assert asyncio.run(all_slots()) == 4


# A loop that was closed while its tasks held slots, or waited for one, is in nobody's way.
@pytest.mark.parametrize("places", [1, 3, 5])
def test_closed_loop(places: int) -> None:
    limiter = Limiter(concurrency=places)
    dead = asyncio.new_event_loop()
    lost = Asker(limiter)

    async def begin() -> None:
        for name in range(4):
            lost.ask(name)
        await turns()

    async def several() -> list[int]:
        asker = Asker(limiter)
        for name in range(5):
            asker.ask(name)
            asker.leave(name)
        async with asyncio.timeout(20):
            await asyncio.gather(*asker.tasks)
        return asker.names

    dead.run_until_complete(begin())
    dead.close()

    assert len(lost.began) == min(4, places)
    assert sorted(asyncio.run(several())) == [0, 1, 2, 3, 4]


# Nor is one whose task waited for a time: whoever comes next does not wait for that.
def test_closed_loop_that_waited_for_time(limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=5, tokens_per_minute=600)
    dead = asyncio.new_event_loop()
    lost = Asker(limiter, clock)

    async def begin() -> None:
        lost.ask(0, 10)
        lost.leave(0)
        lost.ask(1, 595)
        await turns()

    async def next_one() -> None:
        async with asyncio.timeout(20), limiter.slot(10):
            pass

    dead.run_until_complete(begin())
    dead.close()
    asyncio.run(next_one())

    assert lost.names == [0]


# A loop that is closed between being told and being woken keeps no slot either.
def test_loop_closed_at_its_turn() -> None:
    limiter = Limiter(concurrency=1)
    dead = asyncio.new_event_loop()
    lost = Asker(limiter)

    async def wait() -> None:
        lost.ask(0)
        await turns()

    async def first() -> None:
        async with limiter.slot():
            await asyncio.to_thread(dead.run_until_complete, wait())
        dead.close()
        async with asyncio.timeout(20), limiter.slot():
            pass

    asyncio.run(first())

    assert lost.began == []


# Times at which requests begin never go back, so that no window is counted wrongly.
async def test_order_in_time(limiter: Limiter, clock: Clock) -> None:
    limiter.configure(concurrency=3, requests_per_minute=30)
    asker = Asker(limiter, clock)
    for name in range(40):
        asker.ask(name)
        asker.leave(name)
    await all_begun(asker, clock)

    assert all(one <= other for one, other in pairwise(asker.began))
