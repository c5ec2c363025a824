"""Asking one corpus, inside of the event loop to which its session belongs: each question a run."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from graphreader.agent.events import Event, QuestionAnswered
from graphreader.errors import GraphReaderError, RunsError, UsageError
from graphreader.preparing import asked
from graphreader.reading import Reading
from graphreader.running import Wanted, begin, branch, go_on
from graphreader.runs.register import RunRecord, checked_id, new_id
from graphreader.session import Session
from graphreader.settings import PATHS_AND_CALLS, Mode

T = TypeVar("T")

Outcome = Reading | GraphReaderError
"""What came of one question of many."""


class Questions:
    """What a reader is asked: a new question, one to go on with, many at once."""

    def __init__(self, session: Session, corpus: str) -> None:
        self.corpus = corpus
        self._session = session

    async def explore(
        self,
        question: str,
        run: str | None = None,
        *,
        mode: Mode | None = None,
        keep_run: bool = False,
        tokens: bool = False,
    ) -> AsyncGenerator[Event]:
        """Answer a question, and show what happens on the way; see `Wanted`.

        `run` is the run's id. Where one of that id is kept it is gone on with, if it is about the
        same, else UsageError.
        """
        wanted = Wanted(self.corpus, asked(question), _known(mode), keep_run, tokens)
        kept = await self._kept(checked_id(run)) if run is not None else None
        if kept is None:
            events = begin(self._session, wanted, run or new_id())
        elif (kept.summary.corpus, kept.summary.question) == (wanted.corpus, wanted.question):
            events = go_on(self._session, kept, tokens, mode=mode, keep_run=keep_run)
        else:
            raise UsageError(f"The run {run} is about another question: choose another id.")
        async with aclosing(events):
            async for event in events:
                yield event

    async def resume(
        self, run: str, step: int | None = None, *, tokens: bool = False
    ) -> AsyncGenerator[Event]:
        """Go on with the run whose id is, or alone begins with, `run`; its own corpus counts.

        One that is finished only tells its reading. With `step`, counted from 1, a new run begins
        before that step of it, and takes the later decisions anew.
        """
        record = await self._session.kept.get(run)
        if step is None:
            events = go_on(self._session, record, tokens)
        else:
            events = branch(self._session, record, step, tokens)
        async with aclosing(events):
            async for event in events:
                yield event

    async def batch(
        self,
        questions: Sequence[str],
        runs: Sequence[str] | None = None,
        *,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        """Answer many questions, each as a run of its own; `runs` are their ids.

        Yields, as they become ready, the place of each in the questions, from 0, with its reading
        or what it failed with. At most GRAPHREADER_CONCURRENCY are under way at once.
        """
        if isinstance(questions, str):
            raise UsageError("Give a list of questions, not a single one.")
        if runs is not None and (len(runs) != len(questions) or len(set(runs)) != len(runs)):
            raise UsageError("Give each question an id of its own, or give none of them any.")

        async def outcome(place: int) -> Outcome:
            run = runs[place] if runs is not None else None
            try:
                return await last(self.explore(questions[place], run, mode=mode, keep_run=keep_run))
            except GraphReaderError as error:
                return error

        limit = self._session.settings.concurrency
        async with aclosing(_as_ready(len(questions), outcome, limit)) as outcomes:
            async for place, what in outcomes:
                yield place, what

    async def _kept(self, run: str) -> RunRecord | None:
        register = self._session.register
        with suppress(RunsError):  # a run that begins tells it
            return await register.find(run) if register else None
        return None


async def last(events: AsyncGenerator[Event]) -> Reading:
    """Follow a run to its end."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, QuestionAnswered):
                return event.reading
    raise AssertionError("a run ends with its answer")


async def _as_ready(
    number: int, work: Callable[[int], Coroutine[Any, Any, T]], limit: int
) -> AsyncGenerator[tuple[int, T]]:
    """What the works 0, 1, ... give, as they become ready; at most `limit` go on at once."""
    waiting = iter(range(number))
    running: dict[asyncio.Task[T], int] = {}
    try:
        while True:
            for _, place in zip(range(limit - len(running)), waiting, strict=False):
                running[asyncio.create_task(work(place))] = place
            if not running:
                return
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield running.pop(task), task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _known(mode: Mode | None) -> Mode | None:
    """The mode, if there is such a one. Raises UsageError."""
    if mode is not None and mode not in PATHS_AND_CALLS:
        raise UsageError(f"There is no mode {mode!r}: choose {' or '.join(PATHS_AND_CALLS)}.")
    return mode
