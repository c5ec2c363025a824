"""One question, from the first event to the reading.

Going on with a run: where its kept steps end, or from before one of them.

What a run was shown of the documents, reckoned up when it has ended.
"""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from graphreader.agent import events
from graphreader.agent.answering import why_all_failed
from graphreader.agent.dependencies import AgentDependencies
from graphreader.agent.events import Event, RunBegan, retold
from graphreader.agent.graph import NodeSet, build_agent
from graphreader.agent.state import (
    AgentInput,
    AgentOutput,
    PathResult,
    RunState,
    Seen,
    Statement,
    add_seen,
    total_usage,
)
from graphreader.errors import StoreError, UsageError
from graphreader.reading import (
    Citation,
    Claim,
    Contradiction,
    Coverage,
    FunctionCall,
    Path,
    Reading,
)
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import ShownChunk
from graphreader.usage import Usage

Agent: TypeAlias = CompiledStateGraph[RunState, None, AgentInput, AgentOutput]
Saver: TypeAlias = BaseCheckpointSaver[Any]

STEPS: Final = ("rational_plan", "initial_nodes", "path", "answer_reasoning")
"""The steps of a run in their order; all paths together are one."""


@dataclass(frozen=True, slots=True)
class CheckpointThread:
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


async def snapshot_of(agent: Agent, thread: CheckpointThread) -> StateSnapshot | None:
    """How far the run has come, if anything of it is kept; it is over once it knows an answer.

    `next` of the snapshot does not tell that: it leaves out what was done but not yet taken over.
    """
    snapshot = await agent.aget_state(thread.config, subgraphs=True)
    return snapshot if snapshot.metadata else None


async def mend(agent: Agent, thread: CheckpointThread) -> None:
    """Let steps that cannot be gone on with begin again; whoever keeps decisions has theirs.

    Where every path ended with an error, an answer could only say so, and where no answer could be
    put together it is tried again. Where steps that were broken off may be kept in part, the run
    begins anew.
    """
    snapshot = await snapshot_of(agent, thread)
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


async def fork_points(agent: Agent, thread: CheckpointThread) -> dict[int, str]:
    """The steps before which a run can be begun again, by their numbers."""
    come = {name async for one in agent.aget_state_history(thread.config) for name in one.next}
    return {number: name for number, name in enumerate(STEPS, 1) if name in come}


async def fork(agent: Agent, thread: CheckpointThread, step: int, branch: CheckpointThread) -> None:
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


async def _before(agent: Agent, thread: CheckpointThread, step: str) -> StateSnapshot | None:
    """What the run knew when this step came."""
    async for snapshot in agent.aget_state_history(thread.config):
        if step in snapshot.next:
            return snapshot
    return None


async def _set(agent: Agent, thread: CheckpointThread, known: StateSnapshot, step: str) -> None:
    """Let a thread without any steps know the same, so that this step comes next."""
    before = STEPS[STEPS.index(step) - 1]
    await agent.aupdate_state(thread.config, known.values, as_node=before)


async def with_what_was_shown(
    reading: Reading, paths: Sequence[PathResult], explorer: GraphExplorer
) -> Reading:
    """The reading with the documents and facts that its paths were shown, and how much that was.

    Where the database cannot tell it any more, a note says so.
    """
    ordered = sorted(paths, key=lambda notes: notes["path"])
    evidence = "\n\n".join(one["notebook"] for one in ordered if one["notebook"].strip())
    reading = replace(reading, evidence=evidence)
    try:
        texts = await explorer.shown(_chunks(ordered))
    except StoreError as error:
        note = f"How much of the texts was read could not be counted: {error}"
        return replace(reading, notes=(*reading.notes, note))
    shown = Coverage()
    facts = tuple(fact for one in texts for fact in one.facts)
    for one in texts:
        if one.text is not None:
            shown.passage(one.document_id, one.start, one.text)
    for fact in facts:
        shown.derived(fact)
    return replace(
        reading,
        documents_read=shown.documents,
        passages_read=shown.passages,
        facts_read=facts,
        tokens_read=shown.tokens,
    )


def _chunks(paths: Sequence[PathResult]) -> dict[str, ShownChunk]:
    """What the paths were shown, each chunk once: those read in full first, as they were read."""
    seen: Seen = {}
    for notes in paths:
        seen = add_seen(seen, notes.get("seen", {}))
    read = dict.fromkeys(id_ for notes in paths for id_ in notes.get("read", ()))
    return {
        id_: ShownChunk(id_ in read, seen.get(id_, ())) for id_ in dict.fromkeys((*read, *seen))
    }


