"""The write access to one corpus: documents, chunks, facts, key elements, embeddings.

Every step is safe to repeat; a document is complete only when all of it is in the graph.
"""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any, TypeVar

from graphreader.documents import (
    AtomicFact,
    Chunk,
    ChunkFacts,
    Document,
    KeyElement,
    Passage,
)
from graphreader.errors import EmbeddingMismatchError
from graphreader.store.connection import Connection, Row, Run
from graphreader.store.full_text import TERMS_VERSION, corpus_word, indexed_terms
from graphreader.text.passages import passages_of

logger = logging.getLogger("graphreader.store")
T = TypeVar("T")
FREQUENT = 40  # facts from which a key element is marked as frequent

EMBEDDINGS_PER_WRITE = 500
"""Key elements or passages: Neo4j is fastest by so many."""

_TERMS_PER_WRITE = 1000
_CHUNKS_PER_DELETE = 250
_CHUNKS_PER_INDEXING = 100


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """A version of a document: hash of its text and chunk size, "sha256/tokens", and `chunks`."""

    id: str
    version: str
    chunks: int

    @classmethod
    def of(cls, id_: str, sha256: str, chunk_tokens: int, chunks: int) -> "DocumentVersion":
        """Return the version of a text that is cut into chunks of at most `chunk_tokens`."""
        return cls(id_, f"{sha256}/{chunk_tokens}", chunks)


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a write: new key elements and passages without vectors, and ids of documents.

    Another process, too, writes the `shared` documents; the chunks of `arranged` documents are
    linked.
    """

    unembedded: list[KeyElement | Passage]
    shared: frozenset[str]
    arranged: frozenset[str]


class GraphWriter:
    """A writer into one corpus of one database."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self.connection = connection
        self.corpus = corpus
        self._record: dict[str, Any] = {}

    async def begin_corpus(
        self, *, decider: str, prompts: str, embedding: str, dimension: int
    ) -> None:
        """Create the corpus. Raises EmbeddingMismatchError if it has vectors of another one."""
        self._record = {
            "decider": decider,
            "prompts": prompts,
            "embedding": embedding,
            "dimension": dimension,
            "terms": TERMS_VERSION,
            "frequent": True,
            "passages": True,
        }
        rows = await self._write("corpus", record=self._record)
        stored = rows[0]["embedding"], rows[0]["dimension"]
        check_embedding(self.corpus, stored, (embedding, dimension))

    async def write_chunks(
        self,
        chunks: Sequence[ChunkFacts[Chunk]],
        beginning: Sequence[Document] = (),
        chunk_tokens: int = 0,
        *,
        pending: Collection[str] = (),
        whole: Sequence[DocumentVersion] = (),
    ) -> WriteResult:
        """Write the documents `beginning` and chunks, in one message and one transaction.

        Chunks of the documents `pending`, by id, stand apart until `arrange`. Links the chunks of
        new documents that are `whole`, where all of them are written.
        """
        left = chunks
        passages = {one.chunk.id: passages_of(one.chunk) for one in chunks}
        while True:
            values = self._values(left, beginning, chunk_tokens, pending, whole, passages)
            [result] = await self._write("chunks", **values)
            new = set(result["new"])
            if len(new) in (0, len(left)):
                break
            left = [one for one in left if one.chunk.id in new]  # another process has the others
        lacking = set(result["lacking"])
        elements = [
            KeyElement(id_, surfaces[0], key)
            for id_, key, surfaces in values["elements"]
            if id_ in lacking
        ]
        return WriteResult(
            [*elements, *chain(*passages.values())],
            frozenset(one.chunk.document_id for one in chunks if one.chunk.id not in new),
            frozenset(result["arranged"]),
        )

    async def arrange(self, document: DocumentVersion, chunks: Sequence[Chunk]) -> list[str]:
        """Make these chunks the text of a document; return the ids of others, to be deleted."""
        places = _places(chunks)

        async def work(run: Run) -> list[str]:
            await run("write/place_chunks", chunks=places)
            ids = [chunk.id for chunk in chunks]
            rows = await run("write/retire_chunks", document=document.id, chunks=ids)
            await run("write/unlink_chunks", document=document.id)
            await run("write/chunks", corpus=self.corpus, **self._values(whole=[document]))
            return sorted(row["id"] for row in rows)

        return await self.connection.transact(work, lock=self.corpus)

    async def place(self, chunks: Sequence[Chunk]) -> None:
        """Store the places of chunks whose document is complete; `index_passages` is due after."""
        await self.connection.write("write/place_chunks", lock=self.corpus, chunks=_places(chunks))

    async def complete(self, documents: Iterable[DocumentVersion]) -> set[str]:
        """Mark the documents that are whole, with this version, as complete; return their ids."""
        versions = [asdict(one) for one in documents]
        rows = await self._write("finish_documents", documents=versions)
        return {row["id"] for row in rows}

    async def tag(
        self,
        documents: Sequence[str],
        *,
        added: Sequence[str] = (),
        removed: Sequence[str] = (),
        replaced: bool = False,
        date: str | None = None,
    ) -> int:
        """Change the tags and the date of documents, which front matter changes no longer.

        With `replaced` they have no other tags than the added ones. Returns their number.
        """
        values = {"added": list(added), "removed": list(removed), "replaced": replaced}
        return len(await self._write("tags", documents=list(documents), date=date, **values))

    async def settle(self) -> None:
        """Name every changed key element by the most frequent of its wordings."""
        await self.connection.run("write/settle_key_elements", corpus=self.corpus)

    async def unembedded(self, document: str | None = None) -> list[KeyElement]:
        """Return the key elements without a vector, of one document or of the corpus."""
        if document:
            rows = await self._read("unembedded_of_document", document=document)
        else:
            rows = await self._read("unembedded")
        return [KeyElement.of(row) for row in rows]

    async def unembedded_among(self, elements: Sequence[str]) -> set[str]:
        """Return the ids of `elements` (key element ids) that have no vector."""
        [row] = await self._read("unembedded_among", ids=list(elements))
        return set(row["ids"])

    async def place_facts(self, facts: Iterable[AtomicFact]) -> None:
        """Store what is known of the sentences of facts."""
        left = iter(facts)
        while part := list(islice(left, _TERMS_PER_WRITE)):
            rows = [
                {
                    "id": one.id,
                    "place": one.place,
                    "terms": indexed_terms(one.searched, self.corpus),
                }
                for one in part
            ]
            await self._write("fact_terms", rows=rows)

    async def unembedded_passages(self, documents: Sequence[str]) -> list[Passage]:
        """Return the passages of documents without a vector."""
        rows = await self._read("unembedded_passages", documents=list(documents))
        return [
            Passage(id_, chunk, start, end, chunk.text[start:end])
            for row in rows
            for chunk in [Chunk.of(row["chunk"])]
            for id_, start, end in row["passages"]
        ]

    async def write_passage_embeddings(self, vectors: Iterable[tuple[str, list[float]]]) -> None:
        """Store vectors of passages (id, vector)."""
        vector, left = self.connection.vector, iter(vectors)
        while part := list(islice(left, EMBEDDINGS_PER_WRITE)):
            rows = [{"id": id_, "vector": vector(one)} for id_, one in part]
            await self._write("passage_embeddings", rows=rows)

    async def write_embeddings(
        self, vectors: Iterable[tuple[str, list[float]]], fresh: Collection[str] = ()
    ) -> None:
        """Store vectors of key elements (id, vector); `fresh` ids are marked for normalization."""
        vector = self.connection.vector
        rows = [{"id": i, "vector": vector(v), "fresh": i in fresh} for i, v in vectors]
        for start in range(0, len(rows), EMBEDDINGS_PER_WRITE):
            await self._write("embeddings", rows=rows[start : start + EMBEDDINGS_PER_WRITE])

    async def change_embedding(self, embedding: str, dimension: int) -> None:
        """Delete another embedding's vectors and record this one; delete all vectors of facts."""
        await self.connection.run("write/forget_fact_embeddings", corpus=self.corpus)
        rows = await self._read("corpus")
        if rows and (rows[0]["embedding"], rows[0]["dimension"]) == (embedding, dimension):
            return
        for name in ("embeddings", "passage_embeddings"):
            await self.connection.run(f"write/forget_{name}", corpus=self.corpus)
        await self.connection.write(
            "write/corpus_embedding",
            corpus=self.corpus,
            embedding=embedding,
            dimension=dimension,
        )

    async def index_terms(self, documents: Sequence[str]) -> None:
        """Write the terms of documents and facts that have none of this version."""
        word = indexed_terms("", self.corpus)
        rows = await self._read("unindexed", documents=list(documents), word=word)
        for label in ("Document", "AtomicFact"):
            name = "title_terms" if label == "Document" else "fact_terms"
            left = (row for row in rows if row["label"] == label)
            while part := list(islice(left, _TERMS_PER_WRITE)):
                terms = await asyncio.to_thread(_rows_of_terms, part, self.corpus)
                await self._write(name, rows=terms)

    async def index_passages(self, documents: Sequence[str]) -> None:
        """Write the passages of chunks that have none, and terms that are missing or earlier."""
        word = indexed_terms("", self.corpus)
        rows = iter(await self._read("unindexed_passages", documents=list(documents), word=word))
        while part := list(islice(rows, _CHUNKS_PER_INDEXING)):
            chunks = [Chunk.of(row["chunk"]) for row in part]
            await self._write(
                "passages",
                rows=await asyncio.to_thread(
                    lambda chunks: [
                        {"chunk": one.id, "passages": _passage_rows(passages_of(one), self.corpus)}
                        for one in chunks
                    ],
                    chunks,
                ),
            )

    async def finish_terms(self) -> None:
        """Record that all titles, facts and passages have their terms."""
        await self._write("corpus_terms", terms=TERMS_VERSION)

    async def _read(self, name: str, **values: Any) -> list[Row]:
        return await self.connection.read(f"read/{name}", corpus=self.corpus, **values)

    def _values(
        self,
        chunks: Sequence[ChunkFacts[Chunk]] = (),
        beginning: Sequence[Document] = (),
        chunk_tokens: int = 0,
        pending: Collection[str] = (),
        whole: Iterable[DocumentVersion] = (),
        passages: Mapping[str, Sequence[Passage]] = {},
    ) -> dict[str, Any]:
        elements, rows = _rows(chunks, self.corpus, pending, passages)
        return {
            "corpus_word": corpus_word(self.corpus),
            "record": self._record,
            "documents": [_document_row(one, self.corpus) for one in beginning],
            "chunk_tokens": chunk_tokens,
            "chunks": rows,
            "elements": elements,
            "frequent": FREQUENT,
            "whole": [asdict(one) for one in whole],
        }

    async def _write(self, name: str, **values: Any) -> list[Row]:
        """Run a statement that locks the corpus itself, in one message."""
        return await self.connection.run(f"write/{name}", corpus=self.corpus, **values)


