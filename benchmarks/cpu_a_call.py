"""CPU time of one call at many requests at once: ours, LangChain's, the bare client's.

All three send the same messages with the same schema to the same server, in turn and in blocks, so
that whatever else the machine does falls on all of them. Ours fits the prompt into the window,
counts, limits, reads and checks the reply; LangChain's structured output parses it; the bare client
gives it back as text.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI

from benchmarks.texts import FACTS, passage
from graphreader.ingestion.extraction import Extraction, ExtractionTask
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Decider
from graphreader.llm.structured_output import response_format
from graphreader.llm.window import fit
from graphreader.models import open_decider
from graphreader.settings import Settings

AT_ONCE = 64
BLOCK = 2 * AT_ONCE
MODEL = "benchmark"
WINDOW = 4096
PROMPTS = Prompts()
_ROLES = {"system": "system", "human": "user"}

Messages = Sequence[BaseMessage]
Call = Callable[[ExtractionTask, Messages], Awaitable[int]]


def measure(url: str, calls: int, home: Path) -> dict[str, float]:
    """Milliseconds of CPU a call, by who asks. At least `calls` each; `home` gets the replies."""
    return asyncio.run(_measure(url, calls, home))


async def _measure(url: str, calls: int, home: Path) -> dict[str, float]:
    settings = Settings.read(
        model=f"openai:{MODEL}",
        openai_base_url=url,
        openai_api_key="none",
        concurrency=AT_ONCE,
        home=home,
        keep_replies="off",
    )
    plain = open_decider(settings, "build")
    keeping = open_decider(settings.model_copy(update={"keep_replies": "building"}), "build")
    ways = {
        "bare client": _bare(url),
        "LangChain's structured output": _langchain(url),
        "ours": _ours(plain),
        "ours, replies kept": _ours(keeping),
    }
    spent = dict.fromkeys(ways, 0.0)
    blocks = -(-calls // BLOCK)
    for number, call in enumerate(ways.values(), blocks):  # connections, first imports
        await _block(call, number)
    for block in range(blocks):
        for name, call in ways.items():
            spent[name] += await _block(call, block)
    await plain.aclose()
    await keeping.aclose()
    return {name: 1000 * seconds / (blocks * BLOCK) for name, seconds in spent.items()}


async def _block(call: Call, block: int) -> float:
    """CPU seconds of the calls of a block, AT_ONCE at a time."""
    numbers = range(block * BLOCK, (block + 1) * BLOCK)
    tasks = [ExtractionTask("Chronicle", passage(number)) for number in numbers]
    messages = [fit(task, "schema", WINDOW, prompts=PROMPTS).messages for task in tasks]
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(task: ExtractionTask, said: Messages) -> None:
        async with slots:
            found = await call(task, said)
        if found != FACTS:
            raise ValueError(f"{found} facts were extracted, not {FACTS}")

    gc.collect()
    began = time.process_time()
    await asyncio.gather(*(one(*asked) for asked in zip(tasks, messages, strict=True)))
    return time.process_time() - began


def _ours(decider: Decider) -> Call:
    async def call(task: ExtractionTask, _: Messages) -> int:
        return len((await decider.decide(task)).decision.facts)

    return call


def _bare(url: str) -> Call:
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    form: Any = response_format(Extraction)

    async def call(_: ExtractionTask, said: Messages) -> int:
        messages: Any = [{"role": _ROLES[one.type], "content": one.text} for one in said]
        completion = await client.chat.completions.create(
            model=MODEL, messages=messages, response_format=form, temperature=0.2
        )
        return FACTS if completion.choices[0].message.content else 0

    return call


def _langchain(url: str) -> Call:
    model = ChatOpenAI(
        model=MODEL, base_url=url, api_key="none", max_retries=0, temperature=0.2
    ).with_structured_output(Extraction, method="json_schema")

    async def call(_: ExtractionTask, said: Messages) -> int:
        decision: Any = await model.ainvoke(list(said))
        return len(decision.facts)

    return call