_STEPS = 10_000  # LangGraph's own limit; a path ends by its calls long before


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run; with a `failure` it should be gone on with all the same."""

    reading: Reading
    failure: str = ""


async def explore(
    question: str,
    parts: AgentDependencies,
    notes: Sequence[str] = (),
    *,
    thread: CheckpointThread | None = None,
    resumed: bool = False,
    run: str = "",
    steps: NodeSet | None = None,
) -> AsyncGenerator[Event | RunResult]:
    """Run the agent; yields what happens, and at the end the reading, to which `notes` belong.

    Each step is kept in the `thread`, if there is one; `run` is the run's id, empty without any.
    A run that is `resumed` first tells what is known of it, and then goes on where its steps end;
    one that has its answer is asked nothing.
    """
    began = time.monotonic()
    agent = build_agent(parts, steps, checkpointer=thread.saver if thread else None)
    yield RunBegan(run)
    events.log_start(run, question, parts)
    before = None
    if thread and resumed:
        await mend(agent, thread)
        before = await snapshot_of(agent, thread)
    for event in retold(before) if before else ():
        yield event
    result: AgentOutput | None = None
    if before and "answer" in before.values:
        result = cast(AgentOutput, before.values)
    else:
        # Closed with us: who stops listening wants no decision to be asked any more.
        try:
            async with aclosing(_stream(agent, None if before else question, thread)) as items:
                async for namespace, mode, data in items:
                    if mode == "custom":
                        yield data
                    elif not namespace:
                        result = data
        except Exception as error:
            events.log_failure(run, error)
            raise
    assert result is not None
    reading = _reading(question, result, parts, notes, time.monotonic() - began)
    reading = await with_what_was_shown(reading, result.get("paths", []), parts.explorer)
    events.log_end(run, result, reading.usage.seconds)
    yield RunResult(replace(reading, run=run), failure(result))


def _stream(
    agent: Agent, question: str | None, thread: CheckpointThread | None
) -> AsyncGenerator[Any]:
    """What LangGraph tells of a run that begins with the question, or goes on without one."""
    given: AgentInput | None = None if question is None else {"question": question}
    items = agent.astream(
        given,
        _config(thread),
        stream_mode=["custom", "values"],
        subgraphs=True,
        durability="sync" if thread else None,
    )
    return cast(AsyncGenerator[Any], items)


def _config(thread: CheckpointThread | None) -> RunnableConfig:
    """The run is nobody's part: a graph in whose step it is asked neither keeps nor bounds it."""
    own = thread.run if thread else "alone"
    return {"configurable": {"thread_id": own}, "recursion_limit": _STEPS}


def _reading(
    question: str,
    result: AgentOutput,
    parts: AgentDependencies,
    notes: Sequence[str],
    seconds: float,
) -> Reading:
    paths = sorted(result.get("paths", []), key=lambda path: path["path"])
    return Reading(
        question=question,
        answer=result["answer"],
        analysis=result["analysis"],
        answered=result["answered"],
        corpus=parts.explorer.corpus,
        plan=result["plan"],
        citations=tuple(Citation(**quote) for quote in result["citations"]),
        claims=tuple(Claim(*_stated(one)) for one in result["claims"]),
        contradictions=tuple(Contradiction(*_stated(one)) for one in result["contradictions"]),
        paths=tuple(_path(path) for path in paths),
        usage=replace(total_usage(result["costs"]), seconds=round(seconds, 3)),
        phases={phase: Usage(**cost) for phase, cost in result["costs"].items()},
        decider=parts.decider.name,
        notes=(*notes, *result.get("notes", [])),
    )


def _path(notes: PathResult) -> Path:
    functions = tuple(FunctionCall(**function) for function in notes["functions"])
    return Path(
        initial_node=notes["initial_node"],
        notebook=notes["notebook"],
        calls=len(functions),
        stopped=notes["stopped"],
        error=notes["error"],
        functions=functions,
        usage=total_usage(notes["costs"]),
        node_id=notes["node_id"],
    )


def _stated(statement: Statement) -> tuple[str, tuple[int, ...]]:
    return statement["text"], tuple(statement["citations"])
