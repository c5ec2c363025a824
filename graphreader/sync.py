"""The one event loop of the process, and synchronous twins of asynchronous methods.

A driver, a client or a limiter belongs to one event loop. So all of them live in one loop, in a
background thread, and a reader works in scripts, in Jupyter and in several `asyncio.run`.
"""

import asyncio
import inspect
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from graphreader.errors import UsageError

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")

_SHUTDOWN_SECONDS = 5.0  # for a cancelled job to clean up

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the process's loop and wait for its result in this thread.

    An interrupt cancels the coroutine and waits for its end. Raises UsageError in the loop's own
    thread.
    """
    if _in_loop():
        work.close()
        raise UsageError(
            "A synchronous method was called inside of GraphReader's event loop, for example while "
            "progress is reported: call it afterwards, or await the asynchronous method."
        )
    job = _Job(work)
    try:
        return job.result.result()
    except BaseException:
        if not job.result.done():
            job.cancel()
            with suppress(Exception):
                job.result.exception(_SHUTDOWN_SECONDS)
        raise


async def arun(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the process's loop and await it in any loop; pass on a cancellation."""
    if _in_loop():
        return await work
    job = _Job(work)
    ended = asyncio.wrap_future(job.result)
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        job.cancel()
        await asyncio.gather(asyncio.wait_for(ended, _SHUTDOWN_SECONDS), return_exceptions=True)
        raise


def iterate(items: AsyncGenerator[T]) -> Generator[T]:
    """Yield the items of an asynchronous generator that runs in the process's loop."""
    turn = asyncio.Lock()
    try:
        while True:
            try:
                yield run(_next(items, turn))
            except StopAsyncIteration:
                return
    finally:
        run(_close(items, turn))


async def aiterate(items: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Yield, in any loop, the items of an asynchronous generator of the process's loop."""
    turn = asyncio.Lock()
    try:
        while True:
            try:
                yield await arun(_next(items, turn))
            except StopAsyncIteration:
                return
    finally:
        await arun(_close(items, turn))


async def _next(items: AsyncGenerator[T], turn: asyncio.Lock) -> T:
    async with turn:
        return await anext(items)


async def _close(items: AsyncGenerator[T], turn: asyncio.Lock) -> None:
    """Close the generator after its current item, which may have been cancelled, has ended."""
    with suppress(TimeoutError):
        await asyncio.wait_for(turn.acquire(), _SHUTDOWN_SECONDS)
        await items.aclose()


def methods_in_loop(cls: type[T]) -> type[T]:
    """Make the public coroutine methods of a class run in the process's loop, whoever awaits."""
    for name, method in list(vars(cls).items()):
        if inspect.iscoroutinefunction(method) and not name.startswith("_"):
            setattr(cls, name, _in_any_loop(method))
    return cls


def _in_any_loop(
    method: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    @wraps(method)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> T:
        return await arun(method(*args, **kwargs))

    return awaited


def stream_in_loop(
    method: Callable[Concatenate[S, P], AsyncGenerator[T]],
) -> Callable[Concatenate[S, P], AsyncGenerator[T]]:
    """Make a method whose asynchronous generator runs in the process's loop, usable in any."""

    @wraps(method)
    def streamed(self: S, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T]:
        return aiterate(method(self, *args, **kwargs))

    return streamed


@overload
def blocking(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], T]: ...
@overload
def blocking(
    method: Callable[Concatenate[S, P], AsyncGenerator[T]],
) -> Callable[Concatenate[S, P], Generator[T]]: ...
def blocking(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make the synchronous twin of a coroutine method, or of a `stream_in_loop` method."""
    start = inspect.unwrap(method)

    @wraps(method)
    def twin(*args: Any, **kwargs: Any) -> Any:
        work = start(*args, **kwargs)
        return iterate(work) if isinstance(work, AsyncGenerator) else run(work)

    twin.__name__ = method.__name__.removeprefix("a")
    twin.__qualname__ = method.__qualname__.replace(method.__name__, twin.__name__)
    return twin


async def bounded_gather(
    items: Iterable[T], work: Callable[[T], Awaitable[None]], limit: int
) -> None:
    """Call `work` for each item in order, at most `limit` at once.

    After a failure no call starts; it is raised when the running calls, which may be paid for,
    have ended.
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
        for _ in range(limit):
            group.create_task(worker())
    if failures:
        raise failures[0]


class _Job(Generic[T]):
    """A coroutine in the process's loop; `result` is done when it has really ended."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.result: Future[T] = Future()
        self.result.set_running_or_notify_cancel()  # so that nobody can cancel the future alone
        self._task: asyncio.Task[T] | None = None
        self._loop = _running_loop()
        self._loop.call_soon_threadsafe(self._begin, work)

    def cancel(self) -> None:
        """Cancel the coroutine; it may go on for a moment to clean up."""
        self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())

    def _begin(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[T]) -> None:
        error = CancelledError() if task.cancelled() else task.exception()
        if error:
            self.result.set_exception(error)
        else:
            self.result.set_result(task.result())


def _in_loop() -> bool:
    try:
        return asyncio.get_running_loop() is _loop
    except RuntimeError:
        return False


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="graphreader", daemon=True).start()
        return _loop


def _forget_loop() -> None:
    """Make a forked process start a loop of its own: threads do not survive a fork."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)
