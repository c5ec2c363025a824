"""Taking documents, chunks and whole corpora out of the graph, in batches.

What is cut off is finished by the next `finish_deletes`. Key elements that other facts name stay.
"""

from collections.abc import Sequence

from graphreader.store.connection import Connection

CHUNKS_A_STATEMENT = 250

WRITERS_AWAITED = 5
"""How often a delete looks again for what another process was writing when it began."""


class Deleter:
    """Deletes from one corpus."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def delete(self, documents: Sequence[str]) -> None:
        """Take documents out."""
        values = {"corpus": self._corpus, "documents": list(documents)}
        await self._connection.write([("write/mark_deleting", values)])
        await self.finish_deletes()

    async def delete_corpus(self) -> None:
        """Forget the corpus itself, if no document is left in it."""
        await self._connection.write([("write/delete_corpus", {"corpus": self._corpus})])

    async def delete_chunks(self, chunks: Sequence[str]) -> None:
        """Take chunks out with their facts. Key elements may be stale then."""
        for start in range(0, len(chunks), CHUNKS_A_STATEMENT):
            part = list(chunks[start : start + CHUNKS_A_STATEMENT])
            await self._connection.run("write/delete_chunk_facts", corpus=self._corpus, chunks=part)
            await self._connection.run("write/delete_chunks", chunks=part)

    async def finish_deletes(self) -> None:
        """Finish every delete of this corpus that was begun. Key elements may be stale then.

        What another process was still writing into such a document is deleted as well.
        """
        if not await self._connection.read("read/pending_deletes", corpus=self._corpus):
            return
        for _ in range(WRITERS_AWAITED):
            while chunks := await self._chunks():
                await self.delete_chunks(chunks)
            calls = [("write/delete_documents", {"corpus": self._corpus})]
            if not (await self._connection.write(calls))[0]["left"]:
                return

    async def _chunks(self) -> list[str]:
        values = {"corpus": self._corpus, "limit": CHUNKS_A_STATEMENT}
        rows = await self._connection.read("read/chunks_to_delete", **values)
        return [row["id"] for row in rows]
