"""Runs under way in this process: anyone who may see one can watch it, also late or again."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from graphreader.agent.events import Event, QuestionAnswered, RunBegan, as_plain
from graphreader.agent.run_store import new_run_id
from graphreader.errors import GraphReaderError, RunsError, UnknownRunError
from graphreader.llm.protocols import allowance
from graphreader.reading import Reading
from graphreader.resources import Resources
from graphreader.runs import KeptRun, RunRequest, execute
from graphreader.waiting import with_waiting
from graphreader.web.access import LimitError, Token, TokenStore
from graphreader.web.problems import detail_of, status_of
from graphreader.web.run_progress import RunProgress

UNKEPT_SECONDS = 3_600.0  # the same, for runs that are kept nowhere else
KEPT_SECONDS = 60.0  # for which a run that is over can still be watched from its events
QUESTIONS_AT_ONCE = 16  # of a token without a limit of its own

logger = logging.getLogger("graphreader.web")


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """An event as JSON, which is encoded once for all who watch."""

    name: str
    data: str

    @classmethod
    def of(cls, event: Event) -> "LiveEvent":
        """An event of a run."""
        if isinstance(event, QuestionAnswered):
            return cls.named("QuestionAnswered", reading=event.reading.as_dict())
        return cls.named(type(event).__name__, **as_plain(event))

    @classmethod
    def named(cls, name: str, **values: Any) -> "LiveEvent":
        """An event of that name with these values."""
        return cls(name, json.dumps({"event": name, **values}, ensure_ascii=False))


STOPPED = LiveEvent.named("Stopped")


def failed(status: int, detail: str) -> LiveEvent:
    """The last event of a run that has failed."""
    return LiveEvent.named("Failed", status=status, detail=detail)


def events_of(kept: KeptRun) -> list[LiveEvent]:
    """The events of a kept run, and how it ended."""
    events = [LiveEvent.of(one) for one in kept.events]
    if kept.reading:
        events.append(LiveEvent.of(QuestionAnswered(kept.reading)))
    elif kept.summary.status == "failed":
        events.append(failed(HTTPStatus.INTERNAL_SERVER_ERROR, kept.summary.error or ""))
    elif kept.summary.status == "interrupted":
        events.append(STOPPED)
    return events


@dataclass(slots=True)
class LiveRun:
    """A run with its events so far; `ended` is a moment of the clock."""

    run: str
    holder: str
    progress: RunProgress
    follow: str | None = None
    began: float = field(default_factory=time.time)
    is_kept: bool = True
    events: list[LiveEvent] = field(default_factory=list)
    failure: GraphReaderError | None = None
    ended: float | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def corpus(self) -> str:
        """The corpus that is asked."""
        return self.progress.corpus

    @property
    def question(self) -> str:
        """The question of the run."""
        return self.progress.question

    @property
    def reading(self) -> Reading | None:
        """The reading, once the question is answered."""
        return self.progress.reading

    def add(self, event: LiveEvent) -> None:
        """Add an event and wake those who watch."""
        self.events.append(event)
        self.changed.set()
        self.changed = asyncio.Event()

    async def watch(self, after: int = 0) -> AsyncIterator[tuple[int, LiveEvent]]:
        """Yield the events behind the first `after` ones with their numbers, to the end."""
        after = behind(after, self.events)
        while True:
            changed = self.changed
            while after < len(self.events):
                after += 1
                yield after, self.events[after - 1]
            if self.ended is not None:
                return
            await changed.wait()

    async def result(self) -> Reading:
        """Wait for the reading. Raises the failure that ended the run."""
        if self.task:
            await asyncio.shield(asyncio.gather(self.task, return_exceptions=True))
        if self.failure:
            raise self.failure
        if self.reading is None:
            raise UnknownRunError(f"The run {self.run} was stopped: resume it, or ask again.")
        return self.reading


def behind(after: int, events: Sequence[LiveEvent]) -> int:
    """How many events to leave out for a watcher who has seen so many.

    None, if it has seen more than there are: it watched the run before it was replayed.
    """
    return after if after <= len(events) else 0


class LiveRuns:
    """The runs that this process has begun, and its limits of questions at once."""

    def __init__(self, resources: Resources, tokens: TokenStore | None) -> None:
        self._resources = resources
        self._tokens = tokens
        self._runs: dict[str, LiveRun] = {}
        self._is_closed = False

    @property
    def under_way(self) -> int:
        """How many runs are under way."""
        return sum(one.ended is None for one in self._runs.values())

    def find(self, run: str) -> LiveRun | None:
        """The run of that id, if it is under way or has just ended: another server may go on."""
        live = self._runs.get(run)
        return None if live and _is_over(live, time.monotonic()) else live

    def _under_way(self, run: str | None) -> LiveRun | None:
        live = self._runs.get(run or "")
        return live if live and live.ended is None else None

    async def begin(
        self,
        token: Token,
        request: RunRequest,
        *,
        events: AsyncGenerator[Event] | None = None,
        heard: Callable[[Event], None] | None = None,
    ) -> LiveRun:
        """Begin or resume a run for the holder of a token; `heard` is called with its events.

        `events` are those of another reader, whose runs are not kept but for an hour here.
        Raises LimitError.
        """
        if self._tokens and not self._under_way(request.run):
            await self._tokens.arun(lambda tokens: tokens.check_day(token))
        if self._is_closed:
            raise RunsError("The server is about to end: ask again when it has started.")
        now = time.monotonic()
        for old in [one for one in self._runs.values() if _is_over(one, now)]:
            del self._runs[old.run]
        id = request.run or new_run_id()
        if live := self._under_way(id):
            return live
        most = token.questions or QUESTIONS_AT_ONCE
        own = [one for one in self._runs.values() if one.holder == token.name and not one.ended]
        if len(own) >= most:
            raise LimitError(
                f"{most} questions of {token.name!r} are under way: wait until one has ended, or "
                "stop it."
            )
        progress = RunProgress(request.corpus, request.question)
        live = LiveRun(id, token.name, progress, request.follow, is_kept=events is None)
        live.add(LiveEvent.of(RunBegan(id)))  # at once: the rest waits for Neo4j
        self._runs[id] = live
        request = request if request.resume else replace(request, run=id)
        stream = with_waiting(events or execute(self._resources, request))
        live.task = asyncio.create_task(self._follow(live, token, stream, heard))
        return live

    async def stop(self, run: str) -> bool:
        """Stop a run, which can be resumed; False if it is not under way here."""
        live = self._under_way(run)
        if not live or not live.task:
            return False
        live.task.cancel()
        await asyncio.gather(live.task, return_exceptions=True)
        return True

    def forget(self, run: str) -> None:
        """Forget a run that is over and was deleted."""
        if (live := self._runs.get(run)) and live.ended is not None:
            del self._runs[run]

    async def aclose(self) -> None:
        """Stop all runs, which can be resumed, and begin no other."""
        self._is_closed = True
        await asyncio.gather(*map(self.stop, list(self._runs)))

    async def _follow(
        self,
        live: LiveRun,
        token: Token,
        events: AsyncGenerator[Event],
        heard: Callable[[Event], None] | None,
    ) -> None:
        if self._tokens:
            allowance.set(self._tokens.allowance(token))
        try:
            async with aclosing(events):
                async for event in events:
                    live.progress.add(event)
                    if heard:
                        heard(event)
                    if not isinstance(event, RunBegan):
                        live.add(LiveEvent.of(event))
        except GraphReaderError as error:
            live.failure = error
            live.add(failed(status_of(error), detail_of(error)))
        except asyncio.CancelledError:
            live.add(STOPPED)
        except Exception as error:
            logger.error("The run %s failed", live.run, exc_info=error)
            live.failure = GraphReaderError(
                f"An unexpected error occurred ({type(error).__name__}): the server's log has more."
            )
            live.add(failed(HTTPStatus.INTERNAL_SERVER_ERROR, str(live.failure)))
        finally:
            live.ended = time.monotonic()
            live.changed.set()


def _is_over(live: LiveRun, now: float) -> bool:
    kept = KEPT_SECONDS if live.is_kept else UNKEPT_SECONDS
    return live.ended is not None and now - live.ended > kept
