"""The process's event loop and the synchronous twins of asynchronous methods."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator

import pytest

from graphreader import sync
from graphreader.errors import UsageError


async def where() -> tuple[str, asyncio.AbstractEventLoop]:
    return threading.current_thread().name, asyncio.get_running_loop()


async def numbers(ended: list[str]) -> AsyncGenerator[int]:
    try:
        for number in range(3):
            await asyncio.sleep(0)
            yield number
    finally:
        await asyncio.sleep(0)
        ended.append("ended")


@sync.methods_in_loop
class Counter:
    """Counts in the process's loop."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def aadd(self, one: int, *, two: int = 0) -> int:
        """Add two numbers."""
        assert (await where())[0] == "graphreader"
        return one + two

    add = sync.blocking(aadd)

    @sync.stream_in_loop
    def acount(self) -> AsyncGenerator[int]:
        """Count to three."""
        return numbers(self.ended)

    count = sync.blocking(acount)


# Scripts, loops of one's own and several of them one after the other share one loop.
def test_one_loop() -> None:
    first = sync.run(where())
    second = asyncio.run(sync.arun(where()))
    third = asyncio.run(sync.arun(where()))

    assert first == second == third
    assert first[0] == "graphreader"


# A method has an asynchronous form for any loop and a synchronous twin, with docstrings. Generators
# that are left early are closed in their loop before the caller goes on.
def test_twins() -> None:
    counter = Counter()

    async def elsewhere() -> list[int]:
        return [await counter.aadd(1, two=2), *[one async for one in counter.acount()]]

    assert counter.add(1, two=2) == 3
    assert list(counter.count()) == [0, 1, 2]
    assert asyncio.run(elsewhere()) == [3, 0, 1, 2]
    for _ in counter.count():
        break

    async def leave() -> None:
        stream = counter.acount()
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(leave())
    assert counter.ended == ["ended"] * 4
    assert (Counter.add.__name__, Counter.count.__name__) == ("add", "count")
    assert Counter.add.__doc__ == Counter.aadd.__doc__


# Inside of the loop a synchronous method, whose wait would never end, is refused.
def test_inside() -> None:
    async def both() -> int:
        with pytest.raises(UsageError, match="afterwards"):
            Counter().add(1)
        return await Counter().aadd(2)

    assert sync.run(both()) == 2


# Who cancels the wait ends the work, which may clean up first.
async def test_cancelled() -> None:
    events: list[str] = []
    begun = threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            events.append("cleaned up")

    task = asyncio.create_task(sync.arun(work()))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert events == ["cleaned up"]


INTERRUPTED = """
import asyncio, os, signal, threading
from graphreader import sync

async def work():
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        await asyncio.sleep(60)
    finally:
        print("cleaned up", flush=True)

try:
    sync.run(work())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


# Ctrl-C ends the work of a synchronous call, which cleans up before the call returns.
def test_interrupted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, encoding="utf-8", timeout=60
    )

    assert done.stdout.split("\n")[:2] == ["cleaned up", "interrupted"], done.stderr


# Work goes on side by side up to the limit; after a failure nothing new begins, and what is under
# way ends.
async def test_bounded_gather() -> None:
    most = now = 0
    done: list[int] = []

    async def work(item: int) -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        if item == 4:
            raise ValueError(item)
        done.append(item)

    with pytest.raises(ValueError, match="4"):
        await sync.bounded_gather(range(100), work, 3)

    assert most == 3
    assert set(done) >= {0, 1, 2, 3}
    assert len(done) < 10
