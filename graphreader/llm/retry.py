"""Calls to one model service: health check, timeouts, retries with backoff, kinds of failures.

Nothing else retries. Before the first request anything must answer at the service's address, so a
dead service is reported soon. A pause is drawn between 0 and a bound that doubles with each try
("full jitter"); `Retry-After` is obeyed up to MAX_WAIT. Times are seconds.
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
from typing import Any, Literal, TypeVar

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
from graphreader.llm.rate_limit import DEFAULT_CONCURRENCY, RequestStart, rate_limiter
from graphreader.settings import display_url, redact
from graphreader.usage import is_token_count
from graphreader.waiting import Waiting, announce, announced_if_slow

T = TypeVar("T")
logger = logging.getLogger("graphreader.llm")
HEALTH_CHECK_TIMEOUT = 12.0
LATE_SECONDS = 15.0  # after which a reply is announced as late; models write slowly
FIRST_TRIES = 6  # 15 seconds of pauses at most
MAX_TRIES = 12  # a minute on average: longer than most outages, and than limits per minute
MAX_TIMEOUTS = 4  # timeouts of one request to a service that has replied before
MAX_WAIT = 120.0
_FIRST_BACKOFF = 0.5  # seconds; the bound of the first pause, doubled with each try
_MAX_BACKOFF = 20.0
FATAL_ERRORS = (
    EmbeddingMismatchError,
    SettingsError,
    SchemaError,
    Neo4jRefusedError,
    ModelClosedError,
)
"""Errors that every question would meet, so that further questions are useless."""

MAX_OUTAGES = 3
"""Consecutive questions that may find a service unavailable before a series of questions ends."""


class CircuitBreaker:
    """A counter that ends a series of questions early when the services stay unavailable."""

    def __init__(self) -> None:
        self._outages = 0

    def record_answer(self) -> None:
        """Record that a question was answered, so the services are available."""
        self._outages = 0

    def record_error(self, error: GraphReaderError) -> GraphReaderError | None:
        """Record an error; return the error with which the series must end, or None to go on."""
        if isinstance(error, FATAL_ERRORS):
            return error
        self._outages += isinstance(error, Neo4jUnavailableError | ModelUnavailableError)
        if self._outages < MAX_OUTAGES:
            return None
        return GraphReaderError(f"{error} No more questions are asked meanwhile.")


FailureKind = Literal[
    "key",  # 401, 403, or no credentials at all
    "quota",  # the account is used up: waiting does not help
    "unknown",  # 404: no such model or address
    "window",  # the prompt exceeds the model's context window
    "temperature",  # the model does not accept a temperature
    "seed",  # the model does not accept a seed
    "bounds",  # the service accepts no largest number of items in a schema
    "limit",  # the model accepts no limit of its reply, or only a smaller limit
    "rejected",  # the service rejects the reply form or streaming
    "content",  # the provider filters this content
    "request",  # any other refusal, which no change of the request can cure
    "busy",  # 429, 529: the service asks to wait
    "crowded",  # the requests at work fill the memory that they share
    "broken",  # 408, 409, 5xx, or a reply without content
    "connection",  # nothing answers
    "timeout",  # no reply in time
    "bug",  # a programming error, not caused by the service
]
_CHANGEABLE = ("temperature", "seed", "bounds", "limit", "rejected", "content")
_PASSING = ("busy", "crowded", "broken", "connection", "timeout")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request; `wait` is the number of seconds that the service demands to wait."""

    kind: FailureKind
    status: int | None
    message: str
    wait: float | None = None

    def __str__(self) -> str:
        return f"{self.status}: {self.message}" if self.status else self.message

    @property
    def reason(self) -> str:
        """A short text for the failure: its HTTP status, or a few words."""
        if self.kind == "crowded":
            return f"{self.status}, too many requests share its context"
        kinds = {"timeout": "no reply in time", "connection": "no connection"}
        return str(self.status or kinds.get(self.kind, "no usable reply"))


