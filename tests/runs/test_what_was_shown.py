"""What a run of GraphReader was shown, counted to the token; also resumed, also forked.

A script decides over a ring of names, of which each chunk tells one meeting.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document

from graphreader.agent.decisions import FactsDecision
from graphreader.agent.events import ChunkRead, FactsRead, RunBegan
from graphreader.agent.tasks import ChunkTask, FactsTask, NeighborTask
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from graphreader.tokens import count
from tests.runs import world

MEETINGS = list(pairwise([*world.RING_NAMES, "Alpha"]))
TEXTS = {
    "first": "\n\n".join(world.padded(one) for one in world.RING[:4]),
    "second": "\n\n".join(world.padded(one) for one in world.RING[4:]),
}


def extract(task: ExtractionTask) -> Extraction:
    """Each meeting twice: word for word, and the other way round."""
    pairs = [(a, b) for a, b in MEETINGS if f"{a} met {b} here." in task.text]
    facts = [(fact, [a, b]) for a, b in pairs for fact in (f"{a} met {b} here.", inverse(a, b))]
    return Extraction(facts=[ExtractedFact(fact=f, key_elements=names) for f, names in facts])


def inverse(a: str, b: str) -> str:
    return f"{b} was met by {a}."


def no_chunk(task: FactsTask) -> FactsDecision:
    return world.facts("stop_and_read_neighbor", [], f"{task.notebook} At {task.node}.".strip())


EVERYWHERE: Mapping[Any, Any] = {
    ExtractionTask: extract,
    ChunkTask: lambda task: world.chunk("search_more", f"{task.notebook} {task.label}.".strip()),
    NeighborTask: lambda task: world.neighbor(1),
}
FACTS_ALONE: Mapping[Any, Any] = {**EVERYWHERE, FactsTask: no_chunk}


@dataclass(frozen=True, slots=True)
class Circle:
    """The corpus of the ring, and the ids of its two documents by their titles."""

    corpus: str
    ids: Mapping[str, str]
    settings: Settings

    def reader(self, script: Mapping[Any, Any], **changes: Any) -> tuple[Any, ScriptedDecider]:
        decider = world.scripted({}, script)
        settings = self.settings.model_copy(update=changes)
        return closing(GraphReader(self.corpus, settings=settings, decider=decider)), decider

    def read(self, script: Mapping[Any, Any], **changes: Any) -> tuple[Reading, ScriptedDecider]:
        opened, decider = self.reader(script, **changes)
        with opened as reader:
            return reader.ask("Who met whom?"), decider


@pytest.fixture(scope="module")
def circle(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Circle]:
    corpus, home = f"test-{uuid4().hex[:12]}", tmp_path_factory.mktemp("home")
    settings = world.settings(neo4j, home=home, initial_nodes=3)
    texts = [Document(page_content=one, metadata={"title": t}, id=t) for t, one in TEXTS.items()]
    with world.reader(settings, corpus, world.scripted({}, EVERYWHERE)) as reader:
        report = reader.ingest(*texts)
        yield Circle(corpus, {one.title: str(one.id) for one in report.documents}, settings)
        reader.delete(everything=True)


def facts_shown(decider: ScriptedDecider) -> set[str]:
    tasks = [task for task in decider.asked if isinstance(task, FactsTask)]
    return {fact for task in tasks for group in task.groups for fact in group.facts}


def chunks_shown(decider: ScriptedDecider) -> list[str]:
    return [task.text for task in decider.asked if isinstance(task, ChunkTask)]


# Chunks that several paths read count once; facts that stand in them word for word add nothing.
def test_read_by_several_paths(circle: Circle) -> None:
    reading, decider = circle.read(EVERYWHERE, calls=30)

    chunks = chunks_shown(decider)
    assert len(chunks) > len(set(chunks)) == 7
    assert set(reading.documents_read) == set(circle.ids.values())
    assert sorted(reading.facts_read) == sorted(facts_shown(decider))
    assert len(reading.facts_read) == 14
    texts = sum(count(text) for text in TEXTS.values())
    assert reading.tokens_read == texts + sum(count(inverse(a, b)) for a, b in MEETINGS)


# A run that broke off knows what it was shown before, and so does a new run that begins at a step
# of another one: it is counted as if nothing had happened.
@pytest.mark.parametrize(("at", "number"), [(FactsRead, 2), (ChunkRead, 5)])
def test_resumed(circle: Circle, tmp_path: Path, at: type[Any], number: int) -> None:
    opened, first = circle.reader(EVERYWHERE, home=tmp_path)
    with opened as reader:
        run = _broken_off(reader, at, number)
    opened, second = circle.reader(EVERYWHERE, home=tmp_path)
    with opened as reader:
        reading = reader.resume(run)
        forked = reader.resume(run, step=4)

    assert first.asked
    assert second.asked
    assert counted(reading) == counted(forked) == counted(circle.read(EVERYWHERE)[0])
    assert reading.documents_read
    assert reading.facts_read


# A fork that goes another way counts what that way shows.
def test_forked(circle: Circle, tmp_path: Path) -> None:
    whole, _ = circle.read(EVERYWHERE, home=tmp_path)
    opened, _ = circle.reader(FACTS_ALONE, home=tmp_path)
    with opened as reader:
        other = reader.resume(whole.run, step=3)

    assert whole.documents_read
    assert other.documents_read == ()
    assert counted(other) == counted(circle.read(FACTS_ALONE)[0])


def _broken_off(reader: GraphReader, at: type[Any], number: int) -> str:
    """Listen up to the event, and no further; the id of the run."""
    run = ""
    with closing(reader.stream("Who met whom?")) as events:
        for event in events:
            run = event.run if isinstance(event, RunBegan) else run
            number -= isinstance(event, at)
            if not number:
                break
    return run


def counted(reading: Reading) -> tuple[Any, ...]:
    return reading.documents_read, reading.facts_read, reading.tokens_read, reading.evidence
