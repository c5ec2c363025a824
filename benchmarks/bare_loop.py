"""What `benchmarks.ingest` compares with: a bare loop of the driver that writes the same graph.

Two statements in one transaction for any number of documents, and one for every 500 vectors, which
is the number that Neo4j writes fastest. It knows beforehand what is new, so it creates where
GraphReader has to look; it leaves nothing to be resumed. Only what it waits for Neo4j is counted:
all rows are made before.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, LiteralString

from neo4j import GraphDatabase, ManagedTransaction
from neo4j.vector import Vector

from benchmarks.chronicle import Chronicle, InstantDecider, InstantEmbedder, number_of
from benchmarks.measured import Clock, Measured, peak_memory
from graphreader.documents import AtomicFact, Chunk, ChunkFacts, Document
from graphreader.ingestion.chunking import split
from graphreader.ingestion.context import DocumentContext
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionResult, ground
from graphreader.ingestion.loading.sources import sources_of
from graphreader.store.connection import Address
from graphreader.store.full_text import TERMS_VERSION, corpus_word, indexed_terms
from graphreader.store.writer import metadata_of
from graphreader.text.passages import passages_of

VECTORS = 500
"""In one transaction."""

Rows = dict[str, Any]
Extracted = tuple[Chunk, Sequence[AtomicFact]]

CORPUS = """
CREATE (:Corpus {name: $corpus, decider: 'instant', prompts: 'instant', embedding: 'instant',
                 dimension: $dimension, terms: $terms, passages: true, passage_vectors: $embed,
                 created: datetime()})
"""

WRITE = """
UNWIND $elements AS row
MERGE (k:KeyElement {id: row[0]})
ON CREATE SET k.corpus = $corpus, k.corpus_word = $corpus_word, k.key = row[1], k.name = row[2],
              k.aliases = [row[2]]
WITH collect(k) AS elements
UNWIND $documents AS one
CREATE (d:Document)
SET d = one.properties, d.created = datetime(), d.updated = datetime()
WITH elements, d, one
UNWIND one.chunks AS part
CREATE (d)-[:HAS_CHUNK]->(c:Chunk)
SET c = part.properties
FOREACH (one IN part.passages |
  CREATE (c)-[:HAS_PASSAGE]->
         (:Passage {id: one[0], corpus: $corpus, start: one[1], end: one[2], terms: one[3]})
)
WITH elements, c, part
UNWIND part.facts AS fact
CREATE (c)-[:HAS_ATOMIC_FACT]->
       (f:AtomicFact {id: fact[0], corpus: $corpus, text: fact[1], index: fact[2], terms: fact[4]})
SET f += fact[5]
WITH elements, f, fact
UNWIND fact[3] AS name
WITH f, elements[name[0]] AS k, name[1] AS surface
CREATE (f)-[:HAS_KEY_ELEMENT {surface: surface}]->(k)
"""

NEXT = """
UNWIND $pairs AS pair
MATCH (a:Chunk {id: pair[0]})
MATCH (b:Chunk {id: pair[1]})
CREATE (a)-[:NEXT]->(b)
"""

EMBED = {
    "elements": """
UNWIND $vectors AS row
MATCH (k:KeyElement {id: row[0]})
CALL db.create.setNodeVectorProperty(k, 'embedding', row[1])
""",
    "passages": """
