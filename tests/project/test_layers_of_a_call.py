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
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.retry import ModelService
from graphreader.testing import ChatRequest, FunctionChatModel
from tests.runs import world

PACKAGE = Path(sys.modules[GraphReader.__module__].__file__ or "").parent
FAKES = {"testing.py"}


def is_ours(code: CodeType) -> bool:
    path = Path(code.co_filename)
    return path.is_relative_to(PACKAGE) and path.name not in FAKES


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


def ours_under_way() -> list[str]:
    """All functions of ours that wait or run for the one question that is asked."""
    running = asyncio.current_task()
    codes = list(frames(sys._current_frames()[threading.main_thread().ident or 0]))
    for task in asyncio.all_tasks():
        if task is not running:
            codes += awaited(task.get_coro())
    codes += reversed(list(frames(sys._getframe())))
    return [code.co_qualname for code in codes if is_ours(code)]


@pytest.fixture
def corpus_with_text(neo4j: Settings, corpus: str, tmp_path: Path) -> Iterator[str]:
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(world.write_files(tmp_path, {"ring": world.RING}))
        yield corpus
        reader.delete(everything=True)


# From a decision of the agent to its request there are at most ten functions of ours.
def test_decision(neo4j: Settings, corpus_with_text: str) -> None:
    counted: list[list[str]] = []

    def reply(request: ChatRequest) -> Any:
        ours = ours_under_way()
        counted.append(ours[ours.index("_take_decision") :])  # of AgentDependencies.decide
        return {"plan": "Look.", "needs": ["Alpha"]}

    model = FunctionChatModel(function=reply)
    decider = LanguageModelDecider(model, ModelService("fake:model"), window=4096)
    settings = neo4j.model_copy(update={"max_calls": 2})
    with GraphReader(corpus_with_text, settings=settings, decider=decider) as reader:
        reader.ask("Whom did Alpha meet?")

    assert 3 <= len(counted[0]) <= 10, " < ".join(counted[0])


# From `ask` to the first Cypher statement there are at most ten functions of ours.
def test_statement(neo4j: Settings, corpus_with_text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[list[str]] = []
    run = AsyncSession.run

    async def counting(self: AsyncSession, *args: Any, **options: Any) -> Any:
        counted.append(ours_under_way())
        return await run(self, *args, **options)

    with GraphReader(corpus_with_text, settings=neo4j) as reader:
        reader.stats()  # opens the connection
        monkeypatch.setattr(AsyncSession, "run", counting)
        reader.ask("Whom did Alpha meet?")

    assert 3 <= len(counted[0]) <= 10, " < ".join(counted[0])
