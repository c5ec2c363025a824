"""The graph of each mode, and the checkpoints of one run: to repair, resume or fork it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import StateSnapshot

from graphreader.agent.adaptive.graph import ADAPTIVE_NODES, adaptive_functions, wire_adaptive
from graphreader.agent.answering import all_failed_message
from graphreader.agent.dependencies import AgentDependencies, NodeFunction, Update
from graphreader.agent.graph import NODES, NodeSet, node_functions, wire
from graphreader.agent.run_store import TASK_RESULT
from graphreader.agent.state import AgentInput, AgentOutput, RunState, add_costs, total_usage
from graphreader.errors import UsageError
from graphreader.settings import Mode
from graphreader.usage import Usage

Agent: TypeAlias = CompiledStateGraph[RunState, Any, AgentInput, AgentOutput]
Saver: TypeAlias = BaseCheckpointSaver[Any]

STEPS: Final = ("rational_plan", "initial_nodes", "path", "answer_reasoning")
"""The outer steps of a run of mode `paper` in order; all paths together are one."""


@dataclass(frozen=True, slots=True)
class ModeGraph:
    """The graph of a mode: the names of its nodes, the functions that make them and wire them."""

    nodes: tuple[str, ...]
    first: str
    last: str
    functions: Callable[[Any, NodeSet | None], dict[str, NodeFunction]]
    wire: Callable[..., Any]


MODE_GRAPHS: Mapping[Mode, ModeGraph] = {
    "paper": ModeGraph(NODES, "rational_plan", "answer_reasoning", node_functions, wire),
    "adaptive": ModeGraph(
        *(ADAPTIVE_NODES, "search", "answer"),
        lambda deps, _: adaptive_functions(deps),
        wire_adaptive,
    ),
}


def agent_of(mode: Mode, saver: Saver | None) -> Agent:
    """The graph of a mode; the context that it runs with are the `functions_of` a run."""
    return _compiled(mode).copy({"checkpointer": saver})


def functions_of(
    mode: Mode, deps: AgentDependencies, saver: Saver | None, nodes: NodeSet | None = None
) -> Mapping[str, NodeFunction]:
    """The node functions of one run, by the nodes' names."""
    return MODE_GRAPHS[mode].functions(replace(deps, checkpointed=saver is not None), nodes)


@cache
def _compiled(mode: Mode) -> Agent:
    """The compiled graph, once for all runs: compiling takes ten milliseconds."""
    graph = MODE_GRAPHS[mode]
    agent: Agent = graph.wire({name: _node_of_run(name) for name in graph.nodes})
    return agent


def _node_of_run(name: str) -> NodeFunction:
    async def node(state: Any, runtime: Runtime[Any]) -> Update:
        functions: Mapping[str, NodeFunction] = runtime.context
        return await functions[name](state, runtime=runtime)

    return node


_RECURSION_LIMIT = 10_000  # LangGraph's own limit; a path ends by its calls long before


