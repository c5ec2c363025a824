"""What a reader holds open: the database, the decider, the embedder. Opened when first needed."""

import asyncio

from graphreader.agent.parts import Limits, Parts
from graphreader.deciding.decider import Decider
from graphreader.deciding.embedder import Embedder
from graphreader.deciding.opening import open_decider, open_embedder
from graphreader.settings import Settings
from graphreader.store import schema
from graphreader.store.connection import Connection
from graphreader.store.embedded.progress import Progress
from graphreader.store.explorer import GraphExplorer
from graphreader.store.opening import open_connection


class Session:
    """Opens what is configured, each thing once, and closes it. All in one event loop."""

    def __init__(
        self,
        settings: Settings,
        decider: Decider | None = None,
        embedder: Embedder | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.settings = settings
        self._given = decider, embedder
        self._decider = decider
        self._embedder = embedder
        self._progress = progress
        self._connection: Connection | None = None
        self._prepared = False
        self._lock: asyncio.Lock | None = None

    async def connection(self) -> Connection:
        """The database: all that is needed to look at what there is."""
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            if self._connection is None:
                self._connection = await open_connection(self.settings, self._progress)
            return self._connection

    def decider(self) -> Decider:
        """Whoever takes the decisions."""
        self._decider = self._decider or open_decider(self.settings)
        return self._decider

    def embedder(self) -> Embedder:
        """Whoever makes the vectors."""
        self._embedder = self._embedder or open_embedder(self.settings)
        return self._embedder

    async def prepare(self) -> None:
        """Make the schema where it is missing; look only once."""
        if not self._prepared:
            await schema.prepare(await self.connection(), self.embedder().dimension)
            self._prepared = True

    async def parts(self, corpus: str) -> Parts:
        """What the agent needs to explore one corpus."""
        given = self.settings
        limits = Limits(given.initial_nodes, given.calls, given.window)
        explorer = GraphExplorer(await self.connection(), corpus)
        return Parts(explorer, self.decider(), self.embedder(), limits)

    async def aclose(self) -> None:
        """Close what is open. What is needed later is opened anew."""
        connection, self._connection = self._connection, None
        opened = self._decider, self._embedder
        self._decider, self._embedder = self._given
        self._prepared, self._lock = False, None
        for one in opened:
            if one:
                await one.aclose()
        if connection:
            await connection.aclose()
