"""Keeping secrets out of what people read: messages, logs, reports."""

import re
from collections.abc import Iterable

_USERINFO = re.compile(r"^(\w[\w+.-]*://)?.*@", re.DOTALL)
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_USERINFO_WITHIN = re.compile(r"(?<=://)[^/\s]*@")
_KEY = re.compile(
    r"\b(sk|gsk|pk|hf|xai|key|api)[-_][\w*.\-]{6,}|\bAIza[\w\-]{10,}|Bearer\s+\S+", re.IGNORECASE
)


def shown(address: str) -> str:
    """An address without what may be secret in it: user, password, query."""
    return _QUERY.sub("", _USERINFO.sub(r"\1", address))


def redacted(words: str, secrets: Iterable[str] = ()) -> str:
    """A service's words with `secrets` blotted out, and whatever else looks like a key.

    A secret of less than 6 characters is none; it might stand inside of any word.
    """
    long = [secret for secret in secrets if len(secret) >= 6]
    for secret in sorted(long, key=len, reverse=True):
        words = words.replace(secret, "...")
    return _KEY.sub("...", _USERINFO_WITHIN.sub("", words))
