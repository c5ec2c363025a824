"""What takes part in an evaluation: a reader that is made ready for one record after the other.

The readers that take part in an evaluation, by their names.

Ablations and sweeps (paper, table 4, figures 3 and 4) are GraphReaders made with other arguments.

GraphReader as an entrant: each record's documents become a corpus of their own.

The agent with a part taken away (paper, section 4.3 and table 4; ours), as steps of its own.

Chance is seeded: with the same seed the same question takes the same way again.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from hashlib import sha256
from random import Random
from typing import Any, Protocol

from langgraph.runtime import Runtime

from graphreader import readers
from graphreader.agent.decisions import NeighborDecision
from graphreader.agent.dependencies import AgentDependencies, Update
from graphreader.agent.events import NodesChosen, PlanMade
from graphreader.agent.exploration import FIRST_PAGE, Exploration, called, neighbors_of
from graphreader.agent.graph import NodeSet
from graphreader.agent.planning import Planning
from graphreader.agent.state import PathState, RunState
from graphreader.baselines.read_agent.reader import PagesRetrieval, ReadAgent
from graphreader.baselines.session import NO_TEXT, QuestionSession
from graphreader.baselines.tasks import Excerpt, PassagesChoiceTask
from graphreader.documents import Document
from graphreader.errors import (
    DecisionError,
    ReplyError,
    UnknownCorpusError,
    UsageError,
    WindowError,
)
from graphreader.evaluation.contexts import parse_length
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.metrics.answers import chosen_option
from graphreader.evaluation.results import PREFIX, places_of
from graphreader.graph_reader import GraphReader
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Decider
from graphreader.models import ModelRegistry, Purpose, open_decider
from graphreader.offline.decider import OfflineDecider
from graphreader.readers import Material
from graphreader.reading import Reader, Reading
from graphreader.settings import OFFLINE, Settings
from graphreader.usage import Phase, Usage


@dataclass(frozen=True, slots=True)
class Opened:
    """A reader that holds the documents of a record.

    `building` is what it cost to make it ready; `graph` are the sizes of its graph (paper, table
    8), `compression` how much shorter its gists are, where it has any.
    """

    reader: Reader
    building: Usage = field(default_factory=Usage)
    graph: Mapping[str, Any] | None = None
    compression: Mapping[str, Any] | None = None


class Entrant(Protocol):
    """A reader as it is named on the command line."""

    @property
    def name(self) -> str:
        """That name."""
        ...

    @property
    def window(self) -> int:
        """Tokens that each of its prompts may have."""
        ...

    def opened(
        self, record: Record, documents: Sequence[Document]
    ) -> AbstractAsyncContextManager[Opened]:
        """The reader, ready for questions about the documents, which are those of the record."""
        ...

    async def forget(self, documents: Sequence[Document]) -> None:
        """Throw away what was built of these documents, but for what is to be kept."""
        ...

    async def clear(self) -> None:
        """Throw away what earlier runs at the same place were to forget, and left behind."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...


PHASES: tuple[Phase, ...] = ("extract", "explore", "answer")
"""Those that may have a model of their own, but for that of the raters."""


@dataclass(slots=True)
class _Text:
    """A document as GraphReader takes it; by its id the graph's own document is found again."""

    page_content: str
    metadata: Any
    id: str


