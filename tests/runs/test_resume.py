"""Runs that break off and are gone on with."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_neo4j import AsyncNeo4jSaver, Neo4jSaver
from langgraph.checkpoint.memory import InMemorySaver
from neo4j import AsyncGraphDatabase

from graphreader import sync
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
from graphreader.agent.run_store import RunCheckpoints, RunStore
from graphreader.agent.tasks import (
    AnswerTask,
    ChunkTask,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.errors import (
    DecisionError,
    ModelUnavailableError,
    RunsError,
    UnknownRunError,
    UsageError,
)
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import digest, world

QUESTION = "Who met whom?"

EXPLORING: dict[Any, Any] = {
    ChunkTask: lambda task: world.chunk(
        "search_more", f"{task.notebook} {task.label}.".strip(), [task.text.split(".")[0]]
    ),
    NeighborTask: lambda task: world.neighbor(1 if len(task.actions) < 4 else 0),
}


@pytest.fixture(scope="module")
def corpus(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A corpus of seven names in a ring; asking never changes it."""
    texts = world.write_files(tmp_path_factory.mktemp("ring"), {"ring": world.RING})
    name = f"test-ring-{uuid4().hex[:12]}"
    with world.reader(neo4j, name, world.scripted(world.RING_FACTS, {})) as reader:
        reader.ingest(texts)
        yield name
        reader.delete(everything=True)


@pytest.fixture
def ring(neo4j: Settings, tmp_path: Path) -> Settings:
    """Its settings, with a home of the test's own."""
    return world.settings(neo4j, home=tmp_path / "home", initial_nodes=2)


def asking(
    settings: Settings, corpus: str, script: dict[Any, Any] | None = None, **given: Any
) -> tuple[GraphReader, ScriptedDecider]:
    decider = world.scripted(world.RING_FACTS, EXPLORING | (script or {}))
    return GraphReader(corpus, settings=settings, decider=decider, **given), decider


def unbroken(settings: Settings, corpus: str) -> tuple[Reading, ScriptedDecider]:
    reader, decider = asking(settings, corpus)
    with reader:
        return reader.ask(QUESTION), decider


def broken_off(reader: GraphReader, at: type[Any], number: int = 1) -> str:
    """Listen up to the event, and no further; the id of the run."""
    run = ""
    with closing(reader.stream(QUESTION)) as events:
        for event in events:
            run = run or event.run  # type: ignore[union-attr]  # the first one is RunBegan
            number -= isinstance(event, at)
            if not number:
                return run
    raise AssertionError("it has ended")


def plain(reading: Reading) -> Reading:
    """The reading without the run's id and the time that it took."""
    return replace(reading, run="", usage=replace(reading.usage, seconds=0))


# Wherever a run breaks off, it goes on without asking again what was decided, to the same end.
@pytest.mark.parametrize(
    ("at", "number"),
    [
        (RunBegan, 1),
        (PlanMade, 1),
        (NodesChosen, 1),
        (FactsRead, 1),
        (FactsRead, 3),
        (FunctionChosen, 1),
        (ChunkRead, 2),
        (NoteTaken, 3),
        (NeighborsSeen, 1),
        (NeighborsSeen, 2),
        (PathEnded, 1),
        (PathEnded, 2),
        (QuestionAnswered, 1),
    ],
)
def test_nothing_is_asked_twice(ring: Settings, corpus: str, at: type[Any], number: int) -> None:
    whole, asked = unbroken(ring, corpus)
    reader, first = asking(ring, corpus)
    with reader:
        run = broken_off(reader, at, number)
    reader, second = asking(ring, corpus)
    with reader:
        reading = reader.resume(run)

    assert plain(reading) == plain(whole)
    assert reading.run == run
    assert not set(first.asked) & set(second.asked)
    assert set(first.asked) | set(second.asked) == set(asked.asked)


# Who watches a run go on sees also what had happened before.
def test_the_whole_is_seen(ring: Settings, corpus: str) -> None:
    def seen(events: Iterator[Event]) -> dict[type[Any], set[Any]]:
        kinds = (PlanMade, NodesChosen, FunctionChosen, PathEnded)
        heard = [event for event in events if isinstance(event, kinds)]
        return {kind: {one for one in heard if isinstance(one, kind)} for kind in kinds}

    reader, _ = asking(ring, corpus)
    with reader:
        whole = seen(reader.stream(QUESTION))
        run = broken_off(reader, PathEnded)
        resumed = list(reader.stream_resume(run))
        again = list(reader.stream_resume(run))

    assert resumed[0] == again[0] == RunBegan(run)
    assert seen(iter(resumed)) == whole
    assert resumed[-1] == again[-1]
    assert seen(iter(again))[FunctionChosen] == whole[FunctionChosen]


