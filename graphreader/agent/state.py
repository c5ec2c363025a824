"""What a run knows, in plain JSON types only: so it can be stored, shown and resumed.

`Question` is what the world puts in; `Run` what the whole run knows; `Exploring` what one path
knows, of which only `PathNotes` goes back: paths never see each other.
"""

from operator import add
from typing import Annotated

from typing_extensions import TypedDict

from graphreader.reading import Stopped


class Cost(TypedDict):
    """Decisions asked for, and their tokens."""

    calls: int
    input_tokens: int
    output_tokens: int


def add_cost(one: Cost, other: Cost) -> Cost:
    """Both together; LangGraph begins with an empty one."""
    return {
        "calls": one.get("calls", 0) + other["calls"],
        "input_tokens": one.get("input_tokens", 0) + other["input_tokens"],
        "output_tokens": one.get("output_tokens", 0) + other["output_tokens"],
    }


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
    """One chosen exploration function; `at` is the node, or the chunk, where it was chosen."""

    name: str
    argument: str
    rationale: str
    at: str


class Quote(TypedDict):
    """Words that a path found; `start` and `end` count characters of the document's text."""

    document: str
    document_id: str
    chunk: int
    start: int
    end: int
    quote: str


class Notes(TypedDict):
    """What one path brings home. `path` counts from 1, in the order of the initial nodes."""

    path: int
    initial_node: str
    notebook: str
    functions: list[Function]
    quotes: list[Quote]
    stopped: Stopped
    error: str | None


class Question(TypedDict):
    """What the world puts in."""

    question: str


class Answered(TypedDict):
    """What the world gets back."""

    answer: str
    analysis: str
    answered: bool
    citations: list[Quote]
    plan: str
    paths: list[Notes]
    cost: Cost
    notes: list[str]


class Run(TypedDict, total=False):
    """What the whole run knows."""

    question: str
    plan: str
    nodes: list[NodeRef]
    paths: Annotated[list[Notes], add]
    cost: Annotated[Cost, add_cost]
    notes: Annotated[list[str], add]
    answer: str
    analysis: str
    answered: bool
    citations: list[Quote]


class PathNotes(TypedDict):
    """What a path gives back to the run."""

    paths: list[Notes]
    cost: Cost


class Exploring(TypedDict, total=False):
    """What one path knows.

    `queue` are the chunks to read in their order; `visited` and `read` are ids of nodes and chunks
    that are never looked at again.
    """

    question: str
    plan: str
    path: int
    initial_node: str
    node: NodeRef
    visited: list[str]
    queue: list[ChunkRef]
    read: list[str]
    notebook: str
    quotes: list[Quote]
    functions: list[Function]
    stopped: Stopped | None
    error: str | None
    cost: Annotated[Cost, add_cost]
    paths: list[Notes]
