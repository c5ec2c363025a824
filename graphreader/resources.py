"""The open resources of a reader, and what is made of them; checks that come before any cost."""

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import Any, get_args

from langgraph.checkpoint.base import BaseCheckpointSaver

from graphreader import tokens
from graphreader.agent.dependencies import AgentDependencies, QueryVectors
from graphreader.agent.graph import NodeSet
from graphreader.agent.modes import Mode, Saver
from graphreader.agent.run_store import RunStore
from graphreader.agent.tasks import NOTEBOOK_TOKENS, PLAN_TOKENS, ChunkTask
from graphreader.cluster import ClusterDecider, ClusterEmbedder, Workers, cluster
from graphreader.errors import (
    EmbeddingMismatchError,
    Neo4jUnavailableError,
    RunsError,
    SettingsError,
    UnknownRunError,
    UsageError,
    WindowError,
)
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.ingestion.pipeline import Pipeline
from graphreader.ingestion.report import Progress as IngestProgress
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget, Decider, Embedder, Task
from graphreader.llm.structured_output import ReplyForm
from graphreader.llm.window import BuildingMeasurer, Measurer, render_prompt
from graphreader.models import ModelRegistry
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.settings import DEFAULT_MODEL, OFFLINE, Settings, variable
from graphreader.store import schema
from graphreader.store.catalog import Catalog, CorpusRecord
from graphreader.store.connection import Connection, open_connection
from graphreader.store.embedded.process import Progress
from graphreader.store.explorer import GraphExplorer
from graphreader.store.writer import GraphWriter

LEAST_QUESTION = 100  # tokens of a question that fit into every prompt
MOST_NUMBERS = 4_096  # of a vector in an index of Neo4j
LABEL_TOKENS = 60  # tokens for the label of a chunk: a document's title and the chunk's number

_SMALLEST_CHUNK = 50  # tokens that the settings allow

# Two joined texts can have a token or two more than both counted separately.
_TOKENS_A_SEAM = 2


