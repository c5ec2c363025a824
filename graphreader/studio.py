"""The graphs that LangGraph Studio shows (`langgraph.json`).

`graphreader` asks, `ingest` reads in, `read_agent` asks ReadAgent about the same texts.

The server calls a factory for every run, every schema and every drawing, and uses several event
loops. So a graph is built once, and equal choices share one reader, whatever corpus they name. It
is opened when first needed and works in a loop of its own.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from threading import Lock, Thread
from typing import Annotated, Any, Self, TypeAlias, TypeVar

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
from pydantic_core import ErrorDetails

from graphreader.agent.state import Answered, Question, Run
from graphreader.baselines.read_agent.graph import Agent as ReadAgent
from graphreader.errors import SettingsError
from graphreader.graph_reader import GraphReader
from graphreader.graphs import Home, agent_graph
from graphreader.ingest_graph import Ingested, Sources, ingest_graph
from graphreader.read_agent_graph import read_agent_graph
from graphreader.settings import Mode, Settings, load_environment

Open = SkipJsonSchema[None]
"""Left open. A form shows the field as if there were no such case."""

KEPT = 16
"""Readers that are open at most: more than the server takes steps at once."""

OF_THE_SERVER = re.compile(
    r"_.*|lang(graph|smith)[_-].*|x-.*|(thread|run|assistant|graph|cron|user)_id|checkpoint_.*"
)
"""What the server, or a client that still speaks of `configurable`, may put among the choices."""


class Chosen(BaseModel):
    """What can be chosen for a run; what is left open, the settings of the server decide."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    corpus: str = Field("default", description="The corpus that is asked, or read into.")
    model: str | Open = Field(
        None,
        description="The model, as provider:model, or offline for none. "
        "Left open: GRAPHREADER_MODEL, else OpenAI's with a key, else offline.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _told_in_words(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Raise SettingsError where a value makes no sense; a form may send a field left empty."""
        if isinstance(given, Mapping):
            given = {
                name: value
                for name, value in given.items()
                if value not in (None, "") and not OF_THE_SERVER.fullmatch(name)
            }
        try:
            return handler(given)
        except ValidationError as error:
            raise SettingsError(_sentence(error, cls)) from None

    def of_settings(self) -> Mapping[str, object]:
        """The choices that take the place of settings."""
        own = {"corpus", "step_by_step", "reader"}
        return self.model_dump(exclude=own, exclude_none=True)


class Choices(Chosen):
    """Those for GraphReader, and for reading in."""

    mode: Mode | Open = Field(
        None,
        description="paper: 5 paths of at most 10 calls; fast: 2 paths of at most 5 calls. "
        "Left open: GRAPHREADER_MODE, else paper.",
    )
    initial_nodes: Annotated[int, Field(ge=1, le=50)] | Open = Field(
        None,
        description="Initial nodes, each with a path of its own (the paper's N). "
        "Left open: GRAPHREADER_INITIAL_NODES, else as the mode says.",
    )
    calls: Annotated[int, Field(ge=1, le=100)] | Open = Field(
        None,
        description="Function calls of one path at most. "
        "Left open: GRAPHREADER_CALLS, else as the mode says.",
    )
    window: Annotated[int, Field(ge=1024)] | Open = Field(
        None,
        description="Tokens of one prompt at most. Left open: GRAPHREADER_WINDOW, else 4096.",
    )
    step_by_step: bool = Field(
        False,
        description="Stop before each step of the paths, so that a notebook can be looked at and "
        "edited. Go on without an input.",
    )


class ReadAgentChoices(Chosen):
    """Those for ReadAgent."""

    reader: str = Field(
        "read-agent-s",
        description="read-agent-s looks up pages one by one, read-agent-p at once, gistmem none; "
        "read-agent-s-3 looks up 3 pages at most.",
    )
    long_window: Annotated[int, Field(ge=1024)] | Open = Field(
        None,
        description="Tokens of one prompt at most. Left open: GRAPHREADER_LONG_WINDOW, else "
        "128000.",
    )


Agent: TypeAlias = CompiledStateGraph[Run, Choices, Question, Answered]
Builder: TypeAlias = CompiledStateGraph[Ingested, Choices, Sources, Ingested]
C = TypeVar("C", bound=Chosen)


def graphreader(runtime: ServerRuntime[Any]) -> Agent:
    """The agent: a question is explored and answered."""
    return _agent(_chosen(runtime, Choices).step_by_step)


def ingest(runtime: ServerRuntime[Any]) -> Builder:
    """Reading in: what it would cost, the reading, the comparing of key elements."""
    _chosen(runtime, Choices)
    return _builder()


def read_agent(runtime: ServerRuntime[Any]) -> ReadAgent:
    """ReadAgent: pages, gists, pages looked up, an answer."""
    _chosen(runtime, ReadAgentChoices)
    return _read_agent()


def _chosen(runtime: ServerRuntime[Any], choices: type[C]) -> C:
    """The choices of a run. A run itself is given what it knows of them, and no other name."""
    run = runtime.execution_runtime
    return choices.model_validate((run and run.context) or {})


@cache
def _agent(step_by_step: bool) -> Agent:
    return agent_graph(_home, Choices, step_by_step=step_by_step)


@cache
def _builder() -> Builder:
    return ingest_graph(_reader, Choices)


@cache
def _read_agent() -> ReadAgent:
    return read_agent_graph(_home_and_reader, ReadAgentChoices)


async def _home_and_reader(runtime: Runtime[ReadAgentChoices]) -> tuple[Home, str]:
    choices = runtime.context or ReadAgentChoices()
    return (await _opened_for(choices)).home, choices.reader


async def _home(runtime: Runtime[Choices]) -> Home:
    return (await _reader(runtime)).home


async def _reader(runtime: Runtime[Choices]) -> GraphReader:
    return await _opened_for(runtime.context or Choices())


async def _opened_for(choices: Chosen) -> GraphReader:
    """Whoever does what was chosen. To open one reads files, so it is done in a thread."""
    return await asyncio.to_thread(_READERS.of, choices)


class _Readers:
    """The readers that are open, in the order in which they were used."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._readers: OrderedDict[frozenset[tuple[str, object]], GraphReader] = OrderedDict()

    def of(self, choices: Chosen) -> GraphReader:
        """The reader of these choices, at their corpus; the one unused for longest is closed."""
        chosen = choices.of_settings()
        key = frozenset(chosen.items())
        with self._lock:
            reader = self._readers.pop(key, None) or _opened(chosen)
            self._readers[key] = reader
            if len(self._readers) > KEPT:
                _, unused = self._readers.popitem(last=False)
                Thread(target=unused.close, daemon=True).start()
        return reader.at(choices.corpus)


_READERS = _Readers()


def _opened(chosen: Mapping[str, object]) -> GraphReader:
    load_environment()
    return GraphReader(settings=Settings.read(**chosen))


def _sentence(error: ValidationError, choices: type[Chosen]) -> str:
    wrong = [one for one in error.errors(include_url=False) if one["type"] != "none_required"]
    if not all(one["loc"] for one in wrong):
        return "The choices are an object of names and values: give one."
    told = [f"{one['loc'][0]}: {_fault(one, choices)}" for one in wrong]
    return f"A choice makes no sense. {'; '.join(told)}."


def _fault(one: ErrorDetails, choices: type[Chosen]) -> str:
    if one["type"] == "extra_forbidden":
        return f"there is no such choice, only {', '.join(choices.model_fields)}"
    return one["msg"]
