"""A way to a server on loopback that can be cut and mended: what a driver sees of an outage."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self
from urllib.parse import urlsplit

from graphreader.settings import Settings
from tests.runs.loopback import event_loop, run


class Relay:
    """Passes bytes between clients and the Neo4j of some settings.

    While it is cut, connections are gone and new ones are refused.
    """

    def __init__(self, settings: Settings) -> None:
        there = urlsplit(settings.neo4j_uri or "")
        self._there = there.hostname, there.port
        self._settings = settings
        self._port = 0
        self._passing: int | None = None
        self._away = 0.0
        self._flows = asyncio.Event()
        self._clients: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None

    @property
    def settings(self) -> Settings:
        """The same settings, but on this way."""
        there = {"neo4j_uri": f"bolt://127.0.0.1:{self._port}"}
        return self._settings.model_copy(update=there)

    def __enter__(self) -> Self:
        self._flows.set()
        run(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def cut(self) -> None:
        """Nobody gets through any more."""
        run(self._close())

    def mend(self) -> None:
        """As before, at the same address."""
        run(self._open())

    def cut_for(self, seconds: float) -> None:
        """Cut now; it mends itself after some time, while the caller goes on."""
        self.cut()
        event_loop().call_soon_threadsafe(self._open_after, seconds)

    def stall_for(self, seconds: float) -> None:
        """Pass nothing on for some time, as a server that is frozen; connections stay."""
        loop = event_loop()
        loop.call_soon_threadsafe(self._flows.clear)
        loop.call_soon_threadsafe(loop.call_later, seconds, self._flows.set)

    def cut_after(self, messages: int, seconds: float) -> None:
        """Cut, for some time, when so many more messages of clients have passed: the next is lost.

        Clients send what belongs together at once; that counts as one.
        """
        self._passing, self._away = messages, seconds

    def _watched(self, data: bytes) -> bytes:
        """What a client sends on."""
        if self._passing is None:
            return data
        self._passing -= 1
        if self._passing >= 0:
            return data
        self._passing = None
        event_loop().create_task(self._close())
        self._open_after(self._away)
        return b""

    def _open_after(self, seconds: float) -> None:
        loop = event_loop()
        loop.call_later(seconds, lambda: loop.create_task(self._open()))

    async def _open(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
            self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        server, self._server = self._server, None
        if server:
            server.close()
        for task in list(self._clients):
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._clients.add(task)
        with suppress(OSError, asyncio.CancelledError):
            back, forth = await asyncio.open_connection(*self._there)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass(reader, forth, self._watched))
                    group.create_task(self._pass(back, writer))
            finally:
                forth.transport.abort()
        writer.transport.abort()
        self._clients.discard(task)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        change: Callable[[bytes], bytes] = bytes,
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._flows.wait()
                writer.write(change(data))
                await writer.drain()
            writer.close()
