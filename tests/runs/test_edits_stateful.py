"""Random sequences of adding, editing, deleting, normalizing: the graph is right after each."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from graphreader.errors import ReplyError
from graphreader.ingestion.extraction import Extraction, ExtractionTask
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
KINDS = ("insert", "replace", "repeat", "cut")
WORKS = st.sampled_from((True, True, False))
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=5)


def facts_of(text: str) -> Mapping[str, list[str]]:
    """The facts of a text; what is lost is not listed, though it stands in the fact."""
    facts = SENTENCE.findall(" ".join(text.split()))
    return {one: NAME.findall(one.partition(" lost ")[0]) for one in facts}


class Editing(RuleBasedStateMachine):
    """A person edits three files, with a model that now and then cannot read about Bede."""

    neo4j: Settings
    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.corpus = f"test-{uuid4().hex[:12]}"
        self.decider = world.scripted({}, {ExtractionTask: self.extract})
        self.reader = world.reader(self.neo4j, self.corpus, self.decider)
        self.works = True
        self.paragraphs: dict[str, list[str]] = {}
        self.asked: dict[str, Counter[str]] = {}
        self.failed: dict[str, Counter[str]] = {}

    def extract(self, task: ExtractionTask) -> Extraction:
        self.asked.setdefault(task.title, Counter())[task.text] += 1
        if not self.works and "Bede" in task.text:
            raise ReplyError("The model cannot read this.")
        return world.extraction_of(facts_of(task.text))

    @initialize(paragraphs=PARAGRAPHS)
    def begin(self, paragraphs: list[str]) -> None:
        """There is something to begin with."""
        self.write(TITLES[0], paragraphs, works=True)

    @rule(title=st.sampled_from(TITLES), paragraphs=PARAGRAPHS, works=WORKS)
    def write(self, title: str, paragraphs: list[str], works: bool) -> None:
        """A new file, or one whose content is another altogether."""
        self.paragraphs[title] = paragraphs
        self.ingest(title, works)

    @precondition(lambda self: self.paragraphs)
    @rule(data=st.data(), sentence=SENTENCES, kind=st.sampled_from(KINDS), works=WORKS)
    def edit(self, data: Any, sentence: str, kind: str, works: bool) -> None:
        """One paragraph more, or another, or twice, or less: at the ends or in the middle."""
        title = data.draw(st.sampled_from(sorted(self.paragraphs)))
        paragraphs = self.paragraphs[title]
        at = data.draw(st.sampled_from(sorted({0, len(paragraphs) // 2, len(paragraphs) - 1})))
        new = [paragraphs[at] if kind == "repeat" else sentence]
        if kind == "cut" and len(paragraphs) > 1:
            new = []
        paragraphs[at : at + (kind in ("replace", "cut"))] = new

        assert self.ingest(title, works) <= 3

    @precondition(lambda self: self.paragraphs)
    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        """A document goes; what others say of the same things stays."""
        title = data.draw(st.sampled_from(sorted(self.paragraphs)))
        (self.folder / f"{title}.txt").unlink()
        del self.paragraphs[title]
        self.failed.pop(title, None)

        assert self.reader.delete(title) == 1

    @precondition(lambda self: self.paragraphs)
    @rule(way=st.sampled_from(("ingest", "retry")), works=WORKS)
    def again(self, way: str, works: bool) -> None:
        """Nothing is asked for but what had failed."""
        self.asked, self.works = {}, works
        retry = self.reader.retry_failed
        report = retry() if way == "retry" else self.reader.ingest(self.folder)

        assert self.asked == {title: one for title, one in self.failed.items() if one}
        assert report.asked_chunks == sum(one.total() for one in self.asked.values())
        self.note_failures(*self.paragraphs)

    @precondition(lambda self: self.paragraphs)
    @rule(undo=st.booleans())
    def normalize(self, undo: bool) -> None:
        """Normalizing twice is normalizing once, a dry run is nothing, and undoing parts all."""
        self.reader.normalize()
        once = self.graph()
        self.reader.normalize(dry_run=True)
        assert self.graph() == once
        if undo:
            self.reader.normalize(undo=True)
            undone = self.graph()
            assert not [one for one in undone if "merged_into" in one or "MERGED_KEY" in one]
        self.reader.normalize()
        assert self.graph() == once

    @invariant()
    def sound(self) -> None:
        """The graph holds what the files hold now; only names of one place are merged."""
        texts = {title: self.path(title).read_text("utf-8") for title in self.paragraphs}
        soundness.check(self.neo4j, self.corpus, texts, facts_of, self.failed)
        merged = digest.rows(self.neo4j, MERGED, corpus=self.corpus)

        assert {one["key"] for one in merged} <= {"united kingdom", "uk"}

    def teardown(self) -> None:
        """Nothing is left behind."""
        if self.paragraphs:
            self.reader.delete(everything=True)
            assert self.graph() == []
        self.reader.close()
        for title in self.paragraphs:
            self.path(title).unlink()

    def ingest(self, title: str, works: bool) -> int:
        """Read the file in; how many chunks were asked for, which are new ones or had failed."""
        world.write_files(self.folder, {title: self.paragraphs[title]})
        had_failed = self.failed.get(title, Counter())
        good = self.chunks(title) - had_failed
        self.asked, self.works = {}, works
        self.reader.ingest(self.path(title))
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
            self.failed[title] = Counter(in_vain)

    def chunks(self, title: str) -> Counter[str]:
        """The texts of the document's chunks."""
        found = digest.rows(self.neo4j, CHUNKS, corpus=self.corpus, title=title)
        return Counter(one["text"] for one in found)

    def path(self, title: str) -> Path:
        return self.folder / f"{title}.txt"

    def graph(self) -> list[str]:
        return digest.content(self.neo4j, self.corpus)


# Whatever is added, edited, deleted, normalized, undone and tried again, in any order: the graph
# holds the texts of now and their facts, counted right, and unchanged text is not asked for.
def test_edits(neo4j: Settings, tmp_path: Path) -> None:
    class Here(Editing):
        folder = tmp_path

    Here.neo4j = neo4j
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=4,
            stateful_step_count=10,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
