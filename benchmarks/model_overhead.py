"""What GraphReader adds to the time that its model takes, and to the CPU that its client takes.

    python -m benchmarks.model_overhead            about three minutes
    python -m benchmarks.model_overhead --quick    a fifth of the work
    python -m benchmarks.model_overhead --at-once 64

A local server answers every request after 300 ms. Compared with the ideal, in which nothing but the
model takes time: the reading in of texts (calls x latency / requests at once) and a question (the
decisions that follow one after the other on its longest path x latency). CPU time is compared with
that of other clients in the same run. Prints a table; see the README of this folder.

It uses the configured Neo4j, or an embedded one of its own in a temporary folder, and a corpus of
its own, which is deleted at the end. No setting of a model is used.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from benchmarks import cpu_a_call, texts
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings, load_environment
from graphreader.store.embedded import server as embedded

LATENCY = 0.3
AT_ONCE = 16
QUESTION = "To which towns did the paths of those who met at the old bridge lead?"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `aim` is the most that it should be."""

    what: str
    measured: str
    ideal: str
    ratio: str
    aim: str


class Server:
    """The answering server, in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self.root = f"http://127.0.0.1:{int(process.stdout.readline())}"
        self.url = f"{self.root}/v1"

    def stats(self) -> dict[str, Any]:
        """The server's counts since the last request for them."""
        with urllib.request.urlopen(f"{self.root}/stats") as answer:
            stats: dict[str, Any] = json.load(answer)
        return stats


