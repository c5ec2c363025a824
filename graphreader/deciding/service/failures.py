"""What an exception of a provider's client means, whatever provider it is.

Clients share no exception classes, but status codes, class names and wording; these are read
here, and nowhere else. Messages are shortened, and keys are blotted out.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from graphreader.deciding.secrecy import redacted
from graphreader.deciding.service.waits import wait_of

Kind = Literal[
    "key",  # 401, 403, or no key at all
    "quota",  # paid up: waiting does not help
    "unknown",  # 404: no such model or address
    "window",  # the model's own window is too small for the prompt
    "temperature",  # the model takes no temperature
    "seed",  # nor a seed
    "limit",  # nor a limit of its reply, or not one so large
    "form",  # the model or its server knows no such structured output
    "stream",  # nor replies in pieces, or not so
    "content",  # the provider refuses this content
    "request",  # any other refusal
    "busy",  # 429, 529: asks to wait
    "broken",  # 408, 409, 5xx, or a reply that is no reply
    "connection",  # nobody there
    "timeout",  # no reply in time
    "bug",  # nothing that a client raises for its service: a mistake in a program
]

_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (credits?|balance|funds)"
    r"|credit balance|billing_(hard_limit_reached|not_active)"
    r"|reached your specified (api )?usage limits?",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api[_ ]key[_ ](not[_ ]valid|invalid)|(invalid|incorrect) api[_ ]key", re.I)
_WINDOW = re.compile(
    r"context_length_exceeded|context length|context window|maximum context|prompt is too long"
    r"|exceeds? the (available )?context|exceed context limit|too many (input )?tokens"
    r"|input token count|maximum prompt length|input is too long",
    re.IGNORECASE,
)
_LIMIT_NAME = r"max_\w*tokens|max completion tokens|num_predict|maxOutputTokens"
_LIMIT = re.compile(_LIMIT_NAME, re.IGNORECASE)
# Servers that count prompt and reply together name their window along with it.
_LIMIT_TOO_LARGE = re.compile(
    rf"({_LIMIT_NAME})\W(?! ?exceed context).{{0,60}}?"
    r"(too large|too high|> \d|at most|cannot be greater|must be less)",
    re.IGNORECASE | re.DOTALL,
)
_SEED = re.compile(r"\b(random_)?seed\b(?!-)", re.IGNORECASE)  # seed-oss is a model
_CONTENT = re.compile(r"content_filter|content management policy|content_policy", re.IGNORECASE)
_FORM = re.compile(
    r"response_?format|json_?schema|json_?object|structured|guided|grammar|schema"
    r"|output_config|failed_generation|json_validate_failed"
    r"|\btools?\b|tool_choice|tool.?call|function",
    re.IGNORECASE,
)
_STREAM = re.compile(r"\bstream(ing|ed|_options)?\b", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    r"support|unavailable|not implemented|unknown|unexpected|invalid (json )?schema"
    r"|failed to (parse|create|load) .*(grammar|schema)",
    re.IGNORECASE,
)
_NO_KEY = re.compile(r"api[_ ]?key|auth_token|authentication|credential", re.IGNORECASE)
_STATUS_AGAIN = re.compile(r"^Error code: \d+( - )?| ?\(status code: -?\d+\)$")
_NO_REPLY = re.compile(r"\bchoices\b|no generations", re.IGNORECASE)
_REFUSALS = {400, 415, 422, 501}
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
    wait = wait_of(_chain(error), text)
    if status is None:
        kind = _kind_without_status(error, text)
    else:
        kind = _kind(status, text, comes_back=wait is not None)
    return Failure(kind, status, _short(redacted(text, secrets)), wait)


def _kind(status: int, text: str, *, comes_back: bool) -> Kind:
    if status == 402 or (_QUOTA.search(text) and status in (400, 403)):
        return "quota"
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(text)):
        return "key"
    if status in (429, 529):
        paid_up = "insufficient_quota" in text or (_QUOTA.search(text) and not comes_back)
        return "quota" if paid_up else "busy"
    if status in (404, 405):  # names of models may sound like anything
        return "form" if _declines_form(text) else "unknown"
    if status in _REFUSALS or (status == 500 and _declines_form(text)):
        return _refusal(text, "request")
    return "broken" if status in (408, 409) or status >= 500 else "request"


def _refusal(text: str, otherwise: Kind) -> Kind:
    """What of the request is refused. The order counts: complaints of length name other things."""
    if _LIMIT_TOO_LARGE.search(text):
        return "limit"
    if _WINDOW.search(text):
        return "window"
    if "temperature" in text.lower():
        return "temperature"
    if _SEED.search(text):
        return "seed"
    if _LIMIT.search(text):
        return "limit"
    if _CONTENT.search(text):
        return "content"
    if _FORM.search(text):
        return "form"
    return "stream" if _STREAM.search(text) else otherwise


def _kind_without_status(error: Exception, text: str) -> Kind:
    names = {cls.__name__ for one in _chain(error) for cls in type(one).__mro__}
    if "ConnectTimeout" not in names and any(name.endswith(_TIMEOUTS) for name in names):
        return "timeout"
    if names & _CONNECTIONS or "OSError" in names:
        return "connection"
    if isinstance(error, NotImplementedError):
        return "form"
    if "unexpected keyword argument" in text:
        return _refusal(text, "form")
    if _NO_KEY.search(text):
        return "key"
    if _embedded(error) or _NO_REPLY.search(text):  # by LangChain, as KeyError or TypeError
        return "broken"
    return "bug" if isinstance(error, _BUGS) else _kind_by_words(error, text)


def _kind_by_words(error: Exception, text: str) -> Kind:
    """Clients have their own classes for what their services do; plain ones tell of the request."""
    if type(error).__module__ == "builtins":
        return _refusal(text, "request")
    return "form" if _declines_form(text) else "broken"


def _declines_form(text: str) -> bool:
    """Whether an error of a server, as it seems, is its way to say that it knows no such form."""
    named = _FORM.search(text) or _STREAM.search(text)
    return bool(named and _UNSUPPORTED.search(text))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from."""
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__


def _status(error: Exception) -> int | None:
    """The HTTP status, which LangChain's own exceptions leave to those that they come from."""
    return next((status for one in _chain(error) if (status := _own_status(one))), None)


def _own_status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    about = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    for status in (
        getattr(error, "status_code", None),
        getattr(error, "code", None),
        getattr(response, "status_code", None),
        about.get("HTTPStatusCode"),  # Amazon's
        _embedded(error).get("code"),
    ):
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None


def _embedded(error: BaseException) -> dict[str, Any]:
    """An error that came as a reply: LangChain raises it as ValueError({"message": ...})."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, dict) else {}


def _message(error: BaseException) -> str:
    """The service's own words, with its code; they often stand in a body of JSON."""
    body: Any = getattr(error, "body", None) or _embedded(error)
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict) and body.get("message"):
        return " ".join(str(body[key]) for key in ("message", "code", "param") if body.get(key))
    return _STATUS_AGAIN.sub("", str(error)) or type(error).__name__


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:200].rstrip() + "..."
