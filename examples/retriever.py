"""The passages of an exploration as documents for a chain: python examples/retriever.py"""

from pathlib import Path

from graphreader.graph_reader import GraphReader
from graphreader.integrations.langchain import GraphReaderRetriever
from graphreader.settings import load_environment

TEXT = Path(__file__).with_name("joan_of_arc.txt")


def main(corpus: str = "in-your-code") -> None:
    load_environment()
    with GraphReader(corpus) as reader:
        reader.ingest(TEXT)
        retriever = GraphReaderRetriever(reader=reader, k=5)
        for found in retriever.invoke("Which pope canonized Joan of Arc?"):
            kind, document, chunk = (found.metadata[key] for key in ("kind", "document", "chunk"))
            print(f"{kind} of {document}, chunk {chunk}: {found.page_content[:60].strip()}")


if __name__ == "__main__":
    main()