# A run that is finished is asked nothing more, and its reading is given back whole.
def test_finished(ring: Settings, corpus: str) -> None:
    reading, _ = unbroken(ring, corpus)
    reader, decider = asking(ring, "another")
    with reader:
        again = reader.resume(reading.run[:6])

    assert again == reading
    assert decider.asked == []


# The same id goes on with the same question, and is refused for another one.
def test_named(ring: Settings, corpus: str) -> None:
    reader, decider = asking(ring, corpus)
    with reader:
        reading = reader.ask(QUESTION, run="first question")
        asked = len(decider.asked)
        again = reader.ask(QUESTION, run="first question")
        with pytest.raises(UsageError, match="another question"):
            reader.ask("Who is Eta?", run="first question")

    assert reading.run == "first question"
    assert again == reading
    assert len(decider.asked) == asked


# A run that every path failed in goes on with all of them, once the model answers.
def test_failed(ring: Settings, corpus: str) -> None:
    def gone(task: ChunkTask) -> Any:
        raise ModelUnavailableError("Nobody answers.")

    whole, _ = unbroken(ring, corpus)
    reader, first = asking(ring, corpus, {ChunkTask: gone})
    with reader:
        with pytest.raises(DecisionError, match="Every path failed"):
            reader.ask(QUESTION, run="failing")
        (failed,) = [run for run in reader.runs() if run.id == "failing"]
    reader, second = asking(ring, corpus)
    with reader:
        reading = reader.resume("failing")

    assert (failed.status, failed.error) == (
        "failed",
        "Every path failed, the first one so: Nobody answers.",
    )
    assert plain(reading) == plain(whole)
    assert {type(task) for task in second.asked} >= {ChunkTask, AnswerTask}
    assert not {PlanTask, InitialNodesTask} & {type(task) for task in second.asked}
    read = [task for task in first.asked if isinstance(task, FactsTask)]
    assert not set(read) & set(second.asked)


# What one part of a run has spent is gone from the budget of the next.
def test_budget(ring: Settings, corpus: str) -> None:
    settings = ring.model_copy(update={"max_calls": 8})
    reader, first = asking(settings, corpus)
    with reader:
        run = broken_off(reader, FunctionChosen, 3)
    reader, second = asking(ring, corpus)
    with reader:
        reading = reader.resume(run)

    assert len(first.asked) + len(second.asked) <= 8
    assert reading.usage.calls == len(first.asked) + len(second.asked)
    assert {path.stopped for path in reading.paths} == {"budget"}


# A saver of the user's own keeps the steps; the register stays ours.
def test_another_saver(ring: Settings, corpus: str) -> None:
    whole, _ = unbroken(ring, corpus)
    saver = InMemorySaver()
    reader, first = asking(ring, corpus, checkpointer=saver)
    with reader:
        run = broken_off(reader, ChunkRead)
    reader, second = asking(ring, corpus, checkpointer=saver)
    with reader:
        reading = reader.resume(run)
        (shown,) = [one for one in reader.runs() if one.id == run]

    assert plain(reading) == plain(whole)
    assert shown.status == "finished"
    assert not set(first.asked) & set(second.asked)
    assert saver.get({"configurable": {"thread_id": run}})


# A run begins anew before one of its steps as another run, and the old one stays.
@pytest.mark.parametrize(
    ("step", "kinds"),
    [
        (1, {PlanTask, InitialNodesTask, FactsTask, ChunkTask, NeighborTask, AnswerTask}),
        (2, {InitialNodesTask, FactsTask, ChunkTask, NeighborTask, AnswerTask}),
        (3, {FactsTask, ChunkTask, NeighborTask, AnswerTask}),
        (4, {AnswerTask}),
    ],
)
def test_replayed(ring: Settings, corpus: str, step: int, kinds: set[Any]) -> None:
    whole, _ = unbroken(ring, corpus)
    reader, decider = asking(ring, corpus)
    with reader:
        reading = reader.resume(whole.run, step=step)
        old = reader.resume(whole.run)

    assert {type(task) for task in decider.asked} == kinds
    assert plain(reading) == plain(whole)
    assert reading.run != whole.run
    assert old == whole


