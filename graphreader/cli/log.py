"""The log of the commands on stderr: lines for people, or of JSON for programs; without secrets."""

import json
import logging
import sys
import traceback
import warnings
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, TextIO

from graphreader.cli.console import without_controls

LogLevel = Literal["debug", "info", "warning", "error"]
"""The log levels. Texts of documents, questions and replies are logged at `debug` only."""

_REQUEST = ("method", "route", "status", "seconds", "token")
"""Attributes of a record about a request of `graphreader serve`, set by `graphreader.web.app`."""


class Log:
    """The log level of `--log-level` or `--debug`, None without these options."""

    level: ClassVar[LogLevel | None] = None


def set_up_logging(level: LogLevel | None, *, debug: bool = False) -> None:
    """Log to stderr from this level on; without a level nothing is logged.

    Libraries log warnings only: below that they log requests with all their content.
    """
    if not debug:
        warnings.simplefilter("ignore")
    Log.level = level or ("info" if debug else None)
    if Log.level is None:
        logging.getLogger().addHandler(logging.NullHandler())
        return
    text = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    _log_to_stderr(Log.level, _SafeFormatter(text))


def set_up_server_logging(*, as_json: bool) -> None:
    """Set up the log of a server: without a level warnings, as JSON its requests, too."""
    logging.root.handlers.clear()
    if as_json:
        _log_to_stderr(Log.level or "info", _JsonFormatter())
    else:
        set_up_logging(Log.level or "warning")


def _log_to_stderr(level: LogLevel, formatter: logging.Formatter) -> None:
    number = logging.getLevelNamesMapping()[level.upper()]
    handler = _TerminalHandler() if sys.stderr.isatty() else logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[handler])
    logging.getLogger("graphreader").setLevel(number)


class _TerminalHandler(logging.StreamHandler[TextIO]):
    """A handler for the present `sys.stderr`, so that lines appear above a live display."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record."""
        self.stream = sys.stderr
        super().emit(record)


class _SafeFormatter(logging.Formatter):
    """A formatter without secrets, which indents the further lines of a record."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines to print."""
        from graphreader.settings import redact

        return without_controls(redact(super().format(record))).replace("\n", "\n    ")


class _JsonFormatter(logging.Formatter):
    """A formatter of records as JSON; an exception is given by its type and traceback only."""

    def format(self, record: logging.LogRecord) -> str:
        """The line to print."""
        from graphreader.settings import redact

        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        line |= {name: vars(record)[name] for name in _REQUEST if name in vars(record)}
        if record.exc_info and record.exc_info[0]:
            line["error"] = record.exc_info[0].__name__
            line["trace"] = traceback.format_tb(record.exc_info[2])
        return json.dumps(line)
