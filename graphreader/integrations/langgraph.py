"""The agent as a LangGraph graph for other programs; its nodes run in our event loop (`sync`).

The state contains the cost of a run so far, so a node knows its budget in any process.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from graphreader.agent.context import NodeFunction, RunContext, Update
from graphreader.agent.events import Event, as_plain, log_end, log_event, log_failure, log_start
from graphreader.agent.graph import PATH_NODES
from graphreader.agent.modes import Mode, mode_named
from graphreader.agent.state import AgentInput, AgentOutput, add_costs, total_usage
from graphreader.llm.protocols import Budget
from graphreader.reading import check_question
from graphreader.sync import arun
from graphreader.waiting import listening

ContextOf = Callable[[Runtime[Any], str], Awaitable[RunContext]]
"""A function that makes a run's context from (LangGraph's runtime, question), in our loop."""

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
    nodes = {name: _hosted_node(name, chosen, context_of) for name in chosen.nodes}
    agent: CompiledStateGraph[Any, Any, AgentInput, AgentOutput] = chosen.wire(
        nodes, context_schema=context_schema, step_by_step=step_by_step
    )
    return agent


def _hosted_node(name: str, mode: Mode, context_of: ContextOf) -> NodeFunction:
    """Make the named node in the form for another program's LangGraph."""

    async def node(state: State, runtime: Runtime[Any]) -> Update:
        is_first = name == mode.first
        question = check_question(state.get("question"))
        if is_first:  # the thread may have the state of an earlier question
            began = {"run": uuid4().hex, "began": time.time(), "question": question}
            state = {**state, **began, "costs": {}}

        def write(event: Event) -> None:
            log_event(state.get("run", ""), event)
            runtime.stream_writer(as_plain(event))

        async def work() -> Update:
            context = await context_of(runtime, question)
            budget = _budget_left(context, state, in_path=name in PATH_NODES)
            context = replace(context, budget=budget, stream_answer=True)
            if is_first:
                log_start(state["run"], question, context)
            function = mode.functions(context)[name]
            try:
                update = await function(state, runtime=runtime.override(stream_writer=write))
            except Exception as error:
                log_failure(state.get("run", ""), error)
                raise
            return {**_first_update(context, update), **began} if is_first else update

        with listening(write):
            update = await arun(work())
        if name == mode.last:
            update = {**update, "earlier": ""}  # the thread's next question brings its own
            costs = add_costs(state.get("costs", {}), update.get("costs", {}))
            seconds = time.time() - state.get("began", time.time())
            log_end(state.get("run", ""), {**state, **update, "costs": costs}, seconds)
        return update

    return node


def _budget_left(context: RunContext, state: State, *, in_path: bool) -> Budget:
    """Return the budget minus the state's costs; in a path, only its equal share."""
    budget = context.budget
    if in_path:  # the state of an older version does not say how many paths there are
        paths = state.get("paths_at_once", context.limits.initial_nodes)
        budget.count(total_usage(state.get("before", {})))
        budget.divide(state["path"], paths)
    budget.count(total_usage(state.get("costs", {})))
    return budget


def _first_update(context: RunContext, update: Update) -> Update:
    """Return the first node's update; it overwrites the state of an earlier question."""
    return {
        **_EMPTY_OUTPUT,
        **update,
        "paths": Overwrite([]),
        "costs": Overwrite(update.get("costs", {})),
        "notes": Overwrite([*context.notes, *update.get("notes", ())]),
    }


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
