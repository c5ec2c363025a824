"""Keeping keys and passwords out of tracebacks and logs; people paste those into reports."""

import re

# `bolt://user:password@host`; a password may have an @ in it.
_USER = re.compile(r"://[^/\s]*@")


def redacted(text: str) -> str:
    """The text without the environment's secrets and without users and passwords in addresses."""
    from graphreader.settings import secrets

    for secret in sorted(secrets(), key=len, reverse=True):
        text = text.replace(secret, "***")
    return _USER.sub("://***@", text)
