"""What a person sees when a command fails: a sentence on stderr, a traceback only with --debug."""

import os
import signal
import sys
import traceback
from types import FrameType
from typing import TYPE_CHECKING

from graphreader.cli.printing import cost, harmless
from graphreader.cli.redacting import redacted
from graphreader.errors import DecisionError, GraphReaderError

if TYPE_CHECKING:
    from graphreader.reading import Reading


_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


class Debug:
    """Whether `--debug` was given."""

    wanted = False


class Interrupted(BaseException):
    """A signal asks us to end. Not a KeyboardInterrupt, which typer would swallow."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def heed_signals() -> None:
    """Let Ctrl-C, `kill` and a closed terminal end the command in good order.

    The second signal ends it at once. What whoever started us had switched off stays off.
    """
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def exit_code_of(error: BaseException) -> int | str | None:
    """Tell what went wrong and return the exit code that says so.

    What is unforeseen is told by its kind alone: its words may hold whatever it was about.
    """
    if isinstance(error, SystemExit):
        return error.code
    if Debug.wanted:
        print(redacted("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    if isinstance(error, Interrupted):
        complain(" ".join(["Stopped.", *getattr(error, "__notes__", [])]))
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has gone; nobody is left to be told.
        silence_stdout()
        return 1
    if isinstance(error, GraphReaderError):
        complain(str(error))
        _tell_spent(error)
        return error.exit_code
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        where = f" ({error.filename})" if error.filename else ""
        complain(f"The system refuses: {reason}{where}. Check the disk and the permissions.")
        return 1
    complain(
        f"Something unforeseen happened ({type(error).__name__}): run again with "
        "`graphreader --debug ...` to see where it comes from."
    )
    return 1


def _tell_spent(error: GraphReaderError) -> None:
    """What the run has cost nevertheless, where a model was paid for it."""
    if isinstance(error, DecisionError) and error.spent.calls and error.spent.tokens:
        complain(f"Spent: {cost(error.spent)}.")


def every_path_failed(reading: "Reading") -> bool:
    """Whether what was found before is all that there is, which is no success."""
    return bool(reading.paths) and all(path.stopped == "error" for path in reading.paths)


def complain(sentence: str) -> None:
    """Say it on stderr."""
    print(harmless(sentence), file=sys.stderr)


def silence_stdout() -> None:
    """Throw away what still waits to be written, or the interpreter complains of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(number, _end)
    raise Interrupted(number)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)
