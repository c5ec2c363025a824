"""Writing one corpus: documents, chunks with their facts, key elements, embeddings.

Every step is safe to repeat: ids come from the content, and a document counts as complete only when
all of it is there. It does not decide what to write.

Taking documents, chunks and whole corpora out of the graph, in batches.

What is cut off is finished by the next `finish_deletes`. Key elements that other facts name stay.
"""

import json
import logging
import shlex
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from graphreader.documents import AtomicFact, Chunk, Document
from graphreader.errors import EmbeddingMismatchError
from graphreader.store.connection import Call, Connection, Row, Run
from graphreader.store.explorer import corpus_word

EMBEDDINGS_A_WRITE = 500
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """A chunk and what was extracted from it; `error` says why there are no facts.

    The chunks of an edit are `pending` until they are arranged.
    """

    chunk: Chunk
    facts: tuple[AtomicFact, ...] = ()
    error: str | None = None
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """Which text of a document, and how cut: "sha256/tokens a chunk"; and its number of chunks."""

    id: str
    version: str
    chunks: int

    @classmethod
    def of(cls, id_: str, sha256: str, chunk_tokens: int, chunks: int) -> "Version":
        """The version that a text has when it is cut so."""
        return cls(id_, f"{sha256}/{chunk_tokens}", chunks)

    def row(self) -> dict[str, Any]:
        """As statements take it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A key element that has no vector yet; `name` is one of its wordings."""

    id: str
    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Written:
    """What came of writing chunks: the key elements that they name and that have no vector yet.

    `shared` are documents of which another process had written one of these chunks already.
    """

    unembedded: list[Unembedded]
    shared: frozenset[str]