class RequestRejected(Exception):
    """The service rejects a part of the request; the caller may send a changed request."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class ModelService:
    """A client of one provider with a health check, timeouts, rate limits and retries.

    `url` is the base URL to check, if known. Messages name the variables `setting`, `key` and
    `base` of model, key and URL; `secrets` are removed from the service's messages. `concurrency`
    tells callers how many requests may run at once.
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
        self._url = url  # None once the service is known to answer
        self._label = f"{name} at {display_url(url)}" if url else name
        self._secrets = secrets
        self._timeout = timeout
        text = f"{name}: no whole reply in {LATE_SECONDS:.0f} s, waiting for up to {timeout:.0f} s"
        self._late_reply = Waiting(name, text, 0.0)
        self._check: asyncio.Task[None] | None = None
        self._replies = False  # it has replied, and no request has failed for good since

    async def call(
        self, request: Callable[[], Awaitable[T]], tokens: int = 0, *, background: bool = False
    ) -> T:
        """Run `request`, with retries if useful. Raises RequestRejected and DecisionError.

        `tokens` is the estimated size of the request with its reply, for the rate limiter. With
        `background` the requests of questions go first.
        """
        limiter, clock = rate_limiter(), asyncio.get_running_loop().time
        begin, failures, waited = clock(), list[Failure](), 0.0
        slot: RequestStart | None = None
        while True:
            try:
                if self._url:
                    await self._check_health(self._url)
                async with limiter.slot(tokens, background=background) as slot:
                    with announced_if_slow(self._late_reply, LATE_SECONDS):
                        async with asyncio.timeout(self._timeout):
                            reply = await request()
                    self._replies = True
                    total = (getattr(reply, "usage_metadata", None) or {}).get("total_tokens")
                    if total and is_token_count(total):
                        limiter.settle(slot, total)
                    return reply
            except GraphReaderError:
                raise
            except Exception as error:
                for cause in causes(error):  # clients wrap what is raised while a reply arrives
                    if isinstance(cause, GraphReaderError):
                        raise cause from error
                failure = classify(error, self._secrets)
                if failure.kind == "bug":
                    raise
                failures.append(failure)
                pause = self._next_pause(failures, waited)
                if pause is None:
                    raise self._exception(failures, clock() - begin) from error
            reason = f"{self.name}: {failure.reason}"
            tries = f"try {len(failures) + 1} of {self._most_tries(failures)}"
            text = f"{reason}, {tries} in {max(1, round(pause))} s"
            announce(Waiting(self.name, text, pause))
            logger.debug(
                "%s: retry in %.1f s after %s (%s)", self.name, pause, failure.kind, failure
            )
            if failure.kind == "crowded" and slot:
                limiter.lower_concurrency(slot)
            if failure.wait:
                waited += failure.wait
                limiter.hold_off(failure.wait, reason)
            await asyncio.sleep(pause)

    def exception_of(self, error: Exception) -> Exception:
        """The exception to raise for a failed request that is not retried."""
        failure = classify(error, self._secrets)
        return error if failure.kind == "bug" else self._exception([failure], 0.0)

    async def _check_health(self, url: str) -> None:
        """Check the service once; all requests that wait for the check fail with it."""
        self._check = self._check or asyncio.create_task(check_health(url, self._base))
        seconds = HEALTH_CHECK_TIMEOUT
        text = f"{self.name}: its first answer is waited for, {seconds:.0f} s at most"
        try:
            with announced_if_slow(Waiting(self.name, text, seconds)):
                await asyncio.shield(self._check)
            self._url = None
        except ModelUnavailableError:
            if self._check:
                logger.warning("%s: the health check failed", self._label)
            self._check = None
            raise

    def _next_pause(self, failures: list[Failure], waited: float) -> float | None:
        """Seconds until the next try; None: give up. `waited` is the sum of Retry-After so far."""
        failure, tries = failures[-1], len(failures)
        if failure.kind not in _PASSING or tries >= self._most_tries(failures):
            return None
        bound = min(_MAX_BACKOFF, _FIRST_BACKOFF * 2 ** (tries - 1))
        if not failure.wait:
            return random.uniform(0, bound)
        if waited + failure.wait > MAX_WAIT:
            return None
        return failure.wait + random.uniform(0, bound / 10)  # the limiter admits one by one

    def _most_tries(self, failures: list[Failure]) -> int:
        """The largest number of tries after these failures; timeouts have a limit of their own."""
        failure = failures[-1]
        known = self._replies or failure.kind == "busy" or failure.wait is not None
        most = MAX_TRIES if known else FIRST_TRIES
        if failure.kind != "timeout":
            return most
        others = sum(one.kind != "timeout" for one in failures)
        return min(most, others + 1 + (MAX_TIMEOUTS if self._replies else 0))

    def _exception(self, failures: list[Failure], seconds: float) -> Exception:
        """The exception to raise after the last failure, with the problem and its remedy."""
        failure, service = failures[-1], self._label
        kind = failure.kind
        if kind in _CHANGEABLE:
            logger.debug("%s rejects the request: %s (%s)", self.name, kind, failure)
            return RequestRejected(failure)
        logger.warning("%s: the request failed (%s, %s)", self.name, kind, failure.status)
        if kind == "key":  # without the service's message, which may repeat parts of the key
            return ModelClosedError(f"{service} refuses the key: check {self._key}.")
        logger.debug("%s: the service's words: %s", self.name, failure)
        if kind == "quota":
            return ModelClosedError(
                f"The quota of {self.name} is used up: add credit there, or use another key "
                f"({self._key})."
            )
        if kind == "unknown":
            settings = f"{self._setting} and {self._base or 'the base URL'}"
            return ModelClosedError(f"{service} is not known ({failure}): check {settings}.")
        if kind == "request":
            return ModelRefusedError(f"{service} refuses the request ({failure}).")
        if kind == "window":
            return WindowError(
                f"The prompt is too large for {self.name} ({failure}): set GRAPHREADER_WINDOW, and "
                "with it GRAPHREADER_CHUNK_TOKENS, lower, or use a model with a larger window."
            )
        self._replies = False
        tries = f"after {len(failures)} {'try' if len(failures) == 1 else 'tries'}"
        tries += f" in {seconds:.0f} seconds: try again later"
        if kind == "timeout":
            problem = f"did not reply in time, {tries}, or set GRAPHREADER_TIMEOUT (now "
            problem += f"{self._timeout:g} seconds) higher"
        elif kind == "busy":
            wait = f" and asks to wait {failure.wait:.0f} seconds" if failure.wait else ""
            problem = f"takes no more requests for now{wait}, {tries}, set GRAPHREADER_CONCURRENCY "
            problem += f"(now {self.concurrency}) lower, or set GRAPHREADER_REQUESTS_PER_MINUTE"
        elif kind == "crowded":
            problem = f"has too little context for its requests together ({failure}), {tries}, "
            problem += "or start it for fewer of them or with a larger context (llama.cpp: -np 1, "
            problem += f"or a larger -c), or set GRAPHREADER_CONCURRENCY (now {self.concurrency}) "
            problem += "to 1"
        elif kind == "connection":
            problem = f"cannot be reached ({failure}), {tries}"
        else:
            problem = f"fails ({failure}), {tries}"
        return ModelUnavailableError(f"{service} {problem}.")


