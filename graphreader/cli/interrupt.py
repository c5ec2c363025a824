"""Ctrl-C, `kill` and a closed terminal end a command in good order, at whatever moment they come.

Imports nothing else of the package, so that signals are handled before anything slow is imported.
"""

import os
import signal
from types import FrameType
from typing import ClassVar

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupted(BaseException):
    """A signal that ends the command. Not a KeyboardInterrupt, which typer would swallow.

    `received` is the number of the first signal of this process: a library may turn the exception
    into one of its own.
    """

    received: ClassVar[int] = 0

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def handle_signals() -> None:
    """Raise Interrupted at the first signal; end the process at the second.

    A signal that the parent process ignores (`nohup`) stays ignored.
    """
    Interrupted.received = 0
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(number, _exit_at_once)
    Interrupted.received = number
    raise Interrupted(number)


def _exit_at_once(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)
