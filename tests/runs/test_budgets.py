"""A run that may not spend more ends in good order with what it has."""

from pathlib import Path
from typing import Any

from graphreader.agent.tasks import ChunkTask
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import world


def note(task: ChunkTask) -> Any:
    return world.chunk("search_more", f"{task.notebook} found".strip())


def ask(neo4j: Settings, ring: str, max_calls: int) -> Reading:
    decider = world.scripted(world.RING_FACTS, {ChunkTask: note})
    with world.reader(neo4j, ring, decider, max_calls=max_calls) as reader:
        return reader.ask("Who met whom?")


# Paths that may not ask on end with `budget` and their notebooks, and the answer is still given.
# Each phase and each path knows its part of the cost; together they are the whole.
def test_the_answer_comes_from_what_there_is(neo4j: Settings, ring: str) -> None:
    reading = ask(neo4j, ring, 13)

    assert reading.answered
    assert "found" in reading.answer
    assert reading.usage.calls == 13
    stopped = [path.stopped for path in reading.paths]
    assert "budget" in stopped
    assert set(stopped) <= {"budget", "termination"}
    ended = f"{stopped.count('budget')} of 5 paths stopped early"
    assert [note for note in reading.notes if "max_calls is 13" in note and ended in note]
    assert sum(phase.calls for phase in reading.phases.values()) == 13
    assert sum(path.usage.calls for path in reading.paths) == reading.phases["explore"].calls
    assert set(reading.phases) == {"plan", "select", "explore", "answer"}


# Reading in stops asking, keeps what it has, and the same command reads on with a new budget.
def test_ingest_reads_on(neo4j: Settings, corpus: str, tmp_path: Path, cleaned: None) -> None:
    texts = world.write_files(tmp_path, {"ring": world.RING})
    decider = world.scripted(world.RING_FACTS, {})
    with world.reader(neo4j, corpus, decider, max_calls=3) as reader:
        reports = [reader.ingest(texts) for _ in range(3)]

    assert [report.complete for report in reports] == [False, False, True]
    assert [len(report.documents[0].failed) for report in reports] == [4, 1, 0]
    assert "max_calls is 3" in reports[0].documents[0].failed[0].reason
    assert sum(isinstance(task, ExtractionTask) for task in decider.asked) == 7
