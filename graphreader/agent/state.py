"""What a run knows, in plain JSON types only: so it can be stored, shown and resumed.

`Question` is what the world puts in; `Run` what the whole run knows; `Exploring` what one path
knows, of which only `PathNotes` goes back: paths never see each other.
"""

from dataclasses import asdict
from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from graphreader.reading import Stopped
from graphreader.usage import Phase, Usage

Cost = dict[str, Any]
"""The fields of a Usage."""

Costs = dict[Phase, Cost]
"""What was spent, by what it was spent for."""


def add_costs(one: Costs, other: Costs) -> Costs:
    """Both together."""
    both = {**one}
    for phase, cost in other.items():
        both[phase] = asdict(Usage(**one[phase]) + Usage(**cost)) if phase in one else cost
    return both


def total_usage(costs: Costs) -> Usage:
    """The cost of all phases."""
    return sum((Usage(**cost) for cost in costs.values()), Usage())


class NodeRef(TypedDict):
    """A key element."""

    id: str
    name: str


class ChunkRef(TypedDict):
    """A chunk to be read: `index` is its place in the document of that title."""

    id: str
    document: str
    index: int


class Function(TypedDict):
    """One chosen exploration function.

    `at` is the node, or the chunk, where it was chosen, in words; `id` is its id.
    """

    name: str
    argument: str
    rationale: str
    at: str
    id: str


class Quote(TypedDict):
    """Words that a path found; `start` and `end` count characters of the document's text."""

    document: str
    document_id: str
    chunk: int
    start: int
    end: int
    quote: str
    page: int | None
    heading: str | None


Seen = dict[str, list[int]]
"""Facts that were shown, by the ids of their chunks: their indexes among those of the chunk."""


def add_seen(one: Seen, other: Seen) -> Seen:
    """Both together, each fact once."""
    both = {chunk: {*one.get(chunk, ()), *other.get(chunk, ())} for chunk in {**one, **other}}
    return {chunk: sorted(facts) for chunk, facts in both.items()}


class PathResult(TypedDict):
    """What one path brings home. `path` counts from 1, in the order of the initial nodes.

    `read` are the ids of the chunks that it read in full, `seen` the facts that it was shown.
    """

    path: int
    initial_node: str
    node_id: str
    notebook: str
    functions: list[Function]
    quotes: list[Quote]
    stopped: Stopped
    error: str | None
    costs: Costs
    read: NotRequired[list[str]]
    seen: NotRequired[Seen]


def with_paths(one: list[PathResult], other: list[PathResult]) -> list[PathResult]:
    """Both together; a path that somebody edited takes the place of what it was."""
    return list({path["path"]: path for path in (*one, *other)}.values())


def with_notes(one: list[str], other: list[str]) -> list[str]:
    """Both together, each note once."""
    return list(dict.fromkeys((*one, *other)))


class Statement(TypedDict):
    """What the answer says; `citations` are places in the run's citations, counted from 1."""

    text: str
    citations: list[int]


class AgentInput(TypedDict):
    """What the world puts in."""

    question: str


class AgentOutput(TypedDict):
    """What the world gets back; `unjoined` says why no answer could be put together."""

    unjoined: NotRequired[str]
    answer: str
    analysis: str
    answered: bool
    citations: list[Quote]
    claims: list[Statement]
    contradictions: list[Statement]
    plan: str
    paths: list[PathResult]
    costs: Costs
    notes: list[str]


class RunState(TypedDict, total=False):
    """What the whole run knows.

    `run` is an id where the steps of a run have to find each other's parts. `needs` are the parts
    of the plan that can be searched on their own; `related` are the ids of the key elements that
    have most to do with all of that.
    """

    run: str
    question: str
    plan: str
    needs: list[str]
    related: list[str]
    nodes: list[NodeRef]
    paths: Annotated[list[PathResult], with_paths]
    costs: Annotated[Costs, add_costs]
    notes: Annotated[list[str], with_notes]
    unjoined: str
    answer: str
    analysis: str
    answered: bool
    citations: list[Quote]
    claims: list[Statement]
    contradictions: list[Statement]


class PathNotes(TypedDict):
    """What a path gives back to the run."""

    paths: list[PathResult]
    costs: Costs


class PathState(TypedDict, total=False):
    """What one path knows.

    `queue` are the chunks to read in their order; `visited` and `read` are ids of nodes and chunks
    that are never looked at again, `seen` the facts that were shown. `page` counts from 1 the pages
    of facts or neighbors that are looked at now, `shown` what stood on the earlier ones. `before`
    is what the run had spent when the path set out.
    """

    run: str
    before: Costs
    question: str
    plan: str
    needs: list[str]
    related: list[str]
    path: int
    initial_node: NodeRef
    node: NodeRef
    visited: list[str]
    queue: list[ChunkRef]
    read: list[str]
    seen: Annotated[Seen, add_seen]
    page: int
    shown: int
    notebook: str
    quotes: list[Quote]
    functions: list[Function]
    stopped: Stopped | None
    error: str | None
    costs: Annotated[Costs, add_costs]
    paths: list[PathResult]


def label(document: str, index: int) -> str:
    """How a chunk is called in prompts and records."""
    return f"{document}, chunk {index}"
