"""Calls of a service: retries, time limits, health checks and final refusals."""

import asyncio
from collections.abc import Awaitable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graphreader.errors import (
    DecisionError,
    ModelClosedError,
    ModelRefusedError,
    ModelUnavailableError,
    Neo4jUnavailableError,
    SettingsError,
    WindowError,
)
from graphreader.llm import retry
from graphreader.llm.rate_limit import (
    configure_rate_limits,
)
from graphreader.llm.retry import (
    FIRST_TRIES,
    MAX_OUTAGES,
    MAX_TIMEOUTS,
    MAX_TRIES,
    CircuitBreaker,
    ModelService,
    RequestRejected,
)
from graphreader.testing import RequestRefused
from graphreader.waiting import listening
from tests.virtual_time import now, virtual_time

HANGS = object()


class HttpError(Exception):
    """A refusal that says when to come back, as providers' clients raise it."""

    def __init__(self, status: int, wait: str, header: str = "retry-after") -> None:
        super().__init__("not now")
        headers = {header: wait}
        self.response = SimpleNamespace(status_code=status, headers=headers)


class Replies:
    """Gives, or raises, one after the other, the last one again and again; notes when."""

    def __init__(self, *replies: Any) -> None:
        self.times: list[float] = []
        self._replies = replies

    async def __call__(self) -> Any:
        self.times.append(now())
        reply = self._replies[min(len(self.times), len(self._replies)) - 1]
        if reply is HANGS:
            await asyncio.Event().wait()
        if isinstance(reply, Exception):
            raise reply
        return reply

    @property
    def pauses(self) -> list[float]:
        return [after - before for before, after in zip(self.times, self.times[1:], strict=False)]


@pytest.fixture
def limits() -> Iterator[None]:
    """The limits of the process are the default ones again afterwards."""
    yield
    configure_rate_limits(8)


async def service(*, replied: bool = False, **options: Any) -> ModelService:
    """A service whose address is not known, and that has replied before or has not."""
    one = ModelService("fake:model", **options)
    if replied:
        await one.call(Replies("good"))
    return one


async def fails(call: Awaitable[Any], kind: type[Exception], words: str | None = None) -> str:
    with pytest.raises(kind, match=words) as caught:
        await call
    return str(caught.value)


# A failure that passes is retried, also before the first reply, and announced at once: the reason,
# the try, and the pause, which may be a Retry-After. A reply that fails after many seconds is
# announced as late, and is tried again all the same.
@virtual_time
async def test_announced_retries() -> None:
    heard: list[tuple[float, str]] = []

    async def late() -> Any:
        await asyncio.sleep(20)
        return await replies()

    replies = Replies(RequestRefused(500, "no"), ConnectionError(), HttpError(429, "8"), "good")
    with listening(lambda waiting: heard.append((now(), waiting.text))):
        assert await (await service(timeout=60)).call(late) == "good"

    still = "fake:model: no whole reply in 15 s, waiting for up to 60 s"
    assert [text for _, text in heard] == [
        *(still, "", "fake:model: 500, try 2 of 6 in 1 s"),
        *(still, "", "fake:model: no connection, try 3 of 6 in 1 s"),
        *(still, "", f"fake:model: 429, try 4 of {MAX_TRIES} in 8 s"),
        *(still, ""),
    ]
    assert [at for at, _ in heard[2::3]] == replies.times[:3]


# The first pauses are drawn evenly between 0 and bounds that double: 0.5, 1, 2, ... 20 seconds.
@virtual_time
async def test_full_jitter() -> None:
    rounds = []
    for _ in range(100):
        replies = Replies(*[RequestRefused(500, "no")] * 8, "good")
        await (await service(replied=True)).call(replies)
        rounds.append(replies.pauses)

    for attempts, drawn in enumerate(zip(*rounds, strict=True)):
        bound = min(20, 0.5 * 2**attempts)
        assert 0 <= min(drawn) < 0.2 * bound
        assert 0.8 * bound < max(drawn) <= bound + 1e-6
        assert 0.35 * bound < sum(drawn) / 100 < 0.65 * bound


# A service that has replied, or asks to wait, gets more tries; one that is given up has to reply
# again before it does. The sentence says how often it was tried.
@virtual_time
async def test_retries_end() -> None:
    fake, tries = await service(), []
    for status, replies in ((503, False), (429, False), (503, True), (503, False)):
        if replies:
            await fake.call(Replies("good"))
        never = Replies(RequestRefused(status, "no"))
        words = r"after \d+ tries in \d+ seconds: try again later"
        await fails(fake.call(never), ModelUnavailableError, words)
        tries.append(len(never.times))

    assert tries == [FIRST_TRIES, MAX_TRIES, MAX_TRIES, FIRST_TRIES]


# retry-after-ms and Retry-After as a date are obeyed, with a little jitter;
# nonsense is ignored.
@pytest.mark.parametrize("status", [429, 503])
@virtual_time
async def test_retry_after(status: int) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    exact = HttpError(status, "7000", "retry-after-ms")
    busy = Replies(exact, HttpError(status, date), HttpError(status, "soon"), "good")
    await (await service(replied=True)).call(busy)

    assert 7 <= busy.pauses[0] <= 7.06
    assert 28 <= busy.pauses[1] <= 30.2
    assert busy.pauses[2] <= 2


