"""Running questions of this process, which several clients can watch, from any event on."""

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
from graphreader.agent.run_view import RunView
from graphreader.errors import GraphReaderError, RunsError, UnknownRunError
from graphreader.llm.protocols import Quota
from graphreader.reading import Reading
from graphreader.resources import Resources
from graphreader.runs import KeptRun, RunRequest, execute
from graphreader.waiting import with_waiting
from graphreader.web.access import LimitError, Token, TokenStore
from graphreader.web.problems import detail_of, status_of

STORED_SECONDS = 60.0  # how long a finished run of the run store can still be watched from memory
UNSTORED_SECONDS = 3_600.0  # how long a finished run that is not stored can still be watched
QUESTIONS_AT_ONCE = 16  # for a token without a limit of its own

logger = logging.getLogger("graphreader.web")


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """An event of a run encoded as JSON, once for all clients."""

    name: str
    data: str

    @classmethod
    def of(cls, event: Event) -> "LiveEvent":
        """Encode an event of a run."""
        if isinstance(event, QuestionAnswered):
            return cls.named("QuestionAnswered", reading=event.reading.as_dict())
        return cls.named(type(event).__name__, **as_plain(event))

    @classmethod
    def named(cls, name: str, **values: Any) -> "LiveEvent":
        """Encode an event given by its name and values."""
        return cls(name, json.dumps({"event": name, **values}, ensure_ascii=False))


STOPPED = LiveEvent.named("Stopped")


def failed(status: int, detail: str) -> LiveEvent:
    """The last event of a failed run."""
    return LiveEvent.named("Failed", status=status, detail=detail)


def events_of(kept: KeptRun) -> list[LiveEvent]:
    """The events of a stored run, with an event for its end."""
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
    """A run with its events so far; `ended` is a time of the monotonic clock."""

    run: str
    holder: str
    view: RunView
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
        """The corpus of the question."""
        return self.view.corpus

    @property
    def question(self) -> str:
        """The question of the run."""
        return self.view.question

    @property
    def reading(self) -> Reading | None:
        """The reading; None until the question is answered."""
        return self.view.reading

    def add(self, event: LiveEvent) -> None:
        """Add an event and wake all watchers."""
        self.events.append(event)
        self.changed.set()
        self.changed = asyncio.Event()

    async def watch(self, after: int = 0) -> AsyncIterator[tuple[int, LiveEvent]]:
        """Yield (number, event) for all events after the first `after`, until the run ends."""
        after = first_unseen(after, self.events)
        while True:
            changed = self.changed
            while after < len(self.events):
                after += 1
                yield after, self.events[after - 1]
            if self.ended is not None:
                return
            await changed.wait()

    async def result(self) -> Reading:
        """Wait for the reading. Raises the error that ended the run."""
        if self.task:
            await asyncio.shield(asyncio.gather(self.task, return_exceptions=True))
        if self.failure:
            raise self.failure
        if self.reading is None:
            raise UnknownRunError(f"The run {self.run} was stopped: resume it, or ask again.")
        return self.reading


def first_unseen(after: int, events: Sequence[LiveEvent]) -> int:
    """The index of the first event to send to a client that has seen `after` events.

    It is 0 if the client has seen more events than there are: the run was replayed since.
    """
    return after if after <= len(events) else 0


class LiveRuns:
    """The runs that this process has started, with limits of simultaneous questions."""

    def __init__(self, resources: Resources, tokens: TokenStore | None) -> None:
        self._resources = resources
        self._tokens = tokens
        self._runs: dict[str, LiveRun] = {}
        self._is_closed = False

    @property
    def running(self) -> int:
        """The number of runs that have not ended."""
        return sum(one.ended is None for one in self._runs.values())

    def find(self, run: str) -> LiveRun | None:
        """Return the run with an id, if it is running here or has just ended."""
        live = self._runs.get(run)
        return None if live and _is_over(live, time.monotonic()) else live

    def _running(self, run: str | None) -> LiveRun | None:
        live = self._runs.get(run or "")
        return live if live and live.ended is None else None

    async def begin(
        self,
        token: Token,
        request: RunRequest,
        *,
        events: AsyncGenerator[Event] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> LiveRun:
        """Start or resume a run for the holder of a token; `on_event` is called with each event.

        `events` are the events of another reader, whose runs stay only here, for an hour. Raises
        LimitError.
        """
        if self._tokens and not self._running(request.run):
            await self._tokens.arun(lambda tokens: tokens.check(token))
        if self._is_closed:
            raise RunsError("The server is about to end: ask again when it has started.")
        now = time.monotonic()
        for old in [one for one in self._runs.values() if _is_over(one, now)]:
            del self._runs[old.run]
        id = request.run or new_run_id()
        if live := self._running(id):
            return live
        most = token.questions or QUESTIONS_AT_ONCE
        own = [one for one in self._runs.values() if one.holder == token.name and not one.ended]
        if len(own) >= most:
            raise LimitError(
                f"{most} questions of {token.name!r} are under way: wait until one has ended, or "
                "stop it."
            )
        view = RunView(request.corpus, request.question)
        live = LiveRun(id, token.name, view, request.follow, is_kept=events is None)
        live.add(LiveEvent.of(RunBegan(id)))  # at once: later events wait for Neo4j
        self._runs[id] = live
        request = replace(request, run=id, quota=self.quota_of(token))
        stream = with_waiting(events or execute(self._resources, request))
        live.task = asyncio.create_task(self._follow(live, stream, on_event))
        return live

    def quota_of(self, token: Token) -> Quota | None:
        """Return the quota of a token; None for a server without tokens."""
        return self._tokens.quota(token) if self._tokens else None

    async def stop(self, run: str) -> bool:
        """Stop a run, which can be resumed; return False if it does not run here."""
        live = self._running(run)
        if not live or not live.task:
            return False
        live.task.cancel()
        await asyncio.gather(live.task, return_exceptions=True)
        return True

    def forget(self, run: str) -> None:
        """Forget an ended run that was deleted."""
        if (live := self._runs.get(run)) and live.ended is not None:
            del self._runs[run]

    async def aclose(self) -> None:
        """Stop all runs, which can be resumed; refuse new runs."""
        self._is_closed = True
        await asyncio.gather(*map(self.stop, list(self._runs)))

    async def _follow(
        self,
        live: LiveRun,
        events: AsyncGenerator[Event],
        on_event: Callable[[Event], None] | None,
    ) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    live.view.apply(event)
                    if on_event:
                        on_event(event)
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
    seconds = STORED_SECONDS if live.is_kept else UNSTORED_SECONDS
    return live.ended is not None and now - live.ended > seconds
