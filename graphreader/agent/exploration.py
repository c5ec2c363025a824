"""Exploring one path (paper, section 3.3.2): atomic facts, then chunks, then neighbors.

A call is one decision that names a function; reading a node's facts when it is entered is none.
A step never changes the state that it is given. Where a step leads is wired in `graph`.

What one path knows: how it sets out, what its steps are told, what is noted, how it ends.

Nothing here asks or looks: new values out of old ones.

The neighbors of a path's node in the order in which they promise most.

Three things speak for a neighbor: words that it shares with the question, the plan and the
notebook; likeness in meaning to what is still missing; facts that it shares with the node, measured
by how many it has at all, so that what turns up everywhere does not crowd out the rare bridge.
"""

from langgraph.runtime import Runtime

from graphreader.agent.citations import with_quotes
from graphreader.agent.decisions import ChunkDecision, FactsDecision, NeighborDecision
from graphreader.agent.dependencies import (
    NOT_OURS,
    AgentDependencies,
    Update,
    end_with_error,
    wasted_costs,
)
from graphreader.agent.events import (
    ChunkRead,
    FactsRead,
    FunctionChosen,
    NeighborsSeen,
    NoteTaken,
    PathEnded,
)
from graphreader.agent.fact_pages import FactPage, GroupedFacts, fact_page, in_context
from graphreader.agent.notebook import condense
from graphreader.agent.ranking import fused, missing, sharing, wordings
from graphreader.agent.state import (
    ChunkRef,
    Costs,
    Function,
    NodeRef,
    PathResult,
    PathState,
    RunState,
    Seen,
    add_costs,
    label,
)
from graphreader.agent.tasks import ChunkTask, FactsTask, NeighborTask
from graphreader.errors import DecisionError
from graphreader.reading import FunctionCall
from graphreader.store.explorer import OPENING
from graphreader.store.records import Neighbor, Node, StoredChunk

FIRST_PAGE: Update = {"page": 1, "shown": 0}


def enter(state: RunState, path: int, node: NodeRef) -> PathState:
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


def task_prefix(state: PathState) -> tuple[str, str, tuple[str, ...], str]:
    """What every exploring task begins with: question, plan, previous actions, notebook."""
    actions = tuple(f"at {f['at']}: {f['name']}({f['argument']})" for f in state["functions"])
    return state["question"], state["plan"], actions, state["notebook"]


