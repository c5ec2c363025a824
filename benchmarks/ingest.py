"""How fast GraphReader writes the facts of an instant model, compared with a bare driver loop.

    python -m benchmarks.ingest            1,000 chunks a run, about ten minutes
    python -m benchmarks.ingest --quick    200 chunks a run
    python -m benchmarks.ingest --full     20,000 chunks a run, at 20 facts a chunk; about an hour
    python -m benchmarks.ingest --lightrag also compared with LightRAG, 200 chunks a run

Both write the same graph, into a corpus of their own, on the same server, in turn, each run in a
process of its own: with and without embeddings of 256 dimensions, at 20 and at 50 facts a chunk.
Prints a table of both, their ratio, how the pace of the last thousand chunks is to that of the
first, and peak memory; see the README of this folder.

It uses the configured Neo4j, where its corpora are deleted at the end, or an embedded one of its
own in a temporary folder.
"""

import argparse
import asyncio
import gc
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from neo4j import GraphDatabase

from benchmarks import bare_loop, chronicle, light_rag
from benchmarks.chronicle import Chronicle, InstantDecider, InstantEmbedder
from benchmarks.measured import Clock, Measured, peak_memory
from benchmarks.sides import Bench, Side, Work
from graphreader import tokens
from graphreader.cli.main import COLLECTIONS
from graphreader.errors import UnknownCorpusError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.loading.sources import sources_of
from graphreader.ingestion.pipeline import Pipeline
from graphreader.ingestion.report import ChunkProgress, DocumentEnd, IngestEvent
from graphreader.settings import Settings, load_environment
from graphreader.store.connection import Address, Connection, address_of
from graphreader.store.embedded import server as embedded
from graphreader.store.writer import GraphWriter

T = TypeVar("T")

WARMING = 400
"""Chunks that each side writes unmeasured: a server compiles what it does often."""

BATCHES = (1, 2, 5)
"""Documents a transaction, of which the bare loop gets the best."""

PEER_SETTINGS = ((2, 4), (4, 16), (4, 64))
"""`max_parallel_insert` and `llm_model_max_async`: the best pair is taken; first the defaults."""

PEER_CHUNKS, PEER_TRIAL = 200, 80
"""Chunks a run of a comparison with LightRAG, and of the choice of its settings."""

PACED = 2000
"""The fewest chunks for a comparison of beginning and end: fewer are a few transactions."""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table; `aim` says what the ratio should be."""

    what: str
    ours: str
    bare: str
    ratio: float | None
    aim: str = ""


def read(address: Address, corpus: str, texts: Chronicle, *, embed: bool) -> Measured:
    """Ingest a chronicle as GraphReader does."""
    return asyncio.run(_read(address, corpus, texts, embed))


async def _read(address: Address, corpus: str, texts: Chronicle, embed: bool) -> Measured:
    measured, connection = Measured(), await Connection.open(address)
    writer, embedder = GraphWriter(connection, corpus), InstantEmbedder(corpus) if embed else None
    decider = InstantDecider(texts)
    tokens.count("")  # loads the encoding: once a process, however much it reads
    gc.set_threshold(*COLLECTIONS)  # as the command line does
    clock = Clock()

    def on_event(event: IngestEvent) -> None:
        if isinstance(event, ChunkProgress):
            measured.written.extend([clock.seconds] * event.chunks)
        if isinstance(event, DocumentEnd) and not measured.memory_after_first_document:
            measured.memory_after_first_document = peak_memory()

    pipeline = Pipeline(
        writer, decider, embedder, chunk_tokens=texts.chunk_tokens, progress=on_event
    )
    report = await pipeline.run(sources_of([texts.texts]))
    await writer.settle()
    measured.seconds, measured.cpu = clock.seconds, clock.cpu
    measured.memory = peak_memory()
    if not report.complete or len(measured.written) != texts.chunks:
        raise RuntimeError(f"Not everything was read: {report}")
    await connection.aclose()
    await decider.aclose()
    return measured


def best(bench: Bench, chunks: int, facts: int, works: Mapping[T, Work]) -> T:
    """The settings with the highest rate, from works by their settings."""
    rates = {}
    for chosen, work in works.items():
        side = Side(bench, work)
        side.run(bench.texts(chunks, facts))
        rates[chosen] = side.rate
    return max(rates, key=rates.__getitem__)


def compare(bench: Bench, chunks: int, facts: int, embed: bool, rounds: int) -> list[Result]:
    """Let both write the same, by turns first, and tell how they did."""
    write = partial(bare_loop.write, embed=embed)
    works = {number: partial(write, documents=number) for number in BATCHES}
    batch = best(bench, WARMING // 2, facts, works)
    ours = Side(bench, partial(read, embed=embed))
    bare = Side(bench, works[batch])
    for number in range(rounds):
        texts = bench.texts(chunks, facts)
        order = (bare, ours) if number % 2 == 0 else (ours, bare)
        one, other = (side.run(texts) for side in order)
        if one != other:
            raise RuntimeError(f"The graphs are not the same: {one} and {other}")
    what = f"{facts} facts a chunk, {'with' if embed else 'without'} embeddings"
    print(
        f"{what}: {rounds} x {chunks:,} chunks, {one['facts']:,} facts, {one['mentions']:,} names, "
        f"{one['key_elements']:,} key elements; the bare loop writes "
        f"{batch * chronicle.CHUNKS_A_DOCUMENT} chunks a transaction"
    )
    print(f"  CPU a chunk: GraphReader {ours.cpu}; bare loop {bare.cpu}", flush=True)
    ends = f"{what}: the last {ours.runs[0].ends:,} chunks compared with the first"
    grown = max(ours.runs, key=lambda run: run.growth)
    memory = (
        f"{grown.memory_after_first_document:.0f} MB after the first of "
        f"{chunks // chronicle.CHUNKS_A_DOCUMENT} documents, {grown.memory:.0f} MB in the end"
    )
    ratio, aim = ours.rate / bare.rate, "0.7" if embed else "0.8"
    results = [
        Result(what, _rate(ours, facts), _rate(bare, facts), ratio, aim),
        Result(f"{what}: peak memory", memory, "", grown.growth, "at most 1.1"),
    ]
    if chunks >= PACED:
        pace = ours.flatness
        results.append(Result(ends, f"{pace:.2f}", f"{bare.flatness:.2f}", pace, "0.9"))
    return results


def compare_lightrag(bench: Bench, facts: int) -> Result:
    """Let GraphReader, with embeddings, and LightRAG's package read the same texts by turns."""
    works = {
        (parallel, requests): partial(light_rag.write, parallel=parallel, requests=requests)
        for parallel, requests in PEER_SETTINGS
    }
    parallel, requests = best(bench, PEER_TRIAL, facts, works)
    ours = Side(bench, partial(read, embed=True))
    peer = Side(bench, works[parallel, requests], light_rag.COUNTS)
    for order in ((peer, ours), (ours, peer)):
        texts = bench.texts(PEER_CHUNKS, facts)
        counts = {side: side.run(texts) for side in order}
        if counts[ours]["key_elements"] != counts[peer]["entities"]:
            raise RuntimeError(f"The graphs have not the same names: {counts}")
    what = f"{facts} facts a chunk, with embeddings, compared with lightrag-hku"
    print(
        f"{what} {version('lightrag-hku')}: 2 x {PEER_CHUNKS} chunks, {counts[ours]['facts']:,} "
        f"facts here, {counts[peer]['relations']:,} relations there, {counts[peer]['entities']:,} "
        f"names each; max_parallel_insert {parallel}, llm_model_max_async {requests}"
    )
    print(f"  CPU a chunk: GraphReader {ours.cpu}; LightRAG {peer.cpu}", flush=True)
    there = f"{peer.rate:.1f} chunks/s (LightRAG)"
    return Result(what, _rate(ours, facts), there, ours.rate / peer.rate)