# A wait that is longer than what is left is not begun, and holds nobody off.
@pytest.mark.parametrize(("replied", "wait"), [(False, 121), (True, 3600)])
@virtual_time
async def test_too_long_a_wait(replied: bool, wait: int) -> None:
    fake = await service(replied=replied)
    busy = Replies(HttpError(429, str(wait)))
    words = f"asks to wait {wait} seconds, after 1 try .*GRAPHREADER_REQUESTS_PER_MINUTE"
    await fails(fake.call(busy), ModelUnavailableError, words)
    await fake.call(Replies("good"))

    assert now() == 0


# A final refusal is not retried, says which variable to check, and never repeats a key. A mistake
# in a program is not taken for a failing service: it is raised as it is.
@pytest.mark.parametrize(
    ("failure", "error", "words"),
    [
        ((401, "Incorrect API key: sk-abcdefghij"), ModelClosedError, "check OPENAI_API_KEY"),
        ((404, "The model `fake` does not exist"), ModelClosedError, "check GRAPHREADER_MODEL"),
        ((429, "You exceeded your current quota."), ModelClosedError, "quota of fake:model"),
        ((413, "Too large with sk-abcdefghij"), ModelRefusedError, r"\(413: Too large with"),
        ((400, "The maximum context length is 2048"), WindowError, "GRAPHREADER_WINDOW"),
        ((400, "Unsupported parameter: 'seed'."), RequestRejected, "seed"),
        (KeyError("plan"), KeyError, "plan"),
    ],
)
@virtual_time
async def test_final_refusals(failure: Any, error: type[Exception], words: str) -> None:
    refused = Replies(failure if isinstance(failure, KeyError) else RequestRefused(*failure))
    sentence = await fails((await service(replied=True)).call(refused), error, words)

    assert "sk-abc" not in sentence
    assert len(refused.times) == 1


# A service that has replied may miss its time a few times, another one not; the setting is named.
@virtual_time
async def test_timeouts() -> None:
    fake, other = await service(replied=True, timeout=30), await service(timeout=30)
    forgiven = Replies(*[HANGS] * MAX_TIMEOUTS, "good")
    silent, unknown = Replies(HANGS), Replies(HANGS)

    assert await fake.call(forgiven) == "good"
    await fails(fake.call(silent), ModelUnavailableError, r"GRAPHREADER_TIMEOUT \(now 30")
    assert len(silent.times) == MAX_TIMEOUTS + 1
    await fails(other.call(unknown), ModelUnavailableError, "did not reply in time")
    assert len(unknown.times) == 1


# The health check is made once; the requests that wait for it hold no slot, and fail with it.
@pytest.mark.usefixtures("limits")
@virtual_time
async def test_health_check(monkeypatch: pytest.MonkeyPatch) -> None:
    configure_rate_limits(1)
    checks = []

    async def nobody(url: str, variable: str) -> None:
        await asyncio.sleep(5)
        checks.append(now())
        raise ModelUnavailableError(f"Nothing answers at {url}.")

    monkeypatch.setattr(retry, "check_health", nobody)
    fake, replies, other = await service(url="http://host/v1"), Replies("good"), Replies("good")
    calls = [*(fake.call(replies) for _ in range(10)), (await service()).call(other)]
    results = await asyncio.gather(*calls, return_exceptions=True)

    assert [str(one) for one in results] == ["Nothing answers at http://host/v1."] * 10 + ["good"]
    assert (checks, replies.times, other.times) == ([5], [], [0])


# A request that pauses leaves its slot to others; cancelling ends a call wherever it waits.
@pytest.mark.usefixtures("limits")
@virtual_time
async def test_slots() -> None:
    configure_rate_limits(1)
    fake = await service()
    busy, silent, waiting = Replies(HttpError(429, "9")), Replies(HANGS), Replies("never sent")
    tasks = [asyncio.create_task(fake.call(one)) for one in (busy, silent, waiting)]
    await asyncio.sleep(20)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert all(isinstance(one, asyncio.CancelledError) for one in results)
    assert (len(busy.times), len(silent.times), waiting.times) == (1, 1, [])
    assert await fake.call(Replies("good")) == "good"
    assert now() == 20


# A reply that reports its usage counts with that in place of the estimate.
@pytest.mark.usefixtures("limits")
@virtual_time
async def test_tokens() -> None:
    configure_rate_limits(8, tokens_per_minute=1000)
    fake, second = await service(), Replies("good")
    usage: Any = {"input_tokens": 41, "output_tokens": 9, "total_tokens": 50}
    await fake.call(Replies(AIMessage("good", usage_metadata=usage)), tokens=900)
    await fake.call(second, tokens=800)

    assert second.times == [0]


# What every question would meet ends a batch of questions at once, as do some outages in a row; an
# answer resets the count, other errors do not count.
def test_outages() -> None:
    breaker, fatal = CircuitBreaker(), SettingsError("Set a key.")
    outages = [Neo4jUnavailableError("No Neo4j."), ModelUnavailableError("No model.")]
    allowed = (outages * MAX_OUTAGES)[: MAX_OUTAGES - 1]

    assert breaker.record_error(fatal) is fatal
    assert not any(breaker.record_error(error) for error in allowed)
    breaker.record_answer()
    assert not any(breaker.record_error(error) for error in allowed)
    assert breaker.record_error(DecisionError("One reply was no use.")) is None
    end = breaker.record_error(ModelUnavailableError("No model."))
    assert str(end) == "No model. No more questions are asked meanwhile."