class GraphEntrant:
    """GraphReader with some settings and steps.

    Entrants that build alike share their corpora; with `keep` these stay when they are done with,
    else they are those of the `place` alone, and bear its mark.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        steps: NodeSet | None = None,
        *,
        keep: bool = False,
        place: str = "",
    ) -> None:
        self.name = name
        self.window = settings.window
        self._settings = settings.model_copy(update={"kept_runs": 0})  # the file has them all
        decider = None
        if all(settings.model_for(phase) == OFFLINE for phase in PHASES):
            decider = OfflineDecider(settings.window, Prompts(settings.prompts))
        self._reader = GraphReader(settings=self._settings, steps=steps, decider=decider)
        self._minds = ModelRegistry(self._settings, decider)
        self._keep = keep
        self._mark = sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        self._building: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def opened(self, record: Record, documents: Sequence[Document]) -> AsyncIterator[Opened]:
        """Read the documents in, unless they are; of the graph nothing is changed by asking.

        Without documents there is none, and nobody is asked anything.
        """
        if not documents:
            yield Opened(_WithoutText(self.name, self.window, self._minds))
            return
        corpus = self._corpus(documents)
        reader = self._reader.at(corpus)
        texts = [_Text(one.text, {"title": one.title}, one.id) for one in documents]
        async with self._building.setdefault(corpus, asyncio.Lock()):
            report = await reader.aingest(*texts)
        stats = await reader.astats()
        ids = {one.id: one.source for one in report.documents if one.id}
        yield Opened(
            _Asked(self.name, self.window, reader, self._minds, ids),
            report.usage,
            graph=asdict(stats),
        )

    async def forget(self, documents: Sequence[Document]) -> None:
        """Delete the corpus, unless it is to be kept, or there is none."""
        if self._keep or not documents:
            return
        with suppress(UnknownCorpusError):  # another entrant did
            await self._reader.at(self._corpus(documents)).adelete(everything=True)

    async def clear(self) -> None:
        """Delete the corpora that runs at this place left, because they were killed or stopped."""
        ours = re.compile(rf"{PREFIX}[0-9a-f]{{16}}-[0-9a-f]{{8}}-{self._mark}")
        for one in await self._reader.acorpora():
            if ours.fullmatch(one.corpus):
                with suppress(UnknownCorpusError):
                    await self._reader.at(one.corpus).adelete(everything=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._reader.aclose()
        await self._minds.aclose()

    def _corpus(self, documents: Sequence[Document]) -> str:
        """The same for all who would build the same graph of these documents."""
        given = self._settings
        made = (
            given.model_for("extract"),
            given.chosen_embeddings,
            given.chunk_tokens,
            given.stages,
            *(one.id for one in documents),
        )
        name = f"{documents[0].corpus}-{sha256(repr(made).encode()).hexdigest()[:8]}"
        return name if self._keep else f"{name}-{self._mark}"


class _WithoutText:
    """GraphReader where there is nothing to be read: every question stays unanswered."""

    def __init__(self, name: str, window: int, minds: ModelRegistry) -> None:
        self.name = name
        self.window = window
        self._minds = minds

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Say so."""
        sitting = QuestionSession(self.name, question, self._minds.asker(self.window))
        return sitting.unanswered(NO_TEXT)


class _Asked:
    """GraphReader behind the protocol of all readers; ids are those of the documents given."""

    def __init__(
        self,
        name: str,
        window: int,
        reader: GraphReader,
        minds: ModelRegistry,
        ids: Mapping[str, str],
    ) -> None:
        self.name = name
        self.window = window
        self._reader = reader
        self._minds = minds
        self._ids = ids

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Ask, and name the documents as they were given."""
        reading = await self._reader.aask(question, options=options)
        if options and chosen_option(reading.answer, options) is None:
            reading = await self._choose(reading, question, options)
        return replace(
            reading,
            question=question,
            reader=self.name,
            documents_read=tuple(self._ids[id_] for id_ in reading.documents_read),
            passages_read=tuple(
                (self._ids[id_], start, end) for id_, start, end in reading.passages_read
            ),
            citations=tuple(
                replace(one, document_id=self._ids[one.document_id]) for one in reading.citations
            ),
        )

    async def _choose(self, reading: Reading, question: str, options: Sequence[str]) -> Reading:
        """Have one of the options chosen from the notebooks, where the answer names none.

        Where none can be chosen the answer stays, with a note. Raises DecisionError where nobody
        can be asked.
        """
        if not reading.evidence:
            return reading
        notebooks = (Excerpt("Notebooks", reading.evidence, 0),)
        task = PassagesChoiceTask(question, notebooks, tuple(options))
        try:
            decided = await self._minds.asker(self.window).decide(task)
        except (ReplyError, WindowError) as error:
            notes = (*reading.notes, f"No option could be chosen: {error}")
            return replace(reading, usage=reading.usage + error.spent, notes=notes)
        except DecisionError as error:
            error.spent += reading.usage
            raise
        phases = dict(reading.phases)
        phases["answer"] = phases.get("answer", Usage()) + decided.usage
        return replace(
            reading,
            answer=options[decided.decision.option - 1],
            answered=True,
            usage=reading.usage + decided.usage,
            phases=phases,
        )


class WithoutPlan(Planning):
    """No rational plan: the question stands in its place, which asks nothing of a model."""

    async def rational_plan(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Take the question for the plan."""
        runtime.stream_writer(PlanMade(state["question"]))
        return {"plan": state["question"], "needs": [], "costs": {}, "notes": []}


