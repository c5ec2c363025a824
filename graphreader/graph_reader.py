"""GraphReader: read texts into a graph once, then ask questions about them.

Asking: one question or many, watched or not, and the runs that are kept of it.

Looking into a corpus by hand: search, facts, neighbors, chunks; what there is in all.

What can be done with one corpus, inside of the event loop to which its session belongs.

Asking one corpus, inside of the event loop to which its session belongs: each question a run.

Looking into a corpus by hand, as the agent does: elements, their facts, neighbors, chunks.

Nobody decides anything here, and nothing is changed.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import aclosing, suppress
from copy import copy
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self, TypeVar, overload

from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphreader import runs as runs_module
from graphreader.agent.events import Event, QuestionAnswered
from graphreader.agent.graph import NodeSet
from graphreader.agent.ranking import fused
from graphreader.agent.run_store import RunRecord, RunSummary, checked_id, new_id
from graphreader.agent.runs import Saver
from graphreader.agent.state import AgentInput, AgentOutput, RunState
from graphreader.agent.training import TrainingReport
from graphreader.errors import (
    DecisionError,
    GraphReaderError,
    RunsError,
    UnknownCorpusError,
    UnknownKeyElementError,
    UsageError,
)
from graphreader.estimate import Estimate, LookUp, estimate, known_in, nothing_known
from graphreader.html_report.page import write_report
from graphreader.ingestion.embedding import reindex
from graphreader.ingestion.extraction import key_elements
from graphreader.ingestion.loading.sources import LangChainDocument, Thing, sources_of
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.ingestion.pipeline import Pipeline
from graphreader.ingestion.report import IngestReport, NormalizationReport, Progress, no_progress
from graphreader.ingestion.transfer import (
    Export,
    TransferProgress,
    TransferReport,
    export_corpus,
    import_corpus,
)
from graphreader.ingestion.transfer import no_transfer_progress as nobody
from graphreader.integrations.langchain import TOOL_DESCRIPTION, TOOL_NAME, as_tool
from graphreader.integrations.langgraph import ExecutionContext, agent_graph
from graphreader.llm.protocols import Budget, Decider, Embedder
from graphreader.reading import Reading
from graphreader.resources import Resources, check_corpus_name
from graphreader.runs import (
    KeptRun,
    KeptRuns,
    RunRequest,
    fork_run,
    resume_run,
    start_run,
    validated_question,
    with_options,
    without_surrogates,
)
from graphreader.settings import OFFLINE, PATHS_AND_CALLS, Mode, Settings
from graphreader.store.catalog import Catalog, CorpusSummary, DocumentStatus, DocumentSummary, Stats
from graphreader.store.embedded.process import Progress as ServerProgress
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import Element, Node, Passage
from graphreader.store.writer import Deleter, GraphWriter, check_embedding
from graphreader.sync import Background

T = TypeVar("T")

Outcome = Reading | GraphReaderError
"""What came of one question of many."""


class Questions:
    """What a reader is asked: a new question, one to go on with, many at once."""

    def __init__(self, session: Resources, corpus: str) -> None:
        self.corpus = corpus
        self._session = session

    async def explore(
        self,
        question: str,
        run: str | None = None,
        *,
        mode: Mode | None = None,
        keep_run: bool = False,
        tokens: bool = False,
    ) -> AsyncGenerator[Event]:
        """Answer a question, and show what happens on the way; see `Wanted`.

        `run` is the run's id. Where one of that id is kept it is gone on with, if it is about the
        same, else UsageError.
        """
        wanted = RunRequest(
            self.corpus, validated_question(question), _known(mode), keep_run, tokens
        )
        kept = await self._kept(checked_id(run)) if run is not None else None
        if kept is None:
            events = start_run(self._session, wanted, run or new_id())
        elif (kept.summary.corpus, kept.summary.question) == (wanted.corpus, wanted.question):
            events = resume_run(self._session, kept, tokens, mode=mode, keep_run=keep_run)
        else:
            raise UsageError(f"The run {run} is about another question: choose another id.")
        async with aclosing(events):
            async for event in events:
                yield event

    async def resume(
        self, run: str, step: int | None = None, *, tokens: bool = False
    ) -> AsyncGenerator[Event]:
        """Go on with the run whose id is, or alone begins with, `run`; its own corpus counts.

        One that is finished only tells its reading. With `step`, counted from 1, a new run begins
        before that step of it, and takes the later decisions anew.
        """
        record = await self._session.kept.get(run)
        if step is None:
            events = resume_run(self._session, record, tokens)
        else:
            events = fork_run(self._session, record, step, tokens)
        async with aclosing(events):
            async for event in events:
                yield event

    async def batch(
        self,
        questions: Sequence[str],
        runs: Sequence[str] | None = None,
        *,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        """Answer many questions, each as a run of its own; `runs` are their ids.

        Yields, as they become ready, the place of each in the questions, from 0, with its reading
        or what it failed with. At most GRAPHREADER_CONCURRENCY are under way at once.
        """
        if isinstance(questions, str):
            raise UsageError("Give a list of questions, not a single one.")
        if runs is not None and (len(runs) != len(questions) or len(set(runs)) != len(runs)):
            raise UsageError("Give each question an id of its own, or give none of them any.")

        async def outcome(place: int) -> Outcome:
            run = runs[place] if runs is not None else None
            try:
                return await last(self.explore(questions[place], run, mode=mode, keep_run=keep_run))
            except GraphReaderError as error:
                return error

        limit = self._session.settings.concurrency
        async with aclosing(_as_ready(len(questions), outcome, limit)) as outcomes:
            async for place, what in outcomes:
                yield place, what

    async def _kept(self, run: str) -> RunRecord | None:
        register = self._session.register
        with suppress(RunsError):  # a run that begins tells it
            return await register.find(run) if register else None
        return None


async def last(events: AsyncGenerator[Event]) -> Reading:
    """Follow a run to its end."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, QuestionAnswered):
                return event.reading
    raise AssertionError("a run ends with its answer")


