"""The same thing asked for at the same time is made once, whoever fails or gives up meanwhile."""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from graphreader.llm.cache import SingleFlight, in_flight


class Making:
    """Makes a numbered thing as soon as it is let; each making is counted."""

    def __init__(self) -> None:
        self.begun = 0
        self.cancelled = 0
        self.let = threading.Event()
        self.started = threading.Event()

    async def __call__(self) -> str:
        self.begun += 1
        number = self.begun
        self.started.set()
        try:
            while not self.let.is_set():
                await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return f"thing {number}"


class SpentError(Exception):
    """The maker's own affair."""


def failing(making: Making, error: Exception) -> Callable[[], Awaitable[str]]:
    async def make() -> str:
        await making()
        raise error

    return make


async def settled() -> None:
    """Let every task come to where it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


# Twenty who ask at the same time get the one thing that the first of them makes.
async def test_made_once() -> None:
    flight, making = SingleFlight(), Making()
    tasks = [asyncio.create_task(flight.once("a", making)) for _ in range(20)]
    await settled()
    assert len(flight) == 1
    making.let.set()
    made = await asyncio.gather(*tasks)

    assert set(made) == {"thing 1"}
    assert len(flight) == 0


# Nothing is kept: who asks afterwards has it made again.
async def test_made_again() -> None:
    flight, making = SingleFlight(), Making()
    making.let.set()

    assert [await flight.once("a", making), await flight.once("a", making)] == [
        "thing 1",
        "thing 2",
    ]


# Who asks for something else does not wait.
async def test_other_keys() -> None:
    flight, slow, quick = SingleFlight(), Making(), Making()
    quick.let.set()
    waiting = asyncio.create_task(flight.once("slow", slow))
    await settled()

    assert await flight.once("quick", quick) == "thing 1"
    assert not waiting.done()
    slow.let.set()
    await waiting


# Loops of two threads share one making, in whichever of them it goes on.
def test_two_loops() -> None:
    flight, making = SingleFlight(), Making()
    made: list[str] = []

    async def ask() -> None:
        made.extend(await asyncio.gather(*(flight.once("a", making) for _ in range(5))))

    threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert making.started.wait(5)
    threads[1].join(0.1)
    making.let.set()
    for thread in threads:
        thread.join(5)

    assert made == ["thing 1"] * 10
    assert len(flight) == 0


# What the maker fails by, all fail by; the next one who asks begins anew.
async def test_a_failure() -> None:
    flight, making = SingleFlight(), Making()
    error = ValueError("words")
    tasks = [asyncio.create_task(flight.once("a", failing(making, error))) for _ in range(5)]
    await settled()
    making.let.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert all(one is error for one in results)
    assert len(flight) == 0
    assert await flight.once("a", making) == "thing 2"


# A failure that is the maker's own affair is his alone; one of the others makes it.
async def test_the_makers_own_failure() -> None:
    flight, making = SingleFlight(), Making()
    maker = asyncio.create_task(flight.once("a", failing(making, SpentError()), own=(SpentError,)))
    await settled()
    others = [asyncio.create_task(flight.once("a", making)) for _ in range(3)]
    await settled()
    making.let.set()

    with pytest.raises(SpentError):
        await maker
    assert await asyncio.gather(*others) == ["thing 2"] * 3


# When the maker is cancelled one of those who wait makes it, and only one.
async def test_a_cancelled_maker() -> None:
    flight, making = SingleFlight(), Making()
    tasks = [asyncio.create_task(flight.once("a", making)) for _ in range(5)]
    await settled()
    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    await settled()
    making.let.set()

    assert await asyncio.gather(*tasks[1:]) == ["thing 2"] * 4
    assert (making.begun, making.cancelled) == (2, 1)
    assert len(flight) == 0


# Who is to make it next may be cancelled in the same moment: then it is the next one's turn.
async def test_an_heir_cancelled() -> None:
    flight, making = SingleFlight(), Making()
    tasks = [asyncio.create_task(flight.once("a", making)) for _ in range(4)]
    await settled()
    tasks[0].cancel()
    while len(flight) and not tasks[0].done():
        await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[2].cancel()
    making.let.set()
    async with asyncio.timeout(5):
        results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(one) for one in results[:3]] == [asyncio.CancelledError] * 3
    assert results[3] == f"thing {making.begun}"
    assert len(flight) == 0


# The loop in which it is made may end, as with Ctrl-C: another thread's loop makes it then.
def test_the_makers_loop_ends() -> None:
    flight, making = SingleFlight(), Making()
    made: list[str] = []

    async def give_up() -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(flight.once("a", making), 0.2)

    async def ask() -> None:
        await asyncio.to_thread(making.started.wait, 5)
        making.started.clear()
        made.append(await flight.once("a", making))

    threads = [threading.Thread(target=asyncio.run, args=(work,)) for work in (give_up(), ask())]
    for thread in threads:
        thread.start()
    threads[0].join(5)
    assert making.started.wait(5)
    making.let.set()
    threads[1].join(5)

    assert made == ["thing 2"]


# Who waits and is cancelled disturbs neither the maker nor the others.
async def test_a_cancelled_waiter() -> None:
    flight, making = SingleFlight(), Making()
    tasks = [asyncio.create_task(flight.once("a", making)) for _ in range(4)]
    await settled()
    tasks[2].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[2]
    making.let.set()

    assert await asyncio.gather(tasks[0], tasks[1], tasks[3]) == ["thing 1"] * 3
    assert making.cancelled == 0


# Whoever gives up when, in two loops: nothing is made twice at the same time, and nobody hangs.
def test_any_order() -> None:
    flight, going, most = SingleFlight(), Counter[str](), Counter[str]()
    lock = threading.Lock()

    async def make(key: str, seconds: float) -> str:
        with lock:
            going[key] += 1
            most[key] = max(most[key], going[key])
        try:
            await asyncio.sleep(seconds)
        finally:
            with lock:
                going[key] -= 1
        return key

    async def one(chance: random.Random) -> None:
        key, seconds = chance.choice("abc"), chance.uniform(0, 0.003)
        await asyncio.sleep(chance.uniform(0, 0.05))
        with suppress(TimeoutError):
            async with asyncio.timeout(chance.uniform(0, 0.006)):
                assert await flight.once(key, lambda: make(key, seconds)) == key

    async def many(seed: int) -> None:
        chance = random.Random(seed)
        async with asyncio.timeout(10):
            await asyncio.gather(*(one(chance) for _ in range(300)))
        ended.append(seed)

    ended: list[int] = []
    threads = [threading.Thread(target=asyncio.run, args=(many(seed),)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(15)

    assert sorted(ended) == [0, 1]
    assert most == {"a": 1, "b": 1, "c": 1}
    assert len(flight) == 0


# There is one for the whole process.
def test_one_a_process() -> None:
    assert in_flight() is in_flight()
