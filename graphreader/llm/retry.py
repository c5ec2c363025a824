"""When asking many questions is to end because one of them failed.

One model service and how we treat it: how long we wait for it, and how often we ask again.

Nobody else retries: the providers' own clients are opened with `max_retries=0`, or they would
wait behind our back. How many requests there are at once, and a minute, is up to `traffic`, for
the whole process. The times, in seconds:

- First contact. Before the first request, anything at all must answer at the service's address
  within FIRST_CONTACT. Only so can a real reply take as long as a reasoning model needs
  (`timeout`, 60 by default), while a service that never answers is reported within 30.
- First reply. A service that answered the contact well has `timeout` for it. One that answered
  with a server error (5xx) has FIRST_REPLY, and one whose address is not known, so that no
  contact could be made, FIRST_REPLY_UNCONTACTED.
- Before the first reply, failures are tried again for PATIENCE_AT_FIRST, requests and pauses
  together; where the service asks to wait (429, Retry-After), for PATIENCE_WHEN_BUSY; a request
  that timed out is tried once more, if the first contact went well.
- Once it has replied, a request is tried again until its pauses add up to PATIENCE, and after as
  many as TIMEOUTS_FORGIVEN replies that did not come within `timeout`. A service that is given up,
  having replied to nobody meanwhile, has to reply again before it is trusted so far.
- A pause is drawn evenly between nothing and a bound that doubles with each try ("full jitter"),
  so that those who failed together do not come back together. The last one ends with our patience.
- `Retry-After` is obeyed, and by everybody in this process (`Limiter.hold_off`); where it asks for
  more than is left of our patience, we give up at once and say so.

Who pauses leaves its slot to others. Only what is known to pass is tried again (see `failures`);
a quota that is used up does not. What is a mistake in a program, such as a KeyError, is raised as
it is.

What an exception of a provider's client means, whatever provider it is.

Clients share no exception classes, but status codes, class names and wording; these are read
here, and nowhere else. Messages are shortened, and keys are blotted out.

How long a service asks to wait before the next request: in a header, or in words.

First contact with a model service: whether anything answers at its address at all.

Any HTTP answer will do, so no API key is sent and nothing of the answer is used; that is also why
certificates are not looked at here (the provider's client does that for every request).

The traffic of a whole process: how many requests are under way, and how many begin a minute.

Such limits belong to an account, not to a reader, so there is one limiter, whatever the number of
readers, threads and event loops. Who comes first begins first. Nobody polls: who waits for others
is woken by the one that ends, who waits for time by one timer in a thread of its own, which does
not depend on any loop going on.

No more begins in any 60 seconds than is allowed, and that is spread over them (see `minutes`).

The state is guarded by a lock that is held for microseconds only, and never across an await.

What begins a minute, of requests or of tokens.

A log is kept of what was begun: in any 60 seconds, not only in those of a clock, no more begins
than is allowed. It is spread as well: where a sixth of it has begun within 10 seconds the next one
waits, since many services count in shorter times than minutes. What alone is larger than a minute
allows goes alone.

Times are seconds of any clock that does not go back. Not safe for several threads: see `traffic`.

One of a thing for each event loop.

Clients' connections and locks belong to the loop in which they were first used, while one decider
may serve several loops: a notebook's own and that of a background thread.
"""

import asyncio
import logging
import random
import re
import threading
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from time import monotonic
from typing import Any, Generic, Literal, NoReturn, Protocol, TypeVar
from weakref import WeakKeyDictionary

import httpx
from langchain_core.messages import AIMessage

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
from graphreader.llm.providers import redacted, shown

FOR_ALL = (
    EmbeddingMismatchError,
    SettingsError,
    SchemaError,
    Neo4jRefusedError,
    ModelClosedError,
)
"""What one question meets, and so every other one."""

_GONE = (Neo4jUnavailableError, ModelUnavailableError)
"""What may pass, but where it does not, each question would wait for it in vain."""

QUESTIONS = 3
"""That find a service gone, with no answer between them."""


