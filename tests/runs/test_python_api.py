"""GraphReader from Python: in scripts, in running loops, in threads, left early, closed twice."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.events import FunctionChosen, QuestionAnswered, RunBegan
from graphreader.agent.tasks import FactsTask
from graphreader.errors import UsageError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.report import NothingReadError
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import world

SENTENCES = [f"Person{n} lives in town{n}." for n in range(6)]
FACTS = {text: [f"Person{n}", f"town{n}"] for n, text in enumerate(SENTENCES)}
QUESTION = "Who lives in town2?"


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return world.write_files(tmp_path, {"people": SENTENCES})


@pytest.fixture
def decider() -> ScriptedDecider:
    return world.scripted(FACTS, {})


@pytest.fixture
def reader(
    neo4j: Settings, corpus: str, texts: Path, decider: ScriptedDecider
) -> Iterator[GraphReader]:
    """A reader whose corpus holds the text."""
    with world.reader(neo4j, corpus, decider) as reader:
        reader.ingest(texts)
        yield reader
        reader.delete(everything=True)


# The synchronous methods work where a loop is running already, as in Jupyter.
def test_inside_a_running_loop(reader: GraphReader, texts: Path) -> None:
    async def cell() -> tuple[Any, ...]:
        return (
            reader.ingest(texts).documents[0].status,
            len(reader.ask(QUESTION).paths),
            [type(event) for event in reader.stream(QUESTION)][::100],
            reader.stats().documents,
        )

    assert asyncio.run(cell()) == asyncio.run(cell()) == ("unchanged", 5, [RunBegan], 1)


# Nothing readable is an error with the reasons; where something is readable, the report has them.
def test_nothing_readable(reader: GraphReader, texts: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" ")
    with pytest.raises(NothingReadError, match=r"empty\.txt") as caught:
        reader.ingest(tmp_path / "empty.txt")

    assert [one.status for one in caught.value.report.documents] == ["refused"]
    both = reader.ingest(texts, tmp_path / "empty.txt")
    assert sorted(one.status for one in both.documents) == ["refused", "unchanged"]


# The asynchronous methods work in one loop after the other; two threads may use one reader.
def test_several_loops(reader: GraphReader, texts: Path) -> None:
    async def once() -> tuple[Any, ...]:
        report = await reader.aingest(texts)
        events = [event async for event in reader.astream(QUESTION)]
        readings = await asyncio.gather(reader.aask(QUESTION), reader.aask(QUESTION))
        assert isinstance(events[-1], QuestionAnswered)
        return report.documents[0].status, [one.answer for one in (*readings, events[-1].reading)]

    first = asyncio.run(once())
    with ThreadPoolExecutor(2) as pool:
        readings = list(pool.map(reader.ask, [QUESTION] * 2))

    assert first == asyncio.run(once())
    assert {one.answer for one in readings} == {*first[1]}


class Thinking:
    """One decision over facts comes when all five are asked for; the others never come.

    `given_up` counts those that were cancelled.
    """

    def __init__(self, decider: ScriptedDecider) -> None:
        self.begun = 0
        self.given_up = 0
        decider._script = {**decider._script, FactsTask: self.think}

    async def think(self, task: FactsTask) -> Any:
        self.begun += 1
        first = self.begun == 1
        try:
            while not first or self.begun < 5:
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        return world.read_all(task)


# A stream that is left early leaves nothing running, in either form: decisions in flight are given
# up.
def test_a_stream_left_early(reader: GraphReader, decider: ScriptedDecider) -> None:
    async def leave() -> None:
        async with aclosing(reader.astream(QUESTION)) as events:
            async for event in events:
                if isinstance(event, FunctionChosen):
                    return

    def leave_at_once() -> None:
        for event in reader.stream(QUESTION):
            if isinstance(event, FunctionChosen):
                return

    for leave_stream in (leave_at_once, lambda: asyncio.run(leave())):
        thinking = Thinking(decider)
        leave_stream()
        asked = len(decider.asked)
        assert reader.stats().documents == 1
        assert (thinking.begun, thinking.given_up, len(decider.asked)) == (5, 4, asked)


# Closing twice is fine, and a closed reader opens what it needs when it is used again.
def test_closing(neo4j: Settings, corpus: str, reader: GraphReader) -> None:
    before = {*threading.enumerate()}
    other = GraphReader(corpus, settings=neo4j)
    other.close()
    for _ in range(2):
        assert other.stats().documents == 1
        other.close()
        other.close()
    asyncio.run(other.aclose())

    assert {*threading.enumerate()} <= before


# A failure leaves the reader usable. A question in characters that no encoding has is asked without
# them.
def test_after_a_failure(reader: GraphReader) -> None:
    with pytest.raises(UsageError, match="The question is empty"):
        list(reader.stream(""))
    reading = reader.ask("Who lives in town2\udce9?")

    assert len(reading.paths) == 5
    assert reading.question == "Who lives in town2??"
