"""The state of a run, in plain JSON types only, so that it can be stored, shown and resumed.

Records of `graphreader.reading` are `Plain` in it: `functions` are FunctionCalls, `quotes` and
`citations` are Citations, `claims` and `contradictions` have the fields of these classes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from graphreader.reading import Citation, Confidence, FunctionCall, Reading, Stopped
from graphreader.usage import Phase, Usage

Plain = dict[str, Any]
"""The fields of a record in plain JSON types."""

CALLS = TypeAdapter(list[FunctionCall])
CITATIONS = TypeAdapter(list[Citation])
READING = TypeAdapter(Reading)
"""Converters of plain types into records. In runs of other versions, a field that is missing has
its default value, and an unknown field is left out."""

Costs = dict[Phase, Plain]  # the usage of each phase


def plain_quotes(quotes: Iterable[Citation]) -> list[Plain]:
    """Convert quotes to the form of the state, without a score: only a reading has scores."""
    plain: list[Plain] = CITATIONS.dump_python([*quotes], exclude={"__all__": {"score"}})
    return plain


def add_costs(one: Costs, other: Costs) -> Costs:
    """Add two costs, phase by phase."""
    total = {**one}
    for phase, cost in other.items():
        total[phase] = asdict(Usage(**one[phase]) + Usage(**cost)) if phase in one else cost
    return total


def total_usage(costs: Costs) -> Usage:
    """The usage of all phases together."""
    return sum((Usage(**cost) for cost in costs.values()), Usage())


class NodeRef(TypedDict):
    """A key element."""

    id: str
    name: str


class QueuedChunk(TypedDict):
    """A chunk that waits to be read; `document` is its title, unique among equal titles."""

    id: str
    document: str
    index: int


Seen = dict[str, list[int]]
"""Facts that were shown: by id of their chunk, their indexes among the chunk's facts."""


def add_seen(one: Seen, other: Seen) -> Seen:
    """Unite two sets of shown facts."""
    united = {chunk: {*one.get(chunk, ()), *other.get(chunk, ())} for chunk in {**one, **other}}
    return {chunk: sorted(facts) for chunk, facts in united.items()}


class PathResult(TypedDict):
    """The result of one path. `path` counts from 1; `read` are ids of chunks read in full."""

    path: int
    initial_node: str
    node_id: str
    notebook: str
    functions: list[Plain]
    quotes: list[Plain]
    stopped: Stopped
    error: str | None
    costs: Costs
    read: list[str]
    seen: Seen


def path_result(state: Mapping[str, Any], costs: Costs) -> PathResult:
    """Make the result of a path from its last state; `stopped` is "nothing_left" by default."""
    return {
        "path": state["path"],
        "initial_node": state["initial_node"]["name"],
        "node_id": state["initial_node"]["id"],
        "notebook": state["notebook"],
        "functions": state["functions"],
        "quotes": state["quotes"],
        "stopped": state["stopped"] or "nothing_left",
        "error": state["error"],
        "costs": costs,
        "read": state["read"],
        "seen": state["seen"],
    }


def merge_paths(one: list[PathResult], other: list[PathResult]) -> list[PathResult]:
    """Add the results of paths; an edited result replaces the earlier one of its path."""
    return list({path["path"]: path for path in (*one, *other)}.values())


def merge_notes(one: list[str], other: list[str]) -> list[str]:
    """Add notes, each once."""
    return list(dict.fromkeys((*one, *other)))


class AgentInput(TypedDict):
    """The input of the graph; `earlier` is the exchange that the question follows up."""

    question: str
    earlier: NotRequired[str]


class AgentOutput(TypedDict):
    """The output of the agent's graph; `unjoined` says why the notebooks gave no answer."""

    unjoined: NotRequired[str]
    answer: str
    analysis: str
    explanation: str
    confidence: Confidence
    answered: bool
    citations: list[Plain]
    claims: list[Plain]
    contradictions: list[Plain]
    plan: str
    paths: list[PathResult]
    costs: Costs
    notes: list[str]


class RunState(TypedDict, total=False):
    """The state of the whole run.

    `run` is the id of a hosted run (`integrations.langgraph`), and `began` its start in seconds of
    the epoch. `earlier` is the exchange that the question follows up, `related` the ids of the key
    elements that are most related to the question.
    """

    run: str
    began: float
    question: str
    earlier: str
    plan: str
    needs: list[str]
    related: list[str]
    nodes: list[NodeRef]
    paths: Annotated[list[PathResult], merge_paths]
    costs: Annotated[Costs, add_costs]
    notes: Annotated[list[str], merge_notes]
    unjoined: str
    answer: str
    analysis: str
    explanation: str
    confidence: Confidence
    answered: bool
    citations: list[Plain]
    claims: list[Plain]
    contradictions: list[Plain]


class PathOutput(TypedDict):
    """The output of a path to the run."""

    paths: list[PathResult]
    costs: Costs


class PathState(TypedDict, total=False):
    """The state of one path.

    `queue` are the chunks to read, `visited` and `read` ids of nodes and chunks. `page` counts
    pages from 1, `shown` the items on earlier ones. `before` is what the run had spent at the
    start, when `paths_at_once` paths began.
    """

    run: str
    before: Costs
    paths_at_once: int
    question: str
    plan: str
    needs: list[str]
    related: list[str]
    path: int
    initial_node: NodeRef
    node: NodeRef
    visited: list[str]
    queue: list[QueuedChunk]
    read: list[str]
    seen: Annotated[Seen, add_seen]
    page: int
    shown: int
    notebook: str
    quotes: list[Plain]
    functions: list[Plain]
    stopped: Stopped | None
    error: str | None
    costs: Annotated[Costs, add_costs]
    paths: list[PathResult]


def label(document: str, index: int) -> str:
    """The name of a chunk in prompts and records."""
    return f"{document}, chunk {index}"
