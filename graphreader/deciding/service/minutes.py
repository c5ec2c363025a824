"""What begins a minute, of requests or of tokens.

A log is kept of what was begun: in any 60 seconds, not only in those of a clock, no more begins
than is allowed. It is spread as well: where a sixth of it has begun within 10 seconds the next one
waits, since many services count in shorter times than minutes. What alone is larger than a minute
allows goes alone.

Times are seconds of any clock that does not go back. Not safe for several threads: see `traffic`.
"""

from collections import deque
from dataclasses import dataclass

_MINUTE = 60.0
_PARTS = 6  # of a minute and of what it may hold; more would hold back short runs


@dataclass(slots=True)
class Begun:
    """Something that began, and how much it was thought to be."""

    at: float
    amount: int


class _Last:
    """What was begun in the last so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._log: deque[Begun] = deque()
        self._sum = 0

    def when(self, most: int, now: float) -> float:
        """When the sum is `most` or less, or nothing is left of it; `now` where it is so."""
        while self._log and self._log[0].at + self._seconds <= now:
            self._sum -= self._log.popleft().amount
        rest, at = self._sum, now
        for one in self._log:
            if rest <= most:
                break
            rest, at = rest - one.amount, one.at + self._seconds
        return at

    def add(self, begun: Begun) -> None:
        self._log.append(begun)
        self._sum += begun.amount

    def correct(self, begun: Begun, more: int) -> None:
        """Count `more` for what was begun, if it has not been forgotten by now."""
        if self._log and self._log[0].at <= begun.at:
            self._sum += more


class Minutes:
    """Requests or tokens: at most `limit` in any minute, and spread. None: any number."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._minute = _Last(_MINUTE)
        self._lately = _Last(_MINUTE / _PARTS)

    def when(self, amount: int, now: float) -> float:
        """When `amount` may begin, if nothing else does until then."""
        if self.limit is None:
            return now
        # The second is for less than a part, so that one request, however large, begins in each.
        return max(
            self._minute.when(self.limit - amount, now),
            self._lately.when((self.limit - 1) // _PARTS, now),
        )

    def add(self, amount: int, now: float) -> Begun | None:
        """Note that it begins, for a later `correct`; nothing is noted without a limit."""
        if self.limit is None:
            return None
        begun = Begun(now, amount)
        self._minute.add(begun)
        self._lately.add(begun)
        return begun

    def correct(self, begun: Begun, amount: int) -> None:
        """The amount was another one than had been thought."""
        more = amount - begun.amount
        self._minute.correct(begun, more)
        self._lately.correct(begun, more)
        begun.amount = amount
