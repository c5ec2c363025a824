"""What an exception of a model service's client means: the kind of failure, its words, its wait.

Clients share no exception classes. The kind follows from the HTTP status first, then from the
class of the exception. Phrases of error messages decide only what no status tells: a used-up
quota, a prompt beyond the context window, filtered content, and which parameter is refused.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, Literal

from graphreader.llm.redaction import redact

FailureKind = Literal[
    "key",  # 401, 403, or no key at all
    "quota",  # the account is used up: waiting does not help
    "unknown",  # 404: no such model or address
    "window",  # the prompt exceeds the model's context window
    "temperature",  # the model does not accept a temperature
    "seed",  # nor a seed
    "limit",  # nor a limit of its reply, or not such a large one
    "rejected",  # the service rejects the request as it stands: the reply form, or streaming
    "content",  # the provider filters this content
    "request",  # any other refusal, which no other request form can cure
    "busy",  # 429, 529: the service asks to wait
    "broken",  # 408, 409, 5xx, or a reply without content
    "connection",  # nothing answers
    "timeout",  # no reply in time
    "bug",  # not raised for the service: a mistake in a program
]

_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (credits?|balance|funds)"
    r"|credit balance|billing_(hard_limit_reached|not_active)"
    r"|reached your specified (api )?usage limits?",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api[_ ]key[_ ](not[_ ]valid|invalid)|(invalid|incorrect) api[_ ]key", re.I)
_NO_KEY = re.compile(r"api[_ ]?key|auth_token|authentication|credential", re.IGNORECASE)
_WINDOW = re.compile(
    r"context_length_exceeded|context length|context window|maximum context|prompt is too long"
    r"|exceeds? the (available )?context|exceed context limit|too many (input )?tokens"
    r"|input token count|maximum prompt length|input is too long",
    re.IGNORECASE,
)
_CONTENT = re.compile(r"content_filter|content management policy|content_policy", re.IGNORECASE)

_LIMIT_NAME = r"max_\w*tokens|max completion tokens|num_predict|maxOutputTokens"
_LIMIT = re.compile(_LIMIT_NAME, re.IGNORECASE)
# Servers that count prompt and reply together name their window along with the limit.
_LIMIT_TOO_LARGE = re.compile(
    rf"({_LIMIT_NAME})\W(?! ?exceed context).{{0,60}}?"
    r"(too large|too high|> \d|at most|cannot be greater|must be less)",
    re.IGNORECASE | re.DOTALL,
)
_SEED = re.compile(r"\b(random_)?seed\b(?!-)", re.IGNORECASE)  # seed-oss is a model

# Some servers answer a request for structured output with 404, 405, 500 or without any status.
_UNSUPPORTED_FORM = re.compile(
    r"(?=.*(format|json|structured|grammar|schema|\btools?\b|tool.?call|function|\bstream))"
    r".*(support|unavailable|not implemented|unknown|unexpected|invalid (json )?schema"
    r"|failed to (parse|create|load))",
    re.IGNORECASE | re.DOTALL,
)
_NO_REPLY = re.compile(r"\bchoices\b|no generations", re.IGNORECASE)
_REPEATED_STATUS = re.compile(r"^Error code: \d+( - )?| ?\(status code: -?\d+\)$")
# Google calls the limits of a minute a quota too, but says when to come back.
_COME_BACK = re.compile(
    r"(?:retry|try again) in (?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d[\d.]*)(?P<unit>m?s))?"
    r"|retryDelay\W+(?P<delay>\d[\d.]*)s",
    re.IGNORECASE,
)

_TIMEOUTS = ("TimeoutError", "Timeout", "TimeoutException")
_CONNECTIONS = {"APIConnectionError", "ModelConnectionError", "TransportError", "ClientError"}
_BUGS = (LookupError, TypeError, AttributeError, NameError, AssertionError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong. `wait` is how many seconds the service asks to wait, if it says so."""

    kind: FailureKind
    status: int | None
    message: str
    wait: float | None = None

    def __str__(self) -> str:
        return f"{self.status}: {self.message}" if self.status else self.message


def classify(error: Exception, secrets: Collection[str] = ()) -> Failure:
    """What the exception of a model's or an embedding's client means.

    The message is the service's own words in one line of at most 200 characters, without
    `secrets`.
    """
    status = next((one for one in map(_status, _causes(error)) if one is not None), None)
    text = _message(error)
    wait = _retry_after(_causes(error), text)
    if status is None:
        kind = _kind_without_status(error, text)
    else:
        kind = _kind(status, text, comes_back=wait is not None)
    line = " ".join(redact(text, secrets).split())
    return Failure(kind, status, line if len(line) <= 200 else f"{line[:200].rstrip()}...", wait)