def check_embedding(corpus: str, stored: tuple[str, int], new: tuple[str, int]) -> None:
    """Raise EmbeddingMismatchError where a corpus has vectors of another name or length."""
    if stored != new:
        raise EmbeddingMismatchError(
            f"The corpus {corpus!r} has the embeddings {stored[0]!r} of {stored[1]} numbers, these "
            f"texts {new[0]!r} of {new[1]}: use another --corpus."
        )


def metadata_of(document: Document) -> str:
    """The metadata of a document as the graph stores them: one line of JSON."""
    return json.dumps(dict(document.metadata), ensure_ascii=False, sort_keys=True)


def _places(chunks: Iterable[Chunk]) -> list[Row]:
    return [{"id": chunk.id, "place": chunk.place} for chunk in chunks]


def _rows_of_terms(rows: Iterable[Row], corpus: str) -> list[Row]:
    return [{"id": row["id"], "terms": indexed_terms(row["text"], corpus)} for row in rows]


def _document_row(document: Document, corpus: str) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "terms": indexed_terms(document.title, corpus),
        "source": document.source,
        "sha256": document.sha256,
        "language": document.language,
        "metadata": metadata_of(document),
        "encoding": document.encoding or None,
        "tags": list(document.tags) or None,
        "date": document.date or None,
        "page_starts": list(document.page_starts),
        "headings": [heading.title for heading in document.headings],
        "heading_starts": [heading.start for heading in document.headings],
        "heading_levels": [heading.level for heading in document.headings],
    }