class Resources:
    """The connections of a reader and those made from it, opened at first use, unless passed in."""

    def __init__(
        self,
        settings: Settings,
        decider: Decider | None = None,
        embedder: Embedder | None = None,
        progress: Progress | None = None,
        checkpointer: Saver | None = None,
        nodes: NodeSet | None = None,
    ) -> None:
        self.settings = settings
        self.nodes = nodes
        if decider is None:
            check_chunks(settings)
        if checkpointer and type(checkpointer).aput is BaseCheckpointSaver.aput:
            raise UsageError(
                f"{type(checkpointer).__name__} has only synchronous methods: give GraphReader the "
                "asynchronous saver of the same package."
            )
        self.models = ModelRegistry(settings, decider, embedder)
        self._own_decider = decider
        self._progress = progress
        self._connection: Connection | None = None
        self._lost_connection: Connection | None = None
        self._checkpointer = checkpointer
        self._run_store: RunStore | None = None
        self._schema_ready = False
        self._lock = asyncio.Lock()
        self._failed = 0.0, ""

    async def connection(self) -> Connection:
        """The connection; a lost one, which other tasks may use, is closed with the next loss.

        Where no server answers, all that have waited for this attempt get its failure.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        async with self._lock:
            failed_at, failure = self._failed
            if failed_at > began:
                raise Neo4jUnavailableError(failure)
            if self._connection and self._connection.is_lost:
                older, self._lost_connection = self._lost_connection, self._connection
                self._connection = None
                if older:
                    await older.aclose()
            if self._connection is None:
                try:
                    connection = await open_connection(self.settings, self._progress)
                except Neo4jUnavailableError as error:
                    self._failed = clock(), str(error)
                    raise
                try:
                    await schema.check(connection)
                except BaseException:
                    await connection.aclose()
                    raise
                self._connection = connection
            return self._connection

    async def catalog(self, corpus: str) -> Catalog:
        """The catalog of the database. Raises UnknownCorpusError if that corpus is not in it."""
        catalog = Catalog(await self.connection())
        await catalog.corpus(corpus)
        return catalog

    async def prepare_schema(self) -> None:
        """Make the constraints and indexes that are missing; checked only once."""
        if not self._schema_ready:
            await schema.prepare(await self.connection())
            self._schema_ready = True

    async def explorer(self, corpus: str) -> GraphExplorer:
        """The explorer of a corpus. Raises UnknownCorpusError."""
        await self.catalog(corpus)
        return GraphExplorer(await self.connection(), corpus)

    async def normalizer(self, corpus: str, *, undo: bool = False) -> Normalizer:
        """The normalizer by the stages of the settings, or by none, which undoes all."""
        stages = () if undo else self.settings.stages
        return Normalizer(await self.connection(), corpus, stages)

    async def pipeline(
        self,
        corpus: str,
        progress: IngestProgress,
        decider: Decider | None = None,
        workers: Workers | None = None,
    ) -> tuple[Pipeline, list[str]]:
        """What reads texts into a corpus, and notes for the user. Raises EmbeddingMismatchError."""
        decider = decider or self.models.builder(self.settings.window)
        check_budget(self.models.budget(), decider, ExtractionTask("", ""))
        await self.prepare_schema()
        connection, notes = await self.connection(), list[str]()
        record = await Catalog(connection).find_corpus(corpus)
        embedder = self.embedder_of(corpus, record)
        if record:
            notes = other_decider_note(corpus, record.decider, decider.name)
            notes += other_embedding_note(corpus, record.embedding, self.models.embedder_name)
        if workers:
            decider, embedder = ClusterDecider(decider, workers), ClusterEmbedder(embedder, workers)
        pipeline = Pipeline(
            GraphWriter(connection, corpus),
            decider,
            embedder,
            chunk_tokens=self.settings.chunk_tokens,
            budget=self.models.budget(),
            progress=progress,
        )
        return pipeline, notes

    def cluster(self, address: str) -> AbstractAsyncContextManager[Workers]:
        """The workers of a Ray cluster; they open the models of the settings. Raises UsageError."""
        if self.models.has_own:
            raise UsageError(
                "A decider or embedder that was passed in cannot be sent to a Ray cluster: name "
                "the models by settings, or leave ray out."
            )
        return cluster(address, self.settings)

    @property
    def building_decider_name(self) -> str:
        """The name of the decider that extracts facts; no model is opened for it."""
        return self._own_decider.name if self._own_decider else self.settings.model_for("extract")

    def new_embedder(self) -> Embedder:
        """The embedder of the settings. Raises SettingsError, also where vectors are too long."""
        embedder = self.models.embedder()
        if embedder.dimension > MOST_NUMBERS:
            raise SettingsError(
                f"Neo4j indexes vectors of at most {MOST_NUMBERS:,} numbers, those of "
                f"{embedder.name} have {embedder.dimension:,}: choose other embeddings "
                "(GRAPHREADER_EMBEDDINGS)."
            )
        return embedder

    def embedder_of(self, corpus: str, record: CorpusRecord | None) -> Embedder:
        """The embedder that made the vectors of a corpus, or that of the settings for a new one.

        Raises EmbeddingMismatchError where it cannot be opened, or shall not be, since
        GRAPHREADER_EMBEDDINGS, or without it GRAPHREADER_MODEL, is "offline": then no text may
        leave the machine.
        """
        if record is None:
            return self.new_embedder()
        name, reason = record.embedding, ""
        is_remote = ":" in name and name != self.models.embedder_name
        setting = "embeddings" if self.settings.embeddings else "model"
        if is_remote and getattr(self.settings, setting) == OFFLINE:
            reason = f"{variable(setting)} is offline: nothing is sent to another service"
        else:
            try:
                embedder = self.models.embedder(name, record.dimension)
                if embedder.dimension == record.dimension:
                    return embedder
                reason = f"its vectors have {record.dimension} numbers, not {embedder.dimension}"
            except SettingsError as error:
                is_own = ":" not in name
                reason = "pass it to GraphReader" if is_own else str(error).partition(": ")[0]
        raise EmbeddingMismatchError(
            f"The corpus {corpus!r} was read with the embeddings {name!r}, which cannot be used "
            f"now ({reason}): mend that, or run "
            f"{reindex_call(corpus, self.models.embedder_name)} to embed it with the configured "
            "ones."
        )

    def measurer_with_model(self) -> tuple[Measurer, Settings]:
        """What measures prompts, and the settings, with the default model if none is configured."""
        if self._own_decider:
            return self._own_decider, self.settings
        settings = self.settings
        if settings.model is None and settings.chosen_model == OFFLINE:
            settings = settings.model_copy(update={"model": DEFAULT_MODEL})
        return BuildingMeasurer.of(settings), settings

    @property
    def run_store(self) -> RunStore | None:
        """The store of kept runs; None if none are to be kept."""
        if self._run_store is None and self.settings.kept_runs:
            self._run_store = RunStore(self.settings.database_of("runs"))
        return self._run_store

    def required_run_store(self) -> RunStore:
        """The store of kept runs. Raises UnknownRunError if none are kept."""
        if self.run_store is None:
            raise UnknownRunError("No runs are kept: set GRAPHREADER_KEPT_RUNS to more than 0.")
        return self.run_store

    async def saver(self) -> Saver | None:
        """LangGraph's checkpoint saver, if runs are kept and the file can be used."""
        if self._checkpointer or not self.run_store:
            return self._checkpointer
        with suppress(RunsError):  # the run store reports it
            return await self.run_store.saver()
        return None

    async def agent(self, corpus: str, vectors: QueryVectors, mode: Mode) -> AgentDependencies:
        """The agent's dependencies for one corpus, in a mode."""
        return AgentDependencies(
            GraphExplorer(await self.connection(), corpus),
            self.models.asker(self.settings.window),
            vectors,
            mode.limits(self.settings),
            self.models.budget_of_steps(),
        )

    async def prepare_agent(
        self, corpus: str, question: str, mode: Mode
    ) -> tuple[AgentDependencies, list[str]]:
        """The agent's dependencies, and notes for the user.

        Raises UnknownCorpusError, EmbeddingMismatchError, UsageError (empty, or does not fit), and
        BudgetError where the first call would exceed the budget.
        """
        decider = self.models.asker(self.settings.window)
        check_budget(self.models.budget_of_steps(), decider, mode.first_task(question))
        catalog = Catalog(await self.connection())
        record = await catalog.corpus(corpus)
        deps = await self.agent(corpus, QueryVectors(self.embedder_of(corpus, record)), mode)
        extent = await catalog.extent(corpus)
        if not extent.documents:
            raise UsageError(empty_corpus_message(corpus))
        try:
            self.check_question(question, extent.chunk_tokens)
        except UsageError:  # it may fit all the same: few texts have a chunk that is full
            self.check_question(question, await catalog.largest_chunk(corpus))
        notes = [deps.decider.notice] if deps.decider.notice else []
        notes += other_decider_note(corpus, record.decider, self.building_decider_name)
        notes += other_embedding_note(corpus, record.embedding, self.models.embedder_name)
        notes += unfinished_note(extent.documents, extent.unfinished)
        return deps, notes

    def check_question(self, question: str, largest_chunk: int) -> None:
        """Raise UsageError if the question and the largest chunk do not fit into one prompt."""
        if self._own_decider is not None:
            return
        window, prompts = self.settings.window, Prompts(self.settings.prompts)
        for encoding in _encodings(self.settings):
            room = room_for_question(largest_chunk, window, prompts=prompts, encoding=encoding)
            size = tokens.count(question, encoding)
            if size > room:
                raise UsageError(
                    f"The question has {size:,} tokens, but only {max(room, 0):,} fit into the "
                    f"window ({window:,}) beside a chunk of {largest_chunk:,}: ask a shorter one, "
                    f"set GRAPHREADER_WINDOW to at least {window - room + size:,}, or read the "
                    "texts again with a smaller GRAPHREADER_CHUNK_TOKENS."
                )

    async def aclose(self) -> None:
        """Close the resources opened here; a later use opens new ones."""
        opened = [self._lost_connection, self._connection, self.models, self._run_store]
        self._lost_connection = self._connection = self._run_store = None
        self._schema_ready = False
        async with AsyncExitStack() as stack:
            for one in opened:
                if one:
                    stack.push_async_callback(one.aclose)


