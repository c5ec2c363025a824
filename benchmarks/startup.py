"""Time of the start of the commands: `python -m benchmarks.startup`.

Runs each command five times in a process of its own, with its byte code cached, and prints the
least CPU seconds (user and system), which hold on a busy machine too, the least wall seconds, and
the limits: `--help` within 0.5 s of wall clock, `list` and `neo4j status` within 1 s of CPU, `list`
of 3,000 documents too, `ask` within 2 s of CPU before its first decision.

`list` and `ask` use the configured Neo4j (NEO4J_URI, or the embedded one, which is stopped at the
end if the benchmark started it). A corpus of 3,000 documents is made for the benchmark and deleted
at its end. `ask` stops at its first decision: the model's service refuses the key. The last row is
the import of the packages alone that `ask` with a model needs: no program with them starts faster.
"""

import asyncio
import os
import resource
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from uuid import uuid4

from graphreader.documents import Document
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from graphreader.store.connection import open_connection
from graphreader.store.embedded import server
from graphreader.store.writer import GraphWriter

RUNS = 5
DOCUMENTS = 3_000
LIBRARIES = "import langchain_openai, langgraph.checkpoint.sqlite.aio, langgraph.graph, neo4j"


class RefusingService(BaseHTTPRequestHandler):
    """A model's service that refuses every key, so that `ask` ends at its first decision."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}'
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log."""


def seconds(command: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """CPU seconds (user and system) and wall seconds of one run of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


async def write_documents(settings: Settings, corpus: str) -> None:
    """Write documents without chunks into a corpus."""
    connection = await open_connection(settings)
    try:
        documents = [
            Document(corpus, f"{number:024x}", f"Letter {number}", f"{number}.txt", "", "", "en")
            for number in range(DOCUMENTS)
        ]
        writer = GraphWriter(connection, corpus)
        await writer.begin_corpus(decider="offline", prompts="", embedding="-", dimension=1)
        await writer.write_chunks([], documents, 2_000)
    finally:
        await connection.aclose()


def main() -> None:
    """Measure all commands."""
    service = ThreadingHTTPServer(("127.0.0.1", 0), RefusingService)
    Thread(target=service.serve_forever, daemon=True).start()
    with_model = {
        "GRAPHREADER_MODEL": "openai:none",
        "GRAPHREADER_EMBEDDINGS": "offline",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{service.server_port}/v1",
    }
    corpus = f"benchmark-{uuid4().hex[:8]}"
    small = f"{corpus}-small"
    ours = ("-m", "graphreader")
    ask = (*ours, "ask", "Who wrote the letters?", "--corpus", small, "--json")
    commands: tuple[tuple[str, str, tuple[str, ...], dict[str, str]], ...] = (
        ("--help", "wall 0.5", (*ours, "--help"), {}),
        ("neo4j status", "CPU 1.0", (*ours, "neo4j", "status"), {}),
        ("list", "CPU 1.0", (*ours, "list", "--corpus", small), {}),
        (f"list of {DOCUMENTS:,} documents", "CPU 1.0", (*ours, "list", "--corpus", corpus), {}),
        ("ask, to its first decision", "CPU 2.0", ask, with_model),
        ("ask, offline, whole", "", ask, {"GRAPHREADER_MODEL": "offline"}),
        ("the packages of ask, imported", "", ("-c", LIBRARIES), {}),
    )
    settings = Settings.read(model="offline", embeddings="offline")
    started = not settings.neo4j_uri and not server.running(settings)
    text = Path(__file__).parents[1] / "examples" / "joan_of_arc.txt"
    try:
        asyncio.run(write_documents(settings, corpus))
        with GraphReader(small, settings=settings) as reader:
            try:
                reader.ingest(text)
                print(f"{'command':<30} {'CPU s':>6} {'wall s':>7}  limit")
                for name, limit, command, environment in commands:
                    measured = [seconds(command, environment) for _ in range(RUNS + 1)][1:]
                    cpu, wall = (min(figures) for figures in zip(*measured, strict=True))
                    print(f"{name:<30} {cpu:6.2f} {wall:7.2f}  {limit}")
            finally:
                for one in reader.corpora():
                    if one.corpus in (corpus, small):
                        reader.at(one.corpus).delete(everything=True)
    finally:
        if started:
            server.stop(settings)


if __name__ == "__main__":
    main()
