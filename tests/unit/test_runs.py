"""The file of kept runs and its register."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from graphreader.agent import run_store
from graphreader.agent.run_store import (
    Checkpoints,
    RunFile,
    RunRegistry,
    check_run_id,
    forget,
    new_id,
)
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
from graphreader.agent.run_store import Register
from graphreader.agent.run_store import RunFile

async def main():
    register = Register(RunFile(Path(sys.argv[1])))
    for number in range(int(sys.argv[3])):
        await register.begin(f"{sys.argv[2]}-{number}", "c", "Who?", {})
    print("begun", flush=True)
    if sys.stdin.read():
        await register.aclose()

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "runs.sqlite"


@pytest.fixture
async def register(path: Path) -> AsyncIterator[RunRegistry]:
    register = RunRegistry(RunFile(path))
    yield register
    await register.aclose()


def elsewhere(path: Path, name: str, runs: int = 1) -> subprocess.Popen[str]:
    """A process that begins runs and holds them until it is told to end."""
    arguments = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(path), name, str(runs)]
    return subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )


# Looking makes no file; the first run does, and only its owner may read it.
async def test_private_file(register: RunRegistry, path: Path) -> None:
    nothing = await register.summaries()
    looked = path.exists()
    await register.begin("r", "c", "Who?", OPTIONS)
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}

    assert (nothing, looked) == ([], False)
    assert set(modes) == {"runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


# A finished run gives its whole reading back, whatever characters it has.
async def test_reading_is_kept(register: RunRegistry) -> None:
    await register.begin("r", "c", "Who?", OPTIONS)
    before = await register.get("r")
    await register.finish("r", READING)
    after = await register.get("r")

    assert (before.summary.status, before.summary.process) == ("running", os.getpid())
    assert (after.summary.status, after.summary.process) == ("finished", None)
    assert (after.reading, after.options) == (READING, OPTIONS)
    assert after.summary.decider == "scripted"


# A failed run tells why, and can be taken up; then nobody else can, until it ends again.
async def test_taken_once(register: RunRegistry) -> None:
    await register.begin("r", "c", "Who?", OPTIONS)
    await register.fail("r", "Nobody answers.")
    failed = await register.get("r")
    await register.take(failed)
    with pytest.raises(UsageError, match="under way"):
        await register.take(failed)
    taken = await register.get("r")
    with pytest.raises(UsageError, match=f"in process {os.getpid()}"):
        await register.take(taken)
    await register.interrupt("r")

    assert (failed.summary.status, failed.summary.error) == ("failed", "Nobody answers.")
    assert (taken.summary.status, taken.summary.error) == ("running", None)
    assert (await register.get("r")).summary.status == "interrupted"


# An id is entered once.
async def test_entered_once(register: RunRegistry) -> None:
    assert await register.begin("r", "c", "Who?", OPTIONS)
    assert not await register.begin("r", "c", "What?", OPTIONS)
    assert (await register.get("r")).summary.question == "Who?"


# The unique beginning of an id is enough, and a whole id counts before longer ones.
async def test_beginnings_of_ids(register: RunRegistry) -> None:
    for id in ("abc", "abcd", "a%", "b_1"):
        await register.begin(id, "c", "Who?", OPTIONS)

    assert (await register.get("abc")).summary.id == "abc"
    assert (await register.get("b")).summary.id == "b_1"
    assert (await register.get("a%")).summary.id == "a%"
    assert await register.find("ab") is None
    with pytest.raises(UnknownRunError, match="Several"):
        await register.get("ab")
    for none in ("z", "", "%", "B"):
        with pytest.raises(UnknownRunError, match="runs list"):
            await register.get(none)


# The newest are listed first, of one corpus or of all.
async def test_listed(register: RunRegistry) -> None:
    for id, corpus in (("1", "c"), ("2", "d"), ("3", "c")):
        await register.begin(id, corpus, "Who?", OPTIONS)

    assert [run.id for run in await register.summaries()] == ["3", "2", "1"]
    assert [run.id for run in await register.summaries("c")] == ["3", "1"]


# Of the finished runs the newest stay, and of those that broke off as many; none under way goes.
async def test_expired(register: RunRegistry) -> None:
    for id in ("f1", "f2", "f3", "b1", "b2", "b3", "r1", "r2", "r3"):
        await register.begin(id, "c", "Who?", OPTIONS)
    for id in ("f2", "f1", "f3"):
        await register.finish(id, READING)
    for id in ("b1", "b2", "b3"):
        await register.interrupt(id)

    assert await register.expired(2) == ["f2", "b1"]
    assert await register.expired(3) == []


# What is taken out is gone with its decisions and steps.
async def test_forgotten(register: RunRegistry) -> None:
    saver = await Checkpoints.of(register.file)
    for id in ("1", "2"):
        await register.begin(id, "c", "Who?", OPTIONS)
        place: RunnableConfig = {"configurable": {"thread_id": id, "checkpoint_ns": ""}}
        kept = await saver.aput(place, empty_checkpoint(), {}, {})
        await saver.aput_writes(kept, [("plan", "p")], "task")
    await forget(register, saver, ["1"])
    left = [
        await register.file.read(f"SELECT DISTINCT {column} FROM {table}")
        for table, column in (("runs", "id"), ("checkpoints", "thread_id"), ("writes", "thread_id"))
    ]

    assert left == [[("2",)]] * 3


# A run whose process is gone is interrupted; while it lives, nobody else goes on with it.
async def test_process(register: RunRegistry, path: Path) -> None:
    with elsewhere(path, "other") as other:
        assert other.stdout
        other.stdout.readline()
        alive = await register.get("other")
        with pytest.raises(UsageError, match=f"in process {other.pid}"):
            await register.take(alive)
        other.kill()
    dead = await register.get("other")
    await register.take(dead)

    assert (alive.summary.status, alive.summary.process) == ("running", other.pid)
    assert (dead.summary.status, dead.summary.process) == ("interrupted", None)
    assert (await register.get("other")).summary.process == os.getpid()


# Several processes use the file at once, and nothing is lost.
async def test_many_processes(register: RunRegistry, path: Path) -> None:
    others = [elsewhere(path, name, 50) for name in ("a", "b", "c")]
    for number in range(50):
        await register.begin(f"d-{number}", "c", "Who?", OPTIONS)
    for other in others:
        other.communicate("end", timeout=60)
    runs = await register.summaries()

    assert len(runs) == 200
    assert {run.status for run in runs if run.id[0] in "abc"} == {"interrupted"}


# What a step writes is done to its end, also where the run is broken off just then.
async def test_broken_off_while_writing(register: RunRegistry, path: Path) -> None:
    saver = await Checkpoints.of(register.file)
    place: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for number in range(20):
        work = asyncio.ensure_future(saver.aput(place, empty_checkpoint(), {}, {}))
        for _ in range(number):
            await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait([work])
    await register.aclose()  # which waits for what is under way
    other = sqlite3.connect(path, timeout=0)
    with other:
        other.execute("DELETE FROM runs")
    (count,) = other.execute("SELECT count(*) FROM checkpoints").fetchone()
    other.close()

    assert count >= 19


# Of a step that was broken off nothing is kept that could pass for all of it.
async def test_part_of_a_step(register: RunRegistry) -> None:
    saver = await Checkpoints.of(register.file)
    place: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    kept = await saver.aput(place, empty_checkpoint(), {}, {})
    await saver.aput_writes(kept, [("plan", "p"), ("__error__", "cancelled")], "broken off")
    await saver.aput_writes(kept, [("plan", "p")], "done")
    found = await saver.aget_tuple(place)

    assert found
    assert sorted(found.pending_writes or ()) == [
        ("broken off", "__error__", "cancelled"),
        ("done", "plan", "p"),
    ]


# A file that is no database, or another program's, is told of and left as it is.
@pytest.mark.parametrize("what", ["text", "foreign", "newer", "folder"])
async def test_of_no_use(register: RunRegistry, path: Path, what: str) -> None:
    path.parent.mkdir()
    if what == "text":
        path.write_bytes(b"this is no database" * 100)
    elif what == "folder":
        path.mkdir()
    else:
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE theirs (a)")
        database.execute(f"PRAGMA user_version = {99 if what == 'newer' else 0}")
        database.commit()
        database.close()
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(RunsError, match=r"runs\.sqlite cannot be"):
        await register.begin("r", "c", "Who?", OPTIONS)

    assert "without being kept" in (register.file.trouble or "")
    assert (path.read_bytes() if path.is_file() else b"") == before


# A file that breaks in the middle costs the steps that were to be kept, and no more.
async def test_breaks_in_the_middle(register: RunRegistry, path: Path) -> None:
    saver = await Checkpoints.of(register.file)
    place: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    other = sqlite3.connect(path)
    with other:
        other.execute("DROP TABLE checkpoints")
    other.close()
    kept = await saver.aput(place, checkpoint := empty_checkpoint(), {}, {})
    await saver.aput_writes(kept, [("plan", "p")], "task")

    assert kept["configurable"]["checkpoint_id"] == checkpoint["id"]
    assert await saver.aget_tuple(place) is None
    assert "no such table" in (register.file.trouble or "")


# Somebody who holds the file for long is waited for, told of, and then left alone for a while.
async def test_held(register: RunRegistry, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_store, "_PATIENCE", 0.1)
    await register.begin("1", "c", "Who?", OPTIONS)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(RunsError, match="end the program that holds it"):
        await register.begin("2", "c", "Who?", OPTIONS)
    holder.rollback()
    holder.close()
    with pytest.raises(RunsError):
        await register.begin("2", "c", "Who?", OPTIONS)
    monkeypatch.setattr(register.file, "_rests_until", 0.0)

    assert await register.begin("2", "c", "Who?", OPTIONS)


# What is closed stays closed, and lets go of the runs that it held.
async def test_closed(register: RunRegistry, path: Path) -> None:
    await register.begin("r", "c", "Who?", OPTIONS)
    await register.aclose()
    with pytest.raises(RunsError, match="closed"):
        await register.begin("2", "c", "Who?", OPTIONS)
    other = RunRegistry(RunFile(path))
    run = (await other.get("r")).summary
    await other.aclose()

    assert run.status == "interrupted"


# An id can be typed and printed in one line.
def test_ids() -> None:
    assert check_run_id("question 1: é") == "question 1: é"
    assert len({new_id() for _ in range(1000)}) == 1000
    for wrong in ("", "  ", "a\nb", "-a", "x" * 201):
        with pytest.raises(UsageError, match="id of a run"):
            check_run_id(wrong)
