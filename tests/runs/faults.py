"""Commands that meet a fault, most of them at a random moment, and what is left behind.

Each trial prepares a corpus, starts a command, lets a fault happen, runs the same command once more
without it and compares the graph, and the answer, with those of a command that nothing disturbed.
`make soak` does so for half an hour with all of OPERATIONS and FAULTS, `test_faults` with a few.
"""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import psutil

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, digest, mind
from tests.runs.forks import Fork, Forks
from tests.runs.openai_faults import Chance
from tests.runs.openai_server import OpenAIServer
from tests.servers import JAVA_OPTIONS, command
from tests.terminal import Outcome, environment_of

CHUNKS, FILES = 12, 4
AT_ONCE = 4  # requests to the model
IN_FLIGHT = 2 * AT_ONCE  # requests whose reply may be lost at a kill, or is just being kept
OUTAGE = 3.0  # seconds for which a server stands still
TIMEOUT = 20.0  # seconds for a reply of the model, on a machine that is busy
JUMP = 86_400.0  # seconds by which a clock is set
QUESTION = chronicle.question(3)
READ = ("ingest", "texts")
ASK = {"name": "ask", "arguments": {"question": QUESTION}}
CLIENT = {"name": "soak", "version": "1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
MESSAGES = (
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": ASK},
)
ANSWER = '"id":2'


@dataclass(frozen=True, slots=True)
class Operation:
    """A command, and those that prepare for it; then a file may be edited.

    What only `asks` leaves the graph as it is. `resumes`: its work goes on where it was ended.
    """

    arguments: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = (READ,)
    edits: bool = False
    asks: bool = False
    resumes: bool = False


OPERATIONS: Mapping[str, Operation] = {
    "reading in": Operation(READ, (), resumes=True),
    "reading an edit": Operation(READ, edits=True, resumes=True),
    "asking": Operation(("ask", QUESTION, "--json"), asks=True),
    "serving": Operation(("mcp",), asks=True),
    "normalizing": Operation(("normalize",), (("ingest", "texts", "--no-normalize"),)),
    "undoing merges": Operation(("normalize", "--undo")),
    "deleting": Operation(("delete", "book0")),
    "importing": Operation(("import", "export.jsonl"), ()),
    "reindexing": Operation(("reindex", "--yes")),
}


@dataclass(slots=True)
class Tally:
    """What trials of one kind brought.

    `disturbed` commands still ran when the fault came; `failed` ones ended by it, in a sentence.
    All further numbers shall stay 0.
    """

    trials: int = 0
    disturbed: int = 0
    failed: int = 0
    wrong_results: int = 0
    failed_again: int = 0
    paid_twice: int = 0
    no_sentence: int = 0
    others_touched: int = 0
    stuck: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost, doubled, paid twice or touched, and all failed in sentences."""
        return not self.examples


class Trials:
    """Trials on one server with a corpus of their own, beside another one that shall not change."""

    def __init__(
        self, forks: Forks, neo4j: Settings, folder: Path, seed: int, server: "Server | None" = None
    ) -> None:
        self.dice = random.Random(seed)
        self.tallies: dict[str, Tally] = {}
        self.model = OpenAIServer(mind.think)
        self.home, self.server = folder / "home", server
        self._forks, self._neo4j, self._folder = forks, neo4j, folder
        self._corpus, self._other = (f"test-{uuid4().hex[:12]}" for _ in range(2))
        self._expected: dict[str, tuple[Any, float]] = {}
        self._prepared: Operation | None = None
        self._number = 0

    def __enter__(self) -> Self:
        self.model.__enter__()
        chronicle.write(self._folder / "texts", CHUNKS, FILES)
        file = self._folder / "texts/book0.txt"
        parts = file.read_text(encoding="utf-8").split("\n\n")
        parts[1:3] = [chronicle.paragraph(90), chronicle.paragraph(91)]
        self._versions = file.read_bytes(), "\n\n".join(parts).encode()
        self._pipe = self._folder / "pipe"
        os.mkfifo(self._pipe)
        self._run(READ, self._other)
        self._run(("export", "export.jsonl"), self._other)
        self._untouched = digest.content(self._neo4j, self._other)
        return self

    def __exit__(self, *_: object) -> None:
        for corpus in (self._corpus, self._other):
            self._clear(corpus)
        self.model.__exit__()

    def run(self, name: str, kind: str) -> None:
        """Let an operation meet a fault, and count what that brings."""
        tally = self.tallies.setdefault(f"{name}, {kind}", Tally())
        tally.trials += 1
        try:
            self._try(OPERATIONS[name], FAULTS[kind], tally, *self._expected_of(name))
        except Exception as error:  # a command does not end, or what goes with it failed
            tally.stuck += 1
            tally.examples.append(f"stuck: {error!r}")
            self._prepared = None

    def _try(
        self, operation: Operation, fault: "Fault", tally: Tally, expected: Any, seconds: float
    ) -> None:
        self._prepare(operation)
        with fault.around(self) as options:
            forks = [self._start(operation.arguments, **options) for _ in range(fault.number)]
            time.sleep(self.dice.uniform(0, seconds) if fault.strikes else 0)
            disturbed = forks[0].runs
            if fault.strikes:
                fault.strikes(self, forks[0])
            first = [fork.end(ANSWER) for fork in forks]
        again, resumed = self._repeat(operation)
        # Whoever asks anew pays anew.
        resumed = operation.resumes or (resumed and fault.number == 1)
        asked_again = len(self.model.asked_again()) if resumed else 0
        killed = sum(one.code == -signal.SIGKILL for one in first)
        result = self._result(operation, again)
        # What the first command had finished cannot be deleted again.
        gone = operation.arguments[0] == "delete" and again.code == 2
        problems = {
            "wrong_results": result != expected and not (gone and result[0] == expected[0]),
            "failed_again": again.code != 0 and not gone,
            "paid_twice": asked_again > killed * IN_FLIGHT,
            "no_sentence": not all(map(_is_plain, [*first, again])),
            "others_touched": digest.content(self._neo4j, self._other) != self._untouched,
        }
        tally.disturbed += disturbed
        tally.failed += sum(one.code not in (0, -signal.SIGKILL, 143) for one in first)
        for problem, found in problems.items():
            setattr(tally, problem, getattr(tally, problem) + found)
            if found:
                self._prepared = None
                lost = sorted({*expected[0]} - {*result[0]})[:2]
                more = sorted({*result[0]} - {*expected[0]})[:2]
                said = [one.err[-300:] for one in first[:2]]
                tally.examples.append(f"{problem}: {said} {again.err[-300:]} {lost} {more}")

    def _expected_of(self, name: str) -> tuple[Any, float]:
        """The result of an operation that nothing disturbs, and its seconds."""
        if name not in self._expected:
            operation = OPERATIONS[name]
            self._prepare(operation)
            outcome = self._start(operation.arguments).end(ANSWER)
            assert outcome.code in (0, 143), outcome.err
            if name == "serving":  # gives the answer that asking gives
                result, _ = self._expected_of("asking")
            else:
                result = self._result(operation, outcome)
            self._expected[name] = result, outcome.seconds
        return self._expected[name]

    def _result(self, operation: Operation, outcome: Outcome) -> Any:
        """The graph, and the answer."""
        graph = digest.content(self._neo4j, self._corpus)
        if not operation.asks or outcome.code != 0:
            return graph, None
        return graph, [outcome.json[name] for name in ("answer", "citations", "claims")]

    def _repeat(self, operation: Operation) -> tuple[Outcome, bool]:
        """The same command, or (True) one that goes on with the run that is left."""
        if not operation.asks:
            return self._start(operation.arguments).end(), False
        with self._reader(self._corpus) as reader:
            left = [one.run for one in reader.runs() if one.status != "finished"]
        if not left:
            return self._start(OPERATIONS["asking"].arguments).end(), False
        return self._start(("runs", "resume", left[0], "--json"), "-").end(), True

    def _prepare(self, operation: Operation) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        kept = self._prepared
        if not (kept and kept.asks and operation.asks):
            self._clear(self._corpus)
            file = self._folder / "texts/book0.txt"
            file.write_bytes(self._versions[0])
            for arguments in operation.before:
                self._run(arguments)
            file.write_bytes(self._versions[operation.edits])
        self._prepared = operation
        self.model.requests.clear()

    def _run(self, arguments: tuple[str, ...], corpus: str = "") -> Outcome:
        outcome = self._start(arguments, corpus).end()
        assert outcome.code == 0, (arguments, outcome.err)
        return outcome

    def _start(
        self,
        arguments: tuple[str, ...],
        corpus: str = "",
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Fork:
        """A command about the corpus ("-": about none)."""
        self._number += 1
        files = ("texts", "export.jsonl")
        values = [str(self._folder / one) if one in files else one for one in arguments]
        given = chronicle.settings(
            self._neo4j, self.model, self.home, concurrency=AT_ONCE, timeout=TIMEOUT
        )
        variables = {
            **environment_of(given),
            **chronicle.environment(given),
            "GRAPHREADER_MODE": "paper",
            "GRAPHREADER_INITIAL_NODES": "2",
            "GRAPHREADER_CACHE": str(self._folder / "cache"),
            "GRAPHREADER_EMBEDDINGS": "offline",
            **(environment or {}),
        }
        if arguments == ("mcp",):
            options["stdin"] = str(self._pipe)
        command = values if corpus == "-" else [*values, "--corpus", corpus or self._corpus]
        outputs = self._folder / f"outputs/{self._number}"
        fork = self._forks.start(command, variables, outputs, **options)
        if arguments == ("mcp",):
            text = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in MESSAGES)
            self._pipe.write_text(text, "utf-8")
        return fork

    def _reader(self, corpus: str) -> GraphReader:
        return GraphReader(
            corpus, settings=self._neo4j.model_copy(update={"home": self.home, "model": "offline"})
        )

    def _clear(self, corpus: str) -> None:
        with self._reader(corpus) as reader:
            if any(one.corpus == corpus for one in reader.corpora()):
                reader.delete(everything=True)


def _is_plain(outcome: Outcome) -> bool:
    """Whether a command that failed said so in words of its own."""
    words = ("Traceback", "unexpected error", "Neo.", "Neo4j failed")
    is_told = outcome.code in (0, -signal.SIGKILL) or outcome.err.strip()
    return bool(is_told) and not any(word in outcome.err for word in words)


class Server:
    """An embedded Neo4j of these trials, which may be killed, or started with other settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {
            "GRAPHREADER_HOME": str(folder),
            "GRAPHREADER_NEO4J_JAVA_OPTIONS": JAVA_OPTIONS,
        }
        self.start()
        self._command = psutil.Process(self.process).cmdline()

    def start(self) -> None:
        """Start it unless it runs."""
        status = json.loads(command(["neo4j", "start", "--json"], self._environment).stdout)
        password = status["password"]
        self.settings = Settings(
            neo4j_uri=status["uri"], neo4j_password=password, model="offline", mode="paper"
        )
        shown = command(["neo4j", "status"], self._environment).stdout
        self.process = int(re.findall(r"process (\d+)", shown)[0])
        self._wait()

    def stop(self) -> None:
        """Stop it."""
        command(["neo4j", "stop"], self._environment)

    @contextmanager
    def limited(self, *settings: str, heap: str = "512m") -> Iterator[None]:
        """Let it run with other settings of Neo4j, or of Java, for a while."""
        self.stop()
        arguments = [f"-Xmx{heap}" if one.startswith("-Xmx") else one for one in self._command]
        more = [part for one in settings for part in ("-c", one)]
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        home = {"NEO4J_HOME": str(self.folder)}
        limited = subprocess.Popen([*arguments, *more], env={**os.environ, **home}, **quiet)
        try:
            self._wait()
            yield
        finally:
            limited.kill()
            limited.wait()
            self.start()

    def _wait(self) -> None:
        """Wait until its database answers."""
        address = "127.0.0.1", int((self.settings.neo4j_uri or "").rpartition(":")[2])
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(address) == 0:
                    break
            time.sleep(0.2)
        digest.rows(self.settings, "RETURN 1")


@dataclass(frozen=True, slots=True)
class Fault:
    """What `strikes` at a random moment, or is `around` a command, which gets its options.

    So many processes do the same at once; the first of them is struck.
    """

    strikes: Callable[[Trials, Fork], object] | None = None
    around: Callable[[Trials], AbstractContextManager[dict[str, Any]]] = lambda _: nullcontext({})
    number: int = 1
    root: bool = False


def _freeze(trials: Trials, _: Fork) -> None:
    assert trials.server
    os.kill(trials.server.process, signal.SIGSTOP)
    time.sleep(OUTAGE)
    os.kill(trials.server.process, signal.SIGCONT)


def _restart(trials: Trials, _: Fork) -> None:
    assert trials.server
    os.kill(trials.server.process, signal.SIGKILL)
    trials.server.start()


@contextmanager
def _server_with(trials: Trials, *settings: str, **options: str) -> Iterator[dict[str, Any]]:
    assert trials.server
    with trials.server.limited(*settings, **options):
        yield {}


@contextmanager
def disk(folder: Path, options: str) -> Iterator[None]:
    """Let a folder be a disk of its own: a tmpfs, for which one must be root."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _fill(folder: Path, room: int) -> Path:
    """Leave so much room on the disk; the file that takes the rest."""
    filler = folder / "filler"
    with filler.open("wb") as file:
        file.write(bytes(max(0, shutil.disk_usage(folder).free - room)))
    return filler


@contextmanager
def _full_home(trials: Trials) -> Iterator[dict[str, Any]]:
    with disk(trials.home, "size=16m"):
        _fill(trials.home, trials.dice.choice((0, 20_000, 60_000, 200_000)))
        yield {}


@contextmanager
def _read_only_home(trials: Trials) -> Iterator[dict[str, Any]]:
    with disk(trials.home, "ro"):
        yield {}


@contextmanager
def _server_without_room(trials: Trials) -> Iterator[dict[str, Any]]:
    assert trials.server
    filler = _fill(trials.server.folder, trials.dice.choice((0, 100_000, 1_000_000)))
    try:
        yield {}
    finally:
        filler.unlink()
        os.kill(trials.server.process, signal.SIGKILL)
        trials.server.start()


@contextmanager
def _faulty_model(trials: Trials) -> Iterator[dict[str, Any]]:
    trials.model.script = Chance(0.3, trials.dice.getrandbits(32))
    try:
        yield {}
    finally:
        trials.model.script = None


def _small_files(trials: Trials) -> AbstractContextManager[dict[str, Any]]:
    return nullcontext({"largest": trials.dice.choice((4_000, 20_000, 60_000, 200_000))})


def _with(**options: Any) -> Callable[[Trials], AbstractContextManager[dict[str, Any]]]:
    return lambda _: nullcontext(options)


FAULTS: Mapping[str, Fault] = {
    "killed": Fault(lambda _, fork: fork.kill()),
    "Neo4j frozen": Fault(_freeze),
    "Neo4j killed": Fault(_restart),
    "Neo4j read-only": Fault(
        around=lambda trials: _server_with(trials, "server.databases.default_to_read_only=true"),
    ),
    "Neo4j out of memory": Fault(
        around=lambda trials: _server_with(trials, "db.memory.transaction.max=2m"),
    ),
    "Neo4j out of heap": Fault(around=lambda t: _server_with(t, heap="72m")),
    "Neo4j out of disk": Fault(around=_server_without_room, root=True),
    "full home": Fault(around=_full_home, root=True),
    "read-only home": Fault(around=_read_only_home, root=True),
    "no home": Fault(around=_with(environment={"GRAPHREADER_HOME": "/dev/null/home"})),
    "files that may not grow": Fault(around=_small_files),
    "clock that jumps": Fault(around=_with(jumps=JUMP)),
    "model 30 % wrong": Fault(around=_faulty_model),
    "6 processes": Fault(lambda _, fork: fork.kill(), number=6),
    "30 processes": Fault(number=30),
}