class GraphWriter:
    """Writes into one corpus of one database."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self.connection = connection
        self.corpus = corpus
        self._made: dict[str, Any] = {}

    async def begin_corpus(
        self, *, decider: str, prompts: str, embedding: str, dimension: int
    ) -> None:
        """Create the corpus, or check that it was embedded by the same means.

        Raises EmbeddingMismatchError: vectors of two embeddings cannot be compared.
        """
        made = {"decider": decider, "prompts": prompts, "embedding": embedding}
        self._made = {"corpus": self.corpus, "dimension": dimension, **made}
        rows = await self.connection.write([("write/corpus", self._made)])
        check_embedding(self.corpus, rows[0]["embedding"], embedding)

    async def begin_documents(self, documents: Sequence[Document], chunk_tokens: int) -> set[str]:
        """Write the documents' own nodes; they are incomplete from here until `complete`.

        Returns the ids of those that were begun: one that is being deleted takes nothing.
        """
        rows = await self._write("write/documents", **self._begun(documents, chunk_tokens))
        return {row["id"] for row in rows}

    async def write_chunks(
        self,
        chunks: Sequence[ReadChunk],
        beginning: Sequence[Document] = (),
        chunk_tokens: int = 0,
    ) -> Written:
        """Write chunks of documents with their facts, all in one transaction.

        The documents must be there, or stand in `beginning`, whose nodes are written first.
        """

        async def work(run: Run) -> Written:
            if beginning:
                await run("write/documents", **self._begun(beginning, chunk_tokens))
            rows = [_chunk_row(read) for read in chunks]
            open_ = {
                row["id"] for row in await run("write/chunks", corpus=self.corpus, chunks=rows)
            }
            shared = frozenset(r.chunk.document for r in chunks if r.chunk.id not in open_)
            with_facts = [read for read in chunks if read.facts and read.chunk.id in open_]
            if not with_facts:
                return Written([], shared)
            elements, facts = _fact_rows(with_facts)
            found = await run(
                "write/facts",
                corpus=self.corpus,
                corpus_word=corpus_word(self.corpus),
                elements=elements,
                chunks=facts,
            )
            lacking = set(found[0]["lacking"]) if found else set()
            new = [row for row in elements if row["id"] in lacking]
            unembedded = [Unembedded(row["id"], row["key"], row["surfaces"][0]) for row in new]
            return Written(unembedded, shared)

        return await self._transact(work)

    async def chain(self, documents: Iterable[Version]) -> None:
        """Link the chunks of new documents by NEXT, where all of them are there."""
        rows = [one.row() for one in documents]
        await self._write("write/chain_chunks", documents=rows)

    async def arrange(self, document: Version, chunks: Sequence[Chunk]) -> list[str]:
        """Make exactly these chunks the text of a document, in this order, linked by NEXT.

        Returns the ids of its other chunks, which are to be deleted.
        """
        places = [{"id": c.id, "index": c.index, "start": c.start, "end": c.end} for c in chunks]

        async def work(run: Run) -> list[str]:
            await run("write/place_chunks", chunks=places)
            ids = [chunk.id for chunk in chunks]
            rows = await run("write/retire_chunks", document=document.id, chunks=ids)
            await run("write/unlink_chunks", document=document.id)
            await run("write/chain_chunks", documents=[document.row()])
            return sorted(row["id"] for row in rows)

        return await self._transact(work)

    async def complete(self, documents: Iterable[Version]) -> set[str]:
        """Mark documents as complete that are: of this version, in order, every chunk with facts.

        Their key elements must have their vectors. Returns the ids of those that are complete.
        """
        rows = [one.row() for one in documents]
        done = await self._write("write/finish_documents", documents=rows)
        return {row["id"] for row in done}

    async def settle(self) -> None:
        """Count the wordings of every key element that was touched; names follow from that."""
        await self.connection.run("write/settle_key_elements", corpus=self.corpus)

    async def unembedded(self, document: str | None = None) -> list[Unembedded]:
        """Return the key elements without a vector, of one document or of the corpus."""
        if document:
            rows = await self.connection.read("read/unembedded_of_document", document=document)
        else:
            rows = await self.connection.read("read/unembedded", corpus=self.corpus)
        return [Unembedded(**row) for row in rows]

    async def unembedded_among(self, elements: Sequence[str]) -> set[str]:
        """Return those of the key elements, by their ids, that have no vector."""
        rows = await self.connection.read("read/unembedded_among", ids=list(elements))
        return {row["id"] for row in rows}

    async def write_embeddings(
        self,
        vectors: Iterable[tuple[str, list[float]]],
        fresh: Collection[str] = (),
    ) -> None:
        """Store vectors of key elements, by their ids; `fresh` are to be compared with others."""
        vector = self.connection.vector
        rows = [{"id": i, "vector": vector(v), "fresh": i in fresh} for i, v in vectors]
        for start in range(0, len(rows), EMBEDDINGS_A_WRITE):
            part = rows[start : start + EMBEDDINGS_A_WRITE]
            await self._write("write/embeddings", rows=part)

    async def change_embedding(self, embedding: str, dimension: int) -> None:
        """Forget the vectors that another embedding made, and say which one makes them now."""
        rows = await self.connection.read("read/corpus", corpus=self.corpus)
        if rows and rows[0]["embedding"] == embedding:
            return
        await self.connection.run("write/forget_embeddings", corpus=self.corpus)
        values = {"corpus": self.corpus, "embedding": embedding, "dimension": dimension}
        await self.connection.write([("write/corpus_embedding", values)])

    async def _write(self, name: str, **values: Any) -> list[Row]:
        """Run one statement while no other writer of the corpus does."""
        return await self._transact(lambda run: run(name, **values))

    async def _transact(self, work: Callable[[Run], Awaitable[T]]) -> T:
        async def alone(run: Run) -> T:
            there = await run("write/lock_corpus", corpus=self.corpus)
            if not there and self._made:  # somebody deleted the corpus meanwhile
                await run("write/corpus", **self._made)
            return await work(run)

        return await self.connection.transact(alone)

    def _begun(self, documents: Iterable[Document], chunk_tokens: int) -> dict[str, Any]:
        rows = [_document_row(one) for one in documents]
        return {"corpus": self.corpus, "chunk_tokens": chunk_tokens, "documents": rows}


def check_embedding(corpus: str, was: str, now: str) -> None:
    """Raise EmbeddingMismatchError where a corpus was embedded by something else."""
    if was != now:
        raise EmbeddingMismatchError(
            f"The corpus {corpus!r} was read with the embeddings {was!r}, now {now!r} is "
            f"configured: run `graphreader reindex --corpus {shlex.quote(corpus)}` to embed it "
            f"anew, set GRAPHREADER_EMBEDDINGS={was.removesuffix('-1')}, or use another --corpus."
        )


def metadata_of(document: Document) -> str:
    """The metadata of a document as they are stored: one line of JSON."""
    return json.dumps(dict(document.metadata), ensure_ascii=False, sort_keys=True)


def _document_row(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "source": document.source,
        "sha256": document.sha256,
        "language": document.language,
        "metadata": metadata_of(document),
        "page_starts": list(document.page_starts),
        "headings": [heading for _, heading in document.headings],
        "heading_starts": [start for start, _ in document.headings],
    }


def _chunk_row(read: ReadChunk) -> dict[str, Any]:
    chunk = read.chunk
    return {
        "id": chunk.id,
        "document": chunk.document,
        "index": chunk.index,
        "text": chunk.text,
        "tokens": chunk.tokens,
        "start": chunk.start,
        "end": chunk.end,
        "pending": read.pending or None,
        "error": read.error,
    }


def _fact_rows(chunks: Sequence[ReadChunk]) -> tuple[list[Any], list[Any]]:
    """The key elements, and the facts, which name them by their numbers."""
    found: dict[str, tuple[str, dict[str, None]]] = {}
    for read in chunks:
        for fact in read.facts:
            for element in fact.key_elements:
                _, surfaces = found.setdefault(element.id, (element.key, {}))
                surfaces[element.surface] = None
    ids = sorted(found)
    number = {id_: place for place, id_ in enumerate(ids)}
    elements = [{"id": id_, "key": found[id_][0], "surfaces": sorted(found[id_][1])} for id_ in ids]
    facts = [
        {
            "id": read.chunk.id,
            "facts": [
                {
                    "id": fact.id,
                    "text": fact.text,
                    "index": fact.index,
                    "names": [[number[e.id], e.surface] for e in fact.key_elements],
                }
                for fact in read.facts
            ],
        }
        for read in chunks
    ]
    return elements, facts


logger = logging.getLogger("graphreader.store")
CHUNKS_A_STATEMENT = 250


class Deleter:
    """Deletes from one corpus."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def delete(self, documents: Sequence[str]) -> None:
        """Take documents out."""
        values = {"corpus": self._corpus, "documents": list(documents)}
        await self._connection.write([self._lock(), ("write/mark_deleting", values)])
        await self.finish_deletes()
        logger.info("%d documents of corpus %r are deleted", len(documents), self._corpus)

    async def delete_corpus(self) -> None:
        """Forget the corpus itself and the runs that were kept of it, if no document is left."""
        values = {"corpus": self._corpus}
        await self._connection.run("write/delete_runs", **values)
        await self._connection.write([self._lock(), ("write/delete_corpus", values)])

    async def delete_chunks(self, chunks: Sequence[str]) -> None:
        """Take chunks out with their facts. Key elements may be stale then."""
        for start in range(0, len(chunks), CHUNKS_A_STATEMENT):
            part = list(chunks[start : start + CHUNKS_A_STATEMENT])
            await self._connection.run("write/delete_chunk_facts", corpus=self._corpus, chunks=part)
            await self._connection.run("write/delete_chunks", corpus=self._corpus, chunks=part)

    async def finish_deletes(self) -> None:
        """Finish every delete of this corpus that was begun. Key elements may be stale then.

        Nothing comes into such a document any more: whoever writes has seen it, or is through.
        """
        if not await self._connection.read("read/pending_deletes", corpus=self._corpus):
            return
        while chunks := await self._chunks():
            await self.delete_chunks(chunks)
        values = {"corpus": self._corpus}
        await self._connection.write([self._lock(), ("write/delete_documents", values)])

    def _lock(self) -> Call:
        return "write/lock_corpus", {"corpus": self._corpus}

    async def _chunks(self) -> list[str]:
        values = {"corpus": self._corpus, "limit": CHUNKS_A_STATEMENT}
        rows = await self._connection.read("read/chunks_to_delete", **values)
        return [row["id"] for row in rows]