@dataclass(frozen=True, slots=True)
class CheckpointThread:
    """The LangGraph thread of one run; its id is the run's. Without a saver nothing is kept."""

    run: str
    saver: Saver | None = None

    @property
    def config(self) -> RunnableConfig:
        """The configuration to run the agent with; a graph around the caller does not keep it."""
        thread = self.run if self.saver else "alone"
        return {"configurable": {"thread_id": thread}, "recursion_limit": _RECURSION_LIMIT}

    async def clear(self) -> None:
        """Delete the checkpoints of an earlier run with the same id."""
        if self.saver and await self.saver.aget_tuple(self.config):
            await self.saver.adelete_thread(self.run)

    async def snapshot(self, agent: Agent) -> StateSnapshot | None:
        """How far the run has come, with the states of its paths; None if nothing is kept."""
        if self.saver is None:
            return None
        snapshot = await agent.aget_state(self.config, subgraphs=True)
        return snapshot if snapshot.metadata else None

    async def repair(
        self, agent: Agent, snapshot: StateSnapshot
    ) -> dict[str, list[dict[str, Any]]] | None:
        """Go back to before a step that failed (a path, or the answer), to take it again.

        Returns the decisions taken so far, so that none is paid for twice; None if nothing
        failed.
        """
        step = "answer_reasoning" if snapshot.values.get("unjoined") else ""
        if _has_failed_path(snapshot):
            step = "path"
        steps = (await self._steps(agent)).values() if step else ()
        before = next((one for one in steps if one.next[0] == step), None)
        if not before or not self.saver:
            return None
        earlier = await self._decisions(self.saver)
        await self.saver.adelete_thread(self.run)
        await self._start_at(agent, before)
        return earlier

    async def fork_points(self, agent: Agent) -> dict[int, str]:
        """The steps before which a new run can branch off, by their numbers, from 1."""
        steps = await self._steps(agent)
        return {number: steps[number].next[0] for number in sorted(steps)}

    async def fork(self, agent: Agent, step: int, branch: "CheckpointThread") -> None:
        """Copy the state before a step, counted from 1, into the thread of another run."""
        steps = await self._steps(agent)
        if step not in steps:
            raise UsageError(
                f"The run {self.run} has no step {step} that can be begun again: "
                "`graphreader runs show` numbers its steps."
            )
        if step > 1:
            await branch._start_at(agent, steps[step])

    async def _decisions(self, saver: Saver) -> dict[str, list[dict[str, Any]]]:
        checkpoints = [one async for one in saver.alist({"configurable": {"thread_id": self.run}})]
        decisions: dict[str, list[dict[str, Any]]] = {}
        for checkpoint in reversed(checkpoints):
            for _, channel, value in checkpoint.pending_writes or ():
                if channel == TASK_RESULT and isinstance(value, dict) and "prompt" in value:
                    decisions.setdefault(value["prompt"], []).append(value)
        return decisions

    async def _steps(self, agent: Agent) -> dict[int, StateSnapshot]:
        steps: dict[int, StateSnapshot] = {}
        async for snapshot in agent.aget_state_history(self.config):
            if number := _step_number(snapshot):
                steps.setdefault(number, snapshot)
        return steps

    async def _start_at(self, agent: Agent, known: StateSnapshot) -> None:
        """Let a thread without steps have the same state, so that the same step comes next."""
        name = known.next[0]
        if name in STEPS:
            before = STEPS[STEPS.index(name) - 1]
        else:
            before = "act" if known.values["turn"] else "search"
        await agent.aupdate_state(self.config, known.values, as_node=before)


def _has_failed_path(snapshot: StateSnapshot) -> bool:
    """Whether a path of an unfinished run ended with an error, also while others were under way."""
    if snapshot.values.get("answer") and not failure_of(snapshot.values):
        return False
    states = [task.state.values for task in snapshot.tasks if isinstance(task.state, StateSnapshot)]
    paths = [*snapshot.values.get("paths", ()), *states]
    return any(path.get("stopped") == "error" for path in paths)


def _step_number(snapshot: StateSnapshot) -> int:
    """The number of the next step, from 1 (a turn is one); 0 if no run can begin before it."""
    name = snapshot.next[0] if snapshot.next else ""
    if name in STEPS:
        return STEPS.index(name) + 1
    if name == "turn":
        return int(snapshot.values["turn"]) + 2
    return int(name == "search")


def failure_of(state: Mapping[str, Any]) -> str:
    """Why a run should be resumed though it has an answer; empty if it is over."""
    unjoined = state.get("unjoined")
    return all_failed_message(state.get("paths", ())) or (
        f"No answer was put together: {unjoined}" if unjoined else ""
    )


def usage_of(snapshot: StateSnapshot) -> Usage:
    """The cost of the kept steps of a run, with those of unfinished paths."""
    values = snapshot.values
    costs = values.get("costs", {})
    ended = {path["path"] for path in values.get("paths", ())}
    for task in snapshot.tasks:
        if isinstance(task.state, StateSnapshot) and task.state.values.get("path") not in ended:
            costs = add_costs(costs, task.state.values.get("costs", {}))
    return total_usage(costs)
