"""Corpora never mix, and no text gains a right."""

import re
from collections.abc import Mapping
from itertools import chain, product
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from graphreader.agent.decisions import Answer, CitedClaim, CitedContradiction
from graphreader.agent.events import Event, QuestionAnswered
from graphreader.agent.tasks import AnswerTask, ChunkTask, NeighborTask
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.settings import Settings
from graphreader.store.connection import DIALECTS, dialect_of, statement, statements_folder
from graphreader.store.full_text import TERMS_VERSION
from graphreader.testing import ScriptedDecider
from tests import servers
from tests.runs import digest, world
from tests.runs.edits import HashEmbedder

pytestmark = pytest.mark.slow

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


TEXTS = {
    "one": ["Ada gave a lantern to Bede.", "Ada sold the sword to Cyril."],
    "two": ["Ada gave an old map to Dora."],
    "three": ["Edgar sold 12 coins to Edgar."],
}
# A document that is being deleted, a chunk without facts, key elements that are merged, alike, new,
# frequent or without a vector: each statement shall have something to show.
UNFINISHED = """
MATCH (:Document {corpus: $corpus, title: 'two'})-[:HAS_CHUNK]->(c)-[:HAS_PASSAGE]->(p)
MATCH (three:Document {corpus: $corpus, title: 'three'})
MATCH (sword:KeyElement {corpus: $corpus, key: 'sword'})
MATCH (map:KeyElement {corpus: $corpus, key: 'map'})
SET three.deleting = true, c.error = 'no reply', map.embedding = null, p.embedding = null,
    map.frequent = true, sword.fresh = true, sword.merged_into = map.id, sword.merged_by = 'test'
MERGE (map)-[:LIKE {score: 0.9}]->(sword)
WITH sword
MATCH (sword)<-[:HAS_KEY_ELEMENT]-(f)
MERGE (f)-[:MERGED_KEY_ELEMENT {surface: 'sword'}]->(sword)
"""
GONE = "MATCH (n) WHERE n.corpus = $corpus OR n:Corpus AND n.name = $corpus DETACH DELETE n"
LABELS = """
MATCH (n) WHERE n.corpus IN $corpora AND n.id IS NOT NULL
RETURN labels(n)[0] AS label, collect(n.id) AS ids
"""
NUMBERS = (
    "limit",
    "wide",
    "each",
    "ahead",
    "facts",
    "titles",
    "opening",
    "compared",
    "characters",
    "passages",
)
COUNTED = (
    *("read/list_facts", "read/count_facts", "read/list_names", "read/list_values"),
    *("read/list_documents", "read/texts_with_words"),
)
SHOW_ALL = {"read/corpora"}
SHOW_NOTHING = {  # of a corpus that has three documents, all written by this version
    "read/only_document",
    "read/documents_without_heading_paths",
    "read/documents_without_sentences",
}
OF_ALL_CORPORA = ("found", "last")  # how far Neo4j 5 had to search


def statements(dialect: str) -> list[str]:
    """The names of all statements that look into the graph, for the program and for people."""
    folder = Path(str(statements_folder()))
    files = [*folder.glob("read/*.cypher"), *folder.glob("inspect/*.cypher")]
    names = [f"{file.parent.name}/{file.stem}" for file in files]
    others = tuple(f".{one}" for one in DIALECTS if one != dialect)
    return sorted(one.partition(".")[0] for one in names if not one.endswith(others))


