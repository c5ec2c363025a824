"""Exploring one path (paper, section 3.3.2): atomic facts, then chunks, then neighbors.

A call is one decision that names a function; reading a node's facts when it is entered is none.
A step never changes the state that it is given. Where a step leads is wired in `graph`.
"""

from langgraph.runtime import Runtime

from graphreader.agent.condensing import condense
from graphreader.agent.events import FunctionChosen, PathEnded
from graphreader.agent.paging import GroupedFacts, fact_page, shown_group
from graphreader.agent.parts import Parts, Update, spent
from graphreader.agent.quoting import with_quotes
from graphreader.agent.ranking import by_words
from graphreader.agent.state import (
    ChunkRef,
    Costs,
    Exploring,
    Function,
    NodeRef,
    Notes,
    Run,
    add_costs,
    label,
)
from graphreader.deciding.decisions import ChunkDecision, FactsDecision, NeighborDecision
from graphreader.deciding.exploring import ChunkTask, FactsTask, NeighborTask
from graphreader.errors import BudgetError, DecisionError, GraphReaderError
from graphreader.reading import FunctionCall
from graphreader.store.explorer import StoredChunk

FIRST_PAGE: Update = {"page": 1, "shown": 0}

NEIGHBORS_RANKED = 300
NEIGHBORS_SHOWN = 60


