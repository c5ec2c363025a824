"""Calls one model service: health check, timeouts, retries with backoff, kinds of failures.

Nothing else retries: the providers' own clients are opened with `max_retries=0`. The rate limiter
decides when an attempt starts; a request that pauses leaves its slot to others. Times are seconds.

- Before the first request, anything at all must answer at the service's address, if that is known.
  Therefore a reply may take as long as a reasoning model needs (`timeout`), and a dead service is
  reported soon.
- Before the first reply, attempts and pauses together take at most FIRST_RETRY_SECONDS, or
  BUSY_RETRY_SECONDS where the service asks to wait. Afterwards the pauses of a request add up to at
  most RETRY_SECONDS, with at most MAX_TIMEOUTS replies that are late. A service that is given up
  has to reply again before it gets that much time again.
- A pause is drawn evenly between 0 and a bound that doubles with each attempt ("full jitter").
  Every request obeys `Retry-After`; where it exceeds the time that is left, the request fails.

`classify` reads the HTTP status first, then the class of the exception, since clients share none.
Phrases decide only what no status tells: a used-up quota, a prompt beyond the context window,
filtered content, and which part of a request is refused. The loop is not tenacity's: when to stop
and how long to wait depend on the service's history.
"""

import asyncio
import logging
import random
import re
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, Literal, NoReturn, TypeVar

import httpx

from graphreader.errors import (
    EmbeddingMismatchError,
    GraphReaderError,
    ModelClosedError,
    ModelRefusedError,
    ModelUnavailableError,
    Neo4jRefusedError,
    Neo4jUnavailableError,
    SchemaError,
    SettingsError,
    WindowError,
)
from graphreader.llm.rate_limit import DEFAULT_CONCURRENCY, RateLimiter, rate_limiter
from graphreader.settings import display_url, redact

T = TypeVar("T")
logger = logging.getLogger("graphreader.llm")

HEALTH_CHECK_TIMEOUT = 12.0
FIRST_RETRY_SECONDS = 15.0
BUSY_RETRY_SECONDS = 60.0  # providers' limits are those of a minute
RETRY_SECONDS = 120.0  # longer than most disturbances last; about 16 attempts
MAX_TIMEOUTS = 4
_FIRST_BACKOFF = 0.5  # the bound of the first pause; it doubles with each attempt
_MAX_BACKOFF = 20.0
_STARTUP_PAUSES = (0.5, 1.0, 2.0)  # a service that is just starting gets this long

FATAL_ERRORS = (
    EmbeddingMismatchError,
    SettingsError,
    SchemaError,
    Neo4jRefusedError,
    ModelClosedError,
)
"""Errors of one question that every other question would meet as well."""

MAX_OUTAGES = 3
"""Questions in a row, without an answer between them, that find a service unavailable."""


class CircuitBreaker:
    """Decides when a batch of questions ends early because the services do not come back."""

    def __init__(self) -> None:
        self._outages = 0

    def record_answer(self) -> None:
        """A question was answered: the services are available."""
        self._outages = 0

    def record_error(self, error: GraphReaderError) -> GraphReaderError | None:
        """The error with which the batch has to end after this one; None: it goes on."""
        if isinstance(error, FATAL_ERRORS):
            return error
        self._outages += isinstance(error, Neo4jUnavailableError | ModelUnavailableError)
        if self._outages < MAX_OUTAGES:
            return None
        return GraphReaderError(f"{error} No more questions are asked meanwhile.")


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
_CHANGEABLE = ("temperature", "seed", "limit", "rejected", "content")
_PASSING = ("busy", "broken", "connection", "timeout")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request. `wait` are the seconds that the service demands to wait, if it does."""

    kind: FailureKind
    status: int | None
    message: str
    wait: float | None = None

    def __str__(self) -> str:
        return f"{self.status}: {self.message}" if self.status else self.message


class RequestRejected(Exception):
    """The service rejects a part of the request: an option, the reply form, streaming, the content.

    Not an error yet: the caller may send another request. It never leaves this package.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(slots=True)
class _Attempts:
    """The failed attempts of one call, and the seconds that they and their pauses took.

    `replies_before` counts the service's replies when the call began.
    """

    replies_before: int
    count: int = 0
    timeouts: int = 0
    seconds: float = 0.0
    paused: float = 0.0


