"""What a reader holds open: the database, the deciders, the embedder and the kept runs.

Each is opened when it is first needed, all in the process's event loop (`graphreader.sync`).
"""

import asyncio
from contextlib import AsyncExitStack, suppress

from langgraph.checkpoint.base import BaseCheckpointSaver

from graphreader.agent.checkpoints import Saver
from graphreader.agent.dependencies import AgentDependencies, Limits, QueryVectors
from graphreader.agent.graph import NodeSet
from graphreader.agent.limits import check_chunks, check_question
from graphreader.agent.run_store import RunStore
from graphreader.agent.tasks import AnswerTask
from graphreader.errors import RunsError, UnknownRunError, UsageError
from graphreader.llm.protocols import Budget, Decider, Embedder
from graphreader.llm.window import BuildingMeasurer, Measurer
from graphreader.models import ModelRegistry, open_decider, open_embedder
from graphreader.settings import Mode, Settings
from graphreader.store import schema
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection, open_connection
from graphreader.store.embedded.process import Progress
from graphreader.store.explorer import GraphExplorer


class Resources:
    """The connections of one reader, and of all readers made from it by `GraphReader.at`.

    A `decider`, `embedder` or `checkpointer` that is passed in is used as it is and never closed
    here.
    """

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
        self._passed_in = decider, embedder
        self._decider = self._building_decider = decider
        self._embedder = embedder
        self._progress = progress
        self._connection: Connection | None = None
        self._lost_connection: Connection | None = None
        self._checkpointer = _check_asynchronous(checkpointer)
        self._models: ModelRegistry | None = None
        self._run_store: RunStore | None = None
        self._schema_ready = False
        self._lock = asyncio.Lock()

    async def connection(self) -> Connection:
        """The connection to the database.

        One that was lost is opened anew, and an embedded server is started again. What still uses
        the lost one may go on with it until the next one is lost as well.
        """
        async with self._lock:
            if self._connection and self._connection.gone:
                older, self._lost_connection = self._lost_connection, self._connection
                self._connection = None
                if older:
                    await older.aclose()
            if self._connection is None:
                connection = await open_connection(self.settings, self._progress)
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
            await schema.prepare(await self.connection(), self.embedder().dimension)
            self._schema_ready = True

    @property
    def models(self) -> ModelRegistry:
        """The deciders of other readers of the same texts, which have windows of their own."""
        self._models = self._models or ModelRegistry(self.settings, *self._passed_in)
        return self._models

    def decider(self) -> Decider:
        """The decider that explores and answers."""
        self._decider = self._decider or open_decider(self.settings, "ask")
        return self._decider

    def building_decider(self) -> Decider:
        """The decider that extracts facts while texts are ingested."""
        self._building_decider = self._building_decider or open_decider(self.settings, "build")
        return self._building_decider

    @property
    def building_decider_name(self) -> str:
        """The name of the decider that extracts facts; no model is opened for it."""
        if self._building_decider:
            return self._building_decider.name
        return self.settings.model_for("extract")

    def embedder(self) -> Embedder:
        """The embedder that turns texts into vectors."""
        self._embedder = self._embedder or open_embedder(self.settings)
        return self._embedder

    def measurer(self) -> Measurer:
        """Tells the size of prompts; no model is opened for it."""
        return self._passed_in[0] or BuildingMeasurer.of(self.settings)

    def check_question(self, question: str, largest_chunk: int) -> None:
        """Raise UsageError if the question does not fit beside the corpus's largest chunk."""
        if self._passed_in[0] is None:
            check_question(self.settings, question, largest_chunk)

    @property
    def run_store(self) -> RunStore | None:
        """The store of kept runs; None if none are to be kept."""
        if self._run_store is None and self.settings.kept_runs:
            self._run_store = RunStore(self.settings.home / "runs.sqlite")
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

    async def agent(self, corpus: str, mode: Mode | None = None) -> AgentDependencies:
        """What the agent works with on one corpus, in the mode of the settings or another one."""
        settings = self.settings
        if mode:
            settings = settings.model_copy(update={"mode": mode})
        return AgentDependencies(
            GraphExplorer(await self.connection(), corpus),
            self.decider(),
            QueryVectors(self.embedder()),
            Limits(settings.paths, settings.path_calls, settings.window),
            Budget(
                settings.max_calls, settings.max_tokens, settings.window + AnswerTask.reply_tokens
            ),
        )

    async def aclose(self) -> None:
        """Close what was opened here. What is needed later is opened anew."""
        opened = [
            self._lost_connection,
            self._connection,
            self._models,
            *(
                one
                for one in (self._building_decider, self._decider, self._embedder)
                if one not in self._passed_in
            ),
            self._run_store,
        ]
        self._lost_connection = self._connection = self._models = self._run_store = None
        self._decider, self._embedder = self._passed_in
        self._building_decider = self._decider
        self._schema_ready = False
        async with AsyncExitStack() as stack:
            for one in opened:
                if one:
                    stack.push_async_callback(one.aclose)


def _check_asynchronous(saver: Saver | None) -> Saver | None:
    """Return the saver if it has asynchronous methods. Raises UsageError."""
    if saver is not None and type(saver).aput is BaseCheckpointSaver.aput:
        raise UsageError(
            f"{type(saver).__name__} has only synchronous methods: give GraphReader the "
            "asynchronous saver of the same package."
        )
    return saver
