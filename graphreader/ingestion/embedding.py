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

    The vector index serves all corpora: where its dimension changes, all of them are embedded.
    A reindex that was cut off is finished by running it again.
    """
    library = Library(connection)
    known = [one.corpus for one in await library.corpora()]
    corpora = [n for n in known if (await library.corpus(n)).dimension != embedder.dimension]
    if await schema.dimension(connection) != embedder.dimension:
        await schema.rebuild(connection, embedder.dimension)
    elif corpus not in corpora:
        await library.corpus(corpus)
        corpora.append(corpus)
    for name in corpora:
        writer = GraphWriter(connection, name)
        await writer.change_embedding(embedder.name, embedder.dimension)
        await embed_missing(writer, embedder, progress)
    return corpora