# A run that is under way in this process cannot be gone on with a second time.
def test_under_way(ring: Settings, corpus: str) -> None:
    reader, _ = asking(ring, corpus)
    with reader, closing(reader.stream(QUESTION, run="one")) as events:
        next(events), next(events)
        with pytest.raises(UsageError, match="under way"):
            reader.resume("one")
        with pytest.raises(UsageError, match="under way"):
            reader.delete_runs("one")

        assert [run.status for run in reader.runs()] == ["running"]


# An unfinished run shows how far it has come, without any database.
def test_unfinished_is_shown(ring: Settings, corpus: str) -> None:
    reader, _ = asking(ring, corpus)
    with reader:
        run = broken_off(reader, NoteTaken, 2)
    nowhere = ring.model_copy(update={"neo4j_uri": "bolt://127.0.0.1:1"})
    with GraphReader(settings=nowhere) as reader:
        shown = reader.run(run)

    assert shown.summary.status == "interrupted"
    assert shown.reading is None
    assert {type(event) for event in shown.events} >= {PlanMade, NodesChosen, FunctionChosen}
    assert shown.steps == {1: "rational_plan", 2: "initial_nodes", 3: "path"}
    assert shown.as_dict()["events"][0]["event"] == "PlanMade"


# With nothing to be kept there is no file, and nothing to go on with.
def test_nothing_is_kept(ring: Settings, corpus: str) -> None:
    settings = ring.model_copy(update={"kept_runs": 0, "home": ring.home / "empty"})
    reader, _ = asking(settings, corpus)
    with reader:
        reading = reader.ask(QUESTION)
        kept = reader.runs()
        with pytest.raises(UnknownRunError, match="GRAPHREADER_KEPT_RUNS"):
            reader.resume("any")

    assert reading.run == ""
    assert reading.notes == ()
    assert kept == []
    assert not settings.home.exists()


# A file of runs that is of no use is told of, and the question is answered all the same.
def test_useless_file(ring: Settings, corpus: str) -> None:
    home = ring.home / "useless"
    home.mkdir(parents=True)
    (home / "runs.sqlite").write_bytes(b"this is no database" * 100)
    whole, _ = unbroken(ring, corpus)
    reader, _ = asking(ring.model_copy(update={"home": home}), corpus)
    with reader:
        reading = reader.ask(QUESTION)

    assert len(reading.notes) == 1
    assert "without being kept" in reading.notes[0]
    assert plain(replace(whole, notes=reading.notes)) == plain(reading)
    assert reading.run == ""


# Only the newest finished runs are kept, with their decisions and steps.
def test_newest_are_kept(ring: Settings, corpus: str) -> None:
    settings = ring.model_copy(update={"kept_runs": 2})
    reader, _ = asking(settings, corpus)
    with reader:
        broken_off(reader, PlanMade)
        runs = [reader.ask(QUESTION).run for _ in range(4)]
        kept = [run.id for run in reader.runs() if run.status == "finished"]

    assert kept == runs[:1:-1]


# Many questions are answered in their order, and one that fails ends no other.
def test_batch(ring: Settings, corpus: str) -> None:
    reader, _ = asking(ring, corpus)
    questions = ["Who met Alpha?", " ", "Who met Beta?"]
    with reader:
        outcomes = reader.batch(questions, return_exceptions=True)
        with pytest.raises(UsageError, match="empty"):
            reader.batch(questions)
        asked = [run.question for run in reader.runs()]
        places = {place for place, _ in reader.batch_as_completed(questions, runs=["a", "b", "c"])}
        named = {run.id for run in reader.runs()}

    assert [getattr(one, "question", None) for one in outcomes] == [
        "Who met Alpha?",
        None,
        "Who met Beta?",
    ]
    assert sorted(asked) == ["Who met Alpha?"] * 2 + ["Who met Beta?"] * 2
    assert places == {0, 1, 2}
    assert {"a", "c"} <= named


