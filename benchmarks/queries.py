"""Times of the queries that the agent makes, at growing sizes of the corpus.

    python -m benchmarks.queries                                    10,000 and 100,000 facts
    python -m benchmarks.queries --sizes 10000 100000 1000000       about an hour
    python -m benchmarks.queries --sizes 120000 --scopes 1 150      in a scope of documents, too

Corpora of all sizes are in one database. Prints a table of the median and the
95th percentile of each query, the growth of the latter relative to the square root of the size,
and whether it is within its limit; see the README of this folder.

It uses the configured Neo4j, where its corpora are deleted at the end, or an embedded one of its
own in a temporary folder.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from statistics import quantiles

from neo4j import GraphDatabase

from benchmarks import bare_loop, chronicle
from benchmarks.chronicle import CHUNKS_A_DOCUMENT, Chronicle, InstantDecider, InstantEmbedder
from benchmarks.ingest import opened
from benchmarks.measured import Clock
from benchmarks.sides import Bench
from graphreader.agent.adaptive.actions import MAX_RANGE, PASSAGES_AT_FIRST
from graphreader.agent.exploration import MAX_NEIGHBORS
from graphreader.agent.planning import MAX_RELATED, SEARCH_LIMIT, SMALL_GRAPH
from graphreader.agent.ranking import CHUNKS_PER_PAGE
from graphreader.ingestion.extraction import key_elements
from graphreader.scope import Scope
from graphreader.settings import load_environment
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import DocumentsInScope

FACTS_A_CHUNK = 20
HUBS = 20
"""The most frequent names: of the first one a fifth of all facts."""

READ = 10
"""Chunks that a path has read."""

BLOCKS, BLOCK, WARMING = 5, 40, 40
"""Calls that are measured, by turns at each size; and those before, which are not."""

HEADINGS = """
MATCH (d:Document {corpus: $corpus})
SET d.headings = [n IN range(0, 49) | 'Heading ' + n],
    d.heading_starts = [n IN range(0, 49) | n * 800]
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """One corpus, and what of it is looked at: names as often as facts name them, and hubs."""

    explorer: GraphExplorer
    embedder: InstantEmbedder
    dice: random.Random
    names: list[str]
    hubs: list[str]
    contexts: list[dict[str, list[int]]] = field(default_factory=list)
    places: list[tuple[str, int]] = field(default_factory=list)

    @classmethod
    async def of(
        cls, connection: Connection, corpus: str, texts: Chronicle, documents: int = 0
    ) -> "Sample":
        """Draw chunks of the first `documents`, or of all, and take the names of their facts."""
        dice, decider = random.Random(1), InstantDecider(texts)
        first, chunks = decider._starts[0], documents * CHUNKS_A_DOCUMENT or texts.chunks
        drawn = [decider.facts_of(first + dice.randrange(chunks)) for _ in range(100)]
        await decider.aclose()
        names = [name for facts in drawn for _, elements in facts for name in elements]
        hubs = [chronicle.name(rank) for rank in range(1, HUBS + 1)]
        scope = await _first(connection, corpus, documents) if documents else None
        explorer = GraphExplorer(connection, corpus, scope)
        sample = cls(explorer, InstantEmbedder(corpus), dice, names, hubs)
        for hub in hubs:
            groups = (await explorer.facts(sample.id(hub))).groups[:CHUNKS_PER_PAGE]
            sample.contexts.append({g.chunk.id: [f.index for f in g.facts] for g in groups})
            sample.places.extend((g.chunk.document_id, g.chunk.index) for g in groups)
        return sample

    def id(self, name: str) -> str:
        """The id of the key element of a name."""
        return key_elements(self.explorer.corpus, [name])[0].id

    @property
    def node(self) -> str:
        """A node as a path comes to it."""
        return self.id(self.dice.choice(self.names))

    @property
    def nodes(self) -> list[str]:
        """A hundred nodes."""
        return list(dict.fromkeys(self.node for _ in range(400)))[:100]

    @property
    def hub(self) -> str:
        """One of the hubs."""
        return self.id(self.dice.choice(self.hubs))

    @property
    def related(self) -> list[str]:
        """Nodes that have to do with a question."""
        return [self.node for _ in range(MAX_RELATED)]

    @property
    def vector(self) -> list[float]:
        """What something is compared with."""
        return self.embedder.vector(str(self.dice.random()))

    @property
    def page(self) -> dict[str, list[int]]:
        """The chunks of a page of facts, and the facts shown of each."""
        return self.dice.choice(self.contexts)

    @property
    def shown(self) -> tuple[list[str], dict[str, list[int]]]:
        """The texts that a run has shown: the facts of a page, and some chunks of it in full."""
        page = self.page
        return list(page)[:READ], page

    @property
    def range(self) -> list[tuple[str, int]]:
        """A range of chunks, by document and index."""
        document, first = self.dice.choice(self.places)
        return [(document, first + n) for n in range(MAX_RANGE)]

    @property
    def question(self) -> str:
        """A question that names three key elements."""
        one, two, three = self.dice.sample(self.names, 3)
        return f"Who met {one} and {two} on the day of the storm, and what became of {three}?"

    def neighbors(self, node: str) -> Awaitable[object]:
        """The neighbors of a node on a path that has read some chunks."""
        read = list(self.page)[:READ]
        return self.explorer.neighbors(node, [], read, self.related, self.vector, MAX_NEIGHBORS)