async def check_health(url: str, variable: str = "") -> None:
    """Check that a service answers at the base URL. Raises ModelUnavailableError.

    No API key is sent, so certificates are not verified. A web page is no service. Messages name
    `variable`, the setting of the URL.
    """
    seconds = HEALTH_CHECK_TIMEOUT
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(verify=False, timeout=seconds) as client,
        ):
            response = await client.send(client.build_request("GET", f"{url}/models"), stream=True)
            await response.aclose()  # the body is not read, however long it is
    except (httpx.RemoteProtocolError, httpx.ReadError):
        return  # a server is there, though not for this request
    except (TimeoutError, httpx.TransportError, httpx.InvalidURL) as error:
        late = isinstance(error, TimeoutError | httpx.TimeoutException)
        reason = f"within {seconds:g} seconds" if late else f"({redact(str(error))})"
        raise ModelUnavailableError(
            f"Nothing answers at {display_url(url)} {reason}: check that the service runs, its "
            f"address ({variable or 'such as'} http://localhost:8000/v1) and the network."
        ) from None
    if response.is_success and "text/html" in response.headers.get("content-type", ""):
        raise ModelUnavailableError(
            f"{display_url(url)} shows a web page and is no OpenAI-compatible server: does the "
            f"address{f' ({variable})' if variable else ''} end in /v1?"
        )