UNWIND $vectors AS row
MATCH (p:Passage {id: row[0]})
CALL db.create.setNodeVectorProperty(p, 'embedding', row[1])
""",
}


def write(
    address: Address,
    corpus: str,
    chronicle: Chronicle,
    *,
    documents: int,
    embed: bool,
) -> Measured:
    """Write a chronicle into a corpus, so many documents a transaction."""
    measured = Measured()
    with GraphDatabase.driver(
        address.uri, auth=(address.username, address.password), telemetry_disabled=True
    ) as driver:
        agent = driver.get_server_info().agent
        # Neo4j 5 does not know the driver's vectors, which are packed in a tenth of the time.
        as_sent = list if agent.startswith("Neo4j/5.") else _as_vector
        # All of it before the first transaction: what Neo4j still does in a pause is not counted.
        batches = list(_batches(corpus, chronicle, documents, embed, as_sent))
        gc.freeze()
        with driver.session(database=address.database) as session:
            session.run(
                CORPUS,
                corpus=corpus,
                dimension=InstantEmbedder.dimension,
                terms=TERMS_VERSION,
                embed=embed,
            )
            for rows in batches:
                clock = Clock()
                session.execute_write(_run, (WRITE, NEXT), rows)
                for label, vectors in rows["vectors"]:
                    session.execute_write(_run, (EMBED[label],), {"vectors": vectors})
                measured.seconds += clock.seconds
                measured.cpu += clock.cpu
                chunks = sum(len(one["chunks"]) for one in rows["documents"])
                measured.written.extend([measured.seconds] * chunks)
                measured.memory_after_first_document = (
                    measured.memory_after_first_document or peak_memory()
                )
    measured.memory = peak_memory()
    return measured


def _as_vector(floats: list[float]) -> Vector:
    return Vector(floats, "f32")


def _run(
    transaction: ManagedTransaction, statements: Sequence[LiteralString], values: Rows
) -> None:
    for statement in statements:
        transaction.run(statement, {n: v for n, v in values.items() if f"${n}" in statement})


def _batches(
    corpus: str, chronicle: Chronicle, documents: int, embed: bool, as_sent: Callable[..., Any]
) -> Iterator[Rows]:
    """The rows of so many documents at a time."""
    embedder, known = InstantEmbedder(corpus), set[str]()
    extracted = _extracted(corpus, chronicle)
    while batch := list(islice(extracted, documents)):
        elements = {
            element.id: element
            for _, chunks in batch
            for _, facts in chunks
            for fact in facts
            for element in fact.key_elements
        }
        ids = sorted(elements)
        vectors: dict[str, list[Any]] = {}
        if embed:
            new = [elements[id_] for id_ in ids if id_ not in known]
            known.update(one.id for one in new)
            vectors["elements"] = [[one.id, as_sent(embedder.vector(one.key))] for one in new]
            vectors["passages"] = [
                [passage.id, as_sent(embedder.vector(passage.with_title))]
                for _, chunks in batch
                for chunk, _ in chunks
                for passage in passages_of(chunk)
            ]
        place = {id_: at for at, id_ in enumerate(ids)}
        yield {
            "corpus": corpus,
            "corpus_word": corpus_word(corpus),
            "elements": [[id_, elements[id_].key, elements[id_].name] for id_ in ids],
            "documents": [_document(one, chunks, chronicle, place) for one, chunks in batch],
            "pairs": [[a.id, b.id] for _, some in batch for (a, _), (b, _) in pairwise(some)],
            "vectors": [
                (label, some[start : start + VECTORS])
                for label, some in vectors.items()
                for start in range(0, len(some), VECTORS)
            ],
        }


def _extracted(corpus: str, chronicle: Chronicle) -> Iterator[tuple[Document, list[Extracted]]]:
    """The documents with the facts of their chunks, as GraphReader makes them."""
    decider = InstantDecider(chronicle)
    for source in sources_of([chronicle.texts]):
        for document in source.documents(corpus):
            assert isinstance(document, Document)
            chunks: list[Extracted] = []
            context = DocumentContext(document, for_model=False)
            for chunk in split(document, chronicle.chunk_tokens):
                prepared = decider.facts_of(number_of(chunk.text))
                facts = [
                    ExtractedFact.model_construct(fact=fact, key_elements=names)
                    for fact, names in prepared
                ]
                part = chunk.start, chunk.text, Extraction.model_construct(facts=facts)
                result = ground(ExtractionResult(ChunkFacts(chunk)), context, [part])
                chunks.append((chunk, result.extracted.facts))
            yield document, chunks


def _document(
    document: Document, chunks: list[Extracted], chronicle: Chronicle, place: dict[str, int]
) -> Rows:
    properties = {
        "id": document.id,
        "corpus": document.corpus,
        "title": document.title,
        "terms": indexed_terms(document.title, document.corpus),
        "source": document.source,
        "sha256": document.sha256,
        "language": document.language,
        "metadata": metadata_of(document),
        "page_starts": list(document.page_starts),
        "headings": [heading for _, heading in document.headings],
        "heading_starts": [start for start, _ in document.headings],
        "chunk_tokens": chronicle.chunk_tokens,
        "arranged": True,
        "complete": True,
    }
    return {"properties": properties, "chunks": [_chunk(document, c, f, place) for c, f in chunks]}


def _chunk(
    document: Document, chunk: Chunk, facts: Sequence[AtomicFact], place: dict[str, int]
) -> Rows:
    properties = {
        "id": chunk.id,
        "corpus": document.corpus,
        "document": document.id,
        "index": chunk.index,
        "text": chunk.text,
        "tokens": chunk.tokens,
        "start": chunk.start,
        "end": chunk.end,
    }
    rows = [
        [
            fact.id,
            fact.text,
            fact.index,
            [[place[e.id], e.name] for e in fact.key_elements],
            indexed_terms(fact.searched, document.corpus),
            fact.place,
        ]
        for fact in facts
    ]
    passages = [
        [one.id, one.start, one.end, indexed_terms(one.searched, document.corpus)]
        for one in passages_of(chunk)
    ]
    return {"properties": properties, "facts": rows, "passages": passages}
