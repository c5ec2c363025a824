"""What can be watched while a question is explored. Sent through LangGraph's custom stream.

Paths are counted from 1; chunks are named by the title of their document and their index in it.

What is known of a run already, told once more, so that who watches it go on sees the whole.

What happens in a run, in the log: how it goes at INFO, what is asked, read and said at DEBUG.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import StateSnapshot

from graphreader.agent.dependencies import AgentDependencies, NodeFunction, Update
from graphreader.agent.state import total_usage
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


def replay(snapshot: StateSnapshot) -> Iterator[Event]:
    """What the kept steps of a run tell, path by path. Its paths' own steps are among them."""
    values = snapshot.values
    if "plan" in values:
        yield PlanMade(values["plan"], tuple(values.get("needs", ())))
    if "nodes" in values:
        yield NodesChosen(tuple(node["name"] for node in values["nodes"]))
    ended = {notes["path"]: notes for notes in values.get("paths", ())}
    for notes in ended.values():
        yield from _path(notes["path"], notes["initial_node"], notes, ended=True)
    for state in _paths_under_way(snapshot):
        if state["path"] not in ended:
            yield from _path(
                state["path"], state["initial_node"]["name"], state, ended="paths" in state
            )


def replay_reading(reading: Reading) -> Iterator[Event]:
    """The same of a run that is over, from what came of it."""
    yield PlanMade(reading.plan)
    yield NodesChosen(tuple(path.initial_node for path in reading.paths))
    for number, path in enumerate(reading.paths, 1):
        yield from _calls(number, path.initial_node, path.functions)
        yield from _notebook(number, path.notebook)
        yield PathEnded(number, path.stopped, path.notebook, path.error)


def _paths_under_way(snapshot: StateSnapshot) -> Iterator[Any]:
    """What the paths of the present step know, as far as they have come."""
    for task in snapshot.tasks:
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


logger = logging.getLogger("graphreader.agent")


def log_start(run: str, question: str, parts: AgentDependencies) -> None:
    """A question is asked; `run` is empty where nothing is kept of it."""
    limits, corpus = parts.limits, parts.explorer.corpus
    logger.info(
        "Run %s begins in corpus %r by %s: at most %d paths of %d calls",
        run or "-",
        corpus,
        parts.decider.name,
        limits.initial_nodes,
        limits.calls,
    )
    logger.debug("Run %s is asked: %s", run or "-", question)


def log_end(run: str, result: Mapping[str, Any], seconds: float) -> None:
    """An answer is there; the result is as in `Answered`."""
    usage, paths = total_usage(result["costs"]), result.get("paths", [])
    ends = Counter(path["stopped"] for path in paths)
    logger.info(
        "Run %s %s after %.1f s: %d calls, %d tokens, %d kept replies; %d paths (%s), %d citations",
        run or "-",
        "is answered" if result["answered"] else "ends without an answer",
        seconds,
        usage.calls,
        usage.tokens,
        usage.reused,
        len(paths),
        ", ".join(f"{number} {end}" for end, number in ends.most_common()) or "none",
        len(result["citations"]),
    )
    logger.debug("Run %s answers: %s", run or "-", result["answer"])


def log_failure(run: str, error: Exception) -> None:
    """It came to nothing."""
    logger.warning("Run %s failed: %s", run or "-", type(error).__name__)
    logger.debug("Run %s failed: %s", run or "-", error)


def logged(step: NodeFunction) -> NodeFunction:
    """The step, with what happens in it in the log."""

    async def taken(state: Mapping[str, Any], runtime: Runtime[Any]) -> Update:
        run, tell = _run(state, runtime), runtime.stream_writer

        def write(event: Event) -> None:
            _write(run, event)
            tell(event)

        return await step(state, runtime=runtime.override(stream_writer=write))

    return taken


def _run(state: Mapping[str, Any], runtime: Runtime[Any]) -> str:
    """The run's id, by which its lines are told from those of others."""
    here = runtime.execution_info
    return state.get("run") or (here.thread_id if here else None) or "-"


def _write(run: str, event: Event) -> None:
    if isinstance(event, PathEnded):
        level = logging.WARNING if event.stopped == "error" else logging.INFO
        logger.log(level, "Run %s: path %d ended by %s", run, event.path, event.stopped)
    if not isinstance(event, AnswerToken):  # the whole of it comes at the end
        logger.debug("Run %s: %s", run, event)
