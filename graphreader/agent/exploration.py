"""Exploring one path (paper, section 3.3.2): atomic facts, then chunks, then neighbors.

A call is one decision that names a function; reading a node's facts when it is entered is none.
A step never changes the state that it is given. Where a step leads is wired in `graph`.
"""

from langgraph.runtime import Runtime

from graphreader.agent.condensing import condense
from graphreader.agent.context import in_context
from graphreader.agent.events import (
    ChunkRead,
    FactsRead,
    FunctionChosen,
    NeighborsSeen,
    NoteTaken,
    PathEnded,
)
from graphreader.agent.neighborhood import neighbors_of
from graphreader.agent.paging import FactPage, GroupedFacts, fact_page
from graphreader.agent.parts import Parts, Update, spent
from graphreader.agent.path import FIRST_PAGE, NOT_OURS, asked, beside, called, stop, turned
from graphreader.agent.quoting import with_quotes
from graphreader.agent.ranking import wordings
from graphreader.agent.state import (
    ChunkRef,
    Costs,
    Exploring,
    Function,
    Notes,
    Seen,
    add_costs,
    label,
)
from graphreader.deciding.decisions import ChunkDecision, FactsDecision, NeighborDecision
from graphreader.deciding.exploring import ChunkTask, FactsTask, NeighborTask
from graphreader.reading import FunctionCall
from graphreader.store.explorer import OPENING

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
        wanted = " ".join([state["question"], *state["needs"]])
        found = await self._parts.explorer.facts(
            state["node"]["id"], state["related"], sorted(wordings(wanted)), OPENING
        )
        if all(group.chunk in state["read"] for group in found.groups):
            return FIRST_PAGE
        name = state["node"]["name"]
        page = fact_page(found.groups, wanted, state["shown"], state["read"], name)
        groups = await in_context(self._parts.explorer, page.groups, state["read"])
        task = FactsTask(*asked(state), name, groups, page.remaining, state["page"], found.unlisted)
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

    async def explore_chunks(self, state: Exploring, runtime: Runtime[None]) -> Update:
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
            *asked(state),
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

    async def explore_neighbors(self, state: Exploring, runtime: Runtime[None]) -> Update:
        """Choose a neighbor of the current node to go on at, or end the path (figure 11)."""
        found = await neighbors_of(self._parts, state)
        if not found:
            return {"stopped": "nothing_left"}
        nodes = found[state["shown"] :]
        names = tuple(node.name for node in nodes[:NEIGHBORS_SHOWN])
        remaining = len(nodes) - len(names)
        here = state["node"]["name"]
        task = NeighborTask(*asked(state), here, names, remaining, state["page"])
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

    async def end_path(self, state: Exploring, runtime: Runtime[None]) -> Update:
        """Bring the notebook home."""
        stopped = state["stopped"] or "nothing_left"
        notes: Notes = {
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

    async def _noted(
        self, state: Exploring, notebook: str, costs: Costs, runtime: Runtime[None]
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
            more, update = spent(error, "explore"), stop(error)
        if notebook != state["notebook"]:
            runtime.stream_writer(NoteTaken(state["path"], notebook))
        return {"notebook": notebook, "costs": add_costs(costs, more), **update}


def _looked_at(state: Exploring, page: FactPage, task: FactsTask) -> tuple[FactsRead, Seen]:
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
