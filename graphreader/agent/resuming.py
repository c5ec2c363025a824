"""Going on with a run: where its kept steps end, or from before one of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from graphreader.agent.path import why_all_failed
from graphreader.agent.state import Answered, Question, Run
from graphreader.errors import UsageError

Agent: TypeAlias = CompiledStateGraph[Run, None, Question, Answered]
Saver: TypeAlias = BaseCheckpointSaver[Any]

STEPS: Final = ("rational_plan", "initial_nodes", "path", "answer_reasoning")
"""The steps of a run in their order; all paths together are one."""


@dataclass(frozen=True, slots=True)
class Thread:
    """Where LangGraph keeps the steps of one run; its id is the run's.

    `whole`: whether the saver keeps nothing of a step that was broken off. Other savers are handed
    a part of it, which LangGraph takes for all of it when the run goes on.
    """

    saver: Saver
    run: str
    whole: bool = False

    @property
    def config(self) -> RunnableConfig:
        """What LangGraph calls it."""
        return {"configurable": {"thread_id": self.run}}

    async def clear(self) -> None:
        """Let nothing of another run of that id be left, which would mix with a new one."""
        if await self.saver.aget_tuple(self.config):
            await self.saver.adelete_thread(self.run)


async def known(agent: Agent, thread: Thread) -> StateSnapshot | None:
    """How far the run has come, if anything of it is kept; it is over once it knows an answer.

    `next` of the snapshot does not tell that: it leaves out what was done but not yet taken over.
    """
    snapshot = await agent.aget_state(thread.config, subgraphs=True)
    return snapshot if snapshot.metadata else None


async def mend(agent: Agent, thread: Thread) -> None:
    """Let steps that cannot be gone on with begin again; whoever keeps decisions has theirs.

    Where every path ended with an error, an answer could only say so, and where no answer could be
    put together it is tried again. Where steps that were broken off may be kept in part, the run
    begins anew.
    """
    snapshot = await known(agent, thread)
    if snapshot is None:
        return
    if "answer" not in snapshot.values and not thread.whole and _broken_off(snapshot):
        await thread.saver.adelete_thread(thread.run)
        return
    step = _failed_step(snapshot.values)
    before = await _before(agent, thread, step) if step else None
    if before:
        await thread.saver.adelete_thread(thread.run)
        await _set(agent, thread, before, step)


def failure(known: Mapping[str, Any]) -> str:
    """Why a run should be gone on with though it has an answer; empty where it is over."""
    unjoined = known.get("unjoined")
    return why_all_failed(known.get("paths", ())) or (
        f"No answer was put together: {unjoined}" if unjoined else ""
    )


async def beginnings(agent: Agent, thread: Thread) -> dict[int, str]:
    """The steps before which a run can be begun again, by their numbers."""
    come = {name async for one in agent.aget_state_history(thread.config) for name in one.next}
    return {number: name for number, name in enumerate(STEPS, 1) if name in come}


async def fork(agent: Agent, thread: Thread, step: int, branch: Thread) -> None:
    """Let another run begin before a step of this one; `step` counts from 1.

    Raises UsageError where the run has no such step, or has not come so far.
    """
    name = STEPS[step - 1] if 1 <= step <= len(STEPS) else ""
    before = await _before(agent, thread, name)
    if before is None:
        raise UsageError(
            f"The run {thread.run} has no step {step} that can be begun again: "
            "`graphreader runs show` numbers its steps."
        )
    if step > 1:
        await _set(agent, branch, before, name)


def _failed_step(known: Mapping[str, Any]) -> str:
    if why_all_failed(known.get("paths", ())):
        return "path"
    return "answer_reasoning" if known.get("unjoined") else ""


def _broken_off(snapshot: StateSnapshot) -> bool:
    """Whether a step ended with an exception, in the run or in one of its paths."""
    return any(
        task.error or (isinstance(task.state, StateSnapshot) and _broken_off(task.state))
        for task in snapshot.tasks
    )


async def _before(agent: Agent, thread: Thread, step: str) -> StateSnapshot | None:
    """What the run knew when this step came."""
    async for snapshot in agent.aget_state_history(thread.config):
        if step in snapshot.next:
            return snapshot
    return None


async def _set(agent: Agent, thread: Thread, known: StateSnapshot, step: str) -> None:
    """Let a thread without any steps know the same, so that this step comes next."""
    before = STEPS[STEPS.index(step) - 1]
    await agent.aupdate_state(thread.config, known.values, as_node=before)