class CircuitBreaker:
    """Counts the questions in a row for which a service was gone."""

    def __init__(self) -> None:
        self._gone = 0

    def answered(self) -> None:
        """A question was answered: the services are there."""
        self._gone = 0

    def after(self, error: GraphReaderError) -> GraphReaderError | None:
        """With what all is to end after one more question failed; None: the next one is asked."""
        if isinstance(error, FOR_ALL):
            return error
        self._gone += isinstance(error, _GONE)
        if self._gone < QUESTIONS:
            return None
        return GraphReaderError(f"{error} No more questions are asked meanwhile.")


# Google calls the limits of a minute a quota, too, but says when to come back.
_COME_BACK = re.compile(
    r"(?:retry|try again) in (?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d[\d.]*)(?P<unit>m?s))?"
    r"|retryDelay\W+(?P<delay>\d[\d.]*)s",
    re.IGNORECASE,
)


def wait_of(errors: Iterable[BaseException], text: str) -> float | None:
    """Seconds that the service asks to wait, by the errors' headers, or else by its words."""
    for one in errors:
        headers = _headers(one)
        milliseconds = _number(headers.get("retry-after-ms"))
        if milliseconds is not None:
            return max(0.0, milliseconds / 1000)
        if (value := headers.get("retry-after")) is not None:
            return _seconds_of(value)
    asked = _COME_BACK.search(text)
    return _seconds_in(asked) if asked else None


def _headers(error: BaseException) -> Mapping[str, str]:
    """Those of the answer; clients know it by several names."""
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None)
        if headers is not None:
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}


def _seconds_of(value: str) -> float | None:
    """A Retry-After header, which is a number or a date."""
    seconds = _number(value)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _seconds_in(asked: re.Match[str]) -> float | None:
    """Words such as "6m0s", "20.5s" or "132ms"; None where no time follows."""
    if asked["delay"]:
        return _number(asked["delay"])
    if not (asked["h"] or asked["m"] or asked["s"]):
        return None
    seconds = _number(asked["s"]) or 0.0
    if asked["unit"] and asked["unit"].lower() == "ms":
        seconds /= 1000
    return int(asked["h"] or 0) * 3600 + int(asked["m"] or 0) * 60 + seconds


def _number(value: str | None) -> float | None:
    """A finite number, if it is one."""
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if isfinite(number) else None


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


Contact = Literal["good", "doubtful"]
_PAUSES = (0.5, 1.0, 2.0)  # a service that is just starting gets this long


async def first_contact(address: str, seconds: float, variable: str = "") -> Contact:
    """Good, or doubtful where the answer is a server error. `address` is the base URL.

    `variable` is the one that holds it, if there is one, for messages.

    Raises ModelUnavailableError where nothing answers within `seconds`.
    """
    stands_in = f" ({variable})" if variable else ""
    try:
        async with asyncio.timeout(seconds):
            return await _knock(address, seconds)
    except (TimeoutError, httpx.TimeoutException):
        raise ModelUnavailableError(
            f"Nothing answers at {shown(address)} within {seconds:g} seconds: check the address"
            f"{stands_in} and the network."
        ) from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise ModelUnavailableError(
            f"{shown(address)} is no address of a service: {variable or 'it'} must look like "
            "http://localhost:8000/v1."
        ) from None
    except httpx.TransportError as error:
        words = redacted(str(error)) or type(error).__name__
        raise ModelUnavailableError(
            f"Nothing answers at {shown(address)} ({words}): check that the service runs, its "
            f"address{stands_in} and the network."
        ) from None


async def _knock(address: str, seconds: float) -> Contact:
    async with httpx.AsyncClient(verify=False, timeout=seconds) as client:
        for pause in _PAUSES:
            try:
                return await _answer(client, address)
            except httpx.ConnectError:
                await asyncio.sleep(pause)
        return await _answer(client, address)


async def _answer(client: httpx.AsyncClient, address: str) -> Contact:
    try:
        answer = await client.get(f"{address}/models")
    except (httpx.RemoteProtocolError, httpx.ReadError):
        return "good"  # somebody is there, though not for this request
    return "doubtful" if answer.status_code >= 500 else "good"


_MINUTE = 60.0
_PARTS = 6  # of a minute and of what it may hold; more would hold back short runs


@dataclass(slots=True)
class Begun:
    """Something that began, and how much it was thought to be."""

    at: float
    amount: int


