"""Signals that end a command in good order.

This module imports nothing slow, so that signals are handled from the beginning.
"""

import os
import signal
from types import FrameType
from typing import ClassVar

HANDLED_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]  # Windows has no SIGHUP


class Interrupted(BaseException):
    """The signal that ended a command; typer would swallow a KeyboardInterrupt.

    `received` is the number of the first signal, since a library may raise another error for it.
    """

    received: ClassVar[int] = 0

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def handle_signals() -> None:
    """Raise Interrupted at the first signal, exit at the second; `nohup` stays in force."""
    Interrupted.received = 0
    for number in HANDLED_SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(number, _exit_at_once)
    Interrupted.received = number
    raise Interrupted(number)


def _exit_at_once(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)
