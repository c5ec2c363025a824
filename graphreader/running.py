"""One run, from its entry into the register to its end.

It is entered before anything is asked, and all that it decides is kept, so that it can be gone on
with wherever it breaks off. Where runs cannot be kept, or are not to be, it goes on all the same.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from graphreader.agent.asking import Ended, explore
from graphreader.agent.events import Event, QuestionAnswered, RunBegan
from graphreader.agent.graph import build_agent
from graphreader.agent.parts import Limits, Parts
from graphreader.agent.resuming import Saver, Thread, fork
from graphreader.agent.retelling import retold_from
from graphreader.deciding.budget import Budget
from graphreader.errors import GraphReaderError, RunsError, UsageError
from graphreader.preparing import prepared
from graphreader.reading import Reading
from graphreader.runs.checkpoints import Checkpoints
from graphreader.runs.keeper import Keeper, forget
from graphreader.runs.register import Register, RunRecord, new_id
from graphreader.runs.run_file import unkept
from graphreader.session import Session
from graphreader.settings import Mode
from graphreader.store.run_writer import RunWriter


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of which corpus, and how.

    `keep_run` writes the run into the graph at its end, `tokens` tells the answer while it is
    written.
    """

    corpus: str
    question: str
    mode: Mode | None = None
    keep_run: bool = False
    tokens: bool = False


async def begin(session: Session, wanted: Wanted, run: str) -> AsyncGenerator[Event]:
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


async def go_on(
    session: Session,
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
    wanted = Wanted(run.corpus, run.question, keep_run=keep_run, tokens=tokens)
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


async def branch(
    session: Session, record: RunRecord, step: int, tokens: bool
) -> AsyncGenerator[Event]:
    """A new run that begins before a step of one that is kept, which stays as it is."""
    run, id = record.summary, new_id()
    wanted = Wanted(run.corpus, run.question, keep_run=record.options["keep_run"], tokens=tokens)
    parts, told = await _prepared(session, wanted)
    saver = await session.saver()
    if saver is None:
        raise UsageError("The steps of runs are not kept: no run can begin before one of them.")
    agent = build_agent(parts, session.steps, saver)
    await fork(agent, Thread(saver, run.id), step, Thread(saver, id))
    options = {**record.options, "decider": parts.decider.name, "from": run.id, "step": step}
    keeper = await _entered(session.kept, wanted, id, options)
    parts = _as_begun(parts, options, keeper)
    async with aclosing(_run(session, wanted, id, parts, told, keeper, resumed=True)) as events:
        async for event in events:
            yield event


async def _prepared(session: Session, wanted: Wanted) -> tuple[Parts, list[str]]:
    parts, told = await prepared(session, wanted.corpus, wanted.question, wanted.mode)
    return replace(parts, tokens=wanted.tokens), told


async def _run(
    session: Session,
    wanted: Wanted,
    run: str,
    parts: Parts,
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
                if isinstance(event, Ended):
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


async def _thread(saver: Saver | None, run: str, resumed: bool) -> Thread | None:
    if saver is None:
        return None
    thread = Thread(saver, run, whole=isinstance(saver, Checkpoints))
    if not resumed:
        await thread.clear()
    return thread


async def _finished(
    session: Session, wanted: Wanted, ended: Ended, keeper: Keeper | None, saver: Saver | None
) -> Reading:
    """The reading as it is given back, once the run is written down as far as it is to be."""
    reading = ended.reading
    if wanted.keep_run:
        reading = await _in_graph(session, wanted.corpus, reading)
    if keeper:
        reading = await keeper.finish(reading, ended.failure)
        reading = _noted(reading, *await _tidied(session, keeper.run, saver, bool(ended.failure)))
    return reading


async def _in_graph(session: Session, corpus: str, reading: Reading) -> Reading:
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
    register: Register, wanted: Wanted, run: str, options: Mapping[str, Any]
) -> Keeper:
    """The keeper of a new run. Raises UsageError where another one took the id meanwhile."""
    if not await register.begin(run, wanted.corpus, wanted.question, options):
        raise UsageError(f"The run {run} is under way already: wait until it has ended.")
    return await Keeper.of(register, run)


def _as_begun(parts: Parts, options: Mapping[str, Any], keeper: Keeper) -> Parts:
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


async def _tidied(session: Session, run: str, saver: Saver | None, failed: bool) -> list[str]:
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
