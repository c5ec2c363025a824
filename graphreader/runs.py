"""The execution of a question, from its first event to its reading, and the kept runs.

A run is entered into the run store before its first decision, and LangGraph's checkpoints keep each
decision. If runs cannot be kept, or shall not be, the question is still answered.
"""

import asyncio
import shlex
import time
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from langgraph.types import StateSnapshot

from graphreader.agent.answering import reading_of
from graphreader.agent.checkpoints import CheckpointThread, failure_of, usage_of
from graphreader.agent.context import Limits, RunContext
from graphreader.agent.events import (
    Event,
    QuestionAnswered,
    RunBegan,
    as_plain,
    log_end,
    log_event,
    log_failure,
    log_start,
    replay,
    replay_reading,
)
from graphreader.agent.follow_up import earlier_exchange
from graphreader.agent.modes import MODES, Mode, Saver, mode_named
from graphreader.agent.run_store import (
    RunCheckpoints,
    RunRecord,
    RunStore,
    RunSummary,
    Status,
    check_run_id,
    new_run_id,
    unkept,
)
from graphreader.agent.state import AgentOutput
from graphreader.errors import GraphReaderError, RunsError, UnknownCorpusError, UsageError
from graphreader.llm.protocols import Budget, Quota, names
from graphreader.preflight import prepare_run
from graphreader.reading import Reading, check_question
from graphreader.resources import Resources
from graphreader.scope import EVERYTHING, Scope
from graphreader.settings import SweepChoice
from graphreader.store.run_graph import write_run
from graphreader.usage import Usage


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A question to a corpus, or a kept run to resume or fork.

    With `resume` `run` may be a prefix of an id, and the kept question and corpus count;
    `step`, from 1, forks it before that step. `earlier` is the exchange of the run to `follow`,
    whose scope it has, unless it has its own `scope`.
    `sweep` and `sweep_tokens` replace the settings of these names.
    Every request to the model also takes from the `quota`.
    """

    corpus: str
    question: str = ""
    run: str | None = None
    resume: bool = False
    step: int | None = None
    mode: str | None = None
    sweep: SweepChoice | None = None
    sweep_tokens: int | None = None
    follow: str | None = None
    earlier: str = ""
    scope: Scope | None = None
    keep_run: bool = False
    stream_answer: bool = False
    quota: Quota | None = None

    def limits(self, usual: Limits) -> Limits:
        """The usual limits, with the sweep that the request allows."""
        sweep = self.sweep or usual.sweep, self.sweep_tokens or usual.sweep_tokens
        return replace(usual, sweep=sweep[0], sweep_tokens=sweep[1])


async def execute(resources: Resources, request: RunRequest) -> AsyncGenerator[Event]:
    """Start, resume (replaying its events) or fork a run; yields RunBegan ... QuestionAnswered."""
    request, record = await _find_kept_run(resources, request)
    if record and record.reading and record.summary.status == "finished" and request.step is None:
        for event in await _finished_run(resources, request, record.options, record.reading):
            yield event
        return
    mode = _mode_of(record) if record else mode_named(request.mode or resources.settings.mode)
    asked, scope = (request.corpus, request.question), request.scope or EVERYTHING
    context = await prepare_run(resources, *asked, mode, request.quota, scope)
    context = replace(context, limits=request.limits(context.limits))
    run = await _Run.open(resources, request, record, mode, context)
    result: AgentOutput | None = None
    try:
        yield RunBegan(run.id if run.thread.saver or run.store else "")
        for event in replay(run.snapshot) if run.snapshot else ():
            yield event
        began = time.monotonic()
        log_start(run.id, run.question, run.context)
        snapshot = run.snapshot
        if snapshot and "answer" in snapshot.values:
            result = cast(AgentOutput, snapshot.values)
        else:
            # Closed with this generator: no decision is requested after the caller stops.
            stream = run.thread.agent.astream(
                None if snapshot else {"question": run.question, "earlier": run.earlier},
                run.thread.config,
                context=run.context,
                stream_mode=["custom", "values"],
                subgraphs=True,
                durability="sync" if run.thread.saver else None,
            )
            async with aclosing(cast(AsyncGenerator[Any], stream)) as items:
                try:
                    async for namespace, mode, data in items:
                        if mode == "custom":
                            log_event(run.id, data)
                            yield data
                        elif not namespace:
                            result = data
                finally:
                    await run.context.stop()
        assert result is not None
        seconds = time.monotonic() - began
        reading = await reading_of(run.question, result, run.context, seconds)
        failure = failure_of(result)
        if not (reading.citations or failure):
            await resources.catalog(run.corpus)  # it may have been deleted meanwhile
        log_end(run.id, result, reading.usage.seconds)
        yield QuestionAnswered(await run.finish(reading, failure))
    except GraphReaderError as error:
        log_failure(run.id, error)
        gone = isinstance(error, UnknownCorpusError)  # which names all others
        await run.end("failed", error="The corpus was deleted." if gone else str(error))
        raise
    except BaseException as error:
        if isinstance(error, Exception):
            log_failure(run.id, error)
        await run.end("interrupted")
        raise


async def _find_kept_run(
    resources: Resources, request: RunRequest
) -> tuple[RunRequest, RunRecord | None]:
    """The request, completed by the kept run that it names, and that run; None if it is new."""
    if request.resume:
        record = await resources.required_run_store().get(request.run or "")
        summary = record.summary
        known = replace(request, corpus=summary.corpus, question=summary.question, run=summary.run)
        return replace(known, scope=record.scope), record
    if request.run is not None:
        check_run_id(request.run)
    request = replace(request, question=check_question(request.question))
    if request.mode is not None:
        mode_named(request.mode)
    if request.follow is not None:
        request = await _following(resources, request, request.follow)
    if request.run is None or resources.run_store is None:
        return request, None
    found = None
    with suppress(RunsError):  # starting the run reports it
        found = await resources.run_store.find(request.run)
    same = request.corpus, request.question, request.follow, request.scope or EVERYTHING
    if found and (*_asked(found.summary), found.scope) != same:
        raise UsageError(f"The run {request.run} is about another question: choose another id.")
    return request, found


async def _following(resources: Resources, request: RunRequest, follow: str) -> RunRequest:
    """The request with the exchange that it follows up. Raises UnknownRunError, UsageError."""
    record = await resources.required_run_store().get(follow)
    id, corpus = record.summary.run, record.summary.corpus
    if corpus != request.corpus:
        raise UsageError(
            f"The run {id} is about the corpus {corpus!r}, not {request.corpus!r}: ask that one."
        )
    if record.reading is None or record.summary.status != "finished":
        raise UsageError(
            f"The run {id} has no answer to follow up yet: `graphreader runs resume "
            f"{shlex.quote(id)}` first."
        )
    before = record.options.get("earlier", "")
    earlier = earlier_exchange(record.reading, before, resources.settings.window)
    scope = record.scope if request.scope is None else request.scope
    return replace(request, follow=id, earlier=earlier, scope=scope)


async def _finished_run(
    resources: Resources, request: RunRequest, options: Mapping[str, Any], reading: Reading
) -> list[Event]:
    events = list(replay_reading(reading))
    if request.keep_run:
        reading = await _write_into_graph(resources, request.corpus, reading)
    reading = _with_notes(reading, *_mode_note(options, request.mode))
    return [RunBegan(request.run or ""), *events, QuestionAnswered(reading)]


Outcome = Reading | GraphReaderError

QUESTIONS_PER_REQUEST = 2
"""Questions that are under way for each request that may be, since some wait for a single reply."""


async def execute_all(
    resources: Resources, requests: Sequence[RunRequest]
) -> AsyncGenerator[tuple[int, Outcome]]:
    """Execute requests concurrently; yield the index and the outcome of each finished request."""
    places = asyncio.Semaphore(QUESTIONS_PER_REQUEST * resources.settings.concurrency)

    async def outcome(index: int) -> tuple[int, Outcome]:
        async with places:
            try:
                return index, await last_reading(execute(resources, requests[index]))
            except GraphReaderError as error:
                return index, error

    tasks = [asyncio.create_task(outcome(index)) for index in range(len(requests))]
    try:
        for ready in asyncio.as_completed(tasks):
            yield await ready
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def last_reading(events: AsyncGenerator[Event]) -> Reading:
    """Follow a run to its end and return its reading."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, QuestionAnswered):
                return event.reading
    raise AssertionError("a run ends with its reading")


