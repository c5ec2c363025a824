"""GraphReader: read texts into a graph once, then ask questions about them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import repeat
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Self

from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphreader.agent.context import RunContext
from graphreader.agent.events import Event
from graphreader.agent.graph import NodeSet
from graphreader.agent.modes import Saver, mode_named
from graphreader.agent.planning import search_nodes
from graphreader.agent.ranking import fuse_rankings
from graphreader.agent.run_store import RunSummary
from graphreader.agent.state import AgentInput, AgentOutput
from graphreader.cluster import Workers, cluster
from graphreader.documents import Chunk, KeyElement, check_corpus_name, without_surrogates
from graphreader.errors import (
    BudgetError,
    EmbeddingMismatchError,
    UnknownKeyElementError,
    UsageError,
)
from graphreader.estimate import Estimate, estimate, submission_cost
from graphreader.ingestion.embedding import reindex
from graphreader.ingestion.export_file import Export
from graphreader.ingestion.extraction import key_elements
from graphreader.ingestion.loading.sources import Source, SourceLike, retrieved, sources_of
from graphreader.ingestion.pipeline import Pipeline
from graphreader.ingestion.pruning import documents_without_file
from graphreader.ingestion.report import (
    IngestReport,
    NormalizationReport,
    NothingReadError,
    Progress,
    no_progress,
    unread_note,
    with_waits,
)
from graphreader.ingestion.transfer import TransferReport, export_corpus, import_corpus
from graphreader.integrations.langchain import TOOL_DESCRIPTION, TOOL_NAME, as_tool
from graphreader.integrations.langgraph import agent_graph
from graphreader.llm.pricing import Prices
from graphreader.llm.protocols import Decider, Embedder, Quota
from graphreader.models import in_background
from graphreader.outline import OutlineEntry
from graphreader.pages.page import write_report
from graphreader.preflight import (
    check_chunks,
    prepare_ingest,
    prepare_run,
    refused_vectors_note,
)
from graphreader.reading import Reading
from graphreader.resources import Resources
from graphreader.runs import (
    KeptRun,
    Outcome,
    RunRequest,
    delete_runs,
    execute,
    execute_all,
    last_reading,
    show_run,
    with_options,
)
from graphreader.scope import (
    EVERYTHING,
    MOST_TAGS,
    Scope,
    Terms,
    checked_date,
    checked_tag,
)
from graphreader.settings import ModeName, Settings, SweepChoice
from graphreader.store.catalog import Catalog, CorpusSummary, DocumentStatus, DocumentSummary, Stats
from graphreader.store.embedded.process import Progress as ServerProgress
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import ElementFacts, Neighbor
from graphreader.store.search import NEAR
from graphreader.store.writer import Deleter, GraphWriter
from graphreader.sync import blocking, methods_in_loop, stream_in_loop
from graphreader.waiting import with_waiting

SEARCH_WIDTH = 50  # key elements that each of the two searches brings, at least
MAX_LIMIT = 1000  # the largest number of key elements or neighbors that one call returns


@methods_in_loop
class GraphReader:
    """A reader of one corpus: it ingests texts and answers questions about them.

        with GraphReader(corpus="books") as reader:
            reader.ingest("books/")
            print(reader.ask("Who was the teacher of the founder of the school?").answer)

    Neo4j and the model are those of the environment (see `Settings`): without NEO4J_URI an embedded
    server is started, without a model decisions are taken by word overlap. `decider`, `embedder`
    and `nodes` (`agent.graph.NodeSet`) replace these.

    Each question is a run that is kept (GRAPHREADER_KEPT_RUNS) with its decisions and can be
    resumed. `checkpointer` is an asynchronous LangGraph saver that keeps the steps instead. It is
    used in GraphReader's own event loop; the caller sets it up and closes it.

    Nothing is opened before the first call. Every method that takes time has an asynchronous form,
    whose name begins with `a`, for any event loop. Failures are GraphReaderErrors.
    """

    name = "graphreader"
    """The name of this kind of reader (see `Reader`)."""

    def __init__(
        self,
        corpus: str = "default",
        *,
        settings: Settings | None = None,
        decider: Decider | None = None,
        embedder: Embedder | None = None,
        server_progress: ServerProgress | None = None,
        checkpointer: Saver | None = None,
        nodes: NodeSet | None = None,
    ) -> None:
        self._corpus = check_corpus_name(corpus)
        self._quota: Quota | None = None
        settings = settings or Settings.read()
        if decider is None:
            check_chunks(settings)
        self._resources = Resources(
            settings, decider, embedder, server_progress, checkpointer, nodes
        )

    def at(self, corpus: str, quota: Quota | None = None) -> Self:
        """Return a reader of another corpus that shares all connections with this one.

        Its runs and ingests also take from the `quota`, without which it does not search.
        """
        reader = copy(self)
        reader._corpus = check_corpus_name(corpus)
        reader._quota = quota or self._quota
        return reader

    @property
    def corpus(self) -> str:
        """The corpus that this reader ingests into and asks; `at` gives a reader of another one."""
        return self._corpus

    @property
    def window(self) -> int:
        """The largest number of tokens of a prompt."""
        return self._resources.settings.window

    @property
    def resources(self) -> Resources:
        """The open connections, which all readers made by `at` share."""
        return self._resources

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Asking

    async def aask(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: ModeName | None = None,
        keep_run: bool = False,
        options: Sequence[str] = (),
        follow: str | None = None,
        sweep: SweepChoice | None = None,
        sweep_tokens: int | None = None,
        scope: Terms | None = None,
    ) -> Reading:
        """Explore the corpus and answer. Documents, chunks, facts and key elements never change.

        `run` is the id of the run: a kept run of that id is resumed if it asks the same, else
        UsageError is raised. `mode` replaces the mode of the settings. With `keep_run` the run is
        written into the graph when it ends, with `options` the answer is one of them. `follow` is
        the id (or its prefix) of a finished run of this corpus that the question follows up.
        `sweep` and `sweep_tokens` replace the settings of these names: whether all texts may be
        read for the question, and how many tokens of them at most.
        `scope` limits the question to some documents (`graphreader.scope`: "reports/",
        "tag:contract", "2023-01..2023-06"); without it a follow-up has the scope of its run.
        """
        question = with_options(question, options)
        request = RunRequest(
            *(self._corpus, question, run),
            mode=mode,
            follow=follow,
            scope=_parsed(scope),
            keep_run=keep_run,
            sweep=sweep,
            sweep_tokens=sweep_tokens,
            quota=self._quota,
        )
        return await last_reading(execute(self._resources, request))

    @stream_in_loop
    def astream(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: ModeName | None = None,
        keep_run: bool = False,
        follow: str | None = None,
        sweep: SweepChoice | None = None,
        sweep_tokens: int | None = None,
        scope: Terms | None = None,
    ) -> AsyncGenerator[Event]:
        """Answer as `aask` and yield the events: first RunBegan, last QuestionAnswered."""
        request = RunRequest(
            *(self._corpus, question, run),
            mode=mode,
            follow=follow,
            scope=_parsed(scope),
            keep_run=keep_run,
            sweep=sweep,
            sweep_tokens=sweep_tokens,
            stream_answer=True,
            quota=self._quota,
        )
        return with_waiting(execute(self._resources, request))

    async def aresume(self, run: str, *, step: int | None = None) -> Reading:
        """Resume a kept run, by its id or a unique prefix, with the rest of its budget.

        A finished run returns its reading. With `step` (mode `paper`: 1 rational plan, 2 initial
        nodes, 3 paths, 4 answer; `KeptRun.steps`) a new run begins before that step.
        """
        request = self._resumed(run, step)
        return await last_reading(execute(self._resources, request))

    @stream_in_loop
    def astream_resume(self, run: str, *, step: int | None = None) -> AsyncGenerator[Event]:
        """Resume like `aresume` and yield the events, beginning with the finished steps."""
        request = replace(self._resumed(run, step), stream_answer=True)
        return with_waiting(execute(self._resources, request))

    @stream_in_loop
    def abatch_as_completed(
        self,
        questions: Sequence[str],
        *,
        runs: Sequence[str] | None = None,
        mode: ModeName | None = None,
        keep_run: bool = False,
        scope: Terms | None = None,
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        """Answer many questions side by side, in one scope; `runs` are the ids of their runs.

        Yields the index of each with its reading, or the GraphReaderError that ended it,
        when ready.
        """
        if isinstance(questions, str):
            raise UsageError("Give a list of questions, not a single one.")
        if runs is not None and (len(runs) != len(questions) or len(set(runs)) != len(runs)):
            raise UsageError("Give each question an id of its own, or give none of them any.")
        requests = [
            RunRequest(
                *(self._corpus, question, run),
                mode=mode,
                scope=_parsed(scope),
                keep_run=keep_run,
                quota=self._quota,
            )
            for question, run in zip(
                questions, repeat(None) if runs is None else runs, strict=runs is not None
            )
        ]
        return execute_all(self._resources, requests)

    async def abatch(
        self, questions: Sequence[str], *, return_exceptions: bool = False
    ) -> list[Any]:
        """Answer many questions side by side; the readings are in the order of the questions.

        Once all are finished the first failure is raised, or with `return_exceptions`
        returned.
        """
        async with aclosing(self.abatch_as_completed(questions)) as stream:
            ended = {index: outcome async for index, outcome in stream}
        outcomes = [ended[index] for index in range(len(questions))]
        for outcome in () if return_exceptions else outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return outcomes

    def as_graph(
        self, mode: ModeName | None = None, scope: Terms = ()
    ) -> CompiledStateGraph[Any, Any, AgentInput, AgentOutput]:
        """Return the agent as a compiled LangGraph graph, for instance as a node of another one.

        It takes `question` and gives `answer`, `citations` and more (`agent.state`), in any
        event loop. Events go to the custom stream as JSON types; the graph around it keeps
        its checkpoints.
        """
        chosen = mode_named(mode or self._resources.settings.mode)
        limits = Scope.of(scope)

        async def context_of(_: Runtime[Any], question: str) -> RunContext:
            asked = self._corpus, question, chosen, self._quota
            return await prepare_run(self._resources, *asked, limits)

        return agent_graph(context_of, mode=chosen.name)

    def as_tool(
        self,
        name: str = TOOL_NAME,
        description: str = TOOL_DESCRIPTION,
        scope: Terms | None = None,
    ) -> BaseTool:
        """Return a tool for any LangChain agent; see `integrations.langchain.as_tool`."""
        return as_tool(self, name, description, scope=_parsed(scope))

    # Kept runs

    async def aruns(self, corpus: str | None = None) -> list[RunSummary]:
        """List the kept runs, of one corpus or of all, newest first."""
        store = self._resources.run_store
        return await store.summaries(corpus) if store else []

    async def arun(self, run: str) -> KeptRun:
        """Return a kept run with its events; `run` is its id or a unique prefix of it."""
        return await show_run(self._resources, run)

    async def adelete_runs(
        self, *runs: str, everything: bool = False, before: float | None = None
    ) -> int:
        """Delete runs that are not under way: named, all, or unchanged since `before` (epoch s)."""
        return await delete_runs(self._resources, runs, everything=everything, before=before)

    # Ingesting

    async def aingest(
        self,
        *inputs: SourceLike,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        follow_links: Sequence[str | PathLike[str]] = (),
        id: str | None = None,
        encoding: str | None = None,
        allow_private: bool = False,
        ocr: bool | str = False,
        normalize: bool | None = None,
        again: bool = False,
        batch: bool = False,
        wait: bool = False,
        ray: str | None = None,
        progress: Progress = no_progress,
    ) -> IngestReport:
        """Read files, folders of them, web pages, or LangChain documents into the corpus.

        `include` and `exclude` are patterns of paths in folders, where links are followed
        only to a folder or file of `follow_links`; "-" is standard input, named `id`; a text that
        begins with "https://" or "http://" is the address of a page, which only with
        `allow_private` may be one of a private network. `encoding`
        is that of texts that do not declare one; without it each is recognized. With `ocr`
        scanned pages and pictures are read, by rapidocr if it is installed, else by Tesseract; a
        text such as "rus+eng" names the languages for Tesseract. Of a
        changed text only the changed region is read; with `again` each document is deleted and
        read as a new one. Key elements are merged at the end,
        unless `normalize` is false; the report lists what cannot be read. With `batch` the
        requests to the model are submitted as batches, for half the price; the same call
        later takes their replies, or with `wait` this one. `ray` is the address of a Ray
        cluster whose workers parse, extract and embed, or "local". Raises NothingReadError if
        nothing can be read, and DecisionErrors of the model, after which the same call (without
        `again`) goes on.
        """
        if batch and ray:
            raise UsageError("Batches are not requested by workers: use either batch or ray.")
        if batch and again:
            raise UsageError(
                "The same call takes the replies of a batch: use either batch or again."
            )
        unread = Counter[str]()
        sources = await asyncio.to_thread(
            partial(
                sources_of,
                id=id,
                follow_links=follow_links,
                encoding=encoding,
                ocr=ocr,
                unread=unread,
            ),
            *(inputs, include, exclude),
            allow_private=allow_private,
        )
        sources = await retrieved(sources)
        read = partial(Pipeline.run, sources=sources, again=again)
        if ray:
            with with_waits(progress):
                async with self._cluster(ray) as workers:
                    report = await self._ingest(read, progress, normalize, workers=workers)
        elif batch:
            report = await self._ingest_by_batches(sources, progress, normalize, wait=wait)
        else:
            report = await self._ingest(read, progress, normalize)
        if unread:
            report = replace(report, notes=(*report.notes, unread_note(unread)))
        if report.documents and all(one.status == "refused" for one in report.documents):
            raise NothingReadError(report)
        return report

    async def aretry_failed(self, *, progress: Progress = no_progress) -> IngestReport:
        """Extract the facts only of the chunks that have none."""
        await self._resources.catalog(self._corpus)
        return await self._ingest(Pipeline.retry, progress)

    async def aestimate(
        self,
        *inputs: SourceLike,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        follow_links: Sequence[str | PathLike[str]] = (),
        id: str | None = None,
        encoding: str | None = None,
        allow_private: bool = False,
        ocr: bool | str = False,
        known: bool = True,
        batch: bool = False,
    ) -> Estimate:
        """Estimate the cost of ingesting these sources, and of a question; nothing is sent.

        Without a configured model or key it is that of the default model.
        Chunks that the corpus has do not count; without `known` no graph is opened, and all
        count. With `batch` the price is that of batches.
        """
        sources = await asyncio.to_thread(
            partial(sources_of, id=id, follow_links=follow_links, encoding=encoding, ocr=ocr),
            *(inputs, include, exclude),
            allow_private=allow_private,
        )
        sources = await retrieved(sources)
        measurer, settings = self._resources.measurer_with_model()
        assumed, status = settings != self._resources.settings, None
        if known:
            connection = await self._resources.connection()
            status = DocumentStatus(connection, self._corpus)
            if record := await Catalog(connection).find_corpus(self._corpus):
                settings = settings.model_copy(update={"embeddings": record.embedding})
        estimated = await estimate(sources, self._corpus, measurer, settings, status, batch=batch)
        return replace(estimated, assumed=assumed)

    async def adelete(self, document: str | None = None, *, everything: bool = False) -> int:
        """Delete the document of that id, path or title, or all; returns how many are deleted."""
        if (document is None) == (not everything):
            raise UsageError("Name one document to delete, or say that everything shall go.")
        catalog = await self._resources.catalog(self._corpus)
        deleter = Deleter(await self._resources.connection(), self._corpus)
        if document is not None:
            await self._resources.prepare_schema()
            await deleter.delete([await catalog.find(self._corpus, document)])
            await (await self._resources.normalizer(self._corpus)).run()
            return 1
        documents = await catalog.documents(self._corpus)
        await deleter.delete([one.id for one in documents])
        await deleter.delete_corpus()
        return len(documents)

    async def aprune(
        self,
        *folders: str | PathLike[str],
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        among: Collection[str] | None = None,
        dry_run: bool = False,
    ) -> list[DocumentSummary]:
        """Delete the documents whose files are gone from folders, and return them.

        Only documents count whose files lay below the folders and which the patterns of `aingest`
        cover; with `among` only those with these ids. A dry run deletes nothing. Raises
        UsageError, and deletes nothing, if a folder is missing, empty or not readable as a whole,
        or lacks the files of more than half of its documents.
        """
        connection = await self._resources.connection()
        given = connection, self._corpus, folders, include, exclude, among
        documents = await documents_without_file(*given)
        if documents and not dry_run:
            await self._resources.prepare_schema()
            await Deleter(connection, self._corpus).delete([one.id for one in documents])
            await (await self._resources.normalizer(self._corpus)).run()
        return documents

    async def anormalize(
        self, *, dry_run: bool = False, undo: bool = False, progress: Progress = no_progress
    ) -> NormalizationReport:
        """Merge key elements and join names by GRAPHREADER_NORMALIZE, or undo that.

        A dry run only reports. Only the stage `names` asks the model. Raises its DecisionErrors.
        """
        await self._resources.catalog(self._corpus)
        await self._resources.prepare_schema()
        budget = self._resources.models.budget(self._quota)
        normalizer = await self._resources.normalizer(self._corpus, budget, undo=undo)
        with with_waits(progress):
            return await normalizer.run(dry_run=dry_run, progress=progress)

    async def aundo_join(self, document: str, name: str) -> NormalizationReport:
        """Undo the join of one name in a document (its id, path or title), for good.

        Later runs do not join it again. Raises UsageError if the name is not joined there.
        """
        catalog = await self._resources.catalog(self._corpus)
        await self._resources.prepare_schema()
        normalizer = await self._resources.normalizer(self._corpus)
        return await normalizer.undo_join(await catalog.find(self._corpus, document), name)

    async def areindex(self, *, progress: Progress = no_progress) -> int:
        """Index the corpus again after an upgrade, or with other embeddings, extracting no text.

        Key elements get the keys and ids of the present rules.
        From now on the corpus has the embeddings of the settings. Returns how many vectors are new;
        `lacks` says what is still missing after it.
        """
        embedder, connection = self._resources.new_embedder(), await self._resources.connection()
        with with_waits(progress):
            await self._resources.prepare_schema()
            await (await self._resources.normalizer(self._corpus)).renew_keys()
            vectors = await reindex(connection, in_background(embedder), self._corpus, progress)
            # The new vectors may merge other key elements.
            await (await self._resources.normalizer(self._corpus)).run(progress=progress)
        return vectors

    async def alacks(self) -> list[str]:
        """Return sentences about what the corpus lacks since an earlier version read its texts."""
        catalog = await self._resources.catalog(self._corpus)
        return await catalog.lacks(self._corpus)

    async def aexport(self, target: str | PathLike[str] | BinaryIO) -> TransferReport:
        """Export the corpus with its vectors as JSON Lines: to a file, whole or not at all."""
        return await export_corpus(await self._resources.connection(), self._corpus, target)

    async def aimport_corpus(self, source: str | PathLike[str] | Export) -> TransferReport:
        """Import an exported corpus of any name into this one; it can be repeated.

        Present documents stay; one whose text differs from the present one is skipped.
        """
        connection = await self._resources.connection()
        stages = self._resources.settings.stages
        return await import_corpus(connection, self._corpus, source, stages)

    # Looking into the corpus. A key element is named by its id, its name or any of its wordings,
    # a document by its id, its path or its title. Unknown names raise UnknownKeyElementError and
    # UnknownDocumentError.

    async def asearch(self, text: str, *, limit: int = 20, scope: Terms = ()) -> list[KeyElement]:
        """Search key elements by words and by meaning, best first; at most 1,000.

        Where words match, key elements with other words must be near in meaning. In a `scope` they
        have the names and numbers of facts that its documents have.
        """
        text = without_surrogates(text)
        if not text.strip():
            raise UsageError("The search is empty: give some words.")
        if self._quota:  # the search is embedded
            await self._quota.check()
        limit = max(0, min(limit, MAX_LIMIT))
        explorer = await self._resources.explorer(self._corpus, Scope.of(scope))
        record = await Catalog(explorer.connection).corpus(self._corpus)
        self._resources.renew_terms(explorer.connection, self._corpus, record)
        vectors = None
        with suppress(EmbeddingMismatchError):  # then words alone
            vectors = self._resources.query_vectors(self._corpus, record)
        rankings, _ = await search_nodes(
            explorer, vectors, [text], max(limit, SEARCH_WIDTH), near=NEAR
        )
        ranked = fuse_rankings(rankings, lambda node: node.id)
        return await explorer.elements([node.id for node in ranked[:limit]])

    async def afacts(self, key_element: str) -> ElementFacts:
        """Return the facts that name a key element, in the order of the texts; of a hub, 250."""
        explorer = await self._resources.explorer(self._corpus)
        element = await self._element(explorer, key_element)
        records = await explorer.facts(element.id)
        facts = tuple(fact for group in records.groups for fact in group.facts)
        return ElementFacts(element, facts, records.total)

    async def aneighbors(self, key_element: str, *, limit: int = 50) -> list[Neighbor]:
        """Return at most 1,000 key elements that share facts with one, most shared facts first."""
        explorer = await self._resources.explorer(self._corpus)
        element = await self._element(explorer, key_element)
        limit = max(0, min(limit, MAX_LIMIT))
        return await explorer.neighbors(element.id, [element.id], [], [], None, limit)

    async def aoutline(self, document: str) -> list[OutlineEntry]:
        """Return the outline of a document: an entry per chunk, for `outline.outline_text`."""
        catalog = await self._resources.catalog(self._corpus)
        id_ = await catalog.find(self._corpus, document)
        return await (await self._resources.explorer(self._corpus)).outline(id_)

    async def achunk(self, document: str, index: int) -> Chunk:
        """Return a chunk in full by its index in a document, from 0."""
        catalog = await self._resources.catalog(self._corpus)
        id_ = await catalog.find(self._corpus, document)
        chunks = await self.apassages([(id_, index)])
        if not chunks:
            raise UsageError(
                f"{document!r} has no chunk {index}: they are counted from 0, and `graphreader "
                f"list --corpus {self._corpus}` says how many there are."
            )
        return chunks[0]

    async def apassages(self, places: Sequence[tuple[str, int]]) -> list[Chunk]:
        """Return existing chunks in full by (document's id, index), as citations name them."""
        # Neo4j has no integers beyond 64 bits.
        valid = [(without_surrogates(id_), index) for id_, index in places if 0 <= index < 2**63]
        return await (await self._resources.explorer(self._corpus)).chunks(valid)

    async def areport(self, reading: Reading, target: str | PathLike[str]) -> Path:
        """Write a reading as one HTML page with the cited chunks in full; returns its path."""
        return await write_report(await self._resources.connection(), reading, target)

    async def acorpora(self) -> list[CorpusSummary]:
        """List all corpora of the database, not only the reader's own."""
        return await Catalog(await self._resources.connection()).corpora()

    async def adocuments(self, scope: Terms = ()) -> list[DocumentSummary]:
        """List the documents of the corpus, or of a scope in it."""
        catalog, chosen = await self._resources.catalog(self._corpus), Scope.of(scope)
        documents = await catalog.documents(self._corpus)
        if chosen == EVERYTHING:
            return documents
        ids = set((await catalog.in_scope(self._corpus, chosen)).ids)
        return [one for one in documents if one.id in ids]

    async def atag(
        self,
        scope: Terms,
        *tags: str,
        remove: Sequence[str] = (),
        replace: bool = False,
        date: str | None = None,
    ) -> int:
        """Add tags to the documents of a scope, remove some, or all others, and set their date.

        `date` is an ISO date, month or year; "" removes it. From now on the front matter of these
        documents changes neither. Returns how many documents they are; no text is read again.
        """
        if not (tags or remove or replace or date is not None):
            raise UsageError("Name a tag to add or to remove, or a date.")
        if len(set(tags)) > MOST_TAGS:
            raise UsageError(f"A document has at most {MOST_TAGS} tags: name fewer.")
        catalog = await self._resources.catalog(self._corpus)
        found = await catalog.in_scope(self._corpus, Scope.of(scope))
        return await GraphWriter(await self._resources.connection(), self._corpus).tag(
            found.ids,
            added=list(dict.fromkeys(map(checked_tag, tags))),
            removed=list(map(checked_tag, remove)),
            replaced=replace,
            date=date and checked_date(date),
        )

    async def astats(self) -> Stats:
        """Return the sizes of the corpus."""
        return await (await self._resources.catalog(self._corpus)).stats(self._corpus)

    async def aclose(self) -> None:
        """Close the connections, which later calls open again; an embedded server goes on."""
        await self._resources.aclose()

    # The synchronous form of each method

    ask = blocking(aask)
    stream = blocking(astream)
    resume = blocking(aresume)
    stream_resume = blocking(astream_resume)
    batch = blocking(abatch)
    batch_as_completed = blocking(abatch_as_completed)
    runs = blocking(aruns)
    run = blocking(arun)
    delete_runs = blocking(adelete_runs)
    ingest = blocking(aingest)
    retry_failed = blocking(aretry_failed)
    estimate = blocking(aestimate)
    delete = blocking(adelete)
    prune = blocking(aprune)
    normalize = blocking(anormalize)
    undo_join = blocking(aundo_join)
    reindex = blocking(areindex)
    lacks = blocking(alacks)
    export = blocking(aexport)
    import_corpus = blocking(aimport_corpus)
    search = blocking(asearch)
    facts = blocking(afacts)
    neighbors = blocking(aneighbors)
    outline = blocking(aoutline)
    chunk = blocking(achunk)
    passages = blocking(apassages)
    report = blocking(areport)
    corpora = blocking(acorpora)
    documents = blocking(adocuments)
    tag = blocking(atag)
    stats = blocking(astats)
    close = blocking(aclose)

    def _cluster(self, address: str) -> AbstractAsyncContextManager[Workers]:
        """The workers of a Ray cluster; they open the models of the settings. Raises UsageError."""
        if self._resources.models.has_own:
            raise UsageError(
                "A decider or embedder that was passed in cannot be sent to a Ray cluster: name "
                "the models by settings, or leave ray out."
            )
        return cluster(address, self._resources.settings)

    def _resumed(self, run: str, step: int | None) -> RunRequest:
        return RunRequest(self._corpus, run=run, resume=True, step=step, quota=self._quota)

    async def _ingest(
        self,
        read: Callable[[Pipeline], Awaitable[IngestReport]],
        progress: Progress,
        normalize: bool | None = None,
        decider: Decider | None = None,
        workers: Workers | None = None,
    ) -> IngestReport:
        """Read chunks by a pipeline, then merge key elements, or only name them."""
        with with_waits(progress):
            pipeline, notes = await prepare_ingest(
                self._resources,
                self._corpus,
                progress,
                decider=decider,
                workers=workers,
                quota=self._quota,
            )
            report, normalization = await read(pipeline), None
            embedding = self._resources.models.embedder_name
            notes += refused_vectors_note(self._corpus, pipeline.refused, embedding)
            normalizer = await self._resources.normalizer(self._corpus, pipeline.budget)
            if normalize is False:
                await normalizer.writer.settle()
            else:
                normalization = await normalizer.run(progress=progress)
                report = replace(report, usage=report.usage + normalization.usage)
        return replace(report, notes=(*notes, *report.notes), normalization=normalization)

    async def _ingest_by_batches(
        self, sources: list[Source], progress: Progress, normalize: bool | None, *, wait: bool
    ) -> IngestReport:
        """Read the replies of batches, and submit the requests without a reply."""
        decider = self._resources.models.batch_decider(self._corpus)
        queue, report = decider.queue, None
        try:
            with with_waits(progress):
                await queue.fetch()
            while True:
                read = await self._ingest(
                    lambda one: one.run(sources), progress, normalize, decider
                )
                report = read.after(report) if report else read
                with with_waits(progress):
                    await queue.submit()
                    if not (wait and report.waiting):
                        break
                    await queue.wait()
        finally:
            await decider.aclose()
        prices = Prices.of(self._resources.settings, batch=True)
        return replace(
            report,
            batches=tuple(queue.statuses),
            submitted=queue.submitted,
            submitted_dollars=submission_cost(queue.submitted, queue.tokens, decider, prices),
        )

    async def _element(self, explorer: GraphExplorer, name: str) -> KeyElement:
        """The key element with that id, name or wording, however it is written."""
        name = without_surrogates(name)
        ids = [name, *(one.id for one in key_elements(self._corpus, [name]))]
        if elements := await explorer.elements(ids):
            return elements[0]
        similar: list[KeyElement] = []
        with suppress(BudgetError):
            similar = await self.asearch(name, limit=5) if name.strip() else []
        names = ", ".join(repr(one.name) for one in similar)
        hint = f"; the nearest are {names}." if names else ": search for one first."
        raise UnknownKeyElementError(
            f"The corpus {self._corpus!r} has no key element {name!r}{hint}"
        )


def _parsed(scope: Terms | None) -> Scope | None:
    return None if scope is None else Scope.of(scope)