def _passage_rows(passages: Iterable[Passage], corpus: str) -> list[list[Any]]:
    return [[one.id, one.start, one.end, indexed_terms(one.searched, corpus)] for one in passages]


def _rows(
    chunks: Sequence[ChunkFacts[Chunk]],
    corpus: str,
    pending: Collection[str],
    passages: Mapping[str, Sequence[Passage]],
) -> tuple[list[list[Any]], list[Row]]:
    """Return the rows of key elements, and of chunks whose facts refer to them by their index.

    Rows of key elements, facts and passages are lists: Neo4j takes them in faster than maps.
    """
    keys: dict[str, str] = {}
    surfaces: defaultdict[str, set[str]] = defaultdict(set)
    for read in chunks:
        for fact in read.facts:
            for element in fact.key_elements:
                keys[element.id] = element.key
                surfaces[element.id].add(element.name)
    ids = sorted(keys)
    number = {id_: place for place, id_ in enumerate(ids)}
    elements = [[one, keys[one], sorted(surfaces[one])] for one in ids]
    rows = [
        {
            "document": read.chunk.document_id,
            "properties": read.chunk.properties,
            "pending": True if read.chunk.document_id in pending else None,
            "passages": _passage_rows(passages[read.chunk.id], corpus),
            "facts": [
                [
                    fact.id,
                    fact.text,
                    indexed_terms(fact.searched, corpus),
                    fact.index,
                    [[number[e.id], e.name] for e in fact.key_elements],
                    fact.place,
                ]
                for fact in read.facts
            ],
        }
        for read in chunks
    ]
    return elements, rows


