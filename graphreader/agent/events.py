"""The events of a run, their replay and their log. Paths are counted from 1."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from langgraph.types import StateSnapshot

from graphreader.agent.context import RunContext
from graphreader.agent.state import CALLS, total_usage
from graphreader.reading import FunctionCall, Reading, Stopped
from graphreader.waiting import Waiting

logger = logging.getLogger("graphreader.agent")


@dataclass(frozen=True, slots=True)
class RunBegan:
    """A run begins: the first event. `run` is its id, empty if the run is not kept."""

    run: str


@dataclass(frozen=True, slots=True)
class PlanMade:
    """The rational plan is made; `needs` are the information needs that it names."""

    plan: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidatesFound:
    """The candidates for initial nodes, best first."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodesChosen:
    """Initial nodes are chosen, each for one path. Paths are numbered on; turns are path 1."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactsRead:
    """A path was shown a page of a node's facts; `chunks` are the chunks of these facts.

    `places` has for each fact document id, chunk index, and index of the fact in the chunk.
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
    """A path is shown neighbors of its node, best first."""

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
class SweepProgress:
    """A sweep has read `read` of `passages` passages, with `entries` about `what` in them."""

    path: int
    what: str
    read: int
    passages: int
    entries: int


@dataclass(frozen=True, slots=True)
class SweepRefused:
    """A sweep was not begun, since it would read more tokens than the run may; a size, in calls."""

    path: int
    what: str
    passages: int
    tokens: int
    calls: int


@dataclass(frozen=True, slots=True)
class PathEnded:
    """A path stopped."""

    path: int
    stopped: Stopped
    notebook: str
    error: str | None


@dataclass(frozen=True, slots=True)
class AnswerToken:
    """A piece of the answer as it is written. If it `begins` one, earlier pieces are void."""

    text: str
    begins: bool = False


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """The run is over: the last event."""

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
    | SweepProgress
    | SweepRefused
    | PathEnded
    | AnswerToken
    | Waiting
    | QuestionAnswered
)


def as_plain(event: Any) -> Mapping[str, Any]:
    """An event of a run or of an ingest in plain JSON types, with its class name as `event`."""
    return {"event": type(event).__name__, **asdict(event)}


def step_text(event: Event) -> str:
    """A line about a step of a run, or about a wait; empty for other events."""
    match event:
        case PlanMade(plan=plan):
            return f"Plan: {plan}"
        case NodesChosen(nodes=nodes):
            paths = "1 path" if len(nodes) == 1 else f"{len(nodes)} paths"
            return f"{paths}, from: {', '.join(nodes)}"
        case FunctionChosen(path=path, node=node, call=call):
            return f"Path {path} at {node}: {call.name} {call.argument}".rstrip()
        case SweepProgress(read=read, passages=passages, entries=entries):
            return f"Sweep: {read} of {passages} passages, {entries} entries"
        case SweepRefused(passages=passages, tokens=tokens):
            return f"No sweep: {passages:,} passages, {tokens:,} tokens"
        case PathEnded(path=path, stopped=stopped):
            return f"Path {path} ended: {stopped}"
        case Waiting(text=text):
            return text
        case _:
            return ""


def replay(snapshot: StateSnapshot) -> Iterator[Event]:
    """The events of a run so far, path by path, from its checkpoints."""
    values = snapshot.values
    if values.get("plan"):
        yield PlanMade(values["plan"], tuple(values.get("needs", ())))
    if "initial_node" in values:
        yield NodesChosen((values["initial_node"]["name"],))
    if values.get("nodes"):
        yield NodesChosen(tuple(node["name"] for node in values["nodes"]))
    ended = {result["path"]: result for result in values.get("paths", ())}
    if "functions" in values and values["path"] not in ended:  # the turns of mode `adaptive`
        yield from _replay_path(values, values["initial_node"]["name"], ended=False)
    for result in ended.values():
        yield from _replay_path(result, result["initial_node"], ended=True)
    for task in snapshot.tasks:  # paths that have not returned yet
        state = task.state.values if isinstance(task.state, StateSnapshot) else {}
        if "functions" in state and state["path"] not in ended:
            yield from _replay_path(state, state["initial_node"]["name"], ended="paths" in state)


def replay_reading(reading: Reading) -> Iterator[Event]:
    """The events of a run that is over, from its reading."""
    yield PlanMade(reading.plan)
    yield NodesChosen(tuple(path.initial_node for path in reading.paths))
    for number, path in enumerate(reading.paths, 1):
        yield from _replay_calls(number, path.initial_node, path.functions, path.notebook)
        yield PathEnded(number, path.stopped, path.notebook, path.error)


def _replay_path(state: Any, node: str, *, ended: bool) -> Iterator[Event]:
    path, notebook = state["path"], state["notebook"]
    yield from _replay_calls(path, node, CALLS.validate_python(state["functions"]), notebook)
    if ended:
        yield PathEnded(path, state["stopped"] or "nothing_left", notebook, state["error"])


def _replay_calls(
    path: int, node: str, functions: Iterable[FunctionCall], notebook: str
) -> Iterator[Event]:
    for call in functions:
        yield FunctionChosen(path, node, call)
        if call.name == "read_neighbor_node":
            node = call.argument
    if notebook:
        yield NoteTaken(path, notebook)


def log_start(run: str, question: str, context: RunContext) -> None:
    """Log the start of a run; `run` is empty if the run is not kept."""
    corpus, decider = context.explorer.corpus, context.decider.name
    logger.info("Run %s begins in corpus %r by %s: %s", run or "-", corpus, decider, context.limits)
    logger.debug("Run %s is asked: %s", run or "-", question)


def log_event(run: str, event: Event) -> None:
    """Log an event of a run."""
    if isinstance(event, PathEnded):
        level = logging.WARNING if event.stopped == "error" else logging.INFO
        logger.log(level, "Run %s: path %d ended by %s", run or "-", event.path, event.stopped)
    if not isinstance(event, AnswerToken):  # the whole answer is logged at the end
        logger.debug("Run %s: %s", run or "-", event)


def log_end(run: str, result: Mapping[str, Any], seconds: float) -> None:
    """Log the result and cost of a run; `result` has the keys of `AgentOutput`."""
    usage = total_usage(result["costs"])
    end = "is answered" if result["answered"] else "ends without an answer"
    cost = f"{usage.calls} calls, {usage.tokens} tokens, {usage.reused} kept replies"
    logger.info("Run %s %s after %.1f s: %s", run or "-", end, seconds, cost)
    logger.debug("Run %s answers: %s", run or "-", result["answer"])


def log_failure(run: str, error: Exception) -> None:
    """Log that a run has failed."""
    logger.warning("Run %s failed: %s", run or "-", type(error).__name__)
    logger.debug("Run %s failed: %s", run or "-", error)
