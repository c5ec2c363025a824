"""One event loop for the whole process, and synchronous twins of asynchronous methods.

A database driver, an HTTP client and a rate limiter belong to the event loop in which they are
opened. All of them live in one loop, which runs in a background thread. So the same reader serves
scripts, Jupyter (which has a running loop of its own) and several `asyncio.run`.

`run` and `iterate` wait in the calling thread, `arun` and `aiterate` in the caller's loop.
`in_loop` and `blocking` make both forms of a public method from one coroutine function.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
)
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from graphreader.errors import UsageError

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")

_SHUTDOWN_SECONDS = 5.0
"""Seconds that a cancelled job is given to clean up."""

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the process's loop and wait for its result in this thread.

    An interrupt (Ctrl-C) cancels the coroutine and gives it a moment to clean up. Raises UsageError
    in the loop's own thread, where waiting would never end.
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
    """Run a coroutine in the process's loop and await its result in any loop.

    Cancellation is passed on, and the coroutine is given a moment to clean up.
    """
    if _in_loop():
        return await work
    job = _Job(work)
    try:
        return await asyncio.wrap_future(job.result)
    except asyncio.CancelledError:
        if not job.result.done():
            job.cancel()
            ended = asyncio.wrap_future(job.result)
            ended.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait([ended], timeout=_SHUTDOWN_SECONDS)
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
    """Yield the items of an asynchronous generator of the process's loop to any loop."""
    turn = asyncio.Lock()
    try:
        while True:
            try:
                yield await arun(_next(items, turn))
            except StopAsyncIteration:
                return
    finally:
        await arun(_close(items, turn))


def in_loop(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make an asynchronous method that runs in the process's loop and can be awaited in any."""

    @wraps(method)
    async def awaited(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await arun(method(self, *args, **kwargs))

    return awaited


def blocking(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], T]:
    """Make the synchronous twin of an asynchronous method."""
    coroutine = cast(
        Callable[Concatenate[S, P], Coroutine[Any, Any, T]], getattr(method, "__wrapped__", method)
    )

    @wraps(method)
    def waiting(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return run(coroutine(self, *args, **kwargs))

    return _named_as_twin(waiting, method)


def blocking_stream(
    method: Callable[Concatenate[S, P], AsyncGenerator[T]],
) -> Callable[Concatenate[S, P], Generator[T]]:
    """Make the synchronous twin of a method that returns an asynchronous generator."""
    stream = cast(
        Callable[Concatenate[S, P], AsyncGenerator[T]], getattr(method, "__wrapped__", method)
    )

    @wraps(method)
    def waiting(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T]:
        return iterate(stream(self, *args, **kwargs))

    return _named_as_twin(waiting, method)


def stream_in_loop(
    method: Callable[Concatenate[S, P], AsyncGenerator[T]],
) -> Callable[Concatenate[S, P], AsyncGenerator[T]]:
    """Make a method whose asynchronous generator runs in the process's loop, for any loop."""

    @wraps(method)
    def streamed(self: S, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T]:
        return aiterate(method(self, *args, **kwargs))

    return streamed


async def bounded_gather(
    items: Iterable[T], work: Callable[[T], Awaitable[None]], limit: int
) -> None:
    """Do the work for each item in order, at most `limit` at once.

    After the first failure nothing new is begun; what is under way ends first, because a decision
    that was asked for is paid for. Then that failure is raised. Cancellation ends all at once.
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
    """A coroutine that runs in the process's loop.

    `result` is done when the coroutine has really ended. The future of
    `asyncio.run_coroutine_threadsafe` is done as soon as it is cancelled, during the clean-up.
    """

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
    """Whether this code runs in the process's loop."""
    try:
        return asyncio.get_running_loop() is _loop
    except RuntimeError:
        return False


def _running_loop() -> asyncio.AbstractEventLoop:
    """The process's loop, which is started by the first call."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="graphreader", daemon=True).start()
        return _loop


@atexit.register
def _cancel_tasks() -> None:
    """Let running tasks clean up at the end of the process."""

    async def cancel_all() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    if _loop is not None:
        with suppress(Exception):
            _Job(cancel_all()).result.result(_SHUTDOWN_SECONDS)


def _forget_loop() -> None:
    """Let a forked process start a loop of its own: threads do not survive a fork."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)


async def _next(items: AsyncGenerator[T], turn: asyncio.Lock) -> T:
    async with turn:
        return await anext(items)


async def _close(items: AsyncGenerator[T], turn: asyncio.Lock) -> None:
    """Close the generator after its current item, which may have been cancelled, has ended."""
    try:
        await asyncio.wait_for(turn.acquire(), _SHUTDOWN_SECONDS)
    except TimeoutError:
        return
    await items.aclose()


def _named_as_twin(twin: Callable[P, T], method: Callable[..., Any]) -> Callable[P, T]:
    name = method.__name__
    twin.__name__ = name.removeprefix("a")
    twin.__qualname__ = method.__qualname__.replace(name, twin.__name__)
    twin.__doc__ = f"Do the same as `{name}`, and wait for it."
    return twin
