"""What a run has done so far, from its events, as the reading that it will become."""

from dataclasses import dataclass, field, replace

from graphreader.agent.events import (
    AnswerToken,
    ChunkRead,
    Event,
    FactsRead,
    FunctionChosen,
    NodesChosen,
    NoteTaken,
    PathEnded,
    PlanMade,
    QuestionAnswered,
)
from graphreader.reading import FunctionCall, Path, Reading, Stopped
from graphreader.waiting import Waiting


@dataclass(slots=True)
class _PathSoFar:
    initial_node: str
    functions: list[FunctionCall] = field(default_factory=list)
    notebook: str = ""
    stopped: Stopped | None = None
    error: str | None = None

    def name_chunk(self, name: str, chunk: int) -> None:
        """Name the chunk that a turn has read by its number, such as 1.3."""
        for n, call in enumerate(self.functions):
            if call.argument.endswith(f".{chunk}") and call.name.startswith("read_"):
                self.functions[n] = replace(call, argument=name)

    @property
    def node_id(self) -> str:
        """The id of the initial node, where the first function was chosen."""
        first = self.functions[0] if self.functions else None
        return first.id if first and first.at == self.initial_node else ""


@dataclass(slots=True)
class RunProgress:
    """A run under way; `version` grows with each change, `waiting` says for what it waits.

    `places` are the chunks (document's id, index) that were read or whose facts were shown.
    """

    corpus: str
    question: str
    version: int = 0
    needs: tuple[str, ...] = ()
    waiting: str = ""
    reading: Reading | None = None
    places: dict[tuple[str, int], None] = field(default_factory=dict)
    _plan: str = ""
    _answer: str = ""
    _paths: list[_PathSoFar] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Take the next event into account."""
        self.version += 1
        self.waiting = ""
        match event:
            case PlanMade(plan=plan, needs=needs):
                self._plan, self.needs = plan, needs
            case NodesChosen(nodes=nodes):
                self._paths += [_PathSoFar(node) for node in nodes]
            case FunctionChosen(path=number, node=node, call=call):
                self._path(number, node).functions.append(call)
            case ChunkRead(path=number, document=document, document_id=id, chunk=chunk):
                self.places[id, chunk] = None
                self._path(number).name_chunk(f"{document}, chunk {chunk}", chunk)
            case FactsRead(places=places):
                self.places |= {(id, chunk): None for id, chunk, _ in places}
            case NoteTaken(path=number, notebook=notebook):
                self._path(number).notebook = notebook
            case PathEnded(path=number, stopped=stopped, notebook=notebook, error=error):
                path = self._path(number)
                path.stopped, path.notebook, path.error = stopped, notebook, error
            case AnswerToken(text=text, begins=begins):
                self._answer = text if begins else self._answer + text
            case Waiting(text=text):
                self.waiting = text
            case QuestionAnswered(reading=reading):
                self.reading = reading

    @property
    def under_way(self) -> frozenset[int]:
        """The numbers of the paths that have not ended."""
        return frozenset(n for n, path in enumerate(self._paths, 1) if path.stopped is None)

    def so_far(self) -> Reading:
        """The reading, or what is known of it."""
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
            for path in self._paths
        )
        return Reading(self.question, self._answer, "", True, self.corpus, self._plan, paths=paths)

    def _path(self, number: int, node: str = "") -> _PathSoFar:
        while len(self._paths) < number:
            self._paths.append(_PathSoFar(node))
        return self._paths[number - 1]
