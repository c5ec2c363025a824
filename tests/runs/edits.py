"""Random sequences of changes of two corpora, each checked against what it should hold.

`make soak` runs 1,000 of them, `test_edits` a few.
"""

import re
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from graphreader.errors import EmbeddingMismatchError, ReplyError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.export_file import Export
from graphreader.ingestion.extraction import Extraction, ExtractionTask
from graphreader.llm.protocols import Embedder
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.settings import Settings
from tests.runs import digest, soundness, world

TITLES = ("one", "two", "three")
WHO = ("Joan", "Joan's", "Charles", "The UK", "A man of the United Kingdom", "Unlucky Bede")
WHAT = ("a lantern", "two lanterns", "a sword", "12 coins", "13 coins")
SENTENCE = re.compile(r"[A-Z][^.]*?(?:found|lost) [^.]*?\.")
NAME = re.compile(r"Joan's|Joan|Charles|UK|United Kingdom|Bede|lanterns?|sword|1\d coins")

SENTENCES = st.builds(
    "{} {} {}.".format,
    st.sampled_from(WHO),
    st.sampled_from(("found", "lost")),
    st.sampled_from(WHAT),
)
CHUNKS = """
MATCH (:Document {corpus: $corpus, title: $title})-[:HAS_CHUNK]->(c:Chunk) RETURN c.text AS text
"""
MERGED = """
MATCH (k:KeyElement {corpus: $corpus}) WHERE k.merged_into IS NOT NULL RETURN k.key AS key
"""
VECTORS = """
MATCH (n:AtomicFact|KeyElement {corpus: $corpus})
RETURN DISTINCT labels(n)[0] AS label, size(n.embedding) AS numbers
"""
FACTS = """
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_ATOMIC_FACT]->(f)
RETURN d.title AS title, c.summary AS summary, f {.*, id: null} AS fact, COLLECT {
  MATCH (f)-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k)
  WITH r, k ORDER BY k.id, type(r)
  RETURN [type(r), properties(r), k.id]
} AS names
"""
CUT = re.compile(
    r":(Chunk|AtomicFact|HAS_CHUNK|HAS_ATOMIC_FACT|HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT|NEXT) "
)
KINDS = ("insert", "replace", "repeat", "cut")
WORKS = st.sampled_from((True, True, False))
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=5)


class HashEmbedder:
    """Vectors that have nothing to do with each other, also for facts."""

    name = "hashes"
    dimension = 32

    async def embed(self, texts: list[str]) -> list[list[float]]:
        return [[byte - 127.5 for byte in sha256(text.encode()).digest()] for text in texts]

    async def aclose(self) -> None:
        """Nothing to close."""


EMBEDDERS: tuple[Embedder, ...] = (OfflineEmbedder(), HashEmbedder())


def facts_of(text: str) -> Mapping[str, list[str]]:
    """The facts of a text; what is lost is not listed, though it stands in the fact."""
    facts = SENTENCE.findall(" ".join(text.split()))
    return {one: NAME.findall(one.partition(" lost ")[0]) for one in facts}


def check_same(before: list[str], after: list[str]) -> None:
    """Raise AssertionError with the first lines that only one of two graphs has."""
    one, other = Counter(before), Counter(after)
    assert one == other, (list(one - other)[:3], list(other - one)[:3])


@dataclass(slots=True)
class Corpus:
    """What a corpus should hold: paragraphs and chunks without facts, by title, and vectors.

    Without an embedder it is not in the database.
    """

    name: str
    embedder: int | None = None
    paragraphs: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, Counter[str]] = field(default_factory=dict)


