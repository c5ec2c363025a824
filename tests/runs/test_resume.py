"""Runs that break off and are resumed, forked, listed and deleted."""

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from graphreader.agent.decisions import FactsDecision
from graphreader.agent.events import (
    ChunkRead,
    Event,
    FactsRead,
    FunctionChosen,
    NeighborsSeen,
    NodesChosen,
    NoteTaken,
    PathEnded,
    PlanMade,
    QuestionAnswered,
    RunBegan,
)
from graphreader.agent.tasks import (
    AnswerTask,
    ChunkTask,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.errors import DecisionError, ModelUnavailableError, UnknownRunError, UsageError
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import digest, world

QUESTION = "Who met whom?"
AFTER_PLAN = {FactsTask, ChunkTask, NeighborTask, AnswerTask}

IN_A_FILE = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


def cases(names: str, *rows: tuple[Any, ...], postgres: set[int]) -> pytest.MarkDecorator:
    """Cases of a test, all with a file, and those of some numbers also with PostgreSQL."""
    in_files = [(*row, "sqlite") for row in rows]
    slow = [pytest.param(*rows[n], "postgres", marks=pytest.mark.slow) for n in sorted(postgres)]
    every = [*in_files, *slow]
    return pytest.mark.parametrize((*names.split(), "place"), every, indirect=["place"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "runs.sqlite"


@pytest.fixture
def settings(neo4j: Settings, place: Path | str, path: Path) -> Settings:
    """Settings with a home of the test's own, and the runs there or in PostgreSQL."""
    database = SecretStr(place) if isinstance(place, str) else None
    return world.settings(neo4j, home=path.parent, initial_nodes=2, database=database)


def asking(
    settings: Settings, corpus: str, script: dict[Any, Any] | None = None, **options: Any
) -> tuple[GraphReader, ScriptedDecider]:
    decider = world.scripted(world.RING_FACTS, world.EXPLORING | (script or {}))
    return GraphReader(corpus, settings=settings, decider=decider, **options), decider


def unbroken(settings: Settings, corpus: str) -> tuple[Reading, ScriptedDecider]:
    reader, decider = asking(settings, corpus)
    with reader:
        return reader.ask(QUESTION), decider


@pytest.fixture(scope="module")
def whole(
    neo4j: Settings, ring: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Reading, ScriptedDecider]:
    """The question, asked without an interruption."""
    return unbroken(
        world.settings(neo4j, home=tmp_path_factory.mktemp("home"), initial_nodes=2), ring
    )


def broken_off(
    reader: GraphReader,
    at: type[Any],
    number: int = 1,
    question: str = QUESTION,
    id: str | None = None,
) -> str:
    """Listen up to the event, and no further; the id of the run."""
    run = ""
    with closing(reader.stream(question, run=id)) as events:
        for event in events:
            run = run or event.run  # type: ignore[union-attr]  # the first one is RunBegan
            number -= isinstance(event, at)
            if not number:
                return run
    raise AssertionError("it has ended")


def begun(
    settings: Settings, corpus: str, at: type[Any], number: int = 1, **options: Any
) -> tuple[str, ScriptedDecider]:
    """Ask up to the event, and close the reader; the id of the run, and its decider."""
    reader, decider = asking(settings, corpus, **options)
    with reader:
        return broken_off(reader, at, number), decider


def resumed(
    settings: Settings, corpus: str, run: str, **options: Any
) -> tuple[Reading, ScriptedDecider]:
    """Resume the run by another reader."""
    reader, decider = asking(settings, corpus, **options)
    with reader:
        return reader.resume(run), decider


def plain(reading: Reading) -> Reading:
    """The reading without the run's id and the time that it took."""
    return replace(reading, run="", usage=replace(reading.usage, seconds=0))


def kinds(decider: ScriptedDecider) -> set[type[Any]]:
    return {type(task) for task in decider.asked}


Whole = tuple[Reading, ScriptedDecider]


# Wherever a run breaks off, it goes on without asking again what was decided, to the same end.
@cases(
    "at number",
    (RunBegan, 1),
    (PlanMade, 1),
    (NodesChosen, 1),
    (FactsRead, 3),
    (FunctionChosen, 1),
    (NoteTaken, 3),
    (NeighborsSeen, 2),
    (PathEnded, 2),
    (QuestionAnswered, 1),
    postgres={1, 3, 7},
)
def test_nothing_is_asked_twice(
    settings: Settings, ring: str, whole: Whole, at: type[Any], number: int
) -> None:
    run, first = begun(settings, ring, at, number)
    reading, second = resumed(settings, ring, run)

    assert plain(reading) == plain(whole[0])
    assert reading.run == run
    assert not set(first.asked) & set(second.asked)
    assert set(first.asked) | set(second.asked) == set(whole[1].asked)


# A stream of a resumed run also yields what had happened before, and so does one of a finished run.
def test_a_resumed_run_is_replayed(settings: Settings, ring: str) -> None:
    def seen(events: list[Event]) -> set[Any]:
        kinds = (PlanMade, NodesChosen, FunctionChosen, PathEnded)
        return {event for event in events if isinstance(event, kinds)}

    reader, _ = asking(settings, ring)
    with reader:
        expected = seen(list(reader.stream(QUESTION)))
        run = broken_off(reader, PathEnded)
        resumed = list(reader.stream_resume(run))
        again = list(reader.stream_resume(run))

    assert resumed[0] == again[0] == RunBegan(run)
    assert seen(resumed) == expected
    assert seen(again) >= {one for one in expected if isinstance(one, FunctionChosen)}
    assert resumed[-1] == again[-1]


# Runs of other versions: one whose limits have a field more is resumed with the known ones, one
# without a mode, as when there was only that of the paper, in that mode; one of a mode that is not
# known is neither resumed nor shown, and the known ones are named.
@IN_A_FILE
def test_other_versions(settings: Settings, ring: str) -> None:
    changes = ["set(options, '$.limits.unknown', 1)", "remove(options, '$.mode')"]
    changes += ["set(options, '$.mode', 'quick')"]
    runs = [begun(settings, ring, PathEnded)[0] for _ in changes]
    with closing(sqlite3.connect(settings.home / "runs.sqlite")) as file:
        for run, change in zip(runs, changes, strict=True):
            file.execute(f"UPDATE runs SET options = json_{change} WHERE id = ?", (run,))
        file.commit()
    limits, moded = (
        resumed(settings.model_copy(update={"mode": mode}), ring, run)[0]
        for mode, run in zip(("paper", "adaptive"), runs[:2], strict=True)
    )
    reader, _ = asking(settings, ring)
    with reader:
        for look in (reader.resume, reader.run):
            with pytest.raises(UsageError, match=r"mode .quick.,.* there are adaptive and paper"):
                look(runs[2])

    assert limits.answered
    assert moded.answered
    assert len(moded.paths) == 2


# A finished run is asked nothing more: its id, or a prefix of it, gives its reading back, also to a
# reader of another corpus; the id is refused for another question. Another mode is only noted, and
# the run is written into the graph when that is asked for.
def test_a_finished_run(settings: Settings, ring: str) -> None:
    id = f"{ring} kept"
    reader, decider = asking(settings, ring)
    with reader:
        first = reader.ask(QUESTION, run=id)
        asked = len(decider.asked)
        other = reader.ask(QUESTION, run=id, keep_run=True, mode="adaptive")
        elsewhere = reader.at("another").resume(id[:-2])
        with pytest.raises(UsageError, match="another question"):
            reader.ask("Who is Eta?", run=id)
    rows = digest.rows(settings, "MATCH (r:Run {id: $id}) RETURN r.answer AS a", id=id)

    assert first.run == id
    assert first == elsewhere == replace(other, notes=())
    assert "begun in the mode 'paper' and keeps it" in other.notes[0]
    assert len(decider.asked) == asked
    assert [row["a"] for row in rows] == [first.answer]


# A run in which every path failed goes on with all of them once the model answers, and one without
# an answer only asks for that; what it had found is its reading until then. With a saver of the
# user's own it is the same.
@cases(
    "step error again own_saver",
    (ChunkTask, "Every path failed, the first one so: Nobody answers.", AFTER_PLAN, False),
    (NeighborTask, "Every path failed, the first one so: Nobody answers.", AFTER_PLAN, True),
    (AnswerTask, "No answer was put together: Nobody answers.", {AnswerTask}, False),
    postgres={0},
)
def test_failed(
    settings: Settings, ring: str, whole: Whole, step: Any, error: str, again: Any, own_saver: bool
) -> None:
    def away(task: Any) -> Any:
        raise ModelUnavailableError("Nobody answers.")

    options: dict[str, Any] = {"checkpointer": InMemorySaver()} if own_saver else {}
    reader, first = asking(settings, ring, {step: away}, **options)
    with reader:
        if step is ChunkTask:
            with pytest.raises(DecisionError, match="Every path failed"):
                reader.ask(QUESTION, run="failing")
        else:
            part = reader.ask(QUESTION, run="failing")
            assert reader.run("failing").reading == part
        failed = reader.run("failing").summary
    reader, second = asking(settings, ring, **options)
    with reader:
        reading = reader.ask(QUESTION, run="failing")
        status = reader.run("failing").summary.status

    assert (failed.status, failed.error, status) == ("failed", error, "finished")
    assert plain(reading) == plain(whole[0])
    assert step in kinds(second) <= again
    assert not {one for one in first.asked if not isinstance(one, step)} & set(second.asked)


# A path that failed in a run that broke off is taken again, and no decision with it.
@cases("at", (PathEnded,), (QuestionAnswered,), postgres={1})
def test_failed_path(settings: Settings, ring: str, whole: Whole, at: type[Any]) -> None:
    failing: list[Any] = []

    def away(task: Any) -> Any:
        if not failing or failing == [task]:
            failing.append(task)
            raise ModelUnavailableError("Nobody answers.")
        return world.quote_and_note(task)

    def broken(task: Any) -> Any:
        raise RuntimeError("Oh!")

    script = {ChunkTask: away, **({AnswerTask: broken} if at is QuestionAnswered else {})}
    reader, first = asking(settings, ring, script)
    with reader:
        if at is PathEnded:
            run = broken_off(reader, at)
        else:
            with pytest.raises(RuntimeError):
                broken_off(reader, at)
            (kept,) = reader.runs()
            run = kept.run
    reading, second = resumed(settings, ring, run)

    assert plain(reading) == plain(whole[0])
    assert set(first.asked) & set(second.asked) <= {*failing, *whole[1].asked[-1:]}


# What one part of a run has spent is gone from the budget of the next.
def test_budget(settings: Settings, ring: str) -> None:
    limited = settings.model_copy(update={"max_calls": 8})
    run, first = begun(limited, ring, FunctionChosen, 3)
    reading, second = resumed(settings, ring, run)

    assert reading.usage.calls == len(first.asked) + len(second.asked) <= 8
    assert {path.stopped for path in reading.paths} == {"budget"}


# A run begins anew before one of its steps as another run, and the old one stays.
@cases(
    "step again",
    (1, {PlanTask, InitialNodesTask, *AFTER_PLAN}),
    (3, AFTER_PLAN),
    (4, {AnswerTask}),
    postgres={1},
)
def test_forked(settings: Settings, ring: str, step: int, again: set[Any]) -> None:
    first, _ = unbroken(settings, ring)
    reader, decider = asking(settings, ring)
    with reader:
        reading = reader.resume(first.run, step=step)
        old = reader.resume(first.run)
        with pytest.raises(UsageError, match="no step 0"):
            reader.resume(first.run, step=0)

    assert kinds(decider) == again
    assert plain(reading) == plain(first)
    assert reading.run != first.run
    assert old == first


# A fork has a whole budget of its own, also after it has broken off and is resumed.
def test_budget_of_a_fork(settings: Settings, ring: str) -> None:
    first, _ = unbroken(settings, ring)
    limited = settings.model_copy(update={"max_calls": first.usage.calls - 1})
    reader, _ = asking(limited, ring)
    with reader, closing(reader.stream_resume(first.run, step=3)) as events:
        fork = next(event.run for event in events if isinstance(event, RunBegan))
        next(event for event in events if isinstance(event, NeighborsSeen))
    reading, _ = resumed(limited, ring, fork)

    assert plain(reading) == plain(first)


# With nothing to be kept there is no file, and nothing to resume. To keep a run changes nothing in
# it, also where a decider is shown less than the first choices.
@IN_A_FILE
def test_kept_is_like_unkept(settings: Settings, corpus: str, cleaned: None) -> None:
    settings = settings.model_copy(update={"chunk_tokens": 120})
    unkept = settings.model_copy(update={"kept_runs": 0, "home": settings.home / "empty"})
    question = "Who taught the clockmaker that built the clockwork of the lighthouse?"
    with GraphReader(corpus, settings=settings) as reader:
        reader.ingest(Path(__file__).parents[2] / "notebooks" / "harbour")
        kept = reader.ask(question)
    with GraphReader(corpus, settings=unkept) as reader:
        other = reader.ask(question)
        with pytest.raises(UnknownRunError, match="GRAPHREADER_KEPT_RUNS"):
            reader.resume("any")

    assert not (unkept.home / "runs.sqlite").exists()
    assert all(path.calls for path in kept.paths)
    assert other.run == ""
    assert plain(kept) == plain(other)


# Many questions are answered in their order, and one that fails ends no other.
@IN_A_FILE
def test_batch(settings: Settings, ring: str) -> None:
    reader, _ = asking(settings, ring)
    questions = ["Who met Alpha?", " ", "Who met Beta?"]
    with reader:
        outcomes = reader.batch(questions, return_exceptions=True)
        with pytest.raises(UsageError, match="empty"):
            reader.batch(questions)
        places = {place for place, _ in reader.batch_as_completed(questions, runs=["a", "b", "c"])}
        runs = {one.run for one in reader.runs()}

    assert [getattr(one, "question", None) for one in outcomes] == [
        questions[0],
        None,
        questions[2],
    ]
    assert places == {0, 1, 2}
    assert {"a", "c"} <= runs


# At most twice as many questions are under way at once as requests may be.
@IN_A_FILE
async def test_batch_is_bounded(settings: Settings, ring: str) -> None:
    now, most = 0, 0
    four = asyncio.Barrier(4)

    async def slow(task: FactsTask) -> FactsDecision:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await four.wait()
        await asyncio.sleep(0.05)  # time for a fifth one, if it may
        now -= 1
        return world.facts("stop_and_read_neighbor", [])

    settings = settings.model_copy(update={"concurrency": 2, "initial_nodes": 1})
    reader, _ = asking(settings, ring, {FactsTask: slow, NeighborTask: lambda _: world.neighbor(0)})
    names = world.RING_NAMES[:4]
    questions = [f"Who {verb} {name}?" for verb in ("met", "knew") for name in names]
    readings = await reader.abatch(questions)
    await reader.aclose()

    assert [reading.question for reading in readings] == questions
    assert most == 4


# A saver of the user's own keeps the steps, plain types that LangGraph can read back; the run store
# still lists the run.
@IN_A_FILE
def test_own_saver(settings: Settings, ring: str, whole: Whole) -> None:
    saver = InMemorySaver()
    run, first = begun(settings, ring, ChunkRead, checkpointer=saver)
    reader, second = asking(settings, ring, checkpointer=saver)
    with reader:
        reading = reader.resume(run)
        (listed,) = reader.runs()
    kept = list(saver.list({"configurable": {"thread_id": run}}))
    states = [
        {k: v for k, v in values.items() if not k.startswith(("__", "branch:"))}
        for values in (one.checkpoint["channel_values"] for one in kept)
    ]

    assert plain(reading) == plain(whole[0])
    assert listed.status == "finished"
    assert not set(first.asked) & set(second.asked)
    assert len(kept) > 10
    assert json.loads(json.dumps(states)) == states
