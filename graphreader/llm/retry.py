"""Calls one model service: health check, timeouts and retries with backoff.

Nothing else retries: the providers' own clients are opened with `max_retries=0`. The rate limiter
of the process decides when each attempt starts, and a request that pauses before its next attempt
leaves its slot to others. All times are seconds.

- Health check. Before the first request, anything at all must answer at the service's address
  within HEALTH_CHECK_TIMEOUT. Only therefore a real reply may take as long as a reasoning model
  needs (`timeout`, 60 by default), while a dead service is reported within 30 seconds.
- First reply. A service that passed the health check has `timeout` for it; one that answered with
  a server error has FIRST_REPLY_TIMEOUT, one of unknown address UNCHECKED_FIRST_REPLY_TIMEOUT.
- Retries. Before the first reply, attempts and pauses together take at most FIRST_RETRY_SECONDS,
  or BUSY_RETRY_SECONDS where the service asks to wait (429, Retry-After). Afterwards the pauses
  of a request add up to at most RETRY_SECONDS, with at most MAX_TIMEOUTS replies that are late. A
  service that is given up has to reply again before it gets that much time again.
- Backoff. A pause is drawn evenly between 0 and a bound that doubles with each attempt ("full
  jitter"). `Retry-After` is obeyed by every request of the process; where it exceeds the time that
  is left, the request fails at once.

Only failures that pass are retried (see `failures`). A bug, such as a KeyError, is raised as it is.
The loop is not tenacity's: when to stop and how long to wait depend on the service's history.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from time import monotonic
from typing import Literal, NoReturn, TypeVar

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
from graphreader.llm.failures import Failure, classify
from graphreader.llm.rate_limit import DEFAULT_CONCURRENCY, PerLoop, RateLimiter, rate_limiter
from graphreader.llm.redaction import display_url, redact

T = TypeVar("T")
logger = logging.getLogger("graphreader.llm")

HEALTH_CHECK_TIMEOUT = 12.0
FIRST_REPLY_TIMEOUT = 15.0
UNCHECKED_FIRST_REPLY_TIMEOUT = 25.0
FIRST_RETRY_SECONDS = 15.0
BUSY_RETRY_SECONDS = 60.0  # providers' limits are those of a minute
RETRY_SECONDS = 120.0  # longer than most disturbances last; about 16 attempts
MAX_TIMEOUTS = 4
_FIRST_BACKOFF = 0.5  # the bound of the first pause; it doubles with each attempt
_MAX_BACKOFF = 20.0
_STARTUP_PAUSES = (0.5, 1.0, 2.0)  # a service that is just starting gets this long

_CHANGEABLE = ("temperature", "seed", "limit", "rejected", "content")
_PASSING = ("busy", "broken", "connection", "timeout")

FATAL_ERRORS = (
    EmbeddingMismatchError,
    SettingsError,
    SchemaError,
    Neo4jRefusedError,
    ModelClosedError,
)
"""Errors of one question that every other question would meet as well."""

_OUTAGES = (Neo4jUnavailableError, ModelUnavailableError)
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
        self._outages += isinstance(error, _OUTAGES)
        if self._outages < MAX_OUTAGES:
            return None
        return GraphReaderError(f"{error} No more questions are asked meanwhile.")


class RequestRejected(Exception):
    """The service rejects a part of the request: an option, the reply form, streaming, the content.

    Not an error yet: the caller may send another request. It never leaves this package.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


Health = Literal["good", "failing"]


async def check_health(url: str, variable: str = "") -> Health:
    """Whether anything answers at the base URL; "failing" where it is a server error.

    Any HTTP response will do. No API key is sent and nothing of the response is used, so
    certificates are not verified here; the provider's client does that for every request.
    `variable` is the setting that holds the URL, for messages. Raises ModelUnavailableError where
    nothing answers within HEALTH_CHECK_TIMEOUT.
    """
    seconds, in_variable = HEALTH_CHECK_TIMEOUT, f" ({variable})" if variable else ""
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(verify=False, timeout=seconds) as client,
        ):
            return await _get_health(client, url)
    except (TimeoutError, httpx.TimeoutException):
        problem = (
            f"Nothing answers at {display_url(url)} within {seconds:g} seconds: check the address"
            f"{in_variable} and the network."
        )
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        problem = (
            f"{display_url(url)} is no address of a service: {variable or 'it'} must look like "
            "http://localhost:8000/v1."
        )
    except httpx.TransportError as error:
        reason = redact(str(error)) or type(error).__name__
        problem = (
            f"Nothing answers at {display_url(url)} ({reason}): check that the service runs, its "
            f"address{in_variable} and the network."
        )
    raise ModelUnavailableError(problem)


async def _get_health(client: httpx.AsyncClient, url: str) -> Health:
    for pause in (*_STARTUP_PAUSES, None):
        try:
            response = await client.get(f"{url}/models")
        except httpx.ConnectError:
            if pause is None:
                raise
            await asyncio.sleep(pause)
        except (httpx.RemoteProtocolError, httpx.ReadError):
            break  # a server is there, though not for this request
        else:
            return "failing" if response.status_code >= 500 else "good"
    return "good"


