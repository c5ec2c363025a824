"""Replies that are kept, over HTTP: paid for once, found again, and restored as they were taken."""

import asyncio
from pathlib import Path
from typing import Any

from graphreader.agent.tasks import FactGroup, FactsTask
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.protocols import DecisionResult
from graphreader.usage import Usage
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
