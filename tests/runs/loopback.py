"""The base of the tests' HTTP servers: an ASGI application on a free port of loopback."""

import asyncio
import socket
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, Self

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    """The event loop of all servers of this process, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in the servers' event loop, and wait for its end."""
    asyncio.run_coroutine_threadsafe(work, event_loop()).result(10)


class Loopback:
    """Serves from entering to leaving; `answer` gives the response to a request.

    Where it gives None, the connection is closed without a response.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        # asyncio leaves Nagle's delay to sockets that it did not make.
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._port = self._listener.getsockname()[1]
        config = uvicorn.Config(self, lifespan="off", log_config=None, timeout_keep_alive=60)
        self._state = ServerState()
        self._protocol = lambda: H11Protocol(config, self._state, {})

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._port}"

    async def answer(self, request: Request) -> Response | None:
        raise NotImplementedError

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        if response := await self.answer(request):
            await response(scope, receive, send)
        else:
            await drop(request)

    def __enter__(self) -> Self:
        run(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        run(self._close())

    async def _open(self) -> None:
        self._server = await event_loop().create_server(self._protocol, sock=self._listener)

    async def _close(self) -> None:
        self._server.close()
        for connection in self._state.connections:
            connection.transport.abort()


async def hang_up(request: Request) -> None:
    """Wait until the client of a request closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def drop(request: Request) -> None:
    """Close the connection of a request, whatever of the response is still to come."""
    request.receive.__self__.transport.close()
    await hang_up(request)