class _Last:
    """What was begun in the last so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._log: deque[Begun] = deque()
        self._sum = 0

    def when(self, most: int, now: float) -> float:
        """When the sum is `most` or less, or nothing is left of it; `now` where it is so."""
        while self._log and self._log[0].at + self._seconds <= now:
            self._sum -= self._log.popleft().amount
        rest, at = self._sum, now
        for one in self._log:
            if rest <= most:
                break
            rest, at = rest - one.amount, one.at + self._seconds
        return at

    def add(self, begun: Begun) -> None:
        self._log.append(begun)
        self._sum += begun.amount

    def correct(self, begun: Begun, more: int) -> None:
        """Count `more` for what was begun, if it has not been forgotten by now."""
        if self._log and self._log[0].at <= begun.at:
            self._sum += more


class Minutes:
    """Requests or tokens: at most `limit` in any minute, and spread. None: any number."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._minute = _Last(_MINUTE)
        self._lately = _Last(_MINUTE / _PARTS)

    def when(self, amount: int, now: float) -> float:
        """When `amount` may begin, if nothing else does until then."""
        if self.limit is None:
            return now
        # The second is for less than a part, so that one request, however large, begins in each.
        return max(
            self._minute.when(self.limit - amount, now),
            self._lately.when((self.limit - 1) // _PARTS, now),
        )

    def add(self, amount: int, now: float) -> Begun | None:
        """Note that it begins, for a later `correct`; nothing is noted without a limit."""
        if self.limit is None:
            return None
        begun = Begun(now, amount)
        self._minute.add(begun)
        self._lately.add(begun)
        return begun

    def correct(self, begun: Begun, amount: int) -> None:
        """The amount was another one than had been thought."""
        more = amount - begun.amount
        self._minute.correct(begun, more)
        self._lately.correct(begun, more)
        begun.amount = amount


DEFAULT_CONCURRENCY = 8
"""Requests at once until somebody configures another number; that of the settings."""


class Timer(Protocol):
    """Something that happens later unless it is cancelled."""

    def cancel(self) -> None:
        """Let it not happen."""


def in_a_thread(seconds: float, function: Callable[[], None]) -> Timer:
    """Call the function later, in a thread that does not keep the process alive."""
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    timer.start()
    return timer


class Slot:
    """The place of one request, which may begin when the block is entered. For one use only."""

    __slots__ = ("_limiter", "begun", "loop", "tokens", "turn")

    def __init__(self, limiter: "Limiter", tokens: int) -> None:
        self._limiter = limiter
        self.tokens = tokens
        self.begun: Begun | None = None
        self.loop = asyncio.get_running_loop()
        self.turn: asyncio.Future[None] | None = None

    async def __aenter__(self) -> "Slot":
        turn = self._limiter._enter(self)
        if turn is not None:
            try:
                await turn
            except BaseException:  # cancelled, perhaps at the moment when its turn came
                self._limiter._leave(self)
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limiter._leave(self)

    def settle(self, tokens: int) -> None:
        """Tell how many tokens the request took in fact."""
        self._limiter._settle(self, tokens)


class Limiter:
    """Lets requests begin, first come first served. For any number of loops and threads.

    `clock` gives seconds, `later` makes timers; tests have their own.
    """

    def __init__(
        self,
        concurrency: int = DEFAULT_CONCURRENCY,
        *,
        clock: Callable[[], float] = monotonic,
        later: Callable[[float, Callable[[], None]], Timer] = in_a_thread,
    ) -> None:
        # Reentrant: inside of it, Python may dispose of an abandoned task, which leaves its slot.
        self._lock = threading.RLock()
        self._concurrency = concurrency
        self._clock = clock
        self._later = later
        self._requests = Minutes(None)
        self._tokens = Minutes(None)
        self._hold_until = clock()
        self._holding: set[Slot] = set()
        self._queue: OrderedDict[Slot, None] = OrderedDict()
        self._letting_in = False
        self._timer: Timer | None = None
        self._due = 0.0  # the timer's

    def configure(
        self,
        *,
        concurrency: int,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> None:
        """Set the limits; None: there is none. Those that were configured last count."""
        with self._lock:
            self._concurrency = concurrency
            self._requests.limit = requests_per_minute
            self._tokens.limit = tokens_per_minute
            self._let_in()

    def slot(self, tokens: int = 0) -> Slot:
        """A request's place, to be entered by `async with`; `tokens` is what it may take."""
        return Slot(self, tokens)

    def hold_off(self, seconds: float) -> None:
        """Let nobody begin for so long: a service has asked to wait."""
        with self._lock:
            self._hold_until = max(self._hold_until, self._clock() + seconds)

    def _enter(self, slot: Slot) -> asyncio.Future[None] | None:
        """Nothing where the slot's request may begin at once, else what to wait for."""
        with self._lock:
            if not self._queue and len(self._holding) < self._concurrency:
                now = self._clock()
                if self._when(slot, now) <= now:
                    self._begin(slot, now)
                    return None
            slot.turn = slot.loop.create_future()
            self._queue[slot] = None
            self._forget_the_dead()
            self._let_in()
            return slot.turn

    def _leave(self, slot: Slot) -> None:
        with self._lock:
            self._holding.discard(slot)
            self._queue.pop(slot, None)
            self._let_in()

    def _settle(self, slot: Slot, tokens: int) -> None:
        if slot.begun is not None:
            with self._lock:
                self._tokens.correct(slot.begun, tokens)
                self._let_in()

    def _when(self, slot: Slot, now: float) -> float:
        """When the slot's request may begin, as far as it is a question of time."""
        at = max(now, self._hold_until)
        return max(at, self._requests.when(1, now), self._tokens.when(slot.tokens, now))

    def _begin(self, slot: Slot, now: float) -> None:
        self._holding.add(slot)
        self._requests.add(1, now)
        slot.begun = self._tokens.add(slot.tokens, now) if slot.tokens else None

    def _forget_the_dead(self) -> None:
        """Tasks of a loop that was closed too early can never leave."""
        for slot in list(self._holding):
            if slot.loop.is_closed():
                self._holding.discard(slot)

    def _let_in(self) -> None:
        """Let those begin who may by now, and see to it that the next one will."""
        if self._letting_in:
            return
        self._letting_in = True
        try:
            self._let_in_who_may()
        finally:
            self._letting_in = False
        if self._timer is not None and not self._queue:
            self._timer.cancel()
            self._timer = None

    def _let_in_who_may(self) -> None:
        while self._queue and len(self._holding) < self._concurrency:
            slot, now = next(iter(self._queue)), self._clock()
            when = self._when(slot, now)
            if when > now and not slot.loop.is_closed():
                self._call_at(when, now)
                return
            self._queue.pop(slot, None)
            if _woken(slot):
                self._begin(slot, now)

    def _call_at(self, when: float, now: float) -> None:
        """Have the queue looked at then; one timer is enough, and may be early."""
        if self._timer is not None:
            if self._due <= when:
                return
            self._timer.cancel()
        self._due = when
        self._timer = self._later(when - now, self._in_time)

    def _in_time(self) -> None:
        with self._lock:
            self._timer = None
            self._let_in()


def _woken(slot: Slot) -> bool:
    """Whether whoever waits for the slot can still be told that its turn has come."""
    try:
        slot.loop.call_soon_threadsafe(_tell, slot)
    except RuntimeError:  # the loop was closed
        return False
    return True


def _tell(slot: Slot) -> None:
    if slot.turn is not None and not slot.turn.done():
        slot.turn.set_result(None)


_making = threading.Lock()
_limiter: Limiter | None = None


def rate_limiter() -> Limiter:
    """The one of this process."""
    global _limiter
    with _making:
        _limiter = _limiter or Limiter()
        return _limiter


T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes the thing when the running loop first needs it."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """The running loop's own."""
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = self._make()
        return self._made[loop]

    def pop(self) -> T | None:
        """The running loop's own, if one was made; the next `get` makes a new one."""
        return self._made.pop(asyncio.get_running_loop(), None)


logger = logging.getLogger("graphreader.llm")
FIRST_CONTACT = 12.0
FIRST_REPLY = 15.0
FIRST_REPLY_UNCONTACTED = 25.0
PATIENCE_AT_FIRST = 15.0
PATIENCE_WHEN_BUSY = 60.0  # providers' limits are those of a minute
PATIENCE = 120.0  # longer than what most disturbances last; about 16 tries
TIMEOUTS_FORGIVEN = 4
_FIRST_PAUSE = 0.5  # the bound of the first pause; it doubles with each try
_LONGEST_PAUSE = 20.0  # the bound of all later ones
_DECLINED = ("temperature", "seed", "limit", "form", "stream", "content")
_PASSING = ("busy", "broken", "connection", "timeout")


class Declined(Exception):
    """The service declines this way of asking: an option, the form, a stream, the content.

    Not an error yet: the caller may ask in another way. It never leaves this package.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(slots=True)
class _Tries:
    """What one call has been through; `replies` is how many there were when it began."""

    replies: int
    count: int = 0
    timeouts: int = 0
    asked: float = 0.0  # seconds
    paused: float = 0.0


class ModelService:
    """Calls one provider. `address` is its base URL, for first contact; None: none is made.

    `name` is the configured "provider:model", `setting` the variable in which it stands, `key` and
    `base` those of the provider's key and base URL; they only serve for messages, and so does
    `concurrency` here, which tells callers how many of them may be busy at once: the limit itself
    is the limiter's, the process's if none is given. `secrets` are blotted out of the service's
    words. For any number of event loops.
    """

    def __init__(
        self,
        name: str,
        *,
        setting: str = "GRAPHREADER_MODEL",
        key: str = "OPENAI_API_KEY",
        base: str = "OPENAI_BASE_URL",
        address: str | None = None,
        timeout: float = 60.0,
        concurrency: int = DEFAULT_CONCURRENCY,
        secrets: Collection[str] = (),
        limiter: Limiter | None = None,
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self._setting = setting
        self._key = key
        self._base = base
        self._address = address
        self._at = f" at {shown(address)}" if address else ""
        self._secrets = secrets
        self._timeout = timeout
        self._contact: Contact | None = None
        self._no_contact: tuple[float, str] | None = None  # when it failed, and how
        self._replies = 0
        self._trusted = False  # it has replied, and was not given up since
        self._contacting = PerLoop(asyncio.Lock)
        self._limiter = limiter or rate_limiter()

    async def call(self, ask: Callable[[], Awaitable[T]], tokens: int = 0) -> T:
        """What `ask` gives, which makes one request; it is called again where that may help.

        `tokens` is what the request may take, prompt and reply; where the reply is a message that
        tells what it took, that counts instead from then on. Raises Declined, ModelRefusedError,
        ModelUnavailableError or WindowError.
        """
        tries = _Tries(self._replies)
        while True:
            begin = monotonic()
            try:
                await self._make_contact()
                async with self._limiter.slot(tokens) as slot:
                    begin = monotonic()
                    async with asyncio.timeout(self._limit()):
                        reply = await ask()
                    self._replies, self._trusted = self._replies + 1, True
                    if isinstance(reply, AIMessage) and reply.usage_metadata:
                        slot.settle(reply.usage_metadata["total_tokens"])
                    return reply
            except GraphReaderError:
                raise
            except Exception as error:
                tries.asked += monotonic() - begin
                failure = failure_of(error, self._secrets)
                pause = self._pause(failure, tries)
                if pause is None:
                    self._give_up(failure, error, tries)
            logger.debug(
                "%s is asked again in %.1f s: %s (%s)", self.name, pause, failure.kind, failure
            )
            if failure.wait:
                self._limiter.hold_off(failure.wait)
            await asyncio.sleep(pause)

    def _limit(self) -> float:
        """Seconds that the next reply may take."""
        if self._replies or self._contact == "good":
            return self._timeout
        first = FIRST_REPLY if self._contact == "doubtful" else FIRST_REPLY_UNCONTACTED
        return min(self._timeout, first)

    async def _make_contact(self) -> None:
        """First contact, once; who waited for it meanwhile fails along with it."""
        if self._contact is not None or self._address is None:
            return
        async with self._contacting.get():
            if self._contact is not None:
                return
            if self._no_contact and monotonic() - self._no_contact[0] < FIRST_CONTACT:
                raise ModelUnavailableError(self._no_contact[1])
            try:
                async with self._limiter.slot():
                    self._contact = await first_contact(self._address, FIRST_CONTACT, self._base)
            except ModelUnavailableError as error:
                self._no_contact = monotonic(), str(error)
                logger.warning("No first contact with %s%s", self.name, self._at)
                raise

    def _pause(self, failure: Failure, tries: _Tries) -> float | None:
        """Seconds until the next try, which are noted, or None where there is none."""
        if failure.kind not in _PASSING:
            return None
        tries.count += 1
        if failure.kind == "timeout":
            tries.timeouts += 1
            if tries.timeouts > self._timeouts_forgiven():
                return None
        left = self._patience(failure) - tries.paused - (0 if self._trusted else tries.asked)
        wait = failure.wait or 0.0
        if left <= 0 or wait > left:
            return None
        bound = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (tries.count - 1))
        # After the wait that was asked for we scatter less: the limiter lets in one by one.
        pause = min(left, wait + random.uniform(0, bound / 10 if wait else bound))
        tries.paused += pause
        return pause

    def _timeouts_forgiven(self) -> int:
        if self._trusted:
            return TIMEOUTS_FORGIVEN
        return 1 if self._contact == "good" else 0

    def _patience(self, failure: Failure) -> float:
        if self._trusted:
            return PATIENCE
        asks_to_wait = failure.kind == "busy" or failure.wait is not None
        return PATIENCE_WHEN_BUSY if asks_to_wait else PATIENCE_AT_FIRST

    def _give_up(self, failure: Failure, error: Exception, tries: _Tries) -> NoReturn:
        if failure.kind == "bug":
            raise error
        if failure.kind in _DECLINED:
            logger.debug("%s declines: %s (%s)", self.name, failure.kind, failure)
            raise Declined(failure) from error
        logger.warning(
            "%s: a request is given up (%s, %s)", self.name, failure.kind, failure.status
        )
        if failure.kind != "key":  # the words may repeat parts of it
            logger.debug("%s said: %s", self.name, failure)
        if failure.kind == "window":
            raise WindowError(
                f"The prompt is too large for {self.name} ({failure}): set GRAPHREADER_WINDOW, and "
                "with it GRAPHREADER_CHUNK_TOKENS, lower, or use a model with a larger window."
            ) from error
        sentence = self._refusals(failure).get(failure.kind)
        if sentence:
            refused = ModelRefusedError if failure.kind == "request" else ModelClosedError
            raise refused(sentence) from error
        if tries.replies == self._replies:  # nobody else had one either
            self._trusted = False
        raise ModelUnavailableError(self._unavailable(failure)) from error

    def _refusals(self, failure: Failure) -> dict[str, str]:
        at = self._at
        return {
            # No words of the service here, for the same reason.
            "key": f"{self.name}{at} refuses the key: check {self._key}.",
            "quota": f"The quota of {self.name} is used up: add credit there, or use another key "
            f"({self._key}).",
            "unknown": f"{self.name} is not known{at} ({failure}): check {self._setting} and "
            f"{self._base or 'the base URL'}.",
            "request": f"{self.name}{at} refuses the request ({failure}).",
        }

    def _unavailable(self, failure: Failure) -> str:
        at = self._at
        if failure.kind == "timeout" and self._limit() < self._timeout:
            return (
                f"{self.name}{at} did not reply in time (its first reply has {self._limit():g} "
                "seconds): check that the service runs, its address and the network, then try "
                "again."
            )
        if failure.kind == "timeout":
            return (
                f"{self.name}{at} did not reply in time: try again later, or set "
                f"GRAPHREADER_TIMEOUT (now {self._timeout:g} seconds) higher."
            )
        if failure.kind == "busy":
            asked = f" and asks to wait {failure.wait:.0f} seconds" if failure.wait else ""
            return (
                f"{self.name}{at} takes no more requests for now{asked}: try again later, set "
                f"GRAPHREADER_CONCURRENCY (now {self.concurrency}) lower, or set "
                "GRAPHREADER_REQUESTS_PER_MINUTE."
            )
        what = "cannot be reached" if failure.kind == "connection" else "fails"
        return f"{self.name}{at} {what} ({failure}), also after several tries: try again later."