_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (credits?|balance|funds)"
    r"|credit balance|billing_(hard_limit_reached|not_active)"
    r"|reached your specified (api )?usage limits?",
    re.IGNORECASE,
)
_WRONG_KEY = re.compile(
    r"api key.{0,20}(not valid|invalid)|(invalid|incorrect) api key", re.IGNORECASE
)
# The part of a request that a status 400 is about, in this order: a limit of the reply that is too
# large is reported along with the window, and a prompt that is too long along with the limit.
_REFUSED_PARTS: tuple[tuple[FailureKind, str], ...] = (
    ("limit", r"max_\w*tokens\W(?! ?exceed context).{0,60}?(too large|too high|at most)"),
    (
        "window",
        r"context_length_exceeded|context (length|window|limit)|maximum (context|prompt length)"
        r"|(prompt|input) is too long|exceeds? the (available )?context|input token count"
        r"|too many (input )?tokens",
    ),
    ("bounds", "maxItems"),
    ("temperature", "temperature"),
    ("seed", r"\b(random_)?seed\b(?!-)"),  # seed-oss is a model
    ("limit", r"max_\w*tokens|max completion tokens|num_predict|maxOutputTokens"),
    ("content", "content_filter|content management policy|content_policy"),
)
# A request of more tokens, with the limit of its reply, than the account has in a minute.
_ABOVE_A_MINUTE = re.compile(r"request too large.*tokens per min", re.IGNORECASE | re.DOTALL)
# The size of a window, and of the prompt that does not fit into it, or not with the reply's limit.
_REQUESTED = re.compile(
    r"maximum context length (?:is|of) (\d+) tokens.{0,80}?(\d+) (?:in|tokens from) the (?:input )?"
    r"messages(?:, (\d+) in the functions)?.{0,20}?\d+ (?:in|tokens for) .{0,4}(?:completion|max_)",
    re.IGNORECASE | re.DOTALL,
)
# Recognized by text: OpenRouter refuses tools with 404, Ollama a schema with 500 or no status.
_UNSUPPORTED_FORM = re.compile(
    r"(format|schema|grammar|\btools?\b|\bstream).*(support|implemented|invalid|param)"
    r"|(support|invalid|failed to parse|param).*(format|schema|grammar|\btools?\b|\bstream)",
    re.IGNORECASE | re.DOTALL,
)
# llama.cpp, where the requests of its slots share one context; Ollama and others with full memory.
_CROWDED = re.compile(
    r"context size has been exceeded|failed to find (a )?(free space|memory slot|kv cache slot)"
    r"|kv.?cache (is )?full|out of memory",
    re.IGNORECASE,
)
_WAIT = re.compile(r"(?:(?:retry|try again) in |retryDelay\W+)(\d+(?:\.\d+)?)s", re.IGNORECASE)
_TIMEOUTS = ("TimeoutError", "Timeout", "TimeoutException")
_CONNECTIONS = {"APIConnectionError", "ModelConnectionError", "TransportError", "ClientError"}
_CREDENTIALS = {"NoCredentialsError", "PartialCredentialsError", "GoogleAuthError"}
_BUGS = (LookupError, TypeError, AttributeError, NameError, AssertionError, ArithmeticError)


def classify(error: Exception, secrets: Collection[str] = ()) -> Failure:
    """Classify a client's exception by HTTP status, then class; `secrets` are removed."""
    status = next((one for one in map(_status, causes(error)) if one is not None), None)
    text = _message(error)
    wait = _retry_after(error, text)
    kind = _kind_without_status(error, text) if status is None else _kind(status, text, wait)
    line = " ".join(redact(text, secrets).split())
    return Failure(kind, status, line if len(line) <= 200 else f"{line[:200].rstrip()}...", wait)


