"""Several servers on one PostgreSQL (GRAPHREADER_DATABASE), and one that is away."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import SecretStr

from graphreader.agent.adaptive.tasks import TurnTask
from graphreader.agent.decisions import RationalPlan
from graphreader.agent.run_store import RunStore
from graphreader.agent.tasks import PlanTask
from graphreader.database import Database
from graphreader.errors import UsageError
from graphreader.settings import Settings
from graphreader.web.access import AccessError, LimitError, TokenStore
from graphreader.web.jobs import Job, JobStore
from tests.postgres import PASSWORD, Postgres
from tests.runs import chronicle, mind, world
from tests.runs.forks import Fork, Forks
from tests.runs.openai_faults import SilentAfter
from tests.runs.openai_server import OpenAIServer
from tests.runs.test_serve_command import AT_ONCE, CHUNKS, started, upload, watched
from tests.runs.web_server import Gate, client, finished_job, serving
from tests.terminal import Terminal, closed_port, wait_for

pytestmark = pytest.mark.slow

Start = Callable[[str], tuple[Fork, str]]


@pytest.fixture
def address(postgres: Postgres) -> str:
    return postgres.new_database()


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer(mind.think) as model:
        yield model


@pytest.fixture
def start(
    forks: Forks, neo4j: Settings, address: str, model: OpenAIServer, tmp_path: Path
) -> Iterator[Start]:
    """Starts a server with a home of its own; returns it, and its address."""
    with ExitStack() as stack:

        def start(name: str) -> tuple[Fork, str]:
            home = tmp_path / name
            given = chronicle.settings(neo4j, model, home, concurrency=AT_ONCE, timeout=60.0)
            fork, url = started(forks, given, home, GRAPHREADER_DATABASE=address)
            stack.callback(fork.kill)
            return fork, url

        yield start


def parts_of_page(address: str, run: str) -> list[str]:
    """What the page of a run shows, one after the other, until it is over."""
    with client(address) as web, web.stream("GET", f"/runs/{run}/live") as response:
        return response.read().decode().split("event: part")


# A server that is killed in the middle of a question and of jobs leaves both to another one, which
# sees them at once, and pays for nothing twice but what was under way.
@pytest.mark.usefixtures("cleaned")
def test_killed_server(start: Start, model: OpenAIServer, corpus: str) -> None:
    (first, one), (_, other) = start("one"), start("other")
    with client(one) as web, client(other) as there, ThreadPoolExecutor(1) as thread:
        finished_job(there, upload(web, corpus, 0, 2))
        asking, reading = SilentAfter(2), SilentAfter(3)
        model.script = asking
        run = web.post(
            f"/api/corpora/{corpus}/questions",
            json={"question": chronicle.question(1)},
            headers={"Prefer": "respond-async"},
        ).json()["run"]
        wait_for(asking.hangs.is_set)
        model.script = reading
        jobs = [upload(web, corpus, 10, CHUNKS), upload(web, corpus, 20, 1)]
        wait_for(reading.hangs.is_set)
        page = thread.submit(parts_of_page, other, run)
        under_way = there.get(f"/api/runs/{run}").json()["status"]
        refused = there.post(f"/api/runs/{run}/stop")
        states = [there.get(f"/api/jobs/{job}").json()["state"] for job in jobs]
        model.script = None
        os.kill(first._process, signal.SIGKILL)
        first.end()
        shown = page.result()[-1]
        stopped = there.get(f"/api/runs/{run}").json()["status"]
        there.post(f"/api/runs/{run}/resume")
        resumed = watched(other, run)
        reply = there.get(f"/api/runs/{run}").json()["reading"]
        read = [finished_job(there, job) for job in jobs]

    assert "interrupted" in shown
    assert (under_way, stopped, states) == ("running", "interrupted", ["running", "queued"])
    assert "under way in another process" in refused.json()["detail"]
    assert resumed[-1] == "QuestionAnswered"
    assert reply["answer"] == chronicle.meeting(1)
    assert [one["report"]["documents"][0]["chunks"] for one in read] == [CHUNKS, 1]
    assert len(model.asked_again()) <= AT_ONCE


# A job is cancelled at another server than that which does it; the next one follows.
@pytest.mark.usefixtures("cleaned")
def test_cancelled_elsewhere(start: Start, model: OpenAIServer, corpus: str) -> None:
    model.script = hanging = SilentAfter(0)
    (_, one), (_, other) = start("one"), start("other")
    with client(one) as web, client(other) as there:
        job = upload(web, corpus, 0, 1)
        wait_for(hanging.hangs.is_set)
        model.script = None
        following = upload(there, corpus, 10, 1)
        there.post(f"/api/jobs/{job}/cancel")
        wait_for(lambda: web.get(f"/api/jobs/{following}").json()["state"] == "finished")
        cancelled = web.get(f"/api/jobs/{job}").json()["state"]

    assert cancelled == "cancelled"


# Servers do jobs of different corpora side by side, and those of one corpus in turn; those of a
# server that is gone are free.
async def test_claimed_once(address: str, tmp_path: Path) -> None:
    one, other = JobStore(address), JobStore(address)
    for number, corpus in enumerate("ccd"):
        job = Job(str(number), corpus, "anna", (), "queued", float(number), 0.0)
        await one.add(job, tmp_path)
    claimed = [await one.claim(with_tokens=True), await other.claim(with_tokens=True)]
    await one.aclose()
    claimed.append(await other.claim(with_tokens=True))
    await other.aclose()

    assert [one.job for one in claimed if one] == ["0", "2", "0"]


# A run that one server has stopped and another one ended is over at both.
def test_resumed_elsewhere(
    neo4j: Settings, ring: str, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("graphreader.web.live_runs.STORED_SECONDS", 0.0)
    gate = Gate()
    gate.open.clear()
    given = {"mode": "adaptive", "kept_runs": 50, "database": SecretStr(address)}
    one, other = [
        world.reader(
            *(neo4j, ring, world.scripted(world.RING_FACTS, {TurnTask: gate})),
            **{"home": tmp_path / name, **given},
        )
        for name in ("one", "other")
    ]
    with serving(one) as here, serving(other) as there, client(here) as web, client(there) as then:
        run = web.post(
            f"/api/corpora/{ring}/questions",
            json={"question": "Whom did Alpha meet?"},
            headers={"Prefer": "respond-async"},
        ).json()["run"]
        wait_for(lambda: gate.waiting > 0)
        web.post(f"/api/runs/{run}/stop")
        gate.open.set()
        then.post(f"/api/runs/{run}/resume")
        events = watched(there, run)
        shown = [each.get(f"/api/runs/{run}").json()["status"] for each in (web, then)]

    assert events[-1] == "QuestionAnswered"
    assert shown == ["finished", "finished"]


# A token opens every server, its limits of a day count for all of them, and it ends everywhere.
def test_tokens(address: str) -> None:
    one, other = TokenStore(address), TokenStore(address)
    secret = one.create("anna", "reader", ["books"], calls=2)
    token = other.find(secret)
    assert token
    for store in (one, other):
        store.spend(token, 1, 100)
    for store in (one, other):
        with pytest.raises(LimitError):
            store.check(token)
    with pytest.raises(UsageError, match="already"):
        other.create("anna", "admin")
    other.revoke("anna")
    gone = one.find(secret)
    for store in (one, other):
        store.close()

    assert gone is None


# While PostgreSQL does not answer, who has a limit a day waits, and the event loop goes on.
async def test_slow_limits(address: str) -> None:
    tokens, other = TokenStore(address), RunStore(address)
    token = tokens.find(tokens.create("anna", "admin", calls=1))
    quota = tokens.quota(token)
    assert quota
    await other.do("locked", lambda one: one.execute("BEGIN; LOCK TABLE spent", prepare=False))
    taking = asyncio.create_task(quota.take(100))
    await asyncio.sleep(0.5)
    was_waiting = not taking.done()
    await other.do("unlocked", lambda one: one.execute("ROLLBACK"))
    await taking
    with pytest.raises(LimitError):
        await quota.take(100)
    tokens.close()
    await other.aclose()

    assert was_waiting


# Where no PostgreSQL answers, one sentence names the setting and the place, without the password:
# a server does not start, `doctor` says so, and a lack of rights is called one.
def test_away_at_start(terminal: Terminal, address: str) -> None:
    away = f"postgresql://tests:{PASSWORD}@127.0.0.1:{closed_port()}/runs"
    terminal.set(GRAPHREADER_DATABASE=away, GRAPHREADER_MODEL="offline")
    served, listed = terminal.run("serve"), terminal.run("runs", "list")
    terminal.set(NEO4J_URI=f"bolt://127.0.0.1:{closed_port()}", NEO4J_PASSWORD="x")
    checks = terminal.run("doctor", "--json").json["checks"]
    wrong = address.replace(PASSWORD, "wrong-horse")
    with pytest.raises(AccessError) as refused:
        TokenStore(wrong).all()

    for outcome in (served, listed):
        assert outcome.code == 1
        assert "127.0.0.1" in outcome.err
        assert "(GRAPHREADER_DATABASE) cannot be read" in outcome.err
        assert "Connection refused" in " ".join(outcome.err.split())
        assert PASSWORD not in outcome.err
    assert PASSWORD not in str(checks)
    assert [one["ok"] for one in checks if one["name"] == "runs"] == [False]
    assert "password authentication failed" in str(refused.value)
    assert "wrong-horse" not in str(refused.value)


# A PostgreSQL that goes away in the middle of a question costs what was to be kept of it; one that
# comes back in time costs nothing. Later questions are kept again.
@pytest.mark.parametrize("comes_back", [True, False])
def test_away_in_the_middle(
    neo4j: Settings, ring: str, comes_back: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Database, "patience", 60.0 if comes_back else 0.0)
    monkeypatch.setattr("graphreader.database.RETRY_SECONDS", 0.0)
    with Postgres() as server:

        def plan(task: PlanTask) -> RationalPlan:
            server.stop()
            if comes_back:
                server.start()
            return world.plan(task)

        given = {"home": tmp_path, "database": SecretStr(server.new_database()), "initial_nodes": 1}
        faulty = world.scripted(world.RING_FACTS, {PlanTask: plan})
        with world.reader(neo4j, ring, faulty, **given) as reader:
            reading = reader.ask("Whom did Alpha meet?")
        if not comes_back:
            server.start()
        with world.reader(neo4j, ring, world.scripted(world.RING_FACTS, {}), **given) as reader:
            later = reader.ask("Whom did Alpha meet?")
            kept = [one.status for one in reader.runs()]

    notes = [note for note in reading.notes if "without being kept" in note]
    assert [PASSWORD in note for note in notes] == ([] if comes_back else [False])
    assert not [note for note in later.notes if "without being kept" in note]
    assert kept == ["finished", "finished" if comes_back else "interrupted"]


# A lost connection is opened again at the next step, and its run stays that of its process. No
# request is refused for the lost connection of the tokens.
async def test_lost_connection(address: str) -> None:
    query = """
    SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
    """
    one, other, tokens = RunStore(address), RunStore(address), TokenStore(address)
    await one.begin("r", "c", "Who?", {})
    tokens.create("anna", "admin")
    await other.do("read", lambda connection: connection.execute(query))
    await one.saver()
    names = [token.name for token in tokens.all()]
    tokens.close()
    kept = await other.get("r")
    for store in (one, other):
        await store.aclose()

    assert kept.summary.status == "running"
    assert names == ["anna"]


# Processes that start at the same moment make the tables once.
async def test_tables_are_made_once(address: str) -> None:
    stores = [RunStore(address) for _ in range(6)]
    await asyncio.gather(*(store.saver() for store in stores))
    begun = [await store.begin("r", "c", "Who?", {}) for store in stores]
    for store in stores:
        await store.aclose()

    assert begun == [True] + [False] * 5
