"""The FastAPI application of `graphreader serve`: pages, HTTP interface, MCP, health, metrics."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from socket import socket
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sse_starlette.sse import AppStatus
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphreader.errors import GraphReaderError
from graphreader.graph_reader import GraphReader
from graphreader.web import chat_completions, corpora, page_routes, previews, questions, run_page
from graphreader.web.access import NotAllowedError, TokenStore
from graphreader.web.connections import ClientConnection
from graphreader.web.jobs import Jobs
from graphreader.web.live_runs import LiveRuns
from graphreader.web.mcp_http import McpServers
from graphreader.web.problems import add_handlers, problem
from graphreader.web.protection import LOOPBACK, Protection
from graphreader.web.services import Services

logger = logging.getLogger("graphreader.web")
DESCRIPTION = """
Ask questions about texts far larger than a model's window, with citations.

Errors are problem details (RFC 9457). Lists have `skip`, `limit` and a `total`. Where tokens are
used, a request brings one: `Authorization: Bearer TOKEN`.
"""


MOST_BODY = 4 << 20  # bytes of a request other than an upload
READY_SECONDS = 2.0  # for Neo4j to answer

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of the server: addresses and access; with `tokens` each request needs a token."""

    tokens: bool = False
    hosts: Collection[str] = ()
    root_path: str = ""
    corpus: str = "default"  # of /mcp


def create_app(reader: GraphReader, options: ServeOptions) -> FastAPI:
    """Create the application for a reader, which the application closes at its end.

    It must run in GraphReader's own event loop (`sync`).
    """
    settings = reader.resources.settings
    tokens = TokenStore(settings.database_of("tokens")) if options.tokens else None
    metrics, mcp = Metrics(), McpServers(options.corpus)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(reader.aclose)
            if tokens:
                stack.callback(tokens.close)
            runs = LiveRuns(reader.resources, tokens)
            jobs = Jobs(reader, tokens)
            jobs.start()
            app.state.sizes, app.state.metrics = {}, metrics
            app.state.services = Services(reader, reader.resources, tokens, runs, jobs)
            stack.push_async_callback(app.state.services.stop)
            stack.push_async_callback(mcp.aclose)
            metrics.questions.set_function(lambda: runs.running)
            yield

    app = FastAPI(
        title="GraphReader",
        version=version("graphreader-agent"),
        description=DESCRIPTION,
        lifespan=lifespan,
        root_path=options.root_path,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        max_body_size=MOST_BODY,
        redirect_slashes=False,  # it would redirect to any host that the request names
        middleware=[
            Middleware(metrics.middleware),
            Middleware(
                Protection,
                tokens=tokens,
                hosts=None if tokens else {*LOOPBACK, *options.hosts},
                static=("/static/",),
            ),
        ],
    )
    add_handlers(app, page_routes.refusal)
    for routes in (corpora, previews, questions, chat_completions, page_routes, run_page):
        app.include_router(routes.router)

    app.router.routes += [Route("/mcp", mcp), Route("/mcp/{corpus}", mcp)]
    app.include_router(router)
    return app


router = APIRouter(tags=["service"])


@router.get("/healthz")
async def healthy() -> dict[str, str]:
    """Whether the process answers."""
    return {"status": "ok"}


@router.get("/readyz")
async def ready(request: Request) -> Response:
    """Whether Neo4j answers."""
    services: Services = request.app.state.services
    with suppress(TimeoutError, GraphReaderError):
        async with asyncio.timeout(READY_SECONDS):
            connection = await services.resources.connection()
            await connection.read("schema/server")
            return JSONResponse({"status": "ok"})
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, "Neo4j does not answer yet: try again soon.")


@router.get("/metrics", response_class=PlainTextResponse)
async def measured(request: Request) -> Response:
    """Metrics of this process for Prometheus; with tokens an admin's token is needed."""
    if request.state.token.role != "admin":
        raise NotAllowedError("An admin's token is needed.")
    metrics: Metrics = request.app.state.metrics
    return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4")


def make_server(
    reader: GraphReader, options: ServeOptions, *, proxies: Sequence[str] = (), grace: int = 10
) -> uvicorn.Server:
    """Create the server of the application; connections have `grace` seconds to end.

    The X-Forwarded headers of requests from the addresses or networks `proxies` are believed.
    """
    config = uvicorn.Config(
        create_app(reader, options),
        http=ClientConnection,  # by h11: strict, and independent of what is installed
        log_config=None,
        log_level="warning",
        access_log=False,
        ws="none",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        server_header=False,
        timeout_graceful_shutdown=grace,
    )
    return WebServer(config)


class WebServer(uvicorn.Server):
    """A uvicorn server that first ends runs and jobs, then waits for their watchers to leave."""

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Stop the services and then the server."""
        app: Any = self.config.app
        await app.state.services.stop()
        AppStatus.should_exit = True  # other streams end within half a second
        try:
            await super().shutdown(sockets)
        finally:
            AppStatus.should_exit = False


class Metrics:
    """Metrics for Prometheus: requests by route and status, their duration, running questions.

    Requests are logged as well, without user content.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "graphreader_requests",
            "Requests",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "graphreader_request_seconds", "Until the last byte", ["route"], registry=self.registry
        )
        self.questions = Gauge(
            "graphreader_questions_under_way", "Questions under way", registry=self.registry
        )

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """Wrap an application so that requests are counted and logged."""

        async def counting(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return await app(scope, receive, send)
            status = [0]

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status[0] = message["status"]
                await send(message)

            began = asyncio.get_running_loop().time()
            try:
                await app(scope, receive, sending)
            finally:
                values = {
                    "method": scope["method"] if scope["method"] in _METHODS else "other",
                    "route": getattr(scope.get("route"), "path", "other"),
                    "status": status[0],
                }
                seconds = asyncio.get_running_loop().time() - began
                self._requests.labels(*map(str, values.values())).inc()
                self._seconds.labels(values["route"]).observe(seconds)
                token = scope.get("state", {}).get("token")
                values |= {"seconds": round(seconds, 3), "token": token.name if token else ""}
                logger.info("%(method)s %(route)s: %(status)s", values, extra=values)

        return counting
