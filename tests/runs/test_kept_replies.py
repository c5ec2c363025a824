"""Kept replies and budgets of a run."""

import asyncio
from pathlib import Path
from typing import Any

from graphreader.agent.tasks import ChunkTask, FactGroup, FactsTask
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.protocols import DecisionResult
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.usage import Usage
from tests.runs import world
from tests.runs.openai_server import OpenAIServer, opened

TASKS = [ExtractionTask("A title", f"Text number {number}.") for number in range(12)]
GROUPS = [
    FactGroup(f"d, {i}", (f"Fact {i} of the town, which is long enough.",)) for i in range(400)
]
FACTS = FactsTask("Who?", "Look.", (), "", "node", tuple(GROUPS))
EXTRACTION = {"facts": [{"fact": "A is b.", "key_elements": ["A"]}]}
NEXT_PAGE = {"notebook": "n", "rationale": "r", "function": "next_page", "chunks": []}


def reply(body: dict[str, Any]) -> dict[str, Any]:
    return NEXT_PAGE if "</facts>" in body["messages"][1]["content"] else EXTRACTION


async def ask(server: OpenAIServer, home: Path, **given: Any) -> list[DecisionResult[Any]]:
    async with opened(server, home=home, keep_replies="all", **given) as decider:
        return await asyncio.gather(*(decider.decide(task) for task in [*TASKS, FACTS]))


# Another run pays for nothing, also where it has yet to learn that the service takes no schema; a
# decision comes back with what was shown for it, though the window would hold another number.
async def test_paid_once(tmp_path: Path) -> None:
    with OpenAIServer(reply, refuses=("response_format", "tools")) as server:
        first = await ask(server, tmp_path)
        paid = len(server.requests)
        second = await ask(server, tmp_path)

    assert [one.usage.calls for one in first] == [1] * 13
    assert [one.usage for one in second] == [Usage(reused=1)] * 13
    assert [one.decision for one in second] == [one.decision for one in first]
    assert 0 < first[-1].task.choices < FACTS.choices
    assert second[-1].task == first[-1].task
    assert len(server.requests) == paid


# With other options, or at another address, the same question is another one.
async def test_other_models(tmp_path: Path) -> None:
    with OpenAIServer(reply) as one, OpenAIServer(reply) as other:
        await ask(one, tmp_path)
        await ask(other, tmp_path)
        await ask(one, tmp_path, temperature=0.7)

    assert len(one.requests) == 2 * len(other.requests) == 26


def note(task: ChunkTask) -> Any:
    return world.chunk("search_more", f"{task.notebook} found".strip())


def ask_within(neo4j: Settings, ring: str, max_calls: int) -> Reading:
    decider = world.scripted(world.RING_FACTS, {ChunkTask: note})
    with world.reader(neo4j, ring, decider, max_calls=max_calls) as reader:
        return reader.ask("Who met whom?")


# Paths that may not ask on end with `budget` and their notebooks, and the answer is still given.
# Each phase and each path knows its part of the cost; together they are the whole.
def test_the_answer_comes_from_what_there_is(neo4j: Settings, ring: str) -> None:
    reading = ask_within(neo4j, ring, 13)

    assert reading.answered
    assert "found" in reading.answer
    assert reading.usage.calls == 13
    stopped = [path.stopped for path in reading.paths]
    assert "budget" in stopped
    assert set(stopped) <= {"budget", "termination"}
    ended = f"{stopped.count('budget')} of 5 paths stopped early"
    assert [note for note in reading.notes if "max_calls is 13" in note and ended in note]
    assert sum(phase.calls for phase in reading.phases.values()) == 13
    assert sum(path.usage.calls for path in reading.paths) == reading.phases["explore"].calls
    assert set(reading.phases) == {"plan", "select", "explore", "answer"}


# Reading in stops asking, keeps what it has, and the same command reads on with a new budget.
def test_ingest_reads_on(neo4j: Settings, corpus: str, tmp_path: Path, cleaned: None) -> None:
    texts = world.write_files(tmp_path, {"ring": world.RING})
    decider = world.scripted(world.RING_FACTS, {})
    with world.reader(neo4j, corpus, decider, max_calls=3) as reader:
        reports = [reader.ingest(texts) for _ in range(3)]

    assert [report.complete for report in reports] == [False, False, True]
    assert [len(report.documents[0].failed) for report in reports] == [4, 1, 0]
    assert "max_calls is 3" in reports[0].documents[0].failed[0].reason
    assert sum(isinstance(task, ExtractionTask) for task in decider.asked) == 7
