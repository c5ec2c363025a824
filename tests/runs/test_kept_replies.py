"""Replies that are kept, over HTTP: paid for once, found again, and told as they were taken."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from graphreader.agent.tasks import FactGroup, FactsTask
from graphreader.errors import ReplyError
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.protocols import Decider, DecisionResult
from graphreader.models import open_decider
from graphreader.settings import Settings
from graphreader.usage import Usage
from tests.runs.openai_server import Fault, OpenAIServer

TASKS = [ExtractionTask("A title", f"Text number {number}.") for number in range(12)]
GOOD = {"facts": [{"fact": "A is b.", "key_elements": ["A"]}]}
NEXT_PAGE = {"notebook": "n", "rationale": "r", "function": "next_page", "chunks": []}
IN_WORDS_ONLY = ("response_format", "tools")


@asynccontextmanager
async def opened(server: OpenAIServer, home: Path, **given: Any) -> AsyncIterator[Decider]:
    settings = Settings.read(
        model="openai:fake",
        openai_api_key="k",
        openai_base_url=server.url,
        home=home,
        **{"keep_replies": "all", **given},
    )
    decider = open_decider(settings)
    try:
        yield decider
    finally:
        await decider.aclose()


async def asked(server: OpenAIServer, home: Path, **given: Any) -> list[DecisionResult[Any]]:
    async with opened(server, home, **given) as decider:
        return await asyncio.gather(*(decider.decide(task) for task in TASKS))


# Another run pays for nothing, also where it has yet to learn that the service takes no schema.
async def test_any_form(tmp_path: Path) -> None:
    with OpenAIServer(lambda body: GOOD, refuses=IN_WORDS_ONLY) as server:
        first = await asked(server, tmp_path)
        paid = len(server.requests)
        second = await asked(server, tmp_path)

    assert [one.usage.calls for one in first] == [1] * 12
    assert [one.usage for one in second] == [Usage(reused=1)] * 12
    assert [one.decision for one in second] == [one.decision for one in first]
    assert len(server.requests) == paid


# A decision comes back with what was shown for it, though the window would hold another number.
async def test_what_was_shown(tmp_path: Path) -> None:
    groups = tuple(
        FactGroup(f"d, chunk {i}", tuple(f"Fact number {i} {j} of the town." for j in range(15)))
        for i in range(30)
    )
    task = FactsTask("Who?", "Look.", (), "", "node", groups)
    with OpenAIServer(lambda body: NEXT_PAGE, refuses=IN_WORDS_ONLY) as server:
        async with opened(server, tmp_path, chunk_tokens=500, window=4096) as decider:
            first = await decider.decide(task)
        async with opened(server, tmp_path, chunk_tokens=500, window=4096) as decider:
            second = await decider.decide(task)

    assert second.usage == Usage(reused=1)
    assert 0 < first.task.choices < task.choices
    assert second.task == first.task


# With other options, or at another address, the same question is another one.
async def test_other_models(tmp_path: Path) -> None:
    with OpenAIServer(lambda body: GOOD) as one, OpenAIServer(lambda body: GOOD) as other:
        await asked(one, tmp_path)
        await asked(other, tmp_path)
        await asked(one, tmp_path, temperature=0.7)

    assert len(one.requests) == 2 * len(other.requests) == 24


# Of many who ask the same only the one whose request it was has paid, also where it failed.
async def test_a_failure_is_paid_once(tmp_path: Path) -> None:
    with OpenAIServer(always=Fault(content="")) as server:
        async with opened(server, tmp_path) as decider:
            results = await asyncio.gather(
                *(decider.decide(TASKS[0]) for _ in range(5)), return_exceptions=True
            )

    errors = [one for one in results if isinstance(one, ReplyError)]
    assert len({id(one) for one in errors}) == 5
    assert len({str(one) for one in errors}) == 1
    assert sorted(one.spent.calls for one in errors) == [0, 0, 0, 0, len(server.requests)]
