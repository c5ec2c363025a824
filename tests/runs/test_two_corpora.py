"""Corpora never mix, and no text gains a right."""

import re
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from graphreader.agent.decisions import Answer, CitedClaim, CitedContradiction
from graphreader.agent.events import Event, QuestionAnswered
from graphreader.agent.tasks import AnswerTask, ChunkTask, NeighborTask
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import digest, world

WHO = ("Ada", "Bede", "Cyril", "Dora", "Edgar")
WHAT = ("a lantern", "the sword", "12 coins", "an old map")
SENTENCE = re.compile(r"[A-Z][a-z]+ (?:gave|sold) [^.]+\.")
NAME = re.compile(r"[A-Z][a-z]+|lantern|sword|12 coins|map")
IDS = "MATCH (n {corpus: $corpus}) WHERE n.id IS NOT NULL RETURN n.id AS id"

sentences = st.builds(
    "{} {} {} to {}.".format,
    st.sampled_from(WHO),
    st.sampled_from(("gave", "sold")),
    st.sampled_from(WHAT),
    st.sampled_from(WHO),
)
texts = st.dictionaries(
    st.sampled_from(("one", "two", "three")),
    st.lists(sentences, min_size=1, max_size=4),
    min_size=1,
)


def extract(task: ExtractionTask) -> Extraction:
    found = SENTENCE.findall(" ".join(task.text.split()))
    facts = [ExtractedFact(fact=one, key_elements=NAME.findall(one)) for one in found]
    return Extraction(facts=facts)


def read_on(task: ChunkTask) -> Any:
    """Any of the functions, by the chunk; notes and quotes all that it says."""
    functions = ("search_more", "read_previous_chunk", "read_subsequent_chunk")
    function = functions[crc32(task.label.encode()) % 3]
    said = SENTENCE.findall(" ".join(task.text.split()))
    return world.chunk(function, f"{task.notebook} {' '.join(said)}".strip(), said)


EVERYWHERE: dict[Any, Any] = {
    ExtractionTask: extract,
    ChunkTask: read_on,
    NeighborTask: lambda task: world.neighbor(1),
}


def documents(of: dict[str, list[str]]) -> list[Document]:
    """A chunk for each sentence."""
    return [
        Document("\n\n".join(map(world.padded, said)), metadata={"source": title})
        for title, said in of.items()
    ]


def asked(reader: GraphReader, decider: ScriptedDecider) -> tuple[str, list[Event]]:
    """All that a run was shown, told and gave back, as one text; and what happened."""
    decider.asked.clear()
    events = list(reader.stream("Who gave what to whom?"))
    return repr([events, decider.asked]), events


def said_in(of: dict[str, list[str]]) -> set[str]:
    return {sentence for said in of.values() for sentence in said}


# Whatever two corpora hold, a run over the one never shows, reads, notes or cites anything of the
# other: no sentence that only stands there, no name, no id of any of its nodes.
@settings(
    max_examples=2,
    deadline=None,
    phases=(Phase.generate,),  # a smaller example would take minutes to find
    suppress_health_check=list(HealthCheck),
)
@given(one=texts, other=texts)
def test_they_never_mix(
    neo4j: Settings, one: dict[str, list[str]], other: dict[str, list[str]]
) -> None:
    name = f"test-{uuid4().hex[:12]}"
    corpora = {name: one, f"{name}-2": other}
    deciders = {corpus: world.scripted({}, EVERYWHERE) for corpus in corpora}
    readers = {
        corpus: world.reader(neo4j, corpus, decider, window=8192)
        for corpus, decider in deciders.items()
    }
    try:
        for corpus, held in corpora.items():
            readers[corpus].ingest(*documents(held))
        ids = {
            corpus: {row["id"] for row in digest.rows(neo4j, IDS, corpus=corpus)}
            for corpus in corpora
        }
        told = {corpus: asked(readers[corpus], deciders[corpus]) for corpus in corpora}
    finally:
        for reader in readers.values():
            reader.delete(everything=True)
            reader.close()

    assert not ids[name] & ids[f"{name}-2"]
    for corpus, foreign in zip(corpora, reversed(corpora), strict=True):
        text, events = told[corpus]
        only_there = said_in(corpora[foreign]) - said_in(corpora[corpus])
        names = set(NAME.findall(" ".join(only_there)))
        unknown = names - set(NAME.findall(" ".join(said_in(corpora[corpus]))))
        assert [one for one in (*ids[foreign], *only_there, *unknown) if one in text] == []
        last = events[-1]
        assert isinstance(last, QuestionAnswered)
        assert last.reading.citations
        assert all(cited.quote in said_in(corpora[corpus]) for cited in last.reading.citations)
        assert all(cited.document in corpora[corpus] for cited in last.reading.citations)


LETTERS = "Alma was born in 1950 at the coast."
REGISTER = "Alma was born in 1952 at the coast."
FACTS = {text: ["Alma", "coast"] for text in (LETTERS, REGISTER)}
QUESTION = "When was Alma born?"


def quote_it(task: ChunkTask) -> Any:
    found = [text for text in FACTS if text in task.values()["text"]]
    return world.chunk("search_more", " ".join([task.notebook, *found]).strip(), found)


def number_of(task: AnswerTask, words: str) -> int:
    return 1 + next(n for n, one in enumerate(task.evidence) if one.quote == words)


def conclude(task: AnswerTask) -> Answer:
    both = [number_of(task, REGISTER), number_of(task, LETTERS)]
    return Answer(
        analysis="",
        answer="In 1952.",
        confidence="stated",
        claims=[
            CitedClaim(claim="Alma was born in 1952.", citations=[both[0], 99]),
            CitedClaim(claim="Registers are right.", citations=[99]),
        ],
        contradictions=[
            CitedContradiction(about="The register says 1952, the letters 1950.", citations=both),
            CitedContradiction(about="Something is odd.", citations=both[:1]),
        ],
    )


# Two documents that contradict each other are both cited, also by the answer that chose one; a
# claim that cites nothing that was shown is marked, and a note names it.
def test_claims_and_contradictions(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = world.write_files(tmp_path, {"letters": [LETTERS], "register": [REGISTER]})
    script = {ChunkTask: quote_it, AnswerTask: conclude}
    with world.reader(neo4j, corpus, world.scripted(FACTS, script)) as reader:
        reader.ingest(texts)
        reading = reader.ask(QUESTION)
        reader.delete(everything=True)
    record = reading.as_dict()

    assert [(one.document, one.quote) for one in reading.citations] == [
        ("register", REGISTER), ("letters", LETTERS),
    ]  # fmt: skip
    assert [(one.text, one.citations, one.supported) for one in reading.claims] == [
        ("Alma was born in 1952.", (1,), True), ("Registers are right.", (), False),
    ]  # fmt: skip
    assert [(one.text, one.citations) for one in reading.contradictions] == [
        ("The register says 1952, the letters 1950.", (1, 2)),
    ]
    assert "1 of 2 claims has no quote that supports it: Registers are right." in reading.notes
    assert [one["supported"] for one in record["claims"]] == [True, False]
