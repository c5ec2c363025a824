"""The file of kept runs fails, for a while or for good: what becomes of the runs."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from graphreader.agent import run_store
from graphreader.agent.run_store import Checkpoints, Keeper, RunFile, RunRegistry
from graphreader.errors import RunsError
from graphreader.reading import Reading
from graphreader.resources import Resources
from graphreader.settings import Settings

READING = Reading("Who?", "Ada.", "", True, "c", "p")
PLACE: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}

DIES = """
import asyncio, os, sys
from pathlib import Path
from graphreader.agent.run_store import Register
from graphreader.agent.run_store import RunFile

async def main():
    register = Register(RunFile(Path(sys.argv[1])))
    for id in sys.argv[2:]:
        await register.begin(id, "c", "Who?", {})
    os._exit(1)

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.fixture
async def register(path: Path) -> AsyncIterator[RunRegistry]:
    register = RunRegistry(RunFile(path))
    yield register
    await register.aclose()


def rested(register: RunRegistry) -> None:
    """The file has had its rest."""
    register.file._rests_until = 0.0


# A full disk costs what was to be kept, however many steps wait for it, and the cause is told.
async def test_full(register: RunRegistry) -> None:
    saver = await Checkpoints.of(register.file)
    kept = await saver.aput(PLACE, empty_checkpoint(), {}, {})
    await saver.conn.execute("PRAGMA max_page_count = 1")
    works = [saver.aput_writes(kept, [("plan", "p" * 9000)], str(n)) for n in range(8)]
    await asyncio.gather(*works)

    assert not saver.usable
    assert register.file.failures == 1
    assert "full" in (register.file.trouble or "")


# Whoever lists the steps of a file that is damaged, or was closed meanwhile, is told why.
async def test_damaged(register: RunRegistry, path: Path) -> None:
    saver = await Checkpoints.of(register.file)
    await saver.aput(PLACE, empty_checkpoint(), {}, {})
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP TABLE writes")
        other.commit()
    for _ in range(2):
        with pytest.raises(RunsError, match="no such table"):
            _ = [one async for one in saver.alist(PLACE)]


# A trouble that has passed is told by the run that had it, and by none after it.
async def test_passing_trouble(register: RunRegistry) -> None:
    for id in ("1", "2"):
        await register.begin(id, "c", "Who?", {})
    first = await Keeper.of(register, "1")
    with pytest.raises(RunsError):
        await register.file.write("INSERT INTO nowhere VALUES (1)")
    rested(register)
    second = await Keeper.of(register, "2")
    told = await first.finish(READING), await second.finish(READING)

    assert "nowhere" in told[0].notes[0]
    assert told[1].notes == ()


# A run whose end could not be noted can be gone on with by the same process.
async def test_end_not_noted(
    register: RunRegistry, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_store, "_PATIENCE", 0.05)
    await register.begin("r", "c", "Who?", {})
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(RunsError, match="locked"):
            await register.fail("r", "Nobody answers.")
        holder.rollback()
    rested(register)
    left = await register.get("r")
    await register.take(left)
    taken = await register.get("r")

    assert (left.summary.status, taken.summary.status) == ("interrupted", "running")


# A run whose decisions cannot be read is let go of.
async def test_no_journal(register: RunRegistry, path: Path) -> None:
    await register.begin("r", "c", "Who?", {})
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP TABLE decisions")
        other.commit()
    with pytest.raises(RunsError):
        await Keeper.of(register, "r")
    rested(register)

    assert (await register.get("r")).summary.status == "interrupted"


# Two registers of one process never take a run from each other.
async def test_two_registers(register: RunRegistry, path: Path) -> None:
    other = RunRegistry(RunFile(path))
    await register.begin("r", "c", "Who?", {})
    seen = await other.get("r")
    await other.aclose()

    assert seen.summary.status == "running"


# Runs of processes that were killed expire like the others that broke off.
async def test_killed_runs_expire(register: RunRegistry, path: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES, str(path), "1", "2", "3"], check=False)
    await register.begin("mine", "c", "Who?", {})

    assert sorted(await register.expired(2)) == ["1"]
    assert (await register.get("mine")).summary.status == "running"


# What a failed run had found is kept with it, until somebody goes on with it.
async def test_failed_with_a_reading(register: RunRegistry) -> None:
    await register.begin("r", "c", "Who?", {})
    await (await Keeper.of(register, "r")).finish(READING, "No answer was put together.")
    failed = await register.get("r")
    await register.take(failed)
    taken = await register.get("r")

    assert (failed.summary.status, failed.reading) == ("failed", READING)
    assert (taken.summary.status, taken.reading) == ("running", None)


# A reader has one saver, and another one once the file has failed.
async def test_one_saver(tmp_path: Path) -> None:
    session = Resources(Settings(home=tmp_path, model="offline"))
    first, second = await session.saver(), await session.saver()
    assert session.register
    with pytest.raises(RunsError):
        await session.register.file.write("INSERT INTO nowhere VALUES (1)")
    resting = await session.saver()
    rested(session.register)
    third = await session.saver()
    await session.aclose()

    assert isinstance(first, Checkpoints)
    assert first is second
    assert resting is None
    assert third not in (None, first)
