"""A run that breaks off ends, whatever waits for what, and leaves nothing that passes for whole."""

import asyncio
from pathlib import Path

import pytest

from graphreader.errors import DecisionError, ReplyError, StoreError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import Extraction, ExtractionTask
from graphreader.settings import Settings
from graphreader.store.writer import Deleter, GraphWriter
from graphreader.testing import ScriptedDecider
from tests.runs.soundness import check
from tests.runs.world import Facts, extraction

LINES = {f"Ann{n} met Ben{n}.": [f"Ann{n}", f"Ben{n}"] for n in range(9)}
PARAGRAPH = "{} " + "It was a long day and nobody said much about it. " * 4

pytestmark = pytest.mark.usefixtures("cleaned")


def decider(facts: Facts = LINES) -> ScriptedDecider:
    return ScriptedDecider({ExtractionTask: extraction(facts)})


async def refuses(task: ExtractionTask) -> Extraction:
    await asyncio.sleep(0.3)
    raise DecisionError("Nobody answers.")


def text(*numbers: int) -> str:
    return "\n\n".join(PARAGRAPH.format(list(LINES)[number]).strip() for number in numbers)


def reading(neo4j: Settings, corpus: str, by: ScriptedDecider) -> GraphReader:
    return GraphReader(corpus, settings=neo4j.model_copy(update={"chunk_tokens": 60}), decider=by)


# A service that refuses while many files are still to be loaded ends the run.
async def test_refused_early(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number}.txt").write_text(text(number % 9) * (number % 3 + 1))
    with reading(neo4j, corpus, ScriptedDecider({ExtractionTask: refuses})) as reader:
        async with asyncio.timeout(60):
            with pytest.raises(DecisionError, match="Nobody answers"):
                await reader.aingest(tmp_path)


# A document that comes a second time does not wait for a first one that failed.
async def test_refused_twice(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    lines = '{"id": "same", "text": "Ann0 met Ben0."}\n' * 3
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl").write_text(lines)
    with reading(neo4j, corpus, ScriptedDecider({ExtractionTask: refuses})) as reader:
        async with asyncio.timeout(60):
            with pytest.raises(DecisionError, match="Nobody answers"):
                await reader.aingest(tmp_path)


# What goes wrong while it is written comes as what it is.
async def test_the_graph_fails(
    neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise StoreError("The disk is full.")

    (tmp_path / "a.txt").write_text(text(0, 1, 2))
    monkeypatch.setattr(GraphWriter, "write_chunks", fails)
    with reading(neo4j, corpus, decider()) as reader, pytest.raises(StoreError, match="disk"):
        await reader.aingest(tmp_path)


# An edit that was cut off before its text was put in order is not completed by a retry.
def test_a_retry_after_a_cut_off_edit(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(text(0, 1, 2))
    answers = extraction(LINES)

    def fails_at_four(task: ExtractionTask) -> Extraction:
        if "Ann4" in task.text:
            raise ReplyError("Of no use.")
        return answers(task)

    async def killed(*_: object) -> None:
        raise StoreError("Killed.")

    with reading(neo4j, corpus, decider()) as reader:
        reader.ingest(file)
    file.write_text(text(0, 4, 2))
    failing = ScriptedDecider({ExtractionTask: fails_at_four})
    with reading(neo4j, corpus, failing) as reader, pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphWriter, "arrange", killed)
        with pytest.raises(StoreError):
            reader.ingest(file)
    with reading(neo4j, corpus, decider()) as reader:
        retried = reader.retry_failed()
        (between,) = reader.documents()
        again = reader.ingest(file)

    assert not retried.complete
    assert between.status == "incomplete"
    assert again.complete
    check(neo4j, corpus, {"a": file.read_text()}, answers_of)


# What a cut-off edit had half deleted is asked for again where the old text comes back.
def test_an_edit_taken_back(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"

    async def half(self: Deleter, chunks: list[str]) -> None:
        if chunks:
            values = {"corpus": self._corpus, "chunks": chunks}
            await self._connection.run("write/delete_chunk_facts", **values)
            raise StoreError("Killed.")

    file.write_text(text(0, 1, 2))
    with reading(neo4j, corpus, decider()) as reader:
        reader.ingest(file)
        file.write_text(text(0, 5, 2))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Deleter, "delete_chunks", half)
            with pytest.raises(StoreError):
                reader.ingest(file)
        file.write_text(text(0, 1, 2))
        report = reader.ingest(file)

    assert report.complete
    check(neo4j, corpus, {"a": file.read_text()}, answers_of)


def answers_of(chunk: str) -> Facts:
    """The facts of a chunk."""
    return {fact: elements for fact, elements in LINES.items() if fact in chunk}