def with_options(question: str, options: Sequence[str]) -> str:
    """The text of a multiple-choice question, which asks for the words of one option."""
    if not options:
        return question
    return f"{question}\n\nAnswer with the words of one of these options:\n{names(options)}"


@dataclass(slots=True)
class _Run:
    """One run under way. `store` is None if the run is not kept."""

    resources: Resources
    id: str
    corpus: str
    question: str
    context: RunContext
    thread: CheckpointThread
    keep_run: bool
    earlier: str = ""
    store: RunStore | None = None
    snapshot: StateSnapshot | None = None

    @property
    def mode(self) -> Mode:
        """The mode of this run."""
        return self.thread.mode

    @classmethod
    async def open(
        cls,
        resources: Resources,
        request: RunRequest,
        record: RunRecord | None,
        mode: Mode,
        context: RunContext,
    ) -> "_Run":
        """Prepare a new run, a kept run to resume, or a fork of one."""
        id = request.run if request.run and request.step is None else new_run_id()
        thread = CheckpointThread(id, mode, await resources.saver())
        context = replace(
            context, stream_answer=request.stream_answer, checkpointed=thread.saver is not None
        )
        keep_run = request.keep_run or bool(record and record.options["keep_run"])
        earlier = record.options.get("earlier", "") if record else request.earlier
        about = request.corpus, request.question
        run = cls(resources, id, *about, context, thread, keep_run, earlier)
        try:
            if record is None:
                await run._start(request.follow)
            elif request.step is None:
                await run._resume(record, request.mode)
            else:
                await run._fork(record, request.step)
        except BaseException:
            await run.end("interrupted")
            raise
        return run

    async def _start(self, follow: str | None) -> None:
        options = {
            "limits": asdict(self.context.limits),
            "max_calls": self.context.budget.max_calls,
            "max_tokens": self.context.budget.max_tokens,
            "decider": self.context.decider.name,
            "keep_run": self.keep_run,
            "mode": self.mode.name,
            "follow": follow,
            "earlier": self.earlier,
            "scope": list(self.context.explorer.scope.terms),
        }
        if self.resources.run_store:
            try:
                await self._enter(self.resources.run_store, options)
            except RunsError as error:
                self.context.notes.append(unkept(error))
        await self.thread.clear()

    async def _resume(self, record: RunRecord, mode: str | None) -> None:
        """Resume a kept run in its own mode; a request for another mode gets a note."""
        decider = self.context.decider.name
        self.context.notes.extend(_mode_note(record.options, mode))
        if record.summary.decider != decider:
            self.context.notes.append(
                f"The run was begun by {record.summary.decider!r}, and {decider!r} went on."
            )
        store = self.resources.required_run_store()
        await store.take(record)
        self.store = store
        await self._continue(record.options)

    async def _fork(self, record: RunRecord, step: int) -> None:
        """Begin a new run before a step of a kept run, which stays unchanged."""
        if self.thread.saver is None:
            raise UsageError("The steps of runs are not kept: no run can begin before one of them.")
        kept = replace(self.thread, run=record.summary.run)
        await kept.fork(step, self.thread)
        copied = await self.thread.snapshot()
        options = {
            **record.options,
            "decider": self.context.decider.name,
            "from": kept.run,
            "step": step,
            "copied": asdict(usage_of(copied)) if copied else {},
        }
        await self._enter(self.resources.required_run_store(), options)
        await self._continue(options)

    async def _enter(self, store: RunStore, options: Mapping[str, Any]) -> None:
        """Enter the run into the store. Raises UsageError if another run has taken its id."""
        if not await store.begin(self.id, self.corpus, self.question, options):
            raise UsageError(f"The run {self.id} is under way already: wait until it has ended.")
        self.store = store

    async def _continue(self, options: Mapping[str, Any]) -> None:
        """Restore the kept state of the run: its limits, its events and the rest of its budget.

        A larger budget may be set meanwhile; what a fork has copied does not count.
        """
        now, limits = self.context.budget, self.context.limits
        budget = Budget(
            now.max_calls or options["max_calls"],
            now.max_tokens or options["max_tokens"],
            now.answer_tokens,
            now.quota,
        )
        # Another version of GraphReader may have kept limits that this one does not have.
        kept = {name: n for name, n in options["limits"].items() if hasattr(limits, name)}
        self.context = replace(self.context, budget=budget, limits=replace(limits, **kept))
        self.snapshot = await self.thread.snapshot()
        if self.snapshot:
            budget.count(usage_of(self.snapshot) - Usage(**options.get("copied", {})))
            earlier = await self.thread.repair(self.snapshot)
            if earlier is not None:
                self.context = replace(self.context, earlier=earlier)
                self.snapshot = await self.thread.snapshot()

    async def finish(self, reading: Reading, failure: str) -> Reading:
        """Write the run down, noting it; with a `failure` it stays so that it can be resumed."""
        saver = self.thread.saver
        reading = replace(reading, run=self.id if saver or self.store else "")
        if self.keep_run:
            reading = await _write_into_graph(self.resources, self.corpus, reading)
        if self.store is None:
            return reading
        await self.end("failed" if failure else "finished", reading, failure or None)
        if lost := self.store.failures.pop(self.id, None):
            reading = _with_notes(reading, unkept(lost))
        if isinstance(saver, RunCheckpoints) and not failure:
            await saver.delete_path_steps(self.id)
        if saver:
            with suppress(
                Exception
            ):  # a saver of the user's own may fail; the next run tries again
                old = await self.store.expired(self.resources.settings.kept_runs)
                await _delete_runs(self.store, saver, old)
        return reading

    async def end(
        self, status: Status, reading: Reading | None = None, error: str | None = None
    ) -> None:
        """Record the end of the run in the store; a failure of the store does not fail the run."""
        if self.store:
            with suppress(RunsError):
                await self.store.end(self.id, status, reading, error)


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A kept run with its events, reading, and the `steps` before which it can be forked."""

    summary: RunSummary
    events: tuple[Event, ...]
    reading: Reading | None
    steps: Mapping[int, str]

    def as_dict(self) -> Mapping[str, Any]:
        """Plain JSON types."""
        return {
            **asdict(self.summary),
            "steps": {str(number): name for number, name in self.steps.items()},
            "events": [as_plain(one) for one in self.events],
            "reading": self.reading.as_dict() if self.reading else None,
        }


async def show_run(resources: Resources, run: str) -> KeptRun:
    """The kept run with that id, or a unique prefix of it. Raises UnknownRunError."""
    record = await resources.required_run_store().get(run)
    saver = await resources.saver()
    events: Iterable[Event] = ()
    steps: Mapping[int, str] = {}
    # The reading of a finished run is shown even if its mode is unknown.
    if saver and not (record.reading and _mode_name(record) not in MODES):
        thread = CheckpointThread(record.summary.run, _mode_of(record), saver)
        steps = await thread.fork_points()
        snapshot = await thread.snapshot()
        events = replay(snapshot) if snapshot else ()
    if record.reading:
        events = replay_reading(record.reading)
    return KeptRun(record.summary, tuple(events), record.reading, steps)


async def delete_runs(
    resources: Resources,
    runs: Sequence[str] = (),
    *,
    everything: bool = False,
    before: float | None = None,
) -> int:
    """Delete runs that are not under way, as `GraphReader.delete_runs` says."""
    if bool(runs) + everything + (before is not None) != 1:
        raise UsageError("Name the runs to delete, or say that all or the old ones shall go.")
    store = resources.run_store
    if runs:
        chosen = [(await resources.required_run_store().get(run)).summary for run in runs]
        for run in chosen:
            if run.status == "running":
                raise UsageError(f"The run {run.run} is under way: wait until it has ended.")
    else:
        summaries = await store.summaries() if store else []
        chosen = [one for one in summaries if one.status != "running"]
    ids = {one.run for one in chosen if before is None or one.updated < before}
    if ids and store:
        await _delete_runs(store, await resources.saver(), ids)
    return len(ids)


async def _delete_runs(store: RunStore, saver: Saver | None, ids: Collection[str]) -> None:
    if saver:
        for id in ids:
            await saver.adelete_thread(id)
    await store.delete(ids)


async def _write_into_graph(resources: Resources, corpus: str, reading: Reading) -> Reading:
    note = await write_run(await resources.connection(), corpus, reading)
    return _with_notes(reading, note) if note else reading


def _with_notes(reading: Reading, *notes: str) -> Reading:
    return replace(reading, notes=(*reading.notes, *notes)) if notes else reading


def _asked(run: RunSummary) -> tuple[str, str, str | None]:
    return run.corpus, run.question, run.follow


def _mode_name(record: RunRecord) -> str:
    """The name of the mode of a kept run; `paper` was the only mode when none was written down."""
    return str(record.options.get("mode", "paper"))


def _mode_of(record: RunRecord) -> Mode:
    """The mode of a kept run. Raises UsageError if this version does not have it."""
    name = _mode_name(record)
    if name not in MODES:
        raise UsageError(
            f"The run {record.summary.run} was begun in the mode {name!r}, which this version does "
            f"not have: there are {' and '.join(MODES)}."
        )
    return MODES[name]


def _mode_note(options: Mapping[str, Any], mode: str | None) -> list[str]:
    begun = options.get("mode", mode)
    if mode is None or mode == begun:
        return []
    return [f"The run was begun in the mode {begun!r} and keeps it: a new id begins in {mode!r}."]
