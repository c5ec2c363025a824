"""ReadAgent as a graph of LangGraph: paginate, gist, look_up (again and again), answer.

Nothing but wiring: the steps stand in `steps`. A reader's deciders belong to its own event loop, so
a graph that is run elsewhere, in LangGraph Studio, takes each step there.
"""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Checkpointer

from graphreader.agent.state import in_all
from graphreader.baselines.read_agent.state import Answered, Question, Run
from graphreader.baselines.read_agent.steps import Desk, Steps, Update, check_question

FIRST = "paginate"

# The words on the edges.
LOOK_UP = "look up"
GISTS_ONLY = "gists only, no text"
ONE_MORE = "one more page"
ENOUGH = "stop, number of pages, nothing left, budget"

Agent = CompiledStateGraph[Run, Any, Question, Answered]


class Place(Protocol):
    """Where the steps of a run are taken: whose documents and deciders, in which event loop."""

    async def desk(self) -> Desk:
        """What a step needs, with a budget of its own; called in the loop of `arun`."""
        ...

    async def arun(self, work: Coroutine[Any, Any, Update]) -> Update:
        """Do the work where the deciders live."""
        ...


Source = Callable[[Runtime[Any]], Awaitable[Place]]
"""Whose place it is, by what the run was given as its context."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The steps of the drawing, by their names."""

    paginate: Callable[..., Awaitable[Update]]
    gist: Callable[..., Awaitable[Update]]
    look_up: Callable[..., Awaitable[Update]]
    answer: Callable[..., Awaitable[Update]]

    @classmethod
    def of(cls, steps: Steps) -> "Nodes":
        """The steps of one run."""
        return cls(steps.paginate, steps.gist, steps.look_up, steps.answer)


def read_agent_graph(source: Source, context_schema: type[Any] | None = None) -> Agent:
    """The graph for whoever runs it elsewhere; nothing is opened before its first step.

    It keeps nothing itself: checkpoints are those of whoever runs it. Its steps raise what an ask
    raises.
    """

    def named(name: str) -> Callable[..., Awaitable[Update]]:
        async def step(state: Run, runtime: Runtime[Any]) -> Update:
            place = await source(runtime)
            return await place.arun(_taken(name, place, state))

        return step

    return wired(Nodes(*map(named, Nodes.__slots__)), context_schema=context_schema)


def wired(
    nodes: Nodes,
    checkpointer: Checkpointer = None,
    context_schema: type[Any] | None = None,
) -> Agent:
    """The graph out of any steps. Which pages are looked up, and how, the steps decide."""
    graph = StateGraph(Run, context_schema, input_schema=Question, output_schema=Answered)
    graph.add_node("paginate", nodes.paginate)
    graph.add_node("gist", nodes.gist)
    graph.add_node("look_up", nodes.look_up)
    graph.add_node("answer", nodes.answer)
    graph.add_edge(START, "paginate")
    graph.add_edge("paginate", "gist")
    graph.add_conditional_edges("gist", after_gist, {LOOK_UP: "look_up", GISTS_ONLY: "answer"})
    graph.add_conditional_edges("look_up", after_look_up, {ONE_MORE: "look_up", ENOUGH: "answer"})
    graph.add_edge("answer", END)
    return graph.compile(name="read_agent", checkpointer=checkpointer)


def after_gist(state: Run) -> str:
    """Whether any page is to be looked up."""
    return LOOK_UP if state["looking"] else GISTS_ONLY


def after_look_up(state: Run) -> str:
    """Whether one more page is to be looked up: in sequence only."""
    return ONE_MORE if state["looking"] else ENOUGH


async def _taken(name: str, place: Place, state: Run) -> Update:
    check_question(state)
    desk = await place.desk()
    if name != FIRST:  # the first step begins anew, also on a thread that was used before
        desk.budget.count(in_all(state.get("costs", {})))
    step: Callable[[Run], Awaitable[Update]] = getattr(Steps(desk), name)
    return await step(state)