class Exploration:
    """The steps of one path."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def explore_atomic_facts(self, state: Exploring, runtime: Runtime[None]) -> Update:
        """Look at the node's facts: which chunks to read in full, if any (figure 9).

        They come in pages, the most promising ones first. Where all of them stand in chunks that
        were read, there is nothing to ask.
        """
        found = await self._parts.explorer.facts(state["node"]["id"])
        if all(group.chunk in state["read"] for group in found):
            return FIRST_PAGE
        page = fact_page(found, f"{state['question']} {state['plan']}", state["shown"])
        groups = tuple(shown_group(group, state["read"]) for group in page.groups)
        task = FactsTask(
            *_asked(state), state["node"]["name"], groups, page.remaining, state["page"]
        )
        decision: FactsDecision
        decision, task, costs = await self._parts.decide(task)
        queue: list[ChunkRef] = []
        if decision.function == "read_chunk":
            chosen = dict.fromkeys(n for n in decision.chunks if 1 <= n <= len(task.groups))
            queue = [_ref(page.groups[n - 1]) for n in chosen if not groups[n - 1].read]
        argument = "; ".join(label(ref["document"], ref["index"]) for ref in queue)
        function = _function(state, decision, argument)
        return {
            **self._called(state, function, runtime),
            **_turned(state, decision.function, task.own_choices),
            **await self._noted(state, decision.notebook, costs),
            "queue": queue,
        }

    async def explore_chunks(self, state: Exploring, runtime: Runtime[None]) -> Update:
        """Read the first chunk of the queue and decide how to go on (figure 10)."""
        first, *rest = state["queue"]
        chunk = await self._parts.explorer.chunk(first["id"])
        read = [*state["read"], first["id"]]
        if chunk is None:
            return {"queue": rest, "read": read}
        task = ChunkTask(
            *_asked(state),
            state["node"]["name"],
            label(chunk.document, chunk.index),
            chunk.text,
            queued=tuple(label(ref["document"], ref["index"]) for ref in rest),
            has_previous=chunk.previous is not None,
            has_subsequent=chunk.subsequent is not None,
        )
        decision: ChunkDecision
        decision, _, costs = await self._parts.decide(task)
        argument, queue = _beside(chunk, decision.function, rest, read)
        function = _function(state, decision, argument, task.label)
        return {
            **self._called(state, function, runtime),
            **await self._noted(state, decision.notebook, costs),
            "quotes": with_quotes(state["quotes"], chunk, decision.quotes),
            "queue": queue,
            "read": read,
        }

    async def explore_neighbors(self, state: Exploring, runtime: Runtime[None]) -> Update:
        """Choose a neighbor of the current node to go on at, or end the path (figure 11)."""
        found = await self._parts.explorer.neighbors(
            state["node"]["id"], state["visited"], state["read"], NEIGHBORS_RANKED
        )
        if not found:
            return {"stopped": "nothing_left"}
        wanted = f"{state['question']} {state['plan']} {state['notebook']}"
        ranked = by_words(found, lambda neighbor: neighbor.node.name, wanted)
        ranked.sort(key=lambda neighbor: not neighbor.unread)
        nodes = [neighbor.node for neighbor in ranked[state["shown"] :]]
        names = tuple(node.name for node in nodes[:NEIGHBORS_SHOWN])
        remaining = len(nodes) - len(names)
        task = NeighborTask(*_asked(state), state["node"]["name"], names, remaining, state["page"])
        decision: NeighborDecision
        decision, task, costs = await self._parts.decide(task)
        update = {"costs": costs, **_turned(state, decision.function, task.own_choices)}
        if decision.function != "read_neighbor_node":
            function = _function(state, decision)
            return {**self._called(state, function, runtime), **update}
        node = nodes[decision.neighbor - 1]
        function = _function(state, decision, node.name)
        return {
            **self._called(state, function, runtime),
            **update,
            "node": {"id": node.id, "name": node.name},
            "visited": [*state["visited"], node.id],
        }

    async def end_path(self, state: Exploring, runtime: Runtime[None]) -> Update:
        """Bring the notebook home."""
        stopped = state["stopped"] or "nothing_left"
        notes: Notes = {
            "path": state["path"],
            "initial_node": state["initial_node"],
            "notebook": state["notebook"],
            "functions": state["functions"],
            "quotes": state["quotes"],
            "stopped": stopped,
            "error": state["error"],
            "costs": state["costs"],
        }
        runtime.stream_writer(PathEnded(state["path"], stopped, state["notebook"], state["error"]))
        return {"paths": [notes]}

    def _called(self, state: Exploring, function: Function, runtime: Runtime[None]) -> Update:
        """Count the call, and stop the path by termination or by its last call."""
        call = FunctionCall(**function)
        runtime.stream_writer(FunctionChosen(state["path"], state["node"]["name"], call))
        functions = [*state["functions"], function]
        stopped = None
        if function["name"] == "termination":
            stopped = "termination"
        elif len(functions) >= self._parts.limits.calls:
            stopped = "call_limit"
        return {"functions": functions, "stopped": stopped}

    async def _noted(self, state: Exploring, notebook: str, costs: Costs) -> Update:
        """The notebook as it goes on, condensed where it is too long; if that fails the path ends.

        It ends with the long notebook, so that nothing of it is lost.
        """
        try:
            short, more = await condense(self._parts, state["question"], state["plan"], notebook)
        except DecisionError as error:
            costs = add_costs(costs, spent(error, "explore"))
            return {"notebook": notebook, "costs": costs, **stop(error)}
        return {"notebook": short, "costs": add_costs(costs, more)}


def stop(error: GraphReaderError) -> Update:
    """How a path ends that cannot go on."""
    stopped = "budget" if isinstance(error, BudgetError) else "error"
    return {"stopped": stopped, "error": str(error)}


def enter(state: Run, path: int, node: NodeRef) -> Exploring:
    """What a path knows when it sets out from an initial node; `path` counts from 1."""
    return {
        "question": state["question"],
        "plan": state["plan"],
        "path": path,
        "initial_node": node["name"],
        "node": node,
        "visited": [node["id"]],
        "queue": [],
        "read": [],
        "page": 1,
        "shown": 0,
        "notebook": "",
        "quotes": [],
        "functions": [],
        "stopped": None,
        "error": None,
        "costs": {},
    }


def _asked(state: Exploring) -> tuple[str, str, tuple[str, ...], str]:
    """What every exploring task begins with: question, plan, previous actions, notebook."""
    actions = tuple(f"at {f['at']}: {f['name']}({f['argument']})" for f in state["functions"])
    return state["question"], state["plan"], actions, state["notebook"]


def _function(
    state: Exploring,
    decision: FactsDecision | ChunkDecision | NeighborDecision,
    argument: str = "",
    at: str = "",
) -> Function:
    """The chosen function in words; `at` is where it was chosen, the current node if not given."""
    return {
        "name": decision.function,
        "argument": argument,
        "rationale": decision.rationale,
        "at": at or state["node"]["name"],
    }


def _turned(state: Exploring, function: str, shown: int) -> Update:
    """The next page where it was asked for, else the first one of whatever comes."""
    if function != "next_page":
        return FIRST_PAGE
    return {"page": state["page"] + 1, "shown": state["shown"] + shown}


def _ref(group: GroupedFacts) -> ChunkRef:
    return {"id": group.chunk, "document": group.document, "index": group.index}


def _beside(
    chunk: StoredChunk, function: str, queue: list[ChunkRef], read: list[str]
) -> tuple[str, list[ChunkRef]]:
    """The function's argument in words, and the queue: the chunk asked for goes to its front.

    At an edge of the document, or beside a chunk that was read, the queue stays as it is.
    """
    sides = {"read_previous_chunk": chunk.previous, "read_subsequent_chunk": chunk.subsequent}
    if function not in sides:
        return "", queue
    beside = sides[function]
    if beside is None:
        return "there is none", queue
    name = label(chunk.document, beside[1])
    if beside[0] in read:
        return f"{name}, already read", queue
    first: ChunkRef = {"id": beside[0], "document": chunk.document, "index": beside[1]}
    return name, [first, *(ref for ref in queue if ref["id"] != beside[0])]
