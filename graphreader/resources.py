"""What a reader holds open: the database, the decider, the embedder. Opened when first needed."""

import asyncio
from contextlib import AsyncExitStack, suppress

from langgraph.checkpoint.base import BaseCheckpointSaver

from graphreader.agent.dependencies import AgentDependencies, Limits, QueryVectors
from graphreader.agent.graph import NodeSet
from graphreader.agent.limits import check_chunks, check_question
from graphreader.agent.run_store import Checkpoints, RunFile, RunRegistry
from graphreader.agent.runs import Saver
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

LONGEST_NAME = 200


def check_corpus_name(corpus: str) -> str:
    """The name of a corpus, if it is one that can be stored, shown and typed.

    Raises UsageError.
    """
    if not corpus.strip():
        raise UsageError("A corpus needs a name: leave it out for `default`.")
    if len(corpus) > LONGEST_NAME or not corpus.isprintable():
        raise UsageError(
            f"A corpus's name has at most {LONGEST_NAME} characters, all of them printable: choose "
            "another."
        )
    return corpus


class Resources:
    """Opens what is configured, each thing once, and closes it. All in one event loop."""

    def __init__(
        self,
        settings: Settings,
        decider: Decider | None = None,
        embedder: Embedder | None = None,
        progress: Progress | None = None,
        checkpointer: Saver | None = None,
        steps: NodeSet | None = None,
    ) -> None:
        self.settings = settings
        self.steps = steps
        if decider is None:
            check_chunks(settings)
        self._given = decider, embedder
        self._decider = decider
        self._builder = decider
        self._embedder = embedder
        self._progress = progress
        self._connection: Connection | None = None
        self._lost: Connection | None = None
        self._checkpointer = _asynchronous(checkpointer)
        self._minds: ModelRegistry | None = None
        self._register: RunRegistry | None = None
        self._steps: Checkpoints | None = None
        self._prepared = False
        self._lock: asyncio.Lock | None = None

    async def connection(self) -> Connection:
        """The database: all that is needed to look at what there is.

        One that was gone is opened anew, an embedded server is started again. What still uses the
        old connection may go on with it, until the next one is lost as well.
        """
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            if self._connection and self._connection.gone:
                lost, self._lost, self._connection = self._lost, self._connection, None
                if lost:
                    await lost.aclose()
            if self._connection is None:
                connection = await open_connection(self.settings, self._progress)
                try:
                    await schema.check(connection)
                except BaseException:
                    await connection.aclose()
                    raise
                self._connection = connection
            return self._connection

    async def library(self, corpus: str) -> Catalog:
        """What the database holds, if that corpus is in it. Raises UnknownCorpusError."""
        library = Catalog(await self.connection())
        await library.corpus(corpus)
        return library

    @property
    def minds(self) -> ModelRegistry:
        """Who decides for other readers of the same texts, which have windows of their own."""
        self._minds = self._minds or ModelRegistry(self.settings, *self._given)
        return self._minds

    def builder(self) -> Decider:
        """Whoever takes the decisions while texts are read in."""
        self._builder = self._builder or open_decider(self.settings, "build")
        return self._builder

    def decider(self) -> Decider:
        """Whoever takes the decisions while a question is explored and answered."""
        self._decider = self._decider or open_decider(self.settings, "ask")
        return self._decider

    def measurer(self) -> Measurer:
        """Whoever knows how large the prompts will be; no client is opened for it."""
        return self._given[0] or BuildingMeasurer.of(self.settings)

    @property
    def builder_name(self) -> str:
        """Who reads texts in; nothing is opened to know it."""
        return self._builder.name if self._builder else self.settings.model_for("extract")

    def embedder(self) -> Embedder:
        """Whoever makes the vectors."""
        self._embedder = self._embedder or open_embedder(self.settings)
        return self._embedder

    async def prepare(self) -> None:
        """Make the schema where it is missing; look only once."""
        if not self._prepared:
            await schema.prepare(await self.connection(), self.embedder().dimension)
            self._prepared = True

    def check_question(self, question: str, largest_chunk: int) -> None:
        """Raise UsageError where the question, or the corpus, does not fit into the window."""
        if self._given[0] is None:
            check_question(self.settings, question, largest_chunk)

    @property
    def register(self) -> RunRegistry | None:
        """The runs that are kept; None where none are to be."""
        if self._register is None and self.settings.kept_runs:
            self._register = RunRegistry(RunFile(self.settings.home / "runs.sqlite"))
        return self._register

    @property
    def kept(self) -> RunRegistry:
        """The same for whoever needs them. Raises UnknownRunError where none are kept."""
        if self.register is None:
            raise UnknownRunError("No runs are kept: set GRAPHREADER_KEPT_RUNS to more than 0.")
        return self.register

    async def saver(self) -> Saver | None:
        """Where LangGraph keeps the steps of runs, if anywhere."""
        if self._checkpointer or not self.register:
            return self._checkpointer
        if self._steps is None or not self._steps.usable:
            self._steps = None
            with suppress(RunsError):  # the register tells it
                self._steps = await Checkpoints.of(self.register.file)
        return self._steps

    async def parts(self, corpus: str, mode: Mode | None = None) -> AgentDependencies:
        """What the agent needs to explore one corpus; another mode than that of the settings."""
        given = self.settings
        if mode:
            given = given.model_copy(update={"mode": mode})
        limits = Limits(given.paths, given.path_calls, given.window)
        budget = Budget(given.max_calls, given.max_tokens, given.window + AnswerTask.reply_tokens)
        explorer = GraphExplorer(await self.connection(), corpus)
        return AgentDependencies(
            explorer, self.decider(), QueryVectors(self.embedder()), limits, budget
        )

    async def aclose(self) -> None:
        """Close what was opened here, not what was given. What is needed later is opened anew."""
        connections = (self._lost, self._connection)
        self._lost = self._connection = None
        held = (self._builder, self._decider, self._embedder)
        opened = [one for one in held if one not in self._given]
        self._decider, self._embedder = self._given
        self._builder = self._decider
        self._prepared, self._lock = False, None
        minds, self._minds = self._minds, None
        register, self._register, self._steps = self._register, None, None
        async with AsyncExitStack() as closing:
            if register:
                closing.push_async_callback(register.aclose)
            for one in (*connections, *opened, minds):
                if one:
                    closing.push_async_callback(one.aclose)


def _asynchronous(saver: Saver | None) -> Saver | None:
    """The saver, if it can be used in an event loop. Raises UsageError."""
    if saver is not None and type(saver).aput is BaseCheckpointSaver.aput:
        raise UsageError(
            f"{type(saver).__name__} has only synchronous methods: give GraphReader the "
            "asynchronous saver of the same package."
        )
    return saver
