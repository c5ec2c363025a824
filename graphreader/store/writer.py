"""Writing one corpus: documents, chunks with their facts, embeddings, and taking documents out.

Every step is safe to repeat: ids come from the content, and a document counts as complete only when
all of it is there. It does not decide what to write.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from graphreader.documents import AtomicFact, Chunk, Document
from graphreader.errors import EmbeddingMismatchError
from graphreader.store.connection import Call, Connection
from graphreader.store.full_text import corpus_word

EMBEDDINGS_A_WRITE = 500

WRITERS_AWAITED = 5
"""How often a delete looks again for what another process was writing when it began."""


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """A chunk and what was extracted from it; `error` says why there are no facts."""

    chunk: Chunk
    facts: tuple[AtomicFact, ...] = ()
    error: str | None = None


class GraphWriter:
    """Writes into one corpus of one database."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self.corpus = corpus

    async def begin_corpus(
        self, *, decider: str, prompts: str, embedding: str, dimension: int
    ) -> None:
        """Create the corpus, or check that it was embedded by the same means.

        Raises EmbeddingMismatchError: vectors of two embeddings cannot be compared.
        """
        made = {"decider": decider, "prompts": prompts, "embedding": embedding}
        rows = await self._connection.write(
            [("write/corpus", {"corpus": self.corpus, "dimension": dimension, **made})]
        )
        check_embedding(self.corpus, rows[0]["embedding"], embedding)

    async def begin_document(self, document: Document, chunk_tokens: int) -> None:
        """Write the document's own node; it is incomplete from here until `complete`."""
        values = {
            "id": document.id,
            "corpus": self.corpus,
            "title": document.title,
            "source": document.source,
            "sha256": document.sha256,
            "language": document.language,
            "chunk_tokens": chunk_tokens,
        }
        await self._connection.write([("write/document", values)])

    async def extracted(self, document: str) -> set[str]:
        """Return the ids of the document's chunks whose facts are written already."""
        rows = await self._connection.read("read/document_chunks", document=document)
        return {row["id"] for row in rows if row["error"] is None}

    async def write_chunks(self, document: str, chunks: Sequence[ReadChunk]) -> None:
        """Write chunks of a document with their facts in one transaction."""
        await self._connection.write(_chunk_calls(self.corpus, document, chunks))

    async def arrange(self, document: str, chunks: Sequence[Chunk]) -> None:
        """Make the document consist of exactly these chunks, in this order, linked by NEXT."""
        rows = await self._connection.read("read/document_chunks", document=document)
        stale = {row["id"] for row in rows} - {chunk.id for chunk in chunks}
        await self._delete_chunks(sorted(stale))
        places = [{"id": c.id, "index": c.index, "start": c.start, "end": c.end} for c in chunks]
        pairs = [[a.id, b.id] for a, b in pairwise(chunks)]
        await self._connection.write(
            [
                ("write/place_chunks", {"chunks": places}),
                ("write/unlink_chunks", {"document": document}),
                ("write/link_chunks", {"pairs": pairs}),
            ]
        )

    async def settle(self) -> None:
        """Count the wordings of every key element that was touched; names follow from that."""
        await self._connection.run("write/settle_key_elements", corpus=self.corpus)

    async def unembedded(self) -> list[tuple[str, str]]:
        """Return id and normalized form of every key element without a vector."""
        rows = await self._connection.read("read/unembedded", corpus=self.corpus)
        return [(row["id"], row["key"]) for row in rows]

    async def write_embeddings(self, vectors: Iterable[tuple[str, list[float]]]) -> None:
        """Store vectors of key elements, by their ids."""
        rows = [{"id": id_, "vector": vector} for id_, vector in vectors]
        for start in range(0, len(rows), EMBEDDINGS_A_WRITE):
            part = rows[start : start + EMBEDDINGS_A_WRITE]
            await self._connection.write([("write/embeddings", {"rows": part})])

    async def change_embedding(self, embedding: str, dimension: int) -> None:
        """Forget the vectors that another embedding made, and say which one makes them now."""
        rows = await self._connection.read("read/corpus", corpus=self.corpus)
        if rows and rows[0]["embedding"] == embedding:
            return
        await self._connection.run("write/forget_embeddings", corpus=self.corpus)
        values = {"corpus": self.corpus, "embedding": embedding, "dimension": dimension}
        await self._connection.write([("write/corpus_embedding", values)])

    async def complete(self, documents: Sequence[str]) -> None:
        """Mark documents as complete, but for those with a chunk that failed."""
        await self._connection.write(
            [("write/finish_document", {"corpus": self.corpus, "documents": list(documents)})]
        )

    async def delete(self, documents: Sequence[str]) -> None:
        """Take documents out, in batches; key elements that other facts name stay.

        What is cut off is finished by the next `finish_deletes`.
        """
        values = {"corpus": self.corpus, "documents": list(documents)}
        await self._connection.write([("write/mark_deleting", values)])
        await self.finish_deletes()

    async def delete_corpus(self) -> None:
        """Forget the corpus itself, if no document is left in it."""
        await self._connection.write([("write/delete_corpus", {"corpus": self.corpus})])

    async def finish_deletes(self) -> None:
        """Finish every delete of this corpus that was begun."""
        pending = await self._connection.read("read/pending_deletes", corpus=self.corpus)
        for row in pending:
            await self._delete_document(row["id"])
        if pending:
            await self.settle()

    async def _delete_document(self, document: str) -> None:
        """Delete a document and its chunks, also those that were being written meanwhile."""
        for _ in range(WRITERS_AWAITED):
            chunks = await self._connection.read("read/document_chunks", document=document)
            await self._delete_chunks([chunk["id"] for chunk in chunks])
            calls = [("write/delete_document", {"document": document})]
            if (await self._connection.write(calls))[0]["deleted"]:
                return

    async def _delete_chunks(self, chunks: Sequence[str]) -> None:
        if chunks:
            await self._connection.run("write/delete_chunk_facts", chunks=list(chunks))
            await self._connection.run("write/delete_chunks", chunks=list(chunks))


