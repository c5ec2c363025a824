"""Reading texts in: what is asked of the decider, and what ends up in the graph."""

import asyncio
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import (
    DeletedError,
    EmbeddingMismatchError,
    ReplyError,
    SettingsError,
    StoreError,
    UnknownCorpusError,
    UsageError,
)
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.ingestion.report import ChunkProgress, FailedChunk, IngestEvent, IngestReport
from graphreader.settings import Settings
from graphreader.store.writer import GraphWriter
from graphreader.testing import ScriptedDecider
from tests.runs import digest, world

SENTENCES = [f"Person{n} lives in town{n} today." for n in range(12)]
FACTS = {text: [f"Person{n}", f"town{n}"] for n, text in enumerate(SENTENCES)}


def asked(decider: ScriptedDecider) -> list[str]:
    """The sentences whose chunks were extracted."""
    tasks = [task for task in decider.asked if isinstance(task, ExtractionTask)]
    return [sentence for task in tasks for sentence in SENTENCES if sentence in task.text]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return world.write_files(tmp_path, {"people": SENTENCES})


pytestmark = pytest.mark.usefixtures("cleaned")


# Every chunk is asked for once, the same file again asks for nothing; an edit asks for what it
# changed, as estimated, and removes what it replaced; the others keep their summaries. Equal texts
# share key elements, not facts. The progress has the cost so far.
def test_reading_again(neo4j: Settings, corpus: str, texts: Path) -> None:
    decider, events = world.scripted(FACTS, {}), list[IngestEvent]()
    changed = [*SENTENCES[:5], "Nobody lives in the town of glass.", *SENTENCES[6:]]
    with world.reader(neo4j, corpus, decider) as reader:
        first = reader.ingest(texts, progress=events.append)
        sizes, documents = reader.stats(), reader.documents()
        again = reader.ingest(texts, texts / "people.txt")
        assert (reader.stats(), reader.documents()) == (sizes, documents)
        assert sorted(asked(decider)) == sorted(SENTENCES)
        decider.asked.clear()
        world.write_files(texts, {"people": changed, "others": SENTENCES[:2]})
        estimate = reader.estimate(texts)
        edited = reader.ingest(texts)
        stats, outline = reader.stats(), reader.outline("people")

    assert (first.documents[0].status, first.facts, sizes.key_elements) == ("read", 12, 24)
    assert [(one.status, one.asked) for one in again.documents] == [("unchanged", 0)]
    assert [one.usage.calls for one in events if isinstance(one, ChunkProgress)][-1] == 12
    assert estimate.missing == edited.asked_chunks <= 3 + 2
    assert set(asked(decider)) <= {*SENTENCES[4:7], *SENTENCES[:2]}
    assert (stats.chunks, stats.facts, stats.key_elements) == (14, 13, 22)
    assert [one.chunk for one in outline] == list(range(12))
    kept = [one.summary for one in outline if one.chunk != 5]
    assert kept == [f"It says: {one}" for one in changed if one in SENTENCES]
    assert not {name for name, _ in stats.busiest} & {"Person5", "town5"}


# A chunk whose reply cannot be used is listed, and the others are read; the next run asks for it
# alone.
def test_a_useless_reply(neo4j: Settings, corpus: str, texts: Path) -> None:
    def fail_once(task: ExtractionTask) -> Any:
        if SENTENCES[3] in task.text:
            raise ReplyError("The model does not make sense.")
        return world.extraction(FACTS)(task)

    with world.reader(neo4j, corpus, world.scripted(FACTS, {ExtractionTask: fail_once})) as reader:
        report = reader.ingest(texts)
        (summary,) = reader.documents()
        reading = reader.ask("Who lives where?")
    healthy = world.scripted(FACTS, {})
    with world.reader(neo4j, corpus, healthy) as reader:
        assert reader.estimate(texts).missing == 1
        again = reader.ingest(texts)
        (repaired,) = reader.documents()
        facts = reader.stats().facts

    (document,) = report.documents
    assert (document.status, report.complete) == ("incomplete", False)
    assert document.failed == (FailedChunk(3, "The model does not make sense."),)
    assert (summary.status, summary.failed, summary.chunks) == ("incomplete", 1, 12)
    assert any("not read completely (people)" in note for note in reading.notes)
    assert asked(healthy) == [SENTENCES[3]]
    assert (again.documents[0].status, repaired.status, facts) == ("read", "complete", 12)


