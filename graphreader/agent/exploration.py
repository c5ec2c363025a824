"""Exploring one path (paper, section 3.3.2): atomic facts, then chunks, then neighbors.

A call is one decision that names a function; reading a node's facts on entering it is none.
"""

from contextlib import suppress

from langgraph.runtime import Runtime

from graphreader.agent.citations import add_quotes
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
from graphreader.agent.notebook import condense
from graphreader.agent.ranking import (
    FactPart,
    add_context,
    fuse_rankings,
    open_needs,
    page_of_facts,
    rank_shared,
    word_stems,
)
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
from graphreader.store.records import Node, StoredChunk

MAX_NEIGHBORS = 200  # neighbors of a node that are ranked
NEIGHBORS_PER_PAGE = 60  # neighbors that one page shows

FIRST_PAGE: Update = {"page": 1, "shown": 0}


class Exploration:
    """The nodes of one path."""

    def __init__(self, deps: AgentDependencies) -> None:
        self._deps = deps

    async def explore_atomic_facts(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Show a page of the node's facts and choose chunks to read in full, if any (figure 9).

        If all facts stand in chunks that are read already, no decision is taken.
        """
        query = " ".join([state["question"], *state["needs"]])
        records = await self._deps.explorer.facts(
            state["node"]["id"], state["related"], sorted(word_stems(query)), OPENING
        )
        if all(group.chunk in state["read"] for group in records.groups):
            return FIRST_PAGE
        name = state["node"]["name"]
        parts, remaining = page_of_facts(records.groups, query, state["shown"], state["read"], name)
        groups = await add_context(self._deps.explorer, parts, state["read"])
        context, page = _task_context(state), state["page"]
        task = FactsTask(*context, name, groups, page, records.unlisted, remaining=remaining)
        decision: FactsDecision
        decision, task, costs = await self._deps.decide(task)
        facts_read, seen = _facts_read(state, parts, task)
        runtime.stream_writer(facts_read)
        queue: list[ChunkRef] = []
        if decision.function == "read_chunk":
            chosen = [parts[n - 1].source for n in decision.chunks if 1 <= n <= len(task.groups)]
            # Facts of one chunk may stand in several groups.
            refs: dict[str, ChunkRef] = {
                one.chunk: {"id": one.chunk, "document": one.document, "index": one.index}
                for one in chosen
            }
            queue = [ref for id_, ref in refs.items() if id_ not in state["read"]]
        argument = "; ".join(label(ref["document"], ref["index"]) for ref in queue)
        function = chosen_function(state, decision, argument)
        return {
            **self.count_call(state, function, runtime),
            **_page_after(state, decision.function, task.own_choices),
            **await self._update_notebook(state, decision.notebook, costs, runtime),
            "queue": queue,
            "seen": seen,
        }

    async def explore_chunks(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Read the first chunk of the queue and decide how to go on (figure 10)."""
        first, *rest = state["queue"]
        chunk = await self._deps.explorer.chunk(first["id"])
        read = [*state["read"], first["id"]]
        if chunk is None:
            return {"queue": rest, "read": read}
        name = state["node"]["name"]
        runtime.stream_writer(
            ChunkRead(state["path"], name, chunk.document, chunk.document_id, chunk.index)
        )
        task = ChunkTask(
            *_task_context(state),
            name,
            label(chunk.document, chunk.index),
            chunk.text,
            queued=tuple(label(ref["document"], ref["index"]) for ref in rest),
            has_previous=chunk.previous is not None,
            has_subsequent=chunk.subsequent is not None,
        )
        decision: ChunkDecision
        decision, _, costs = await self._deps.decide(task)
        argument, queue = _queue_adjacent(chunk, decision.function, rest, read)
        function = chosen_function(state, decision, argument, task.label, chunk.id)
        return {
            **self.count_call(state, function, runtime),
            **await self._update_notebook(state, decision.notebook, costs, runtime),
            "quotes": add_quotes(state["quotes"], chunk, decision.quotes),
            "queue": queue,
            "read": read,
        }

    async def explore_neighbors(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Choose a neighbor of the current node to go on at, or end the path (figure 11)."""
        ranked = await ranked_neighbors(self._deps, state)
        if not ranked:
            return {"stopped": "nothing_left"}
        nodes = ranked[state["shown"] :]
        names = tuple(node.name for node in nodes[:NEIGHBORS_PER_PAGE])
        remaining = len(nodes) - len(names)
        here = state["node"]["name"]
        context = _task_context(state)
        task = NeighborTask(*context, here, names, state["page"], remaining=remaining)
        runtime.stream_writer(NeighborsSeen(state["path"], here, names))
        decision: NeighborDecision
        decision, task, costs = await self._deps.decide(task)
        update = {"costs": costs, **_page_after(state, decision.function, task.own_choices)}
        argument = ""
        if decision.function == "read_neighbor_node":
            node = nodes[decision.neighbor - 1]
            argument = node.name
            update["node"] = {"id": node.id, "name": node.name}
            update["visited"] = [*state["visited"], node.id]
        function = chosen_function(state, decision, argument)
        return {**self.count_call(state, function, runtime), **update}

    async def end_path(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Return the result of the path to the run."""
        stopped = state["stopped"] or "nothing_left"
        result: PathResult = {
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
            "seen": state["seen"],
        }
        runtime.stream_writer(PathEnded(state["path"], stopped, state["notebook"], state["error"]))
        return {"paths": [result]}

    def count_call(self, state: PathState, function: Function, runtime: Runtime[None]) -> Update:
        """Count the call, and end the path by termination or by its last call."""
        call = FunctionCall(**function)
        runtime.stream_writer(FunctionChosen(state["path"], state["node"]["name"], call))
        functions = [*state["functions"], function]
        stopped = None
        if function["name"] == "termination":
            stopped = "termination"
        elif len(functions) >= self._deps.limits.calls:
            stopped = "call_limit"
        return {"functions": functions, "stopped": stopped}

    async def _update_notebook(
        self, state: PathState, notebook: str, costs: Costs, runtime: Runtime[None]
    ) -> Update:
        """Replace the notebook, condensed if it is too long; if that fails the path ends."""
        update: Update = {}
        try:
            notebook, more = await condense(self._deps, state["question"], state["plan"], notebook)
        except NOT_OURS:
            raise
        except Exception as error:
            more, update = wasted_costs(error, "explore"), end_with_error(error)
        if notebook != state["notebook"]:
            runtime.stream_writer(NoteTaken(state["path"], notebook))
        return {"notebook": notebook, "costs": add_costs(costs, more), **update}


def initial_path_state(state: RunState, path: int, node: NodeRef) -> PathState:
    """The state in which a path sets out from an initial node; `path` counts from 1."""
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


async def ranked_neighbors(deps: AgentDependencies, state: PathState) -> list[Node]:
    """The neighbors that were not visited, best first; those with unread chunks before others.

    Three rankings are fused: by facts shared with the node, relative to all facts of the neighbor;
    by words shared with question, plan, needs and notebook; by similarity to the open needs.
    """
    vector = None
    with suppress(DecisionError):
        open_now = open_needs(state["needs"], state["notebook"])
        vector = await deps.vectors.mean([state["question"], *open_now])
    neighbors = await deps.explorer.neighbors(
        state["node"]["id"],
        state["visited"],
        state["read"],
        state["related"],
        vector,
        MAX_NEIGHBORS,
        state["notebook"],
    )
    query = " ".join([state["question"], state["plan"], *state["needs"], state["notebook"]])
    rankings = [neighbors, rank_shared(neighbors, lambda neighbor: neighbor.node.name, query)]
    if any(neighbor.similarity for neighbor in neighbors):
        rankings.append(sorted(neighbors, key=lambda neighbor: -neighbor.similarity))
    ranked = fuse_rankings(rankings, lambda neighbor: neighbor.node.id)
    return [neighbor.node for neighbor in sorted(ranked, key=lambda neighbor: not neighbor.unread)]


def _task_context(state: PathState) -> tuple[str, str, tuple[str, ...], str]:
    """The common arguments of exploration tasks: question, plan, previous actions, notebook."""
    actions = tuple(f"at {f['at']}: {f['name']}({f['argument']})" for f in state["functions"])
    return state["question"], state["plan"], actions, state["notebook"]


def chosen_function(
    state: PathState,
    decision: FactsDecision | ChunkDecision | NeighborDecision,
    argument: str = "",
    at: str = "",
    id_: str = "",
) -> Function:
    """The chosen function in words; `at` is where it was chosen, by default the current node."""
    return {
        "name": decision.function,
        "argument": argument,
        "rationale": decision.rationale,
        "at": at or state["node"]["name"],
        "id": id_ or state["node"]["id"],
    }


def _page_after(state: PathState, function: str, shown: int) -> Update:
    """The page to show next: the following one after `next_page`, else the first."""
    if function != "next_page":
        return FIRST_PAGE
    return {"page": state["page"] + 1, "shown": state["shown"] + shown}


def _queue_adjacent(
    chunk: StoredChunk, function: str, queue: list[ChunkRef], read: list[str]
) -> tuple[str, list[ChunkRef]]:
    """The function's argument in words, and the queue with the previous or subsequent chunk first.

    At an edge of the document, and for a chunk that is read already, the queue stays as it is.
    """
    adjacent = {"read_previous_chunk": chunk.previous, "read_subsequent_chunk": chunk.subsequent}
    if function not in adjacent:
        return "", queue
    target = adjacent[function]
    if target is None:
        return "there is none", queue
    name = label(chunk.document, target[1])
    if target[0] in read:
        return f"{name}, already read", queue
    first: ChunkRef = {"id": target[0], "document": chunk.document, "index": target[1]}
    return name, [first, *(ref for ref in queue if ref["id"] != target[0])]


def _facts_read(state: PathState, parts: list[FactPart], task: FactsTask) -> tuple[FactsRead, Seen]:
    """The event for the facts that were really shown, and their indexes by chunk."""
    facts = tuple(fact for group in task.groups for fact in group.facts)
    labels = tuple(dict.fromkeys(group.label for group in task.groups))
    places: list[tuple[str, int, int]] = []
    seen: Seen = {}
    for part, group in zip(parts, task.groups, strict=False):
        chunk = part.source
        indexes = [fact.index for fact in part.facts[: len(group.facts)]]
        places += [(chunk.document_id, chunk.index, index) for index in indexes]
        # The facts right before these, which explain them, were shown as well.
        explaining = [n - 1 for n, before in zip(indexes, group.before, strict=False) if before]
        if indexes:
            seen[chunk.chunk] = sorted({*seen.get(chunk.chunk, ()), *indexes, *explaining})
    return FactsRead(state["path"], state["node"]["name"], facts, labels, tuple(places)), seen
