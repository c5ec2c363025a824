"""The connections of a reader: to Neo4j, to the models, and to the store of kept runs."""

import asyncio
import logging
import shlex
from contextlib import AsyncExitStack, suppress

from langgraph.checkpoint.base import BaseCheckpointSaver

from graphreader.agent.context import QueryVectors
from graphreader.agent.graph import NodeSet
from graphreader.agent.modes import Saver
from graphreader.agent.run_store import RunStore
from graphreader.errors import (
    EmbeddingMismatchError,
    GraphReaderError,
    Neo4jForbiddenError,
    Neo4jUnavailableError,
    RunsError,
    SettingsError,
    UnknownRunError,
    UsageError,
)
from graphreader.ingestion.embedding import renew_terms
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.llm.protocols import Budget, Decider, Embedder
from graphreader.llm.window import BuildingMeasurer, Measurer
from graphreader.models import ModelRegistry
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.scope import EVERYTHING, Scope
from graphreader.settings import DEFAULT_MODEL, OFFLINE, Settings, variable
from graphreader.store import schema
from graphreader.store.catalog import Catalog, CorpusRecord
from graphreader.store.connection import Connection, open_connection
from graphreader.store.embedded.process import Progress
from graphreader.store.explorer import GraphExplorer
from graphreader.store.full_text import TERMS_VERSION

logger = logging.getLogger("graphreader")

RENEWAL_SECONDS = 5.0
"""The time for which a close waits until the words of small corpora are indexed anew."""

MOST_NUMBERS = 4_096  # of a vector in an index of Neo4j


class Resources:
    """The connections that a reader shares with readers made from it, opened at first use."""

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
        if checkpointer and type(checkpointer).aput is BaseCheckpointSaver.aput:
            raise UsageError(
                f"{type(checkpointer).__name__} has only synchronous methods: give GraphReader the "
                "asynchronous saver of the same package."
            )
        self.models = ModelRegistry(settings, decider, embedder)
        self._progress = progress
        self._connection: Connection | None = None
        self._lost_connection: Connection | None = None
        self._checkpointer = checkpointer
        self._run_store: RunStore | None = None
        self._schema_ready = False
        self._query_vectors: dict[tuple[str, int], QueryVectors] = {}
        self._renewals: dict[str, asyncio.Task[None]] = {}  # of the terms of corpora, by name
        self._lock = asyncio.Lock()
        self._failed = 0.0, ""

    async def connection(self) -> Connection:
        """The connection to Neo4j, which is replaced if it is lost.

        A lost connection, which other tasks may still use, is closed with the next loss. If no
        server answers, all tasks that waited for this attempt get its failure.
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

    async def explorer(self, corpus: str, scope: Scope = EVERYTHING) -> GraphExplorer:
        """The explorer of a corpus, or of a scope in it. Raises UnknownCorpusError, UsageError."""
        catalog = await self.catalog(corpus)
        documents = await catalog.in_scope(corpus, scope) if scope != EVERYTHING else None
        return GraphExplorer(await self.connection(), corpus, documents)

    async def normalizer(
        self, corpus: str, budget: Budget | None = None, *, undo: bool = False
    ) -> Normalizer:
        """The normalizer by the stages of the settings, or by none, which undoes all.

        With a budget it may ask the model about names, if that is one of the stages.
        """
        stages = () if undo else self.settings.stages
        decider = None
        if budget is not None and "names" in stages and self.models.builder_name != OFFLINE:
            decider = self.models.builder(self.settings.window)
        return Normalizer(await self.connection(), corpus, stages, decider, budget)

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
        """The embedder that made the vectors of a corpus; for a new corpus, the settings' embedder.

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

    def query_vectors(self, corpus: str, record: CorpusRecord) -> QueryVectors:
        """The vectors of queries by the embedder of a corpus. Raises EmbeddingMismatchError."""
        embedder = self.embedder_of(corpus, record)
        key = embedder.name, embedder.dimension
        return self._query_vectors.setdefault(key, QueryVectors(embedder))

    def renew_terms(self, connection: Connection, corpus: str, record: CorpusRecord) -> None:
        """Begin to index the words of a corpus of an earlier version anew, in the background.

        It is searched meanwhile. After a failure the next use tries again, unless this user may not
        write.
        """

        async def renew() -> None:
            try:
                await renew_terms(connection, corpus)
            except Neo4jForbiddenError as error:
                logger.debug("The words of %r are not indexed anew: %s", corpus, error)
            except GraphReaderError as error:
                logger.warning("The words of %r could not be indexed anew: %s", corpus, error)
                raise

        def ended(task: asyncio.Task[None]) -> None:
            is_done = not task.cancelled() and task.exception() is None
            if not is_done and self._renewals.get(corpus) is task:
                del self._renewals[corpus]

        if record.terms != TERMS_VERSION and corpus not in self._renewals:
            self._renewals[corpus] = asyncio.create_task(renew())
            self._renewals[corpus].add_done_callback(ended)

    def measurer_with_model(self) -> tuple[Measurer, Settings]:
        """Return a measurer of prompts and its settings, if need be with the default model."""
        if self.models.own_decider:
            return self.models.own_decider, self.settings
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

    async def aclose(self) -> None:
        """Close the resources opened here; a later use opens them again."""
        opened = [self._lost_connection, self._connection, self.models, self._run_store]
        self._lost_connection = self._connection = self._run_store = None
        self._query_vectors = {}
        self._schema_ready = False
        renewals, self._renewals = list(self._renewals.values()), {}
        async with AsyncExitStack() as stack:
            for one in opened:
                if one:
                    stack.push_async_callback(one.aclose)
            try:
                if renewals:
                    await asyncio.wait(renewals, timeout=RENEWAL_SECONDS)
            finally:
                for task in renewals:
                    task.cancel()
                await asyncio.gather(*renewals, return_exceptions=True)


def reindex_call(corpus: str, embedder: str) -> str:
    """The command, or with a program's own embedder the method, that reindexes a corpus."""
    is_configurable = ":" in embedder or embedder == OfflineEmbedder.name
    command = f"graphreader reindex --corpus {shlex.quote(corpus)}"
    return f"`{command if is_configurable else 'reader.reindex()'}`"