# The decider that extracted the facts is recorded: another one that reads on or answers says so.
def test_another_decider(neo4j: Settings, corpus: str, texts: Path) -> None:
    with world.reader(neo4j, corpus, world.scripted(FACTS, {})) as reader:
        first = reader.ingest(texts)
        same = reader.ask("Who lives where?")
    other = world.scripted(FACTS, {})
    other.name = "somebody:else"
    with world.reader(neo4j, corpus, other) as reader:
        again = reader.ingest(texts)
        reading = reader.ask("Who lives where?")

    assert (first.notes, again.documents[0].status) == ((), "unchanged")
    assert not any("taken by" in note for note in same.notes)
    for notes in (again.notes, reading.notes):
        assert any("taken by 'scripted', not by 'somebody:else'" in note for note in notes)


class OtherEmbedder:
    name = "other"
    dimension = 256
    compares_words = False
    calls = 0

    async def embed(self, texts: Any) -> list[list[float]]:
        self.calls += 1
        return [[1.0] * 256 for _ in texts]

    async def aclose(self) -> None:
        pass


# A corpus keeps the embeddings that it was read with, and a note says so, until it is embedded
# anew. Then it is refused where they cannot be opened, or give vectors of another length; a search
# goes by words alone.
def test_another_embedding(neo4j: Settings, corpus: str, texts: Path) -> None:
    with world.reader(neo4j, corpus, world.scripted(FACTS, {})) as reader:
        reader.ingest(texts)
    decider = world.scripted(FACTS, {})
    embedder = OtherEmbedder()
    with GraphReader(
        corpus, settings=world.settings(neo4j), decider=decider, embedder=embedder
    ) as reader:
        notes = [reader.ask("Who lives where?").notes, reader.ingest(texts).notes]
        kept = embedder.calls
        estimated = reader.estimate(texts).embeddings
        reader.reindex()
        changed = embedder.calls
        reader.ask("Who lives where?")
    with world.reader(neo4j, corpus, decider) as other:
        asked = len(decider.asked)
        for use in (other.ask, other.ingest):
            with pytest.raises(EmbeddingMismatchError, match=f"'other'.*reindex --corpus {corpus}"):
                use(str(texts))
        found = other.search("Person1")
    embedder.dimension = 128
    with (
        GraphReader(corpus, settings=neo4j, decider=decider, embedder=embedder) as longer,
        pytest.raises(EmbeddingMismatchError, match="256 numbers, not 128"),
    ):
        longer.ingest(texts)
    embedder.dimension = 5_000
    with (
        GraphReader(f"{corpus} new", settings=neo4j, decider=decider, embedder=embedder) as longest,
        pytest.raises(SettingsError, match=r"at most 4,096 numbers, those of other have 5,000"),
    ):
        longest.ingest(texts)

    assert ["`reader.reindex()`" in " ".join(one) for one in notes] == [True, True]
    assert estimated == "offline-1"
    assert (kept, changed) == (0, 2)
    assert embedder.calls > changed
    assert len(decider.asked) == asked
    assert found


# Passages get vectors, unless the embedder compares words only. Reindex makes a corpus of an
# earlier version, whose facts had the vectors, like one of this version, also where that was
# interrupted.
@pytest.mark.parametrize("compares_words", [True, False])
def test_passages_are_indexed(
    neo4j: Settings, corpus: str, texts: Path, compares_words: bool
) -> None:
    embedder = OtherEmbedder()
    embedder.compares_words = compares_words
    with GraphReader(
        corpus, settings=neo4j, decider=world.scripted(FACTS, {}), embedder=embedder
    ) as reader:
        reader.ingest(texts)
        indexed = digest.content(neo4j, corpus)
        vectors = digest.rows(neo4j, VECTORS, corpus=corpus)
        for statement in EARLIER_VERSION:
            digest.rows(neo4j, statement, corpus=corpus)
        assert bool(reader.reindex()) is not compares_words

    assert vectors == [{"vectors": 0 if compares_words else 2}]
    assert digest.content(neo4j, corpus) == indexed


