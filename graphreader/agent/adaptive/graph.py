"""The wiring of mode `adaptive`: a search, turns and their actions, paths where turns stall."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer, Send

from graphreader.agent.adaptive.state import OWN_PATH, AdaptiveState
from graphreader.agent.adaptive.tasks import PATH_CALLS
from graphreader.agent.adaptive.turns import PATHS_NEED, STALLED, AdaptiveNodes
from graphreader.agent.context import NodeFunction, RunContext
from graphreader.agent.exploration import Exploration, initial_path_state
from graphreader.agent.graph import PATH_NODES, compile_path, path_functions
from graphreader.agent.state import AgentInput, AgentOutput

TURN_NODES = ("search", "turn", "act", "choose_nodes", "join_paths", "answer")
ADAPTIVE_NODES = (*TURN_NODES, *PATH_NODES)

AFTER_TURN: dict[Any, str] = {
    "actions": "act",
    "answer": "answer",
    "a second try": "choose_nodes",
}
AFTER_ACTIONS: dict[Any, str] = {"turn": "turn", "two turns without progress": "choose_nodes"}


def adaptive_functions(context: RunContext) -> dict[str, NodeFunction]:
    """The node functions, by the nodes' names."""
    adaptive = AdaptiveNodes(context)
    path_context = replace(context, limits=replace(context.limits, calls=PATH_CALLS))
    own = {name: getattr(adaptive, name) for name in TURN_NODES}
    return own | path_functions(Exploration(path_context))


def wire_adaptive(
    nodes: Mapping[str, Any],
    checkpointer: Checkpointer = None,
    context_schema: type[Any] | None = None,
    *,
    step_by_step: bool = False,
) -> CompiledStateGraph[AdaptiveState, Any, AgentInput, AgentOutput]:
    """Compile a graph of the given node functions, by their names.

    With `step_by_step` it stops before each turn, and paths before each of their nodes.
    """
    graph = StateGraph(
        AdaptiveState, context_schema, input_schema=AgentInput, output_schema=AgentOutput
    )
    for name in TURN_NODES:
        graph.add_node(name, nodes[name])
    graph.add_node("explore", compile_path(nodes, context_schema, step_by_step=step_by_step))
    graph.add_edge(START, "search")
    graph.add_conditional_edges("search", after_search, ["act", "turn"])
    graph.add_conditional_edges("turn", after_turn, AFTER_TURN)
    graph.add_conditional_edges("act", after_actions, AFTER_ACTIONS)
    graph.add_conditional_edges("choose_nodes", send_needed_paths, ["explore", "turn"])
    graph.add_edge("explore", "join_paths")
    graph.add_edge("join_paths", "turn")
    graph.add_edge("answer", END)
    return graph.compile(
        name="graphreader-adaptive",
        checkpointer=checkpointer,
        interrupt_before=["turn"] if step_by_step else [],
    )


async def after_search(state: AdaptiveState) -> str:
    """The node after the first search: a turn, or the sweep with which the run begins."""
    return "act" if state["pending"] else "turn"


# Asynchronous, because LangGraph runs other routes in a thread (see `agent.graph`).
async def after_turn(state: AdaptiveState) -> str:
    """The node after a turn: the answer, its actions, or paths before an answer that is likely."""
    if state["stopped"]:
        return "answer"
    return "actions" if state["pending"] else "a second try"


async def after_actions(state: AdaptiveState) -> str:
    """The node after actions: the next turn or, once and without a sweep, paths if turns stall."""
    may_explore = not state["nodes"] and not state.get("swept")
    if may_explore and state["stalled"] >= STALLED and state["turns_left"] >= PATHS_NEED:
        return "two turns without progress"
    return "turn"


async def send_needed_paths(state: AdaptiveState) -> list[Send] | str:
    """Send a path from each node, with the notebook and the read chunks; else take a turn.

    Paths of a second try begin without them.
    """
    sends = []
    is_second = state.get("first_answer")
    for number, node in enumerate(state["nodes"], OWN_PATH + 1):
        path = initial_path_state(state, number, node)
        path["plan"] = "; ".join(state["needs"]) or state["plan"]  # what is open now
        if not is_second:
            path["notebook"], path["read"] = state["notebook"], state["read"]
        sends.append(Send("explore", path))
    return sends or "turn"
