"""What one path knows: how it sets out, what its steps are told, what is noted, how it ends.

Nothing here asks or looks: new values out of old ones.
"""

from collections.abc import Sequence

from langgraph.errors import GraphBubbleUp

from graphreader.agent.parts import Update
from graphreader.agent.state import ChunkRef, Exploring, Function, NodeRef, Notes, Run, label
from graphreader.deciding.decisions import ChunkDecision, FactsDecision, NeighborDecision
from graphreader.deciding.secrecy import redacted
from graphreader.errors import BudgetError, GraphReaderError
from graphreader.settings import secrets
from graphreader.store.found import StoredChunk

NOT_OURS = (GraphBubbleUp, AssertionError)
"""What no path ends by: how LangGraph interrupts a step, and mistakes in a program."""

FIRST_PAGE: Update = {"page": 1, "shown": 0}


def stop(error: Exception) -> Update:
    """How a path ends that cannot go on; what nobody foresaw is told with its kind."""
    if isinstance(error, GraphReaderError):
        stopped = "budget" if isinstance(error, BudgetError) else "error"
        return {"stopped": stopped, "error": str(error)}
    told = redacted(f"{type(error).__name__}: {error}", secrets())
    return {"stopped": "error", "error": told}


def why_all_failed(paths: Sequence[Notes]) -> str:
    """A sentence where every path ended with an error, else nothing."""
    if not paths or any(one["stopped"] != "error" for one in paths):
        return ""
    return f"Every path failed, the first one so: {paths[0]['error']}"


def enter(state: Run, path: int, node: NodeRef) -> Exploring:
    """What a path knows when it sets out from an initial node; `path` counts from 1."""
    return {
        "run": state.get("run", ""),
        "before": state.get("costs", {}),
        "question": state["question"],
        "plan": state["plan"],
        "needs": state["needs"],
        "related": state["related"],
        "path": path,
        "initial_node": node,
        "node": node,
        "visited": [node["id"]],
        "queue": [],
        "read": [],
        "seen": {},
        "page": 1,
        "shown": 0,
        "notebook": "",
        "quotes": [],
        "functions": [],
        "stopped": None,
        "error": None,
        "costs": {},
    }


def asked(state: Exploring) -> tuple[str, str, tuple[str, ...], str]:
    """What every exploring task begins with: question, plan, previous actions, notebook."""
    actions = tuple(f"at {f['at']}: {f['name']}({f['argument']})" for f in state["functions"])
    return state["question"], state["plan"], actions, state["notebook"]


def called(
    state: Exploring,
    decision: FactsDecision | ChunkDecision | NeighborDecision,
    argument: str = "",
    at: str = "",
    id_: str = "",
) -> Function:
    """The chosen function in words; `at` is where it was chosen, the current node if not given."""
    return {
        "name": decision.function,
        "argument": argument,
        "rationale": decision.rationale,
        "at": at or state["node"]["name"],
        "id": id_ or state["node"]["id"],
    }


def turned(state: Exploring, function: str, shown: int) -> Update:
    """The next page where it was asked for, else the first one of whatever comes."""
    if function != "next_page":
        return FIRST_PAGE
    return {"page": state["page"] + 1, "shown": state["shown"] + shown}


def beside(
    chunk: StoredChunk, function: str, queue: list[ChunkRef], read: list[str]
) -> tuple[str, list[ChunkRef]]:
    """The function's argument in words, and the queue: the chunk asked for goes to its front.

    At an edge of the document, or beside a chunk that was read, the queue stays as it is.
    """
    sides = {"read_previous_chunk": chunk.previous, "read_subsequent_chunk": chunk.subsequent}
    if function not in sides:
        return "", queue
    next_to = sides[function]
    if next_to is None:
        return "there is none", queue
    name = label(chunk.document, next_to[1])
    if next_to[0] in read:
        return f"{name}, already read", queue
    first: ChunkRef = {"id": next_to[0], "document": chunk.document, "index": next_to[1]}
    return name, [first, *(ref for ref in queue if ref["id"] != next_to[0])]
