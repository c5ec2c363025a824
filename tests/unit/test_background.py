"""One loop a reader: called from scripts, from running loops, from threads, and interrupted."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import pytest

from graphreader.errors import UsageError
from graphreader.sync import Background


@pytest.fixture
def background() -> Iterator[Background]:
    background = Background()
    yield background
    background.close()


async def loop_of() -> asyncio.AbstractEventLoop:
    await asyncio.sleep(0)
    return asyncio.get_running_loop()


def threads() -> int:
    return sum(thread.name == "graphreader" for thread in threading.enumerate())


class Numbers:
    """An endless iterator that notes when it was closed."""

    def __init__(self) -> None:
        self.closed = False

    async def __call__(self) -> AsyncGenerator[int]:
        number = 0
        try:
            while True:
                await asyncio.sleep(0)
                yield number
                number += 1
        finally:
            await asyncio.sleep(0.01)
            self.closed = True


# All calls, also those from running loops and from several loops, end up in the same loop.
def test_one_loop(background: Background) -> None:
    async def inside() -> tuple[asyncio.AbstractEventLoop, asyncio.AbstractEventLoop]:
        return background.run(loop_of()), await background.arun(loop_of())

    first = background.run(loop_of())
    with ThreadPoolExecutor(2) as pool:
        others = set(pool.map(lambda _: background.run(loop_of()), range(4)))

    assert {*asyncio.run(inside()), *asyncio.run(inside()), *others} == {first}
    assert threads() == 1


# A call from the loop itself, which would wait for ever, is refused instead.
def test_a_call_from_inside(background: Background) -> None:
    async def call() -> None:
        background.run(loop_of())

    with pytest.raises(UsageError, match="while it reports progress"):
        background.run(call())


# What interrupts the wait ends the work, and its tidying up is waited for.
def test_an_interruption(background: Background, monkeypatch: pytest.MonkeyPatch) -> None:
    tidied = threading.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.2)
            tidied.set()

    def interrupt(future: object, timeout: float | None = None) -> None:
        time.sleep(0.1)
        raise KeyboardInterrupt

    background.run(loop_of())
    monkeypatch.setattr("concurrent.futures.Future.result", interrupt)
    with pytest.raises(KeyboardInterrupt):
        background.run(work())

    assert tidied.is_set()


# An awaited call that is cancelled cancels the work.
def test_a_cancelled_call(background: Background) -> None:
    cancelled = threading.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(background.arun(work()), 0.1)

    asyncio.run(give_up())

    assert cancelled.wait(5)


# An iterator that is left early is closed before anything else happens, in both forms.
def test_an_iterator_left_early(background: Background) -> None:
    first, second = Numbers(), Numbers()

    for number in background.iterate(first()):
        if number == 2:
            break

    async def leave() -> None:
        numbers = background.aiterate(second())
        async for number in numbers:
            if number == 2:
                break
        await numbers.aclose()

    asyncio.run(leave())

    assert first.closed
    assert second.closed


class Slow:
    """One item that takes for ever, and a while to be given up."""

    def __init__(self, tidying: float) -> None:
        self.begun = threading.Event()
        self.tidied = threading.Event()
        self._tidying = tidying

    async def __call__(self) -> AsyncGenerator[int]:
        self.begun.set()
        try:
            await asyncio.sleep(60)
            yield 1
        finally:
            await asyncio.sleep(self._tidying)
            self.tidied.set()


# A consumer that is cancelled in the middle of an item is cancelled, once the item is given up;
# also where that takes longer than our patience.
@pytest.mark.parametrize("patience", [5.0, 0.2])
def test_a_consumer_cancelled(
    background: Background, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    monkeypatch.setattr("graphreader.sync._PATIENCE", patience)
    slow = Slow(tidying=0.3)

    async def consume() -> None:
        async for _ in background.aiterate(slow()):
            pass

    async def give_up() -> bool:
        task = asyncio.create_task(consume())
        await asyncio.to_thread(slow.begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return slow.tidied.is_set()

    assert asyncio.run(give_up())


# What is cancelled has ended when its caller goes on.
def test_a_cancelled_call_has_ended(background: Background) -> None:
    slow = Slow(tidying=0.3)

    async def work() -> None:
        await anext(slow())

    async def give_up() -> bool:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(background.arun(work()), 0.1)
        return slow.tidied.is_set()

    assert asyncio.run(give_up())


# An interruption comes through an iterator as what it is, however long the item takes to end.
@pytest.mark.parametrize("patience", [0.2, 0.05])
def test_an_interrupted_iterator(
    background: Background, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    monkeypatch.setattr("graphreader.sync._PATIENCE", patience)
    slow = Slow(tidying=0.3)
    result = Future.result

    def interrupt(future: Future[object], timeout: float | None = None) -> object:
        if not slow.tidied.is_set() and slow.begun.wait(5) and not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        return result(future, timeout)

    interrupted: list[bool] = []
    monkeypatch.setattr("concurrent.futures.Future.result", interrupt)

    with pytest.raises(KeyboardInterrupt):
        next(background.iterate(slow()))
    assert interrupted
    assert slow.tidied.wait(5)


# Work that is cancelled before it began is done with, and leaves no coroutine behind.
async def test_cancelled_before_it_began(background: Background) -> None:
    for _ in range(50):
        task = asyncio.create_task(background.arun(loop_of()))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    assert (await background.arun(loop_of())).is_running()


# Closing ends what still runs and its thread; closing again does nothing; calling again is fine.
def test_closing() -> None:
    before = threads()
    background = Background()
    ended = threading.Event()

    async def linger() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def begin() -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(linger())
        await asyncio.sleep(0)
        return task

    assert not background.runs
    background.run(begin())
    assert background.runs
    background.close()
    background.close()

    assert ended.is_set()
    assert threads() == before
    assert background.run(loop_of()).is_running()
    background.close()
    assert threads() == before
