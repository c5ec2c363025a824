"""One run, from its entry into the register to its end.

It is entered before anything is asked, and all that it decides is kept, so that it can be gone on
with wherever it breaks off. Where runs cannot be kept, or are not to be, it goes on all the same.

The runs that are kept: listed, shown, taken out, exported. No database is opened for it.

What comes before a question: what cannot be asked is refused, what should be known is told.

What a person should know beside a report or an answer, in sentences.
"""

import shlex
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, cast

from graphreader.agent.dependencies import AgentDependencies, Limits
from graphreader.agent.events import (
    Event,
    QuestionAnswered,
    RunBegan,
    as_plain,
    retold,
    retold_from,
)
from graphreader.agent.graph import build_agent
from graphreader.agent.run_store import (
    Checkpoints,
    Keeper,
    RunRecord,
    RunRegistry,
    RunSummary,
    forget,
    new_id,
    unkept,
)
from graphreader.agent.runs import (
    CheckpointThread,
    RunResult,
    Saver,
    explore,
    fork,
    fork_points,
    snapshot_of,
)
from graphreader.agent.training import TrainingReport, training_lines
from graphreader.errors import GraphReaderError, RunsError, UsageError
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget, names
from graphreader.reading import Reading
from graphreader.resources import Resources
from graphreader.settings import Mode
from graphreader.store import schema
from graphreader.store.catalog import Catalog
from graphreader.store.runs import RunWriter
from graphreader.store.writer import check_embedding


def unfinished(documents: int, waiting: Sequence[str]) -> list[str]:
    """A note on documents of which only a part can be found, if there are any."""
    if not waiting:
        return []
    named = ", ".join(waiting[:5]) + (", ..." if len(waiting) > 5 else "")
    return [
        f"{len(waiting)} of {documents} documents are not read completely ({named}): the same "
        "`graphreader ingest` reads on."
    ]


def empty(corpus: str) -> str:
    """What to do about a corpus without documents."""
    return (
        f"The corpus {corpus!r} is empty: read texts into it with "
        f"`graphreader ingest PATH --corpus {shlex.quote(corpus)}`."
    )


def another_decider(corpus: str, was: str, now: str) -> list[str]:
    """A note where texts keep the facts that somebody else took from them."""
    if was == now:
        return []
    name = shlex.quote(corpus)
    return [
        f"The facts of this corpus were taken by {was!r}, not by {now!r}: for facts of its own use "
        f"another --corpus, or run `graphreader delete --all --corpus {name}` and read again."
    ]


def validated_question(question: object) -> str:
    """The question as it is asked. Raises UsageError where there is none."""
    if not isinstance(question, str) or not question.strip():
        raise UsageError("The question is empty: ask something.")
    return without_surrogates(question.strip())


def with_options(question: str, options: Sequence[str]) -> str:
    """A multiple-choice question: it is to be answered with the words of one of the options."""
    if not options:
        return question
    return f"{question}\n\nAnswer with the words of one of these options:\n{names(options)}"


def without_surrogates(text: str) -> str:
    """The text without lone surrogates, which no driver or model takes.

    A command line that is not UTF-8 arrives with such.
    """
    return text.encode("utf-8", "replace").decode()


