"""MCP over streamable HTTP: the tools of `graphreader mcp` for each corpus, at /mcp/CORPUS."""

import asyncio
from contextlib import suppress
from http import HTTPStatus

from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from graphreader.mcp_server import mcp_server
from graphreader.web.problems import NO_CORPUS, problem
from graphreader.web.services import services

MOST_SERVERS = 100  # corpora that are served at once
_SESSION_SECONDS = 1_800.0


class McpServers:
    """An ASGI application: the MCP server of the corpus in the path, begun at its first request."""

    def __init__(self, corpus: str) -> None:
        self._default = corpus
        self._servers: dict[str, tuple[ASGIApp, asyncio.Task[None]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to the server of its corpus."""
        request = Request(scope, receive)
        corpus = request.path_params.get("corpus", self._default)
        if not request.state.token.sees(corpus):
            return await problem(HTTPStatus.NOT_FOUND, NO_CORPUS)(scope, receive, send)
        if corpus not in self._servers and len(self._servers) >= MOST_SERVERS:
            await self._end(next(iter(self._servers)))
        if corpus not in self._servers:
            self._servers[corpus] = await self._begin(request, corpus)
        app, _ = self._servers[corpus]
        await app({**scope, "path": "/", "raw_path": b"/", "root_path": ""}, receive, send)

    async def aclose(self) -> None:
        """End all servers."""
        for corpus in list(self._servers):
            await self._end(corpus)

    async def _begin(self, request: Request, corpus: str) -> tuple[ASGIApp, asyncio.Task[None]]:
        server = mcp_server(services(request).reader.at(corpus))
        app = server.streamable_http_app(
            streamable_http_path="/",
            session_idle_timeout=_SESSION_SECONDS,
            # `Protection` has checked host and origin.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        began = asyncio.Event()

        async def serve() -> None:  # its task group must be entered and left in one task
            async with server.session_manager.run():
                began.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(serve())
        await began.wait()
        return app, task

    async def _end(self, corpus: str) -> None:
        _, task = self._servers.pop(corpus)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(task, return_exceptions=True)