@dataclass(slots=True)
class _Attempts:
    """The attempts of one call; `replies_before` is the service's count when the call began."""

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
    once; the limit itself is the rate limiter's (the process's, unless one is given). `secrets` are
    removed from the service's words.
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
        limiter: RateLimiter | None = None,
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
        self._limiter = limiter
        self._health: Health | None = None
        self._failed_check: tuple[float, str] | None = None  # its time and its sentence
        self._checking = PerLoop(asyncio.Lock)
        self._replies = 0
        self._trusted = False  # it has replied, and was not given up since

    async def call(self, request: Callable[[], Awaitable[T]], tokens: int = 0) -> T:
        """The result of `request`, which sends one request and is repeated where that may help.

        `tokens` is an estimate of prompt and reply; a reply that reports its usage corrects it.
        Raises RequestRejected, ModelRefusedError, ModelUnavailableError or WindowError.
        """
        attempts = _Attempts(self._replies)
        limiter = self._limiter or rate_limiter()
        while True:
            start = monotonic()
            try:
                if self._health is None and self._url is not None:
                    await self._check_health(self._url, limiter)
                async with limiter.slot(tokens) as slot:
                    start = monotonic()
                    async with asyncio.timeout(self._reply_timeout()):
                        reply = await request()
                    self._replies, self._trusted = self._replies + 1, True
                    if usage := getattr(reply, "usage_metadata", None):
                        slot.settle(usage["total_tokens"])
                    return reply
            except GraphReaderError:
                raise
            except Exception as error:
                attempts.seconds += monotonic() - start
                failure = classify(error, self._secrets)
                pause = self._next_pause(failure, attempts)
                if pause is None:
                    self._give_up(failure, error, attempts)
            logger.debug(
                "%s: retry in %.1f s after %s (%s)", self.name, pause, failure.kind, failure
            )
            if failure.wait:
                limiter.hold_off(failure.wait)
            await asyncio.sleep(pause)

    def _reply_timeout(self) -> float:
        """Seconds that the next reply may take."""
        if self._replies or self._health == "good":
            return self._timeout
        failing = self._health == "failing"
        return min(self._timeout, FIRST_REPLY_TIMEOUT if failing else UNCHECKED_FIRST_REPLY_TIMEOUT)

    async def _check_health(self, url: str, limiter: RateLimiter) -> None:
        """Check once; the requests that wait for the check fail along with it."""
        async with self._checking.get():
            if self._health is not None:
                return
            if self._failed_check and monotonic() - self._failed_check[0] < HEALTH_CHECK_TIMEOUT:
                raise ModelUnavailableError(self._failed_check[1])
            try:
                async with limiter.slot():
                    self._health = await check_health(url, self._base)
            except ModelUnavailableError as error:
                self._failed_check = monotonic(), str(error)
                logger.warning("%s%s: the health check failed", self.name, self._at)
                raise

    def _next_pause(self, failure: Failure, attempts: _Attempts) -> float | None:
        """Seconds until the next attempt, which are recorded; None: there is none."""
        if failure.kind not in _PASSING:
            return None
        attempts.count += 1
        if failure.kind == "timeout":
            attempts.timeouts += 1
            allowed = MAX_TIMEOUTS if self._trusted else int(self._health == "good")
            if attempts.timeouts > allowed:
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

    def _give_up(self, failure: Failure, error: Exception, attempts: _Attempts) -> NoReturn:
        """Raise what the failure means for the caller."""
        if failure.kind == "bug":
            raise error
        if failure.kind in _CHANGEABLE:
            logger.debug("%s rejects the request: %s (%s)", self.name, failure.kind, failure)
            raise RequestRejected(failure) from error
        logger.warning("%s: the request failed (%s, %s)", self.name, failure.kind, failure.status)
        if failure.kind != "key":  # the words may repeat parts of the key
            logger.debug("%s: the service's words: %s", self.name, failure)
        if failure.kind == "window":
            raise WindowError(
                f"The prompt is too large for {self.name} ({failure}): set GRAPHREADER_WINDOW, and "
                "with it GRAPHREADER_CHUNK_TOKENS, lower, or use a model with a larger window."
            ) from error
        if failure.kind == "request":
            raise ModelRefusedError(self._final_problem(failure)) from error
        if failure.kind not in _PASSING:
            raise ModelClosedError(self._final_problem(failure)) from error
        if attempts.replies_before == self._replies:  # no other request had a reply either
            self._trusted = False
        raise ModelUnavailableError(self._passing_problem(failure)) from error

    def _final_problem(self, failure: Failure) -> str:
        """What is wrong and what to check, for a failure that does not pass."""
        if failure.kind == "key":  # without the service's words, for the same reason
            return f"{self.name}{self._at} refuses the key: check {self._key}."
        if failure.kind == "quota":
            return (
                f"The quota of {self.name} is used up: add credit there, or use another key "
                f"({self._key})."
            )
        if failure.kind == "unknown":
            return (
                f"{self.name} is not known{self._at} ({failure}): check {self._setting} and "
                f"{self._base or 'the base URL'}."
            )
        return f"{self.name}{self._at} refuses the request ({failure})."

    def _passing_problem(self, failure: Failure) -> str:
        """What is wrong and what to do, for a failure that did not pass in time."""
        service = f"{self.name}{self._at}"
        if failure.kind == "timeout" and self._reply_timeout() < self._timeout:
            return (
                f"{service} did not reply in time (its first reply has {self._reply_timeout():g} "
                "seconds): check that the service runs, its address and the network, then try "
                "again."
            )
        if failure.kind == "timeout":
            return (
                f"{service} did not reply in time: try again later, or set "
                f"GRAPHREADER_TIMEOUT (now {self._timeout:g} seconds) higher."
            )
        if failure.kind == "busy":
            wait = f" and asks to wait {failure.wait:.0f} seconds" if failure.wait else ""
            return (
                f"{service} takes no more requests for now{wait}: try again later, set "
                f"GRAPHREADER_CONCURRENCY (now {self.concurrency}) lower, or set "
                "GRAPHREADER_REQUESTS_PER_MINUTE."
            )
        problem = "cannot be reached" if failure.kind == "connection" else "fails"
        return f"{service} {problem} ({failure}), also after several tries: try again later."