async def prepare_run(
    session: Resources, corpus: str, question: str, mode: Mode | None = None
) -> tuple[AgentDependencies, list[str]]:
    """What the agent needs to answer it, and what a person should know beside the answer.

    Raises UnknownCorpusError, EmbeddingMismatchError, UsageError.
    """
    library = Catalog(await session.connection())
    record = await library.corpus(corpus)
    parts = await session.parts(corpus, mode)
    check_embedding(corpus, record.embedding, session.embedder().name)
    await schema.check_dimension(parts.explorer.connection, session.embedder().dimension)
    extent = await library.extent(corpus)
    if not extent.documents:
        raise UsageError(empty(corpus))
    try:
        session.check_question(question, extent.chunk_tokens)
    except UsageError:  # it may fit all the same: few texts have a chunk that is full
        session.check_question(question, await library.largest_chunk(corpus))
    told = [parts.decider.notice] if parts.decider.notice else []
    told += another_decider(corpus, record.decider, session.builder_name)
    told += unfinished(extent.documents, extent.unfinished)
    return parts, told


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What is asked of which corpus, and how.

    `keep_run` writes the run into the graph at its end, `tokens` tells the answer while it is
    written.
    """

    corpus: str
    question: str
    mode: Mode | None = None
    keep_run: bool = False
    tokens: bool = False


async def start_run(session: Resources, wanted: RunRequest, run: str) -> AsyncGenerator[Event]:
    """A new run of that id; what a saver may still have of it goes."""
    parts, told = await _prepared(session, wanted)
    options = {
        "limits": asdict(parts.limits),
        "max_calls": parts.budget.max_calls,
        "max_tokens": parts.budget.max_tokens,
        "decider": parts.decider.name,
        "keep_run": wanted.keep_run,
        "mode": wanted.mode or session.settings.mode,
    }
    keeper = None
    if session.register:
        try:
            keeper = await _entered(session.register, wanted, run, options)
        except RunsError as error:
            told.append(unkept(error))
    async with aclosing(_run(session, wanted, run, parts, told, keeper)) as events:
        async for event in events:
            yield event


async def resume_run(
    session: Resources,
    record: RunRecord,
    tokens: bool,
    *,
    mode: Mode | None = None,
    keep_run: bool = False,
) -> AsyncGenerator[Event]:
    """A run that is kept; one that is finished only tells its reading.

    It goes on as it began, with what its budget has left; a larger budget may be set meanwhile.
    Another `mode` is noted only, and with `keep_run` it is written into the graph in any case.
    """
    run, options = record.summary, record.options
    as_begun = _as_it_began(options, mode)
    if record.reading and run.status == "finished":
        yield RunBegan(run.id)
        for event in retold_from(record.reading):
            yield event
        reading = await _in_graph(session, run.corpus, record.reading) if keep_run else None
        yield QuestionAnswered(_noted(reading or record.reading, *as_begun))
        return
    keep_run = keep_run or options["keep_run"]
    wanted = RunRequest(run.corpus, run.question, keep_run=keep_run, tokens=tokens)
    parts, told = await _prepared(session, wanted)
    told += as_begun
    if run.decider != parts.decider.name:
        told.append(f"The run was begun by {run.decider!r}, and {parts.decider.name!r} went on.")
    await session.kept.take(record)
    keeper = await Keeper.of(session.kept, run.id)
    parts = _as_begun(parts, options, keeper)
    async with aclosing(_run(session, wanted, run.id, parts, told, keeper, resumed=True)) as events:
        async for event in events:
            yield event


async def fork_run(
    session: Resources, record: RunRecord, step: int, tokens: bool
) -> AsyncGenerator[Event]:
    """A new run that begins before a step of one that is kept, which stays as it is."""
    run, id = record.summary, new_id()
    wanted = RunRequest(
        run.corpus, run.question, keep_run=record.options["keep_run"], tokens=tokens
    )
    parts, told = await _prepared(session, wanted)
    saver = await session.saver()
    if saver is None:
        raise UsageError("The steps of runs are not kept: no run can begin before one of them.")
    agent = build_agent(parts, session.steps, saver)
    await fork(agent, CheckpointThread(saver, run.id), step, CheckpointThread(saver, id))
    options = {**record.options, "decider": parts.decider.name, "from": run.id, "step": step}
    keeper = await _entered(session.kept, wanted, id, options)
    parts = _as_begun(parts, options, keeper)
    async with aclosing(_run(session, wanted, id, parts, told, keeper, resumed=True)) as events:
        async for event in events:
            yield event


async def _prepared(session: Resources, wanted: RunRequest) -> tuple[AgentDependencies, list[str]]:
    parts, told = await prepare_run(session, wanted.corpus, wanted.question, wanted.mode)
    return replace(parts, tokens=wanted.tokens), told


async def _run(
    session: Resources,
    wanted: RunRequest,
    run: str,
    parts: AgentDependencies,
    told: list[str],
    keeper: Keeper | None,
    *,
    resumed: bool = False,
) -> AsyncGenerator[Event]:
    """What happens in the run; its end, whichever it is, is noted."""
    if keeper:
        parts = replace(parts, decider=keeper.journaled(parts.decider))
    try:
        saver = await session.saver()
        thread = await _thread(saver, run, resumed)
        known_as = run if thread or keeper else ""
        async with aclosing(
            explore(
                wanted.question,
                parts,
                told,
                thread=thread,
                resumed=resumed,
                run=known_as,
                steps=session.steps,
            )
        ) as events:
            async for event in events:
                if isinstance(event, RunResult):
                    reading = await _finished(session, wanted, event, keeper, saver)
                    yield QuestionAnswered(reading)
                else:
                    yield event
    except GraphReaderError as error:
        if keeper:
            await keeper.fail(str(error))
        raise
    except BaseException:
        if keeper:
            await keeper.interrupt()
        raise


async def _thread(saver: Saver | None, run: str, resumed: bool) -> CheckpointThread | None:
    if saver is None:
        return None
    thread = CheckpointThread(saver, run, whole=isinstance(saver, Checkpoints))
    if not resumed:
        await thread.clear()
    return thread


async def _finished(
    session: Resources,
    wanted: RunRequest,
    ended: RunResult,
    keeper: Keeper | None,
    saver: Saver | None,
) -> Reading:
    """The reading as it is given back, once the run is written down as far as it is to be."""
    reading = ended.reading
    if wanted.keep_run:
        reading = await _in_graph(session, wanted.corpus, reading)
    if keeper:
        reading = await keeper.finish(reading, ended.failure)
        reading = _noted(reading, *await _tidied(session, keeper.run, saver, bool(ended.failure)))
    return reading


async def _in_graph(session: Resources, corpus: str, reading: Reading) -> Reading:
    """The reading, with a note where it cannot be written into the graph."""
    note = await RunWriter(await session.connection(), corpus).write(reading)
    return _noted(reading, note) if note else reading


def _noted(reading: Reading, *notes: str) -> Reading:
    return replace(reading, notes=(*reading.notes, *notes)) if notes else reading


def _as_it_began(options: Mapping[str, Any], mode: Mode | None) -> list[str]:
    """A note for whoever asks for another mode than the run has."""
    begun = options.get("mode", mode)
    if mode is None or mode == begun:
        return []
    return [f"The run was begun in the mode {begun!r} and keeps it: a new id begins in {mode!r}."]


async def _entered(
    register: RunRegistry, wanted: RunRequest, run: str, options: Mapping[str, Any]
) -> Keeper:
    """The keeper of a new run. Raises UsageError where another one took the id meanwhile."""
    if not await register.begin(run, wanted.corpus, wanted.question, options):
        raise UsageError(f"The run {run} is under way already: wait until it has ended.")
    return await Keeper.of(register, run)


def _as_begun(
    parts: AgentDependencies, options: Mapping[str, Any], keeper: Keeper
) -> AgentDependencies:
    """The parts with the limits of the run's beginning, and what its budget has left."""
    now = parts.budget
    budget = Budget(
        now.max_calls or options["max_calls"],
        now.max_tokens or options["max_tokens"],
        now.answer_tokens,
    )
    budget.count(keeper.spent)
    known = {one.name for one in fields(Limits)}
    limits = {name: value for name, value in options["limits"].items() if name in known}
    return replace(parts, budget=budget, limits=replace(parts.limits, **limits))


