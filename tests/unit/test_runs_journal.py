"""Decisions of a run, written down and taken from there."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from graphreader.agent.training import TrainingReport, training_lines

from graphreader.agent.decisions import Condensed, InitialNodes, ProposedNode, RationalPlan
from graphreader.agent.run_store import Journal, Journaled, RunFile, RunSummary, entries
from graphreader.agent.tasks import CondenseTask, InitialNodesTask, JoinTask, PlanTask
from graphreader.errors import BudgetError, ReplyError
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget
from graphreader.testing import ScriptedDecider
from graphreader.usage import Usage

NODES = InitialNodesTask("Who?", "p", ("Ada", "Bea", "Cy"))
PLAN = PlanTask("Who is <question> Ada?")
RUN = RunSummary("r", "c", "Who?", "finished", 0.0, 0.0, "scripted")


def plan(task: PlanTask) -> RationalPlan:
    return RationalPlan(plan=f"Look for Ada, 是的 ({task.question}).", needs=["Ada"])


def nodes(task: InitialNodesTask) -> InitialNodes:
    return InitialNodes(nodes=[ProposedNode(number=2, score=90)])


class Shortening(ScriptedDecider):
    """Shows fewer choices than there are, as for a small window."""

    async def decide(self, task: Any, *given: Any) -> Any:
        return await super().decide(task.keeping(2), *given)


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[RunFile]:
    file = RunFile(tmp_path / "runs.sqlite")
    yield file
    await file.aclose()


async def journaled(file: RunFile, decider: ScriptedDecider, run: str = "r") -> Journaled:
    return Journaled(decider, await Journal.of(file, run))


# What was decided is found again with what was shown and what it cost, once each time it was taken.
async def test_taken_once(file: RunFile) -> None:
    first = ScriptedDecider({PlanTask: plan, InitialNodesTask: nodes})
    decider = await journaled(file, first)
    taken = [await decider.decide(PLAN), await decider.decide(NODES)]
    second = ScriptedDecider({PlanTask: plan, InitialNodesTask: nodes})
    decider = await journaled(file, second)
    again = [await decider.decide(PLAN), await decider.decide(NODES)]
    await decider.decide(PLAN)
    other = ScriptedDecider({PlanTask: plan})
    await (await journaled(file, other, "another")).decide(PLAN)

    assert again == taken
    assert second.asked == [PLAN]
    assert other.asked == [PLAN]
    assert len(await entries(file, "r")) == 3


# The task comes back as it was really shown.
async def test_shown(file: RunFile) -> None:
    taken = await (await journaled(file, Shortening({InitialNodesTask: nodes}))).decide(NODES)
    again = await (await journaled(file, Shortening({}))).decide(NODES)
    (entry,) = await entries(file, "r")

    assert again == taken
    assert again.task == NODES.keeping(2)
    assert "Cy" not in entry.given["nodes"]


# The same words in another phase are another decision.
async def test_phases(file: RunFile) -> None:
    decider = ScriptedDecider(
        {kind: lambda task: Condensed(notebook="n") for kind in (CondenseTask, JoinTask)}
    )
    await (await journaled(file, decider)).decide(CondenseTask("Who?", "p", ("a", "b")))
    await (await journaled(file, decider)).decide(JoinTask("Who?", "p", ("a", "b")))

    assert [type(task) for task in decider.asked] == [CondenseTask, JoinTask]


# What failed is asked again; what it cost counts.
async def test_failures_count(file: RunFile) -> None:
    def fail(task: PlanTask) -> RationalPlan:
        error = ReplyError("No JSON.")
        error.spent = Usage(calls=2, input_tokens=10)
        raise error

    with pytest.raises(ReplyError):
        await (await journaled(file, ScriptedDecider({PlanTask: fail}))).decide(PLAN)
    decider = ScriptedDecider({PlanTask: plan})
    await (await journaled(file, decider)).decide(PLAN)
    journal = await Journal.of(file, "r")
    budget = Budget(max_calls=3)
    budget.count(journal.spent)

    assert decider.asked == [PLAN]
    assert journal.spent == Usage(calls=3, input_tokens=10)
    with pytest.raises(BudgetError, match="used up"):
        budget.take(0, "explore")


# Where the file is of no use the decision is given all the same.
async def test_unkept(file: RunFile) -> None:
    decider = await journaled(file, ScriptedDecider({PlanTask: plan}))
    await file.aclose()

    assert (await decider.decide(PLAN)).decision.needs == ["Ada"]


# The wrapped decider looks like the one inside.
async def test_passes_through(file: RunFile) -> None:
    inner = ScriptedDecider({}, name="inner", notice="Careful.")
    decider = await journaled(file, inner)

    assert (decider.name, decider.notice, decider.prompts) == ("inner", "Careful.", inner.prompts)
    assert (decider.concurrency, decider.measure(PLAN)) == (inner.concurrency, 0)


# Each decision is one line: the prompts as they were sent, and the decision as the reply.
async def test_training(file: RunFile) -> None:
    decider = await journaled(file, ScriptedDecider({PlanTask: plan, InitialNodesTask: nodes}))
    await decider.decide(PLAN)
    await decider.decide(NODES)
    prompts, report = Prompts(), TrainingReport()
    lines = [json.loads(line) async for line in training_lines(file, [RUN], prompts, report)]
    first, second = lines
    system, user, assistant = first["messages"]

    assert [line["task"] for line in lines] == ["rational_plan", "initial_nodes"]
    assert system == {"role": "system", "content": prompts.of(PLAN).system}
    assert user == {"role": "user", "content": prompts.of(PLAN).render(PLAN.values())}
    assert assistant["role"] == "assistant"
    assert RationalPlan.model_validate_json(assistant["content"]) == plan(PLAN)
    assert (second["run"], second["corpus"], second["decider"]) == ("r", "c", "scripted")
    assert second["prompts"] == prompts.version
    assert report == TrainingReport(runs=1, decisions=2, renewed=2, skipped=0)


# What has no place in the prompts of now is left out and counted.
async def test_unknown_prompt(file: RunFile) -> None:
    await (await journaled(file, ScriptedDecider({PlanTask: plan}))).decide(PLAN)
    await file.write("UPDATE decisions SET prompt = ?", ("of old",))
    report = TrainingReport()

    assert [line async for line in training_lines(file, [RUN], Prompts(), report)] == []
    assert report == TrainingReport(runs=1, skipped=1)


# A decision that no longer suits its task is taken anew.
async def test_outdated(file: RunFile) -> None:
    decider = ScriptedDecider({PlanTask: plan})
    await (await journaled(file, decider)).decide(PLAN)
    await file.write("UPDATE decisions SET decision = ?", ('{"plans": []}',))
    await (await journaled(file, decider)).decide(PLAN)

    assert decider.asked == [PLAN, PLAN]