class ModelService:
    """Calls one provider.

    `url` is its base URL, for the health check; None: no check is made. `name` is the configured
    "provider:model"; `setting`, `key` and `base` are the variables of the model, the provider's
    key and its base URL, for messages. `concurrency` tells callers how many of them may be busy at
    once; the limit itself is the process's. `secrets` are removed from the service's words.
    """

    def __init__(
        self,
        name: str,
        *,
        setting: str = "GRAPHREADER_MODEL",
        key: str = "OPENAI_API_KEY",
        base: str = "OPENAI_BASE_URL",
        url: str | None = None,
        timeout: float = 60.0,
        concurrency: int = DEFAULT_CONCURRENCY,
        secrets: Collection[str] = (),
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self._setting = setting
        self._key = key
        self._base = base
        self._url = url
        self._at = f" at {display_url(url)}" if url else ""
        self._secrets = secrets
        self._timeout = timeout
        self._healthy = url is None
        self._health_check = asyncio.Lock()
        self._failed_check: tuple[float, ModelUnavailableError] | None = None
        self._replies = 0
        self._trusted = False  # it has replied, and was not given up since

    async def call(self, request: Callable[[], Awaitable[T]], tokens: int = 0) -> T:
        """The result of `request`, which sends one request and is repeated where that may help.

        `tokens` is an estimate of prompt and reply; a reply that reports its usage corrects it.
        Raises RequestRejected, ModelRefusedError, ModelUnavailableError or WindowError.
        """
        limiter, clock = rate_limiter(), asyncio.get_running_loop().time
        attempts = _Attempts(self._replies)
        while True:
            start = clock()
            try:
                if not self._healthy:
                    await self._check_health(limiter)
                async with limiter.slot(tokens) as slot:
                    start = clock()
                    async with asyncio.timeout(self._timeout):
                        reply = await request()
                    self._replies, self._trusted = self._replies + 1, True
                    if usage := getattr(reply, "usage_metadata", None):
                        limiter.settle(slot, usage["total_tokens"])
                    return reply
            except GraphReaderError:
                raise
            except Exception as error:
                attempts.seconds += clock() - start
                failure = classify(error, self._secrets)
                pause = self._next_pause(failure, attempts)
                if pause is None:
                    if failure.kind in _PASSING and attempts.replies_before == self._replies:
                        self._trusted = False  # no other request had a reply meanwhile
                    self._give_up(failure, error)
            logger.debug(
                "%s: retry in %.1f s after %s (%s)", self.name, pause, failure.kind, failure
            )
            if failure.wait:
                limiter.hold_off(failure.wait)
            await asyncio.sleep(pause)

    async def _check_health(self, limiter: RateLimiter) -> None:
        """Check once; the requests that wait for the check fail along with it."""
        clock = asyncio.get_running_loop().time
        async with self._health_check:
            if self._healthy or self._url is None:
                return
            if self._failed_check and clock() - self._failed_check[0] < HEALTH_CHECK_TIMEOUT:
                raise ModelUnavailableError(str(self._failed_check[1]))
            try:
                async with limiter.slot():
                    await check_health(self._url, self._base)
            except ModelUnavailableError as error:
                self._failed_check = clock(), error
                logger.warning("%s%s: the health check failed", self.name, self._at)
                raise
            self._healthy = True

    def _next_pause(self, failure: Failure, attempts: _Attempts) -> float | None:
        """Seconds until the next attempt, which are recorded; None: there is none."""
        attempts.count += 1
        attempts.timeouts += failure.kind == "timeout"
        if failure.kind not in _PASSING or attempts.timeouts > MAX_TIMEOUTS:
            return None
        if self._trusted:
            left = RETRY_SECONDS - attempts.paused
        else:
            asks_to_wait = failure.kind == "busy" or failure.wait is not None
            most = BUSY_RETRY_SECONDS if asks_to_wait else FIRST_RETRY_SECONDS
            left = most - attempts.paused - attempts.seconds
        wait = failure.wait or 0.0
        if left <= 0 or wait > left:
            return None
        bound = min(_MAX_BACKOFF, _FIRST_BACKOFF * 2 ** (attempts.count - 1))
        # After a wait that the service asked for, less jitter: the limiter admits one by one.
        pause = min(left, wait + random.uniform(0, bound / 10 if wait else bound))
        attempts.paused += pause
        return pause

    def _give_up(self, failure: Failure, error: Exception) -> NoReturn:
        """Raise the exception of this failure for the caller."""
        if failure.kind == "bug":
            raise error
        if failure.kind in _CHANGEABLE:
            logger.debug("%s rejects the request: %s (%s)", self.name, failure.kind, failure)
            raise RequestRejected(failure) from error
        logger.warning("%s: the request failed (%s, %s)", self.name, failure.kind, failure.status)
        if failure.kind != "key":  # the words may repeat parts of the key
            logger.debug("%s: the service's words: %s", self.name, failure)
        if failure.kind in _PASSING:
            raise ModelUnavailableError(f"{self._passing_problem(failure)}.") from error
        if failure.kind == "window":
            raise WindowError(
                f"The prompt is too large for {self.name} ({failure}): set GRAPHREADER_WINDOW, and "
                "with it GRAPHREADER_CHUNK_TOKENS, lower, or use a model with a larger window."
            ) from error
        if failure.kind == "request":
            raise ModelRefusedError(
                f"{self.name}{self._at} refuses the request ({failure})."
            ) from error
        raise ModelClosedError(f"{self._closed_problem(failure)}.") from error

    def _closed_problem(self, failure: Failure) -> str:
        """The message of a failure that every request would meet: the problem and its remedy."""
        if failure.kind == "key":  # without the service's words, for the same reason
            return f"{self.name}{self._at} refuses the key: check {self._key}"
        if failure.kind == "quota":
            remedy = f"add credit there, or use another key ({self._key})"
            return f"The quota of {self.name} is used up: {remedy}"
        settings = f"{self._setting} and {self._base or 'the base URL'}"
        return f"{self.name} is not known{self._at} ({failure}): check {settings}"

    def _passing_problem(self, failure: Failure) -> str:
        """The message of a failure that did not pass in time: the problem and its remedy."""
        service = f"{self.name}{self._at}"
        if failure.kind == "timeout":
            setting = f"GRAPHREADER_TIMEOUT (now {self._timeout:g} seconds)"
            return f"{service} did not reply in time: try again later, or set {setting} higher"
        if failure.kind == "busy":
            wait = f" and asks to wait {failure.wait:.0f} seconds" if failure.wait else ""
            return (
                f"{service} takes no more requests for now{wait}: try again later, set "
                f"GRAPHREADER_CONCURRENCY (now {self.concurrency}) lower, or set "
                "GRAPHREADER_REQUESTS_PER_MINUTE"
            )
        problem = "cannot be reached" if failure.kind == "connection" else "fails"
        return f"{service} {problem} ({failure}), also after several tries: try again later"


async def check_health(url: str, variable: str = "") -> None:
    """Return once anything answers at the base URL, be it an error.

    No API key is sent and nothing of the response is used, so certificates are not verified here;
    the provider's client does that for every request. `variable` is the setting that holds the
    URL, for messages. Raises ModelUnavailableError where nothing answers within
    HEALTH_CHECK_TIMEOUT.
    """
    seconds, address = HEALTH_CHECK_TIMEOUT, f"address{f' ({variable})' if variable else ''}"
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(verify=False, timeout=seconds) as client,
        ):
            for pause in (*_STARTUP_PAUSES, None):
                try:
                    await client.get(f"{url}/models")
                    return
                except (httpx.RemoteProtocolError, httpx.ReadError):
                    return  # a server is there, though not for this request
                except httpx.ConnectError:
                    if pause is None:
                        raise
                    await asyncio.sleep(pause)
    except (TimeoutError, httpx.TimeoutException):
        problem = f"within {seconds:g} seconds: check the {address} and the network."
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise ModelUnavailableError(
            f"{display_url(url)} is no address of a service: {variable or 'it'} must look like "
            "http://localhost:8000/v1."
        ) from None
    except httpx.TransportError as error:
        reason = redact(str(error)) or type(error).__name__
        problem = f"({reason}): check that the service runs, its {address} and the network."
    raise ModelUnavailableError(f"Nothing answers at {display_url(url)} {problem}")


