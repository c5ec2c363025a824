from pathlib import Path

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.integrations.langchain_neo4j import key_element_store, neo4j_graph
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
