"""The wiring of the agent: a plan, initial nodes, N paths side by side, one answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Checkpointer, Send

from graphreader.agent.answering import Answering
from graphreader.agent.context import (
    NOT_OURS,
    NodeFunction,
    RunContext,
    Update,
    end_with_error,
    wasted_costs,
)
from graphreader.agent.exploration import Exploration, initial_path_state
from graphreader.agent.planning import Planning
from graphreader.agent.state import AgentInput, AgentOutput, PathOutput, PathState, RunState

EXPLORING_NODES = ("explore_atomic_facts", "explore_chunks", "explore_neighbors")
"""The nodes in which a path chooses a function."""

PATH_NODES = (*EXPLORING_NODES, "end_path")
NODES = ("rational_plan", "initial_nodes", *PATH_NODES, "answer_reasoning")

# The next node of a path by the label of the edge: the functions, or other reasons, that lead to
# it. A drawing shows one edge between two nodes, so such functions share a label.
END_OF_PATH = "termination, call limit, nothing left, budget, error"

AFTER_FACTS: dict[Any, str] = {
    "read_chunk": "explore_chunks",
    "stop_and_read_neighbor": "explore_neighbors",
    "next_page": "explore_atomic_facts",
    END_OF_PATH: "end_path",
}

READ_ON = "search_more, read_previous_chunk, read_subsequent_chunk"
QUEUE_EMPTY = "search_more, queue empty"
AFTER_CHUNK: dict[Any, str] = {
    READ_ON: "explore_chunks",
    QUEUE_EMPTY: "explore_neighbors",
    END_OF_PATH: "end_path",
}

AFTER_NEIGHBORS: dict[Any, str] = {
    "read_neighbor_node": "explore_atomic_facts",
    "next_page": "explore_neighbors",
    END_OF_PATH: "end_path",
}


@dataclass(frozen=True, slots=True)
class NodeSet:
    """The classes whose methods are the nodes of a run. Others make another way to explore.

    Each step makes new objects of them: a value that later steps need belongs to the state.
    """

    planning: Callable[[RunContext], Planning] = Planning
    exploration: Callable[[RunContext], Exploration] = Exploration
    answering: Callable[[RunContext], Answering] = Answering


def node_functions(context: RunContext) -> dict[str, NodeFunction]:
    """The node functions of a run by name; a failure in an exploring node ends its path."""
    node_set = context.nodes or NodeSet()
    planning, path = node_set.planning(context), node_set.exploration(context)
    return {
        "rational_plan": planning.rational_plan,
        "initial_nodes": planning.initial_nodes,
        **path_functions(path),
        "answer_reasoning": node_set.answering(context).answer_reasoning,
    }


def path_functions(path: Exploration) -> dict[str, NodeFunction]:
    """The node functions of a path, by the nodes' names."""
    exploring = {name: _ending_path_on_error(getattr(path, name)) for name in EXPLORING_NODES}
    return {**exploring, "end_path": path.end_path}


def _ending_path_on_error(node: NodeFunction) -> NodeFunction:
    async def guarded(state: PathState, runtime: Runtime[Any]) -> Update:
        try:
            return await node(state, runtime=runtime)
        except NOT_OURS:
            raise
        except Exception as error:
            return {**end_with_error(error), "costs": wasted_costs(error, "explore")}

    return guarded


def wire(
    nodes: Mapping[str, Any],
    checkpointer: Checkpointer = None,
    context_schema: type[Any] | None = None,
    *,
    step_by_step: bool = False,
) -> CompiledStateGraph[RunState, Any, AgentInput, AgentOutput]:
    """Compile a graph of node functions; `step_by_step` paths stop before each of their nodes."""
    graph = StateGraph(RunState, context_schema, input_schema=AgentInput, output_schema=AgentOutput)
    graph.add_node("rational_plan", nodes["rational_plan"])
    graph.add_node("initial_nodes", nodes["initial_nodes"])
    graph.add_node("path", compile_path(nodes, context_schema, step_by_step=step_by_step))
    graph.add_node("answer_reasoning", nodes["answer_reasoning"])
    graph.add_edge(START, "rational_plan")
    graph.add_edge("rational_plan", "initial_nodes")
    graph.add_conditional_edges("initial_nodes", send_paths, ["path", "answer_reasoning"])
    graph.add_edge("path", "answer_reasoning")
    graph.add_edge("answer_reasoning", END)
    return graph.compile(name="graphreader", checkpointer=checkpointer)


def compile_path(
    nodes: Mapping[str, Any], context_schema: type[Any] | None = None, *, step_by_step: bool = False
) -> CompiledStateGraph[PathState, Any, PathState, PathOutput]:
    """Compile the graph of one path; with `step_by_step` it stops before each of its nodes."""
    path = StateGraph(PathState, context_schema, output_schema=PathOutput)
    for name in PATH_NODES:
        path.add_node(name, nodes[name])
    path.add_edge(START, "explore_atomic_facts")
    path.add_conditional_edges("explore_atomic_facts", after_facts, AFTER_FACTS)
    path.add_conditional_edges("explore_chunks", after_chunk, AFTER_CHUNK)
    path.add_conditional_edges("explore_neighbors", after_neighbors, AFTER_NEIGHBORS)
    path.add_edge("end_path", END)
    stops = list(EXPLORING_NODES) if step_by_step else []
    return path.compile(name="path", interrupt_before=stops)


# Asynchronous, because LangGraph runs other routes in a thread: a run that is cancelled meanwhile
# would be kept with the node's output and without the step after it.
async def send_paths(state: RunState) -> list[Send] | str:
    """Send one path from each initial node; without any, go to the answer."""
    sends = [
        Send("path", initial_path_state(state, n, node)) for n, node in enumerate(state["nodes"], 1)
    ]
    return sends or "answer_reasoning"


async def after_facts(state: PathState) -> str:
    """The node after a choice at the facts; without a chunk to read, the neighbors."""
    if state["stopped"]:
        return END_OF_PATH
    if state["page"] > 1:
        return "next_page"
    return "read_chunk" if state["queue"] else "stop_and_read_neighbor"


async def after_chunk(state: PathState) -> str:
    """The node after a choice at a chunk: the queue first, then the neighbors."""
    if state["stopped"]:
        return END_OF_PATH
    return READ_ON if state["queue"] else QUEUE_EMPTY


async def after_neighbors(state: PathState) -> str:
    """The node after a choice at the neighbors."""
    if state["stopped"]:
        return END_OF_PATH
    return "next_page" if state["page"] > 1 else "read_neighbor_node"
