"""The same thing made once, however many ask for it at the same time, in any event loop.

Nothing is kept: who asks when it is made already has it made again.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Landed:
    """What came of the making, for all who wait; or nothing did, for the one who makes it now."""

    made: Any = None
    error: Exception | None = None
    lost: bool = False


_LOST = _Landed(lost=True)


class SingleFlight:
    """Who asks first makes it, in his own task; the others wait for what comes of that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[Future[_Landed]]] = {}

    async def once(
        self,
        key: str,
        make: Callable[[], Awaitable[T]],
        *,
        own: tuple[type[Exception], ...] = (),
    ) -> T:
        """What `make` gives, or what the same key's `make` gives that runs already.

        An exception of the maker is everybody's, the very same object. But when he is cancelled,
        or fails by one of `own` (his budget, say), one of the others makes it in his stead.
        Cancelling one who waits disturbs nobody. A `make` must not ask for its own key.
        """
        turn = self._join(key)
        landed = await self._told(key, turn) if turn else _LOST
        if landed.error:
            raise landed.error
        if landed.lost:
            return await self._make(key, make, own)
        made: T = landed.made
        return made

    def __len__(self) -> int:
        """How many things are being made."""
        return len(self._waiting)

    def _join(self, key: str) -> "Future[_Landed] | None":
        """What to wait for; None for the first."""
        with self._lock:
            if key not in self._waiting:
                self._waiting[key] = deque()
                return None
            turn: Future[_Landed] = Future()
            turn.set_running_or_notify_cancel()  # only we say when it is done
            self._waiting[key].append(turn)
            return turn

    async def _told(self, key: str, turn: "Future[_Landed]") -> _Landed:
        try:
            return await asyncio.wrap_future(turn)
        except BaseException:
            with self._lock:
                waiting = self._waiting.get(key)
                if waiting and turn in waiting:
                    waiting.remove(turn)
            if turn.done() and turn.result().lost:  # who should have made it gives up
                self._land(key, _LOST)
            raise

    async def _make(
        self, key: str, make: Callable[[], Awaitable[T]], own: tuple[type[Exception], ...]
    ) -> T:
        landed = _LOST
        try:
            made = await make()
            landed = _Landed(made)
            return made
        except Exception as error:
            if not isinstance(error, own):
                landed = _Landed(error=error)
            raise
        finally:
            self._land(key, landed)

    def _land(self, key: str, landed: _Landed) -> None:
        """Tell all who wait; what is lost only the next, who makes it while the others wait on."""
        with self._lock:
            waiting = self._waiting[key]
            told = [waiting.popleft()] if landed.lost and waiting else self._waiting.pop(key)
            for turn in told:
                turn.set_result(landed)


@cache
def in_flight() -> SingleFlight:
    """The one of this process."""
    return SingleFlight()
