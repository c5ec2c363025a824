import asyncio
import gc
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.integrations.langchain_neo4j import _Embeddings, key_element_store, neo4j_graph
from graphreader.settings import Settings

# langchain-neo4j itself uses interfaces that it calls deprecated.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::neo4j.warnings.PreviewWarning"),
]


# What was read is there for a graph's queries and for a vector store's searches.
def test_the_same_graph(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("Qamba Zyrk is a castle in Xuvelton. Ottawa is a capital.")
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(tmp_path)
        graph, store = neo4j_graph(neo4j), key_element_store(neo4j)
        rows = graph.query(
            "MATCH (c:Chunk {corpus: $corpus}) RETURN count(c) AS chunks", {"corpus": corpus}
        )
        found = [
            store.similarity_search(name, k=200, params={"corpus": corpus})[0].page_content
            for name in ("Qamba Zyrk", "Xuvelton")
        ]
        graph.close()
        store._driver.close()
        reader.delete(everything=True)

    assert rows == [{"chunks": 1}]
    assert found == ["Qamba Zyrk", "Xuvelton"]


class Noting:
    """An embedder that notes in which loop it is asked, and that it was closed."""

    name, dimension = "noting", 1

    def __init__(self) -> None:
        self.loops: list[asyncio.AbstractEventLoop] = []
        self.closed = 0

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.loops.append(asyncio.get_running_loop())
        return [[float(len(text))] for text in texts]

    async def aclose(self) -> None:
        assert asyncio.get_running_loop() is self.loops[0]
        self.closed += 1


# All searches of a store share one loop and one client, which are closed when the store is gone.
async def test_one_loop_for_all_searches() -> None:
    before = threading.active_count()
    noting = Noting()
    embeddings = _Embeddings(noting)
    vectors = [embeddings.embed_query("one"), *embeddings.embed_documents(["two", "three"])]
    del embeddings
    gc.collect()

    assert vectors == [[3.0], [3.0], [5.0]]
    assert len(noting.loops) == 2
    assert len(set(noting.loops)) == noting.closed == 1
    assert threading.active_count() == before