def _kind(status: int, text: str, wait: float | None) -> FailureKind:
    if status == 402 or (status in (400, 403) and _QUOTA.search(text)):
        return "quota"
    if status in (401, 403) or (status == 400 and _WRONG_KEY.search(text)):
        return "key"
    if status in (413, 429) and _ABOVE_A_MINUTE.search(text):
        return "limit"
    if status in (429, 529):
        # Google calls the limits of a minute a quota too, but says when to come back.
        used_up = "insufficient_quota" in text or (_QUOTA.search(text) and wait is None)
        return "quota" if used_up else "busy"
    if status in (404, 405, 500) and _UNSUPPORTED_FORM.search(text):
        return "rejected"
    if status >= 500 and _CROWDED.search(text):
        return "crowded"
    if status == 500 and "NaN" in text:  # of a vector that cannot be written as JSON
        return "rejected"
    if status in (404, 405):
        return "unknown"
    if status in (400, 415, 422, 501):
        return _refused_part(text)
    return "broken" if status in (408, 409) or status >= 500 else "request"


def _refused_part(text: str) -> FailureKind:
    if match := _REQUESTED.search(text):
        window, *prompt = (int(number or 0) for number in match.groups())
        return "limit" if sum(prompt) < window else "window"
    matching = (kind for kind, words in _REFUSED_PARTS if re.search(words, text, re.IGNORECASE))
    return next(matching, "rejected")


def _kind_without_status(error: Exception, text: str) -> FailureKind:
    names = {cls.__name__ for one in causes(error) for cls in type(one).__mro__}
    if "ConnectTimeout" not in names and any(name.endswith(_TIMEOUTS) for name in names):
        return "timeout"
    if names & _CONNECTIONS or "OSError" in names:
        return "connection"
    if names & _CREDENTIALS:
        return "key"
    if isinstance(error, NotImplementedError):
        return "rejected"
    # LangChain raises KeyError, TypeError or ValueError for a reply that is an error or empty.
    if _error_body(error) or "choices" in text:
        return "broken"
    if "unexpected keyword argument" in text:  # the client's package is older than LangChain's
        return _refused_part(text)
    if isinstance(error, _BUGS):
        return "bug"
    if type(error).__module__ == "builtins":  # clients use plain classes for the request itself
        return _refused_part(text)
    return "rejected" if _UNSUPPORTED_FORM.search(text) else "broken"


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception and its causes; LangChain wraps clients' exceptions."""
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
    # The client of OpenAI makes a text of the code of an error inside of a stream.
    numbers = [int(str(one)) if re.fullmatch(r"[0-9]{3}", str(one)) else one for one in candidates]
    return next((one for one in numbers if isinstance(one, int) and 400 <= one < 600), None)


def _error_body(error: BaseException) -> dict[str, Any]:
    """The body of an error sent as a reply; LangChain raises ValueError({"message": ...})."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, dict) else {}


def _message(error: BaseException) -> str:
    body: Any = getattr(error, "body", None) or _error_body(error)
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict) and body.get("message"):
        return " ".join(str(body[key]) for key in ("message", "code", "param") if body.get(key))
    return str(error) or type(error).__name__


def _retry_after(error: BaseException, text: str) -> float | None:
    """Seconds that the service asks to wait, from a header (number or date), else its message."""
    for one in causes(error):
        headers = getattr(getattr(one, "response", None), "headers", None) or {}
        with suppress(ValueError, TypeError):  # OpenAI's header, more exact than the standard's
            return max(0.0, float(headers.get("retry-after-ms", "")) / 1000)
        value = headers.get("retry-after") or headers.get("Retry-After")
        if value is None:
            continue
        with suppress(ValueError):
            return max(0.0, float(value)) if isfinite(float(value)) else None
        with suppress(ValueError, TypeError):
            return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    match = _WAIT.search(text)
    return float(match[1]) if match else None
