"""Commands that are killed, or whose Neo4j is, at random moments, and what is left behind.

Each trial prepares a corpus, starts a command, lets a fault happen, runs the same command once more
and compares the graph with that of a command that nothing disturbed. `make soak` does so for half
an hour, `test_faults` once.
"""

import json
import os
import random
import re
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from uuid import uuid4

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, digest
from tests.runs.forks import Fork, Forks
from tests.servers import JAVA_OPTIONS, command
from tests.terminal import Outcome, environment_of

CHUNKS, FILES = 18, 6
TOGETHER = 6  # processes that do the same at once
OUTAGE = 3.0  # seconds for which a server stands still
QUESTION = chronicle.question(3)
READ = ("ingest", "texts")


@dataclass(frozen=True, slots=True)
class Operation:
    """A command, and those that prepare for it; then a file may be edited."""

    arguments: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = (READ,)
    edits: bool = False


OPERATIONS: Mapping[str, Operation] = {
    "reading in": Operation(READ, ()),
    "reading an edit": Operation(READ, edits=True),
    "asking": Operation(("ask", QUESTION)),
    "normalizing": Operation(("normalize",), (("ingest", "texts", "--no-normalize"),)),
    "undoing merges": Operation(("normalize", "--undo")),
    "deleting": Operation(("delete", "book0")),
    "importing": Operation(("import", "export.jsonl"), ()),
    "reindexing": Operation(("reindex", "--yes")),
}