def _rate(side: Side, facts: int) -> str:
    return f"{side.rate:.0f} chunks/s, {side.rate * facts:,.0f} facts/s"


@contextmanager
def opened(folder: Path) -> Iterator[Bench]:
    """A bench on the Neo4j that is configured, or on one of its own; nothing is left of it."""
    settings = Settings.read(model="offline", home=folder / "home")
    address = address_of(settings)
    corpora: list[str] = []
    try:
        with GraphDatabase.driver(address.uri, auth=(address.username, address.password)) as driver:
            bench = Bench(driver, address, folder)
            corpora = bench.corpora
            yield bench
    finally:
        if not settings.neo4j_uri:
            embedded.stop(settings)
        else:
            for corpus in corpora:
                with GraphReader(corpus, settings=settings) as reader, suppress(UnknownCorpusError):
                    reader.delete(everything=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="200 chunks a run")
    parser.add_argument("--full", action="store_true", help="20,000 chunks a run, 20 facts each")
    parser.add_argument("--chunks", type=int, help="chunks a run")
    parser.add_argument("--facts", type=int, action="append", help="facts a chunk (20 and 50)")
    parser.add_argument(
        "--lightrag", action="store_true", help="compare with LightRAG, too (extra peers)"
    )
    parser.add_argument("--no-embeddings", action="store_true", help="only without embeddings")
    parser.add_argument("--json", action="store_true", help="one line of JSON in the end")
    chosen = parser.parse_args()
    load_environment()
    if chosen.lightrag and Settings.read(model="offline").neo4j_uri:
        parser.error(
            "--lightrag leaves indexes behind: unset NEO4J_URI, it takes a Neo4j of its own"
        )
    chunks = chosen.chunks or (200 if chosen.quick else 20_000 if chosen.full else 1000)
    kinds = chosen.facts or ([20] if chosen.full else [20, 50])
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {chunks:,} chunks a run")
    results: list[Result] = []
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        opened(Path(folder)) as bench,
    ):
        for work in (read, partial(bare_loop.write, documents=1)):
            Side(bench, partial(work, embed=True)).run(bench.texts(WARMING, kinds[0]))
        for facts in kinds:
            for embed in (False,) if chosen.no_embeddings else (False, True):
                results += compare(bench, chunks, facts, embed, 1 if chosen.full else 2)
            if chosen.lightrag:
                results.append(compare_lightrag(bench, facts))
    print("\n| what | GraphReader | bare loop | ratio | aim |\n| --- | --- | --- | --- | --- |")
    for one in results:
        print(f"| {one.what} | {one.ours} | {one.bare} | {one.ratio:.2f} | {one.aim} |")
    if chosen.json:
        print(json.dumps({"chunks": chunks, "results": [asdict(one) for one in results]}))


if __name__ == "__main__":
    main()
