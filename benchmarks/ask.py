"""How long questions take, compared with the time of their model and with LangGraph alone.

    python -m benchmarks.ask            about three minutes
    python -m benchmarks.ask --quick    one round instead of three

A local server answers every request after 300 ms; questions take five paths of three or four calls
in mode `paper`, two turns in mode `adaptive`. One question is compared with its critical path: the
replies that follow one after the other on its longest path. Twenty at once, with sixteen requests
at once, are compared with all their replies x 300 ms / 16. LangGraph alone, with and without
checkpoints in SQLite, takes as many steps as mode `paper` in turn with it. Prints a table of
medians, and where the time goes; see the README of this folder.

It uses the configured Neo4j, or an embedded one of its own in a temporary folder, and a corpus of
its own, which is deleted at the end. No setting of a model is used.
"""

import argparse
import asyncio
import gc
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from neo4j import Driver, GraphDatabase

from benchmarks import texts
from benchmarks.bare_agent import BareAgent, Shape
from benchmarks.model_overhead import AT_ONCE, LATENCY, Server, answering, corpus, neo4j
from benchmarks.sides import CPU
from graphreader.cli.main import COLLECTIONS
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import ModeName, load_environment
from graphreader.store.connection import Connection, Row, address_of

QUESTIONS = 20
CHUNKS = 300
WARMING = 3
"""Times that as many are asked unmeasured: a server compiles what it does often."""

MODES: tuple[ModeName, ...] = ("paper", "adaptive")
ALONE = "LangGraph alone"
CHECKPOINTS = "LangGraph alone, checkpoints in SQLite"


@dataclass(slots=True)
class Watch:
    """How long statements were waited for, each by its name, since the last look."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    times: Counter[str] = field(default_factory=Counter)

    def summary(self, calls: int) -> str:
        """The statements in words, the most expensive ones first; resets the counts."""
        whole = sum(self.seconds.values())
        each = [
            f"{name.removeprefix('read/')} {self.times[name]} x {1000 * s / self.times[name]:.1f}"
            for name, s in sorted(self.seconds.items(), key=lambda one: -one[1])
        ]
        self.seconds.clear()
        self.times.clear()
        return f"{1000 * whole / calls:.1f} ms a call waited for Neo4j ({', '.join(each)} ms)"


@contextmanager
def watching() -> Iterator[Watch]:
    """Watches every statement that reads."""
    watch, read = Watch(), Connection.read

    async def watched(self: Connection, name: str, /, **values: Any) -> list[Row]:
        began = time.perf_counter()
        try:
            return await read(self, name, **values)
        finally:
            watch.seconds[name] += time.perf_counter() - began
            watch.times[name] += 1

    Connection.read = watched  # type: ignore[method-assign]  # only here, only to measure
    try:
        yield watch
    finally:
        Connection.read = read  # type: ignore[method-assign]


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions that were asked together: how long it took, and what it could not be shorter than.

    `ideal` counts decisions alone; `with_embeddings` also the embeddings that are asked for.
    """

    seconds: float
    ideal: float
    with_embeddings: float
    shapes: Sequence[Shape]


def ideal(replies: int, longest: int) -> float:
    """Seconds of so many replies, of which so many follow one after the other."""
    return LATENCY * max(replies / AT_ONCE, longest)


class Questions:
    """Questions about different people and places, none of them twice."""

    def __init__(self) -> None:
        self._names = iter(texts.names())

    def __call__(self, number: int) -> list[str]:
        """So many that were not asked before."""
        return [
            f"Whom did {next(self._names)} meet near the old bridge of {next(self._names)}?"
            for _ in range(number)
        ]


class Ours:
    """Asks GraphReader in one mode, and prints where the time went."""

    def __init__(
        self,
        mode: ModeName,
        reader: GraphReader,
        server: Server,
        driver: Driver,
        questions: Questions,
    ) -> None:
        self._reader = reader
        self._mode = mode
        self._server = server
        self._driver = driver
        self._questions = questions

    def ask(self, number: int, watch: Watch) -> Asked:
        """Ask so many questions at once."""
        questions = self._questions(number)
        self._server.stats()
        watch.summary(1)
        server, cpu, began = self._neo4j_cpu(), time.process_time(), time.perf_counter()
        readings = self._reader.batch(questions)
        seconds, own = time.perf_counter() - began, time.process_time() - cpu
        server = self._neo4j_cpu() - server
        stats = self._server.stats()
        shapes = [_shape(one, self._mode) for one in readings]
        chats, embeddings = stats["chats"], stats["embeddings"]
        calls = [calls for shape in shapes for calls in shape]
        print(
            f"{self._mode}, {number} at once: {seconds:.2f} s, {chats} decisions ({len(calls)} "
            f"paths of {sum(calls) / len(calls):.1f} calls) and {embeddings} embeddings, at most "
            f"{stats['most_at_once']} at once\n  {1000 * own / chats:.1f} ms of CPU a decision "
            f"here, {1000 * server / chats:.1f} ms in Neo4j; {watch.summary(chats)}",
            flush=True,
        )
        if self._mode == "paper":
            longest = 3 + max(max(shape) for shape in shapes)
        else:
            longest = max(one.usage.calls for one in readings)
        also = longest + embeddings // number
        return Asked(seconds, ideal(chats, longest), ideal(chats + embeddings, also), shapes)

    def _neo4j_cpu(self) -> float:
        """Seconds that the server has computed until now."""
        return float(self._driver.execute_query(CPU).records[0]["seconds"])