# No more questions are under way at once than requests may be.
async def test_batch_is_bounded(ring: Settings, corpus: str) -> None:
    now, most, together = 0, 0, asyncio.Event()

    async def slow(task: FactsTask) -> FactsDecision:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if now == 2:
            together.set()
        await asyncio.wait_for(together.wait(), 30)
        await asyncio.sleep(0.01)
        now -= 1
        return world.facts("stop_and_read_neighbor", [])

    settings = ring.model_copy(update={"concurrency": 2, "initial_nodes": 1})
    reader, _ = asking(
        settings, corpus, {FactsTask: slow, NeighborTask: lambda task: world.neighbor(0)}
    )
    questions = [f"Who met {name}?" for name in world.RING_NAMES]
    readings = await reader.abatch(questions)
    await reader.aclose()

    assert [reading.question for reading in readings] == [
        f"Who met {name}?" for name in world.RING_NAMES
    ]
    assert most == 2


# Neo4j's own saver can keep the steps; one without asynchronous methods is refused at once.
def test_neo4j_saver(ring: Settings, corpus: str) -> None:
    assert ring.neo4j_uri
    assert ring.neo4j_password
    login = (ring.neo4j_username, ring.neo4j_password.get_secret_value())
    driver = AsyncGraphDatabase.driver(ring.neo4j_uri, auth=login, notifications_min_severity="OFF")
    reader, decider = asking(ring, corpus, checkpointer=AsyncNeo4jSaver(driver))
    with reader:
        run = broken_off(reader, ChunkRead)
        reading = reader.resume(run)
        gone = reader.delete_runs(run)
        sync.run(driver.close())
    with pytest.raises(UsageError, match="only synchronous methods"):
        asking(ring, corpus, checkpointer=Neo4jSaver(None))  # type: ignore[arg-type]  # asks nothing

    assert reading.answered
    assert len(set(decider.asked)) == len(decider.asked)
    assert gone == 1


# The state that is kept is plain: nothing that LangGraph could refuse to read back.
def test_state_is_plain(ring: Settings, corpus: str) -> None:
    def plain_types(value: Any) -> bool:
        if isinstance(value, dict):
            return all(type(key) is str and plain_types(one) for key, one in value.items())
        if isinstance(value, list):
            return all(map(plain_types, value))
        return value is None or type(value) in (str, int, float, bool)

    saver = InMemorySaver()
    reader, _ = asking(ring, corpus, checkpointer=saver)
    with reader:
        run = reader.ask(QUESTION).run
    kept = list(saver.list({"configurable": {"thread_id": run}}))
    values = [one.checkpoint["channel_values"] for one in kept]
    states = [
        {k: v for k, v in one.items() if not k.startswith(("__", "branch:"))} for one in values
    ]

    assert len(kept) > 10
    assert [state for state in states if not plain_types(state)] == []


# Where every path failed, what they had found is given, and the run goes on with them all.
def test_failed_with_notes(ring: Settings, corpus: str) -> None:
    def gone(task: NeighborTask) -> Any:
        raise ModelUnavailableError("Nobody answers.")

    whole, _ = unbroken(ring, corpus)
    reader, _ = asking(ring, corpus, {NeighborTask: gone})
    with reader:
        part = reader.ask(QUESTION, run="part")
        kept = reader.run("part")
    reader, second = asking(ring, corpus)
    with reader:
        reading = reader.ask(QUESTION, run="part")

    assert {path.stopped for path in part.paths} == {"error"}
    assert kept.summary.status == "failed"
    assert kept.summary.error == "Every path failed, the first one so: Nobody answers."
    assert kept.reading == part
    assert plain(reading) == plain(whole)
    assert {type(task) for task in second.asked} >= {NeighborTask, AnswerTask}
    assert not {PlanTask, InitialNodesTask} & {type(task) for task in second.asked}


# Where no answer could be put together, only the answer is asked for when the run goes on.
@pytest.mark.parametrize("own", [True, False])
def test_unjoined(ring: Settings, corpus: str, own: bool) -> None:
    def gone(task: AnswerTask) -> Any:
        raise ModelUnavailableError("Nobody answers.")

    given: dict[str, Any] = {} if own else {"checkpointer": InMemorySaver()}
    whole, _ = unbroken(ring, corpus)
    reader, _ = asking(ring, corpus, {AnswerTask: gone}, **given)
    with reader:
        part = reader.ask(QUESTION, run="unjoined")
        (failed,) = [run for run in reader.runs() if run.id == "unjoined"]
    reader, second = asking(ring, corpus, **given)
    with reader:
        reading = reader.resume("unjoined")
        status = reader.run("unjoined").summary.status

    assert not part.answered
    assert failed.status == "failed"
    assert "Nobody answers." in (failed.error or "")
    assert plain(reading) == plain(whole)
    assert {type(task) for task in second.asked} == {AnswerTask}
    assert status == "finished"


