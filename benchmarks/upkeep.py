"""Seconds and memory of the work on a whole corpus, as it grows: normalize, add, delete, export.

    python -m benchmarks.upkeep                                     10,000 and 100,000 facts
    python -m benchmarks.upkeep --sizes 10000 100000 1000000        some hours

Each work runs in a process of its own. Prints a table of the seconds and the peak memory of that
process at each size; see the README of this folder.

It uses the configured Neo4j, where its corpora are deleted at the end, or an embedded one of its
own in a temporary folder.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from neo4j import GraphDatabase

from benchmarks import ingest
from benchmarks.chronicle import CHUNKS_A_DOCUMENT, Chronicle
from benchmarks.measured import Clock, peak_memory
from benchmarks.queries import FACTS_A_CHUNK, load
from benchmarks.sides import Bench
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.ingestion.transfer import export_corpus
from graphreader.settings import STAGES, load_environment
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Address, Connection
from graphreader.store.writer import Deleter

DOCUMENTS, TURNS = 10, 3
"""Documents that are added at once; how often they are, and documents deleted: medians count."""

FRESH = """
MATCH (k:KeyElement {corpus: $corpus})
CALL (k) { SET k.fresh = true } IN TRANSACTIONS OF 5000 ROWS
"""


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What a work took; `memory` is the peak of its process in MB."""

    seconds: float
    memory: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.memory:.0f} MB"


async def normalize(connection: Connection, corpus: str) -> None:
    """Merge key elements, as at the end of each ingest."""
    await Normalizer(connection, corpus, STAGES).run()


async def delete_document(connection: Connection, corpus: str) -> None:
    """Delete one document and normalize what is left, as `graphreader delete` does."""
    documents = await Catalog(connection).documents(corpus)
    await Deleter(connection, corpus).delete([documents[len(documents) // 2].id])
    await normalize(connection, corpus)


async def export(connection: Connection, corpus: str) -> None:
    """Write the corpus into a file."""
    with tempfile.TemporaryDirectory() as folder:
        await export_corpus(connection, corpus, Path(folder) / "corpus.jsonl")


async def delete_corpus(connection: Connection, corpus: str) -> None:
    """Delete all documents and the corpus."""
    deleter = Deleter(connection, corpus)
    await deleter.delete([one.id for one in await Catalog(connection).documents(corpus)])
    await deleter.delete_corpus()


Work = Callable[[Connection, str], Awaitable[None]]


def do(address: Address, corpus: str, work: Work) -> Cost:
    """Do a work on a new connection."""

    async def run() -> float:
        connection = await Connection.open(address)
        clock = Clock()
        await work(connection, corpus)
        seconds = clock.seconds
        await connection.aclose()
        return seconds

    return Cost(asyncio.run(run()), peak_memory())


def add(address: Address, corpus: str, texts: Chronicle) -> Cost:
    """Read documents with an instant model and vectors at once."""
    measured = ingest.read(address, corpus, texts, embed=True)
    return Cost(measured.seconds, measured.memory)


def apart(work: Callable[[], Cost]) -> Cost:
    """Do a work in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work).result()


def measure(bench: Bench, corpus: str) -> dict[str, Cost]:
    """The cost of each work on a corpus, which the last one deletes."""
    address = bench.address
    with (
        GraphDatabase.driver(address.uri, auth=(address.username, address.password)) as driver,
        driver.session(database=address.database) as session,
    ):
        session.run(FRESH, corpus=corpus).consume()
    costs: dict[str, list[Cost]] = {}

    def take(name: str, work: Callable[[], Cost]) -> None:
        costs.setdefault(name, []).append(apart(work))
        print(f"  {name}: {costs[name][-1]}", flush=True)

    take("normalize, all new", partial(do, address, corpus, normalize))
    take("normalize, nothing new", partial(do, address, corpus, normalize))
    for turn in range(TURNS):
        texts = bench.texts(DOCUMENTS * CHUNKS_A_DOCUMENT, FACTS_A_CHUNK)
        sides = [("add 10 documents", corpus), ("... to an empty corpus", bench.new_corpus())]
        for name, side in sides if turn % 2 else sides[::-1]:
            take(name, partial(add, address, side, texts))
        take("normalize after that", partial(do, address, corpus, normalize))
        take("delete a document", partial(do, address, corpus, delete_document))
    take("export", partial(do, address, corpus, export))
    take("delete the corpus", partial(do, address, corpus, delete_corpus))
    return {name: sorted(some)[len(some) // 2] for name, some in costs.items()}


def table(results: Mapping[int, Mapping[str, Cost]]) -> str:
    """A row for each work."""
    works: Sequence[str] = list(next(iter(results.values())))
    lines = [["work", *(f"{size:,} facts" for size in results)], ["---"] * (len(results) + 1)]
    lines += [[work, *(str(costs[work]) for costs in results.values())] for work in works]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="in facts")
    sizes = sorted(parser.parse_args().sizes)
    load_environment()
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        ingest.opened(Path(folder)) as bench,
    ):
        corpora = {size: load(bench, size)[0] for size in sizes}
        results = {size: measure(bench, corpus) for size, corpus in corpora.items()}
    print(f"\n{table(results)}")


if __name__ == "__main__":
    main()