def _shape(reading: Reading, mode: ModeName) -> Shape:
    """The calls of a question's paths. Raises RuntimeError where it was not answered."""
    paths = 5 if mode == "paper" else 1
    failed = any(path.error for path in reading.paths)
    if failed or not reading.answered or len(reading.paths) != paths:
        raise RuntimeError(f"A question was not answered: {reading}")
    return [path.calls for path in reading.paths]


@asynccontextmanager
async def bare_agents(folder: Path) -> AsyncIterator[dict[str, BareAgent]]:
    """LangGraph alone, in its two forms."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        yield {
            ALONE: BareAgent(LATENCY, AT_ONCE),
            CHECKPOINTS: BareAgent(LATENCY, AT_ONCE, saver),
        }


async def alone(shapes: Sequence[Shape], folder: Path) -> dict[str, float]:
    """Seconds of as many steps in LangGraph alone, and their ideal."""
    steps = sum(3 + sum(shape) for shape in shapes)
    best = ideal(steps, 3 + max(max(shape) for shape in shapes))
    async with bare_agents(folder) as agents:
        return {name: await agent.ask(shapes) / best for name, agent in agents.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one round instead of three")
    chosen = parser.parse_args()
    gc.set_threshold(*COLLECTIONS)  # as the command line does
    load_environment()
    print(
        f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, latency {LATENCY * 1000:.0f} ms"
    )
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        answering(LATENCY, "--short-paths") as server,
        answering(0) as at_once,
        neo4j(at_once, Path(folder) / "home") as settings,
        corpus(settings) as building,
    ):
        building.ingest(texts.write(Path(folder) / "texts", CHUNKS, files=10))
        given = settings.model_copy(update={"openai_base_url": server.url})
        address = address_of(settings)
        with (
            ExitStack() as readers,
            GraphDatabase.driver(address.uri, auth=(address.username, address.password)) as driver,
            watching() as watch,
        ):
            questions = Questions()
            sides: dict[ModeName, Ours] = {}
            for mode in MODES:
                settings = given.model_copy(update={"mode": mode})
                reader = readers.enter_context(GraphReader(building.corpus, settings=settings))
                sides[mode] = Ours(mode, reader, server, driver, questions)
            for _ in range(WARMING):
                for ours in sides.values():
                    ours.ask(QUESTIONS, watch)
            rounds = [measured(sides, watch, Path(folder)) for _ in range(1 if chosen.quick else 3)]
    print("\n| what | one question | 20 questions at once | aim |\n| --- | --- | --- | --- |")
    for name in rounds[0]:
        one, many = zip(*(each[name] for each in rounds), strict=True)
        aims = "1.15, 1.2" if name == "mode `paper`" else ""
        print(f"| {name} | {median(one):.3f} | {median(many):.3f} | {aims} |")


def measured(
    sides: Mapping[ModeName, Ours], watch: Watch, folder: Path
) -> dict[str, tuple[float, float]]:
    """One round: for each side, the time of one and of twenty questions, and their ideal."""
    asked = {mode: (ours.ask(1, watch), ours.ask(QUESTIONS, watch)) for mode, ours in sides.items()}
    ratios: dict[str, tuple[float, float]] = {}
    for mode, (one, many) in asked.items():
        ratios[f"mode `{mode}`"] = (one.seconds / one.ideal, many.seconds / many.ideal)
        ratios[f"mode `{mode}`, embeddings counted"] = (
            one.seconds / one.with_embeddings,
            many.seconds / many.with_embeddings,
        )
    one, many = asked["paper"]
    single = asyncio.run(alone(one.shapes, folder))
    together = asyncio.run(alone(many.shapes, folder))
    return ratios | {name: (single[name], together[name]) for name in single}


if __name__ == "__main__":
    main()
