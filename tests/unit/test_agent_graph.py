import json

from graphreader.agent.dependencies import AgentDependencies, Limits, QueryVectors
from graphreader.agent.exploration import initial_path_state
from graphreader.agent.graph import (
    AFTER_CHUNK,
    AFTER_FACTS,
    AFTER_NEIGHBORS,
    after_chunk,
    after_facts,
    after_neighbors,
    build_agent,
)
from graphreader.agent.state import PathState, RunState
from graphreader.offline.decider import OfflineDecider
from graphreader.offline.embedder import OfflineEmbedder

FUNCTIONS = {
    "read_chunk",
    "stop_and_read_neighbor",
    "search_more",
    "read_previous_chunk",
    "read_subsequent_chunk",
    "read_neighbor_node",
    "termination",
}

REF = {"id": "c", "document": "d", "index": 0}


def exploring(**changes: object) -> PathState:
    run: RunState = {"question": "q", "plan": "p", "needs": ["n"], "related": ["k"]}
    state = initial_path_state(run, 1, {"id": "n", "name": "N"})
    state.update(changes)  # type: ignore[typeddict-item]  # a test's own choice of fields
    return state


# The drawing carries the paper's function names on the edges of a path.
def test_the_drawing_names_the_functions() -> None:
    parts = AgentDependencies(None, OfflineDecider(), QueryVectors(OfflineEmbedder()), Limits())  # type: ignore[arg-type]
    drawing = build_agent(parts).get_graph(xray=True)
    labels = ", ".join(str(edge.data) for edge in drawing.edges if edge.data)

    assert set(labels.split(", ")) >= FUNCTIONS
    assert {"rational_plan", "initial_nodes", "answer_reasoning"} <= set(drawing.nodes)


# What a path sets out with is plain JSON, so that a run can be stored and resumed.
def test_the_state_is_plain_json() -> None:
    state = exploring()

    assert json.loads(json.dumps(state)) == state


# After facts: chunks if any are queued, else neighbors; a stopped path ends.
def test_after_facts() -> None:
    assert after_facts(exploring(queue=[REF])) == "read_chunk"
    assert after_facts(exploring(queue=[])) == "stop_and_read_neighbor"
    assert AFTER_FACTS[after_facts(exploring(stopped="call_limit", queue=[REF]))] == "end_path"


# After a chunk: the queue first, then the neighbors; a stopped path ends.
def test_after_chunk() -> None:
    assert AFTER_CHUNK[after_chunk(exploring(queue=[REF]))] == "explore_chunks"
    assert AFTER_CHUNK[after_chunk(exploring())] == "explore_neighbors"
    assert AFTER_CHUNK[after_chunk(exploring(stopped="termination", queue=[REF]))] == "end_path"


# After neighbors: the next node, or the end.
def test_after_neighbors() -> None:
    assert AFTER_NEIGHBORS[after_neighbors(exploring())] == "explore_atomic_facts"
    assert AFTER_NEIGHBORS[after_neighbors(exploring(stopped="nothing_left"))] == "end_path"
