"""One question, from the first event to the reading."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from graphreader.agent.events import Event, QuestionAnswered
from graphreader.agent.graph import build_agent
from graphreader.agent.parts import Parts
from graphreader.agent.state import Answered, Notes, in_all
from graphreader.reading import Citation, FunctionCall, Path, Reading
from graphreader.usage import Usage


async def explore(question: str, parts: Parts, notes: Sequence[str] = ()) -> AsyncGenerator[Event]:
    """Run the agent; yields what happens, and at the end the reading, to which `notes` belong."""
    began = time.monotonic()
    result: Answered | None = None
    run = build_agent(parts).astream(
        {"question": question}, stream_mode=["custom", "values"], subgraphs=True
    )
    item: Any
    # Closed with us: who stops listening wants no decision to be asked any more.
    async with aclosing(cast(AsyncGenerator[Any], run)):
        async for item in run:
            namespace, mode, data = item
            if mode == "custom":
                yield data
            elif not namespace:
                result = data
    assert result is not None
    reading = _reading(question, result, parts, notes, time.monotonic() - began)
    yield QuestionAnswered(reading)


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
    )
