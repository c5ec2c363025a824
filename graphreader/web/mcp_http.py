"""MCP over streamable HTTP: the tools of `graphreader mcp` for each corpus, at /mcp/CORPUS."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any, cast

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from graphreader.agent.events import Event
from graphreader.mcp_server import Stream, mcp_server
from graphreader.runs import RunRequest
from graphreader.web.access import Token
from graphreader.web.problems import NO_CORPUS, detail_of, problem
from graphreader.web.services import Services, corpus_of_run, services

MOST_SERVERS = 100  # corpora served at once


class McpServers:
    """An ASGI application with an MCP server for each corpus, started at its first request.

    There are no sessions: each request has its token, and a restart ends nothing.
    """

    def __init__(self, corpus: str) -> None:
        self._default = corpus
        self._servers: dict[str, tuple[ASGIApp, asyncio.Task[None]]] = {}
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the MCP server of the corpus in its path."""
        request = Request(scope, receive)
        corpus = request.path_params.get("corpus", self._default)
        if not request.state.token.sees(corpus):
            return await problem(HTTPStatus.NOT_FOUND, NO_CORPUS)(scope, receive, send)
        async with self._lock:
            if corpus not in self._servers and len(self._servers) >= MOST_SERVERS:
                await self._end(next(iter(self._servers)))
            if corpus not in self._servers:
                self._servers[corpus] = await self._begin(await services(request), corpus)
            app, _ = self._servers[corpus]
        await app({**scope, "path": "/", "raw_path": b"/", "root_path": ""}, receive, send)

    async def aclose(self) -> None:
        """Stop all MCP servers."""
        for corpus in list(self._servers):
            await self._end(corpus)

    async def _begin(self, services: Services, corpus: str) -> tuple[ASGIApp, asyncio.Task[None]]:
        server = mcp_server(
            services.reader.at(corpus),
            _asking(services, corpus),
            detail_of,
            lambda context: services.runs.quota_of(_token_of(context)),
        )
        app = server.streamable_http_app(
            streamable_http_path="/",
            stateless_http=True,
            # `Protection` has already checked host and origin.
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


def _token_of(context: Context[Any]) -> Token:
    """The token of the request in which a tool is called."""
    token: Token = cast(Request, context.request_context.request).state.token
    return token


def _asking(services: Services, corpus: str) -> Stream:
    """Return a function that asks questions as runs of the request's token, with its limits."""

    async def stream(asked: RunRequest, context: Context[Any]) -> AsyncGenerator[Event]:
        token = _token_of(context)
        if asked.follow is not None:
            await corpus_of_run(services, token, asked.follow)
        events = asyncio.Queue[Event | None]()
        asked = replace(asked, corpus=corpus)
        live = await services.runs.begin(token, asked, on_event=events.put_nowait)
        assert live.task
        live.task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while event := await events.get():
                yield event
            await live.result()  # raises the run's error
        finally:
            if live.reading is None:  # the client has cancelled the call
                await services.runs.stop(live.run)

    return stream