VECTORS = "MATCH (p:Passage {corpus: $corpus}) RETURN count(p.embedding) AS vectors"
EARLIER_VERSION = (
    "MATCH (c:Corpus {name: $corpus}) SET c.terms = 1, c.fact_vectors = true, c.passages = null",
    "MATCH (d:Document {corpus: $corpus}) SET d.terms = 'of an earlier version'",
    "MATCH (f:AtomicFact {corpus: $corpus}) SET f.embedding = [1.0]",
    "MATCH (f:AtomicFact {corpus: $corpus}) WHERE f.text CONTAINS '1' REMOVE f.terms",
    "MATCH (:Chunk {corpus: $corpus, index: 0})-[:HAS_PASSAGE]->(p) DETACH DELETE p",
    "MATCH (p:Passage {corpus: $corpus}) REMOVE p.terms, p.embedding",
)


# Vectors are asked for while others are written.
def test_vectors_while_writing(
    neo4j: Settings, corpus: str, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, write = OtherEmbedder(), GraphWriter.write_embeddings

    async def write_later(writer: GraphWriter, *values: Any, **others: Any) -> None:
        async with asyncio.timeout(20):
            while embedder.calls < 2:
                await asyncio.sleep(0.01)
        await write(writer, *values, **others)

    monkeypatch.setattr("graphreader.ingestion.embedding.EMBEDDINGS_PER_WRITE", 5)
    monkeypatch.setattr(GraphWriter, "write_embeddings", write_later)
    decider = world.scripted(FACTS, {})
    with GraphReader(corpus, settings=neo4j, decider=decider, embedder=embedder) as reader:
        assert reader.ingest(texts).complete

    assert embedder.calls > 2
    assert digest.rows(neo4j, VECTORS, corpus=corpus) == [{"vectors": 2}]
    assert not digest.rows(neo4j, WITHOUT_VECTOR, corpus=corpus)


WITHOUT_VECTOR = "MATCH (k:KeyElement {corpus: $corpus}) WHERE k.embedding IS NULL RETURN k.id"


# A graph that can no longer be written ends the run, however many chunks wait to be written.
@pytest.mark.parametrize("method", ["write_chunks", "write_embeddings"])
def test_writing_fails(
    neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise StoreError("Neo4j is full.")

    monkeypatch.setattr(GraphWriter, method, fail)
    facts = {f"A met {n} others here.": ["A", "others"] for n in range(129)}
    world.write_files(tmp_path, {"many": [*facts]})
    with (
        world.reader(neo4j, corpus, world.scripted(facts, {}), concurrency=64) as reader,
        pytest.raises(StoreError, match="is full"),
    ):
        asyncio.run(asyncio.wait_for(reader.aingest(tmp_path), 20))


# Two readers at once, of which one reads another file as well, make the graph that a single one
# makes.
def test_two_readers(neo4j: Settings, corpus: str, texts: Path) -> None:
    async def extract(task: ExtractionTask) -> Any:
        await asyncio.sleep(0.01)  # the other one gets its turn
        return world.extraction(FACTS)(task)

    world.write_files(texts, {"others": SENTENCES[6:]})
    ready = threading.Barrier(2)

    def ingest(*paths: Path) -> IngestReport:
        decider = world.scripted({}, {ExtractionTask: extract})
        with world.reader(neo4j, corpus, decider) as reader:
            ready.wait()
            return reader.ingest(*paths)

    with world.reader(neo4j, corpus, world.scripted(FACTS, {})) as reader:
        reader.ingest(texts)
        alone = digest.content(neo4j, corpus)
        reader.delete(everything=True)
    with ThreadPoolExecutor() as pool:
        reports = list(pool.map(ingest, [texts / "people.txt", texts]))

    assert [report.complete for report in reports] == [True, True]
    assert digest.content(neo4j, corpus) == alone


# What another process deletes while it is read is asked for no more, and not written again; the
# ingest ends with one sentence, or goes on with the other documents.
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("corpus", "was deleted while texts were read into it."),
        ("corpus without the document", "was deleted while texts were read into it."),
        ("only document", "Deleted while being read: 'b'."),
        ("b", ""),
    ],
)
def test_deleted_meanwhile(
    neo4j: Settings, corpus: str, tmp_path: Path, what: str, words: str
) -> None:
    many = [f"Anna{n} met Bert{n} in Town{n}." for n in range(300)]
    old = world.write_files(tmp_path / "old", {"a": SENTENCES})
    new = world.write_files(tmp_path / "new", {"b": many, "c": SENTENCES})
    asked_for, deleted = list[str](), threading.Event()
    first = 1 if what == "corpus without the document" else 120

    def delete() -> None:
        while what != "corpus without the document" and "b" not in titles(other):
            time.sleep(0.02)
        if what.startswith("corpus"):
            other.delete(everything=True)
        elif "b" in titles(other):
            other.delete("b")

    async def reply(task: ExtractionTask) -> Any:
        asked_for.append(task.text)
        if len(asked_for) == first:
            await asyncio.to_thread(delete)
            deleted.set()
        if len(asked_for) >= first:
            while not deleted.is_set():
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.6)  # longer than it takes to be noticed
        return world.extraction(FACTS)(task)

    decider = world.scripted(FACTS, {ExtractionTask: reply})
    with (
        world.reader(neo4j, corpus, decider) as reader,
        world.reader(neo4j, corpus, world.scripted(FACTS, {})) as other,
    ):
        other.ingest(old)
        if words:
            sources = [new / "b.txt"] if what == "only document" else [new]
            with pytest.raises(DeletedError, match=re.escape(words)):
                reader.ingest(*sources)
        else:
            report = reader.ingest(new)
            ends = {one.title: (one.status, one.error) for one in report.documents}
            assert ends["c"] == ("read", None)
            assert ends["b"] == ("incomplete", "It was deleted while it was being read.")
        left = titles(other)

    assert left == {"b": {"a", "c"}, "only document": {"a"}}.get(what, set())
    assert len(asked_for) < first + 60


