"""`graphreader serve` under load: many people who ask and watch at once.

    python -m benchmarks.serve            about ten minutes
    python -m benchmarks.serve --quick    a tenth of the questions

The command itself runs in a process of its own, before a real Neo4j and a local server that answers
every request after 300 ms (a question in mode `adaptive`: an embedding and two turns). Each of
`--people` asks one question after the other and follows its events; somebody else begins to watch
it in its middle. First all ask at the same moment, then all the time; at last one person asks
alone, and while texts are read in. Prints tables; see the README of this folder.

It uses the configured Neo4j, or an embedded one of its own in a temporary folder, and a corpus of
its own, which is deleted at the end. No setting of a model is used.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import psutil

from benchmarks import texts
from benchmarks.model_overhead import LATENCY, Server, answering, corpus, neo4j
from graphreader.settings import Settings, load_environment
from graphreader.web.access import TokenStore

CHUNKS = 100
READ_BESIDE = 400  # chunks that are read in beside questions
ALONE = 15  # questions of one person, alone and beside that
BURSTS = 3
SAMPLES = 10  # of the memory


@dataclass(slots=True)
class Asked:
    """One question: seconds until its first event and its end, and the events that were lost."""

    first: float
    seconds: float
    lost: int


@dataclass(slots=True)
class Load:
    """Questions that were asked together."""

    asked: list[Asked] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def row(self, what: str) -> str:
        """A line of the table."""
        first = sorted(one.first for one in self.asked)
        whole = sorted(one.seconds for one in self.asked)
        lost, failed = sum(one.lost for one in self.asked), len(self.failed)
        p95 = [values[int(0.95 * len(values))] for values in (first, whole)]
        return (
            f"| {what} | {len(self.asked)} | {lost} | {failed} | {median(first):.2f}, "
            f"{p95[0]:.2f}, {first[-1]:.2f} s | {median(whole):.2f}, {p95[1]:.2f}, "
            f"{whole[-1]:.2f} s |"
        )


class Web:
    """Asks a server over HTTP/1.0, one connection a request."""

    def __init__(self, address: str, token: str, corpus: str) -> None:
        there = urlsplit(address)
        self._there = there.hostname, there.port
        self._head = f"Host: {there.netloc}\r\nAuthorization: Bearer {token}\r\n"
        self._corpus = corpus
        self._names = iter(texts.names() * 10)

    async def ask(self) -> Asked:
        """Ask a question that was not asked before, and watch it twice, the second time late."""
        question = f"Whom did {next(self._names)} meet near the old bridge of {next(self._names)}?"
        path = f"/api/corpora/{self._corpus}/questions"
        late: asyncio.Task[list[tuple[str, str]]] | None = None
        began, first = time.perf_counter(), 0.0
        events: list[tuple[str, str]] = []
        async for event, data in self._events("POST", path, {"question": question}):
            first = first or time.perf_counter() - began
            events.append(event)
            if event[1] == "RunBegan":
                run = json.loads(data)["run"]
            elif event[1] == "ChunkRead" and late is None:
                late = asyncio.create_task(self._watch(run))
        seconds = time.perf_counter() - began
        if late is None or await late != events:
            raise RuntimeError(f"The second watcher saw other events: {events}")
        return Asked(first, seconds, _lost(events))

    async def read_in(self, folder: Path) -> str:
        """Begin to read the files of a folder in; returns the job."""
        documents = [
            {"id": one.name, "text": one.read_text("utf-8")} for one in sorted(folder.iterdir())
        ]
        path = f"/api/corpora/{self._corpus}/documents"
        return str((await self.json("POST", path, {"documents": documents}))["job"])

    async def json(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of a reply."""
        return json.loads(b"".join([line async for line in self._lines(method, path, body)]))

    async def _watch(self, run: str) -> list[tuple[str, str]]:
        return [event async for event, _ in self._events("GET", f"/api/runs/{run}/events")]

    async def _events(self, method: str, path: str, body: Any = None) -> Any:
        """Yield (id, name) of each event, with its data."""
        seen: dict[bytes, bytes] = {}
        async for line in self._lines(method, path, body):
            name, _, value = line.rstrip().partition(b": ")
            if name:
                seen[name] = value
            elif b"data" in seen:
                yield (seen[b"id"].decode(), seen[b"event"].decode()), seen[b"data"]
                seen.clear()

    async def _lines(self, method: str, path: str, body: Any = None) -> Any:
        data = json.dumps(body).encode() if body else b""
        reader, writer = await asyncio.open_connection(*self._there, limit=1 << 22)
        try:
            writer.write(
                f"{method} {path} HTTP/1.0\r\n{self._head}Accept: text/event-stream\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode()
                + data
            )
            head = await reader.readuntil(b"\r\n\r\n")
            if head.split(b" ", 2)[1][:1] != b"2":
                raise RuntimeError((await reader.read()).decode())
            async for line in reader:
                yield line
        finally:
            writer.close()


