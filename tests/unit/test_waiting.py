"""What is waited for reaches whoever follows the work: listeners and streams of events."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from graphreader import sync
from graphreader.waiting import Waiting, announce, announced_if_slow, listening, with_waiting
from tests.virtual_time import now, virtual_time

OUTAGE = Waiting("Neo4j", "Neo4j does not answer", 2.0)


async def outage() -> None:
    announce(OUTAGE)


# The innermost listener hears what work in the loop's thread announces, and its tasks.
def test_listeners() -> None:
    outer: list[Waiting] = []
    inner: list[Waiting] = []
    sync.run(outage())
    with listening(outer.append):
        sync.run(outage())
        with listening(inner.append):
            asyncio.run(sync.arun(outage()))

    assert (outer, inner) == ([OUTAGE], [OUTAGE])


# Only an attempt that has no answer after two seconds is announced, and its end without a text.
@virtual_time
async def test_slow_attempts() -> None:
    heard: list[tuple[float, str]] = []
    with listening(lambda waiting: heard.append((now(), waiting.text))):
        for seconds in (1.0, 10.0):
            with announced_if_slow(OUTAGE):
                await asyncio.sleep(seconds)

    assert [text for _, text in heard] == [OUTAGE.text, ""]
    assert 2 < heard[0][0] <= 3
    assert heard[1][0] == 11


async def steps(ended: list[str]) -> AsyncGenerator[int]:
    """Two events; before the second one a task of the first waits for Neo4j."""
    try:
        yield 1
        await asyncio.gather(outage(), asyncio.sleep(30))
        yield 2
        raise ValueError("no model")
    finally:
        await asyncio.sleep(1)
        ended.append("ended")


# A stream has what its work waits for while it waits, between its events; its failure is passed on.
@virtual_time
async def test_streams() -> None:
    ended: list[str] = []
    seen: list[tuple[float, object]] = []

    async def follow() -> None:
        async for event in with_waiting(steps(ended)):
            seen.append((now(), event))

    with pytest.raises(ValueError, match="no model"):
        await follow()

    assert seen == [(0, 1), (0, OUTAGE), (30, 2)]
    assert ended == ["ended"]


# Closed, or cancelled, while its work waits, a stream ends once the work has ended.
@pytest.mark.parametrize("cancelled", [False, True])
@virtual_time
async def test_closed_streams(cancelled: bool) -> None:
    ended: list[str] = []

    async def follow() -> None:
        async with aclosing(with_waiting(steps(ended))) as events:
            async for event in events:
                if event == OUTAGE and not cancelled:
                    return

    task = asyncio.create_task(follow())
    if cancelled:
        await asyncio.sleep(10)
        task.cancel()
    await asyncio.wait((task,))

    assert task.cancelled() == cancelled
    assert ended == ["ended"]
    assert now() < 30
