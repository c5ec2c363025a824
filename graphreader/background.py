"""One event loop in a thread of its own, for code that is called from anywhere.

A database driver belongs to the loop in which it was opened. One loop a reader lets the same reader
serve plain scripts, Jupyter (whose own loop runs already) and several `asyncio.run`.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """A loop that starts with the first call and ends with `close`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work there and wait here. What interrupts the wait ends the work."""
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work there and await it from any other loop; cancelling reaches it."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._running()))

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """Yield what an asynchronous iterator of that loop yields."""
        try:
            while True:
                try:
                    yield self.run(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            self.run(_end(items))

    async def aiterate(self, items: AsyncIterator[T]) -> AsyncIterator[T]:
        """Yield the same to any other loop."""
        try:
            while True:
                try:
                    yield await self.arun(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            await self.arun(_end(items))

    def close(self) -> None:
        """End the loop. A later call starts another one."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=_serve, args=(self._loop,), name="graphreader", daemon=True
                ).start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)


async def _end(items: AsyncIterator[Any]) -> None:
    with contextlib.suppress(AttributeError):
        await items.aclose()  # type: ignore[attr-defined]  # generators have it, others need not