async def _tidied(session: Resources, run: str, saver: Saver | None, failed: bool) -> list[str]:
    """What nobody needs any more of the run that has ended goes, and the oldest runs.

    Only the newest are kept, as many as GRAPHREADER_KEPT_RUNS. What goes wrong is but a note.
    """
    if isinstance(saver, Checkpoints) and not failed:
        await saver.settle(run)
    if saver is None or session.register is None:
        return []
    try:
        old = await session.register.expired(session.settings.kept_runs)
        await forget(session.register, saver, old)
    except RunsError:
        pass  # the next run tries again, and a failure of the file is told already
    except Exception as error:  # a saver of the user's own may raise anything
        return [f"The oldest runs could not be taken out: {error or type(error).__name__}"]
    return []


@dataclass(frozen=True, slots=True)
class KeptRun:
    """All that is known of a run.

    `events` tell what has happened, as to one who watches; `reading` is what came of it, None while
    it has no answer. `steps` are those before which it can be begun again, by their numbers.
    """

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


class KeptRuns:
    """What can be done with kept runs beside going on with them."""

    def __init__(self, session: Resources) -> None:
        self._session = session

    async def summaries(self, corpus: str | None = None) -> list[RunSummary]:
        """The runs, of one corpus or of all, newest first."""
        register = self._session.register
        return await register.summaries(corpus) if register else []

    async def show(self, run: str) -> KeptRun:
        """The run whose id is, or alone begins with, `run`. Raises UnknownRunError."""
        record = await self._session.kept.get(run)
        saver = await self._session.saver()
        events: Iterable[Event] = ()
        steps: Mapping[int, str] = {}
        if saver:
            # An agent that only remembers: it looks nowhere and decides nothing.
            agent = build_agent(cast(AgentDependencies, None), checkpointer=saver)
            thread = CheckpointThread(saver, record.summary.id)
            steps = await fork_points(agent, thread)
            snapshot = await snapshot_of(agent, thread)
            events = retold(snapshot) if snapshot else ()
        if record.reading:
            events = retold_from(record.reading)
        return KeptRun(record.summary, tuple(events), record.reading, steps)

    async def delete(
        self, runs: Sequence[str] = (), *, everything: bool = False, before: float | None = None
    ) -> int:
        """Take runs out, named by the beginnings of their ids; how many they were.

        Or all of them, or those that have not changed since `before`, in seconds of the epoch; of
        these, the ones that are under way stay.
        """
        if bool(runs) + everything + (before is not None) != 1:
            raise UsageError("Name the runs to delete, or say that all or the old ones shall go.")
        if runs:
            chosen = [(await self._session.kept.get(run)).summary for run in runs]
            for run in chosen:
                if run.status == "running":
                    raise UsageError(f"The run {run.id} is under way: wait until it has ended.")
        else:
            chosen = [one for one in await self.summaries() if one.status != "running"]
        ids = {one.id for one in chosen if before is None or one.updated < before}
        if ids:
            await forget(self._session.kept, await self._session.saver(), ids)
        return len(ids)

    async def training(
        self, report: TrainingReport, runs: Sequence[str] = (), corpus: str | None = None
    ) -> AsyncGenerator[str]:
        """Lines of decisions, those of the named runs or else of all that are finished."""
        if runs:
            chosen = [(await self._session.kept.get(run)).summary for run in runs]
        else:
            chosen = [one for one in await self.summaries(corpus) if one.status == "finished"]
        prompts = Prompts(self._session.settings.prompts)
        async for line in training_lines(self._session.kept.file, chosen, prompts, report):
            yield line
