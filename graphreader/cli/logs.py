"""The log that a person asks for: on stderr, a line a record, without secrets."""

import logging
import sys
import warnings
from enum import StrEnum
from typing import TextIO

from graphreader.cli.printing import harmless
from graphreader.cli.redacting import redacted

_LINE = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class LogLevel(StrEnum):
    """How much is told. Texts of documents, questions and replies only at `debug`."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def set_up_logs(level: LogLevel | None, *, debug: bool) -> None:
    """Let the log be seen from this level on; where nobody asks for one, none.

    `debug` lets Python's warnings through as well, and asks for `info` where no level is named. Of
    libraries only what is wrong is told: they log each request, with all that is in it.
    """
    if not debug:
        warnings.simplefilter("ignore")
    if level is None and not debug:
        logging.getLogger().addHandler(logging.NullHandler())
        return
    wanted = logging.getLevelNamesMapping()[(level or LogLevel.info).upper()]
    handler = _OnStderr()
    handler.setFormatter(_Harmless(_LINE))
    logging.basicConfig(level=max(wanted, logging.WARNING), handlers=[handler])
    logging.getLogger("graphreader").setLevel(wanted)


class _OnStderr(logging.StreamHandler[TextIO]):
    """In a terminal the lines go to whatever stands for stderr at that moment.

    That is what lives there, which puts them above itself. A file gets them directly.
    """

    def __init__(self) -> None:
        super().__init__()
        self._in_terminal = self.stream.isatty()

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line."""
        if self._in_terminal:
            self.stream = sys.stderr
        super().emit(record)


class _Harmless(logging.Formatter):
    """A record without secrets and without signs that a terminal obeys.

    Its further lines are indented, so that no text that is logged looks like a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line, or lines, to show."""
        return harmless(redacted(super().format(record))).replace("\n", "\n    ")