def called(
    state: PathState,
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


def turned(state: PathState, function: str, shown: int) -> Update:
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


RANKED = 200
"""Neighbors of a node that are looked at."""


async def neighbors_of(parts: AgentDependencies, state: PathState) -> list[Node]:
    """Those that were not visited, best first; those that lead to unread chunks before others."""
    found = await parts.explorer.neighbors(
        state["node"]["id"],
        state["visited"],
        state["read"],
        state["related"],
        await _wanted(parts, state),
        RANKED,
        state["notebook"],
    )
    said = " ".join([state["question"], state["plan"], *state["needs"], state["notebook"]])
    rankings = [found, sharing(found, lambda neighbor: neighbor.node.name, said)]
    if any(neighbor.likeness for neighbor in found):
        rankings.append(sorted(found, key=lambda neighbor: -neighbor.likeness))
    ranked = fused(rankings, lambda neighbor: neighbor.node.id)
    return [neighbor.node for neighbor in sorted(ranked, key=_is_read)]


def _is_read(neighbor: Neighbor) -> bool:
    return not neighbor.unread


async def _wanted(parts: AgentDependencies, state: PathState) -> list[float] | None:
    """What is still missing, as a vector; None where none can be had: then words must do."""
    try:
        return await parts.vectors.mean(
            [state["question"], *missing(state["needs"], state["notebook"])]
        )
    except DecisionError:
        return None


NEIGHBORS_SHOWN = 60


class Exploration:
    """The steps of one path."""

    def __init__(self, parts: AgentDependencies) -> None:
        self._parts = parts

    async def explore_atomic_facts(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Look at the node's facts: which chunks to read in full, if any (figure 9).

        They come in pages, the most promising ones first. Where all of them stand in chunks that
        were read, there is nothing to ask.
        """
        wanted = " ".join([state["question"], *state["needs"]])
        found = await self._parts.explorer.facts(
            state["node"]["id"], state["related"], sorted(wordings(wanted)), OPENING
        )
        if all(group.chunk in state["read"] for group in found.groups):
            return FIRST_PAGE
        name = state["node"]["name"]
        page = fact_page(found.groups, wanted, state["shown"], state["read"], name)
        groups = await in_context(self._parts.explorer, page.groups, state["read"])
        task = FactsTask(
            *task_prefix(state), name, groups, page.remaining, state["page"], found.unlisted
        )
        decision: FactsDecision
        decision, task, costs = await self._parts.decide(task)
        looked_at, seen = _looked_at(state, page, task)
        runtime.stream_writer(looked_at)
        queue: list[ChunkRef] = []
        if decision.function == "read_chunk":
            chosen = [n for n in decision.chunks if 1 <= n <= len(task.groups)]
            # Facts of one chunk may stand in several groups.
            refs = {page.groups[n - 1].chunk: _ref(page.groups[n - 1]) for n in chosen}
            queue = [ref for id_, ref in refs.items() if id_ not in state["read"]]
        argument = "; ".join(label(ref["document"], ref["index"]) for ref in queue)
        function = called(state, decision, argument)
        return {
            **self._called(state, function, runtime),
            **turned(state, decision.function, task.own_choices),
            **await self._noted(state, decision.notebook, costs, runtime),
            "queue": queue,
            "seen": seen,
        }

    async def explore_chunks(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Read the first chunk of the queue and decide how to go on (figure 10)."""
        first, *rest = state["queue"]
        chunk = await self._parts.explorer.chunk(first["id"])
        read = [*state["read"], first["id"]]
        if chunk is None:
            return {"queue": rest, "read": read}
        name = state["node"]["name"]
        runtime.stream_writer(
            ChunkRead(state["path"], name, chunk.document, chunk.document_id, chunk.index)
        )
        task = ChunkTask(
            *task_prefix(state),
            name,
            label(chunk.document, chunk.index),
            chunk.text,
            queued=tuple(label(ref["document"], ref["index"]) for ref in rest),
            has_previous=chunk.previous is not None,
            has_subsequent=chunk.subsequent is not None,
        )
        decision: ChunkDecision
        decision, _, costs = await self._parts.decide(task)
        argument, queue = beside(chunk, decision.function, rest, read)
        function = called(state, decision, argument, task.label, chunk.id)
        return {
            **self._called(state, function, runtime),
            **await self._noted(state, decision.notebook, costs, runtime),
            "quotes": with_quotes(state["quotes"], chunk, decision.quotes),
            "queue": queue,
            "read": read,
        }

    async def explore_neighbors(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Choose a neighbor of the current node to go on at, or end the path (figure 11)."""
        found = await neighbors_of(self._parts, state)
        if not found:
            return {"stopped": "nothing_left"}
        nodes = found[state["shown"] :]
        names = tuple(node.name for node in nodes[:NEIGHBORS_SHOWN])
        remaining = len(nodes) - len(names)
        here = state["node"]["name"]
        task = NeighborTask(*task_prefix(state), here, names, remaining, state["page"])
        runtime.stream_writer(NeighborsSeen(state["path"], here, names))
        decision: NeighborDecision
        decision, task, costs = await self._parts.decide(task)
        update = {"costs": costs, **turned(state, decision.function, task.own_choices)}
        if decision.function != "read_neighbor_node":
            function = called(state, decision)
            return {**self._called(state, function, runtime), **update}
        node = nodes[decision.neighbor - 1]
        function = called(state, decision, node.name)
        return {
            **self._called(state, function, runtime),
            **update,
            "node": {"id": node.id, "name": node.name},
            "visited": [*state["visited"], node.id],
        }

    async def end_path(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Bring the notebook home."""
        stopped = state["stopped"] or "nothing_left"
        notes: PathResult = {
            "path": state["path"],
            "initial_node": state["initial_node"]["name"],
            "node_id": state["initial_node"]["id"],
            "notebook": state["notebook"],
            "functions": state["functions"],
            "quotes": state["quotes"],
            "stopped": stopped,
            "error": state["error"],
            "costs": state["costs"],
            "read": state["read"],
            "seen": state.get("seen", {}),
        }
        runtime.stream_writer(PathEnded(state["path"], stopped, state["notebook"], state["error"]))
        return {"paths": [notes]}

    def _called(self, state: PathState, function: Function, runtime: Runtime[None]) -> Update:
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

    async def _noted(
        self, state: PathState, notebook: str, costs: Costs, runtime: Runtime[None]
    ) -> Update:
        """The notebook as it goes on, condensed where it is too long; if that fails the path ends.

        It ends with the long notebook and its last call, so that nothing of them is lost.
        """
        update: Update = {}
        try:
            notebook, more = await condense(self._parts, state["question"], state["plan"], notebook)
        except NOT_OURS:
            raise
        except Exception as error:
            more, update = wasted_costs(error, "explore"), end_with_error(error)
        if notebook != state["notebook"]:
            runtime.stream_writer(NoteTaken(state["path"], notebook))
        return {"notebook": notebook, "costs": add_costs(costs, more), **update}


def _looked_at(state: PathState, page: FactPage, task: FactsTask) -> tuple[FactsRead, Seen]:
    """What is watched, and kept: of the page what was shown, its first groups' first facts."""
    facts = tuple(fact for group in task.groups for fact in group.facts)
    labels = tuple(dict.fromkeys(group.label for group in task.groups))
    shown = [
        (group, fact)
        for group, asked in zip(page.groups, task.groups, strict=False)
        for fact in group.facts[: len(asked.facts)]
    ]
    places = tuple((group.document_id, group.index, fact.index) for group, fact in shown)
    seen: Seen = {}
    for group, told in zip(page.groups, task.groups, strict=False):
        indexes = [fact.index for fact in group.facts[: len(told.facts)]]
        # The facts that stand right before these to explain them were shown, too.
        explaining = [n - 1 for n, before in zip(indexes, told.before, strict=False) if before]
        if indexes:
            seen[group.chunk] = sorted({*seen.get(group.chunk, ()), *indexes, *explaining})
    return FactsRead(state["path"], state["node"]["name"], facts, labels, places), seen


def _ref(group: GroupedFacts) -> ChunkRef:
    return {"id": group.chunk, "document": group.document, "index": group.index}
