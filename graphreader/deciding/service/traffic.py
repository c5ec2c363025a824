"""The traffic of a whole process: how many requests are under way, and how many begin a minute.

Such limits belong to an account, not to a reader, so there is one limiter, whatever the number of
readers, threads and event loops. Who comes first begins first. Nobody polls: who waits for others
is woken by the one that ends, who waits for time by one timer in a thread of its own, which does
not depend on any loop going on.

No more begins in any 60 seconds than is allowed, and that is spread over them (see `minutes`).

The state is guarded by a lock that is held for microseconds only, and never across an await.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from graphreader.deciding.service.minutes import Begun, Minutes

DEFAULT_CONCURRENCY = 8
"""Requests at once until somebody configures another number; that of the settings."""


class Timer(Protocol):
    """Something that happens later unless it is cancelled."""

    def cancel(self) -> None:
        """Let it not happen."""


def in_a_thread(seconds: float, function: Callable[[], None]) -> Timer:
    """Call the function later, in a thread that does not keep the process alive."""
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    timer.start()
    return timer


class Slot:
    """The place of one request, which may begin when the block is entered. For one use only."""

    __slots__ = ("_limiter", "begun", "loop", "tokens", "turn")

    def __init__(self, limiter: "Limiter", tokens: int) -> None:
        self._limiter = limiter
        self.tokens = tokens
        self.begun: Begun | None = None
        self.loop = asyncio.get_running_loop()
        self.turn: asyncio.Future[None] | None = None

    async def __aenter__(self) -> "Slot":
        turn = self._limiter._enter(self)
        if turn is not None:
            try:
                await turn
            except BaseException:  # cancelled, perhaps at the moment when its turn came
                self._limiter._leave(self)
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limiter._leave(self)

    def settle(self, tokens: int) -> None:
        """Tell how many tokens the request took in fact."""
        self._limiter._settle(self, tokens)


class Limiter:
    """Lets requests begin, first come first served. For any number of loops and threads.

    `clock` gives seconds, `later` makes timers; tests have their own.
    """

    def __init__(
        self,
        concurrency: int = DEFAULT_CONCURRENCY,
        *,
        clock: Callable[[], float] = monotonic,
        later: Callable[[float, Callable[[], None]], Timer] = in_a_thread,
    ) -> None:
        # Reentrant: inside of it, Python may dispose of an abandoned task, which leaves its slot.
        self._lock = threading.RLock()
        self._concurrency = concurrency
        self._clock = clock
        self._later = later
        self._requests = Minutes(None)
        self._tokens = Minutes(None)
        self._hold_until = clock()
        self._holding: set[Slot] = set()
        self._queue: OrderedDict[Slot, None] = OrderedDict()
        self._letting_in = False
        self._timer: Timer | None = None
        self._due = 0.0  # the timer's

    def configure(
        self,
        *,
        concurrency: int,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> None:
        """Set the limits; None: there is none. Those that were configured last count."""
        with self._lock:
            self._concurrency = concurrency
            self._requests.limit = requests_per_minute
            self._tokens.limit = tokens_per_minute
            self._let_in()

    def slot(self, tokens: int = 0) -> Slot:
        """A request's place, to be entered by `async with`; `tokens` is what it may take."""
        return Slot(self, tokens)

    def hold_off(self, seconds: float) -> None:
        """Let nobody begin for so long: a service has asked to wait."""
        with self._lock:
            self._hold_until = max(self._hold_until, self._clock() + seconds)

    def _enter(self, slot: Slot) -> asyncio.Future[None] | None:
        """Nothing where the slot's request may begin at once, else what to wait for."""
        with self._lock:
            if not self._queue and len(self._holding) < self._concurrency:
                now = self._clock()
                if self._when(slot, now) <= now:
                    self._begin(slot, now)
                    return None
            slot.turn = slot.loop.create_future()
            self._queue[slot] = None
            self._forget_the_dead()
            self._let_in()
            return slot.turn

    def _leave(self, slot: Slot) -> None:
        with self._lock:
            self._holding.discard(slot)
            self._queue.pop(slot, None)
            self._let_in()

    def _settle(self, slot: Slot, tokens: int) -> None:
        if slot.begun is not None:
            with self._lock:
                self._tokens.correct(slot.begun, tokens)
                self._let_in()

    def _when(self, slot: Slot, now: float) -> float:
        """When the slot's request may begin, as far as it is a question of time."""
        at = max(now, self._hold_until)
        return max(at, self._requests.when(1, now), self._tokens.when(slot.tokens, now))

    def _begin(self, slot: Slot, now: float) -> None:
        self._holding.add(slot)
        self._requests.add(1, now)
        slot.begun = self._tokens.add(slot.tokens, now) if slot.tokens else None

    def _forget_the_dead(self) -> None:
        """Tasks of a loop that was closed too early can never leave."""
        for slot in list(self._holding):
            if slot.loop.is_closed():
                self._holding.discard(slot)

    def _let_in(self) -> None:
        """Let those begin who may by now, and see to it that the next one will."""
        if self._letting_in:
            return
        self._letting_in = True
        try:
            self._let_in_who_may()
        finally:
            self._letting_in = False
        if self._timer is not None and not self._queue:
            self._timer.cancel()
            self._timer = None

    def _let_in_who_may(self) -> None:
        while self._queue and len(self._holding) < self._concurrency:
            slot, now = next(iter(self._queue)), self._clock()
            when = self._when(slot, now)
            if when > now and not slot.loop.is_closed():
                self._call_at(when, now)
                return
            self._queue.pop(slot, None)
            if _woken(slot):
                self._begin(slot, now)

    def _call_at(self, when: float, now: float) -> None:
        """Have the queue looked at then; one timer is enough, and may be early."""
        if self._timer is not None:
            if self._due <= when:
                return
            self._timer.cancel()
        self._due = when
        self._timer = self._later(when - now, self._in_time)

    def _in_time(self) -> None:
        with self._lock:
            self._timer = None
            self._let_in()


def _woken(slot: Slot) -> bool:
    """Whether whoever waits for the slot can still be told that its turn has come."""
    try:
        slot.loop.call_soon_threadsafe(_tell, slot)
    except RuntimeError:  # the loop was closed
        return False
    return True


def _tell(slot: Slot) -> None:
    if slot.turn is not None and not slot.turn.done():
        slot.turn.set_result(None)


_making = threading.Lock()
_limiter: Limiter | None = None


def limiter() -> Limiter:
    """The one of this process."""
    global _limiter
    with _making:
        _limiter = _limiter or Limiter()
        return _limiter
