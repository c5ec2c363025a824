"""The three questions of the Neo4j article, on the example text (Wikipedia, CC BY-SA 3.0)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples import demo
from graphreader.agent.decisions import Answer, InitialNodes, ProposedNode, RationalPlan
from graphreader.agent.tasks import AnswerTask, ChunkTask, FactsTask, InitialNodesTask, PlanTask
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.offline.decider import OfflineDecider
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import world

TEXT = Path(__file__).parents[2] / "examples" / "joan_of_arc.txt"
PARIS = "The French assault at Paris ensued on 8 September."
LA_CHARITE = (
    "In October, Joan was with the royal army when it took Saint-Pierre-le-Moûtier, followed by an "
    "unsuccessful attempt to take La-Charité-sur-Loire in November and December."
)
PLAN = "List her battles, at Orléans, Paris and La-Charité-sur-Loire, and look who won each."


@pytest.fixture(scope="module")
def joan(neo4j: Settings) -> Iterator[Settings]:
    """The text, read offline into a corpus that all questions share."""
    with GraphReader("test-joan", settings=neo4j) as reader:
        reader.ingest(TEXT)
        yield neo4j
        reader.delete(everything=True)


async def extract(task: ExtractionTask) -> Any:
    return (await OfflineDecider().decide(task)).decision


def propose(task: InitialNodesTask) -> InitialNodes:
    wanted = ("Paris", "La-Charité-sur-Loire")
    numbers = [task.nodes.index(name) + 1 for name in wanted if name in task.nodes]
    return InitialNodes(nodes=[ProposedNode(number=n, score=90) for n in numbers])


def read_what_tells(task: FactsTask) -> Any:
    telling = [
        n
        for n, group in enumerate(task.groups, 1)
        if not group.read and any("Paris" in f or "Charité" in f for f in group.facts)
    ]
    return (
        world.facts("read_chunk", telling, task.notebook)
        if telling
        else world.facts("stop_and_read_neighbor", [], task.notebook)
    )


def note_defeats(task: ChunkTask) -> Any:
    found = [sentence for sentence in (PARIS, LA_CHARITE) if sentence in task.text]
    notebook = " ".join([task.notebook, *found]).strip()
    both = PARIS in notebook and LA_CHARITE in notebook
    return world.chunk("termination" if both else "search_more", notebook, found)


def conclude(task: AnswerTask) -> Answer:
    joined = " ".join(task.notebooks)
    known = PARIS in joined and LA_CHARITE in joined
    numbers = range(1, len(task.evidence) + 1)
    text = "Yes, at Paris and La Charité." if known else ""
    return world.answer(text, *numbers, answered=known)


def check_citations(reading: Reading) -> None:
    """Every quote is the slice of the text that it says it is."""
    text = TEXT.read_text(encoding="utf-8")
    for one in reading.citations:
        assert one.quote == text[one.start : one.end]
        assert one.document == "joan_of_arc"


# Her lost battles are answered from the facts and chunks at hand, without a neighbor step.
def test_lost_battles(joan: Settings) -> None:
    decider = ScriptedDecider(
        {
            ExtractionTask: extract,
            PlanTask: lambda task: RationalPlan(plan=PLAN),
            InitialNodesTask: propose,
            FactsTask: read_what_tells,
            ChunkTask: note_defeats,
            AnswerTask: conclude,
        }
    )
    two = joan.model_copy(update={"initial_nodes": 2})
    with GraphReader("test-joan", settings=two, decider=decider) as reader:
        reading = reader.ask("Did Joan of Arc lose any battles?")

    assert (reading.answer, reading.answered) == ("Yes, at Paris and La Charité.", True)
    assert {one.quote for one in reading.citations} == {PARIS, LA_CHARITE}
    check_citations(reading)
    used = {call.name for path in reading.paths for call in path.functions}
    assert used <= {"read_chunk", "search_more", "termination"}
    assert any(path.stopped == "termination" for path in reading.paths)


# The weather is not in the text, neither of Spain nor of a city that it names: the answer says so.
@pytest.mark.parametrize("place", ["Spain", "Rouen"])
def test_weather(joan: Settings, place: str) -> None:
    with GraphReader("test-joan", settings=joan) as reader:
        reading = reader.ask(f"What is the weather in {place}?")

    assert reading.answered is False
    assert reading.citations == ()
    assert reading.answer
    assert len(reading.paths) == 5
    assert any("No language model is in use" in note for note in reading.notes)


# A question that joins two parts of her life runs five paths to their ends, citing the text.
def test_cities_visited_early(joan: Settings) -> None:
    with GraphReader("test-joan", settings=joan) as reader:
        reading = reader.ask(
            "Did Joan of Arc visit any cities in early life where she won battles later?"
        )

    assert len(reading.paths) == 5
    assert all(1 <= path.calls == len(path.functions) <= 10 for path in reading.paths)
    check_citations(reading)


# The demo's question needs two places of the text, and both are cited.
def test_saints_and_pope(joan: Settings) -> None:
    with GraphReader("test-joan", settings=joan) as reader:
        reading = reader.ask(demo.QUESTION)

    assert reading.answered
    assert "Saint Margaret" in reading.answer
    assert "Pope Benedict XV" in reading.answer
    assert len({one.chunk for one in reading.citations}) >= 2
    check_citations(reading)
