"""What can be watched while a question is explored. Sent through LangGraph's custom stream.

Paths are counted from 1; chunks are named by the title of their document and their index in it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from graphreader.reading import FunctionCall, Reading, Stopped


@dataclass(frozen=True, slots=True)
class RunBegan:
    """The run has this id; always the first event, empty where nothing of it is kept."""

    run: str


@dataclass(frozen=True, slots=True)
class PlanMade:
    """The rational plan stands, and what it needs to be found."""

    plan: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidatesFound:
    """The key elements that may become initial nodes, best first."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodesChosen:
    """The initial nodes stand: one path each."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactsRead:
    """A path looks at a page of a node's facts; `chunks` are those in which they stand.

    `places` has for each fact the id of its document, the chunk's index there and its own in that.
    """

    path: int
    node: str
    facts: tuple[str, ...]
    chunks: tuple[str, ...]
    places: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """A path reads a chunk in full."""

    path: int
    node: str
    document: str
    document_id: str
    chunk: int


@dataclass(frozen=True, slots=True)
class NeighborsSeen:
    """A path looks at neighbors of its node, best first."""

    path: int
    node: str
    neighbors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteTaken:
    """A path's notebook has changed."""

    path: int
    notebook: str


@dataclass(frozen=True, slots=True)
class FunctionChosen:
    """A path chose a function at a node."""

    path: int
    node: str
    call: FunctionCall


@dataclass(frozen=True, slots=True)
class PathEnded:
    """A path stopped."""

    path: int
    stopped: Stopped
    notebook: str
    error: str | None


@dataclass(frozen=True, slots=True)
class AnswerToken:
    """A piece of the answer as it is written. Where it `begins` one, earlier pieces are void."""

    text: str
    begins: bool = False


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """The run is over. Always the last event."""

    reading: Reading


Event = (
    RunBegan
    | PlanMade
    | CandidatesFound
    | NodesChosen
    | FactsRead
    | ChunkRead
    | NeighborsSeen
    | NoteTaken
    | FunctionChosen
    | PathEnded
    | AnswerToken
    | QuestionAnswered
)


def as_plain(event: Any) -> Mapping[str, Any]:
    """An event, of a run or of reading in, in plain JSON types with its name as `event`."""
    return {"event": type(event).__name__, **asdict(event)}