async def _first(connection: Connection, corpus: str, documents: int) -> DocumentsInScope:
    """The scope of the first documents of a corpus."""
    known = await Catalog(connection).documents(corpus)
    ids = tuple(one.id for one in sorted(known, key=lambda one: one.title)[:documents])
    return await Catalog(connection).in_scope(corpus, Scope(ids))


Look = Callable[[Sample], Awaitable[object]]

LOOKS: dict[str, tuple[float, Look]] = {
    "nearest to a vector": (60, lambda s: s.explorer.nearest([s.vector], SEARCH_LIMIT)),
    "words of a question": (10, lambda s: s.explorer.matching([s.question], SEARCH_LIMIT)),
    "words of every third name": (
        10,
        lambda s: s.explorer.matching(["Lake of sheep"], SEARCH_LIMIT),
    ),
    "names like another": (10, lambda s: s.explorer.named([s.dice.choice(s.names)])),
    "chunks by words": (10, lambda s: s.explorer.search([s.question], PASSAGES_AT_FIRST)),
    "chunks by words and vectors": (
        60,
        lambda s: s.explorer.search([s.question], PASSAGES_AT_FIRST, [s.vector]),
    ),
    "is it a small corpus?": (10, lambda s: s.explorer.has_at_most(SMALL_GRAPH)),
    "profiles of 100 nodes": (
        10,
        lambda s: s.explorer.profiles(s.nodes),
    ),
    "facts of a node": (10, lambda s: s.explorer.facts(s.node, s.related)),
    "facts of a hub": (10, lambda s: s.explorer.facts(s.hub, s.related)),
    "contexts of a page": (10, lambda s: s.explorer.preceding_facts(s.page)),
    "a chunk": (10, lambda s: s.explorer.chunk(s.dice.choice(list(s.page)))),
    "a range of chunks": (10, lambda s: s.explorer.chunks(s.range)),
    "outline of a document": (10, lambda s: s.explorer.outline(s.dice.choice(s.places)[0])),
    "texts that were shown": (10, lambda s: s.explorer.shown_texts(*s.shown)),
    "neighbors of a node": (10, lambda s: s.neighbors(s.node)),
    "neighbors of a hub": (10, lambda s: s.neighbors(s.hub)),
    "is it one document?": (10, lambda s: s.explorer.only_document()),
    "record of the corpus": (
        10,
        lambda s: Catalog(s.explorer.connection).corpus(s.explorer.corpus),
    ),
    "extent of the corpus": (
        10,
        lambda s: Catalog(s.explorer.connection).extent(s.explorer.corpus),
    ),
}
"""The queries, with their limits in milliseconds at the 95th percentile."""


