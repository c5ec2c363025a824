"""The embedded Neo4j is killed while texts are read in, and while a question is explored."""

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

from graphreader.agent.tasks import ChunkTask
from graphreader.errors import GraphReaderError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import Extraction, ExtractionTask
from graphreader.ingestion.report import IngestReport
from graphreader.settings import Settings
from graphreader.store.embedded import server as embedded
from graphreader.testing import ScriptedDecider
from tests.runs import digest, world
from tests.runs.test_neo4j_gone import ask
from tests.servers import PROXY, command

CORPUS = "books"
CHUNKS = 60
BEFORE = 25  # chunks that are asked for before the server is killed
# Seconds that a server takes to start on a machine that does nothing else. On a slow one a question
# only sees the last seconds of the start.
USUAL_START = 8.0
SENTENCES = [f"Anna{n} met Bert{n % 7} in Town{n % 5}." for n in range(CHUNKS)]
FACTS = {one: [f"Anna{n}", f"Bert{n % 7}", f"Town{n % 5}"] for n, one in enumerate(SENTENCES)}


class Reading:
    """Reads a folder in, in a thread, and tells when so many chunks were asked for."""

    def __init__(self, settings: Settings, texts: Path, tell_at: int = CHUNKS) -> None:
        self.asked = 0
        self.told = threading.Event()
        self.outcome: IngestReport | GraphReaderError
        self._settings = settings
        self._texts = texts
        self._tell_at = tell_at
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def wait(self) -> IngestReport | GraphReaderError:
        self._thread.join(180)
        assert not self._thread.is_alive(), "it does not end"
        return self.outcome

    def _run(self) -> None:
        try:
            with GraphReader(CORPUS, settings=self._settings, decider=self._decider()) as reader:
                self.outcome = reader.ingest(self._texts)
        except GraphReaderError as error:
            self.outcome = error

    def _decider(self) -> ScriptedDecider:
        extraction = world.extraction(FACTS)

        async def extract(task: ExtractionTask) -> Extraction:
            self.asked += 1
            if self.asked == self._tell_at:
                self.told.set()
            await asyncio.sleep(0.05)
            return extraction(task)

        decider = world.scripted({}, {ExtractionTask: extract})
        decider.concurrency = 4
        return decider


# Killed in the middle and started again, the server has all that counted as read: the run goes on
# or ends with a sentence, and the next one asks only for the rest, up to the same graph. A question
# that is asked meanwhile waits for the server that somebody else starts.
def test_server_killed(tmp_path: Path) -> None:
    texts = world.write_files(
        tmp_path / "texts", {f"book{file}": SENTENCES[file::3] for file in range(3)}
    )
    ring = world.write_files(tmp_path / "ring", {"ring": world.RING})
    environment = {"GRAPHREADER_HOME": str(tmp_path / "home"), **PROXY}
    command(["neo4j", "start"], environment)
    settings = world.settings(
        Settings.read(home=tmp_path / "home", model="offline", embeddings="offline")
    )
    try:
        server = embedded.ensure_running(settings)
        there = {"neo4j_uri": server.uri, "neo4j_password": server.password}
        named = settings.model_copy(update=there)
        undisturbed = Reading(settings, texts).wait()
        expected = digest.content(named, CORPUS)
        with GraphReader(CORPUS, settings=settings) as reader:
            reader.delete(everything=True)
        disturbed = Reading(settings, texts, tell_at=BEFORE)
        assert disturbed.told.wait(60)
        os.kill(server.pid, signal.SIGKILL)
        began = time.monotonic()
        again = embedded.ensure_running(settings)
        took = time.monotonic() - began
        outcome = disturbed.wait()
        statement = "MATCH (c:Chunk {corpus: $corpus}) WHERE c.error IS NULL RETURN c.id"
        safe = len(digest.rows(named, statement, corpus=CORPUS))
        last = Reading(settings, texts)
        completed = last.wait()
        graph = digest.content(named, CORPUS)

        with world.reader(settings, "ring", world.scripted(world.RING_FACTS, {})) as reader:
            reader.ingest(ring)
        starting = threading.Thread(target=embedded.ensure_running, args=[settings])

        def kill() -> None:
            os.kill(again.pid, signal.SIGKILL)
            starting.start()
            time.sleep(max(0.0, took - USUAL_START))

        ask(settings, "ring", ChunkTask, kill)
        starting.join()
        third = embedded.running(settings)
    finally:
        embedded.stop(settings)

    assert isinstance(undisturbed, IngestReport)
    assert again.pid != server.pid
    if isinstance(outcome, IngestReport):
        assert outcome.complete
    else:
        assert "Neo4j" in str(outcome)
    assert isinstance(completed, IngestReport)
    assert completed.complete
    assert last.asked == CHUNKS - safe
    assert graph == expected
    assert third
    assert third.pid != again.pid