@dataclass(slots=True)
class Tally:
    """What trials of one kind brought; all but the first two shall stay 0."""

    trials: int = 0
    disturbed: int = 0
    wrong_graphs: int = 0
    failures: int = 0
    words: int = 0
    others: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost, doubled or touched, and nothing failed in many words."""
        return not (self.wrong_graphs or self.failures or self.words or self.others)


class Trials:
    """Trials on one server with a corpus of their own, beside another one that shall not change."""

    def __init__(self, forks: Forks, neo4j: Settings, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.tallies: dict[str, Tally] = {}
        self._forks, self._neo4j, self._folder = forks, neo4j, folder
        self._corpus, self._other = (f"test-{uuid4().hex[:12]}" for _ in range(2))
        self._expected: dict[str, tuple[list[str], float]] = {}
        self._number = 0

    def __enter__(self) -> Self:
        chronicle.write(self._folder / "texts", CHUNKS, FILES)
        file = self._folder / "texts/book0.txt"
        parts = file.read_text(encoding="utf-8").split("\n\n")
        parts[1:3] = [chronicle.paragraph(90), chronicle.paragraph(91)]
        self._versions = file.read_bytes(), "\n\n".join(parts).encode()
        self._run(READ, self._other)
        self._run(READ)
        self._run(("export", "export.jsonl"))
        self._untouched = digest.content(self._neo4j, self._other)
        return self

    def __exit__(self, *_: object) -> None:
        for corpus in (self._corpus, self._other):
            self._clear(corpus)

    def kill(self, name: str) -> None:
        """The process is killed at a random moment."""
        self._try(f"{name}, killed", name, lambda fork, seconds: self._kill_later(fork, seconds))

    def together(self, name: str, number: int = TOGETHER) -> None:
        """Several processes do the same at once, and one of them is killed."""

        def start(fork: Fork, seconds: float) -> bool:
            others = [self._start(OPERATIONS[name].arguments) for _ in range(number - 1)]
            self._kill_later(fork, seconds)
            for other in others:
                other.end()
            return True

        self._try(f"{name}, {number} processes", name, start)

    def freeze(self, name: str, server: "Server") -> None:
        """Neo4j stands still for seconds; the command goes on by itself."""

        def stop(fork: Fork, seconds: float) -> bool:
            time.sleep(self.dice.uniform(0, seconds))
            os.kill(server.process, signal.SIGSTOP)
            time.sleep(OUTAGE)
            os.kill(server.process, signal.SIGCONT)
            return fork.end().code == 0

        self._try(f"{name}, Neo4j frozen", name, stop)

    def restart(self, name: str, server: "Server") -> None:
        """Neo4j is killed and started again meanwhile."""

        def stop(fork: Fork, seconds: float) -> bool:
            time.sleep(self.dice.uniform(0, seconds))
            os.kill(server.process, signal.SIGKILL)
            server.start()
            fork.end()
            return True

        self._try(f"{name}, Neo4j killed", name, stop)

    def _try(self, kind: str, name: str, fault: Callable[[Fork, float], bool]) -> None:
        operation = OPERATIONS[name]
        expected, seconds = self._expected_of(name)
        self._prepare(operation)
        tally = self.tallies.setdefault(kind, Tally())
        tally.trials += 1
        fork = self._start(operation.arguments)
        tally.disturbed += fault(fork, seconds)
        outcome = self._start(operation.arguments).end()
        graph = digest.content(self._neo4j, self._corpus)
        # What the killed command had finished cannot be deleted again.
        gone = name == "deleting" and outcome.code == 2
        problems = {
            "wrong_graphs": graph != expected,
            "failures": outcome.code != 0 and not gone,
            "words": "Traceback" in outcome.err or outcome.err.count("Neo.") > 0,
            "others": digest.content(self._neo4j, self._other) != self._untouched,
        }
        for problem, found in problems.items():
            setattr(tally, problem, getattr(tally, problem) + found)
            if found:
                lost = sorted({*expected} - {*graph})[:2], sorted({*graph} - {*expected})[:2]
                tally.examples.append(f"{problem}: {outcome.err[-300:]} {lost}")

    def _kill_later(self, fork: Fork, seconds: float) -> bool:
        time.sleep(self.dice.uniform(0, seconds))
        return fork.kill()

    def _expected_of(self, name: str) -> tuple[list[str], float]:
        """The graph after an operation that nothing disturbs, and its seconds."""
        if name not in self._expected:
            self._prepare(OPERATIONS[name])
            outcome = self._run(OPERATIONS[name].arguments)
            self._expected[name] = digest.content(self._neo4j, self._corpus), outcome.seconds
        return self._expected[name]

    def _prepare(self, operation: Operation) -> None:
        self._clear(self._corpus)
        file = self._folder / "texts/book0.txt"
        file.write_bytes(self._versions[0])
        for arguments in operation.before:
            self._run(arguments)
        file.write_bytes(self._versions[operation.edits])

    def _run(self, arguments: tuple[str, ...], corpus: str = "") -> Outcome:
        outcome = self._start(arguments, corpus).end()
        assert outcome.code == 0, (arguments, outcome.err)
        return outcome

    def _start(self, arguments: tuple[str, ...], corpus: str = "") -> Fork:
        self._number += 1
        files = ("texts", "export.jsonl")
        values = [str(self._folder / one) if one in files else one for one in arguments]
        environment = {
            **environment_of(self._neo4j),
            "GRAPHREADER_HOME": str(self._folder / "home"),
            "GRAPHREADER_CACHE": str(self._folder / "cache"),
            "GRAPHREADER_MODEL": "offline",
            "GRAPHREADER_EMBEDDINGS": "offline",
            "GRAPHREADER_CHUNK_TOKENS": str(chronicle.CHUNK_TOKENS),
        }
        outputs = self._folder / f"outputs/{self._number}"
        command = [*values, "--corpus", corpus or self._corpus]
        return self._forks.start(command, environment, outputs)

    def _clear(self, corpus: str) -> None:
        with GraphReader(corpus, settings=self._neo4j) as reader:
            if any(one.corpus == corpus for one in reader.corpora()):
                reader.delete(everything=True)


class Server:
    """An embedded Neo4j of these trials, which may be killed."""

    def __init__(self, folder: Path) -> None:
        self._environment = {
            "GRAPHREADER_HOME": str(folder),
            "GRAPHREADER_NEO4J_JAVA_OPTIONS": JAVA_OPTIONS,
        }
        self.start()

    def start(self) -> None:
        """Start it unless it runs."""
        status = json.loads(command(["neo4j", "start", "--json"], self._environment).stdout)
        self.settings = Settings(
            neo4j_uri=status["uri"], neo4j_password=status["password"], model="offline"
        )
        shown = command(["neo4j", "status"], self._environment).stdout
        self.process = int(re.findall(r"process (\d+)", shown)[0])

    def stop(self) -> None:
        """Stop it."""
        command(["neo4j", "stop"], self._environment)