# A saver of the user's own that still has another run of that id adds nothing to a new one.
def test_saver_is_cleared(ring: Settings, corpus: str) -> None:
    settings = ring.model_copy(update={"kept_runs": 0})
    reader, _ = asking(settings, corpus, checkpointer=InMemorySaver())
    with reader:
        first = reader.ask("Who met Alpha?", run="x")
        second = reader.ask(QUESTION, run="x")
    whole, _ = unbroken(ring, corpus)

    assert first.run == second.run == "x"
    assert plain(second) == plain(whole)


# A saver that cannot take old runs out costs a note and not the reading.
def test_saver_fails_at_the_end(ring: Settings, corpus: str) -> None:
    class Failing(InMemorySaver):
        async def adelete_thread(self, thread_id: str) -> None:
            raise RuntimeError("It is read only.")

    settings = ring.model_copy(update={"kept_runs": 1})
    reader, _ = asking(settings, corpus, checkpointer=Failing())
    with reader:
        first, second = reader.ask(QUESTION), reader.ask(QUESTION)

    assert first.notes == ()
    assert second.answered
    assert second.notes == ("The oldest runs could not be taken out: It is read only.",)


# A finished run is written into the graph when that is asked for; another mode is only noted.
def test_asked_otherwise(ring: Settings, corpus: str) -> None:
    reader, decider = asking(ring, corpus)
    with reader:
        first = reader.ask(QUESTION, run=f"{corpus} kept")
        asked = len(decider.asked)
        again = reader.ask(QUESTION, run=f"{corpus} kept", keep_run=True, mode="fast")
    rows = digest.rows(ring, "MATCH (r:Run {id: $id}) RETURN r.answer AS a", id=first.run)

    assert len(decider.asked) == asked
    assert plain(replace(again, notes=())) == plain(first)
    assert again.notes == (
        "The run was begun in the mode 'paper' and keeps it: a new id begins in 'fast'.",
    )
    assert [row["a"] for row in rows] == [first.answer]


# Where no step can be kept, a run is known by its id all the same.
def test_run_without_steps(ring: Settings, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_saver(store: RunStore) -> RunCheckpoints:
        raise RunsError("There is no room.")

    monkeypatch.setattr(RunStore, "saver", no_saver)
    reader, _ = asking(ring, corpus)
    with reader:
        reading = reader.ask(QUESTION)
        (run,) = reader.runs()

    assert reading.run == run.id
    assert run.status == "finished"


# To keep a run changes nothing in it, also where a decider is shown less than the first choices.
def test_kept_is_like_unkept(ring: Settings, corpus: str) -> None:
    settings = ring.model_copy(update={"chunk_tokens": 120, "initial_nodes": 5})
    readings = []
    with GraphReader(corpus, settings=settings) as reader:
        reader.ingest(Path(__file__).parents[2] / "notebooks" / "harbour")
    for kept_runs in (0, 10):
        kept = settings.model_copy(update={"kept_runs": kept_runs})
        with GraphReader(corpus, settings=kept) as reader:
            readings.append(
                reader.ask("Who taught the clockmaker that built the clockwork of the lighthouse?")
            )

    assert all(path.calls for path in readings[0].paths)
    assert plain(readings[1]) == plain(readings[0])


# Runs of a file that is of no use are not said to be deleted.
def test_not_deleted(ring: Settings, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, _ = asking(ring, corpus)
    with reader:
        run = reader.ask(QUESTION).run
        holder = sqlite3.connect(ring.home / "runs.sqlite", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with closing(holder):
            sync.run(_impatient(reader))
            with pytest.raises(RunsError, match="locked"):
                reader.delete_runs(run)


async def _impatient(reader: GraphReader) -> None:
    """Waits for nobody who holds the file."""
    register = reader._resources.run_store
    assert register
    saver = await register.saver()
    await saver.conn.execute("PRAGMA busy_timeout = 50")
