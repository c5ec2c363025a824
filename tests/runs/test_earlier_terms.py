"""A corpus whose words an earlier version has indexed: it is searched, and indexed anew."""

import asyncio
import json
from pathlib import Path

import pytest

from graphreader import sync
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from graphreader.store.catalog import Catalog
from graphreader.store.connection import open_connection
from graphreader.store.full_text import TERMS_VERSION, corpus_word
from tests.runs.make_old_state import FOLDER

EARLIER = json.loads((FOLDER / "terms_1.json").read_text(encoding="utf-8"))
"""Facts, and the terms that version 0.1.0 wrote for them as version 1."""

BOTH = {
    "Who sold the mill?": "Ada Holt sold the mill in 1931.",
    "谁把磨坊卖给了铁路公司？": "王伟把磨坊卖给了铁路公司。",
}
"""Questions with a fact that is found by its earlier terms, and by the present terms."""

NOW = {
    "C++": "The mill at Delft ran a program in C++.",
    "台北": "王偉是臺北人。",
    "दुकान": "सीता ने मुंबई में दुकान खोली।",
    "ベルリン": "山田はベルリンで生まれた。",
    "2,000,000": "The bridge cost 2 000 000 crowns.",
}
"""Questions with a fact that is found only by its present terms."""


async def make_earlier(reader: GraphReader, terms: int | None) -> None:
    """Write the terms of the facts as an earlier version did, or none; it had no passages."""
    connection = await reader.resources.connection()
    documents = [one.id for one in await Catalog(connection).documents(reader.corpus)]
    rows = await connection.read(
        "read/unindexed", corpus=reader.corpus, documents=documents, word="-"
    )
    word = f"{corpus_word(reader.corpus)}v1"
    facts = [
        {"id": row["id"], "terms": f"{word} {own}" if terms else None}
        for row in rows
        for text, own in EARLIER.items()
        if row["label"] == "AtomicFact" and row["text"].startswith(text)
    ]
    await connection.write("write/fact_terms", corpus=reader.corpus, rows=facts)
    await connection.write("write/corpus_terms", corpus=reader.corpus, terms=terms)
    async with connection._driver.session() as session:
        await session.run(
            "MATCH (c:Corpus {name: $corpus}) REMOVE c.passages "
            "WITH c MATCH (p:Passage {corpus: c.name}) DETACH DELETE p",
            corpus=reader.corpus,
        )


async def best(reader: GraphReader, *queries: str) -> dict[str, str]:
    """The best fact for each query that finds any."""
    explorer = await reader.resources.explorer(reader.corpus)
    found = await explorer.search(queries, 3)
    return {
        query: result.hits[0].item.facts[0].text
        for query, result in zip(queries, found, strict=True)
        if result.hits and result.hits[0].item.facts
    }


async def renewed(reader: GraphReader) -> None:
    catalog = Catalog(await reader.resources.connection())
    while (await catalog.corpus(reader.corpus)).terms != TERMS_VERSION:
        await asyncio.sleep(0.02)


# The first question writes the present terms of a corpus of an earlier version, without a model.
# Until then facts are found by the earlier terms, or, where there are none, by key elements.
@pytest.mark.parametrize("terms", [1, None])
def test_renewed(neo4j: Settings, corpus: str, tmp_path: Path, terms: int | None) -> None:
    (tmp_path / "mill.jsonl").write_text(
        "\n".join(json.dumps({"id": str(n), "text": text}) for n, text in enumerate(EARLIER))
    )
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(tmp_path)
        sync.run(make_earlier(reader, terms))
        before = sync.run(best(reader, *BOTH, *NOW))
        answer = reader.ask("Who sold the mill?")
        sync.run(asyncio.wait_for(renewed(reader), 20))
        after = sync.run(best(reader, *BOTH, *NOW))
        reader.delete(everything=True)

    if terms:
        assert before == BOTH
    else:
        assert before.items() >= BOTH.items()
    assert answer.citations
    assert after == BOTH | NOW


# After a failed renewal the next use tries again; a close waits until a small corpus is renewed.
def test_renewed_at_last(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    async def renew_twice(reader: GraphReader) -> tuple[int | None, int | None]:
        await make_earlier(reader, 1)
        resources, closed = reader.resources, await open_connection(neo4j)
        connection = await resources.connection()
        record = await Catalog(connection).corpus(corpus)
        await closed.aclose()
        resources.renew_terms(closed, corpus, record)
        await asyncio.sleep(0.5)
        failed = await Catalog(connection).corpus(corpus)
        resources.renew_terms(connection, corpus, record)
        await resources.aclose()
        return failed.terms, (await Catalog(await resources.connection()).corpus(corpus)).terms

    (tmp_path / "mill.txt").write_text("\n".join(EARLIER))
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(tmp_path)
        versions = sync.run(renew_twice(reader))
        reader.delete(everything=True)

    assert versions == (1, TERMS_VERSION)
