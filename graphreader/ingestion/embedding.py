"""Giving key elements their vectors: the new ones after reading, all of them after a change."""

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
