from pathlib import Path

import pytest

from graphreader import GraphReader, Settings
from graphreader.integrations.langchain_neo4j import key_element_store, neo4j_graph

# langchain-neo4j itself uses interfaces that it calls deprecated.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::neo4j.warnings.PreviewWarning"),
]


# What was read is there for a graph's queries and for a vector store's searches.
def test_the_same_graph(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("Casa Loma is a castle in Toronto. Ottawa is a capital.")
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(tmp_path)
        graph, store = neo4j_graph(neo4j), key_element_store(neo4j)
        rows = graph.query(
            "MATCH (c:Chunk {corpus: $corpus}) RETURN count(c) AS chunks", {"corpus": corpus}
        )
        found = store.similarity_search("Casa Loma", k=200, params={"corpus": corpus})
        graph.close()
        store._driver.close()
        reader.delete(everything=True)

    assert rows == [{"chunks": 1}]
    assert found[0].page_content == "Casa Loma"
    assert {one.page_content for one in found} >= {"Toronto", "Ottawa"}