class Deleter:
    """A deleter of parts of one corpus. Key elements that other facts name stay."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def delete(self, documents: Sequence[str]) -> None:
        """Delete documents."""
        await self._write("write/mark_deleting", documents=list(documents))
        await self.finish_deletes()
        logger.info("Deleted %d documents of corpus %r", len(documents), self._corpus)

    async def delete_corpus(self) -> None:
        """Delete the corpus itself and the runs kept of it, if no document is left."""
        await self._connection.run("write/delete_runs", corpus=self._corpus)
        await self._write("write/delete_corpus")

    async def delete_chunks(self, chunks: Sequence[str]) -> None:
        """Delete chunks with their facts; `GraphWriter.settle` is due afterwards."""
        for start in range(0, len(chunks), _CHUNKS_PER_DELETE):
            batch = list(chunks[start : start + _CHUNKS_PER_DELETE])
            for name in ("write/delete_chunk_facts", "write/delete_chunks"):
                await self._connection.run(
                    name, corpus=self._corpus, chunks=batch, frequent=FREQUENT
                )

    async def finish_deletes(self) -> None:
        """Complete every interrupted delete of this corpus; `GraphWriter.settle` is due after."""
        if not await self._connection.read("read/pending_deletes", corpus=self._corpus):
            return
        while rows := await self._connection.read(
            "read/chunks_to_delete", corpus=self._corpus, limit=_CHUNKS_PER_DELETE
        ):
            await self.delete_chunks([row["id"] for row in rows])
        await self._write("write/delete_documents")

    async def _write(self, name: str, **values: Any) -> None:
        await self._connection.write(name, lock=self._corpus, corpus=self._corpus, **values)