def check_budget(budget: Budget, decider: Decider, task: Task[Any]) -> None:
    """Raise BudgetError if its tokens do not suffice for this task, the smallest first one."""
    with suppress(WindowError):  # another check says it
        if budget.max_tokens is not None and (size := decider.measure(task)):
            budget.check(size + task.reply_tokens, task.phase)


def empty_corpus_message(corpus: str) -> str:
    """The message about a corpus without documents."""
    return (
        f"The corpus {corpus!r} is empty: read texts into it with "
        f"`graphreader ingest PATH --corpus {shlex.quote(corpus)}`."
    )


def other_decider_note(corpus: str, before: str, now: str) -> list[str]:
    """A note if the facts of a corpus were extracted by another decider than the present one."""
    if before == now:
        return []
    return [
        f"The facts of this corpus were taken by {before!r}, not by {now!r}: for facts of its own "
        f"use another --corpus, or run `graphreader delete --all --corpus {shlex.quote(corpus)}` "
        "and read again."
    ]


def other_embedding_note(corpus: str, before: str, now: str) -> list[str]:
    """A note if a corpus keeps other embeddings than those of the settings."""
    if before == now:
        return []
    return [
        f"This corpus keeps the embeddings {before!r} that it was read with: for {now!r} run "
        f"{reindex_call(corpus, now)}."
    ]