@contextmanager
def answering(latency: float = LATENCY, *options: str) -> Iterator[Server]:
    """Starts the server and stops it."""
    command = [sys.executable, "-m", "benchmarks.answering_server", "--latency", str(latency)]
    with subprocess.Popen(
        [*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            yield Server(process)
        finally:
            process.communicate("")


@contextmanager
def neo4j(server: Server, home: Path, at_once: int = AT_ONCE) -> Iterator[Settings]:
    """The settings of the run; an embedded Neo4j that was started for it is stopped."""
    settings = Settings.read(
        model="openai:benchmark",
        embeddings="openai:text-embedding-3-small",
        openai_base_url=server.url,
        openai_api_key="none",
        concurrency=at_once,
        home=home,
    )
    try:
        yield settings
    finally:
        if not settings.neo4j_uri:
            embedded.stop(settings)


@contextmanager
def corpus(settings: Settings) -> Iterator[GraphReader]:
    """A reader of a corpus that nobody else has; it is deleted at the end."""
    with GraphReader(f"benchmark-{uuid4().hex[:12]}", settings=settings) as reader:
        try:
            yield reader
        finally:
            reader.delete(everything=True)


def reading_in(
    reader: GraphReader, server: Server, settings: Settings, files: Path, what: str
) -> list[Row]:
    """Read the files, and tell where the time went."""
    server.stats()
    cpu, began = Processor(settings), time.time()
    report = reader.ingest(files)
    ended = time.time()
    stats = server.stats()
    wall, ideal = ended - began, report.usage.calls * LATENCY / settings.concurrency
    if not report.complete or report.usage.calls != stats["chats"]:
        raise RuntimeError(f"Not everything was read: {report}")
    counted = reader.stats()
    print(
        f"{what}: {report.usage.calls} calls, at most {stats['most_at_once']} at once; "
        f"{counted.facts:,} facts, {counted.key_elements:,} key elements; "
        f"{stats['first'] - began:.2f} s before the first request, {ended - stats['last']:.2f} s "
        f"after the last reply; {cpu.spent()}"
    )
    until_last = stats["last"] - stats["first"]
    return [
        Row(f"{what}, with all writing and embedding", *ratio(wall, ideal), "1.15"),
        Row(f"{what}, from first request to last reply", *ratio(until_last, ideal), ""),
    ]


class Processor:
    """The CPU time of this process and of the embedded Neo4j, if that is in use."""

    def __init__(self, settings: Settings) -> None:
        found = None if settings.neo4j_uri else embedded.running(settings)
        self._neo4j = psutil.Process(found.pid) if found else None
        self._before = self._now()

    def spent(self) -> str:
        """Since the beginning, in words."""
        own, neo4j = (now - then for now, then in zip(self._now(), self._before, strict=True))
        both = f"{own:.1f} s of CPU here"
        return f"{both}, {neo4j:.1f} s in Neo4j" if self._neo4j else both

    def _now(self) -> tuple[float, float]:
        times = self._neo4j.cpu_times() if self._neo4j else None
        return time.process_time(), times.user + times.system if times else 0.0


def asking(reader: GraphReader, server: Server, number: int) -> list[Row]:
    """Ask one question. It needs one embedding, of question and plan, between its decisions."""
    server.stats()
    began = time.time()
    reading = reader.ask(f"{QUESTION} ({number})", mode="paper")
    wall = time.time() - began
    calls = longest(reading)
    stats = server.stats()
    print(
        f"question {number}: {stats['chats']} requests, paths of "
        f"{sorted(path.calls for path in reading.paths)} calls, {wall:.2f} s"
    )
    row = f"a question, {calls} decisions"
    return [
        Row(f"{row} in a row", *ratio(wall, calls * LATENCY), "1.15"),
        Row(f"{row} and one embedding in a row", *ratio(wall, (calls + 1) * LATENCY), ""),
    ]


def longest(reading: Reading) -> int:
    """How many decisions of a question follow one after the other: plan, nodes, path, answer."""
    if any(path.error for path in reading.paths) or not reading.answered:
        raise RuntimeError(f"The question was not answered: {reading}")
    return 3 + max(path.calls for path in reading.paths)


def cpu(server: Server, calls: int, home: Path) -> list[Row]:
    """CPU time a call, in a process that does nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        spent = pool.submit(cpu_a_call.measure, server.url, calls, home).result()
    bare = spent.pop("bare client")
    return [
        Row(
            f"CPU a call at {cpu_a_call.AT_ONCE} at once: {name}",
            f"{each:.1f} ms",
            f"{bare:.1f} ms (bare client)",
            f"{each / bare:.2f}",
            "7 ms" if name.startswith("ours") else "",
        )
        for name, each in spent.items()
    ]


def ratio(measured: float, ideal: float) -> tuple[str, str, str]:
    """Both in seconds, and the one by the other."""
    return f"{measured:.2f} s", f"{ideal:.2f} s", f"{measured / ideal:.3f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the work")
    parser.add_argument("--only", choices=["graph", "cpu"], help="one half of it")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="requests, reading in")
    chosen = parser.parse_args()
    load_environment()
    chunks, calls = (100, 128) if chosen.quick else (500, 640)
    rows: list[Row] = []
    print(
        f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, latency {LATENCY * 1000:.0f} ms"
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, answering() as server:
        if chosen.only != "graph":
            rows += cpu(server, calls, Path(folder) / "cpu")
        if chosen.only != "cpu":
            rows = with_graph(server, Path(folder), chunks, chosen.at_once) + rows
    print()
    print("| what | measured | ideal | ratio | aim |")
    print("| --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row.what} | {row.measured} | {row.ideal} | {row.ratio} | {row.aim} |")


def with_graph(server: Server, folder: Path, chunks: int, at_once: int) -> list[Row]:
    """What needs Neo4j.

    Twice as much is read as is asked about: a server that was just started compiles its code while
    it is used, which takes more CPU than the work itself.
    """
    with neo4j(server, folder / "home", at_once) as settings:
        with GraphReader(settings=settings) as reader:
            reader.corpora()  # starts the server
        rows: list[Row] = []
        for number, which in enumerate(("a server just started", "a server in use")):
            files = texts.write(folder / which, chunks, files=10, first=number * chunks)
            what = f"{chunks} chunks, {at_once} at once, {which}"
            with corpus(settings) as reader:
                rows += reading_in(reader, server, settings, files, what)
                questions = [asking(reader, server, number) for number in range(1, 4)]
    middle = sorted(questions, key=lambda two: float(two[0].ratio))[1]
    return [*rows, *middle]


if __name__ == "__main__":
    main()
