"""A clock that goes on only when it is told to, with the timers that belong to it."""

from collections.abc import Callable


class Alarm:
    """A timer of the clock."""

    def __init__(self, at: float, function: Callable[[], None]) -> None:
        self.at = at
        self.function = function
        self.off = False

    def cancel(self) -> None:
        self.off = True


class Clock:
    """`now` and `later` are what a Limiter wants; `alarms` are all timers that were ever made."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.alarms: list[Alarm] = []

    def now(self) -> float:
        return self.time

    def later(self, seconds: float, function: Callable[[], None]) -> Alarm:
        self.alarms.append(Alarm(self.time + seconds, function))
        return self.alarms[-1]

    @property
    def set_alarms(self) -> list[Alarm]:
        """Those that will ring, the next one first."""
        return sorted((one for one in self.alarms if not one.off), key=lambda one: one.at)

    def ring(self) -> None:
        """Go on to the next alarm."""
        alarm = self.set_alarms[0]
        alarm.off = True
        self.time = max(self.time, alarm.at)
        alarm.function()

    def go_on(self, seconds: float) -> None:
        """Let so much time pass."""
        end = self.time + seconds
        while self.set_alarms and self.set_alarms[0].at <= end:
            self.ring()
        self.time = end
