"""Exploring one path (paper, section 3.3.2): atomic facts, then chunks, then neighbors."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

from langgraph.runtime import Runtime

from graphreader.agent.citations import add_quotes
from graphreader.agent.context import (
    NOT_OURS,
    RunContext,
    Update,
    end_with_error,
    wasted_costs,
)
from graphreader.agent.decisions import ChunkDecision, FactsDecision, NeighborDecision
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
    distinct_titles,
    fact_groups,
    fuse_rankings,
    open_needs,
    page_of_facts,
    rank_shared,
)
from graphreader.agent.state import (
    Costs,
    NodeRef,
    PathState,
    Plain,
    QueuedChunk,
    RunState,
    Seen,
    add_costs,
    label,
    path_result,
)
from graphreader.agent.tasks import ALL_READ, DEAD_END, ChunkTask, FactsTask, NeighborTask
from graphreader.documents import ChunkFacts, ChunkInDocument, ChunkRef
from graphreader.errors import DecisionError, WindowError
from graphreader.reading import FunctionCall
from graphreader.store.records import Neighbor
from graphreader.text.matching import locate

MAX_NEIGHBORS = 200  # neighbors of a node that are ranked
MOST_TOGETHER = 4  # short documents that one prompt shows
NEIGHBORS_PER_PAGE = 60  # neighbors that one page shows

FIRST_PAGE: Update = {"page": 1, "shown": 0}


class Exploration:
    """The nodes of one path."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    async def explore_atomic_facts(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Show a page of the node's facts, unless all is read; choose chunks to read (figure 9)."""
        query = " ".join([state["question"], *state["needs"]])
        records = await self._context.explorer.facts(state["node"]["id"], state["related"])
        if all(group.chunk.id in state["read"] for group in records.groups):
            return FIRST_PAGE
        name = state["node"]["name"]
        chunks, remaining = page_of_facts(
            records.groups, query, state["shown"], state["read"], name
        )
        groups = await fact_groups(self._context.explorer, chunks, query, state["read"])
        task = FactsTask(
            *_task_context(state),
            name,
            groups,
            state["page"],
            records.unlisted,
            remaining=remaining,
            calls_left=self._calls_left(state),
        )
        decision: FactsDecision
        decision, task, costs = await self._context.decide(task)
        facts_read, seen = _facts_read(state, chunks, task)
        runtime.stream_writer(facts_read)
        queue: list[QueuedChunk] = []
        if decision.function == "read_chunk":
            titles = distinct_titles(one.chunk for one in chunks)
            chosen = [chunks[n - 1].chunk for n in decision.chunks if 1 <= n <= len(task.groups)]
            queue = [
                {"id": one.id, "document": titles[one.document_id], "index": one.index}
                for one in dict.fromkeys(chosen)
                if one.id not in state["read"]
            ]
        argument = "; ".join(label(ref["document"], ref["index"]) for ref in queue)
        call = chosen_function(state, decision, argument)
        return {
            **self.count_call(state, call, runtime, queue),
            **_page_after(state, decision.function, len(task.groups)),
            **await self._update_notebook(state, decision.notebook, costs, runtime),
            "quotes": await self._fact_quotes(state["quotes"], chunks, decision.quotes),
            "queue": queue,
            "seen": seen,
        }

    async def _fact_quotes(
        self, quotes: list[Plain], shown: Sequence[ChunkFacts[ChunkRef]], quoted: Sequence[str]
    ) -> list[Plain]:
        """Add the sentences on which quoted facts rest to a path's quotes.

        Facts of older graphs have no sentences: their chunks must be read.
        """
        for group in shown:
            spans = [
                span
                for fact in group.facts
                if (span := fact.span_in_chunk)
                and any(locate(one, fact.attributed) for one in quoted)
            ]
            if spans and (chunk := await self._context.explorer.chunk(group.chunk.id)):
                quotes = add_quotes(quotes, chunk, (), spans)
        return quotes

    async def explore_chunks(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Read the first chunk of the queue, short documents together, and go on (figure 10).

        Of the chunks that the last call chose, the first is noted, and the path ends.
        """
        chunks = await self._next_chunks(state["queue"])
        if not chunks:
            first, *rest = state["queue"]
            return {"queue": rest, "read": [*state["read"], first["id"]]}
        task = self._chunk_task(state, chunks)
        if len(chunks) > 1 and not self._fits(task):
            chunks = chunks[:1]
            task = self._chunk_task(state, chunks)
        refs, rest = state["queue"][: len(chunks)], state["queue"][len(chunks) :]
        read = [*state["read"], *(ref["id"] for ref in refs)]
        name = state["node"]["name"]
        for chunk in chunks:
            place = chunk.document, chunk.document_id, chunk.index
            runtime.stream_writer(ChunkRead(state["path"], name, *place))
        decision: ChunkDecision
        decision, _, costs = await self._context.decide(task)
        update: Update = {"queue": [], "stopped": "call_limit"}
        if self._calls_left(state) >= 0:
            title = refs[0]["document"]
            argument, queue = _queue_adjacent(chunks[0], title, decision.function, rest, read)
            at = "; ".join((task.label, *task.labels_together))
            call = chosen_function(state, decision, argument, at, chunks[0].id)
            update = {**self.count_call(state, call, runtime, queue), "queue": queue}
        quotes = state["quotes"]
        for chunk in chunks:
            quotes = add_quotes(quotes, chunk, decision.quotes)
        return {
            **update,
            **await self._update_notebook(state, decision.notebook, costs, runtime),
            "quotes": quotes,
            "read": read,
        }

    async def _next_chunks(self, queue: Sequence[QueuedChunk]) -> list[ChunkInDocument]:
        """The first chunk of the queue, if it is deleted none; of short documents several."""
        room = self._context.limits.window // 4
        chunks: list[ChunkInDocument] = []
        for ref in queue[:MOST_TOGETHER]:
            chunk = await self._context.explorer.chunk(ref["id"])
            is_whole = chunk is not None and chunk.previous is chunk.subsequent is None
            if chunk is None or (chunks and (chunk.tokens > room or not is_whole)):
                break
            chunks.append(chunk)
            room -= chunk.tokens
            if not is_whole:
                break
        return chunks

    def _chunk_task(self, state: PathState, chunks: Sequence[ChunkInDocument]) -> ChunkTask:
        labels = [label(ref["document"], ref["index"]) for ref in state["queue"]]
        texts = [(name, chunk.text) for name, chunk in zip(labels, chunks, strict=False)]
        return ChunkTask(
            *_task_context(state),
            state["node"]["name"],
            *texts[0],
            queued=tuple(labels[len(chunks) :]),
            has_previous=chunks[0].previous is not None,
            has_subsequent=chunks[0].subsequent is not None,
            together=tuple(texts[1:]),
            calls_left=self._calls_left(state),
        )

    def _fits(self, task: ChunkTask) -> bool:
        try:
            self._context.decider.measure(task)
        except WindowError:
            return False
        return True

    def _calls_left(self, state: PathState) -> int:
        """The calls that are left after the next one; below 0 if there is no next one."""
        return self._context.limits.calls - len(state["functions"]) - 1

    async def explore_neighbors(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Choose the next neighbor, or end the path; it needs a call that is left (figure 11)."""
        if self._calls_left(state) < 1:
            return {"stopped": "call_limit"}
        ranked = await ranked_neighbors(self._context, state)
        if not ranked:
            return {"stopped": "nothing_left"}
        nodes = ranked[state["shown"] :]
        page = nodes[:NEIGHBORS_PER_PAGE]
        names = tuple(node.name for node in page)
        here = state["node"]["name"]
        task = NeighborTask(
            *_task_context(state),
            here,
            names,
            state["page"],
            tuple(_mark(node) for node in page),
            remaining=len(nodes) - len(page),
            calls_left=self._calls_left(state),
        )
        runtime.stream_writer(NeighborsSeen(state["path"], here, names))
        decision: NeighborDecision
        decision, task, costs = await self._context.decide(task)
        update = {"costs": costs, **_page_after(state, decision.function, task.own_choices)}
        argument = ""
        if decision.function == "read_neighbor_node":
            node = nodes[decision.neighbor - 1]
            argument = node.name
            update["node"] = {"id": node.id, "name": node.name}
            update["visited"] = [*state["visited"], node.id]
        call = chosen_function(state, decision, argument)
        return {**self.count_call(state, call, runtime), **update}

    async def end_path(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Return the result of the path to the run."""
        result = path_result(state, state["costs"])
        stopped, error = result["stopped"], result["error"]
        runtime.stream_writer(PathEnded(state["path"], stopped, state["notebook"], error))
        return {"paths": [result]}

    def count_call(
        self,
        state: PathState,
        call: FunctionCall,
        runtime: Runtime[None],
        queue: Sequence[QueuedChunk] = (),
    ) -> Update:
        """Count the call; `termination`, or the last call with an empty queue, ends the path."""
        runtime.stream_writer(FunctionChosen(state["path"], state["node"]["name"], call))
        functions = [*state["functions"], asdict(call)]
        stopped = None
        if call.name == "termination":
            stopped = "termination"
        elif len(functions) >= self._context.limits.calls and not queue:
            stopped = "call_limit"
        return {"functions": functions, "stopped": stopped}

    async def _update_notebook(
        self, state: PathState, notebook: str, costs: Costs, runtime: Runtime[None]
    ) -> Update:
        """Replace the notebook, condensed if it is too long; if that fails the path ends."""
        update: Update = {}
        try:
            notebook, more = await condense(
                self._context, state["question"], state["plan"], notebook
            )
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
        "paths_at_once": len(state["nodes"]),
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


async def ranked_neighbors(
    context: RunContext, state: PathState, limit: int = MAX_NEIGHBORS
) -> list[Neighbor]:
    """The unvisited neighbors, ranked by shared facts, words, and similarity to open needs.

    Neighbors with unread chunks come first, those that lead to none within two steps last.
    """
    vector = None
    with suppress(DecisionError):
        open_now = open_needs(state["needs"], state["notebook"])
        vector = await context.vectors.mean([state["question"], *open_now])
    neighbors = await context.explorer.neighbors(
        state["node"]["id"],
        state["visited"],
        state["read"],
        state["related"],
        vector,
        limit,
    )
    query = " ".join([state["question"], state["plan"], *state["needs"], state["notebook"]])
    rankings = [neighbors, rank_shared(neighbors, lambda neighbor: neighbor.name, query)]
    if any(neighbor.similarity for neighbor in neighbors):
        rankings.append(sorted(neighbors, key=lambda neighbor: -neighbor.similarity))
    ranked = fuse_rankings(rankings, lambda neighbor: neighbor.id)
    return sorted(ranked, key=lambda neighbor: (not neighbor.leads_on, not neighbor.unread))


def _mark(neighbor: Neighbor) -> str:
    if neighbor.unread:
        return ""
    return ALL_READ if neighbor.leads_on else DEAD_END


def _task_context(state: PathState) -> tuple[str, str, tuple[str, ...], str]:
    actions = tuple(f"at {f['at']}: {f['name']}({f['argument']})" for f in state["functions"])
    return state["question"], state["plan"], actions, state["notebook"]


def chosen_function(
    state: PathState,
    decision: FactsDecision | ChunkDecision | NeighborDecision,
    argument: str = "",
    at: str = "",
    id_: str = "",
) -> FunctionCall:
    """Make the record of the chosen function, which is called `at` the current node by default."""
    at, id_ = at or state["node"]["name"], id_ or state["node"]["id"]
    return FunctionCall(decision.function, argument, decision.rationale, at, id_)


def _page_after(state: PathState, function: str, shown: int) -> Update:
    """The page to show next: the following one after `next_page`, else the first."""
    if function != "next_page":
        return FIRST_PAGE
    return {"page": state["page"] + 1, "shown": state["shown"] + shown}


def _queue_adjacent(
    chunk: ChunkInDocument, title: str, function: str, queue: list[QueuedChunk], read: list[str]
) -> tuple[str, list[QueuedChunk]]:
    """The function's argument in words, and the queue with an adjacent unread chunk first."""
    adjacent = {"read_previous_chunk": chunk.previous, "read_subsequent_chunk": chunk.subsequent}
    if function not in adjacent:
        return "", queue
    target = adjacent[function]
    if target is None:
        return "there is none", queue
    name = label(title, target.index)
    if target.id in read:
        return f"{name}, already read", queue
    first: QueuedChunk = {"id": target.id, "document": title, "index": target.index}
    return name, [first, *(ref for ref in queue if ref["id"] != target.id)]


def _facts_read(
    state: PathState, page: Sequence[ChunkFacts[ChunkRef]], task: FactsTask
) -> tuple[FactsRead, Seen]:
    facts = tuple(fact for group in task.groups for fact in group.facts)
    labels = tuple(group.label for group in task.groups)
    places: list[tuple[str, int, int]] = []
    seen: Seen = {}
    for one, group in zip(page, task.groups, strict=False):
        chunk = one.chunk
        places += [(chunk.document_id, chunk.index, index) for index in group.indexes]
        # The facts right before these, which explain them, were shown as well.
        explaining = [
            n - 1 for n, before in zip(group.indexes, group.before, strict=False) if before
        ]
        if group.indexes:
            seen[chunk.id] = sorted({*group.indexes, *explaining})
    return FactsRead(state["path"], state["node"]["name"], facts, labels, tuple(places)), seen
