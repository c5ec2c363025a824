"""The checkpoints of one run, to resume it, repair it, or fork it before one of its steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from graphreader.agent.answering import all_failed_message
from graphreader.agent.modes import Agent, Mode, Saver
from graphreader.agent.run_store import TASK_RESULT
from graphreader.agent.state import add_costs, total_usage
from graphreader.errors import UsageError
from graphreader.usage import Usage

_RECURSION_LIMIT = 10_000  # LangGraph's own limit; a path ends by its calls long before


@dataclass(frozen=True, slots=True)
class CheckpointThread:
    """The LangGraph thread of one run; its id is the run's. Without a saver nothing is kept."""

    run: str
    mode: Mode
    saver: Saver | None = None

    @property
    def agent(self) -> Agent:
        """The compiled graph of the run's mode, with the saver of this thread."""
        return self.mode.agent(self.saver)

    @property
    def config(self) -> RunnableConfig:
        """The configuration to run the agent with: its own thread, even inside of another graph."""
        thread = self.run if self.saver else "alone"
        return {"configurable": {"thread_id": thread}, "recursion_limit": _RECURSION_LIMIT}

    async def clear(self) -> None:
        """Delete the checkpoints of an earlier run with the same id."""
        if self.saver and await self.saver.aget_tuple(self.config):
            await self.saver.adelete_thread(self.run)

    async def snapshot(self) -> StateSnapshot | None:
        """The latest checkpoint of the run, with the states of its paths; None if there is none."""
        if self.saver is None:
            return None
        snapshot = await self.agent.aget_state(self.config, subgraphs=True)
        return snapshot if snapshot.metadata else None

    async def repair(self, snapshot: StateSnapshot) -> dict[str, list[dict[str, Any]]] | None:
        """Go back to before a step that failed (a path, or the answer), to take it again.

        Returns the decisions taken so far, so that none is paid for twice; None if nothing
        failed.
        """
        step = self.mode.answer_step if snapshot.values.get("unjoined") else ""
        if _has_failed_path(snapshot):
            step = self.mode.paths_step
        steps = (await self._steps()).values() if step else ()
        before = next((one for one in steps if one.next[0] == step), None)
        if not before or not self.saver:
            return None
        earlier = await self._decisions(self.saver)
        await self.saver.adelete_thread(self.run)
        await self._start_at(before)
        return earlier

    async def fork_points(self) -> dict[int, str]:
        """The steps before which a new run can branch off, by their numbers, from 1."""
        steps = await self._steps()
        return {number: steps[number].next[0] for number in sorted(steps)}

    async def fork(self, step: int, branch: "CheckpointThread") -> None:
        """Copy the state before a step, counted from 1, into the thread of another run."""
        steps = await self._steps()
        if step not in steps:
            raise UsageError(
                f"The run {self.run} has no step {step} that can be begun again: "
                "`graphreader runs show` numbers its steps."
            )
        if step > 1:
            await branch._start_at(steps[step])

    async def _decisions(self, saver: Saver) -> dict[str, list[dict[str, Any]]]:
        checkpoints = [one async for one in saver.alist({"configurable": {"thread_id": self.run}})]
        decisions: dict[str, list[dict[str, Any]]] = {}
        for checkpoint in reversed(checkpoints):
            for _, channel, value in checkpoint.pending_writes or ():
                if channel == TASK_RESULT and isinstance(value, dict) and "prompt" in value:
                    decisions.setdefault(value["prompt"], []).append(value)
        return decisions

    async def _steps(self) -> dict[int, StateSnapshot]:
        """The latest state before each step, by the steps' numbers, from 1."""
        steps: dict[int, StateSnapshot] = {}
        async for snapshot in self.agent.aget_state_history(self.config):
            node = snapshot.next[0] if snapshot.next else ""
            if number := self.mode.step(node, snapshot.values)[0]:
                steps.setdefault(number, snapshot)
        return steps

    async def _start_at(self, known: StateSnapshot) -> None:
        """Give a thread without steps a known state, so that the step of that state comes next."""
        _, before = self.mode.step(known.next[0], known.values)
        await self.agent.aupdate_state(self.config, known.values, as_node=before)


def _has_failed_path(snapshot: StateSnapshot) -> bool:
    """Whether a path of an unfinished run ended with an error, also while others were under way."""
    if snapshot.values.get("answer") and not failure_of(snapshot.values):
        return False
    states = [task.state.values for task in snapshot.tasks if isinstance(task.state, StateSnapshot)]
    paths = [*snapshot.values.get("paths", ()), *states]
    return any(path.get("stopped") == "error" for path in paths)


def failure_of(state: Mapping[str, Any]) -> str:
    """The reason to resume a run although it has an answer; empty if the run is over."""
    unjoined = state.get("unjoined")
    return all_failed_message(state.get("paths", ())) or (
        f"No answer was put together: {unjoined}" if unjoined else ""
    )


def usage_of(snapshot: StateSnapshot) -> Usage:
    """The cost of the kept steps of a run and of its unfinished paths."""
    values = snapshot.values
    costs = values.get("costs", {})
    ended = {path["path"] for path in values.get("paths", ())}
    for task in snapshot.tasks:
        if isinstance(task.state, StateSnapshot) and task.state.values.get("path") not in ended:
            costs = add_costs(costs, task.state.values.get("costs", {}))
    return total_usage(costs)