def reindex_call(corpus: str, embedder: str) -> str:
    """The command that embeds a corpus anew, or the method for a program's own embedder."""
    is_configurable = ":" in embedder or embedder == OfflineEmbedder.name
    command = f"graphreader reindex --corpus {shlex.quote(corpus)}"
    return f"`{command if is_configurable else 'reader.reindex()'}`"


def unfinished_note(documents: int, titles: Sequence[str]) -> list[str]:
    """A note on documents of which only a part is in the graph, if there are any."""
    if not titles:
        return []
    shown = ", ".join(titles[:5]) + (", ..." if len(titles) > 5 else "")
    return [
        f"{len(titles)} of {documents} documents are not read completely ({shown}): the same "
        "`graphreader ingest` reads on."
    ]


def check_chunks(settings: Settings) -> None:
    """Raise SettingsError, with the numbers, if chunks are too large for a model's window."""
    prompts = Prompts(settings.prompts)
    for encoding in _encodings(settings):
        check_chunk_fits(settings.chunk_tokens, settings.window, prompts=prompts, encoding=encoding)


def check_chunk_fits(
    chunk_tokens: int, window: int, *, prompts: Prompts, encoding: str = tokens.DEFAULT
) -> None:
    """Raise SettingsError, with the numbers, if a chunk leaves no room for a question."""
    room = room_for_question(chunk_tokens, window, prompts=prompts, encoding=encoding)
    lacking = LEAST_QUESTION - room
    if lacking <= 0:
        return
    other = window - room - chunk_tokens + LEAST_QUESTION
    largest = chunk_tokens - lacking
    smaller = f"GRAPHREADER_CHUNK_TOKENS to at most {largest:,} or "
    raise SettingsError(
        f"A chunk (GRAPHREADER_CHUNK_TOKENS, {chunk_tokens:,}) and what goes along with it "
        f"({other:,} tokens) do not fit into the model's window (GRAPHREADER_WINDOW, "
        f"{window:,}): set {smaller if largest >= _SMALLEST_CHUNK else ''}GRAPHREADER_WINDOW to at "
        f"least {window + lacking:,}."
    )


def room_for_question(
    chunk_tokens: int, window: int, *, prompts: Prompts, encoding: str = tokens.DEFAULT
) -> int:
    """Tokens that the largest prompt of a path leaves for its question; negative if none."""
    bare = ChunkTask("", "", ("",) * 99, "", "", "", "", ("",) * 99).keeping(0)
    forms: tuple[ReplyForm, ...] = get_args(ReplyForm)
    largest = max(render_prompt(bare, form, prompts, encoding).tokens for form in forms)
    seams = _TOKENS_A_SEAM * len(bare.values())
    return window - (largest + seams + chunk_tokens + NOTEBOOK_TOKENS + PLAN_TOKENS + LABEL_TOKENS)


def _encodings(settings: Settings) -> Iterator[str]:
    models = {settings.model_for("extract"), settings.model_for("explore")} - {OFFLINE}
    yield from sorted({tokens.encoding_for(model) for model in models})
