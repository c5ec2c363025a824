"""The agent as a graph of LangGraph that is run elsewhere: in another graph, in LangGraph Studio.

A reader's driver and clients belong to the reader's own event loop. So each step is taken there,
whatever loop runs the graph, with parts that are found when the run begins.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, replace
from typing import Any
from uuid import uuid4

from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from graphreader.agent import logbook
from graphreader.agent.events import Event, as_plain
from graphreader.agent.graph import Nodes, wired
from graphreader.agent.parts import Parts, Step, Update
from graphreader.agent.state import Answered, Question, Run, in_all
from graphreader.background import Background
from graphreader.preparing import asked, prepared
from graphreader.session import Session

REMEMBERED = 64
"""Runs whose parts are kept; one that goes on later gets new ones."""

FIRST = "rational_plan"


@dataclass(frozen=True, slots=True)
class Home:
    """Where the steps of a run are taken: in whose session and loop, and about which corpus."""

    session: Session
    background: Background
    corpus: str


Source = Callable[[Runtime[Any]], Awaitable[Home]]
"""Whose home it is, by what the run was given as its context."""


def agent_graph(
    source: Source, context_schema: type[Any] | None = None, *, step_by_step: bool = False
) -> CompiledStateGraph[Run, Any, Question, Answered]:
    """The agent's graph with its paper's steps; nothing is opened before the first of them.

    It keeps nothing itself: checkpoints are those of whoever runs it. What is told on the way goes
    to the custom stream as plain JSON types. Raises, in its first step, what an ask raises.
    `step_by_step`: the paths stop before each of their steps, until the run is gone on with.
    """
    steps = _Steps(source)
    return wired(
        Nodes(**{one.name: steps.named(one.name) for one in fields(Nodes)}),
        context_schema=context_schema,
        step_by_step=step_by_step,
    )


class _Steps:
    """The steps of all runs of one graph."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parts: OrderedDict[tuple[str, Home], Parts] = OrderedDict()

    def named(self, name: str) -> Step:
        """The step of that name, as LangGraph calls it."""

        async def step(state: dict[str, Any], runtime: Runtime[Any]) -> Update:
            home = await self._source(runtime)
            plain = runtime.override(stream_writer=_plainly(runtime))
            taken = self._begin(home, state, plain) if name == FIRST else None
            return await home.background.arun(taken or self._take(name, home, state, plain))

        return step

    async def _begin(self, home: Home, state: dict[str, Any], runtime: Runtime[Any]) -> Update:
        """The first step; whatever an earlier question left in the state goes."""
        question = asked(state["question"])
        parts, told = await prepared(home.session, home.corpus, question)
        run = uuid4().hex
        parts = self._remembered((run, home), parts)
        logbook.began(run, question, parts)
        update = await Nodes.of(parts).rational_plan({**state, "question": question}, runtime)
        return {
            **update,
            "run": run,
            "question": question,
            "answer": "",
            "paths": Overwrite([]),
            "costs": Overwrite(update["costs"]),
            "notes": Overwrite([*told, *update["notes"]]),
        }

    async def _take(
        self, name: str, home: Home, state: dict[str, Any], runtime: Runtime[Any]
    ) -> Update:
        """A later step, with the parts of its run; a run may go on in another home."""
        key = state.get("run", ""), home
        parts = self._parts.get(key)
        if parts is None:
            parts, _ = await prepared(home.session, home.corpus, state["question"])
            parts.budget.count(in_all(state.get("costs", {})))
            parts = self._remembered(key, parts)
        step: Step = getattr(Nodes.of(parts), name)
        return await step(state, runtime)

    def _remembered(self, key: tuple[str, Home], parts: Parts) -> Parts:
        """The parts as this run takes them: of paths that begin together, those of the first."""
        parts = self._parts.setdefault(key, replace(parts, tokens=True))
        while len(self._parts) > REMEMBERED:
            self._parts.popitem(last=False)
        return parts


def _plainly(runtime: Runtime[Any]) -> Callable[[Event], None]:
    """A writer of events to the custom stream, for whoever does not know our classes."""
    return lambda event: runtime.stream_writer(as_plain(event))
