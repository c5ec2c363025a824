"""What can be watched while a question is explored. Sent through LangGraph's custom stream."""

from dataclasses import dataclass

from graphreader.reading import FunctionCall, Reading, Stopped


@dataclass(frozen=True, slots=True)
class PlanMade:
    """The rational plan stands."""

    plan: str


@dataclass(frozen=True, slots=True)
class NodesChosen:
    """The initial nodes stand: one path each, counted from 1."""

    nodes: tuple[str, ...]


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
class QuestionAnswered:
    """The run is over. Always the last event."""

    reading: Reading


Event = PlanMade | NodesChosen | FunctionChosen | PathEnded | QuestionAnswered
