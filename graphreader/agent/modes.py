"""The table of the agent's modes: how each explores the graph, its limits, cost and label.

Everything that differs between modes is a field of `Mode`, so a new mode is a new row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphreader.agent.adaptive.graph import ADAPTIVE_NODES, adaptive_functions, wire_adaptive
from graphreader.agent.adaptive.notebook import Notebook
from graphreader.agent.adaptive.tasks import PATH_CALLS, TurnTask
from graphreader.agent.context import Limits, NodeFunction, RunContext, Update
from graphreader.agent.graph import NODES, node_functions, wire
from graphreader.agent.state import AgentInput, AgentOutput, RunState
from graphreader.agent.tasks import AnswerTask, ChunkTask, InitialNodesTask, PlanTask
from graphreader.errors import UsageError
from graphreader.llm.protocols import Task
from graphreader.settings import ModeName, Settings
from graphreader.usage import Phase

Agent: TypeAlias = CompiledStateGraph[RunState, Any, AgentInput, AgentOutput]
Saver: TypeAlias = BaseCheckpointSaver[Any]

Decisions: TypeAlias = Sequence[tuple[Phase, type[Task[Any]], int]]
"""The decisions that a question takes: their phase, their task and their number."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to explore the graph. A kept run remembers the `name`; a page shows it and the `label`.

    `nodes` names the nodes of the graph: a run begins with the `first` and ends with the `last`.
    `functions` makes the node functions of a run, and `wire` the graph of them. `step` numbers,
    from 1, a node before which a run can begin anew, and names the node before it, in a given
    state; the number of other nodes is 0. A resumed run takes `paths_step` again if a path failed,
    and `answer_step` if no answer was put together; a mode without such a step goes on as it is.

    `paths` and `calls` are the limits where the settings leave them open. `first_task` is the task
    that a run begins with. For estimates, `decisions` has the decisions of a question, at most or
    typically, and `typical_input` the tokens of one of their prompts.
    """

    name: ModeName
    label: str
    nodes: tuple[str, ...]
    first: str
    last: str
    functions: Callable[[RunContext], dict[str, NodeFunction]]
    wire: Callable[..., Any]
    step: Callable[[str, Mapping[str, Any]], tuple[int, str]]
    paths: int
    calls: int
    first_task: Callable[[str], Task[Any]]
    decisions: Callable[[Limits, bool], Decisions]
    typical_input: int
    paths_step: str = ""
    answer_step: str = ""

    def limits(self, settings: Settings) -> Limits:
        """The limits of a run: the limits that are set, else the mode's own limits."""
        paths, calls = settings.initial_nodes or self.paths, settings.calls or self.calls
        sweep = settings.sweep, settings.sweep_tokens
        return Limits(paths, calls, settings.window, *sweep, settings.second_try)

    def agent(self, saver: Saver | None) -> Agent:
        """The graph; its LangGraph context is a `RunContext`."""
        return _compiled(self.name).copy({"checkpointer": saver})


def _paper_step(node: str, state: Mapping[str, Any]) -> tuple[int, str]:
    """The number and the preceding node of a step in mode `paper`; all paths are one step."""
    steps = (START, "rational_plan", "initial_nodes", "path", "answer_reasoning")
    number = steps.index(node) if node in steps else 0
    return number, steps[number - 1] if number else ""


def _adaptive_step(node: str, state: Mapping[str, Any]) -> tuple[int, str]:
    """The number and the preceding node of a step in mode `adaptive`: a search or a turn."""
    if node == "turn":
        return state["turn"] + 2, "act" if state["turn"] else "search"
    return (1, START) if node == "search" else (0, "")


TYPICAL_CALLS = 7.4
"""Calls of a path, with calls that condense: a question of mode `paper` takes 31 to 48 in all.

Measured with models of today, whose paths are longer than in the paper (table 7: 3.0 to 3.9)."""

TYPICAL_TURNS = 2  # of mode `adaptive`: measured 1.3 to 3


def _paper_decisions(limits: Limits, is_typical: bool) -> Decisions:
    calls = min(TYPICAL_CALLS, limits.calls) if is_typical else limits.path_decisions
    return (
        ("plan", PlanTask, 1),
        ("select", InitialNodesTask, 1),
        ("explore", ChunkTask, round(limits.initial_nodes * calls)),
        ("answer", AnswerTask, 1),
    )


def _adaptive_decisions(limits: Limits, is_typical: bool) -> Decisions:
    """The decisions of the turns, the last of which answers, and of the paths, typically none."""
    turns = min(TYPICAL_TURNS, limits.calls) if is_typical else limits.calls
    path_limits = replace(limits, calls=PATH_CALLS)
    path_calls = 0 if is_typical else limits.initial_nodes * path_limits.path_decisions
    return (("explore", TurnTask, turns - 1 + path_calls), ("answer", TurnTask, 1))


# A page offers them in this order.
_MODES = (
    Mode(
        name="adaptive",
        label="search first, explore what is missing",
        nodes=ADAPTIVE_NODES,
        first="search",
        last="answer",
        functions=adaptive_functions,
        wire=wire_adaptive,
        step=_adaptive_step,
        paths=5,
        calls=8,
        first_task=lambda question: TurnTask(question, Notebook(), (), (), 0),
        decisions=_adaptive_decisions,
        typical_input=2750,  # measured: 2,200 to 8,900 in all
    ),
    Mode(
        name="paper",
        label="explore the graph on five paths",
        nodes=NODES,
        first="rational_plan",
        last="answer_reasoning",
        functions=node_functions,
        wire=wire,
        step=_paper_step,
        paths=5,
        calls=10,
        first_task=PlanTask,
        decisions=_paper_decisions,
        typical_input=1300,  # measured: about 52,000 in all
        paths_step="path",
        answer_step="answer_reasoning",
    ),
)
MODES: Mapping[str, Mode] = {mode.name: mode for mode in _MODES}


def mode_named(name: str) -> Mode:
    """The mode of that name. Raises UsageError, which names all modes, if there is none."""
    if name not in MODES:
        raise UsageError(f"There is no mode {name!r}: choose {' or '.join(MODES)}.")
    return MODES[name]


@cache
def _compiled(name: ModeName) -> Agent:
    """The compiled graph of a mode, once for all runs: compiling takes ten milliseconds."""
    mode = MODES[name]
    agent: Agent = mode.wire({node: _node_of_run(mode, node) for node in mode.nodes})
    return agent


def _node_of_run(mode: Mode, name: str) -> NodeFunction:
    """The node that calls the function of its name in the context of the run."""

    async def node(state: Any, runtime: Runtime[RunContext]) -> Update:
        return await mode.functions(runtime.context)[name](state, runtime=runtime)

    return node
