"""What is known of a run already, told once more, so that who watches it go on sees the whole."""

from collections.abc import Iterable, Iterator
from typing import Any

from langgraph.types import StateSnapshot

from graphreader.agent.events import (
    Event,
    FunctionChosen,
    NodesChosen,
    NoteTaken,
    PathEnded,
    PlanMade,
)
from graphreader.reading import FunctionCall, Reading, Stopped


def retold(known: StateSnapshot) -> Iterator[Event]:
    """What the kept steps of a run tell, path by path. Its paths' own steps are among them."""
    values = known.values
    if "plan" in values:
        yield PlanMade(values["plan"], tuple(values.get("needs", ())))
    if "nodes" in values:
        yield NodesChosen(tuple(node["name"] for node in values["nodes"]))
    ended = {notes["path"]: notes for notes in values.get("paths", ())}
    for notes in ended.values():
        yield from _path(notes["path"], notes["initial_node"], notes, ended=True)
    for state in _under_way(known):
        if state["path"] not in ended:
            yield from _path(
                state["path"], state["initial_node"]["name"], state, ended="paths" in state
            )


def retold_from(reading: Reading) -> Iterator[Event]:
    """The same of a run that is over, from what came of it."""
    yield PlanMade(reading.plan)
    yield NodesChosen(tuple(path.initial_node for path in reading.paths))
    for number, path in enumerate(reading.paths, 1):
        yield from _calls(number, path.initial_node, path.functions)
        yield from _notebook(number, path.notebook)
        yield PathEnded(number, path.stopped, path.notebook, path.error)


def _under_way(known: StateSnapshot) -> Iterator[Any]:
    """What the paths of the present step know, as far as they have come."""
    for task in known.tasks:
        if isinstance(task.state, StateSnapshot) and "functions" in task.state.values:
            yield task.state.values


def _path(path: int, node: str, state: Any, *, ended: bool) -> Iterator[Event]:
    yield from _calls(path, node, [FunctionCall(**one) for one in state["functions"]])
    yield from _notebook(path, state["notebook"])
    if ended:
        stopped: Stopped = state["stopped"] or "nothing_left"
        yield PathEnded(path, stopped, state["notebook"], state["error"])


def _calls(path: int, node: str, functions: Iterable[FunctionCall]) -> Iterator[Event]:
    for call in functions:
        yield FunctionChosen(path, node, call)
        if call.name == "read_neighbor_node":
            node = call.argument


def _notebook(path: int, notebook: str) -> Iterator[Event]:
    if notebook:
        yield NoteTaken(path, notebook)