async def _as_ready(
    number: int, work: Callable[[int], Coroutine[Any, Any, T]], limit: int
) -> AsyncGenerator[tuple[int, T]]:
    """What the works 0, 1, ... give, as they become ready; at most `limit` go on at once."""
    waiting = iter(range(number))
    running: dict[asyncio.Task[T], int] = {}
    try:
        while True:
            for _, place in zip(range(limit - len(running)), waiting, strict=False):
                running[asyncio.create_task(work(place))] = place
            if not running:
                return
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield running.pop(task), task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _known(mode: Mode | None) -> Mode | None:
    """The mode, if there is such a one. Raises UsageError."""
    if mode is not None and mode not in PATHS_AND_CALLS:
        raise UsageError(f"There is no mode {mode!r}: choose {' or '.join(PATHS_AND_CALLS)}.")
    return mode


class Asker:
    """Whoever can be asked.

    Each question is a run with an id, its own or the one that is given as `run`. What it decides is
    kept (GRAPHREADER_KEPT_RUNS), so that a run that broke off can be gone on with, by `resume` or
    by asking the same with the same id: nothing that was decided is asked again. `mode` is another
    one than that of the settings; with `keep_run` the run is written into the graph when it ends,
    where Neo4j Browser shows the way it went.
    """

    def __init__(self, session: Resources, background: Background, corpus: str) -> None:
        self._session = session
        self._background = background
        self._questions = Questions(session, corpus)
        self._kept_runs = KeptRuns(session)

    @property
    def name(self) -> str:
        """What kind of reader it is (see `Reader`)."""
        return "graphreader"

    @property
    def window(self) -> int:
        """How many tokens each prompt may have."""
        return self._session.settings.window

    @property
    def home(self) -> ExecutionContext:
        """Where the steps of a graph of one's own are taken (`graphs.agent_graph`)."""
        return ExecutionContext(self._session, self._background, self._questions.corpus)

    def as_graph(self) -> CompiledStateGraph[RunState, Any, AgentInput, AgentOutput]:
        """The agent as a compiled graph, for instance as a node of another graph.

        It takes `question` and gives `answer`, `citations`, `paths` and more (`agent.state`). It
        asks the corpus of this moment, in any event loop, by `ainvoke` and `astream`. What happens
        goes to the custom stream as plain JSON types. The run is not among those that are kept:
        its checkpoints are those of the graph around it.
        """
        home = self.home

        async def here(_: Runtime[Any]) -> ExecutionContext:
            return home

        return agent_graph(here)

    def as_tool(self, name: str = TOOL_NAME, description: str = TOOL_DESCRIPTION) -> BaseTool:
        """A tool for any LangChain agent that asks this reader; see `tool.as_tool`."""
        return as_tool(self, name, description)

    async def aask(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
        options: Sequence[str] = (),
    ) -> Reading:
        """Explore the corpus and answer. It never changes what was read in.

        With `options` it is to answer with the words of one of them.
        """
        question = with_options(question, options)
        events = self._questions.explore(question, run, mode=mode, keep_run=keep_run)
        return await self._background.arun(last(events))

    def ask(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
        options: Sequence[str] = (),
    ) -> Reading:
        """Do the same as `aask`."""
        question = with_options(question, options)
        events = self._questions.explore(question, run, mode=mode, keep_run=keep_run)
        return self._background.run(last(events))

    def astream(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> AsyncGenerator[Event]:
        """Answer and show what happens on the way.

        The first event is RunBegan, with the id to resume by; the last one QuestionAnswered.
        """
        return self._background.aiterate(
            self._questions.explore(question, run, mode=mode, keep_run=keep_run, tokens=True)
        )

    def stream(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> Generator[Event]:
        """Do the same as `astream`."""
        return self._background.iterate(
            self._questions.explore(question, run, mode=mode, keep_run=keep_run, tokens=True)
        )

    async def aresume(self, run: str, *, step: int | None = None) -> Reading:
        """Go on with a kept run, named by its id or a unique beginning of it.

        It goes on in its own corpus, with what its budget has left. A finished one gives its
        reading back. With `step` (1 rational plan, 2 initial nodes, 3 paths, 4 answer) a new run
        begins before that step of it, and takes the later decisions anew.
        """
        return await self._background.arun(last(self._questions.resume(run, step)))

    def resume(self, run: str, *, step: int | None = None) -> Reading:
        """Do the same as `aresume`."""
        return self._background.run(last(self._questions.resume(run, step)))

    def astream_resume(self, run: str, *, step: int | None = None) -> AsyncGenerator[Event]:
        """Do the same as `aresume` and show it; what is known already is told first."""
        return self._background.aiterate(self._questions.resume(run, step, tokens=True))

    def stream_resume(self, run: str, *, step: int | None = None) -> Generator[Event]:
        """Do the same as `astream_resume`."""
        return self._background.iterate(self._questions.resume(run, step, tokens=True))

    def abatch_as_completed(
        self,
        questions: Sequence[str],
        *,
        runs: Sequence[str] | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        """Answer many questions side by side; `runs` are their ids.

        Yields the place of each in `questions`, from 0, with its reading, or with the
        GraphReaderError that ended it and no other one. At most GRAPHREADER_CONCURRENCY are under
        way at once; all of them share the one limit of requests.
        """
        return self._background.aiterate(
            self._questions.batch(questions, runs, mode=mode, keep_run=keep_run)
        )

    def batch_as_completed(
        self,
        questions: Sequence[str],
        *,
        runs: Sequence[str] | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> Generator[tuple[int, Outcome]]:
        """Do the same as `abatch_as_completed`."""
        return self._background.iterate(
            self._questions.batch(questions, runs, mode=mode, keep_run=keep_run)
        )

    @overload
    async def abatch(
        self, questions: Sequence[str], *, return_exceptions: Literal[False] = False
    ) -> list[Reading]: ...
    @overload
    async def abatch(
        self, questions: Sequence[str], *, return_exceptions: Literal[True]
    ) -> list[Outcome]: ...
    async def abatch(
        self, questions: Sequence[str], *, return_exceptions: bool = False
    ) -> list[Reading] | list[Outcome]:
        """Answer many questions side by side; the readings are in the order of the questions.

        All are brought to their end. Then the first failure is raised, or, if asked for, each
        failure stands in the place of its reading.
        """
        outcomes = [one async for one in self.abatch_as_completed(questions)]
        return _in_order(outcomes, return_exceptions)

    @overload
    def batch(
        self, questions: Sequence[str], *, return_exceptions: Literal[False] = False
    ) -> list[Reading]: ...
    @overload
    def batch(
        self, questions: Sequence[str], *, return_exceptions: Literal[True]
    ) -> list[Outcome]: ...
    def batch(
        self, questions: Sequence[str], *, return_exceptions: bool = False
    ) -> list[Reading] | list[Outcome]:
        """Do the same as `abatch`."""
        return _in_order(list(self.batch_as_completed(questions)), return_exceptions)

    def runs(self, corpus: str | None = None) -> list[RunSummary]:
        """List the kept runs, of one corpus or of all, newest first."""
        return self._background.run(self._kept_runs.summaries(corpus))

    def run(self, run: str) -> KeptRun:
        """All that is known of a kept run, named by its id or a unique beginning of it."""
        return self._background.run(self._kept_runs.show(run))

    def delete_runs(self, *runs: str, everything: bool = False, before: float | None = None) -> int:
        """Take kept runs out: those named, all, or those that rest since `before`.

        `before` is in seconds of the epoch. Returns how many are gone; runs under way stay.
        """
        return self._background.run(
            self._kept_runs.delete(runs, everything=everything, before=before)
        )

    def training_lines(
        self, *runs: str, corpus: str | None = None, report: TrainingReport | None = None
    ) -> Generator[str]:
        """Decisions as prompt and reply, a line of JSON each, in the order in which they came.

        Of the named runs, or of all finished ones (of one corpus). `report` is filled meanwhile.
        """
        return self._background.iterate(
            self._kept_runs.training(report or TrainingReport(), runs, corpus)
        )


def _in_order(
    outcomes: list[tuple[int, Outcome]], with_failures: bool
) -> list[Reading] | list[Outcome]:
    """What came of the questions, in their order. Raises the first failure unless it is wanted."""
    ordered = [outcome for _, outcome in sorted(outcomes, key=lambda one: one[0])]
    for outcome in () if with_failures else ordered:
        if isinstance(outcome, Exception):
            raise outcome
    return ordered


SEARCHED = 50
"""Key elements that each of the two searches brings, at least."""

MOST = 1000
"""Key elements, or neighbors, that can be asked for at once."""

NEAREST = 5
"""Names that are proposed in place of one that there is not."""


@dataclass(frozen=True, slots=True)
class FoundFact:
    """An atomic fact and where it stands: `chunk` is the chunk's index in that document."""

    text: str
    document: str
    document_id: str
    chunk: int


@dataclass(frozen=True, slots=True)
class ElementFacts:
    """The facts of a key element in the order of the texts; of a hub only some of the `total`."""

    element: Element
    facts: tuple[FoundFact, ...]
    total: int


@dataclass(frozen=True, slots=True)
class FoundNeighbor:
    """A key element that `shared` facts name as well; `facts` is how many it has in all."""

    id: str
    name: str
    shared: int
    facts: int


class Looking:
    """What can be looked at, as coroutines of the loop to which the session belongs."""

    def __init__(self, session: Resources, corpus: str) -> None:
        self.corpus = corpus
        self._session = session

    async def corpora(self) -> list[CorpusSummary]:
        """All corpora."""
        return await Catalog(await self._session.connection()).corpora()

    async def documents(self) -> list[DocumentSummary]:
        """The documents of the corpus."""
        return await (await self._session.library(self.corpus)).documents(self.corpus)

    async def stats(self) -> Stats:
        """What the corpus holds."""
        return await (await self._session.library(self.corpus)).stats(self.corpus)

    async def search(self, text: str, limit: int) -> list[Element]:
        """Key elements that have to do with a text, by words and by meaning, best first."""
        text = without_surrogates(text)
        if not text.strip():
            raise UsageError("The search is empty: give some words.")
        _check(limit)
        explorer = await self._explorer()
        wide = max(limit, SEARCHED)
        by_words, by_meaning = await asyncio.gather(
            explorer.matching([text], wide), self._nearest(explorer, text, wide)
        )
        ranked = fused([*by_words, *by_meaning], lambda node: node.id)
        return await explorer.elements([node.id for node in ranked[:limit]])

    async def facts(self, key_element: str) -> ElementFacts:
        """What is said about a key element."""
        explorer = await self._explorer()
        element = await self._element(explorer, key_element)
        found = await explorer.facts(element.id)
        facts = tuple(
            FoundFact(fact.text, group.document, group.document_id, group.index)
            for group in found.groups
            for fact in group.facts
        )
        return ElementFacts(element, facts, found.total)

    async def neighbors(self, key_element: str, limit: int) -> list[FoundNeighbor]:
        """Which key elements stand in facts with it."""
        _check(limit)
        explorer = await self._explorer()
        element = await self._element(explorer, key_element)
        found = await explorer.neighbors(element.id, [element.id], [], [], None, limit)
        return [FoundNeighbor(one.node.id, one.node.name, one.shared, one.facts) for one in found]

    async def chunk(self, document: str, index: int) -> Passage:
        """One chunk of a document that an id, a path or a title means."""
        library = await self._session.library(self.corpus)
        id_ = await library.find(self.corpus, document)
        found = await self.passages([(id_, index)])
        if not found:
            raise UsageError(
                f"{document!r} has no chunk {index}: they are counted from 0, and `graphreader "
                f"list --corpus {self.corpus}` says how many there are."
            )
        return found[0]

    async def passages(self, places: Sequence[tuple[str, int]]) -> list[Passage]:
        """Chunks by (id of the document, index). No other integers than Neo4j's name a chunk."""
        asked = [(without_surrogates(id_), index) for id_, index in places if 0 <= index < 2**63]
        return await (await self._explorer()).passages(asked)

    async def report(self, reading: Reading, target: str | PathLike[str]) -> Path:
        """Write a reading, of whatever corpus, as a page to hand on."""
        return await write_report(await self._session.connection(), reading, target)

    async def _element(self, explorer: GraphExplorer, named: str) -> Element:
        """The key element of an id, or of a name or wording, however it is written."""
        named = without_surrogates(named)
        ids = [named, *(one.id for one in key_elements(self.corpus, [named]))]
        found = await explorer.elements(ids)
        if found:
            return found[0]
        alike = await self.search(named, NEAREST) if named.strip() else []
        names = ", ".join(repr(one.name) for one in alike)
        raise UnknownKeyElementError(
            f"The corpus {self.corpus!r} has no key element {named!r}"
            + (f"; the nearest are {names}." if names else ": search for one first.")
        )

    async def _nearest(self, explorer: GraphExplorer, text: str, limit: int) -> list[list[Node]]:
        """Where no vectors can be had, or the corpus has others, words must do."""
        embedder = self._session.embedder()
        record = await Catalog(explorer.connection).corpus(self.corpus)
        if record.embedding != embedder.name:
            return []
        try:
            vectors = await embedder.embed([text])
        except DecisionError:
            return []
        return await explorer.nearest(vectors, limit)

    async def _explorer(self) -> GraphExplorer:
        await self._session.library(self.corpus)
        return GraphExplorer(await self._session.connection(), self.corpus)


def _check(limit: int) -> None:
    if limit < 1:
        raise UsageError(f"A limit of {limit} finds nothing: give 1 or more.")
    if limit > MOST:
        raise UsageError(f"A limit of {limit} is too high: give {MOST} or less.")


class Looker:
    """Whoever can be looked into; nothing is decided or changed by it.

    A key element is named by its id, its name or any of its wordings, however it is written; a
    document by its id, its path or its title. Raises UnknownCorpusError, UnknownKeyElementError,
    UnknownDocumentError.
    """

    _background: Background
    _looking: Looking

    async def asearch(self, text: str, *, limit: int = 20) -> list[Element]:
        """Key elements that have to do with a text, by words and by meaning, best first.

        At most 1,000 of them. Raises UsageError where the text is empty, or the limit another.
        """
        return await self._background.arun(self._looking.search(text, limit))

    def search(self, text: str, *, limit: int = 20) -> list[Element]:
        """Do the same as `asearch`."""
        return self._background.run(self._looking.search(text, limit))

    async def afacts(self, key_element: str) -> ElementFacts:
        """The facts that name a key element, in the order of the texts; of a hub 250."""
        return await self._background.arun(self._looking.facts(key_element))

    def facts(self, key_element: str) -> ElementFacts:
        """Do the same as `afacts`."""
        return self._background.run(self._looking.facts(key_element))

    async def aneighbors(self, key_element: str, *, limit: int = 50) -> list[FoundNeighbor]:
        """The key elements that stand in facts with it.

        First those that share the most facts, beside the square root of all that they have; at
        most 1,000. Raises UsageError where the limit is another.
        """
        return await self._background.arun(self._looking.neighbors(key_element, limit))

    def neighbors(self, key_element: str, *, limit: int = 50) -> list[FoundNeighbor]:
        """Do the same as `aneighbors`."""
        return self._background.run(self._looking.neighbors(key_element, limit))

    async def achunk(self, document: str, index: int) -> Passage:
        """A chunk in full by its index in a document, counted from 0."""
        return await self._background.arun(self._looking.chunk(document, index))

    def chunk(self, document: str, index: int) -> Passage:
        """Do the same as `achunk`."""
        return self._background.run(self._looking.chunk(document, index))

    async def apassages(self, places: Sequence[tuple[str, int]]) -> list[Passage]:
        """Chunks in full by (id of the document, index), as citations name them, in that order.

        Each comes once; those that are gone are left out.
        """
        return await self._background.arun(self._looking.passages(places))

    def passages(self, places: Sequence[tuple[str, int]]) -> list[Passage]:
        """Do the same as `apassages`."""
        return self._background.run(self._looking.passages(places))

    async def areport(self, reading: Reading, target: str | PathLike[str]) -> Path:
        """Write a reading as one HTML page to hand on, in place of what is there; returns its path.

        The page holds the cited chunks in full. Raises UsageError where it cannot be written.
        """
        return await self._background.arun(self._looking.report(reading, target))

    def report(self, reading: Reading, target: str | PathLike[str]) -> Path:
        """Do the same as `areport`."""
        return self._background.run(self._looking.report(reading, target))

    async def acorpora(self) -> list[CorpusSummary]:
        """List all corpora of the database, not only the reader's own."""
        return await self._background.arun(self._looking.corpora())

    def corpora(self) -> list[CorpusSummary]:
        """Do the same as `acorpora`."""
        return self._background.run(self._looking.corpora())

    async def adocuments(self) -> list[DocumentSummary]:
        """List the documents of the corpus."""
        return await self._background.arun(self._looking.documents())

    def documents(self) -> list[DocumentSummary]:
        """Do the same as `adocuments`."""
        return self._background.run(self._looking.documents())

    async def astats(self) -> Stats:
        """Count what the corpus holds."""
        return await self._background.arun(self._looking.stats())

    def stats(self) -> Stats:
        """Do the same as `astats`."""
        return self._background.run(self._looking.stats())


Things = Sequence[Thing]


class Operations:
    """What a reader does beside answering, as coroutines: reading in, deleting."""

    def __init__(self, session: Resources, corpus: str) -> None:
        self.corpus = corpus
        self._session = session

    async def ingest(
        self,
        things: Things,
        progress: Progress,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        normalize: bool | None = None,
    ) -> IngestReport:
        """Read files, folders, standard input or LangChain documents in."""
        sources = await asyncio.to_thread(sources_of, _expanded(things), include, exclude, id=id)
        pipeline, told = await self._pipeline(progress)
        return await self._finished(await pipeline.run(sources), told, progress, normalize)

    async def retry_failed(self, progress: Progress) -> IngestReport:
        """Ask again for the chunks that have no facts."""
        await self._session.library(self.corpus)
        pipeline, told = await self._pipeline(progress)
        return await self._finished(await pipeline.retry(), told, progress, None)

    async def _pipeline(self, progress: Progress) -> tuple[Pipeline, list[str]]:
        """What reads into the corpus, and what a person should know before."""
        decider, embedder = self._session.builder(), self._session.embedder()
        await self._session.prepare()
        connection = await self._session.connection()
        settings = self._session.settings
        told: list[str] = []
        with suppress(UnknownCorpusError):  # a new one fits every embedding
            record = await Catalog(connection).corpus(self.corpus)
            check_embedding(self.corpus, record.embedding, embedder.name)
            told = runs_module.another_decider(self.corpus, record.decider, decider.name)
        pipeline = Pipeline(
            GraphWriter(connection, self.corpus),
            decider,
            embedder,
            chunk_tokens=settings.chunk_tokens,
            budget=Budget(settings.max_calls, settings.max_tokens),
            progress=progress,
        )
        return pipeline, told

    async def _finished(
        self, report: IngestReport, told: list[str], progress: Progress, normalize: bool | None
    ) -> IngestReport:
        """The report of a run, after names are settled and key elements compared."""
        normalization = await self._normalized(normalize, progress)
        decider = self._session.builder()
        if decider.notice and decider.name != OFFLINE:  # offline, the report says so already
            told.append(decider.notice)
        return replace(report, notes=tuple(told), normalization=normalization)

    async def normalize(self, dry_run: bool, undo: bool, progress: Progress) -> NormalizationReport:
        """Compare and merge key elements, or take that back."""
        await self._session.library(self.corpus)
        await self._session.prepare()
        connection = await self._session.connection()
        stages = () if undo else self._session.settings.stages
        normalizer = Normalizer(connection, self.corpus, stages)
        return await normalizer.run(dry_run=dry_run, progress=progress)

    async def _normalized(
        self, wanted: bool | None = None, progress: Progress = no_progress
    ) -> NormalizationReport | None:
        """What became of the key elements of a graph that changed; at least names are settled."""
        connection = await self._session.connection()
        if wanted is False:
            await GraphWriter(connection, self.corpus).settle()
            return None
        normalizer = Normalizer(connection, self.corpus, self._session.settings.stages)
        return await normalizer.run(progress=progress)

    async def estimate(
        self,
        things: Things,
        known: bool,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
    ) -> Estimate:
        """Count what reading them in will cost; without `known` no graph is opened."""
        sources = await asyncio.to_thread(sources_of, _expanded(things), include, exclude, id=id)
        settings = self._session.settings
        look_up: LookUp = nothing_known
        if known:
            states = DocumentStatus(await self._session.connection(), self.corpus)
            look_up = known_in(states, settings.chunk_tokens)
        return await estimate(sources, self.corpus, self._session.measurer(), settings, look_up)

    async def delete(self, document: str | None, everything: bool) -> int:
        """Take out one document or everything."""
        if (document is None) == (not everything):
            raise UsageError("Name one document to delete, or say that everything shall go.")
        library = await self._session.library(self.corpus)
        connection = await self._session.connection()
        deleter = Deleter(connection, self.corpus)
        if document is None:
            ids = [one.id for one in await library.documents(self.corpus)]
        else:
            ids = [await library.find(self.corpus, document)]
        await deleter.delete(ids)
        if everything:
            await deleter.delete_corpus()
        else:
            await self._normalized()
        return len(ids)

    async def reindex(self, progress: Progress) -> list[str]:
        """Embed the corpus anew, and compare its key elements by their new vectors."""
        connection = await self._session.connection()
        done = await reindex(connection, self._session.embedder(), self.corpus, progress)
        for corpus in done:
            normalizer = Normalizer(connection, corpus, self._session.settings.stages)
            await normalizer.run(progress=progress)
        return done

    async def export(
        self, target: str | PathLike[str] | BinaryIO, told: TransferProgress
    ) -> TransferReport:
        """Write the whole corpus into a file."""
        return await export_corpus(await self._session.connection(), self.corpus, target, told)

    async def import_corpus(
        self, source: str | PathLike[str] | Export, told: TransferProgress
    ) -> TransferReport:
        """Read an exported corpus in."""
        return await import_corpus(await self._session.connection(), self.corpus, source, told)


def _expanded(things: Things) -> list[Thing]:
    """The same, with the person's home for `~`. Raises UsageError."""
    if not things:
        raise UsageError("Name at least one file or folder to read.")
    if any(isinstance(one, list | tuple) for one in things):
        raise UsageError("Give documents one by one: `reader.ingest(*documents)`.")
    for one in things:
        if not isinstance(one, str | PathLike | LangChainDocument):
            raise UsageError(f"{one!r:.80} is neither a path nor a document: give one of them.")
        if isinstance(one, str) and not one.strip():  # it would be taken for the working folder
            raise UsageError("A path is empty: name a file or a folder, or leave it out.")
    return [
        # Not Path.expanduser, which takes the file `~backup.txt` for the home of an unknown user.
        os.path.expanduser(one) if isinstance(one, str | PathLike) else one
        for one in things
    ]


class GraphReader(Asker, Looker):
    """Reads texts into one corpus and answers questions about it.

        with GraphReader(corpus="books") as reader:
            reader.ingest("books/")
            print(reader.ask("Who was the teacher of the founder of the school?").answer)

    Neo4j and the model are those of the environment (see `Settings`): without NEO4J_URI an embedded
    server is started, without a model decisions are taken by word overlap, and `Reading.notes` says
    so. `decider` and `embedder` put others in their place. `checkpointer` is a saver of LangGraph
    that keeps the steps of runs in place of the file in GRAPHREADER_HOME; that file goes on to list
    the runs and to keep their decisions. It must be set up and asynchronous (`AsyncNeo4jSaver`, not
    `Neo4jSaver`; `InMemorySaver` is both). Like its driver it belongs to the loop that uses it
    first, and that must be this reader's own: make another saver for another reader, and after
    `close`. To close it is yours; what it raises ends the run. `steps` are those of another mode
    of reading (`agent.graph.Steps`).

    Nothing is opened before the first call. What takes time has an asynchronous twin, which may be
    awaited in any loop; the synchronous ones also work inside Jupyter. Failures are
    GraphReaderErrors, whose message says what to do.
    """

    def __init__(
        self,
        corpus: str = "default",
        *,
        settings: Settings | None = None,
        decider: Decider | None = None,
        embedder: Embedder | None = None,
        server_progress: ServerProgress | None = None,
        checkpointer: Saver | None = None,
        steps: NodeSet | None = None,
    ) -> None:
        name = check_corpus_name(corpus)
        given = settings or Settings.read()
        session = Resources(given, decider, embedder, server_progress, checkpointer, steps)
        self._stand(session, Background(), name)

    def _stand(self, session: Resources, background: Background, corpus: str) -> None:
        self._operations = Operations(session, corpus)
        self._looking = Looking(session, corpus)
        super().__init__(session, background, corpus)

    def at(self, corpus: str) -> Self:
        """Another reader, at that corpus, that shares all connections with this one.

        To close either closes both.
        """
        name = check_corpus_name(corpus)
        reader = copy(self)
        reader._stand(self._session, self._background, name)
        return reader

    @property
    def corpus(self) -> str:
        """The corpus that is read into and asked; another name takes it to another corpus."""
        return self._operations.corpus

    @corpus.setter
    def corpus(self, name: str) -> None:
        name = check_corpus_name(name)
        self._operations.corpus = self._questions.corpus = self._looking.corpus = name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def aingest(
        self,
        *things: Thing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        normalize: bool | None = None,
        progress: Progress = no_progress,
    ) -> IngestReport:
        """Read files, folders of them, or LangChain documents into the corpus.

        Of folders, `include` and `exclude` are patterns of the paths in them; "-" is standard
        input, which `id` names. What is there already is not asked for again; a text that changed
        is read anew where it changed. What cannot be read stands in the report, the others are read
        all the same. At the end key elements are compared and merged as GRAPHREADER_NORMALIZE says,
        or not at all where `normalize` is false.
        """
        return await self._background.arun(
            self._operations.ingest(things, progress, include, exclude, id, normalize)
        )

    def ingest(
        self,
        *things: Thing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        normalize: bool | None = None,
        progress: Progress = no_progress,
    ) -> IngestReport:
        """Do the same as `aingest`."""
        return self._background.run(
            self._operations.ingest(things, progress, include, exclude, id, normalize)
        )

    async def aretry_failed(self, *, progress: Progress = no_progress) -> IngestReport:
        """Ask again for the chunks that have no facts, and for nothing else."""
        return await self._background.arun(self._operations.retry_failed(progress))

    def retry_failed(self, *, progress: Progress = no_progress) -> IngestReport:
        """Do the same as `aretry_failed`."""
        return self._background.run(self._operations.retry_failed(progress))

    async def aestimate(
        self,
        *things: Thing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        known: bool = True,
    ) -> Estimate:
        """Count what reading the same things in will cost, and then a question.

        Nothing is sent or written. What the corpus has already is not counted; without `known`
        everything is, and no graph is opened.
        """
        return await self._background.arun(
            self._operations.estimate(things, known, include, exclude, id)
        )

    def estimate(
        self,
        *things: Thing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        known: bool = True,
    ) -> Estimate:
        """Do the same as `aestimate`."""
        return self._background.run(self._operations.estimate(things, known, include, exclude, id))

    async def adelete(self, document: str | None = None, *, everything: bool = False) -> int:
        """Take out the document of that id, path or title, or the whole corpus.

        Returns how many documents are gone. Key elements that other facts name stay.
        """
        return await self._background.arun(self._operations.delete(document, everything))

    def delete(self, document: str | None = None, *, everything: bool = False) -> int:
        """Do the same as `adelete`."""
        return self._background.run(self._operations.delete(document, everything))

    async def anormalize(
        self, *, dry_run: bool = False, undo: bool = False, progress: Progress = no_progress
    ) -> NormalizationReport:
        """Compare and merge key elements as GRAPHREADER_NORMALIZE says, or take all of that back.

        An ingest does so at its end. A dry run only says what would change.
        """
        return await self._background.arun(self._operations.normalize(dry_run, undo, progress))

    def normalize(
        self, *, dry_run: bool = False, undo: bool = False, progress: Progress = no_progress
    ) -> NormalizationReport:
        """Do the same as `anormalize`."""
        return self._background.run(self._operations.normalize(dry_run, undo, progress))

    async def areindex(self, *, progress: Progress = no_progress) -> list[str]:
        """Embed the corpus anew after GRAPHREADER_EMBEDDINGS changed; no text is read again.

        Returns the corpora that were embedded: all, where the length of the vectors changed.
        """
        return await self._background.arun(self._operations.reindex(progress))

    def reindex(self, *, progress: Progress = no_progress) -> list[str]:
        """Do the same as `areindex`."""
        return self._background.run(self._operations.reindex(progress))

    async def aexport(
        self, target: str | PathLike[str] | BinaryIO, *, progress: TransferProgress = nobody
    ) -> TransferReport:
        """Write the whole corpus, vectors and all, into one file of JSON Lines.

        The file stands there only once it is whole. `progress` hears how much is written.
        """
        return await self._background.arun(self._operations.export(target, progress))

    def export(
        self, target: str | PathLike[str] | BinaryIO, *, progress: TransferProgress = nobody
    ) -> TransferReport:
        """Do the same as `aexport`."""
        return self._background.run(self._operations.export(target, progress))

    async def aimport_corpus(
        self, source: str | PathLike[str] | Export, *, progress: TransferProgress = nobody
    ) -> TransferReport:
        """Read an exported corpus into this one, whatever it was called. No model is asked.

        What is there already is left alone, a document with another text than the one there is left
        out. An import that broke off can be run again.
        """
        return await self._background.arun(self._operations.import_corpus(source, progress))

    def import_corpus(
        self, source: str | PathLike[str] | Export, *, progress: TransferProgress = nobody
    ) -> TransferReport:
        """Do the same as `aimport_corpus`."""
        return self._background.run(self._operations.import_corpus(source, progress))

    async def aclose(self) -> None:
        """Close the connections; an embedded server goes on running.

        It may be called again, and a reader that is used again opens what it needs anew.
        """
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Do the same as `aclose`."""
        if self._background.runs:
            self._background.run(self._session.aclose())
            self._background.close()
