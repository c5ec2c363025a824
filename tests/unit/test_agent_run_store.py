"""The store of kept runs, and what a file that fails costs."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from graphreader.agent.run_store import RunStore, check_run_id, new_run_id
from graphreader.errors import RunsError, UnknownRunError, UsageError
from graphreader.reading import Citation, Claim, FunctionCall, Reading
from graphreader.reading import Path as Exploration
from graphreader.usage import Usage

OPTIONS = {"decider": "scripted", "keep_run": False}

READING = Reading(
    question="Who?",
    answer="Ada — 是她。",
    analysis="",
    answered=True,
    corpus="c",
    plan="p",
    citations=(Citation("book", "d", 0, 1, 4, "Ada", page=3),),
    paths=(
        Exploration("Ada", "n", 1, "termination", None, (FunctionCall("f", "a", "r", "Ada", "k"),)),
    ),
    usage=Usage(calls=3, dollars=0.5),
    phases={"plan": Usage(calls=3)},
    notes=("one",),
    claims=(Claim("Ada", (1,)),),
    run="r",
)

IN_ANOTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
from graphreader.agent.run_store import RunStore

async def main():
    place = sys.argv[1]
    store = RunStore(place if "://" in place else Path(place))
    for id in ("other", "another"):
        await store.begin(id, "c", "Who?", {})
    print("begun", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""

THREAD: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "runs.sqlite"


IN_A_FILE = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


@pytest.fixture
async def store(place: Path | str) -> AsyncIterator[RunStore]:
    store = RunStore(place)
    yield store
    await store.aclose()


async def begin(store: RunStore, *ids: str) -> None:
    for id in ids:
        assert await store.begin(id, "c", "Who?", OPTIONS)


# Looking makes no file; the first run does, and only its owner may read it.
@IN_A_FILE
async def test_private_file(store: RunStore, path: Path) -> None:
    assert await store.summaries() == []
    assert not path.exists()
    await begin(store, "r")
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}

    assert modes == dict.fromkeys(("runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"), 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


# An id is entered once; a finished run gives its whole reading back, whatever characters it has.
async def test_reading_is_kept(store: RunStore) -> None:
    await begin(store, "r")
    again = await store.begin("r", "c", "What?", OPTIONS)
    before = await store.get("r")
    await store.end("r", "finished", READING)
    after = await store.get("r")

    assert not again
    assert (before.summary.status, before.summary.process) == ("running", os.getpid())
    assert (after.summary.status, after.summary.process) == ("finished", None)
    assert (after.reading, after.options) == (READING, OPTIONS)
    assert (after.summary.decider, after.summary.question) == ("scripted", "Who?")


# A failed run keeps its reading and its error until it is taken up; then nobody else can take it,
# until it ends again. Of two who take it at the same moment one does.
async def test_taken_once(store: RunStore, place: Path | str) -> None:
    await begin(store, "r")
    await store.end("r", "failed", READING, "Nobody answers.")
    failed = await store.get("r")
    await store.take(failed)
    with pytest.raises(UsageError, match="under way"):
        await store.take(failed)
    taken = await store.get("r")
    with pytest.raises(UsageError, match=f"in process {os.getpid()}"):
        await store.take(taken)
    await store.end("r", "interrupted")
    other = RunStore(place)
    left = await other.get("r")
    takes = (one.take(left) for one in (store, other))
    race = await asyncio.gather(*takes, return_exceptions=True)
    await other.aclose()

    assert (failed.summary.status, failed.summary.error) == ("failed", "Nobody answers.")
    assert failed.reading == READING
    assert (taken.summary.status, taken.summary.error, taken.reading) == ("running", None, None)
    assert left.summary.status == "interrupted"
    assert {type(one) for one in race} == {type(None), UsageError}


# Who has seen a run as interrupted does not take it once it has ended.
async def test_ended_meanwhile(store: RunStore) -> None:
    await begin(store, "r")
    seen = await store.get("r")
    seen = replace(seen, summary=replace(seen.summary, status="interrupted"))
    await store.end("r", "finished", READING)
    with pytest.raises(UsageError, match="under way"):
        await store.take(seen)

    assert (await store.get("r")).reading == READING


# A unique prefix of an id is enough, and a whole id counts before longer ones.
async def test_prefixes_of_ids(store: RunStore) -> None:
    await begin(store, "abc", "abcd", "a%", "b_1")

    for prefix, id in (("abc", "abc"), ("b", "b_1"), ("a%", "a%")):
        assert (await store.get(prefix)).summary.run == id
    assert await store.find("ab") is None
    with pytest.raises(UnknownRunError, match="Several"):
        await store.get("ab")
    for none in ("z", "", "%", "B"):
        with pytest.raises(UnknownRunError, match="runs list"):
            await store.get(none)


# The newest are listed first, of one corpus or of all.
async def test_listed(store: RunStore) -> None:
    for id, corpus in (("1", "c"), ("2", "d"), ("3", "c")):
        await store.begin(id, corpus, "Who?", OPTIONS)

    assert [run.run for run in await store.summaries()] == ["3", "2", "1"]
    assert [run.run for run in await store.summaries("c")] == ["3", "1"]


# Of the finished runs those that ended last stay, also one that began long ago and was resumed, and
# of those that broke off as many; none under way goes.
async def test_expired(store: RunStore) -> None:
    await begin(store, "f3", "f1", "f2", "b3", "b1", "b2", "r1", "r2", "r3")
    for id in ("f1", "f2", "f3"):
        await store.end(id, "finished", READING)
    for id in ("b1", "b2", "b3"):
        await store.end(id, "interrupted")

    assert [await store.expired(2), await store.expired(3)] == [["f1", "b1"], []]


# A run whose process is gone is interrupted, and expires; while it lives, nobody else takes it.
# Another store of the same process does not take it either.
async def test_process(store: RunStore, place: Path | str) -> None:
    arguments = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(place)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        alive = await store.get("other")
        with pytest.raises(UsageError, match=f"in process {other.pid}"):
            await store.take(alive)
        other.kill()
    async with asyncio.timeout(30):  # PostgreSQL sees that a client is gone after a moment
        while (dead := await store.get("other")).summary.status == "running":
            await asyncio.sleep(0.01)
    expired = await store.expired(1)
    await store.take(dead)
    second = RunStore(place)
    seen = await second.get("other")
    await second.aclose()

    assert (alive.summary.status, alive.summary.process) == ("running", other.pid)
    assert (dead.summary.status, dead.summary.process) == ("interrupted", None)
    assert len(expired) == 1
    assert (seen.summary.status, seen.summary.process) == ("running", os.getpid())


# A file that is no database, or another program's, is reported and left as it is.
@IN_A_FILE
@pytest.mark.parametrize("kind", ["text", "foreign", "newer", "folder"])
async def test_useless_file(store: RunStore, path: Path, kind: str) -> None:
    path.parent.mkdir()
    if kind == "text":
        path.write_bytes(b"this is no database" * 100)
    elif kind == "folder":
        path.mkdir()
    else:
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE theirs (a)")
            database.execute(f"PRAGMA user_version = {99 if kind == 'newer' else 0}")
            database.commit()
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(RunsError, match=r"runs\.sqlite cannot be"):
        await begin(store, "r")

    assert store.failures["r"]
    assert (path.read_bytes() if path.is_file() else b"") == before


# A file that breaks in the middle costs the steps that were to be kept, and no more; who lists its
# steps is told why.
@IN_A_FILE
async def test_breaks_in_the_middle(store: RunStore, path: Path) -> None:
    saver = await store.saver()
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP TABLE checkpoints")
        other.commit()
    kept = await saver.aput(THREAD, checkpoint := empty_checkpoint(), {}, {})
    await saver.aput_writes(kept, [("plan", "p")], "task")

    assert kept["configurable"]["checkpoint_id"] == checkpoint["id"]
    assert await saver.aget_tuple(THREAD) is None
    assert "no such table" in str(store.failures["t"])
    with pytest.raises(RunsError, match="no such table"):
        _ = [one async for one in saver.alist(THREAD)]


# A full disk costs what was to be kept, however many steps wait for it.
@IN_A_FILE
async def test_full(store: RunStore) -> None:
    saver = await store.saver()
    kept = await saver.aput(THREAD, empty_checkpoint(), {}, {})
    await store.do("written", lambda file: file.execute("PRAGMA max_page_count = 1"))
    works = [saver.aput_writes(kept, [("plan", "p" * 9000)], str(n)) for n in range(8)]
    await asyncio.gather(*works)

    assert "full" in str(store.failures["t"])


# A file that is locked for long is waited for once, and then left alone. A run whose end could not
# be noted can be resumed by the same process.
@IN_A_FILE
async def test_locked(store: RunStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreader.database.LOCK_SECONDS", 0.1)
    await begin(store, "1")
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(RunsError, match="end the program that holds it"):
            await store.end("1", "failed", error="Nobody answers.")
    with pytest.raises(RunsError):
        await begin(store, "2")
    other = RunStore(path)
    left = await other.get("1")
    await other.take(left)
    await other.aclose()

    assert left.summary.status == "interrupted"


# Runs that end side by side stay finished: a run that is just ending is not taken for one of a dead
# process.
async def test_runs_side_by_side(store: RunStore) -> None:
    places = asyncio.Semaphore(8)

    async def run(id: str) -> None:
        async with places:
            await begin(store, id)
            await store.end(id, "finished", READING)
            await store.expired(keep=1000)

    await asyncio.gather(*(run(f"{number:03}") for number in range(200)))

    assert {one.status for one in await store.summaries()} == {"finished"}


# A clock that is set back makes no older checkpoint the newest one, and no living process a dead
# one; the runs of that time are not the first to expire.
async def test_clock_set_back(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    saver = await store.saver()
    before, after = [{**empty_checkpoint(), "id": id} for id in ("2", "1")]
    kept = await saver.aput(THREAD, before, {}, {})
    await begin(store, "old", "r")
    boot, now = psutil.boot_time() - 3600, time.time() - 3600
    if psutil.LINUX:
        monkeypatch.setattr("psutil._pslinux.boot_time", lambda: boot)
    monkeypatch.setattr(time, "time", lambda: now)
    await saver.aput(kept, after, {}, {})
    await begin(store, "new")
    for id in ("old", "new"):
        await store.end(id, "finished", READING)
    newest = await saver.aget_tuple(THREAD)
    running = (await store.get("r")).summary

    assert newest
    assert newest.checkpoint["id"] == "1"
    assert [one.checkpoint["id"] async for one in saver.alist(THREAD)] == ["1", "2"]
    assert (running.status, running.process) == ("running", os.getpid())
    assert await store.expired(1) == ["old"]


# What is closed stays closed, and lets go of the runs that it held.
async def test_closed(store: RunStore, place: Path | str) -> None:
    await begin(store, "r")
    await store.aclose()
    with pytest.raises(RunsError, match="closed"):
        await begin(store, "2")
    other = RunStore(place)
    run = (await other.get("r")).summary
    await other.aclose()

    assert run.status == "interrupted"


# An id can be typed and printed in one line.
def test_ids() -> None:
    assert check_run_id("question 1: é") == "question 1: é"
    assert len({new_run_id() for _ in range(1000)}) == 1000
    for wrong in ("", "  ", "a\nb", "-a", "x" * 201):
        with pytest.raises(UsageError, match="id of a run"):
            check_run_id(wrong)


# What is deleted of a run is gone with its checkpoints; those of other runs stay.
async def test_deleted(store: RunStore, place: Path | str) -> None:
    saver = await store.saver()
    await begin(store, "1", "2")
    for id in ("1", "2"):
        thread: RunnableConfig = {"configurable": {"thread_id": id, "checkpoint_ns": ""}}
        kept = await saver.aput(thread, empty_checkpoint(), {}, {})
        await saver.aput_writes(kept, [("plan", "p")], "task")
    await saver.adelete_thread("1")
    await store.delete(["1"])
    writes = "writes" if isinstance(place, Path) else "checkpoint_writes"
    names = "id FROM runs", "thread_id FROM checkpoints", f"thread_id FROM {writes}"
    query = " UNION ALL ".join(f"SELECT DISTINCT {one}" for one in names)
    left = await store.do("read", lambda connection: connection.execute(query).fetchall())

    assert left == [("2",)] * 3


# A write that is cancelled half way does not lock the file for other processes.
@IN_A_FILE
async def test_cancelled_write(store: RunStore, path: Path) -> None:
    saver = await store.saver()
    for number in range(20):
        work = asyncio.ensure_future(saver.aput(THREAD, empty_checkpoint(), {}, {}))
        for _ in range(number):
            await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait([work])
    await store.aclose()
    with closing(sqlite3.connect(path, timeout=0)) as other:
        other.execute("DELETE FROM runs")


# Work that is asked for together is done in order: what fails fails alone, what is cancelled is
# done all the same.
async def test_work_together(store: RunStore) -> None:
    done: list[int] = []

    def work(number: int) -> int:
        done.append(number)
        if number == 1:
            raise ValueError("1")
        return number

    jobs = [
        asyncio.ensure_future(store.do("read", lambda _, number=number: work(number)))
        for number in range(4)
    ]
    await asyncio.sleep(0)
    jobs[2].cancel()
    results = await asyncio.gather(*jobs, return_exceptions=True)

    assert done == [0, 1, 2, 3]
    assert (results[0], results[3]) == (0, 3)
    assert [type(one) for one in results[1:3]] == [ValueError, asyncio.CancelledError]


# Of a path's nodes only decisions and errors are kept before the checkpoint of their step; of the
# run's own nodes, of which some run side by side, the output is, too.
async def test_writes_of_paths(store: RunStore) -> None:
    saver = await store.saver()
    kept: dict[str, set[str]] = {}
    for namespace in ("", "path:1"):
        thread: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": namespace}}
        step = await saver.aput(thread, empty_checkpoint(), {}, {})
        for channel in ("notebook", "__return__", "__error__"):
            await saver.aput_writes(step, [(channel, "x")], f"task of {channel}")
        found = await saver.aget_tuple(thread)
        assert found
        kept[namespace] = {channel for _, channel, _ in found.pending_writes or ()}

    assert kept[""] == {"notebook", "__return__", "__error__"}
    assert kept["path:1"] == {"__return__", "__error__"}
