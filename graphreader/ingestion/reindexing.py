"""Embedding a corpus anew after the embeddings were changed; no text is read again."""

from graphreader.deciding.embedder import Embedder
from graphreader.ingestion.embedding import EMBEDDED_AT_ONCE, embed
from graphreader.ingestion.report import Embedded, Progress, quiet
from graphreader.store import schema
from graphreader.store.connection import Connection
from graphreader.store.library import Library
from graphreader.store.writer import GraphWriter


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
            embedded = await _embed_all(writer, embedder, progress)
            if embedded or one.corpus == corpus:
                done.append(one.corpus)
    return done


async def _embed_all(writer: GraphWriter, embedder: Embedder, progress: Progress) -> int:
    """How many key elements had no vector."""
    missing = await writer.unembedded()
    for start in range(0, len(missing), EMBEDDED_AT_ONCE):
        part = missing[start : start + EMBEDDED_AT_ONCE]
        await embed(writer, embedder, part)
        progress(Embedded(start + len(part), len(missing)))
    return len(missing)
