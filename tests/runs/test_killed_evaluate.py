"""The plug is pulled in the middle of an evaluation, wherever that is; then the command goes on."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.forks import Fork, Forks
from tests.runs.openai_faults import Body
from tests.runs.openai_server import OpenAIServer
from tests.runs.test_evaluate import about, lines_of, think, write
from tests.terminal import wait_for

pytestmark = pytest.mark.slow

READERS = "golden,full-text,rag-bm25-1"


class Evaluating:
    """`graphreader evaluate` in processes of their own, with a model that can be made to wait."""

    def __init__(self, forks: Forks, folder: Path) -> None:
        self.server = OpenAIServer(self._think)
        self.folder, self.out = folder, folder / "o"
        self.reached, self.over = threading.Event(), threading.Event()
        self.wait_at = 0
        self._data = write(folder)
        self._forks = forks
        self._started = 0

    def start(self, *more: str) -> Fork:
        """The command; with `wait_at`, that request hears no reply."""
        environment = {
            "OPENAI_API_KEY": "key",
            "OPENAI_BASE_URL": self.server.url,
            "GRAPHREADER_MODEL": "openai:gpt-4o-mini",
            "GRAPHREADER_EMBEDDINGS": "offline",
            "GRAPHREADER_HOME": str(self.folder / "home"),
        }
        self._started += 1
        words = ["evaluate", self._data, "--readers", READERS, "--out", str(self.out), "--no-rate"]
        place = self.folder / f"outputs-{self._started}"
        return self._forks.start([*words, "--concurrency", "2", *more], environment, place)

    def _think(self, body: Body) -> Any:
        if self.wait_at and len(self.server.requests) >= self.wait_at:
            self.reached.set()
            self.over.wait(30)
        return think(body)


@pytest.fixture
def evaluating(forks: Forks, tmp_path: Path) -> Iterator[Evaluating]:
    evaluating = Evaluating(forks, tmp_path)
    with evaluating.server:
        yield evaluating
        evaluating.over.set()


# Killed it goes on: each reading is there once, and none that was kept is asked for. A line
# that was cut off at that moment is read again, and no other one.
def test_killed(evaluating: Evaluating) -> None:
    evaluating.wait_at = 13
    first = evaluating.start()
    assert evaluating.reached.wait(60)
    assert first.kill()
    file = evaluating.out / "readings.jsonl"
    kept = len(lines_of(evaluating.out))
    file.write_bytes(file.read_bytes()[:-40])
    evaluating.wait_at = 0
    evaluating.over.set()
    before = len(evaluating.server.requests)
    ended = evaluating.start().end()

    assert ended.code == 0, ended.err
    lines = lines_of(evaluating.out)
    assert len({about(line) for line in lines}) == len(lines) == 18
    assert kept >= 10  # but for those that were under way
    assert len(evaluating.server.requests) - before == 18 - kept + 1


# A second process is refused while the first one works there, and changes nothing. Ctrl-C ends the
# first in good order: it says how to go on, and what was kept is whole.
def test_interrupted(evaluating: Evaluating) -> None:
    evaluating.wait_at = 5
    first = evaluating.start()
    assert evaluating.reached.wait(60)
    second = evaluating.start().end()
    wait_for(lambda: len(lines_of(evaluating.out)) >= 3)
    os.kill(first._process, signal.SIGINT)
    ended = first.end()

    assert (second.code, ended.code) == (2, 130)
    assert "Another evaluation works in" in second.err
    assert "Stopped. The readings so far are kept: the same command continues." in ended.err
    kept = (evaluating.out / "readings.jsonl").read_text()
    assert kept.endswith("\n")
    assert all(json.loads(line) for line in kept.splitlines())
