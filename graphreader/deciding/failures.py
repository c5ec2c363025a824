"""What an exception of a provider's client means, whatever provider it is.

Clients share no exception classes, but status codes, class names and wording; these are read
here, and nowhere else. Messages are shortened, and keys are blotted out.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from graphreader.deciding.secrecy import redacted

Kind = Literal[
    "key",  # 401, 403, or no key at all
    "quota",  # paid up: waiting does not help
    "unknown",  # 404: no such model or address
    "window",  # the model's own window is too small for the prompt
    "temperature",  # the model takes no temperature
    "form",  # the model or its server knows no such structured output
    "content",  # the provider refuses this content
    "request",  # any other refusal
    "busy",  # 429: asks to wait
    "broken",  # 408, 409, 5xx, or a reply that is no reply
    "connection",  # nobody there
    "timeout",  # no reply in time
    "bug",  # nothing that a client raises for its service: a mistake in a program
]

_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (credits?|balance|funds)"
    r"|credit balance",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"context_length_exceeded|context length|context window|maximum context|prompt is too long"
    r"|exceeds? the (available )?context|too many (input )?tokens",
    re.IGNORECASE,
)
_CONTENT = re.compile(r"content_filter|content management policy|content_policy", re.IGNORECASE)
_FORM = re.compile(
    r"response_?format|json_?schema|json_?object|structured|guided|grammar|schema"
    r"|\btools?\b|tool_choice|tool.?call|function",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(r"support|unavailable|not implemented|unknown|unexpected", re.IGNORECASE)
_NO_KEY = re.compile(r"api[_ ]?key|auth_token|authentication|credential", re.IGNORECASE)
_NO_REPLY = re.compile(r"\bchoices\b|no generations", re.IGNORECASE)
_REFUSALS = {400, 404, 405, 415, 422, 501}
_TIMEOUTS = ("TimeoutError", "Timeout", "TimeoutException")
_BUGS = (LookupError, TypeError, AttributeError, NameError, AssertionError, ArithmeticError)
_CONNECTIONS = {"APIConnectionError", "ModelConnectionError", "TransportError", "ClientError"}


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong. `wait` is how many seconds the service asks to wait, if it says so."""

    kind: Kind
    status: int | None
    message: str
    wait: float | None = None

    def __str__(self) -> str:
        """For a sentence in brackets: status and message."""
        return f"{self.status}: {self.message}" if self.status else self.message


def failure_of(error: Exception, secrets: Collection[str] = ()) -> Failure:
    """What the exception of a model's or an embedding's client means.

    `secrets` are blotted out of its words.
    """
    status = _status(error)
    text = _message(error)
    kind = _kind_without_status(error, text) if status is None else _kind(status, text)
    return Failure(kind, status, _short(redacted(text, secrets)), _wait(error))


def _kind(status: int, text: str) -> Kind:
    if status in (401, 403):
        return "key"
    if status in (402, 429):
        return "quota" if status == 402 or _QUOTA.search(text) else "busy"
    if status in _REFUSALS or (status == 500 and _FORM.search(text) and _UNSUPPORTED.search(text)):
        return _refusal(status, text)
    if status in (408, 409) or status >= 500:
        return "broken"
    return "request"


def _refusal(status: int, text: str) -> Kind:
    """What of the request is refused. The order counts: complaints of length name schemas."""
    if _WINDOW.search(text):
        return "window"
    if "temperature" in text.lower():
        return "temperature"
    if _CONTENT.search(text):
        return "content"
    if _FORM.search(text):
        return "form"
    return "unknown" if status in (404, 405) else "request"


def _kind_without_status(error: Exception, text: str) -> Kind:
    names = {cls.__name__ for one in _chain(error) for cls in type(one).__mro__}
    if "ConnectTimeout" not in names and any(name.endswith(_TIMEOUTS) for name in names):
        return "timeout"
    if names & _CONNECTIONS or "OSError" in names:
        return "connection"
    if isinstance(error, NotImplementedError) or "unexpected keyword argument" in text:
        return "form"
    if _NO_KEY.search(text):
        return "key"
    if _embedded(error) or _NO_REPLY.search(text):  # by LangChain, as KeyError or TypeError
        return "broken"
    if isinstance(error, _BUGS):
        return "bug"
    # Clients have their own classes for what their services do; plain ones tell of the request.
    return "request" if type(error).__module__ == "builtins" else "broken"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from."""
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__


def _status(error: Exception) -> int | None:
    response = getattr(error, "response", None)
    for status in (
        getattr(error, "status_code", None),
        getattr(error, "code", None),
        getattr(response, "status_code", None),
        _embedded(error).get("code"),
    ):
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None


def _embedded(error: Exception) -> dict[str, Any]:
    """An error that came as a reply: LangChain raises it as ValueError({"message": ...})."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, dict) else {}


def _message(error: Exception) -> str:
    """The service's own words, with its code; they often stand in a body of JSON."""
    body: Any = getattr(error, "body", None) or _embedded(error)
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict) and body.get("message"):
        return " ".join(str(body[key]) for key in ("message", "code", "param") if body.get(key))
    return re.sub(r"^Error code: \d+( - )?", "", str(error)) or type(error).__name__


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:200].rstrip() + "..."


def _wait(error: Exception) -> float | None:
    """Seconds of a Retry-After header, which is a number or a date."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