def _kind(status: int, text: str, *, comes_back: bool) -> FailureKind:
    if status == 402 or (status in (400, 403) and _QUOTA.search(text)):
        return "quota"
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(text)):
        return "key"
    if status in (429, 529):
        used_up = "insufficient_quota" in text or (_QUOTA.search(text) and not comes_back)
        return "quota" if used_up else "busy"
    if status in (404, 405):
        return "rejected" if _UNSUPPORTED_FORM.match(text) else "unknown"
    if status in (400, 415, 422, 501) or (status == 500 and _UNSUPPORTED_FORM.match(text)):
        return _refused_part(text)
    return "broken" if status in (408, 409) or status >= 500 else "request"


def _refused_part(text: str) -> FailureKind:
    """Which part of the request is refused. The order counts: errors of length name other parts."""
    checks: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
        ("limit", _LIMIT_TOO_LARGE),
        ("window", _WINDOW),
        ("temperature", re.compile("temperature", re.IGNORECASE)),
        ("seed", _SEED),
        ("limit", _LIMIT),
        ("content", _CONTENT),
    )
    return next((kind for kind, pattern in checks if pattern.search(text)), "rejected")


def _kind_without_status(error: Exception, text: str) -> FailureKind:
    names = {cls.__name__ for one in _causes(error) for cls in type(one).__mro__}
    if "ConnectTimeout" not in names and any(name.endswith(_TIMEOUTS) for name in names):
        return "timeout"
    if names & _CONNECTIONS or "OSError" in names:
        return "connection"
    if isinstance(error, NotImplementedError):
        return "rejected"
    if "unexpected keyword argument" in text:
        return _refused_part(text)
    if _NO_KEY.search(text):
        return "key"
    if _error_body(error) or _NO_REPLY.search(text):  # LangChain raises KeyError or TypeError
        return "broken"
    if isinstance(error, _BUGS):
        return "bug"
    if type(error).__module__ == "builtins":  # clients use plain classes for the request itself
        return _refused_part(text)
    return "rejected" if _UNSUPPORTED_FORM.match(text) else "broken"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and those that it was raised from; LangChain wraps clients' exceptions."""
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__


def _status(error: BaseException) -> int | None:
    """The HTTP status of the exception; clients keep it in different places."""
    response = getattr(error, "response", None)
    metadata = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    for status in (
        getattr(error, "status_code", None),
        getattr(error, "code", None),
        getattr(response, "status_code", None),
        metadata.get("HTTPStatusCode"),  # Amazon's
        _error_body(error).get("code"),
    ):
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None


def _error_body(error: BaseException) -> dict[str, Any]:
    """An error that came as a reply: LangChain raises it as ValueError({"message": ...})."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, dict) else {}


def _message(error: BaseException) -> str:
    """The service's own words with its error code; they often stand in a JSON body."""
    body: Any = getattr(error, "body", None) or _error_body(error)
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict) and body.get("message"):
        return " ".join(str(body[key]) for key in ("message", "code", "param") if body.get(key))
    return _REPEATED_STATUS.sub("", str(error)) or type(error).__name__


def _retry_after(errors: Iterable[BaseException], text: str) -> float | None:
    """Seconds that the service asks to wait: by its headers, else by its words."""
    for error in errors:
        headers = _headers(error)
        milliseconds = _number(headers.get("retry-after-ms"))
        if milliseconds is not None:
            return max(0.0, milliseconds / 1000)
        if (value := headers.get("retry-after")) is not None:
            return _seconds(value)
    match = _COME_BACK.search(text)
    if match is None or not any(match.group("delay", "h", "m", "s")):
        return None
    if match["delay"]:
        return _number(match["delay"])
    seconds = _number(match["s"]) or 0.0
    if (match["unit"] or "").lower() == "ms":
        seconds /= 1000
    return int(match["h"] or 0) * 3600 + int(match["m"] or 0) * 60 + seconds


def _headers(error: BaseException) -> Mapping[str, str]:
    """The headers of the response; clients keep them in different places."""
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None)
        if headers is not None:
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}


def _seconds(value: str) -> float | None:
    """The value of a Retry-After header, which is a number or a date."""
    seconds = _number(value)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _number(value: str | None) -> float | None:
    """The finite number in the text, if it is one."""
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if isfinite(number) else None