class Editing(RuleBasedStateMachine):
    """A person edits three files, with a model that now and then cannot read about Bede.

    They are read into two corpora in turn; what is done to one never changes the other.
    """

    neo4j: Settings
    folder: Path
    sequences, steps = 0, 0

    def __init__(self) -> None:
        super().__init__()
        type(self).sequences += 1
        self.here, self.other = (Corpus(f"test-{uuid4().hex[:12]}") for _ in range(2))
        decider = world.scripted({}, {ExtractionTask: self.extract})
        self.readers = [
            GraphReader(settings=world.settings(self.neo4j), decider=decider, embedder=one)
            for one in EMBEDDERS
        ]
        self.works = True
        self.asked: dict[str, Counter[str]] = {}
        self.exported: tuple[bytes, Corpus] | None = None
        self.untouched: list[str] = []

    @property
    def reader(self) -> GraphReader:
        return self.readers[self.here.embedder or 0].at(self.here.name)

    def extract(self, task: ExtractionTask) -> Extraction:
        self.asked.setdefault(task.title, Counter())[task.text] += 1
        if not self.works and "Bede" in task.text:
            raise ReplyError("The model cannot read this.")
        return world.extraction_of(facts_of(task.text))

    @initialize(paragraphs=PARAGRAPHS)
    def begin(self, paragraphs: list[str]) -> None:
        """There is something to begin with."""
        self.write(TITLES[0], paragraphs, works=True, turn=False)

    @rule(title=st.sampled_from(TITLES), paragraphs=PARAGRAPHS, works=WORKS, turn=st.booleans())
    def write(self, title: str, paragraphs: list[str], works: bool, turn: bool) -> None:
        """A new file, or one whose content is another altogether; perhaps in the other corpus."""
        if turn:
            self.turn()
        self.here.paragraphs[title] = paragraphs
        self.ingest(title, works)

    @precondition(lambda self: self.here.paragraphs)
    @rule(data=st.data(), sentence=SENTENCES, kind=st.sampled_from(KINDS), works=WORKS)
    def edit(self, data: Any, sentence: str, kind: str, works: bool) -> None:
        """One paragraph more, or another, or twice, or less: at the ends or in the middle."""
        title = data.draw(st.sampled_from(sorted(self.here.paragraphs)))
        paragraphs = self.here.paragraphs[title]
        at = data.draw(st.sampled_from(sorted({0, len(paragraphs) // 2, len(paragraphs) - 1})))
        new = [paragraphs[at] if kind == "repeat" else sentence]
        if kind == "cut" and len(paragraphs) > 1:
            new = []
        paragraphs[at : at + (kind in ("replace", "cut"))] = new

        assert self.ingest(title, works) <= 3

    @precondition(lambda self: self.here.paragraphs)
    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        """A document goes; what others say of the same things stays."""
        title = data.draw(st.sampled_from(sorted(self.here.paragraphs)))
        del self.here.paragraphs[title]
        self.here.failed.pop(title, None)

        assert self.reader.delete(title) == 1

    @precondition(lambda self: self.here.paragraphs)
    @rule(way=st.sampled_from(("ingest", "retry")), works=WORKS)
    def again(self, way: str, works: bool) -> None:
        """Nothing is asked for but what had failed."""
        self.asked, self.works = {}, works
        report = self.reader.retry_failed() if way == "retry" else self.reader.ingest(self.files())

        assert self.asked == {title: one for title, one in self.here.failed.items() if one}
        assert report.asked_chunks == sum(one.total() for one in self.asked.values())
        self.note_failures(*self.here.paragraphs)

    @precondition(lambda self: self.here.paragraphs)
    @rule(undo=st.booleans())
    def normalize(self, undo: bool) -> None:
        """Normalizing twice is normalizing once, a dry run is nothing, and undoing parts all."""
        self.reader.normalize()
        once = self.graph()
        self.reader.normalize(dry_run=True)
        check_same(once, self.graph())
        if undo:
            self.reader.normalize(undo=True)
            undone = self.graph()
            assert not [one for one in undone if "merged_into" in one or "MERGED_KEY" in one]
        else:
            self.reader.normalize()
            check_same(once, self.graph())

    @precondition(lambda self: self.here.embedder is not None)
    @rule(embedder=st.sampled_from(range(len(EMBEDDERS))))
    def reindex(self, embedder: int) -> None:
        """Only vectors change, and none is made twice."""
        changes, self.here.embedder = self.here.embedder != embedder, embedder
        numbered = [one for one in self.graph() if ":KeyElement" in one or ":AtomicFact" in one]
        vectors = self.reader.reindex()

        assert bool(vectors) == (changes and bool(numbered))
        assert self.reader.reindex() == 0

    @precondition(lambda self: self.here.embedder is not None)
    @rule(anew=st.booleans(), turn=st.booleans())
    def transfer(self, anew: bool, turn: bool) -> None:
        """An export of now or of an earlier moment is imported, into the same or the other one."""
        if anew or not self.exported:
            self.export()
        if turn:
            self.turn()
        self.import_()

    def export(self) -> None:
        file = BytesIO()
        report = self.reader.export(file)
        self.exported = file.getvalue(), deepcopy(self.here)

        assert report.documents == len(self.here.paragraphs)
        assert report.incomplete == sum(map(bool, self.here.failed.values()))
        assert report.refused == []

    def import_(self) -> None:
        """What is missing comes, what is there stays, and no model is asked."""
        assert self.exported
        file, exported = self.exported
        self.asked = {}
        export = Export(BytesIO(file))
        if self.here.embedder not in (None, exported.embedder):
            with pytest.raises(EmbeddingMismatchError):
                self.reader.import_corpus(export)
            return
        self.here.embedder = exported.embedder
        report = self.reader.import_corpus(export)
        present, failed = self.here.paragraphs, self.here.failed
        same = {one for one in present if present[one] == exported.paragraphs.get(one)}
        healed = {title for title in same if failed.get(title)}
        new = exported.paragraphs.keys() - present.keys()

        assert self.asked == {}
        assert report.documents == len(new | healed)
        assert report.unchanged == len(same - healed)
        assert len(report.refused) == len(exported.paragraphs.keys() & present.keys() - same)
        for title in new:
            present[title] = list(exported.paragraphs[title])
            failed[title] = exported.failed.get(title, Counter())
        for title in healed:
            failed[title] &= exported.failed.get(title, Counter())

    def turn(self) -> None:
        self.untouched = self.graph()
        self.here, self.other = self.other, self.here

    @invariant()
    def sound(self) -> None:
        """The graph holds what the files hold now; only names of one place are merged."""
        type(self).steps += 1
        here = self.here
        texts = {title: world.text_of(paragraphs) for title, paragraphs in here.paragraphs.items()}
        soundness.check(self.neo4j, here.name, texts, facts_of, here.failed)
        merged = digest.rows(self.neo4j, MERGED, corpus=here.name)
        embedder = EMBEDDERS[here.embedder or 0]
        numbers = {
            "KeyElement": embedder.dimension,
            "AtomicFact": None if here.embedder == 0 else embedder.dimension,
        }

        assert {one["key"] for one in merged} <= {"united kingdom", "uk"}
        for one in digest.rows(self.neo4j, VECTORS, corpus=here.name):
            assert one["numbers"] == numbers[one["label"]]
        other = digest.content(self.neo4j, self.other.name)
        check_same(self.untouched, other)

    def teardown(self) -> None:
        """Each corpus is what reading its texts from nothing gives, and nothing is left behind."""
        try:
            for _ in range(2):
                if self.here.paragraphs:
                    self.again("retry", works=True)
                    self.reader.normalize()
                    now = self.graph_without_cut()
                    self.reader.delete(everything=True)
                    assert self.graph() == []
                    self.reader.ingest(self.files())
                    check_same(now, self.graph_without_cut())
                if self.here.embedder is not None:
                    self.reader.delete(everything=True)
                assert self.graph() == []
                self.here, self.other = self.other, self.here
        finally:
            for reader in self.readers:
                reader.close()

    def ingest(self, title: str, works: bool) -> int:
        """Read the file in; how many chunks were asked for, which are new ones or had failed."""
        had_failed = self.here.failed.get(title, Counter())
        good = self.chunks(title) - had_failed
        self.asked, self.works = {}, works
        self.reader.ingest(self.files() / f"{title}.txt")
        self.here.embedder = self.here.embedder or 0
        asked = self.asked.get(title, Counter())

        assert set(self.asked) <= {title}
        assert asked == self.chunks(title) - good
        self.note_failures(title)
        return (asked - had_failed).total()

    def note_failures(self, *titles: str) -> None:
        """After a run whatever was asked for in vain is without facts, and nothing else is."""
        for title in titles:
            asked = self.asked.get(title, Counter())
            in_vain = {text: n for text, n in asked.items() if "Bede" in text and not self.works}
            self.here.failed[title] = Counter(in_vain)

    def chunks(self, title: str) -> Counter[str]:
        """The texts of the document's chunks."""
        found = digest.rows(self.neo4j, CHUNKS, corpus=self.here.name, title=title)
        return Counter(one["text"] for one in found)

    def files(self) -> Path:
        """The folder with the texts of this corpus."""
        for file in self.folder.iterdir():
            file.unlink()
        return world.write_files(self.folder, self.here.paragraphs)

    def graph(self) -> list[str]:
        return digest.content(self.neo4j, self.here.name)

    def graph_without_cut(self) -> list[str]:
        """The same without the ends of chunks, which an edit leaves where they are."""
        facts = digest.rows(self.neo4j, FACTS, corpus=self.here.name)
        return [*map(str, facts), *(line for line in self.graph() if not CUT.search(line))]


def run(
    neo4j: Settings, folder: Path, *, sequences: int, steps: int = 10, number: int
) -> tuple[int, int, str]:
    """Try random sequences that follow from a number; how many, their steps, and a fault if any."""

    class Here(Editing):
        pass

    Here.neo4j, Here.folder = neo4j, folder
    folder.mkdir(exist_ok=True)
    fault = ""
    try:
        run_state_machine_as_test(
            seed(number)(Here),
            settings=settings(
                max_examples=sequences,
                stateful_step_count=steps,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck),
            ),
        )
    except Exception as error:
        fault = "\n".join([f"seed {number}: {error!r}", *getattr(error, "__notes__", ())])
    return Here.sequences, Here.steps, fault
