"""How many functions of ours lie between a question and what it leads to."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from neo4j import AsyncSession

from graphreader import GraphReader, Settings
from graphreader.testing import ChatRequest
from tests.project.markdown import ROOT
from tests.runs import world
from tests.unit.read_agent_fakes import modelled


def frames(frame: FrameType | None) -> Iterator[CodeType]:
    while frame:
        yield frame.f_code
        frame = frame.f_back


def awaited(work: Any) -> Iterator[CodeType]:
    """The coroutines and generators that a task awaits, one inside of the other."""
    while work is not None:
        code = getattr(work, "cr_code", None) or getattr(work, "ag_code", None)
        if code:
            yield code
        work = getattr(work, "cr_await", None) or getattr(work, "ag_await", None)


def our_functions() -> list[str]:
    """All functions of the package that wait or run for the question, the outermost first."""
    codes = list(frames(sys._current_frames()[threading.main_thread().ident or 0]))
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in sorted(tasks, key=_number):  # the outer ones were made first
        codes += awaited(task.get_coro())
    codes += reversed(list(frames(sys._getframe())))
    package = ROOT / "graphreader"
    return [
        code.co_qualname
        for code in codes
        if Path(code.co_filename).is_relative_to(package)
        and Path(code.co_filename).name != "testing.py"
    ]


def _number(task: asyncio.Task[Any]) -> int:
    return int("".join(filter(str.isdigit, task.get_name())) or 0)


@pytest.fixture
def corpus_with_text(neo4j: Settings, corpus: str, tmp_path: Path) -> Iterator[str]:
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(world.write_files(tmp_path, {"ring": world.RING}))
        yield corpus
        reader.delete(everything=True)


# From a decision of the agent to its request there are at most ten functions of ours.
def test_decision(neo4j: Settings, corpus_with_text: str) -> None:
    stacks: list[list[str]] = []

    def reply(request: ChatRequest) -> Any:
        ours = our_functions()
        stacks.append(ours[ours.index("_take_decision") :])
        return {"plan": "Look.", "needs": ["Alpha"]}

    settings = neo4j.model_copy(update={"max_calls": 2})
    decider, _ = modelled(reply, 4096)
    with GraphReader(corpus_with_text, settings=settings, decider=decider) as reader:
        reader.ask("Whom did Alpha meet?")

    assert 3 <= len(stacks[0]) <= 10, " < ".join(stacks[0])


# From `ask` to the first Cypher statement there are at most ten functions of ours.
def test_statement(neo4j: Settings, corpus_with_text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stacks: list[list[str]] = []
    run = AsyncSession.run

    async def counting(self: AsyncSession, *args: Any, **options: Any) -> Any:
        stacks.append(our_functions())
        return await run(self, *args, **options)

    with GraphReader(corpus_with_text, settings=neo4j) as reader:
        reader.stats()  # opens the connection
        monkeypatch.setattr(AsyncSession, "run", counting)
        reader.ask("Whom did Alpha meet?")

    assert 3 <= len(stacks[0]) <= 10, " < ".join(stacks[0])
