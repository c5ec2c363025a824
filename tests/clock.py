"""A clock that goes on only when a test says so."""


class Clock:
    """Pass `now` to code that measures time."""

    def __init__(self) -> None:
        self._time = 1000.0

    def now(self) -> float:
        """Return the time in seconds."""
        return self._time

    def go_on(self, seconds: float) -> None:
        """Let some seconds pass."""
        self._time += seconds
