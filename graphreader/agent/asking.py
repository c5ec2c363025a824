"""One question, from the first event to the reading."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from graphreader.agent import logbook
from graphreader.agent.events import Event, RunBegan
from graphreader.agent.graph import Steps, build_agent
from graphreader.agent.parts import Parts
from graphreader.agent.reckoning import with_what_was_shown
from graphreader.agent.resuming import Agent, Thread, failure, known, mend
from graphreader.agent.retelling import retold
from graphreader.agent.state import Answered, Notes, Question, Statement, in_all
from graphreader.reading import Citation, Claim, Contradiction, FunctionCall, Path, Reading
from graphreader.usage import Usage

_STEPS = 10_000  # LangGraph's own limit; a path ends by its calls long before


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a run; with a `failure` it should be gone on with all the same."""

    reading: Reading
    failure: str = ""


async def explore(
    question: str,
    parts: Parts,
    notes: Sequence[str] = (),
    *,
    thread: Thread | None = None,
    resumed: bool = False,
    run: str = "",
    steps: Steps | None = None,
) -> AsyncGenerator[Event | Ended]:
    """Run the agent; yields what happens, and at the end the reading, to which `notes` belong.

    Each step is kept in the `thread`, if there is one; `run` is the run's id, empty without any.
    A run that is `resumed` first tells what is known of it, and then goes on where its steps end;
    one that has its answer is asked nothing.
    """
    began = time.monotonic()
    agent = build_agent(parts, steps, checkpointer=thread.saver if thread else None)
    yield RunBegan(run)
    logbook.began(run, question, parts)
    before = None
    if thread and resumed:
        await mend(agent, thread)
        before = await known(agent, thread)
    for event in retold(before) if before else ():
        yield event
    result: Answered | None = None
    if before and "answer" in before.values:
        result = cast(Answered, before.values)
    else:
        # Closed with us: who stops listening wants no decision to be asked any more.
        try:
            async with aclosing(_stream(agent, None if before else question, thread)) as items:
                async for namespace, mode, data in items:
                    if mode == "custom":
                        yield data
                    elif not namespace:
                        result = data
        except Exception as error:
            logbook.failed(run, error)
            raise
    assert result is not None
    reading = _reading(question, result, parts, notes, time.monotonic() - began)
    reading = await with_what_was_shown(reading, result.get("paths", []), parts.explorer)
    logbook.ended(run, result, reading.usage.seconds)
    yield Ended(replace(reading, run=run), failure(result))


def _stream(agent: Agent, question: str | None, thread: Thread | None) -> AsyncGenerator[Any]:
    """What LangGraph tells of a run that begins with the question, or goes on without one."""
    given: Question | None = None if question is None else {"question": question}
    items = agent.astream(
        given,
        _config(thread),
        stream_mode=["custom", "values"],
        subgraphs=True,
        durability="sync" if thread else None,
    )
    return cast(AsyncGenerator[Any], items)


def _config(thread: Thread | None) -> RunnableConfig:
    """The run is nobody's part: a graph in whose step it is asked neither keeps nor bounds it."""
    own = thread.run if thread else "alone"
    return {"configurable": {"thread_id": own}, "recursion_limit": _STEPS}


def _reading(
    question: str, result: Answered, parts: Parts, notes: Sequence[str], seconds: float
) -> Reading:
    paths = sorted(result.get("paths", []), key=lambda path: path["path"])
    return Reading(
        question=question,
        answer=result["answer"],
        analysis=result["analysis"],
        answered=result["answered"],
        corpus=parts.explorer.corpus,
        plan=result["plan"],
        citations=tuple(Citation(**quote) for quote in result["citations"]),
        claims=tuple(Claim(*_stated(one)) for one in result["claims"]),
        contradictions=tuple(Contradiction(*_stated(one)) for one in result["contradictions"]),
        paths=tuple(_path(path) for path in paths),
        usage=replace(in_all(result["costs"]), seconds=round(seconds, 3)),
        phases={phase: Usage(**cost) for phase, cost in result["costs"].items()},
        decider=parts.decider.name,
        notes=(*notes, *result.get("notes", [])),
    )


def _path(notes: Notes) -> Path:
    functions = tuple(FunctionCall(**function) for function in notes["functions"])
    return Path(
        initial_node=notes["initial_node"],
        notebook=notes["notebook"],
        calls=len(functions),
        stopped=notes["stopped"],
        error=notes["error"],
        functions=functions,
        usage=in_all(notes["costs"]),
        node_id=notes["node_id"],
    )


def _stated(statement: Statement) -> tuple[str, tuple[int, ...]]:
    return statement["text"], tuple(statement["citations"])
