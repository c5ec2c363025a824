"""One of a thing for each event loop.

Clients' connections and locks belong to the loop in which they were first used, while one decider
may serve several loops: a notebook's own and that of a background thread.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes the thing when the running loop first needs it."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """The running loop's own."""
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = self._make()
        return self._made[loop]

    def pop(self) -> T | None:
        """The running loop's own, if one was made; the next `get` makes a new one."""
        return self._made.pop(asyncio.get_running_loop(), None)
