"""Kept replies survive other processes, kills and damage; and no trouble with them fails a run."""

import asyncio
import multiprocessing
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.decisions import RationalPlan
from graphreader.agent.tasks import PlanTask
from graphreader.errors import BudgetError, CacheError
from graphreader.llm import cache as cache_module
from graphreader.llm.cache import DecisionCache, ReplyCache
from graphreader.llm.protocols import DecisionResult
from graphreader.usage import Usage
from graphreader.waiting import Waiting, announced_if_slow, listening

# Other processes are forked from one that has imported this module.
PROCESSES = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
PROCESSES.set_forkserver_preload([__name__])


def write(place: Path | str, written: Connection) -> None:
    """Keep replies without end, in another process, and tell the number of each."""

    async def writing() -> None:
        cache = ReplyCache(place)
        for number in range(100_000):
            await cache.put(f"one {number}", f"reply {number}", model="m")
            written.send(number)

    asyncio.run(writing())


def ask(place: Path | str, go_on: Connection) -> None:
    """Ask for a plan in another process, and reply when told to."""

    class Slow(Asking):
        async def __call__(self) -> DecisionResult[RationalPlan]:
            go_on.send("asked")
            go_on.recv()
            return await super().__call__()

    decisions = DecisionCache(ReplyCache(place), "fake:model", 0.2)
    asyncio.run(decisions.get_or_ask(PLAN, ["the prompt"], Slow()))


@contextmanager
def another(work: Callable[..., None], place: Path | str) -> Iterator[tuple[Any, Connection]]:
    """Another process that works at a place, until the block ends, and a pipe to it."""
    ours, its = PROCESSES.Pipe()
    process = PROCESSES.Process(target=work, args=(place, its))
    process.start()
    its.close()
    with ours:
        yield process, ours
        process.kill()
        process.join()
    process.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "replies.sqlite"


IN_A_FILE = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


@pytest.fixture
async def cache(place: Path | str) -> AsyncIterator[ReplyCache]:
    cache = ReplyCache(place)
    yield cache
    await cache.aclose()


# What was kept is found under its key, by others too, and the last reply counts; any text will do.
async def test_kept(cache: ReplyCache, place: Path | str) -> None:
    await cache.put("a", "first", model="m")
    await cache.put("a", "second", model="m")
    await cache.put("b", "other", model="m")
    other = ReplyCache(place)

    await cache.put("key", "贞德\0😀\r\n", model="m")
    assert await other.get("key") == "贞德\0😀\r\n"
    assert [await cache.get(key) for key in "abc"] == ["second", "other", None]
    assert [await other.get(key) for key in "abc"] == ["second", "other", None]
    assert cache.trouble is None
    await other.aclose()


# Looking for a reply makes neither file nor folder, nor does counting or clearing.
@IN_A_FILE
async def test_nothing_made(cache: ReplyCache, path: Path) -> None:
    assert await cache.get("a") is None
    assert cache.stats().replies == 0
    assert cache.clear() == 0
    await cache.aclose()

    assert not path.parent.exists()
    assert cache.trouble is None


# What was said to be kept is there after the writer was killed in the middle of writing.
async def test_a_killed_writer(cache: ReplyCache, place: Path | str) -> None:
    with another(write, place) as (_, written):
        for _ in range(50):
            last = written.recv()

    assert last == 49
    assert None not in [await cache.get(f"one {number}") for number in range(50)]
    await cache.put("more", "reply", model="m")
    assert await cache.get("more") == "reply"
    assert cache.trouble is None


# A damaged file is left as it is until it is cleared: no reply is read or kept, and a sentence says
# what to do.
@IN_A_FILE
async def test_damage(cache: ReplyCache, path: Path) -> None:
    for number in range(50):
        await cache.put(f"key {number}", "reply" * 200, model="m")
    await cache.aclose()
    path.write_bytes(b"no database " * 1000)
    damaged = path.read_bytes()

    await cache.put("new", "reply", model="m")
    assert await cache.get("new") is None
    assert await cache.get("key 7") is None
    assert path.read_bytes() == damaged
    assert "`graphreader cache clear`" in (cache.trouble or "")
    with pytest.raises(CacheError, match="graphreader cache clear"):
        cache.stats()
    assert cache.clear() == 0
    assert not path.exists()
    anew = ReplyCache(path)
    await anew.put("new", "reply", model="m")
    assert await anew.get("new") == "reply"
    assert anew.trouble is None
    await anew.aclose()


# Who is cancelled while it takes the place of a request does not keep it.
@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_cancelled_claim(cache: ReplyCache, place: Path | str) -> None:
    key, busy = cache_module.key_of("a request"), threading.Event()
    async with asyncio.timeout(10):
        waiting = asyncio.create_task(cache._database.arun(busy.wait))
        claiming = asyncio.create_task(_claim(cache, key))
        await asyncio.sleep(0.01)
        claiming.cancel()
        await asyncio.sleep(0.01)
        busy.set()
        await asyncio.wait([waiting, claiming])
        other = ReplyCache(place)
        await _claim(other, key)
        await other.aclose()

    assert claiming.cancelled()


async def _claim(cache: ReplyCache, key: str) -> None:
    async with cache.claimed(key):
        pass


