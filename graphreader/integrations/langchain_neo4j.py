"""Access to the graph by langchain-neo4j, which raises its own exceptions."""

from langchain_core.embeddings import Embeddings
from langchain_neo4j import Neo4jGraph, Neo4jVector

from graphreader.llm.protocols import Embedder, embed_all
from graphreader.models import open_embedder
from graphreader.settings import Settings
from graphreader.store.connection import address_of
from graphreader.store.schema import VECTOR_INDEX
from graphreader.sync import run

_FOUND = (
    "WITH node, score WHERE node.corpus = $corpus "
    "OPTIONAL MATCH (into:KeyElement {id: node.merged_into}) "
    "WITH coalesce(into, node) AS node, max(score) AS score ORDER BY score DESC "
    "RETURN node.name AS text, score, {id: node.id, aliases: node.aliases} AS metadata"
)


def neo4j_graph(settings: Settings | None = None) -> Neo4jGraph:
    """Open the configured or embedded Neo4j as a `Neo4jGraph`: `graph.query("MATCH ...")`.

    Its schema is not read, since that needs APOC, which a plain server lacks.
    """
    address = address_of(settings or Settings.read())
    return Neo4jGraph(
        url=address.uri,
        username=address.username,
        password=address.password,
        database=address.database,
        refresh_schema=False,
    )


def key_element_store(settings: Settings | None = None) -> Neo4jVector:
    """Open a vector store over the key elements, for searches only.

    Name the corpus in each search, `store.similarity_search("castle", k=20, params={"corpus":
    "default"})`, and request more results than you need: the index holds all corpora.
    """
    given = settings or Settings.read()
    address = address_of(given)
    return Neo4jVector.from_existing_index(
        _Embeddings(open_embedder(given)),
        index_name=VECTOR_INDEX,
        url=address.uri,
        username=address.username,
        password=address.password,
        database=address.database,
        retrieval_query=_FOUND,
    )


class _Embeddings(Embeddings):
    """An embedder with LangChain's interface, with one client for all searches of a store."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return run(embed_all(self._embedder, texts))

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]
