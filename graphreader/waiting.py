"""Announcements of waiting: for the next try of a request, or for a service that is slow to answer.

Code that waits announces it. The innermost listener of its callers gets the announcement, also from
another thread: a stream of events, the progress of an ingest, or the command line.
"""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
SLOW_SECONDS = 1.5  # a wait that takes longer is announced


@dataclass(frozen=True, slots=True)
class Waiting:
    """An announcement that code waits for a service, for `seconds` until the next try.

    `seconds` is 0 if only an answer ends the wait. `text` is a line for people: "Waiting for
    Neo4j", "openai:gpt-5.4-mini: 500, try 3 of 6 in 8 s". It is empty when the wait is over.
    """

    service: str
    text: str
    seconds: float


Listener = Callable[[Waiting], None]
"""A function that gets announcements in the event loop of the waiting code; it must not block."""

_listener: ContextVar[Listener | None] = ContextVar("waiting", default=None)


def announce(waiting: Waiting) -> None:
    """Pass an announcement to the listener, if there is one."""
    if listener := _listener.get():
        listener(waiting)


@contextmanager
def announced_if_slow(waiting: Waiting, after: float = SLOW_SECONDS) -> Iterator[None]:
    """Announce the wait for an answer, and its end, if the block takes longer than `after` s."""
    import asyncio  # noqa: PLC0415  # slow, and needed by no quick command

    loop = asyncio.get_running_loop()
    timer = loop.call_later(after, announce, waiting)
    try:
        yield
    finally:
        timer.cancel()
        if loop.time() >= timer.when():
            announce(Waiting(waiting.service, "", 0.0))


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Make `listener` get the announcements of the block and of all tasks that it starts."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


async def with_waiting(events: AsyncGenerator[T]) -> AsyncGenerator[T | Waiting]:
    """Yield the events of a generator, and between them the announcements of its code."""
    import asyncio  # noqa: PLC0415

    context, loop = copy_context(), asyncio.get_running_loop()
    announced = asyncio.Queue[Waiting | None]()  # None: the next event is there
    context.run(_listener.set, announced.put_nowait)
    try:
        while True:
            step = loop.create_task(_next(events), context=context)
            step.add_done_callback(lambda _: announced.put_nowait(None))
            try:
                while waiting := await announced.get():
                    yield waiting
            finally:  # if the caller stops, the step ends before the generator is closed
                step.cancel()
                await asyncio.gather(step, return_exceptions=True)
            try:
                event = step.result()
            except StopAsyncIteration:
                return
            yield event
    finally:
        await loop.create_task(events.aclose(), context=context)


async def _next(events: AsyncGenerator[T]) -> T:
    return await anext(events)