# Where no file can be made nothing is kept, nothing fails, and one sentence says why.
async def test_no_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file, no folder")
    cache = ReplyCache(tmp_path / "file" / "home" / "replies.sqlite")
    await cache.put("a", "reply", model="m")

    assert await cache.get("a") is None
    assert (cache.trouble or "").startswith("The run goes on without kept replies: ")
    assert "GRAPHREADER_HOME" in (cache.trouble or "")
    await cache.aclose()


# A program that holds the file for long delays a run once, not with every reply.
@IN_A_FILE
async def test_locked(cache: ReplyCache, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreader.database.LOCK_SECONDS", 0.2)
    await cache.put("a", "reply", model="m")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    for number in range(20):
        await cache.put(f"late {number}", "reply", model="m")
    seconds = time.monotonic() - began
    holder.execute("ROLLBACK")
    holder.close()

    assert seconds < 2
    assert "locked" in (cache.trouble or "")


# A reply that was paid for is kept, even where the one who waits for that is cancelled; closing
# writes it, and leaves one file without a journal; later use opens it again.
@IN_A_FILE
async def test_cancelled_and_closed(cache: ReplyCache, path: Path) -> None:
    tasks = [asyncio.create_task(cache.put(str(n), "reply", model="m")) for n in range(20)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    await cache.aclose()

    assert [type(one) for one in results] == [asyncio.CancelledError] * 20
    assert not path.with_name("replies.sqlite-wal").exists()
    assert None not in [await cache.get(str(number)) for number in range(20)]


PLAN = PlanTask("Who?")
ONE_CALL = Usage(calls=1, input_tokens=7)


class Asking:
    """Decides after a moment; `calls` counts the requests. The first one may fail or hang."""

    def __init__(self, first: Exception | asyncio.Event | None = None) -> None:
        self.calls = 0
        self._first = first

    async def __call__(self) -> DecisionResult[RationalPlan]:
        self.calls += 1
        plan = RationalPlan(plan=f"plan {self.calls}")
        first, self._first = self._first, None
        if isinstance(first, asyncio.Event):
            await first.wait()
        await asyncio.sleep(0.01)
        if isinstance(first, Exception):
            raise first
        return DecisionResult(plan, PLAN, ONE_CALL)


@pytest.fixture
def decisions(cache: ReplyCache) -> DecisionCache:
    return DecisionCache(cache, "fake:model", 0.2)


# Of many who ask for the same, one pays; later ones find it kept; other texts are other decisions.
async def test_asked_once(decisions: DecisionCache) -> None:
    asking = Asking()
    calls = [decisions.get_or_ask(PLAN, ["the prompt"], asking) for _ in range(5)]
    results = await asyncio.gather(*calls)
    later = await decisions.get_or_ask(PLAN, ["the prompt"], asking)
    other = await decisions.get_or_ask(PLAN, ["another prompt"], asking)

    assert {one.decision.plan for one in (*results, later)} == {"plan 1"}
    assert [one.usage for one in (*results, later)] == [ONE_CALL, *[Usage(reused=1)] * 5]
    assert (other.decision.plan, other.usage) == ("plan 2", ONE_CALL)


# Another process that asks the same is waited for, which is said, and its reply is used; if it is
# killed, or does not go on, we ask.
@pytest.mark.skipif(sys.platform == "win32", reason="needs locks that end with their process")
@pytest.mark.parametrize("fate", ["replies", "is killed", "is suspended"])
async def test_another_process_asks(
    decisions: DecisionCache, place: Path | str, fate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_CLAIM_SECONDS", 1.0 if "suspended" in fate else 300.0)
    at_once = partial(announced_if_slow, after=0.05)
    monkeypatch.setattr(cache_module, "announced_if_slow", at_once)
    asking = Asking()
    with another(ask, place) as (process, other):
        assert other.recv() == "asked"
        heard = asyncio.Queue[Waiting]()
        with listening(heard.put_nowait):
            task = asyncio.create_task(decisions.get_or_ask(PLAN, ["the prompt"], asking))
        waiting = await heard.get()
        before = asking.calls
        if fate == "replies":
            other.send("reply")
        if fate == "is killed":
            process.kill()
        result = await task

    assert "the same request of another process" in waiting.text
    assert before == 0
    assert asking.calls == (fate != "replies")
    assert result.usage == (Usage(reused=1) if fate == "replies" else ONE_CALL)


# Where the one who asked fails or is cancelled, exactly one of the others asks.
@pytest.mark.parametrize(
    "first",
    [BudgetError("Used up."), KeyError("plan"), asyncio.Event()],
    ids=["fails", "has a bug", "is cancelled"],
)
async def test_another_one_asks(decisions: DecisionCache, first: Any) -> None:
    asking = Asking(first)
    calls = [decisions.get_or_ask(PLAN, ["the prompt"], asking) for _ in range(5)]
    tasks = [asyncio.create_task(call) for call in calls]
    while not asking.calls:
        await asyncio.sleep(0.001)
    if isinstance(first, asyncio.Event):
        tasks[0].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(results[0], BudgetError | KeyError | asyncio.CancelledError)
    assert {one.decision.plan for one in results[1:]} == {"plan 2"}  # type: ignore[union-attr]
    assert asking.calls == 2
