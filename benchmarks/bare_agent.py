"""LangGraph alone: a graph of the agent's shape whose steps do nothing but wait for a model.

As many paths a question and calls a path as the agent took, a state of about the same size, the
same kinds of events listened to. What it takes beside the model's time is the floor of any agent
built on LangGraph, with or without checkpoints.
"""

import asyncio
import time
from collections.abc import Sequence
from operator import add
from typing import Annotated, Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

Shape = Sequence[int]
"""A question: the calls of each of its paths."""

_NOTEBOOK = "The paths lead through several towns, and each of them tells a part of it. " * 8
_STEPS = ("facts", "chunks", "neighbors")


class _Path(TypedDict, total=False):
    question: str
    plan: str
    calls: int
    notebook: str
    functions: list[dict[str, str]]
    paths: list[dict[str, Any]]


class _Notes(TypedDict):
    paths: list[dict[str, Any]]


class _Run(TypedDict, total=False):
    question: str
    plan: str
    calls: list[int]
    paths: Annotated[list[dict[str, Any]], add]
    answer: str


class BareAgent:
    """Waits `latency` seconds a step, at most `at_once` steps side by side."""

    def __init__(
        self, latency: float, at_once: int, checkpointer: BaseCheckpointSaver[Any] | None = None
    ) -> None:
        self._latency = latency
        self._slots = asyncio.Semaphore(at_once)
        self._durable = checkpointer is not None
        self._graph = self._built(checkpointer)
        self._asked = 0

    async def ask(self, shapes: Sequence[Shape]) -> float:
        """Seconds that questions of these shapes take, all at once."""
        began = time.perf_counter()
        await asyncio.gather(*(self._ask(shape) for shape in shapes))
        return time.perf_counter() - began

    async def _ask(self, shape: Shape) -> None:
        self._asked += 1
        config: Any = {"configurable": {"thread_id": str(self._asked)}} if self._durable else None
        durable: dict[str, Any] = {"durability": "sync"} if self._durable else {}
        question: Any = {"question": "Where did they go?", "calls": list(shape)}
        modes: Any = ["custom", "values"]
        async for _ in self._graph.astream(
            question, config, stream_mode=modes, subgraphs=True, **durable
        ):
            pass

    async def _waits(self) -> None:
        async with self._slots:
            await asyncio.sleep(self._latency)

    def _built(self, checkpointer: BaseCheckpointSaver[Any] | None) -> Any:
        graph = StateGraph(_Run)
        graph.add_node("plan", self._plan)
        graph.add_node("nodes", self._nodes)
        graph.add_node("path", self._path())
        graph.add_node("answer", self._answer)
        graph.add_edge(START, "plan")
        graph.add_edge("plan", "nodes")
        graph.add_conditional_edges("nodes", _set_out, ["path"])
        graph.add_edge("path", "answer")
        graph.add_edge("answer", END)
        return graph.compile(checkpointer=checkpointer)

    def _path(self) -> Any:
        graph = StateGraph(_Path, output_schema=_Notes)
        for name in _STEPS:
            graph.add_node(name, self._explore)
            graph.add_conditional_edges(name, _next, [*_STEPS, "end"])
        graph.add_node("end", _end)
        graph.add_edge(START, "facts")
        graph.add_edge("end", END)
        return graph.compile()

    async def _plan(self, state: _Run) -> _Run:
        await self._waits()
        return {"plan": "First find who is meant, then where they went."}

    async def _nodes(self, state: _Run) -> _Run:
        await self._waits()
        return {}

    async def _explore(self, state: _Path, runtime: Runtime[None]) -> _Path:
        await self._waits()
        call = {"name": "search_more", "argument": "", "rationale": "There may be more."}
        runtime.stream_writer(call)
        return {"notebook": _NOTEBOOK, "functions": [*state["functions"], call]}

    async def _answer(self, state: _Run) -> _Run:
        await self._waits()
        return {"answer": "To a town."}


def _set_out(state: _Run) -> list[Send]:
    known = {"question": state["question"], "plan": state["plan"], "functions": []}
    return [Send("path", {**known, "calls": calls}) for calls in state["calls"]]


def _next(state: _Path) -> str:
    done = len(state["functions"])
    return _STEPS[done % len(_STEPS)] if done < state["calls"] else "end"


async def _end(state: _Path) -> _Path:
    return {"paths": [{"notebook": state["notebook"], "functions": state["functions"]}]}