def titles(reader: GraphReader) -> set[str]:
    """The titles of the documents; none where there is no corpus."""
    with suppress(UnknownCorpusError):
        return {one.title for one in reader.documents()}
    return set()


# A document keeps its encoding, also in an export, and is read anew in another one; the report has
# notes about an unsure one, and about the files of other formats.
def test_encodings(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "polish.txt").write_bytes("Młynarz sprzedał łąkę.".encode("cp1250"))
    (texts / "czech.txt").write_bytes("Čas.".encode("iso8859-2"))
    (texts / "plain.txt").write_text("The mill was sold.")
    for name in ("a.exe", "b.png", "c.png"):
        (texts / name).write_bytes(b"\0")
    with world.reader(neo4j, corpus, world.scripted({}, {})) as reader:
        wrong = reader.ingest(texts, encoding="cp1252")
        first = {one.title: one.encoding for one in reader.documents()}
        right = reader.ingest(texts, encoding="iso-8859-2")
        again = reader.ingest(texts, encoding="latin2")
        second = {one.title: one.encoding for one in reader.documents()}
        words = [reader.chunk(name, 0).text for name in ("czech", "plain")]
        guessed = reader.ingest(texts / "czech.txt")
        reader.export(tmp_path / "corpus.jsonl")
        reader.delete(everything=True)
        reader.import_corpus(tmp_path / "corpus.jsonl")
        imported = {one.title: one.encoding for one in reader.documents()}
        with pytest.raises(UsageError, match="is no encoding"):
            reader.ingest(texts, encoding="klingon")

    assert wrong.notes[-1].endswith("known: 2 .png, 1 .exe.")
    assert first == {"polish": "cp1252", "czech": "cp1252", "plain": None}
    assert [one.status for one in right.documents] == ["read", "unchanged", "read"]
    assert {one.status for one in again.documents} == {"unchanged"}
    assert second == {"polish": "iso8859-2", "czech": "iso8859-2", "plain": None}
    assert words == ["Čas.", "The mill was sold."]
    assert "is unsure" in guessed.documents[0].notes[0]
    assert (imported["polish"], imported["plain"]) == ("iso8859-2", None)
