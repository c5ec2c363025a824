"""The agent as a LangGraph graph for others, each of whose nodes runs in our loop (`sync`)."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from graphreader.agent.dependencies import AgentDependencies, NodeFunction, QueryVectors, Update
from graphreader.agent.events import Event, as_plain, log_end, log_event, log_failure, log_start
from graphreader.agent.graph import PATH_NODES
from graphreader.agent.modes import Mode, mode_named
from graphreader.agent.state import AgentInput, AgentOutput, add_costs, total_usage
from graphreader.llm.protocols import Budget
from graphreader.reading import check_question
from graphreader.resources import Resources
from graphreader.sync import arun
from graphreader.waiting import listening

MAX_SHARED_RUNS = 1_000
"""Runs whose budget and vectors are kept; a later step of an older run starts from its state."""


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """The connections and the corpus with which the nodes of a run work."""

    resources: Resources
    corpus: str


ContextOf = Callable[[Runtime[Any]], Awaitable[ExecutionContext]]
"""Makes the execution context from the LangGraph context of a run."""

State = dict[str, Any]


def agent_graph(
    context_of: ContextOf,
    context_schema: type[Any] | None = None,
    *,
    mode: str,
    step_by_step: bool = False,
) -> CompiledStateGraph[Any, Any, AgentInput, AgentOutput]:
    """Build the agent's graph in a mode; nothing is opened before its first node runs.

    Events go to the custom stream as plain JSON types. With `step_by_step` it stops before each
    node of its paths, and before each turn.
    """
    chosen = mode_named(mode)
    hosted = _HostedNodes(context_of, chosen)
    nodes = {name: hosted.node(name) for name in chosen.nodes}
    agent: CompiledStateGraph[Any, Any, AgentInput, AgentOutput] = chosen.wire(
        nodes, context_schema=context_schema, step_by_step=step_by_step
    )
    return agent


@dataclass(slots=True)
class _Shared:
    """What the nodes of one run share; the budget includes earlier costs of `paths`."""

    budget: Budget
    vectors: QueryVectors
    paths: set[int] = field(default_factory=set)
    began: float = field(default_factory=time.monotonic)


class _HostedNodes:
    """The nodes of all runs of one hosted graph."""

    def __init__(self, context_of: ContextOf, mode: Mode) -> None:
        self._context_of = context_of
        self._mode = mode
        self._shared: OrderedDict[tuple[str, ExecutionContext], _Shared] = OrderedDict()

    def node(self, name: str) -> NodeFunction:
        """The node of that name, as LangGraph calls it."""
        work = self._begin if name == self._mode.first else self._continue

        async def node(state: State, runtime: Runtime[Any]) -> Update:
            context = await self._context_of(runtime)

            def write(event: Event) -> None:
                log_event(state.get("run", ""), event)
                runtime.stream_writer(as_plain(event))

            with listening(write):
                return await arun(work(name, context, state, runtime.override(stream_writer=write)))

        return node

    async def _begin(
        self, name: str, context: ExecutionContext, state: State, runtime: Runtime[Any]
    ) -> Update:
        """Run the first node; what an earlier question left in the state is overwritten."""
        question, run = check_question(state.get("question")), uuid4().hex
        deps, notes = await context.resources.prepare_agent(context.corpus, question, self._mode)
        self._remember((run, context), _Shared(deps.budget, deps.vectors))
        log_start(run, question, deps)
        state = {**state, "run": run, "question": question}
        update = await self._run(name, context, deps, state, runtime)
        return {
            **_EMPTY_OUTPUT,
            **update,
            "run": run,
            "question": question,
            "paths": Overwrite([]),
            "costs": Overwrite(update.get("costs", {})),
            "notes": Overwrite([*notes, *update.get("notes", ())]),
        }

    async def _continue(
        self, name: str, context: ExecutionContext, state: State, runtime: Runtime[Any]
    ) -> Update:
        """Run a later node; the run may have begun in another process, or be a fork."""
        run = state.get("run", "")
        if known := self._shared.get((run, context)):
            deps = await context.resources.agent(context.corpus, known.vectors, self._mode)
        else:  # it may be for another corpus, or for one that is gone
            deps, _ = await context.resources.prepare_agent(
                context.corpus, state["question"], self._mode
            )
        shared = self._share(name, (run, context), state, deps)
        deps = replace(deps, budget=shared.budget, vectors=shared.vectors)
        update = await self._run(name, context, deps, state, runtime)
        if name == self._mode.last:
            update = {**update, "earlier": ""}  # the next question of the thread has its own
            self._shared.pop((run, context), None)
            costs = add_costs(state.get("costs", {}), update.get("costs", {}))
            seconds = time.monotonic() - shared.began
            log_end(run, {**state, **update, "costs": costs}, seconds)
        return update

    def _share(
        self, name: str, key: tuple[str, ExecutionContext], state: State, deps: AgentDependencies
    ) -> _Shared:
        """The budget and vectors of a run.

        Paths share one budget; a path's state has the costs before the paths, and its own.
        """
        in_path = name in PATH_NODES
        shared = self._shared.get(key)
        if shared is None or not in_path:
            deps.budget.count(total_usage(state.get("before" if in_path else "costs", {})))
            earlier = shared or _Shared(deps.budget, deps.vectors)
            shared = _Shared(deps.budget, earlier.vectors, began=earlier.began)
        if in_path and state["path"] not in shared.paths:
            shared.paths.add(state["path"])
            shared.budget.count(total_usage(state.get("costs", {})))
        self._remember(key, shared)
        return shared

    def _remember(self, key: tuple[str, ExecutionContext], shared: _Shared) -> None:
        self._shared[key] = shared
        self._shared.move_to_end(key)
        while len(self._shared) > MAX_SHARED_RUNS:
            self._shared.popitem(last=False)

    async def _run(
        self,
        name: str,
        context: ExecutionContext,
        deps: AgentDependencies,
        state: State,
        runtime: Runtime[Any],
    ) -> Update:
        deps = replace(deps, stream_answer=True)
        nodes = self._mode.functions(deps, context.resources.nodes)
        try:
            return await nodes[name](state, runtime=runtime)
        except Exception as error:
            log_failure(state.get("run", ""), error)
            raise


_EMPTY_OUTPUT: Mapping[str, Any] = {
    "answer": "",
    "analysis": "",
    "explanation": "",
    "confidence": "not in the texts",
    "answered": False,
    "unjoined": "",
    "citations": [],
    "claims": [],
    "contradictions": [],
    "nodes": [],
    "related": [],
}
