import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graphreader.errors import (
    DecisionError,
    GraphReaderError,
    ModelRefusedError,
    ModelUnavailableError,
    Neo4jUnavailableError,
    SchemaError,
    SettingsError,
    WindowError,
)
from graphreader.llm import retry
from graphreader.llm.rate_limit import RateLimiter, RateLimits
from graphreader.llm.retry import (
    BUSY_RETRY_SECONDS,
    FIRST_RETRY_SECONDS,
    MAX_OUTAGES,
    MAX_TIMEOUTS,
    RETRY_SECONDS,
    CircuitBreaker,
    ModelService,
    RequestRejected,
)
from graphreader.testing import RequestRefused
from tests.clock import Clock


class HttpError(Exception):
    """A refusal with headers, as providers' clients raise it."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__("not now")
        self.response = SimpleNamespace(
            status_code=status, headers={key.replace("_", "-"): one for key, one in headers.items()}
        )


class Replies:
    """Gives, or raises, one after the other; the last one again and again. Counts requests."""

    def __init__(self, *replies: Any) -> None:
        self.requests = 0
        self._replies = replies

    async def __call__(self) -> Any:
        self.requests += 1
        reply = self._replies[min(self.requests, len(self._replies)) - 1]
        if reply is HANGS:
            await asyncio.Event().wait()
        if isinstance(reply, Exception):
            raise reply
        return reply


HANGS = object()


class Pauses(list[float]):
    """The pauses between tries, which take no time: the clock goes on instead."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    async def sleep(self, seconds: float) -> None:
        self.append(seconds)
        self._clock.go_on(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(retry, "monotonic", clock.now)
    return clock


@pytest.fixture
def pauses(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Pauses:
    pauses = Pauses(clock)
    monkeypatch.setattr(retry.asyncio, "sleep", pauses.sleep)
    return pauses


@pytest.fixture
def limits() -> RateLimits:
    return RateLimits()


@pytest.fixture
def limiter(clock: Clock, limits: RateLimits) -> RateLimiter:
    return RateLimiter(limits, clock=clock.now, call_later=clock.later)


@pytest.fixture
def fake(limiter: RateLimiter) -> ModelService:
    """A service that never replied, and whose address is not known."""
    return ModelService("fake:model", limiter=limiter)


async def fails(called: Awaitable[Any], kind: type[Exception], words: str | None = None) -> str:
    with pytest.raises(kind, match=words) as caught:
        await called
    return str(caught.value)


# What passes by itself is tried again, also before the first reply; the caller sees none of it.
@pytest.mark.parametrize(
    "failure",
    [*(RequestRefused(status, "no") for status in (408, 409, 429, 500, 503)), ConnectionError()],
    ids=str,
)
async def test_tries_again(failure: Exception, fake: ModelService, pauses: Pauses) -> None:
    replies = Replies(failure, failure, failure, "good")

    assert await fake.call(replies) == "good"
    assert replies.requests == 4
    assert len(pauses) == 3


# The first pauses are drawn evenly between 0 and bounds that double: 0.5, 1, 2, ... 20 seconds.
async def test_full_jitter(limiter: RateLimiter, pauses: Pauses) -> None:
    rounds: list[list[float]] = []
    for _ in range(300):
        pauses.clear()
        fake = ModelService("fake:model", limiter=limiter)
        await fake.call(Replies("good"))
        await fake.call(Replies(*[RequestRefused(500, "no")] * 8, "good"))
        rounds.append(list(pauses))

    for tries, drawn in enumerate(zip(*rounds, strict=True)):
        bound = min(20, 0.5 * 2**tries)
        assert 0 <= min(drawn) < 0.05 * bound
        assert 0.95 * bound < max(drawn) <= bound
        assert 0.4 * bound < sum(drawn) / 300 < 0.6 * bound


# Pauses add up to our patience and not to more; it is longer for a service that has replied.
@pytest.mark.parametrize(
    ("status", "replied", "patience"),
    [
        (503, False, FIRST_RETRY_SECONDS),
        (429, False, BUSY_RETRY_SECONDS),
        (503, True, RETRY_SECONDS),
        (429, True, RETRY_SECONDS),
    ],
)
async def test_patience_ends(
    status: int, replied: bool, patience: float, fake: ModelService, pauses: Pauses
) -> None:
    if replied:
        await fake.call(Replies("good"))
    never = Replies(RequestRefused(status, "not now"))
    await fails(fake.call(never), ModelUnavailableError, "try again later")

    assert sum(pauses) == pytest.approx(patience)
    assert never.requests == len(pauses) + 1
    assert never.requests < 60


# Before the first reply slow failures count as well: no more than half a minute in all.
async def test_slow_failures_at_first(fake: ModelService, clock: Clock, pauses: Pauses) -> None:
    begin = clock.time

    async def slow() -> None:
        clock.go_on(9)
        raise RequestRefused(502, "bad gateway")

    await fails(fake.call(slow), ModelUnavailableError, "502: bad gateway")

    assert clock.time - begin <= 30
    assert len(pauses) >= 1


# A service that is given up has to reply again before we are as patient as before.
async def test_trust_is_lost(fake: ModelService, pauses: Pauses) -> None:
    broken = Replies(RequestRefused(503, "not now"))
    await fake.call(Replies("good"))
    await fails(fake.call(broken), ModelUnavailableError)
    first = sum(pauses)
    await fails(fake.call(broken), ModelUnavailableError)
    second = sum(pauses) - first
    await fake.call(Replies("good"))
    await fails(fake.call(broken), ModelUnavailableError)
    third = sum(pauses) - first - second

    assert (first, second, third) == pytest.approx(
        (RETRY_SECONDS, FIRST_RETRY_SECONDS, RETRY_SECONDS)
    )


# One call that never succeeds does not lose the trust while the service replies to others.
async def test_trust_is_kept(fake: ModelService, pauses: Pauses) -> None:
    await fake.call(Replies("good"))

    async def poisoned() -> None:
        await fake.call(Replies("good"))
        raise RequestRefused(500, "not this one")

    await fails(fake.call(poisoned), ModelUnavailableError)
    pauses.clear()
    await fails(fake.call(Replies(RequestRefused(500, "no"))), ModelUnavailableError)

    assert sum(pauses) == pytest.approx(RETRY_SECONDS)


# Retry-After, in seconds or as a date, is obeyed; we scatter a little after it.
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after(status: int, fake: ModelService, pauses: Pauses) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    seconds, until = HttpError(status, retry_after="7"), HttpError(status, retry_after=date)
    await fake.call(Replies("good"))
    await fake.call(Replies(seconds, until, HttpError(status, retry_after="soon"), "good"))

    assert 7 <= pauses[0] <= 7.05
    assert 28 <= pauses[1] <= 30.1
    assert pauses[2] <= 2


# Who asks meanwhile waits as well, be it another service's call: the limit is one of an account.
async def test_everybody_waits(limiter: RateLimiter, fake: ModelService, clock: Clock) -> None:
    other = ModelService("fake:embeddings", limiter=limiter)
    began: list[float] = []

    async def ask() -> None:
        began.append(clock.time)

    first = asyncio.create_task(fake.call(Replies(HttpError(429, retry_after="7"), "good")))
    await asyncio.sleep(0)
    second = asyncio.create_task(other.call(ask))
    await asyncio.sleep(0)
    waited = list(began)
    clock.go_on(7)
    await second
    first.cancel()

    assert waited == []
    assert began == [1007]


# A wait that is longer than our patience is not begun, and holds nobody off.
@pytest.mark.parametrize(("replied", "asked"), [(False, 61), (True, 121), (True, 3600)])
async def test_too_long_a_wait(
    replied: bool, asked: int, fake: ModelService, pauses: Pauses
) -> None:
    if replied:
        await fake.call(Replies("good"))
    busy = Replies(HttpError(429, retry_after=str(asked)))
    await fails(fake.call(busy), ModelUnavailableError, f"asks to wait {asked} seconds: try again")

    assert pauses == []
    async with asyncio.timeout(20):
        assert await fake.call(Replies("good")) == "good"


# However long the service asks to wait each time, we do not wait longer than our patience in all.
async def test_patience_with_retry_after(fake: ModelService, pauses: Pauses) -> None:
    await fake.call(Replies("good"))
    busy = Replies(HttpError(429, retry_after="50"))
    await fails(fake.call(busy), ModelUnavailableError, "GRAPHREADER_REQUESTS_PER_MINUTE")

    assert busy.requests == 3
    assert 100 <= sum(pauses) <= RETRY_SECONDS


# What is final is not tried again, says which variable to check, and never repeats a key.
@pytest.mark.parametrize(
    ("status", "message", "words"),
    [
        (401, "Incorrect API key provided: sk-abcdefghij", "check OPENAI_API_KEY"),
        (403, "You may not use this model", "check OPENAI_API_KEY"),
        (404, "The model `fake` does not exist", "check GRAPHREADER_MODEL"),
        (429, "You exceeded your current quota. insufficient_quota", "quota of fake:model"),
        (413, "Too large with sk-abcdefghij", r"refuses the request \(413: Too large with"),
    ],
)
async def test_final_refusals(
    status: int, message: str, words: str, fake: ModelService, pauses: Pauses
) -> None:
    await fake.call(Replies("good"))
    refused = Replies(RequestRefused(status, message))
    sentence = await fails(fake.call(refused), ModelRefusedError, words)

    assert "sk-abc" not in sentence
    assert refused.requests == 1
    assert pauses == []


# A way of asking that the service declines is the caller's to change.
@pytest.mark.parametrize(
    "what", ["temperature", "seed", "max_tokens", "response_format", "tools", "anything"]
)
async def test_declined(what: str, fake: ModelService) -> None:
    declined = Replies(RequestRefused(400, f"Unsupported parameter: '{what}'."))
    await fails(fake.call(declined), RequestRejected, what)

    assert declined.requests == 1


# The model's own window has an error that says which settings to change.
async def test_window(fake: ModelService) -> None:
    small = RequestRefused(400, "This model's maximum context length is 2048 tokens")
    await fails(fake.call(Replies(small)), WindowError, "GRAPHREADER_WINDOW")


# A mistake in a program is not taken for a failing service: it is raised as it is, at once.
@pytest.mark.parametrize("error", [KeyError("plan"), TypeError("not a dict"), AssertionError()])
async def test_bugs_are_not_tried_again(error: Exception, fake: ModelService) -> None:
    wrong = Replies(error)
    with pytest.raises(type(error)) as caught:
        await fake.call(wrong)

    assert caught.value is error
    assert wrong.requests == 1


# A service that has replied may miss its time a few times; then the setting is named.
async def test_no_reply_in_time(limiter: RateLimiter, pauses: Pauses) -> None:
    fake = ModelService("fake:model", timeout=0.02, limiter=limiter)
    await fake.call(Replies("good"))
    forgiven = Replies(*[HANGS] * MAX_TIMEOUTS, "good")
    silent = Replies(HANGS)

    assert await fake.call(forgiven) == "good"
    await fails(fake.call(silent), ModelUnavailableError, "GRAPHREADER_TIMEOUT")
    assert silent.requests == MAX_TIMEOUTS + 1
    assert len(pauses) == 2 * MAX_TIMEOUTS


# One that never replied, and whose address is not known, has less time, and only one try.
async def test_no_first_reply(fake: ModelService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "UNCHECKED_FIRST_REPLY_TIMEOUT", 0.05)
    silent = Replies(HANGS)
    await fails(fake.call(silent), ModelUnavailableError, "check that the service runs")

    assert silent.requests == 1


# First contact is made once, within a slot; who waits for it holds none, and fails along with it.
async def test_health_check(
    limits: RateLimits, limiter: RateLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits.concurrency = 1
    fake = ModelService("fake:model", url="http://host/v1", limiter=limiter)
    other = ModelService("fake:other", limiter=limiter)
    asked, asked_other = Replies("good"), Replies("good")
    contacts: list[int] = []

    async def nobody(url: str, variable: str) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        contacts.append(asked_other.requests)
        raise ModelUnavailableError(f"Nothing answers at {url}.")

    monkeypatch.setattr(retry, "check_health", nobody)
    calls = [*(fake.call(asked) for _ in range(10)), other.call(asked_other)]
    async with asyncio.timeout(20):
        ended = await asyncio.gather(*calls, return_exceptions=True)

    assert [str(one) for one in ended] == ["Nothing answers at http://host/v1."] * 10 + ["good"]
    assert contacts == [0]
    assert asked.requests == 0


# Who pauses before the next try leaves the slot to others.
async def test_pauses_outside_of_the_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    paused, go_on = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        paused.set()
        await go_on.wait()

    monkeypatch.setattr(retry.asyncio, "sleep", sleep)
    fake = ModelService("fake:model", limiter=RateLimiter(RateLimits(concurrency=1)))
    first = asyncio.create_task(fake.call(Replies(RequestRefused(429, "not now"), "first")))
    await paused.wait()
    async with asyncio.timeout(20):
        second = await fake.call(Replies("second"))
    was_waiting = not first.done()
    go_on.set()

    assert (await first, second) == ("first", "second")
    assert was_waiting


# Cancelling ends a call at once, while it pauses, waits for its slot or for the reply.
async def test_cancelling() -> None:
    limiter = RateLimiter(RateLimits(concurrency=1))
    fake = ModelService("fake:model", limiter=limiter)
    busy, silent = Replies(RequestRefused(429, "not now")), Replies(HANGS)
    waiting = Replies("never asked")
    tasks = []
    for ask in (busy, silent, waiting):
        tasks.append(asyncio.create_task(fake.call(ask)))
        await asyncio.sleep(0)
    begin = asyncio.get_running_loop().time()
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    took = asyncio.get_running_loop().time() - begin

    assert all(isinstance(one, asyncio.CancelledError) for one in ended)
    assert (busy.requests, silent.requests, waiting.requests) == (1, 1, 0)
    assert took < 0.2
    async with asyncio.timeout(20):
        assert await fake.call(Replies("good")) == "good"


# A message that tells what it took counts with that; others with what they were thought to take.
@pytest.mark.parametrize(("told", "begins_at"), [(50, 0), (None, 60)])
async def test_tokens(
    told: int | None, begins_at: int, limits: RateLimits, fake: ModelService, clock: Clock
) -> None:
    limits.tokens_per_minute = 1000
    usage: Any = told and {"input_tokens": told - 9, "output_tokens": 9, "total_tokens": told}
    await fake.call(Replies(AIMessage("good", usage_metadata=usage)), tokens=900)

    async def ask() -> float:
        return clock.time

    call = asyncio.create_task(fake.call(ask, tokens=800))
    for _ in range(5):
        await asyncio.sleep(0)
    if begins_at:
        clock.go_on(59)
        still_waits = not call.done()
        clock.go_on(1)
        assert still_waits

    assert await call == 1000 + begins_at


# Errors that every question would meet end a batch of questions at once, as they are.
@pytest.mark.parametrize("error", [SettingsError("Set a key."), SchemaError("Another schema.")])
def test_fatal_errors(error: GraphReaderError) -> None:
    assert CircuitBreaker().record_error(error) is error


# Some outages in a row end it as well; an answer resets the count, other errors do not count.
def test_outages() -> None:
    breaker = CircuitBreaker()
    outages = [Neo4jUnavailableError("No Neo4j."), ModelUnavailableError("No model.")]
    allowed = (outages * MAX_OUTAGES)[: MAX_OUTAGES - 1]

    assert not any(breaker.record_error(error) for error in allowed)
    breaker.record_answer()
    assert not any(breaker.record_error(error) for error in allowed)
    assert breaker.record_error(DecisionError("One reply was no use.")) is None
    end = breaker.record_error(ModelUnavailableError("No model."))
    assert str(end) == "No model. No more questions are asked meanwhile."
