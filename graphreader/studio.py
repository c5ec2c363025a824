"""The graphs for LangGraph Studio (`langgraph.json`): GraphReader's agent in both modes.

A graph is built once; runs with equal fields share a reader. The server has no authentication, so
requests from other sites (header `Origin`) and for other hosts (header `Host`, DNS rebinding) are
refused before any route.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from threading import Lock, Thread
from typing import Annotated, Any, Self, TypeAlias

from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph_sdk.runtime import ServerRuntime
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from graphreader.agent.context import RunContext
from graphreader.agent.modes import MODES, mode_named
from graphreader.agent.state import AgentInput, AgentOutput
from graphreader.errors import SettingsError
from graphreader.graph_reader import GraphReader
from graphreader.integrations.langgraph import agent_graph
from graphreader.preflight import prepare_run
from graphreader.settings import Settings, load_environment

Open = SkipJsonSchema[None]  # marks an optional field; hides None from the form

KEPT = 16  # largest number of open readers: more than the server runs nodes at once

OF_THE_SERVER = re.compile(
    r"_.*|lang(graph|smith)[_-].*|x-.*|(thread|run|assistant|graph|cron|user)_id|checkpoint_.*"
)
"""Pattern of names that the server, or a client with `configurable`, may add to the fields."""


class Choices(BaseModel):
    """The form fields of a run; the server's settings are the defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    corpus: str = Field("default", description="The corpus that is asked.")
    model: str | Open = Field(
        None,
        description="The model, as provider:model, or offline for none. "
        "Left open: GRAPHREADER_MODEL, else OpenAI's with a key, else offline.",
    )
    initial_nodes: Annotated[int, Field(ge=1, le=50)] | Open = Field(
        None,
        description="Initial nodes, each with a path of its own (the paper's N). "
        "Left open: GRAPHREADER_INITIAL_NODES, else 5.",
    )
    calls: Annotated[int, Field(ge=1, le=100)] | Open = Field(
        None,
        description="Function calls of one path, or turns, at most. "
        "Left open: GRAPHREADER_CALLS, else as the mode says.",
    )
    window: Annotated[int, Field(ge=1024)] | Open = Field(
        None, description="Tokens of one prompt at most. Left open: GRAPHREADER_WINDOW, else 4096."
    )
    step_by_step: bool = Field(
        False,
        description="Stop before each step of the paths, or each turn, so that a notebook can be "
        "looked at and edited. Go on without an input.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _as_settings_error(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Raise SettingsError for an invalid value; a form may send an empty field."""
        if isinstance(given, Mapping):
            given = {
                name: value
                for name, value in given.items()
                if value not in (None, "") and not OF_THE_SERVER.fullmatch(name)
            }
        try:
            return handler(given)
        except ValidationError as error:
            wrong = [one for one in error.errors() if one["type"] != "none_required"]
            faults = [f"{'.'.join(map(str, one['loc'][:1]))}: {one['msg']}" for one in wrong]
            raise SettingsError(
                f"A choice is invalid. {'; '.join(faults)}. "
                f"There are: {', '.join(Choices.model_fields)}."
            ) from None

    def of_settings(self) -> Mapping[str, object]:
        """The choices that override settings, by the settings' names."""
        return self.model_dump(exclude={"corpus", "step_by_step"}, exclude_none=True)


Agent: TypeAlias = CompiledStateGraph[Any, Choices, AgentInput, AgentOutput]


def _graph_of(mode: str) -> Callable[[ServerRuntime[Any]], Agent]:
    """Return the function that makes the graph of a mode for a run of the server."""

    def graph(runtime: ServerRuntime[Any]) -> Agent:
        return _agent(mode, _choices(runtime).step_by_step)

    return graph


# A function for each mode, which `langgraph.json` can name: `graphreader_paper`, ...
globals().update({f"graphreader_{mode}": _graph_of(mode) for mode in MODES})


def _choices(runtime: ServerRuntime[Any]) -> Choices:
    run = runtime.execution_runtime  # None while the server only reads the schema
    return Choices.model_validate((run and run.context) or {})


@cache
def _agent(mode: str, step_by_step: bool) -> Agent:
    context_of = partial(_context_of, mode)
    return agent_graph(context_of, Choices, mode=mode, step_by_step=step_by_step)


async def _context_of(mode: str, runtime: Runtime[Choices], question: str) -> RunContext:
    """Return the context of a run of the chosen reader, opened in a thread (it reads files)."""
    reader = await asyncio.to_thread(_READERS.of, runtime.context or Choices())
    return await prepare_run(reader.resources, reader.corpus, question, mode_named(mode))


class _Readers:
    """A cache of open readers, least recently used first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._readers: dict[frozenset[tuple[str, object]], GraphReader] = {}

    def of(self, choices: Choices) -> GraphReader:
        """Return the reader for these choices; close the least recently used of too many."""
        chosen = choices.of_settings()
        key = frozenset(chosen.items())
        with self._lock:
            reader = self._readers.pop(key, None)
            if reader is None:
                load_environment()
                reader = GraphReader(settings=Settings.read(**chosen))
            self._readers[key] = reader
            if len(self._readers) > KEPT:
                unused = self._readers.pop(next(iter(self._readers)))
                Thread(target=unused.close, daemon=True).start()
        return reader.at(choices.corpus)


_READERS = _Readers()


_LOOPBACK = r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?"
_HOST = re.compile(_LOOPBACK, re.IGNORECASE)
_PAGE = re.compile(rf"https?://{_LOOPBACK}|https://(?:eu\.)?smith\.langchain\.com")

_INSIDE = "/noauth"  # root path of the server's internal requests, which use no network


class LocalRequestsOnly:
    """ASGI middleware that answers 403 to requests from other sites or for other hosts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or refuse it."""
        checked = scope["type"] in ("http", "websocket") and scope.get("root_path") != _INSIDE
        refusal = _refusal(Headers(scope=scope)) if checked else None
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008, refusal)(scope, receive, send)  # answered with status 403
        else:
            await JSONResponse({"detail": refusal}, 403)(scope, receive, send)


def _refusal(headers: Headers) -> str | None:
    if not _HOST.fullmatch(headers.get("host", "")):
        return "This server is asked by this machine alone: call it 127.0.0.1 or localhost."
    if "origin" in headers and not _PAGE.fullmatch(headers["origin"]):
        return "This server is asked by LangGraph Studio and by pages of this machine alone."
    return None


app = Starlette(
    middleware=[
        Middleware(LocalRequestsOnly),
        # The server's own CORS rules allow a browser neither POST nor access to a private
        # network, which this machine is for a web page.
        Middleware(
            CORSMiddleware,
            allow_origin_regex=_PAGE.pattern,
            allow_methods=["*"],
            allow_headers=["*"],
            allow_private_network=True,
        ),
    ]
)
"""The application in `langgraph.json`, which checks requests before the server's routes."""
