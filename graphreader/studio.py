"""The graphs that LangGraph Studio shows (`langgraph.json`): `graphreader` asks, `ingest` reads in.

The server calls a factory for every run, every schema and every drawing, and uses several event
loops. So a graph is built once, and equal choices share one reader, which is opened when first
needed and works in a loop of its own.
"""

import asyncio
from collections.abc import Mapping
from functools import cache
from threading import Lock
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

from graphreader.agent.state import Answered, Question, Run
from graphreader.errors import SettingsError
from graphreader.graph_reader import GraphReader
from graphreader.graphs import Home, agent_graph
from graphreader.ingest_graph import Ingested, Sources, ingest_graph
from graphreader.settings import Mode, Settings, load_environment

Open = SkipJsonSchema[None]
"""Left open. A form shows the field as if there were no such case."""

_OPENING = Lock()


class Choices(BaseModel):
    """What can be chosen for a run; what is left open, the settings of the server decide."""

    model_config = ConfigDict(frozen=True)

    corpus: str = Field("default", description="The corpus that is asked, or read into.")
    model: str | Open = Field(
        None,
        description="The model, as provider:model, or offline for none. "
        "Left open: GRAPHREADER_MODEL, else OpenAI's with a key, else offline.",
    )
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

    @model_validator(mode="wrap")
    @classmethod
    def _told_in_words(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Raise SettingsError where a value makes no sense; a form may send a field left empty."""
        if isinstance(given, Mapping):
            given = {name: value for name, value in given.items() if value not in (None, "")}
        try:
            return handler(given)
        except ValidationError as error:
            raise SettingsError(_sentence(error)) from None


Agent: TypeAlias = CompiledStateGraph[Run, Choices, Question, Answered]


def graphreader(runtime: ServerRuntime[Any]) -> Agent:
    """The agent: a question is explored and answered."""
    run = runtime.execution_runtime
    return _agent(Choices.model_validate(run.context or {}).step_by_step if run else False)


@cache
def ingest() -> CompiledStateGraph[Ingested, Choices, Sources, Ingested]:
    """Reading in: what it would cost, the reading, the comparing of key elements."""
    return ingest_graph(_reader, Choices)


@cache
def _agent(step_by_step: bool) -> Agent:
    return agent_graph(_home, Choices, step_by_step=step_by_step)


async def _home(runtime: Runtime[Choices]) -> Home:
    return (await _reader(runtime)).home


async def _reader(runtime: Runtime[Choices]) -> GraphReader:
    """Whoever does what was chosen. To open one reads files, so it is done in a thread."""
    return await asyncio.to_thread(_reader_of, runtime.context or Choices())


def _reader_of(choices: Choices) -> GraphReader:
    with _OPENING:
        return _opened(**choices.model_dump(exclude={"step_by_step"}, exclude_none=True))


@cache
def _opened(corpus: str, **chosen: object) -> GraphReader:
    load_environment()
    return GraphReader(corpus, settings=Settings.read(**chosen))


def _sentence(error: ValidationError) -> str:
    wrong = [one for one in error.errors(include_url=False) if one["type"] != "none_required"]
    told = [f"{one['loc'][0]}: {one['msg']}" for one in wrong]
    return f"A choice makes no sense. {'; '.join(told)}."
