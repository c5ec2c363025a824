"""The view of a run: its plan, paths, shown texts and answer so far, folded from its events.

The terminal, the live page, the retriever and OpenAI's endpoint read it, and fold no events.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from graphreader.agent.events import (
    AnswerToken,
    CandidatesFound,
    ChunkRead,
    Event,
    FactsRead,
    FunctionChosen,
    NeighborsSeen,
    NodesChosen,
    NoteTaken,
    PathEnded,
    PlanMade,
    QuestionAnswered,
    RunBegan,
    SweepProgress,
    SweepRefused,
)
from graphreader.reading import FunctionCall, Path, Reading, Stopped
from graphreader.waiting import Waiting

Place = tuple[str, int]
"""The place of a chunk: the id of its document, and its index."""

Fact = tuple[int, str]
"""A fact of a chunk: its index among the facts of the chunk, and its text."""

Step = (
    FactsRead
    | ChunkRead
    | NeighborsSeen
    | FunctionChosen
    | SweepProgress
    | SweepRefused
    | PathEnded
)
"""An event for a step of a path."""

RunStage = Literal["planning", "searching", "selecting", "exploring", "answering"]
"""The stage of a run. At `searching` and `selecting` it looks for initial nodes."""


@dataclass(slots=True)
class PathView:
    """A path so far. `latest` is its last step, and `stopped` is None until it has ended."""

    initial_node: str
    functions: list[FunctionCall] = field(default_factory=list)
    notebook: str = ""
    stopped: Stopped | None = None
    error: str | None = None
    latest: Step | None = None

    @property
    def node_id(self) -> str:
        """The id of the initial node, where the first function was chosen."""
        first = self.functions[0] if self.functions else None
        return first.id if first and first.at == self.initial_node else ""

    def apply(self, event: Step) -> None:
        """Take the next step of the path into account."""
        self.latest = event
        match event:
            case FunctionChosen(call=call):
                self.functions.append(call)
            case ChunkRead(document=document, chunk=chunk):
                self._name_chunk(f"{document}, chunk {chunk}", chunk)
            case PathEnded(stopped=stopped, notebook=notebook, error=error):
                self.stopped, self.notebook, self.error = stopped, notebook, error

    def _name_chunk(self, name: str, chunk: int) -> None:
        """Name the chunk that a turn has read by its number, such as 1.3."""
        for n, call in enumerate(self.functions):
            if call.argument.endswith(f".{chunk}") and call.name.endswith("_chunk"):
                self.functions[n] = replace(call, argument=name)


@dataclass(slots=True)
class ShownAt:
    """The paths and the key elements at which a chunk or a fact was shown."""

    paths: set[int] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)


@dataclass(slots=True)
class RunView:
    """A run so far, from its events; `version` counts them.

    `run` is the id of a kept run. `paths` is None before the initial nodes are chosen. `waiting`
    has the reason for a wait, and `sweep` the progress of a sweep, until the next event. `shown`
    has the chunks in the order in which they were shown, each with the facts that were shown, and
    None for the whole chunk.
    """

    corpus: str = ""
    question: str = ""
    reading: Reading | None = None
    version: int = 0
    run: str = ""
    plan: str | None = None
    needs: tuple[str, ...] = ()
    candidates: tuple[str, ...] | None = None
    paths: list[PathView] | None = None
    answer: str = ""
    waiting: str = ""
    sweep: SweepProgress | None = None
    shown: dict[Place, dict[Fact | None, ShownAt]] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take the next event into account."""
        self.version += 1
        self.waiting = ""
        match event:
            case RunBegan(run=run):
                self.run = run
            case PlanMade(plan=plan, needs=needs):
                self.plan, self.needs = plan, needs
            case CandidatesFound(nodes=nodes):
                self.candidates = nodes
            case NodesChosen(nodes=nodes):
                self.paths = [*(self.paths or ()), *map(PathView, nodes)]
            case NoteTaken(path=number, notebook=notebook):
                self._path(number).notebook = notebook
            case AnswerToken(text=text, begins=begins):
                self.answer = text if begins else self.answer + text
            case Waiting(text=text):
                self.waiting = text
            case QuestionAnswered(reading=reading):
                self.reading = reading
            case _:
                self.sweep = event if isinstance(event, SweepProgress) else None
                self._path(event.path, getattr(event, "node", "")).apply(event)
                self._show(event)

    def _path(self, number: int, node: str = "") -> PathView:
        """The path with a number, from 1; a new path begins at `node`."""
        self.paths = self.paths or []
        while len(self.paths) < number:
            self.paths.append(PathView(node))
        return self.paths[number - 1]

    def _show(self, event: Step) -> None:
        """Record the chunk or the facts that were shown in a step."""
        match event:
            case ChunkRead(document_id=document, chunk=chunk):
                self._add_shown((document, chunk), None, event)
            case FactsRead(facts=facts, places=places):
                # Events of an early version have no places.
                for text, (document, chunk, index) in zip(facts, places, strict=False):
                    self._add_shown((document, chunk), (index, text), event)

    def _add_shown(self, place: Place, fact: Fact | None, event: ChunkRead | FactsRead) -> None:
        at = self.shown.setdefault(place, {}).setdefault(fact, ShownAt())
        at.paths.add(event.path)
        at.nodes.add(event.node)

    @property
    def active_paths(self) -> frozenset[int]:
        """The numbers of the paths that have not ended."""
        return frozenset(n for n, path in enumerate(self.paths or (), 1) if path.stopped is None)

    @property
    def stage(self) -> RunStage:
        """The current stage of the run; after all paths have ended, the answer."""
        if self.paths is not None:
            return "exploring" if self.active_paths else "answering"
        if self.candidates is not None:
            return "selecting"
        return "planning" if self.plan is None else "searching"

    def so_far(self) -> Reading:
        """The reading of the run; before its end, a reading of the parts that are known."""
        if self.reading:
            return self.reading
        paths = tuple(
            Path(
                path.initial_node,
                path.notebook,
                len(path.functions),
                path.stopped or "termination",
                path.error,
                tuple(path.functions),
                node_id=path.node_id,
            )
            for path in self.paths or ()
        )
        plan = self.plan or ""
        return Reading(self.question, self.answer, "", True, self.corpus, plan, paths=paths)
