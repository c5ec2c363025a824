"""A corpus whose words an earlier version has indexed: it is searched, and indexed anew."""

import asyncio
from pathlib import Path

import pytest

from graphreader import sync
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from graphreader.store.catalog import Catalog
from graphreader.store.full_text import TERMS_VERSION, corpus_word

TEXT = "The mill at Delft ran a program in C++.\n\nAda Holt sold the mill in 1931.\n"
EARLIER = {"The mill": "delft mill program ran", "Ada Holt": "1931 ada holt mill sell"}


async def make_earlier(reader: GraphReader, terms: int | None) -> None:
    """Write the terms of the facts as an earlier version did, or none."""
    connection = await reader.resources.connection()
    documents = [one.id for one in await Catalog(connection).documents(reader.corpus)]
    rows = await connection.read(
        "read/unindexed", corpus=reader.corpus, documents=documents, word="-"
    )
    facts = [
        {"id": row["id"], "terms": f"{corpus_word(reader.corpus)}v1 {EARLIER[row['text'][:8]]}"}
        for row in rows
        if row["label"] == "AtomicFact"
    ]
    if terms:
        await connection.write("write/fact_terms", corpus=reader.corpus, rows=facts)
    await connection.write("write/corpus_terms", corpus=reader.corpus, terms=terms)


async def hits(reader: GraphReader, query: str) -> list[str]:
    explorer = await reader.resources.explorer(reader.corpus)
    found = await explorer.search([query], 3)
    return [fact.text for hit in found[0] for fact in hit.item.facts]


async def renewed(reader: GraphReader) -> None:
    catalog = Catalog(await reader.resources.connection())
    while (await catalog.corpus(reader.corpus)).terms != TERMS_VERSION:
        await asyncio.sleep(0.02)


# Facts with the terms of the version before are found by the words that both versions have. The
# first question writes the present terms, by which "C++" is found.
@pytest.mark.parametrize("terms", [1, None])
def test_renewed(neo4j: Settings, corpus: str, tmp_path: Path, terms: int | None) -> None:
    (tmp_path / "mill.txt").write_text(TEXT)
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(tmp_path)
        sync.run(make_earlier(reader, terms))
        before = sync.run(hits(reader, "Who sold the mill?"))
        missing = sync.run(hits(reader, "C++"))
        answer = reader.ask("Who sold the mill?")
        sync.run(asyncio.wait_for(renewed(reader), 20))
        found = sync.run(hits(reader, "C++"))
        reader.delete(everything=True)

    assert any("Ada Holt" in one for one in before)
    # Without any terms the names of key elements are searched, of which one is "C++".
    assert missing == ([] if terms else found)
    assert answer.citations
    assert found == ["The mill at Delft ran a program in C++."]