def values(name: str, text: str, corpus: str, ids: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """All values of a statement."""
    everything = sorted(chain(*ids.values()))
    vector = [byte - 127.5 for byte in range(HashEmbedder.dimension)]
    known: dict[str, list[Any]] = {name: [1000] for name in NUMBERS} | {
        **{"corpus": [corpus], "version": [TERMS_VERSION], "word": ["another"], "after": [""]},
        **{"most": [2], "many": [2], "sample": [9], "least": [-1], "path": [0]},
        **{"parted": [True, False], "enough": [["model"]]},
        **{"words": [""], "shares": [[0, 0.5, 0.9]]},
        **{"name": ["Ada", "one"], "other": ["Dora"], "paths": [list(TEXTS)]},
        **{"visited": [[]], "read": [[]], "queries": [["ada", "lantern"]]},
        **{"vector": [vector], "vectors": [[vector]]},
        **{"ids": [everything], "elements": [everything], "related": [everything]},
        **{"id": everything},
        "pairs": [[[one, other] for one in everything for other in everything]],
        "hits": [[{"id": id_, "facts": [0], "start": 0, "end": 99} for id_ in ids["Chunk"]]],
        "document": ids["Document"],
        "elements": [ids["KeyElement"]],
        "scope": [None, ids["Document"]],
        "names": [[{"name": "two", "files": ["two"], "folders": ["two"]}]],
        **{"tags": [["draft"]], "since": [""], "until": ["", "2023"], "ranges": [[]]},
        **{"skip": [0], "by_time": [False], "property": ["speaker", "when"], "query": ["", "ada"]},
        "documents": [ids["Document"]],
        "chunks": [[{"id": id_, "read": True, "facts": [0, 1]} for id_ in ids["Chunk"]]],
    }
    if name == "read/chunks":
        known["documents"] = [[{"document": id_, "chunks": [0, 1]} for id_ in ids["Document"]]]
    if name == "read/search_facts":
        known["queries"] = [[["ada"], ["lantern"]]]
        known["title_queries"] = [["one", "two"]]
        known["passage_queries"] = [[["ada"], ["lantern"]]]
        known["counted"] = [[["ada"], ["lantern"]]]
    if name in ("read/list_facts", "read/count_facts"):
        known["ids"] = [[], *([id_] for id_ in ids["KeyElement"])]
    if name in COUNTED:
        known |= {"most": [1000], "documents": [1000], "words": [[], ["two"]]}
    wanted = sorted(set(re.findall(r"\$(\w+)", text)))
    return [dict(zip(wanted, one, strict=True)) for one in product(*map(known.__getitem__, wanted))]


def plain(value: Any) -> Any:
    """A value that can be compared, without the order of lists."""
    if isinstance(value, dict):
        return sorted((k, plain(v)) for k, v in value.items() if k not in OF_ALL_CORPORA)
    if isinstance(value, list | tuple):
        return sorted(map(plain, value), key=repr)
    return repr(value)


# Each statement gives of a corpus what it gives where another one with the same texts is not, even
# if it is asked for the ids of that other one.
@pytest.mark.parametrize("version", servers.VERSIONS)
def test_statements(neo4j_pool: servers.Pool, corpus: str, version: str) -> None:
    neo4j, corpora = neo4j_pool.settings(version), (corpus, f"{corpus} two")
    decider = world.scripted({}, EVERYWHERE)
    of_version = world.settings(neo4j, window=8192)
    with GraphReader(settings=of_version, decider=decider, embedder=HashEmbedder()) as reader:
        for one in corpora:
            *first, last = documents(TEXTS)
            reader.at(one).ingest(*first)
            reader.at(one).ask("Who gave what to whom?", mode="paper", keep_run=True)
            reader.at(one).ingest(last)
            digest.rows(neo4j, UNFINISHED, corpus=one)
    dialect = dialect_of(digest.rows(neo4j, statement("schema/server"))[0]["version"])
    found = digest.rows(neo4j, LABELS, corpora=list(corpora))
    ids = {row["label"]: sorted(row["ids"]) for row in found}

    with digest.connected(neo4j) as run:

        def shown() -> dict[str, Any]:
            results = {}
            for name in statements(dialect):
                text = statement(name, dialect)
                results[name] = [plain(run(text, one)) for one in values(name, text, corpus, ids)]
            return results

        beside = shown()
        digest.rows(neo4j, GONE, corpus=corpora[1])
        alone = shown()
        digest.rows(neo4j, GONE, corpus=corpus)
        gone = shown()

    assert {name for name in alone if beside[name] != alone[name]} == SHOW_ALL
    assert {name for name in alone if alone[name] == gone[name]} == SHOW_NOTHING


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