_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (credits?|balance|funds)"
    r"|credit balance|billing_(hard_limit_reached|not_active)"
    r"|reached your specified (api )?usage limits?",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api[_ ]key[_ ](not[_ ]valid|invalid)|(invalid|incorrect) api[_ ]key", re.I)
_KEY = re.compile(r"api[_ ]?key|auth_token|authentication|credential", re.IGNORECASE)
_LIMIT = r"max_\w*tokens|max completion tokens|num_predict|maxOutputTokens"
# In this order: errors of length name several parts of the request.
_REFUSED_PARTS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    # Servers that count prompt and reply together name their window along with the limit.
    (
        "limit",
        re.compile(
            rf"({_LIMIT})\W(?! ?exceed context).{{0,60}}?"
            r"(too large|too high|> \d|at most|cannot be greater|must be less)",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    (
        "window",
        re.compile(
            r"context_length_exceeded|context length|context window|maximum context"
            r"|prompt is too long|exceeds? the (available )?context|exceed context limit"
            r"|too many (input )?tokens|input token count|maximum prompt length|input is too long",
            re.IGNORECASE,
        ),
    ),
    ("temperature", re.compile("temperature", re.IGNORECASE)),
    ("seed", re.compile(r"\b(random_)?seed\b(?!-)", re.IGNORECASE)),  # seed-oss is a model
    ("limit", re.compile(_LIMIT, re.IGNORECASE)),
    ("content", re.compile(r"content_filter|content management policy|content_policy", re.I)),
)
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
    r"(?:(?:retry|try again) in |retryDelay\W+)(?=\d)"
    r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?",
    re.IGNORECASE,
)

