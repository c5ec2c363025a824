"""The choice of a worker of a cluster and its failures, without Ray."""

import asyncio
import pickle
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from graphreader import cluster
from graphreader.cluster import LOCAL, Worker, Workers
from graphreader.errors import DecisionError, SettingsError
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.structured_output import UnusableReply
from graphreader.settings import Settings
from graphreader.usage import Usage


class LostError(Exception):
    """In place of Ray's errors about lost actors."""


class Remote:
    """A method of an actor on a node that is lost, or not."""

    def __init__(self, result: str | None) -> None:
        self.result = result

    async def remote(self, *_: Any) -> str:
        if self.result is None:
            raise LostError
        return self.result


class Handle:
    """An actor, all of whose methods return its name."""

    def __init__(self, name: str | None) -> None:
        self.decide = self.ready = self.release = self.announce = Remote(name)


# Lost workers, of which none is busy, are left out while another one is there.
async def test_lost_workers_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_PAUSE", 0.0)
    lost = {f"lost-{n}": Handle(None) for n in range(4)}
    workers = Workers({**lost, "left": Handle("left")}, Handle(""), (LostError,))
    called = [await workers.call("decide") for _ in range(3)]
    workers.close()

    assert called == ["left"] * 3


# Where all are lost, an ingest ends as where the model is away: what has been extracted is written.
async def test_all_workers_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_PAUSE", 0.0)
    workers = Workers({"lost": Handle(None)}, Handle(""), (LostError,))
    with pytest.raises(DecisionError, match="has lost its workers"):
        await workers.call("decide")
    workers.close()


# A worker's failure comes with its cost: Ray pickles it.
def test_failures_are_pickled() -> None:
    failure = UnusableReply("refused")
    failure.spent = Usage(1, 20, 3)
    sent = pickle.loads(pickle.dumps(failure))

    assert (str(sent), sent.kind, sent.spent) == (str(failure), "refused", failure.spent)


# What a node lacks is told in one sentence, as where one process lacks it.
async def test_a_node_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get_actor=lambda _: Handle("")))
    monkeypatch.setattr(cluster, "set_rate_limiter", lambda _: None)  # tests share this loop
    worker = Worker("one", Settings(model="openai:fake"), "limits")
    failure = await worker.decide(ExtractionTask("Life", "Anna met Bert."), None, None)

    assert isinstance(failure, SettingsError)
    assert str(failure).startswith("OPENAI_API_KEY is not set")


# Who is stopped while Ray starts waits for that: Ray cannot be shut down before.
async def test_stopped_while_ray_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    steps, may_start = list[str](), threading.Event()

    def init(**_: Any) -> None:
        may_start.wait()
        steps.append("started")

    errors = SimpleNamespace(RayActorError=LostError, ObjectLostError=LostError)
    ray = {"exceptions": errors, "is_initialized": lambda: False, "init": init}
    ray["shutdown"] = lambda: steps.append("shut down")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(**ray))
    starting = asyncio.create_task(cluster.cluster(LOCAL, Settings()).__aenter__())
    await asyncio.sleep(0.01)
    starting.cancel()
    await asyncio.sleep(0.01)
    may_start.set()
    with pytest.raises(asyncio.CancelledError):
        await starting

    assert steps == ["started", "shut down"]
