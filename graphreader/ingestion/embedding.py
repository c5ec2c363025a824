"""Giving key elements their vectors: the new ones after reading, all of them after a change."""

import asyncio
from typing import Self

from graphreader.deciding.embedder import Embedder
from graphreader.ingestion.report import Embedded, Progress, quiet
from graphreader.store import schema
from graphreader.store.connection import Connection
from graphreader.store.library import Library
from graphreader.store.writer import GraphWriter

EMBEDDED_AT_ONCE = 1000


async def embed_missing(
    writer: GraphWriter, embedder: Embedder, progress: Progress = quiet
) -> None:
    """Embed every key element of the corpus that has no vector yet, some at a time."""
    missing = await writer.unembedded()
    for start in range(0, len(missing), EMBEDDED_AT_ONCE):
        part = missing[start : start + EMBEDDED_AT_ONCE]
        vectors = await embedder.embed([key for _, key in part])
        await writer.write_embeddings(
            (id_, vector) for (id_, _), vector in zip(part, vectors, strict=True)
        )
        progress(Embedded(start + len(part), len(missing)))


class EmbeddingAlong:
    """Embeds key elements while chunks are still being read, so that less is left for the end.

    It fails silently, once: whoever embeds the rest at the end meets the same failure.
    """

    def __init__(self, writer: GraphWriter, embedder: Embedder) -> None:
        self._writer = writer
        self._embedder = embedder
        self._task: asyncio.Task[None] | None = None
        self._failed = False

    def go_on(self) -> None:
        """Embed what is there now, unless that is under way already."""
        if not self._failed and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._embed())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        """Wait for what is under way; a run that breaks off stops it."""
        if self._task is None:
            return
        if error is not None:
            self._task.cancel()
        try:
            await asyncio.wait({self._task})
        finally:
            self._task.cancel()

    async def _embed(self) -> None:
        try:
            await embed_missing(self._writer, self._embedder)
        except Exception:  # whatever it is, it will be met again where it can be told
            self._failed = True


async def reindex(
    connection: Connection, embedder: Embedder, corpus: str, progress: Progress = quiet
) -> list[str]:
    """Embed a corpus anew with another embedder; no text is read again. Returns what was embedded.

    The vector index serves all corpora: those whose vectors have another length are embedded as
    well, and what an earlier run that was cut off left undone. Raises UnknownCorpusError.
    """
    library = Library(connection)
    await library.corpus(corpus)
    if await schema.dimension(connection) != embedder.dimension:
        await schema.rebuild(connection, embedder.dimension)
    done = []
    for one in await library.corpora():
        record = await library.corpus(one.corpus)
        begun = record.embedding == embedder.name
        if one.corpus == corpus or begun or record.dimension != embedder.dimension:
            writer = GraphWriter(connection, one.corpus)
            await writer.change_embedding(embedder.name, embedder.dimension)
            await embed_missing(writer, embedder, progress)
            done.append(one.corpus)
    return done
