"""Removes secrets from text that people read: messages, logs, reports.

A module of its own, without further imports, because code that never opens a model uses it too.
"""

import re
from collections.abc import Iterable

_USER_INFO = re.compile(r"^(\w[\w+.-]*://)?.*@", re.DOTALL)
_USER_INFO_INSIDE_TEXT = re.compile(r"(?<=://)[^/\s]*@")
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_KEY = re.compile(
    r"\b(sk|gsk|pk|hf|xai|key|api)[-_][\w*.\-]{6,}|\bAIza[\w\-]{10,}|Bearer\s+\S+", re.IGNORECASE
)


def display_url(url: str) -> str:
    """The URL without user, password, query and fragment."""
    return _QUERY.sub("", _USER_INFO.sub(r"\1", url))


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with `secrets`, passwords in URLs and whatever looks like an API key removed.

    Secrets of less than 6 characters are ignored: they could occur inside of any word.
    """
    for secret in sorted((one for one in secrets if len(one) >= 6), key=len, reverse=True):
        text = text.replace(secret, "...")
    return _KEY.sub("...", _USER_INFO_INSIDE_TEXT.sub("", text))
