"""Reading in on a Ray cluster of two nodes: the same graph, one limit, lost workers and nodes."""

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from graphreader import GraphReader
from graphreader.errors import ClusterError, ModelRefusedError, UsageError
from graphreader.ingestion.report import IngestReport
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import chronicle, digest, mind
from tests.runs.forks import Forks
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Outcome, environment_of, wait_for

# Ray does not use loopback, but an address of this machine.
OWN = [one.address for all_ in psutil.net_if_addrs().values() for one in all_ if "." in one.address]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleaned"), pytest.mark.allow_hosts(OWN)]
CHUNKS, FILES = 24, 4
AT_ONCE = 3
IN_FLIGHT = 2 * AT_ONCE  # chunks that are asked for, or whose reply is just being kept
HTML = "<html><title>A page</title><body><p>Anna1 met Bert7 in Town1.</p></body></html>"

# Ray registers its own handlers and leaves its pipes to the garbage collector.
RAY_WARNINGS = ("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")


class Nodes:
    """A cluster of nodes with one processor each, on this machine."""

    def __init__(self, number: int) -> None:
        from ray.cluster_utils import Cluster  # noqa: PLC0415  # slow

        head = {"num_cpus": 0, "include_dashboard": False}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.nodes = [self.add() for _ in range(number)]
        self.address: str = self._cluster.address

    def add(self) -> Any:
        return self._cluster.add_node(num_cpus=1)

    def remove(self) -> None:
        """Kill a node with all that runs on it."""
        self._cluster.remove_node(self.nodes.pop(), allow_graceful=False)

    def close(self) -> None:
        self._cluster.shutdown()  # type: ignore[no-untyped-call]


def workers() -> list[psutil.Process]:
    """The processes in which workers run now."""
    return [one for one in psutil.process_iter() if _title(one).startswith("ray::Worker")]


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    nodes = Nodes(2)
    yield nodes
    nodes.close()


@pytest.fixture(scope="module")
def corpus() -> str:
    return f"test-{uuid4().hex[:12]}"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = chronicle.write(tmp_path_factory.mktemp("cluster") / "texts", CHUNKS, FILES)
    (folder / "page.html").write_text(HTML)
    return folder


class Reading:
    """A folder that is read into one corpus again and again, and the requests for its chunks."""

    def __init__(self, neo4j: Settings, corpus: str, texts: Path, home: Path) -> None:
        self.corpus = corpus
        self.texts = texts
        self.thinking = 0.02
        self.server = OpenAIServer(self._think)
        self.base = neo4j
        self.settings = chronicle.settings(
            neo4j, self.server, home, concurrency=AT_ONCE, timeout=30.0
        )
        self.at_request: dict[int, Callable[[], object]] = {}

    def _think(self, body: Body) -> Any:
        number = len(self.server.requests)
        if action := self.at_request.pop(number, None):
            threading.Thread(target=action).start()
        time.sleep(self.thinking)
        return mind.think(body)

    def read(self, ray: str | None, **changes: Any) -> IngestReport:
        settings = self.settings.model_copy(update=changes)
        with GraphReader(self.corpus, settings=settings) as reader:
            return reader.ingest(self.texts, ray=ray)

    def graph(self) -> list[str]:
        return digest.content(self.base, self.corpus)

    def asked(self) -> Counter[Any]:
        return Counter(mind.passage(request.body) for request in self.server.requests)