def load(bench: Bench, facts: int) -> tuple[str, Chronicle]:
    """Write a corpus of so many facts."""
    clock, corpus = Clock(), bench.new_corpus()
    texts = bench.texts(facts // FACTS_A_CHUNK, FACTS_A_CHUNK)
    bare_loop.write(bench.address, corpus, texts, documents=5, embed=True)
    address = bench.address
    with GraphDatabase.driver(address.uri, auth=(address.username, address.password)) as driver:
        driver.execute_query(HEADINGS, {"corpus": corpus}, database_=address.database)
    counts = bench.counts(corpus)
    print(
        f"{facts:,} facts, {counts['key_elements']:,} key elements with "
        f"{counts['mentions'] / counts['key_elements']:.2f} facts each: {clock.seconds:.0f} s",
        flush=True,
    )
    return corpus, texts


async def measure(
    bench: Bench, corpora: Sequence[tuple[str, Chronicle]], scopes: Sequence[int]
) -> dict[str, list[tuple[float, float]]]:
    """The median and 95th percentile of each look-up at each size and scope, in milliseconds."""
    connection = await Connection.open(bench.address)
    samples = [await Sample.of(connection, corpus, texts) for corpus, texts in corpora]
    samples += [await Sample.of(connection, *corpora[-1], documents) for documents in scopes]
    results = {}
    for name, (_, look) in LOOKS.items():
        taken: list[list[float]] = [[] for _ in samples]
        for sample in samples:
            await _calls(look, sample, WARMING)
        for _ in range(BLOCKS):
            for times, sample in zip(taken, samples, strict=True):
                times += await _calls(look, sample, BLOCK)
        results[name] = [(cuts[9], cuts[18]) for cuts in (quantiles(t, n=20) for t in taken)]
    await connection.aclose()
    return results


async def _calls(look: Look, sample: Sample, number: int) -> list[float]:
    """How many milliseconds each of some calls takes, one after another."""
    times = []
    for _ in range(number):
        asked = look(sample)
        clock = Clock()
        await asked
        times.append(clock.seconds * 1000)
    return times


def table(
    sizes: Sequence[int], scopes: Sequence[int], results: dict[str, list[tuple[float, float]]]
) -> str:
    """A row for each look-up."""
    root = sqrt(sizes[-1] / sizes[0])
    heads = [
        "look-up",
        *(f"{size:,} facts: p50, p95" for size in sizes),
        *(f"{number:,} documents of these: p50, p95" for number in scopes),
        "p95 aimed at",
        f"growth (below {root:.1f})",
        "reached",
    ]
    lines = [heads, ["---"] * len(heads)]
    for name, times in results.items():
        most = times[len(sizes) - 1][1]
        aim, growth = LOOKS[name][0], most / times[0][1]
        held = most <= aim and (len(sizes) == 1 or growth < root)
        lines.append(
            [
                name,
                *(f"{half:.1f}, {slow:.1f} ms" for half, slow in times),
                f"{aim:.0f} ms",
                f"{growth:.1f}",
                "yes" if held else "no",
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="in facts")
    parser.add_argument(
        "--scopes", type=int, nargs="+", default=[], help="in documents of the largest size"
    )
    chosen = parser.parse_args()
    sizes = sorted(chosen.sizes)
    load_environment()
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        opened(Path(folder)) as bench,
    ):
        corpora = [load(bench, size) for size in sizes]
        bench.rest()
        results = asyncio.run(measure(bench, corpora, chosen.scopes))
    print(f"\n{table(sizes, chosen.scopes, results)}")


if __name__ == "__main__":
    main()
