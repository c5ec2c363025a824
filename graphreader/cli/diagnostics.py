"""How a command fails and logs: exit codes, sentences on stderr, no secrets.

A failure is one sentence; `--debug` adds the traceback.
"""

import logging
import os
import re
import sys
import traceback
import warnings
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, TextIO

from graphreader.cli.console import cost_text, print_error, without_controls
from graphreader.cli.interrupt import Interrupted
from graphreader.errors import DecisionError, GraphReaderError

if TYPE_CHECKING:
    from graphreader.reading import Reading

_LOG_LINE = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"

# `bolt://user:password@host`; a password may have an @ in it.
_CREDENTIALS = re.compile(r"://[^/\s]*@")


class Debug:
    """Whether `--debug` is set."""

    enabled: ClassVar[bool] = False


def report_error(error: BaseException) -> int | str | None:
    """Print what went wrong on stderr and return the exit code.

    Of an unexpected exception only the type is printed: its message may hold texts or secrets.
    """
    if isinstance(error, SystemExit):
        return error.code
    if Debug.enabled:
        print(redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    if Interrupted.received and not isinstance(error, Interrupted):
        error = Interrupted(Interrupted.received)
    if isinstance(error, Interrupted):
        print_error(" ".join(["Stopped.", *getattr(error, "__notes__", [])]))
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        silence_stdout()  # the reader of our output has closed it
        return 1
    if isinstance(error, GraphReaderError):
        print_error(str(error))
        if isinstance(error, DecisionError) and error.spent.calls and error.spent.tokens:
            print_error(f"Spent: {cost_text(error.spent)}.")
        return error.exit_code
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        where = f" ({error.filename})" if error.filename else ""
        print_error(
            f"The operating system reports: {reason}{where}. Check the disk and the permissions."
        )
        return 1
    print_error(
        f"An unexpected error occurred ({type(error).__name__}): run again with "
        "`graphreader --debug ...` to see where it comes from."
    )
    return 1


def all_paths_failed(reading: "Reading") -> bool:
    """Whether every path of a run ended with an error, so that its answer is no success."""
    return bool(reading.paths) and all(path.stopped == "error" for path in reading.paths)


def silence_stdout() -> None:
    """Discard buffered output, about which the interpreter would complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def redact(text: str) -> str:
    """The text without the environment's secrets and without users and passwords in addresses."""
    from graphreader.settings import secrets

    for secret in sorted(secrets(), key=len, reverse=True):
        text = text.replace(secret, "***")
    return _CREDENTIALS.sub("://***@", text)


class LogLevel(StrEnum):
    """What is logged. Texts of documents, questions and replies are logged at `debug` only."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def set_up_logging(level: LogLevel | None, *, debug: bool) -> None:
    """Log to stderr from this level on; without a level nothing is logged.

    `debug` shows Python's warnings too and logs from `info` on where no level is set. Libraries log
    warnings and errors only: below that they log each request with all its content.
    """
    if not debug:
        warnings.simplefilter("ignore")
    if level is None and not debug:
        logging.getLogger().addHandler(logging.NullHandler())
        return
    number = logging.getLevelNamesMapping()[(level or LogLevel.info).upper()]
    handler = _StderrHandler()
    handler.setFormatter(_SafeFormatter(_LOG_LINE))
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[handler])
    logging.getLogger("graphreader").setLevel(number)


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the current `sys.stderr` in a terminal, so that lines appear above a live display.

    A file is written to directly.
    """

    def __init__(self) -> None:
        super().__init__()
        self._in_terminal = self.stream.isatty()

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record."""
        if self._in_terminal:
            self.stream = sys.stderr
        super().emit(record)


class _SafeFormatter(logging.Formatter):
    """Formats a record without secrets and control characters.

    Its further lines are indented, so that no logged text looks like a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The lines to print."""
        return without_controls(redact(super().format(record))).replace("\n", "\n    ")
