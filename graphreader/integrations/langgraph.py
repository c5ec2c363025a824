"""The agent as a graph of LangGraph that is run elsewhere: in another graph, in LangGraph Studio.

A reader's driver and clients belong to the reader's own event loop. So each step is taken there,
whatever loop runs the graph, with what the reader has open then.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any
from uuid import uuid4

from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from graphreader.agent import events
from graphreader.agent.dependencies import AgentDependencies, NodeFunction, QueryVectors, Update
from graphreader.agent.events import Event, as_plain
from graphreader.agent.graph import EXPLORING, AgentNodes, wired
from graphreader.agent.state import AgentInput, AgentOutput, Costs, RunState, add_costs, total_usage
from graphreader.llm.protocols import Budget
from graphreader.resources import Resources
from graphreader.runs import prepare_run, validated_question
from graphreader.sync import Background

REMEMBERED = 1_000
"""Runs whose budget and vectors are kept; one that goes on later counts what its state tells."""

FIRST, LAST = "rational_plan", "answer_reasoning"
OF_A_PATH = (*EXPLORING, "end_path")


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """Where the steps of a run are taken: in whose session and loop, and about which corpus."""

    session: Resources
    background: Background
    corpus: str


Source = Callable[[Runtime[Any]], Awaitable[ExecutionContext]]
"""Whose home it is, by what the run was given as its context."""


def agent_graph(
    source: Source, context_schema: type[Any] | None = None, *, step_by_step: bool = False
) -> CompiledStateGraph[RunState, Any, AgentInput, AgentOutput]:
    """The agent's graph with its paper's steps; nothing is opened before the first of them.

    It keeps nothing itself: checkpoints are those of whoever runs it. What is told on the way goes
    to the custom stream as plain JSON types. Its steps raise what an ask raises. `step_by_step`:
    the paths stop before each of their steps, until the run is gone on with.
    """
    steps = _Steps(source)
    return wired(
        AgentNodes(**{one.name: steps.named(one.name) for one in fields(AgentNodes)}),
        context_schema=context_schema,
        step_by_step=step_by_step,
    )


@dataclass(slots=True)
class _Underway:
    """What the steps of a run share. `paths` are those whose cost so far the budget holds."""

    budget: Budget
    likeness: QueryVectors
    paths: set[int] = field(default_factory=set)
    since: float = field(default_factory=time.monotonic)


class _Steps:
    """The steps of all runs of one graph."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._runs: OrderedDict[tuple[str, ExecutionContext], _Underway] = OrderedDict()

    def named(self, name: str) -> NodeFunction:
        """The step of that name, as LangGraph calls it."""

        async def step(state: dict[str, Any], runtime: Runtime[Any]) -> Update:
            home = await self._source(runtime)
            plain = runtime.override(stream_writer=_plainly(runtime))
            taken = self._begin(home, state, plain) if name == FIRST else None
            return await home.background.arun(taken or self._take(name, home, state, plain))

        return step

    async def _begin(
        self, home: ExecutionContext, state: dict[str, Any], runtime: Runtime[Any]
    ) -> Update:
        """The first step; whatever an earlier question left in the state goes."""
        question, run = validated_question(state.get("question")), uuid4().hex
        parts, told = await prepare_run(home.session, home.corpus, question)
        self._runs[run, home] = _Underway(parts.budget, parts.likeness)
        events.log_start(run, question, parts)
        given = {**state, "run": run, "question": question}
        nodes = AgentNodes.of(replace(parts, tokens=True), home.session.steps)
        update = await self._taken(FIRST, nodes, given, runtime)
        return {
            **_nothing_yet(),
            **update,
            "run": run,
            "question": question,
            "paths": Overwrite([]),
            "costs": Overwrite(update["costs"]),
            "notes": Overwrite([*told, *update["notes"]]),
        }

    async def _take(
        self, name: str, home: ExecutionContext, state: dict[str, Any], runtime: Runtime[Any]
    ) -> Update:
        """A later step. A run may go on in another home, or begin again at an earlier step."""
        key = state.get("run", ""), home
        if key in self._runs:
            parts = await home.session.parts(home.corpus)
        else:  # another corpus, perhaps, or one that is gone by now
            parts, _ = await prepare_run(home.session, home.corpus, state["question"])
        under_way = self._under_way(key, name, state, parts)
        parts = replace(parts, budget=under_way.budget, likeness=under_way.likeness, tokens=True)
        nodes = AgentNodes.of(parts, home.session.steps)
        update = await self._taken(name, nodes, state, runtime)
        if name == LAST:
            self._runs.pop(key, None)  # what comes after it begins again
            costs = add_costs(state.get("costs", {}), update.get("costs", {}))
            seconds = time.monotonic() - under_way.since
            events.log_end(state.get("run", ""), {**state, **update, "costs": costs}, seconds)
        return update

    async def _taken(
        self, name: str, nodes: AgentNodes, state: dict[str, Any], runtime: Runtime[Any]
    ) -> Update:
        step: NodeFunction = getattr(nodes, name)
        try:
            return await step(state, runtime=runtime)
        except Exception as error:
            events.log_failure(state.get("run", ""), error)
            raise

    def _under_way(
        self,
        key: tuple[str, ExecutionContext],
        name: str,
        state: dict[str, Any],
        parts: AgentDependencies,
    ) -> _Underway:
        """What the run's steps share; its budget holds what the state tells, and what is asked now.

        Outside of the paths the state tells all that was spent. A path tells what was spent before
        the paths, and its own part.
        """
        known, in_a_path = self._runs.get(key), name in OF_A_PATH
        spent: Costs = state.get("before" if in_a_path else "costs", {})
        again = _enters(name, state) and known is not None and state["path"] in known.paths
        if known is None or again or not in_a_path:
            since = known.since if known else time.monotonic()
            likeness = known.likeness if known else parts.likeness
            known = _Underway(parts.budget, likeness, since=since)
            known.budget.count(total_usage(spent))
        if in_a_path and state["path"] not in known.paths:
            known.paths.add(state["path"])
            known.budget.count(total_usage(state.get("costs", {})))
        self._runs[key] = known
        self._runs.move_to_end(key)
        while len(self._runs) > REMEMBERED:
            self._runs.popitem(last=False)
        return known


def _enters(name: str, state: dict[str, Any]) -> bool:
    """Whether a path is at its very first step."""
    if name != "explore_atomic_facts":
        return False
    return state["page"] == 1 and not state["functions"] and len(state["visited"]) == 1


def _nothing_yet() -> Update:
    """The result of a run that has none."""
    lists: dict[str, Any] = {
        name: [] for name in ("citations", "claims", "contradictions", "nodes", "related")
    }
    return {**lists, "answer": "", "analysis": "", "answered": False, "unjoined": ""}


def _plainly(runtime: Runtime[Any]) -> Callable[[Event], None]:
    """A writer of events to the custom stream, for whoever does not know our classes."""
    return lambda event: runtime.stream_writer(as_plain(event))
