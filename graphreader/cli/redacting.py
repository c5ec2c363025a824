"""Keeping keys and passwords out of what `--debug` shows; people paste that into reports."""

import logging
import re

# `bolt://user:password@host`; a password may have an @ in it.
_USER = re.compile(r"://[^/\s]*@")


def redacted(text: str) -> str:
    """The text without the environment's secrets and without users and passwords in addresses."""
    from graphreader.settings import secrets

    for secret in sorted(secrets(), key=len, reverse=True):
        text = text.replace(secret, "***")
    return _USER.sub("://***@", text)


class RedactingFormatter(logging.Formatter):
    """Formats a record of a log, and its traceback, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The line to show."""
        return redacted(super().format(record))
