"""At which stage of a path a function was called: atomic facts, chunks or neighbors (figures 9-11).

`next_page` and `termination` are functions of several stages; what stands around them tells which.
"""

import re
from collections.abc import Sequence
from typing import Literal

from graphreader.reading import FunctionCall

Stage = Literal["facts", "chunks", "neighbors"]
STAGES: tuple[Stage, ...] = ("facts", "chunks", "neighbors")

OF_ONE_STAGE: dict[str, Stage] = {
    "read_chunk": "facts",
    "stop_and_read_neighbor": "facts",
    "search_more": "chunks",
    "read_previous_chunk": "chunks",
    "read_subsequent_chunk": "chunks",
    "read_neighbor_node": "neighbors",
}
_AT_A_CHUNK = re.compile(r", chunk \d+$")
_TO_FACTS = (None, "read_neighbor_node")


def stages(functions: Sequence[FunctionCall]) -> list[Stage]:
    """The stage of each call of one path, in their order."""
    found: list[Stage] = []
    before: FunctionCall | None = None
    for call in functions:
        stage = OF_ONE_STAGE.get(call.name)
        if stage is None and call.name == "termination":
            stage = "chunks" if _AT_A_CHUNK.search(call.at) else "neighbors"
        if stage is None:
            stage = _of_page(before, found)
        found.append(stage)
        before = call
    return found


def _of_page(before: FunctionCall | None, found: Sequence[Stage]) -> Stage:
    """Where more was asked for: at the facts of a node just entered, else at its neighbors."""
    if before is not None and before.name == "next_page":
        return found[-1]
    entered = (before.name if before else None) in _TO_FACTS
    return "facts" if entered else "neighbors"
