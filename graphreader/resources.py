"""The open resources of a reader: the database, the deciders, the embedder and the kept runs.

This module also checks, before any cost, that chunks and questions fit the model's window.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from typing import get_args

from langgraph.checkpoint.base import BaseCheckpointSaver

from graphreader import tokens
from graphreader.agent.checkpoints import Saver
from graphreader.agent.dependencies import AgentDependencies, Limits, QueryVectors
from graphreader.agent.graph import NodeSet
from graphreader.agent.run_store import RunStore
from graphreader.agent.tasks import NOTEBOOK_TOKENS, PLAN_TOKENS, ChunkTask
from graphreader.errors import RunsError, SettingsError, UnknownRunError, UsageError
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Decider, Embedder
from graphreader.llm.structured_output import ReplyForm
from graphreader.llm.window import BuildingMeasurer, Measurer, render_prompt
from graphreader.models import ModelRegistry
from graphreader.settings import OFFLINE, Mode, Settings
from graphreader.store import schema
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection, open_connection
from graphreader.store.embedded.process import Progress
from graphreader.store.explorer import GraphExplorer

LEAST_QUESTION = 100  # tokens of a question that fit into every prompt
LABEL_TOKENS = 60  # tokens for the label of a chunk: a document's title and the chunk's number

_SMALLEST_CHUNK = 50  # tokens that the settings allow

# Two joined texts can have a token or two more than both counted separately.
_TOKENS_A_SEAM = 2


class Resources:
    """The connections of one reader, and of all readers made from it, opened at their first use.

    A `decider`, `embedder` or `checkpointer` that is passed in is never closed here.
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

    async def connection(self) -> Connection:
        """The connection to the database; a lost one is replaced.

        It is closed only when the next one is lost, since other tasks may still use it.
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

    def decider(self) -> Decider:
        """The decider that explores and answers."""
        return self.models.asker(self.settings.window)

    def building_decider(self) -> Decider:
        """The decider that extracts facts while texts are ingested."""
        return self.models.builder(self.settings.window)

    @property
    def building_decider_name(self) -> str:
        """The name of the decider that extracts facts; no model is opened for it."""
        return self._own_decider.name if self._own_decider else self.settings.model_for("extract")

    def embedder(self) -> Embedder:
        """The embedder that turns texts into vectors."""
        return self.models.embedder()

    def measurer(self) -> Measurer:
        """Tells the size of prompts; no model is opened for it."""
        return self._own_decider or BuildingMeasurer.of(self.settings)

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
        """The agent's dependencies for one corpus, in the mode of the settings or another one."""
        settings = self.settings
        if mode:
            settings = settings.model_copy(update={"mode": mode})
        return AgentDependencies(
            GraphExplorer(await self.connection(), corpus),
            self.decider(),
            QueryVectors(self.embedder()),
            Limits(settings.paths, settings.path_calls, settings.window),
            self.models.budget_of_steps(),
        )

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
    """Tokens that the largest prompt of a path leaves for its question; negative if none.

    That prompt shows a whole chunk, a full plan and a full notebook, in the largest reply form.
    """
    bare = ChunkTask("", "", ("",) * 99, "", "", "", "", ("",) * 99).keeping(0)
    forms: tuple[ReplyForm, ...] = get_args(ReplyForm)
    largest = max(render_prompt(bare, form, prompts, encoding).tokens for form in forms)
    seams = _TOKENS_A_SEAM * len(bare.values())
    return window - (largest + seams + chunk_tokens + NOTEBOOK_TOKENS + PLAN_TOKENS + LABEL_TOKENS)


def _encodings(settings: Settings) -> Iterator[str]:
    """The encodings of the models that are shown chunks."""
    models = {settings.model_for("extract"), settings.model_for("explore")} - {OFFLINE}
    yield from sorted({tokens.encoding_for(model) for model in models})
