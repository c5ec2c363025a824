"""The offline decider inside a window: it sees what a model would, and counts its prompts."""

from typing import Any

import pytest

from graphreader.agent.tasks import (
    ChunkTask,
    FactGroup,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.baselines.read_agent.tasks import LookUpTask, MemoryPage, NextPageTask
from graphreader.baselines.tasks import Excerpt, PassagesTask
from graphreader.errors import WindowError
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget, Task
from graphreader.llm.providers import adapter_for
from graphreader.llm.retry import ModelService
from graphreader.offline.decider import OfflineDecider
from graphreader.testing import FunctionChatModel

QUESTION = "Who painted the bridge that Ada built?"
TEXT = "Ada built a bridge in 1903. Bede painted the bridge red. Cyril sold it to Dora."
MEMORY = (MemoryPage("Ada built a bridge.", TEXT, "Bridges"), MemoryPage("Edgar slept.", TEXT))
SO_FAR = (QUESTION, "Find the painter.", ("at Ada: read_chunk(Bridges, chunk 0)",), "Ada built it.")
FACTS = (FactGroup("Bridges, chunk 1", ("Bede painted the bridge red.", "Dora owns it.")),)
NAMES = tuple(f"bridge number {n}" for n in range(300))

TASKS: dict[str, Task[Any]] = {
    "extraction": ExtractionTask("Bridges", TEXT),
    "plan": PlanTask(QUESTION),
    "initial nodes": InitialNodesTask(QUESTION, "Find the painter.", NAMES, ()),
    "facts": FactsTask(*SO_FAR, "bridge", FACTS),
    "chunk": ChunkTask(*SO_FAR, "bridge", "Bridges, chunk 1", TEXT),
    "neighbors": NeighborTask(*SO_FAR, "bridge", NAMES),
    "answer": PassagesTask(QUESTION, (Excerpt("Bridges", TEXT, 0),)),
    "look up": LookUpTask(QUESTION, MEMORY, most=1),
    "next page": NextPageTask(QUESTION, MEMORY, most=1),
}
every_task = pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))


def asking_a_model(window: int) -> LanguageModelDecider:
    model = FunctionChatModel(function=lambda request: "")
    service, dialect = ModelService("fake:model"), adapter_for("openai", model)
    return LanguageModelDecider(lambda: model, service, window=window, adapter=dialect)


# It decides as the offline decider does, and is taken for it.
@every_task
async def test_same_decisions(task: Task[Any]) -> None:
    plain, sized = OfflineDecider(), OfflineDecider(4096, Prompts())

    one, other = await plain.decide(task), await sized.decide(task)

    assert other.decision == one.decision
    assert other.task == one.task
    assert other.usage.calls == one.usage.calls == 1
    assert (sized.name, sized.notice, sized.prompts) == (plain.name, plain.notice, plain.prompts)


# Each prompt has the tokens that a model of the same window would have been sent, as an estimate.
@every_task
@pytest.mark.parametrize("window", [1800, 4096])
async def test_tokens_of_a_prompt(task: Task[Any], window: int) -> None:
    decided = await OfflineDecider(window, Prompts()).decide(task)

    usage, measured = decided.usage, OfflineDecider(window, Prompts()).measure(task)
    assert 0 < usage.input_tokens == asking_a_model(window).measure(task) == measured <= window
    assert (usage.output_tokens, usage.estimated) == (0, 1)


# What does not fit is neither seen nor counted: whoever asks is told what was shown.
async def test_a_small_window() -> None:
    excerpts = tuple(Excerpt(f"Bridges {n}", TEXT, n) for n in range(60))
    task = PassagesTask(QUESTION, (*excerpts, Excerpt("Coda", "Cyril painted it white.", 60)))
    small = await OfflineDecider(1500, Prompts()).decide(task)
    large = await OfflineDecider(4096, Prompts()).decide(task)

    assert small.usage.input_tokens <= 1500 < large.usage.input_tokens
    assert isinstance(small.task, PassagesTask)
    assert small.task.excerpts == excerpts[: len(small.task.excerpts)]
    assert 0 < len(small.task.excerpts) < 60
    assert large.task == task


# A prompt that fits into no window is not decided, as it would not be sent.
async def test_too_large() -> None:
    task = ExtractionTask("Bridges", TEXT * 200)

    with pytest.raises(WindowError, match="the window holds only 1,024"):
        await OfflineDecider(1024, Prompts()).decide(task)


# A budget in tokens does not see what is only counted; one in calls sees each call.
async def test_budget() -> None:
    budget = Budget(max_calls=2, max_tokens=10)
    sized = OfflineDecider(4096, Prompts())

    for _ in range(2):
        decided = await sized.decide(TASKS["plan"], budget)

    assert decided.usage.input_tokens > 10
