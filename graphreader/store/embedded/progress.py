"""How the embedded server tells what it is busy with. It never draws: that is for entry points."""

from typing import Literal, Protocol

Phase = Literal["waiting", "downloading", "preparing", "starting"]


class Progress(Protocol):
    """Told several times a second what goes on, always from the calling thread.

    "waiting" is for another process that starts the same server or fetches the same jars,
    "preparing" sets the password, "starting" waits for the server to answer. `done` and `total`
    are bytes while "downloading"; otherwise 0 and None. What it raises ends the work and is
    passed on: a server that was being started is then stopped.
    """

    def __call__(self, phase: Phase, done: int, total: int | None) -> None:
        """Take note; return quickly."""
        ...


def silent(phase: Phase, done: int, total: int | None) -> None:
    """Progress that nobody looks at."""
