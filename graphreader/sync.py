"""One event loop in a thread of its own, for code that is called from anywhere.

A database driver belongs to the loop in which it was opened. One loop a reader lets the same reader
serve plain scripts, Jupyter (whose own loop runs already) and several `asyncio.run`.

Works side by side, a few at a time. What is under way when one fails is ended, not thrown away.

A decision that was asked for is paid for: so it is waited for and kept.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from graphreader.errors import UsageError

T = TypeVar("T")

_PATIENCE = 5.0
"""Seconds that what was told to end is waited for."""


class Background:
    """A loop that starts with the first call and ends with `close`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work there and wait here.

        What interrupts the wait ends the work, which may take a moment to put things in order.
        """
        job = self._submit(work)
        try:
            return job.ended.result()
        except BaseException:
            if not job.ended.done():
                job.cancel()
                with suppress(Exception):
                    job.ended.exception(_PATIENCE)
            raise

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work there and await it from any other loop.

        Cancelling reaches it, and it may take a moment to put things in order.
        """
        job = self._submit(work)
        try:
            return await asyncio.wrap_future(job.ended)
        except asyncio.CancelledError:
            if not job.ended.done():
                job.cancel()
                await asyncio.wait([_noted(job.ended)], timeout=_PATIENCE)
            raise

    def iterate(self, items: AsyncGenerator[T]) -> Generator[T]:
        """Yield what an asynchronous iterator of that loop yields."""
        turn = asyncio.Lock()
        try:
            while True:
                try:
                    yield self.run(_next(items, turn))
                except StopAsyncIteration:
                    return
        finally:
            self.run(_close(items, turn))

    async def aiterate(self, items: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Yield the same to any other loop."""
        turn = asyncio.Lock()
        try:
            while True:
                try:
                    yield await self.arun(_next(items, turn))
                except StopAsyncIteration:
                    return
        finally:
            await self.arun(_close(items, turn))

    @property
    def runs(self) -> bool:
        """Whether there is a loop."""
        return self._loop is not None

    def close(self) -> None:
        """End the loop and what still runs in it. A later call starts another one."""
        with self._lock:
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            if thread is not threading.current_thread():
                thread.join(_PATIENCE)

    def _submit(self, work: Coroutine[Any, Any, T]) -> "_Job[T]":
        """Begin the work; refused inside, where waiting for the loop would never end."""
        if self._thread is threading.current_thread():
            work.close()
            raise UsageError(
                "A reader's methods were called while it reports progress: call them afterwards."
            )

        return _Job(work, self._running())

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="graphreader", daemon=True
                )
                self._thread.start()
            return self._loop


class _Job(Generic[T]):
    """Work in another thread's loop.

    `ended` is done when the work has ended in fact; the future of `run_coroutine_threadsafe` is
    done as soon as it is cancelled, while the work still puts things in order.
    """

    def __init__(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        self.ended: Future[T] = Future()
        self.ended.set_running_or_notify_cancel()  # from now on nobody can cancel the future alone
        self._loop = loop
        self._task: asyncio.Task[T] | None = None
        loop.call_soon_threadsafe(self._begin, work)

    def cancel(self) -> None:
        """Tell the work to end."""
        with suppress(RuntimeError):  # the loop was closed, and so is the work
            self._loop.call_soon_threadsafe(self._cancel)

    def _begin(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._end)

    def _cancel(self) -> None:
        if self._task:
            self._task.cancel()

    def _end(self, task: asyncio.Task[T]) -> None:
        error = CancelledError() if task.cancelled() else task.exception()
        if error:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(task.result())


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(_end_tasks())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _end_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _next(items: AsyncGenerator[T], turn: asyncio.Lock) -> T:
    async with turn:
        return await anext(items)


async def _close(items: AsyncGenerator[T], turn: asyncio.Lock) -> None:
    """Close the iterator once its last item, which may be one that was cancelled, has ended.

    If that takes longer than our patience it is left to the end of the loop.
    """
    try:
        await asyncio.wait_for(turn.acquire(), _PATIENCE)
    except TimeoutError:
        return
    await items.aclose()


def _noted(ended: Future[T]) -> asyncio.Future[T]:
    """The future for this loop, which does not complain that nobody looked at its failure."""
    future = asyncio.wrap_future(ended)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


async def bounded_gather(
    items: Iterable[T], work: Callable[[T], Awaitable[None]], at_once: int
) -> None:
    """Do the work for each item, begun in their order. Raises what the first one that fails raises.

    Then nothing new is begun, and what is under way ends first. Cancelled, it ends at once.
    """
    waiting = iter(items)
    failures: list[Exception] = []

    async def worker() -> None:
        for item in waiting:
            if failures:
                return
            try:
                await work(item)
            except Exception as error:
                failures.append(error)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(worker())
    if failures:
        raise failures[0]
