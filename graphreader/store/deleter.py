"""Taking documents, chunks and whole corpora out of the graph, in batches.

What is cut off is finished by the next `finish_deletes`. Key elements that other facts name stay.
"""

import logging
from collections.abc import Sequence

from graphreader.store.connection import Call, Connection

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
