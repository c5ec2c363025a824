"""Ctrl-C in the middle of a command ends it soon with a sentence, and nothing is lost."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.forks import Fork, Forks
from tests.runs.openai_faults import SilentAfter
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Outcome, SilentService, environment_of, wait_for

CHUNKS = 6

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleaned")]


def interrupt(fork: Fork, is_waiting: Callable[[], bool]) -> Outcome:
    """Send Ctrl-C once the command waits; it ends within ten seconds."""
    wait_for(lambda: is_waiting() or not fork.runs)
    began = time.monotonic()
    fork.signal(signal.SIGINT)
    outcome = fork.end()
    assert time.monotonic() - began < 10
    return outcome


# An ingest keeps the chunks that were read; the same command reads the others.
def test_reading(forks: Forks, neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    silent = SilentAfter(3)
    texts = chronicle.write(tmp_path / "texts", CHUNKS)
    with OpenAIServer(mind.think, script=silent) as server:
        settings = chronicle.settings(neo4j, server, tmp_path / "home", concurrency=2, timeout=60.0)
        environment = {**environment_of(settings), **chronicle.environment(settings)}
        command = ["ingest", str(texts), "--corpus", corpus, "--json"]
        first = forks.start(command, environment, tmp_path / "first")
        outcome = interrupt(first, silent.hangs.is_set)
        server.script = None
        again = forks.start(command, environment, tmp_path / "second").end()

    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err == "Stopped. The chunks read so far are kept: the same command continues.\n"
    assert again.code == 0
    [document] = again.json["documents"]
    assert (document["status"], document["chunks"]) == ("read", CHUNKS)
    assert len(server.asked_again()) <= 2


# A Neo4j that does not answer does not hold up the end.
def test_waiting_for_neo4j(forks: Forks, tmp_path: Path) -> None:
    with SilentService() as silent:
        environment = {"NEO4J_URI": f"bolt://127.0.0.1:{silent.port}", "NEO4J_PASSWORD": "none"}
        fork = forks.start(["list"], environment, tmp_path)
        outcome = interrupt(fork, lambda: silent.asked_at is not None)

    assert (outcome.code, outcome.out, outcome.err) == (130, "", "Stopped.\n")