@pytest.fixture(scope="module")
def graph(
    neo4j: Settings, corpus: str, texts: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The graph that one process makes of the texts; the corpus is deleted again."""
    reading = Reading(neo4j, corpus, texts, tmp_path_factory.mktemp("one-process"))
    with reading.server:
        assert reading.read(None).complete
    graph = reading.graph()
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.delete(everything=True)
    return graph


@pytest.fixture
def reading(neo4j: Settings, corpus: str, texts: Path, tmp_path: Path) -> Iterator[Reading]:
    reading = Reading(neo4j, corpus, texts, tmp_path / "first")
    with reading.server:
        yield reading


# Both make the same graph, ask once a chunk and keep the limit of requests at once. Files are
# parsed, chunks read and vectors made by workers; a second run finds everything.
@pytest.mark.filterwarnings(*RAY_WARNINGS)
def test_same_graph(nodes: Nodes, reading: Reading, graph: list[str]) -> None:
    at_work = list[int]()
    reading.at_request[CHUNKS // 2] = lambda: at_work.append(len(workers()))

    report = reading.read(nodes.address)

    assert report.complete
    assert report.usage.calls == CHUNKS + 1
    assert reading.graph() == graph
    assert set(reading.asked().values()) == {1}
    assert 1 < reading.server.most_at_once <= AT_ONCE
    assert at_work == [2]
    assert reading.read(nodes.address).usage.calls == 0
    assert not workers()


# What the budget has is spent and no more, though each worker may ask twice for a chunk.
@pytest.mark.filterwarnings(*RAY_WARNINGS)
def test_budget(nodes: Nodes, reading: Reading) -> None:
    report = reading.read(nodes.address, max_calls=7)

    assert len(reading.server.requests) == report.usage.calls == 7
    failed = [chunk.reason for one in report.documents for chunk in one.failed]
    assert len(failed) == CHUNKS + 1 - 7
    assert all("max_calls is 7" in reason for reason in failed)


# A worker and a node are killed while they ask: their work is done again, and no other.
@pytest.mark.filterwarnings(*RAY_WARNINGS)
@pytest.mark.parametrize("lost", ["worker", "node"])
def test_lost(nodes: Nodes, reading: Reading, graph: list[str], lost: str) -> None:
    kill = (lambda: workers()[0].kill()) if lost == "worker" else nodes.remove
    reading.at_request[CHUNKS // 2] = kill

    report = reading.read(nodes.address)
    if lost == "node":
        nodes.nodes.append(nodes.add())

    assert report.complete
    assert reading.graph() == graph
    assert reading.asked().total() <= CHUNKS + 1 + IN_FLIGHT


# The process that writes is stopped by Ctrl-C, and the next one killed; the same command ends with
# that graph.
@pytest.mark.filterwarnings(*RAY_WARNINGS)
def test_stopped(
    nodes: Nodes, reading: Reading, graph: list[str], forks: Forks, tmp_path: Path
) -> None:
    reading.thinking = 0.1
    values = chronicle.environment(reading.settings) | environment_of(reading.settings)
    command = ["ingest", str(reading.texts), "--corpus", reading.corpus, "--ray", nodes.address]

    def stopped_by(number: int) -> Outcome:
        requests = reading.server.requests
        wanted = len(requests) + CHUNKS // 3
        writing = forks.start(command, values, tmp_path / "outputs")
        wait_for(lambda: len(requests) >= wanted or not writing.runs, 60.0)
        writing.signal(number)
        outcome = writing.end()
        wait_for(lambda: not workers())
        return outcome

    ended = [stopped_by(number) for number in (signal.SIGINT, signal.SIGKILL)]

    assert [one.code for one in ended] == [130, -signal.SIGKILL], ended
    assert reading.read(nodes.address).complete
    assert reading.graph() == graph
    assert reading.asked().total() <= CHUNKS + 1 + 2 * IN_FLIGHT


# Errors are those of one process: of the key, of what cannot be sent, of an address without Ray.
@pytest.mark.filterwarnings(*RAY_WARNINGS)
def test_refused(nodes: Nodes, reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    with GraphReader(reading.corpus, settings=reading.base, decider=ScriptedDecider({})) as reader:
        with pytest.raises(UsageError, match="cannot be sent to a Ray cluster"):
            reader.ingest(reading.texts, ray=nodes.address)
        with pytest.raises(UsageError, match="either batch or ray"):
            reader.ingest(reading.texts, ray=nodes.address, batch=True)
    reading.server.always = Fault(content="", refusal="I do not read this.")
    failed = [chunk for one in reading.read(nodes.address).documents for chunk in one.failed]
    assert len(failed) == CHUNKS + 1
    assert "refuses to reply" in failed[0].reason
    reading.server.always = Fault(status=401)
    with pytest.raises(ModelRefusedError, match="OPENAI_API_KEY"):
        reading.read(nodes.address)
    with pytest.raises(ClusterError, match="no Ray cluster at '127"):
        reading.read("127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match="Ray is not installed"):
        reading.read(nodes.address)
