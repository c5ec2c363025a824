"""Says what is waited for: a service that is tried again, or that does not answer.

What waits announces it; the innermost listener of the calling code hears it, also from another
thread: a stream of events, the progress of an ingest, or the command line.
"""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
SLOW_SECONDS = 1.5  # without an answer, from which on an attempt is announced


@dataclass(frozen=True, slots=True)
class Waiting:
    """A service is waited for; `seconds` until the next attempt, 0 if only an answer ends it.

    `text` is a line for people: "openai:gpt-5.4-mini: 500, try 3 of 6 in 8 s", "Waiting for
    Neo4j". It is empty where a slow answer has come.
    """

    service: str
    text: str
    seconds: float


Listener = Callable[[Waiting], None]
"""Called in the event loop of the work that waits; it must not block."""

_listener: ContextVar[Listener | None] = ContextVar("waiting", default=None)


def announce(waiting: Waiting) -> None:
    """Tell the listener, if there is one, what is waited for."""
    if listener := _listener.get():
        listener(waiting)


@contextmanager
def announced_if_slow(waiting: Waiting, after: float = SLOW_SECONDS) -> Iterator[None]:
    """Announce that an answer is waited for, and then its end, unless the block ends before."""
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
    """Let the listener hear what the block, and all work that it begins, waits for."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


async def with_waiting(events: AsyncGenerator[T]) -> AsyncGenerator[T | Waiting]:
    """Yield the events of a generator, and between them what its work waits for."""
    import asyncio  # noqa: PLC0415

    context, loop = copy_context(), asyncio.get_running_loop()
    heard = asyncio.Queue[Waiting | None]()  # None: the next event is there
    context.run(_listener.set, heard.put_nowait)
    try:
        while True:
            step = loop.create_task(_next(events), context=context)
            step.add_done_callback(lambda _: heard.put_nowait(None))
            try:
                while waiting := await heard.get():
                    yield waiting
            finally:  # where the caller stops, the work ends before its generator is closed
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
