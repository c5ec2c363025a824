"""Small texts as they come out of extraction, to be written into a graph."""

from collections.abc import Sequence

from graphreader.documents import AtomicFact, Chunk, ChunkFacts, Document, KeyElementRef, identity
from graphreader.ingestion.extraction import key_elements
from graphreader.ingestion.loading.content import from_text
from graphreader.store.explorer import GraphExplorer
from graphreader.store.writer import DocumentVersion, GraphWriter

Facts = dict[str, list[str]]


def document(corpus: str, title: str, text: str = "A text.") -> Document:
    """A document of that title."""
    return from_text(text, title, corpus, f"/texts/{title}.txt")


def chunks(of: Document, texts: list[str]) -> list[Chunk]:
    """Chunks that follow each other."""
    made, start = [], 0
    for index, text in enumerate(texts):
        id_ = identity(of.id, text)
        made.append(
            Chunk(id_, index, of.title, of.id, start, start + len(text), text, len(text.split()))
        )
        start += len(text)
    return made


def read(of: Document, chunk: Chunk, facts: Facts) -> ChunkFacts[Chunk]:
    """A chunk with facts, each given by its text and its key elements."""
    made = [
        AtomicFact(identity(chunk.id, fact), chunk, n, fact, key_elements(of.corpus, elements))
        for n, (fact, elements) in enumerate(facts.items())
    ]
    return ChunkFacts(chunk, tuple(made))


async def write(writer: GraphWriter, title: str, parts: list[tuple[str, Facts]]) -> list[Chunk]:
    """Write a whole document: one (text, facts) a chunk."""
    of = document(writer.corpus, title)
    made = chunks(of, [text for text, _ in parts])
    reads = [read(of, chunk, facts) for chunk, (_, facts) in zip(made, parts, strict=True)]
    await writer.write_chunks(reads, [of], 2000)
    version = DocumentVersion.of(of.id, of.sha256, 2000, len(made))
    await writer.arrange(version, made)
    await writer.settle()
    await writer.complete([version])
    return made


async def by_words(explorer: GraphExplorer, text: str, limit: int) -> list[KeyElementRef]:
    """What a search for the words of one text finds."""
    return (await explorer.matching([text], limit) or [[]])[0]


async def by_vector(
    explorer: GraphExplorer, vector: Sequence[float], limit: int
) -> list[KeyElementRef]:
    """What a search for one vector finds."""
    return (await explorer.nearest([vector], limit))[0]


async def node_ids(writer: GraphWriter) -> dict[str, str]:
    """The ids of all nodes of a small corpus, by their names."""
    nodes = await GraphExplorer(writer.connection, writer.corpus).busiest_nodes(5000)
    return {node.name: node.id for node in nodes}