def check_embedding(corpus: str, was: str, now: str) -> None:
    """Raise EmbeddingMismatchError where a corpus was embedded by something else."""
    if was != now:
        raise EmbeddingMismatchError(
            f"The corpus {corpus!r} was read with the embeddings {was!r}, now {now!r} is "
            f"configured: run `graphreader reindex --corpus {shlex.quote(corpus)}` to embed it "
            f"anew, set GRAPHREADER_EMBEDDINGS={was.removesuffix('-1')}, or use another --corpus."
        )


def _chunk_calls(corpus: str, document: str, chunks: Sequence[ReadChunk]) -> list[Call]:
    """Four statements for any number of chunks, in an order in which each finds what it needs."""
    facts = [fact for read in chunks for fact in read.facts]
    elements = {e.id: (e, fact.id) for fact in facts for e in fact.key_elements}
    links = {(e.id, fact.id): e.surface for fact in facts for e in reversed(fact.key_elements)}
    return [
        (
            "write/chunks",
            {"corpus": corpus, "document": document, "chunks": [_chunk_row(r) for r in chunks]},
        ),
        (
            "write/atomic_facts",
            {
                "corpus": corpus,
                "facts": [
                    {"id": f.id, "chunk": f.chunk, "text": f.text, "index": f.index} for f in facts
                ],
            },
        ),
        (
            "write/key_elements",
            {
                "corpus": corpus,
                "corpus_word": corpus_word(corpus),
                "elements": [
                    {"id": id_, "key": e.key, "surface": e.surface, "fact": fact}
                    for id_, (e, fact) in sorted(elements.items())
                ],
            },
        ),
        (
            "write/fact_elements",
            {
                "links": [
                    {"element": element, "fact": fact, "surface": surface}
                    for (element, fact), surface in sorted(links.items())
                ]
            },
        ),
    ]


def _chunk_row(read: ReadChunk) -> dict[str, Any]:
    chunk = read.chunk
    return {
        "id": chunk.id,
        "index": chunk.index,
        "text": chunk.text,
        "tokens": chunk.tokens,
        "start": chunk.start,
        "end": chunk.end,
        "error": read.error,
    }
