"""The two sides of `benchmarks.ingest`, and the server on which they take turns."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any, LiteralString
from uuid import uuid4

from neo4j import Driver

from benchmarks import chronicle
from benchmarks.chronicle import Chronicle
from benchmarks.measured import Measured
from graphreader.store import schema
from graphreader.store.connection import Address, Connection

RESTING = 0.5
"""Seconds of CPU in five, below which a server has nothing to do."""

Work = Callable[[Address, str, Chronicle], Measured]
"""Writes a chronicle into a corpus. It is run in another process: a function of a module."""

COUNTS = """
CALL () {
  MATCH (d:Document {corpus: $corpus, complete: true})-[:HAS_CHUNK]->(c:Chunk)
  RETURN count(DISTINCT d) AS documents, count(c) AS chunks, sum(size(c.text)) AS characters,
         sum(COUNT { (c)-[:NEXT]->() }) AS next, sum(COUNT { (c)-[:HAS_ATOMIC_FACT]->() }) AS facts,
         sum(COUNT { (c)-[:HAS_PASSAGE]->() }) AS passages,
         sum(COUNT { (c)-[:HAS_PASSAGE]->(p) WHERE p.embedding IS NOT NULL }) AS passage_vectors
}
CALL () {
  MATCH (k:KeyElement {corpus: $corpus})
  RETURN count(k) AS key_elements, count(k.embedding) AS embedded,
         sum(COUNT { (k)<-[:HAS_KEY_ELEMENT]-() }) AS mentions, sum(size(k.key)) AS letters
}
RETURN *
"""

CPU = """
CALL dbms.queryJmx('java.lang:type=OperatingSystem') YIELD attributes
RETURN attributes.ProcessCpuTime.value / 1e9 AS seconds
"""


class Bench:
    """A server, and the corpora that were made on it."""

    def __init__(self, driver: Driver, address: Address, folder: Path) -> None:
        self.address = address
        self.corpora: list[str] = []
        self._driver = driver
        self._folder = folder
        self._texts = 0
        asyncio.run(self._prepare())

    async def _prepare(self) -> None:
        connection = await Connection.open(self.address)
        await schema.prepare(connection)
        await connection.aclose()

    def new_corpus(self) -> str:
        """A corpus that nobody else has."""
        self.corpora.append(f"benchmark-{uuid4().hex[:12]}")
        return self.corpora[-1]

    def texts(self, chunks: int, facts: int) -> Chronicle:
        """Texts that were not there before."""
        first, self._texts = self._texts, self._texts + chunks
        return chronicle.write(self._folder / f"from {first}", chunks, facts, first)

    def neo4j_cpu(self) -> float:
        """Seconds that the server has computed until now."""
        return float(self._ask(CPU)["seconds"])

    def rest(self) -> None:
        """Wait until the server computes no more: it goes on merging indexes after a load."""
        before, now = 0.0, self.neo4j_cpu()
        while now - before > RESTING:
            time.sleep(5)
            before, now = now, self.neo4j_cpu()

    def counts(self, corpus: str, statement: LiteralString = COUNTS) -> dict[str, int]:
        """What the graph of a corpus holds."""
        return self._ask(statement, corpus=corpus)

    def _ask(self, statement: LiteralString, **values: str) -> dict[str, Any]:
        records = self._driver.execute_query(
            statement, values, database_=self.address.database
        ).records
        return dict(records[0])


class Side:
    """Runs one of the two, each time in a fresh process, and adds up."""

    def __init__(self, bench: Bench, work: Work, counts: LiteralString = COUNTS) -> None:
        self._bench = bench
        self._work = work
        self._counts: LiteralString = counts
        self.runs: list[Measured] = []
        self.neo4j = 0.0

    def run(self, texts: Chronicle) -> dict[str, int]:
        """Write a chronicle into a new corpus, and count what is there then."""
        corpus = self._bench.new_corpus()
        before = self._bench.neo4j_cpu()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            self.runs.append(pool.submit(self._work, self._bench.address, corpus, texts).result())
        self.neo4j += self._bench.neo4j_cpu() - before
        return self._bench.counts(corpus, self._counts)

    @property
    def rate(self) -> float:
        """Chunks a second."""
        return self.chunks / sum(run.seconds for run in self.runs)

    @property
    def chunks(self) -> int:
        """How many there were, in all runs."""
        return sum(len(run.written) for run in self.runs)

    @property
    def cpu(self) -> str:
        """What a chunk costs."""
        own = sum(run.cpu for run in self.runs) / self.chunks
        neo4j = self.neo4j / self.chunks
        return f"{own * 1000:.1f} ms here, {neo4j * 1000:.1f} ms in Neo4j"

    @property
    def flatness(self) -> float:
        """The rate at the end relative to that at the beginning."""
        return mean(run.flatness for run in self.runs)
