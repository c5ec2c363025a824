"""One event loop in a thread of its own, for code that is called from anywhere.

A database driver belongs to the loop in which it was opened. One loop a reader lets the same reader
serve plain scripts, Jupyter (whose own loop runs already) and several `asyncio.run`.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from concurrent.futures import Future
from typing import Any, TypeVar

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
        ended = threading.Event()
        self._refuse_inside(work)
        future = self._submit(_telling(work, ended))
        try:
            return future.result()
        except BaseException:
            if future.cancel():
                ended.wait(_PATIENCE)
            raise

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work there and await it from any other loop; cancelling reaches it."""
        self._refuse_inside(work)
        return await asyncio.wrap_future(self._submit(work))

    def iterate(self, items: AsyncGenerator[T]) -> Generator[T]:
        """Yield what an asynchronous iterator of that loop yields."""
        try:
            while True:
                try:
                    yield self.run(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            self.run(items.aclose())

    async def aiterate(self, items: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Yield the same to any other loop."""
        try:
            while True:
                try:
                    yield await self.arun(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            await self.arun(items.aclose())

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
            thread.join(_PATIENCE)

    def _refuse_inside(self, work: Coroutine[Any, Any, Any]) -> None:
        """Waiting in the loop for the loop would never end."""
        if self._thread is threading.current_thread():
            work.close()
            raise UsageError(
                "A reader's methods were called while it reports progress: call them afterwards."
            )

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="graphreader", daemon=True
                )
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(_end_tasks())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _telling(work: Coroutine[Any, Any, T], ended: threading.Event) -> T:
    try:
        return await work
    finally:
        ended.set()


async def _end_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _next(items: AsyncGenerator[T]) -> T:
    return await anext(items)