class RandomInitialNodes(Planning):
    """Any N key elements of the graph as initial nodes."""

    def __init__(self, parts: AgentDependencies, seed: int) -> None:
        super().__init__(parts)
        self._seed = seed

    async def initial_nodes(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Take N nodes by chance; none twice."""
        chance = Random(f"{self._seed} {state['question']}")
        wanted = self._parts.limits.initial_nodes
        shares = [chance.random() for _ in range(4 * wanted)]
        found = dict.fromkeys(await self._parts.explorer.drawn(shares))
        nodes = list(found)[:wanted]
        runtime.stream_writer(NodesChosen(tuple(node.name for node in nodes)))
        chosen = [{"id": node.id, "name": node.name} for node in nodes]
        return {"nodes": chosen, "related": [], "costs": {}, "notes": []}


class WithoutSharing(Planning):
    """Paths are not told what the searches found for all of them: each ranks by its own node alone.

    It is the only thing beside question and plan that they share on their way; ours, not the
    paper's.
    """

    async def initial_nodes(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Choose them as ever, and keep what was found."""
        return {**await super().initial_nodes(state, runtime), "related": []}


class RandomNeighbors(Exploration):
    """Any unvisited neighbor next, as long as there is one."""

    def __init__(self, parts: AgentDependencies, seed: int) -> None:
        super().__init__(parts)
        self._seed = seed

    async def explore_neighbors(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Go on at a neighbor by chance; it counts as a call, as a chosen one does."""
        found = await neighbors_of(self._parts, state)
        if not found:
            return {"stopped": "nothing_left"}
        place = f"{state['path']} {len(state['functions'])}"
        chance = Random(f"{self._seed} {state['question']} {place}")
        node = chance.choice(sorted(found, key=lambda one: one.name))
        decision = NeighborDecision(
            rationale="Chosen by chance.", function="read_neighbor_node", neighbor=1
        )
        return {
            **self._called(state, called(state, decision, node.name), runtime),
            **FIRST_PAGE,
            "node": {"id": node.id, "name": node.name},
            "visited": [*state["visited"], node.id],
        }


WITHOUT_PLAN = NodeSet(planning=WithoutPlan)
WITHOUT_SHARING = NodeSet(planning=WithoutSharing)


@cache
def without_node_selection(seed: int) -> NodeSet:
    """Initial nodes and neighbors by chance; another seed, other nodes."""
    planning = partial(RandomInitialNodes, seed=seed)
    return NodeSet(planning=planning, exploration=partial(RandomNeighbors, seed=seed))


OWN = "graphreader"
_NO_PLAN, _NO_SHARING = f"{OWN}-no-plan", f"{OWN}-no-sharing"
_RANDOM_NODES = f"{OWN}-random-nodes"

_CHANGES: Mapping[str, Mapping[str, Any]] = {
    OWN: {},
    f"{OWN}-paper": {"mode": "paper", "initial_nodes": None, "calls": None},
    f"{OWN}-fast": {"mode": "fast", "initial_nodes": None, "calls": None},
    _NO_PLAN: {},
    _RANDOM_NODES: {},
    f"{OWN}-no-normalization": {"normalize": "none"},
    f"{OWN}-one-path": {"initial_nodes": 1},
    _NO_SHARING: {},
}

_SWEEPS: Mapping[str, str] = {"nodes": "initial_nodes", "chunk": "chunk_tokens"}


def entrants(
    names: Sequence[str],
    settings: Settings,
    *,
    keep: bool = False,
    place: str = "",
    seed: int = 0,
) -> list[Entrant]:
    """The readers of these names.

    With `keep` the graphs that they build stay in the database; others are those of the `place`.
    `seed` is that of what is left to chance. Nothing is opened before it is needed. Raises
    UsageError, which names the readers that there are, for one that there is not.
    """
    minds = ModelRegistry(settings, opened_by=_counting)
    return [
        GraphEntrant(name, _changed(name, settings), _steps(name, seed), keep=keep, place=place)
        if name == OWN or name.startswith(f"{OWN}-")
        else Baseline(name, minds)
        for name in dict.fromkeys(names)
    ]


def _counting(settings: Settings, purpose: Purpose) -> Decider:
    """The decider of the settings; one without a model counts the prompts that it would need."""
    opened = open_decider(settings, purpose)
    if not isinstance(opened, OfflineDecider):
        return opened
    return OfflineDecider(settings.window, Prompts(settings.prompts))


def own_names() -> list[str]:
    """The names of GraphReader's own variants, as a person is told them."""
    return [*_CHANGES, *(f"{OWN}-{sweep}-N" for sweep in _SWEEPS)]


def _steps(name: str, seed: int) -> NodeSet | None:
    """The steps of a variant; None: those of every GraphReader."""
    if name == _RANDOM_NODES:
        return without_node_selection(seed)
    return {_NO_PLAN: WITHOUT_PLAN, _NO_SHARING: WITHOUT_SHARING}.get(name)


def _changed(name: str, settings: Settings) -> Settings:
    """The settings of a variant."""
    if name in _CHANGES:
        given = _CHANGES[name]
    elif found := re.fullmatch(rf"{OWN}-(nodes|chunk)-(\d+)", name):
        given = {_SWEEPS[found[1]]: int(found[2])}
    else:
        raise UsageError(
            f"There is no reader {name!r}: of GraphReader there are {', '.join(own_names())}."
        )
    # Read anew, not copied, so that what makes no sense is refused.
    return Settings.read(**{**settings.model_dump(exclude_unset=True), **given})


class Baseline:
    """A reader without a graph as an entrant; all of one evaluation share their deciders."""

    def __init__(self, name: str, minds: ModelRegistry) -> None:
        readers.check(name)
        self.name = name
        self.window = readers.window_of(name, minds)
        self._minds = minds

    @asynccontextmanager
    async def opened(self, record: Record, documents: Sequence[Document]) -> AsyncIterator[Opened]:
        """The reader over the documents; pages and gists, where it has any, are made now."""
        material = Material(documents, _made_for(record), _golden(record, documents))
        reader = readers.make(self.name, material, self._minds)
        if isinstance(reader, ReadAgent) and reader.task_aware:
            await reader.pages()
            yield Opened(reader, reader.building)
        elif isinstance(reader, ReadAgent):
            memory = await reader.memory()
            yield Opened(reader, reader.building, compression=memory.sizes())
        elif isinstance(reader, PagesRetrieval):
            await reader.pages()
            yield Opened(reader, reader.building)
        else:
            yield Opened(reader)

    async def forget(self, documents: Sequence[Document]) -> None:
        """There is nothing: gists are kept, as they are expensive and small."""

    async def clear(self) -> None:
        """There is nothing of an earlier run, either."""

    async def aclose(self) -> None:
        """Close the deciders."""
        await self._minds.aclose()


def _made_for(record: Record) -> int | None:
    """How long the context was made to be."""
    return parse_length(record.length)


def _golden(record: Record, documents: Sequence[Document]) -> tuple[list[str], list[Document]]:
    """The supporting facts of the record, and the documents in which they stand."""
    places = places_of(documents)
    gold = [one for one in documents if places[one.id] in record.gold_documents]
    sentences = [place.sentence for place in record.supporting]
    return (sentences if all(sentences) else []), gold