def _lost(events: list[tuple[str, str]]) -> int:
    """How many events are missing between the first and the answer, which counts as one."""
    numbers = [int(number) for number, _ in events]
    return len({*range(1, numbers[-1] + 1)} - {*numbers}) + (events[-1][1] != "QuestionAnswered")


class Serving:
    """The server's process."""

    def __init__(self, settings: Settings, address: str, process: psutil.Process) -> None:
        self.address = address
        self._process = process
        self.memory: list[float] = []

    @property
    def cpu(self) -> float:
        """Seconds that it has computed."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def measure_memory(self) -> None:
        """Note its resident memory, in MB."""
        self.memory.append(self._process.memory_info().rss / 1024**2)


@contextmanager
def serving(settings: Settings, url: str, concurrency: int) -> Iterator[Serving]:
    """Run the command, with tokens."""
    password = settings.neo4j_password
    variables = {
        "NEO4J_URI": settings.neo4j_uri or "",
        "NEO4J_PASSWORD": password.get_secret_value() if password else "",
        "GRAPHREADER_HOME": str(settings.home),
        "GRAPHREADER_MODEL": settings.model or "",
        "GRAPHREADER_EMBEDDINGS": settings.embeddings or "",
        "GRAPHREADER_CONCURRENCY": str(concurrency),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": url,
    }
    command = [sys.executable, "-m", "graphreader", "serve", "--port", "0", "--proxy-headers"]
    with subprocess.Popen(
        command, env={**os.environ, **variables}, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            yield Serving(settings, address, psutil.Process(process.pid))
        finally:
            process.terminate()


async def together(
    people: int, number: int, ask: Callable[[], Awaitable[Asked]], server: Serving | None = None
) -> Load:
    """Let people ask so many questions, each one after the other, with an eye on the memory."""
    load, left = Load(), iter(range(number))

    async def person() -> None:
        for one in left:
            if server and one % (number // SAMPLES) == 0:
                server.measure_memory()
            try:
                load.asked.append(await ask())
            except (RuntimeError, OSError) as error:
                load.failed.append(str(error))

    await asyncio.gather(*(person() for _ in range(people)))
    for reason in sorted({*load.failed})[:3]:
        print(f"failed: {reason[:300]}")
    return load


async def measure(
    web: Web, server: Serving, model: Server, people: int, number: int, folder: Path
) -> None:
    """Measure and print."""
    rows = []
    await together(people, people, web.ask)  # the server and Neo4j warm up
    burst = Load()
    for _ in range(BURSTS):
        load = await together(people, people, web.ask)
        burst.asked += load.asked
        burst.failed += load.failed
    rows.append(burst.row(f"{people} at one moment"))
    model.stats()
    cpu, began = server.cpu, time.perf_counter()
    load = await together(people, number, web.ask, server)
    seconds, cpu = time.perf_counter() - began, server.cpu - cpu
    stats = model.stats()
    rows.append(load.row(f"{people} all the time"))
    alone = await together(1, ALONE, web.ask)
    rows.append(alone.row("one person"))
    job = await web.read_in(folder)
    beside = Load()
    while (state := await web.json("GET", f"/api/jobs/{job}"))["state"] in ("queued", "running"):
        part = await together(1, 3, web.ask)
        beside.asked += part.asked
        beside.failed += part.failed
    if state["state"] != "finished":
        raise RuntimeError(f"The texts were not read: {state}")
    rows.append(beside.row("one person, while texts are read in"))
    memory = ", ".join(f"{one:.0f}" for one in server.memory)
    print(
        f"{number / seconds:.1f} questions a second, each {stats['chats'] / number:.1f} decisions, "
        f"{stats['embeddings'] / number:.1f} embeddings and {1000 * cpu / number:.0f} ms of CPU of "
        f"the server; its memory on the way: {memory} MB"
    )
    print("| what | questions | events lost | failed | first event | answer |")
    print("| --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    first, second = (median(one.seconds for one in load.asked) for load in (alone, beside))
    print(f"\nReading in slows a question by a factor of {second / first:.2f}.")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--questions", type=int, default=2_000)
    parser.add_argument("--concurrency", type=int, default=50, help="requests to the model at once")
    parser.add_argument("--quick", action="store_true", help="a tenth of the questions")
    chosen = parser.parse_args()
    load_environment()
    print(
        f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, latency {LATENCY * 1000:.0f} ms"
    )
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        answering() as slow,
        answering(0) as at_once,
        neo4j(at_once, Path(folder) / "home") as settings,
        corpus(settings) as building,
    ):
        building.ingest(texts.write(Path(folder) / "texts", CHUNKS, files=10))
        more = texts.write(Path(folder) / "more", READ_BESIDE, files=10, first=CHUNKS)
        store = TokenStore(settings.database_of("tokens"))
        token = store.create("load", "admin", questions=2 * chosen.people)
        number = chosen.questions // (10 if chosen.quick else 1)
        with serving(settings, slow.url, chosen.concurrency) as server:
            web = Web(server.address, token, building.corpus)
            asyncio.run(measure(web, server, slow, chosen.people, number, more))


if __name__ == "__main__":
    main()
