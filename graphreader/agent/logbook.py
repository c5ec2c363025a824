"""What happens in a run, in the log: how it goes at INFO, what is asked, read and said at DEBUG."""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from graphreader.agent.events import AnswerToken, Event, PathEnded
from graphreader.agent.parts import Parts, Step, Update
from graphreader.agent.state import in_all

logger = logging.getLogger("graphreader.agent")


def began(run: str, question: str, parts: Parts) -> None:
    """A question is asked; `run` is empty where nothing is kept of it."""
    limits, corpus = parts.limits, parts.explorer.corpus
    logger.info(
        "Run %s begins in corpus %r by %s: at most %d paths of %d calls",
        run or "-",
        corpus,
        parts.decider.name,
        limits.initial_nodes,
        limits.calls,
    )
    logger.debug("Run %s is asked: %s", run or "-", question)


def ended(run: str, result: Mapping[str, Any], seconds: float) -> None:
    """An answer is there; the result is as in `Answered`."""
    usage, paths = in_all(result["costs"]), result.get("paths", [])
    ends = Counter(path["stopped"] for path in paths)
    logger.info(
        "Run %s %s after %.1f s: %d calls, %d tokens, %d kept replies; %d paths (%s), %d citations",
        run or "-",
        "is answered" if result["answered"] else "ends without an answer",
        seconds,
        usage.calls,
        usage.tokens,
        usage.reused,
        len(paths),
        ", ".join(f"{number} {end}" for end, number in ends.most_common()) or "none",
        len(result["citations"]),
    )
    logger.debug("Run %s answers: %s", run or "-", result["answer"])


def failed(run: str, error: Exception) -> None:
    """It came to nothing."""
    logger.warning("Run %s failed: %s", run or "-", type(error).__name__)
    logger.debug("Run %s failed: %s", run or "-", error)


def written_down(step: Step) -> Step:
    """The step, with what happens in it in the log."""

    async def taken(state: Mapping[str, Any], runtime: Runtime[Any]) -> Update:
        run, tell = _run(state, runtime), runtime.stream_writer

        def write(event: Event) -> None:
            _write(run, event)
            tell(event)

        return await step(state, runtime=runtime.override(stream_writer=write))

    return taken


def _run(state: Mapping[str, Any], runtime: Runtime[Any]) -> str:
    """The run's id, by which its lines are told from those of others."""
    here = runtime.execution_info
    return state.get("run") or (here.thread_id if here else None) or "-"


def _write(run: str, event: Event) -> None:
    if isinstance(event, PathEnded):
        level = logging.WARNING if event.stopped == "error" else logging.INFO
        logger.log(level, "Run %s: path %d ended by %s", run, event.path, event.stopped)
    if not isinstance(event, AnswerToken):  # the whole of it comes at the end
        logger.debug("Run %s: %s", run, event)
