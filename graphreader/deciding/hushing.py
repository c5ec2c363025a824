"""Keeping LangChain quiet about a form of reply that a server refuses: we ask in another one then.

`warnings.catch_warnings` would not do: requests overlap, and each would put back the filters that
it found. So the first request of several sets one filter, and the last one takes it away.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_MESSAGE = r"This model does not support OpenAI's structured|Invalid schema for OpenAI's structured"
_lock = Lock()
_requests = 0


@contextmanager
def hushed() -> Iterator[None]:
    """No warnings of LangChain about refused forms while the block runs."""
    global _requests
    with _lock:
        _requests += 1
        if _requests == 1:
            warnings.filterwarnings("ignore", message=_MESSAGE, category=UserWarning)
    try:
        yield
    finally:
        with _lock:
            _requests -= 1
            if _requests == 0:
                _let_speak()


def _let_speak() -> None:
    ours = ("ignore", re.compile(_MESSAGE, re.IGNORECASE), UserWarning, None, 0)
    if ours in warnings.filters:  # tests and others may have put back older filters
        warnings.filters.remove(ours)  # type: ignore[attr-defined]  # a list, not any sequence
