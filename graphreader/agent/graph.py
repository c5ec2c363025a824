"""The wiring of the agent: a plan, initial nodes, N paths side by side, one answer.

The node functions are in `planning`, `exploration` and `answering`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Checkpointer, Send

from graphreader.agent.answering import Answering
from graphreader.agent.dependencies import (
    NOT_OURS,
    AgentDependencies,
    NodeFunction,
    Update,
    end_with_error,
    wasted_costs,
)
from graphreader.agent.events import logged
from graphreader.agent.exploration import Exploration, initial_path_state
from graphreader.agent.planning import Planning
from graphreader.agent.state import AgentInput, AgentOutput, PathOutput, PathState, RunState

# The labels of the edges: the functions, and other reasons, that lead along them. A drawing shows
# one edge between two nodes, so functions that lead to the same node share a label.
READ_CHUNK = "read_chunk"
TO_NEIGHBORS = "stop_and_read_neighbor"
NEXT_PAGE = "next_page"
READ_ON = "search_more, read_previous_chunk, read_subsequent_chunk"
QUEUE_EMPTY = "search_more, queue empty"
READ_NEIGHBOR = "read_neighbor_node"
END_OF_PATH = "termination, call limit, nothing left, budget, error"

EXPLORING_NODES = ["explore_atomic_facts", "explore_chunks", "explore_neighbors"]
"""The nodes in which a path chooses a function."""

PATH_NODES = (*EXPLORING_NODES, "end_path")

AFTER_FACTS: dict[Any, str] = {
    READ_CHUNK: "explore_chunks",
    TO_NEIGHBORS: "explore_neighbors",
    NEXT_PAGE: "explore_atomic_facts",
    END_OF_PATH: "end_path",
}

AFTER_CHUNK: dict[Any, str] = {
    READ_ON: "explore_chunks",
    QUEUE_EMPTY: "explore_neighbors",
    END_OF_PATH: "end_path",
}

AFTER_NEIGHBORS: dict[Any, str] = {
    READ_NEIGHBOR: "explore_atomic_facts",
    NEXT_PAGE: "explore_neighbors",
    END_OF_PATH: "end_path",
}


@dataclass(frozen=True, slots=True)
class NodeSet:
    """The classes whose methods are the nodes of a run. Others make another way to explore."""

    planning: Callable[[AgentDependencies], Planning] = Planning
    exploration: Callable[[AgentDependencies], Exploration] = Exploration
    answering: Callable[[AgentDependencies], Answering] = Answering


@dataclass(frozen=True, slots=True)
class AgentNodes:
    """The node functions, by the names of the nodes."""

    rational_plan: NodeFunction
    initial_nodes: NodeFunction
    explore_atomic_facts: NodeFunction
    explore_chunks: NodeFunction
    explore_neighbors: NodeFunction
    end_path: NodeFunction
    answer_reasoning: NodeFunction

    @classmethod
    def of(cls, deps: AgentDependencies, node_set: NodeSet | None = None) -> "AgentNodes":
        """The nodes of a node set (default: the paper's) with these dependencies, logged."""
        node_set = node_set or NodeSet()
        planning, path = node_set.planning(deps), node_set.exploration(deps)
        functions = (
            planning.rational_plan,
            planning.initial_nodes,
            ending_path_on_error(path.explore_atomic_facts),
            ending_path_on_error(path.explore_chunks),
            ending_path_on_error(path.explore_neighbors),
            path.end_path,
            node_set.answering(deps).answer_reasoning,
        )
        return cls(*map(logged, functions))


def build_agent(
    deps: AgentDependencies | None, nodes: NodeSet | None = None, checkpointer: Checkpointer = None
) -> CompiledStateGraph[RunState, None, AgentInput, AgentOutput]:
    """Compile the agent; it holds nothing between two runs.

    With a checkpointer each step and each decision is kept, and an interrupted run can be resumed.
    Without dependencies the graph can only be asked for its checkpoints.
    """
    if deps and checkpointer:
        deps = replace(deps, checkpointed=True)
    return wire(AgentNodes.of(cast(AgentDependencies, deps), nodes), checkpointer)


def wire(
    nodes: AgentNodes,
    checkpointer: Checkpointer = None,
    context_schema: type[Any] | None = None,
    *,
    step_by_step: bool = False,
) -> CompiledStateGraph[RunState, Any, AgentInput, AgentOutput]:
    """Compile a graph of the given nodes.

    With `step_by_step` the paths stop before each of their nodes, until the run is resumed.
    """
    graph = StateGraph(RunState, context_schema, input_schema=AgentInput, output_schema=AgentOutput)
    graph.add_node("rational_plan", nodes.rational_plan)
    graph.add_node("initial_nodes", nodes.initial_nodes)
    graph.add_node("path", _path(nodes, context_schema, step_by_step))
    graph.add_node("answer_reasoning", nodes.answer_reasoning)
    graph.add_edge(START, "rational_plan")
    graph.add_edge("rational_plan", "initial_nodes")
    graph.add_conditional_edges("initial_nodes", send_paths, ["path", "answer_reasoning"])
    graph.add_edge("path", "answer_reasoning")
    graph.add_edge("answer_reasoning", END)
    return graph.compile(name="graphreader", checkpointer=checkpointer)


def _path(
    nodes: AgentNodes, context_schema: type[Any] | None, step_by_step: bool
) -> CompiledStateGraph[PathState, Any, PathState, PathOutput]:
    """The subgraph of one path; its edges are labelled with the paper's function names."""
    graph = StateGraph(PathState, context_schema, output_schema=PathOutput)
    graph.add_node("explore_atomic_facts", nodes.explore_atomic_facts)
    graph.add_node("explore_chunks", nodes.explore_chunks)
    graph.add_node("explore_neighbors", nodes.explore_neighbors)
    graph.add_node("end_path", nodes.end_path)
    graph.add_edge(START, "explore_atomic_facts")
    graph.add_conditional_edges("explore_atomic_facts", after_facts, AFTER_FACTS)
    graph.add_conditional_edges("explore_chunks", after_chunk, AFTER_CHUNK)
    graph.add_conditional_edges("explore_neighbors", after_neighbors, AFTER_NEIGHBORS)
    graph.add_edge("end_path", END)
    stops = EXPLORING_NODES if step_by_step else []
    return graph.compile(name="path", interrupt_before=stops)


def ending_path_on_error(node: NodeFunction) -> NodeFunction:
    """Let a failure of the node end its path with the notebook; the other paths go on."""

    async def guarded(state: PathState, runtime: Runtime[Any]) -> Update:
        try:
            return await node(state, runtime=runtime)
        except NOT_OURS:
            raise
        except Exception as error:
            return {**end_with_error(error), "costs": wasted_costs(error, "explore")}

    return guarded


def send_paths(state: RunState) -> list[Send] | str:
    """Send one path from each initial node; without any, go to the answer."""
    sends = [
        Send("path", initial_path_state(state, n, node)) for n, node in enumerate(state["nodes"], 1)
    ]
    return sends or "answer_reasoning"


def after_facts(state: PathState) -> str:
    """Where the function chosen at the facts leads; without a chunk to read, to the neighbors."""
    if state["stopped"]:
        return END_OF_PATH
    if state["page"] > 1:
        return NEXT_PAGE
    return READ_CHUNK if state["queue"] else TO_NEIGHBORS


def after_chunk(state: PathState) -> str:
    """Where the function chosen at a chunk leads: the queue first, then the neighbors."""
    if state["stopped"]:
        return END_OF_PATH
    return READ_ON if state["queue"] else QUEUE_EMPTY


def after_neighbors(state: PathState) -> str:
    """Where the function chosen at the neighbors leads."""
    if state["stopped"]:
        return END_OF_PATH
    return NEXT_PAGE if state["page"] > 1 else READ_NEIGHBOR
