"""Works side by side, a few at a time. What is under way when one fails is ended, not thrown away.

A decision that was asked for is paid for: so it is waited for and kept.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def side_by_side(
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
