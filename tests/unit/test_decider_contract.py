"""Every task and its decision; what all deciders have in common."""

import json
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

from graphreader.agent import decisions, tasks
from graphreader.agent import tasks as agent_tasks
from graphreader.agent.adaptive.tasks import ActionName
from graphreader.agent.functions import FUNCTIONS, STAGES, functions_at
from graphreader.errors import BudgetError, DecisionError, ReplyError, UsageError, WindowError
from graphreader.ingestion import extraction
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm import protocols, structured_output
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget, Decider, Decision, Task
from graphreader.offline.decider import OfflineDecider
from graphreader.testing import ScriptedDecider
from tests.unit.every_task import NAMES, RATINGS, TASKS, TEXT
from tests.unit.read_agent_fakes import modelled

PLAN, INITIAL_NODES = TASKS[1], TASKS[2]


async def decision_for(task: Task[Any]) -> Decision:
    """Some valid decision."""
    decision: Decision = (await OfflineDecider().decide(task)).decision
    return decision


def scripted(task: Task[Any], window: int) -> Decider:
    return ScriptedDecider({type(task): decision_for})


def language_model(task: Task[Any], window: int) -> Decider:
    return modelled(lambda request: decision_for(task), window)[0]


# Each decider for one task, with a window where it has one.
DECIDERS: dict[str, Callable[[Task[Any], int], Decider]] = {
    "offline": lambda task, window: OfflineDecider(),
    "offline in a window": lambda task, window: OfflineDecider(window, Prompts()),
    "scripted": scripted,
    "language model": language_model,
}
every_decider = pytest.mark.parametrize("kind", DECIDERS)
with_window = pytest.mark.parametrize("kind", ["offline in a window", "language model"])
every_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)


# Every decider takes a valid decision for every task, and counts one call.
@every_decider
@every_task
async def test_decides(kind: str, task: Task[Any]) -> None:
    decider = DECIDERS[kind](task, 8_192)

    result = await decider.decide(task)

    assert isinstance(result.decision, task.decision)
    assert result.task.problem(result.decision) is None
    assert type(result.task) is type(task)
    assert result.usage.calls == 1
    assert decider.name
    assert decider.prompts
    assert decider.concurrency > 0
    await decider.aclose()


# A budget of calls allows so many decisions; the next one is refused before anything is spent.
@every_decider
async def test_keeps_the_budget(kind: str) -> None:
    decider, budget = DECIDERS[kind](PLAN, 8_192), Budget(max_calls=2)

    for _ in range(2):
        await decider.decide(PLAN, budget)
    with pytest.raises(BudgetError) as refused:
        await decider.decide(PLAN, budget)

    assert refused.value.spent.calls == 0


# Where no usable decision can be had, that is a DecisionError, or a UsageError of a wrong decider.
@pytest.mark.parametrize(
    ("decider", "task", "error"),
    [
        (OfflineDecider(), RATINGS[0], UsageError),
        (modelled(lambda request: "prose")[0], PLAN, ReplyError),
        (
            ScriptedDecider({agent_tasks.InitialNodesTask: lambda task: task.decision(nodes=[])}),
            INITIAL_NODES,
            ReplyError,
        ),
    ],
    ids=["offline", "language model", "scripted"],
)
async def test_no_decision(decider: Decider, task: Task[Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        await decider.decide(task)


# In a window fewer choices are shown, and their prompt is measured; usage has its tokens.
@with_window
@pytest.mark.parametrize("window", [1_800, 4_096])
async def test_keeps_the_window(kind: str, window: int) -> None:
    decider = DECIDERS[kind](INITIAL_NODES, window)

    result = await decider.decide(INITIAL_NODES)

    shown = result.task
    assert isinstance(shown, agent_tasks.InitialNodesTask)
    assert shown.nodes == NAMES[: len(shown.nodes)]
    assert (len(shown.nodes) < len(NAMES)) == (window == 1_800)
    assert 0 < result.usage.input_tokens == decider.measure(INITIAL_NODES) <= window
    assert result.usage.estimated == 1


# A prompt that fits no window is a WindowError; it is not sent.
@with_window
async def test_too_large_for_the_window(kind: str) -> None:
    task = ExtractionTask("Bridges", TEXT * 200)

    with pytest.raises(WindowError, match="1,024") as refused:
        await DECIDERS[kind](task, 1_024).decide(task)

    assert isinstance(refused.value, DecisionError)


# The offline decider in a window counts the prompts that a model would have been sent, and decides
# the same as without a window; a budget of tokens does not see them.
@every_task
async def test_offline_counts_a_models_prompts(task: Task[Any]) -> None:
    offline, budget = OfflineDecider(8_192, Prompts()), Budget(max_calls=1, max_tokens=10)

    result, plain = await offline.decide(task, budget), await OfflineDecider().decide(task)

    assert result.usage.input_tokens == modelled(lambda request: "", 8_192)[0].measure(task)
    assert (result.decision, result.task) == (plain.decision, plain.task)
    assert plain.usage.tokens == OfflineDecider().measure(task) == 0


# Only the offline decider has a notice: no language model is in use.
@every_decider
def test_notice(kind: str) -> None:
    decider = DECIDERS[kind](PLAN, 8_192)

    assert ("No language model is in use" in decider.notice) == kind.startswith("offline")


CLASSES = [
    one
    for one in (*vars(decisions).values(), *vars(extraction).values())
    if isinstance(one, type) and issubclass(one, protocols.Decision) and one.model_fields
]
AGENT_TASKS = [
    one
    for one in (*vars(tasks).values(), extraction.ExtractionTask)
    if isinstance(one, type) and "prompt" in vars(one)
]


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all object schemas inside it."""
    if schema.get("type") == "object":
        yield schema
        for field in schema["properties"].values():
            yield from objects(field)
    if schema.get("type") == "array":
        yield from objects(schema["items"])


# Every field tells the model what it means, and the schemas fit OpenAI's strict mode: closed
# objects, all properties required, no unions, no references.
@pytest.mark.parametrize("decision", CLASSES, ids=lambda one: one.__name__)
def test_schemas(decision: type[protocols.Decision]) -> None:
    schema = structured_output.schema_of(decision)
    text = json.dumps(schema)

    for one in objects(schema):
        assert one["additionalProperties"] is False
        assert one["required"] == list(one["properties"]) != []
        assert all(len(field["description"]) > 20 for field in one["properties"].values())
    for word in ("oneOf", "anyOf", "allOf", "const", "$ref", "$defs", "default", '"title"'):
        assert word not in text
    assert decision.__doc__ not in text


# Each function that a path or a turn can choose stands in the table of functions. The functions of
# a path have words in the legend, and all but `next_page` are in the paper's table 7.
def test_functions_are_in_the_table() -> None:
    exploring = (decisions.FactsDecision, decisions.ChunkDecision, decisions.NeighborDecision)
    functions = {
        name for one in exploring for name in get_args(one.model_fields["function"].annotation)
    }
    counted = {one.name for stage in STAGES for one in functions_at(stage)}

    assert functions | set(get_args(ActionName)) == set(FUNCTIONS)
    assert functions == {one.name for one in FUNCTIONS.values() if one.legend}
    assert functions == counted | {"next_page"}
