"""The paths side by side: a lane a path, a step a chosen function."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphreader.reading import FunctionCall, Path, Stopped

COLOURS = 8
"""Colours that the style sheet has for paths; further paths have them again."""

_IN_WORDS = {
    "read_chunk": "Read in full",
    "stop_and_read_neighbor": "Look at the neighbors",
    "next_page": "Turn the page",
    "search_more": "Search on",
    "read_previous_chunk": "Read the chunk before",
    "read_subsequent_chunk": "Read the chunk after",
    "read_neighbor_node": "Go to a neighbor",
    "termination": "End the path",
}
_OF_CHUNKS = ("read_chunk", "read_previous_chunk", "read_subsequent_chunk")
_ENDED: dict[Stopped, str] = {
    "termination": "ended by its own choice",
    "call_limit": "ended at the call limit",
    "nothing_left": "ended with nothing left to look at",
    "budget": "ended by the budget",
    "error": "failed",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One chosen function. `icon` is that of a known function, else empty.

    `short` is as much of the argument as fits a cell: of chunks their indexes.
    """

    function: str
    words: str
    icon: str
    argument: str
    short: str
    of_chunks: bool
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One path; `colour` counts from 1."""

    number: int
    colour: int
    node: str
    steps: tuple[Step, ...]
    notebook: str
    ended: str
    stopped: Stopped
    error: str


def lanes(paths: Sequence[Path]) -> list[Lane]:
    """The paths in their order, numbered from 1."""
    return [
        Lane(
            number,
            (number - 1) % COLOURS + 1,
            path.initial_node,
            tuple(_step(call) for call in path.functions),
            path.notebook.strip(),
            _ENDED[path.stopped],
            path.stopped,
            path.error or "",
        )
        for number, path in enumerate(paths, 1)
    ]


def _step(call: FunctionCall) -> Step:
    short = call.argument
    if call.name in _OF_CHUNKS:  # "title, chunk 3; title, chunk 5"
        short = ", ".join(part.rpartition("chunk ")[2] for part in call.argument.split("; "))
    return Step(
        call.name,
        _IN_WORDS.get(call.name, call.name),
        call.name if call.name in _IN_WORDS else "",
        call.argument,
        short,
        call.name in _OF_CHUNKS and "chunk " in call.argument,
        call.rationale,
        call.at,
    )