_TIMEOUTS = ("TimeoutError", "Timeout", "TimeoutException")
_CONNECTIONS = {"APIConnectionError", "ModelConnectionError", "TransportError", "ClientError"}
_BUGS = (LookupError, TypeError, AttributeError, NameError, AssertionError, ArithmeticError)


def classify(error: Exception, secrets: Collection[str] = ()) -> Failure:
    """Classify an exception of a model's or an embedder's client.

    The message is the service's own words in one line of at most 200 characters, without
    `secrets`.
    """
    status = next((one for one in map(_status, _causes(error)) if one is not None), None)
    text = _message(error)
    wait = _retry_after(error, text)
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
    return next((kind for kind, words in _REFUSED_PARTS if words.search(text)), "rejected")


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
    if _KEY.search(text):
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
    of_amazon = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    candidates = (
        getattr(error, "status_code", None),
        getattr(error, "code", None),
        getattr(response, "status_code", None),
        of_amazon.get("HTTPStatusCode"),
        _error_body(error).get("code"),
    )
    return next((one for one in candidates if isinstance(one, int) and 400 <= one < 600), None)


def _error_body(error: BaseException) -> dict[str, Any]:
    """An error that came as a reply: LangChain raises it as ValueError({"message": ...})."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, dict) else {}


def _message(error: BaseException) -> str:
    """The service's own message with its error code, often from a JSON body."""
    body: Any = getattr(error, "body", None) or _error_body(error)
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict) and body.get("message"):
        return " ".join(str(body[key]) for key in ("message", "code", "param") if body.get(key))
    return _REPEATED_STATUS.sub("", str(error)) or type(error).__name__


def _retry_after(error: BaseException, text: str) -> float | None:
    """Seconds that the service asks to wait: by a header (number or date), else by its words."""
    for one in _causes(error):
        headers = _headers(one)
        for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
            with suppress(KeyError, ValueError):
                seconds = float(headers[name]) / unit
                return max(0.0, seconds) if isfinite(seconds) else None
        if value := headers.get("retry-after"):
            with suppress(ValueError, TypeError):
                return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    match = _COME_BACK.search(text)
    if match is None or not any(match.groups()):
        return None
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds + milliseconds / 1000


def _headers(error: BaseException) -> dict[str, str]:
    """The headers of the response; clients keep them in different places."""
    for holder in (getattr(error, "response", None), error):
        if headers := getattr(holder, "headers", None):
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}
