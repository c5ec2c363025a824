"""Sweeps of mode `adaptive`: every passage in scope is read, once, and the coverage is stated."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.adaptive import notebook, sweep
from graphreader.agent.adaptive.notebook import Group, Grouped, GroupTask
from graphreader.agent.adaptive.sweep import Collected, CollectTask, Entry, SweptPassage
from graphreader.agent.adaptive.tasks import Action, LastTurnTask, Turn, TurnTask
from graphreader.agent.events import SweepProgress
from graphreader.errors import CutOffError, ReplyError
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import world
from tests.runs.test_resume import broken_off

QUESTION = "Who met whom?"


def sweeping(within: str = "", what: str = "who met whom") -> Turn:
    return Turn(findings=[], actions=[Action(function="sweep", argument=what, within=within)])


def sentence_of(passage: SweptPassage) -> str:
    return passage.text.partition(".")[0] + "."


def collect(task: CollectTask) -> Collected:
    """One entry for each passage: its first sentence."""
    return Collected(
        entries=[
            Entry(
                item="Alpha" if "Alpha" in sentence_of(one) else one.text.split()[0],
                text=sentence_of(one),
                passage=f"[{one.number}]",
                quote=sentence_of(one),
            )
            for one in task.passages
        ]
    )


class Run:
    """A question whose first turn sweeps; the second one answers from all findings."""

    def __init__(
        self, given: Settings, corpus: str, first: Turn, script: dict[Any, Any], **changes: Any
    ) -> None:
        def take(task: TurnTask) -> Turn:
            self.turns.append(task)
            return first if len(self.turns) == 1 else Turn(findings=[], answer="Seven did.")

        self.turns: list[TurnTask] = []
        ways = {TurnTask: take, LastTurnTask: take, CollectTask: collect} | script
        self.decider = world.scripted(world.RING_FACTS, ways)
        settings = world.settings(given, mode="adaptive", **changes)
        with GraphReader(corpus, settings=settings, decider=self.decider) as reader:
            self.events = list(reader.stream(QUESTION))
        self.reading: Reading = self.events[-1].reading

    @property
    def collected(self) -> list[CollectTask]:
        return [one for one in self.decider.asked if isinstance(one, CollectTask)]


Sweep = Callable[..., Run]


@pytest.fixture
def run(neo4j: Settings, ring: str, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    def start(first: Turn, script: dict[Any, Any] | None = None, **changes: Any) -> Run:
        ways = {GroupTask: lambda task: Grouped(groups=[])} | (script or {})
        return Run(neo4j, ring, first, ways, **changes)

    monkeypatch.setattr(sweep, "MOST_AT_ONCE", 100)  # tokens: two passages or three
    monkeypatch.setattr(sweep, "MOST_IN_FULL", 0)
    return start


# Every passage is read once, in windows; each entry is a finding with its quote, and a claim of the
# answer. The coverage is shown to the next turn and stands in the notes.
def test_everything_is_read(run: Sweep) -> None:
    swept = run(sweeping())
    texts = [sentence_of(one) for task in swept.collected for one in task.passages]
    coverage = "7 of 7 passages read, "

    assert sorted(texts) == sorted(world.RING)
    assert 1 < len(swept.collected) < 7
    assert coverage in swept.turns[1].values()["results"]
    assert "7 entries about 7 things" in swept.turns[1].values()["results"]
    assert len(swept.turns[1].notebook.findings) == 7
    assert {one.quote for one in swept.reading.citations} == set(world.RING)
    assert all(claim.supported for claim in swept.reading.claims)
    assert len(swept.reading.passages_read) == 7
    assert any(coverage in note for note in swept.reading.notes)
    last = [one for one in swept.events if isinstance(one, SweepProgress)][-1]
    assert (last.read, last.passages, last.entries) == (7, 7, 7)


# Passages that fit the next prompt stand there in full, and nothing else is asked.
def test_short_texts(run: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MOST_IN_FULL", 5_000)
    short = run(sweeping())
    results = short.turns[1].values()["results"]

    assert not short.collected
    assert all(sentence in results for sentence in world.RING)
    assert "All 7 passages, in full." in results


# A scope is a document or a part of one by its numbers, or names and words: the others are counted.
def test_scope(run: Sweep) -> None:
    part, words, none = (run(sweeping(within)) for within in ("1.2-4", "Beta or Zeta", "Omega"))

    assert [one.number for task in part.collected for one in task.passages] == [
        "1.2",
        "1.3",
        "1.4",
    ]
    texts = [sentence_of(one) for task in words.collected for one in task.passages]
    assert sorted(texts) == sorted(one for one in world.RING if "Beta" in one or "Zeta" in one)
    assert "3 others have no such name or word" in words.turns[1].values()["results"]
    assert not none.collected
    assert "Nothing to read with Omega" in none.turns[1].values()["results"]


# Above the bound nothing is read: the note says what it would take, and how to allow it.
def test_bound(run: Sweep) -> None:
    refused = run(sweeping(), sweep_tokens=10)
    forbidden = run(sweeping(), sweep="never")

    assert not refused.collected
    assert not forbidden.collected
    assert any("7 passages" in one and "--sweep-tokens" in one for one in refused.reading.notes)
    assert "may not sweep" in forbidden.turns[1].values()["results"]
    assert "No sweep is allowed." in forbidden.turns[0].values()["outlook"]


# A run that always sweeps begins with it, so its first turn has the findings.
def test_always(run: Sweep) -> None:
    swept = run(Turn(findings=[], answer="Seven did."), sweep="always")

    assert len(swept.collected) > 1
    assert len(swept.turns[0].notebook.findings) == 7
    assert "search(" in swept.turns[0].values()["results"]


# A window that fails is tried once more, then its passages are named; a reply that is cut off is
# asked for in halves.
def test_failures(run: Sweep) -> None:
    failed: list[str] = []

    def fail(task: CollectTask) -> Any:
        if any("Gamma met" in one.text for one in task.passages):
            failed.append(task.passages[0].number)
            raise ReplyError("No JSON.")
        return collect(task)

    def cut(task: CollectTask) -> Any:
        if len(task.passages) > 1:
            raise CutOffError("Cut off.")
        return collect(task)

    with_failure = run(sweeping(), {CollectTask: fail})
    halved = run(sweeping(), {CollectTask: cut})

    assert len(failed) == 2
    results = with_failure.turns[1].values()["results"]
    assert "not read: 1." in results
    assert "(No JSON)" in results
    assert "7 of 7 passages" in halved.turns[1].values()["results"]
    assert "7 entries" in halved.turns[1].values()["results"]


# After a sweep that read the texts no paths explore, however many turns bring nothing.
def test_no_paths_after_it(run: Sweep) -> None:
    def take(task: TurnTask) -> Turn:
        searching = Turn(actions=[Action(function="search", argument="Omega")], needs=["Omega"])
        if not task.notebook.findings:
            return sweeping()
        return searching if task.turns > 3 else Turn(answer="Seven did.")

    swept = run(sweeping(), {TurnTask: take})

    assert swept.reading.usage.calls > 5
    assert [path.initial_node for path in swept.reading.paths] == ["question"]


# Entries about one thing become one finding with all places and quotes; what no group names stays.
def test_groups(run: Sweep) -> None:
    def group(task: GroupTask) -> Grouped:
        numbers = [n for n, one in enumerate(task.findings, 1) if "Alpha" in one]
        joined = Group(findings=[*numbers, 99], item="Alpha", text="Alpha met two.")
        return Grouped(groups=[joined] if len(numbers) > 1 else [])

    swept = run(sweeping(), {GroupTask: group})
    [alpha] = [one for one in swept.turns[1].notebook.findings if "Alpha met two." in one]
    [claim] = [one for one in swept.reading.claims if one.text == "Alpha met two."]

    assert len(swept.turns[1].notebook.findings) == 6
    assert "7 entries about 6 things" in swept.turns[1].values()["results"]
    assert len(claim.citations) == 2
    assert "[1.0, 1.6" in alpha
    assert {one.quote for one in swept.reading.citations} == set(world.RING)


# A sweep that breaks off goes on without asking again about the windows that were read.
def test_resumed(
    neo4j: Settings, ring: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "MOST_AT_ONCE", 100)
    monkeypatch.setattr(sweep, "MOST_IN_FULL", 0)

    def take(task: TurnTask) -> Turn:
        return Turn(findings=[], answer="Seven.") if task.notebook.findings else sweeping()

    def reader() -> tuple[GraphReader, Any]:
        ways = {TurnTask: take, CollectTask: collect, GroupTask: lambda _: Grouped(groups=[])}
        decider = world.scripted(world.RING_FACTS, ways)
        return GraphReader(ring, settings=settings, decider=decider), decider

    settings = world.settings(neo4j, mode="adaptive", home=tmp_path)
    reading_all, decider_of_all = reader()
    with reading_all:
        reading_all.ask(QUESTION)
    whole = [one.passages for one in decider_of_all.asked if isinstance(one, CollectTask)]
    first, before = reader()
    with first:
        run = broken_off(first, SweepProgress, 2, QUESTION)
    second, after = reader()
    with second:
        reading = second.resume(run)

    first_asked, then_asked = (
        [one.passages for one in decider.asked if isinstance(one, CollectTask)]
        for decider in (before, after)
    )
    assert len(first_asked) >= 2
    assert not {*first_asked[:2]} & {*then_asked}
    assert {*first_asked, *then_asked} == {*whole}
    assert len(reading.citations) == 7


# A notebook over its room is put together by decisions; nothing of it is lost.
def test_long_notebook(neo4j: Settings, ring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "LEAST_ROOM", 12)
    monkeypatch.setattr(notebook, "room_of", lambda window, swept=False: 12)
    monkeypatch.setattr("graphreader.agent.adaptive.turns.room_of", notebook.room_of)
    monkeypatch.setattr("graphreader.agent.adaptive.state.room_of", notebook.room_of)
    quotes = world.RING[:3]

    def take(task: TurnTask) -> Turn:
        if task.notebook.findings:
            return Turn(findings=[], answer="They met.")
        found = []
        for quote in quotes:
            passages = [one for result in task.results for one in result["passages"]]
            number = next(one["number"] for one in passages if quote in one["text"])
            found.append({"finding": quote, "passage": number, "quote": quote})
        action = Action(function="search", argument="Eta")
        return Turn.model_validate({"findings": found, "actions": [action.model_dump()]})

    def group(task: GroupTask) -> Grouped:
        numbers = list(range(1, len(task.findings) + 1))
        return Grouped(groups=[Group(findings=numbers, item="", text="Three met.")])

    decider = world.scripted(world.RING_FACTS, {TurnTask: take, GroupTask: group})
    settings = world.settings(neo4j, mode="adaptive")
    with GraphReader(ring, settings=settings, decider=decider) as reader:
        reading = reader.ask(QUESTION)

    assert [claim.text for claim in reading.claims] == ["Three met."]
    assert {one.quote for one in reading.citations} == set(quotes)
