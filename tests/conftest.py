"""What every test may rely on: a bare environment, loopback only, a Neo4j where asked for.

Nobody's real database or account is touched: settings and keys of the person who runs the tests are
cleared before any test is imported, no `.env` is read, and only GRAPHREADER_TEST_NEO4J_URI names a
server. pytest-socket keeps this process on loopback. It does not reach the commands that tests
start: these have no key and no proxy, and need the network only to fetch the jars of Neo4j once.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from graphreader import waiting
from graphreader.settings import Settings
from tests import servers
from tests.postgres import Postgres
from tests.runs.forks import Forks
from tests.snapshots import Snapshots
from tests.terminal import Terminal

# Bytecode is kept, also where the environment says otherwise, as that of containers does: each
# process that a test starts would compile all libraries, which takes longer than most tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

TEST_URI = {name: os.environ.get(name) for name in servers.VARIABLES}
CACHE = Settings.model_fields["cache"].get_default(call_default_factory=True)
CACHE = Path(os.environ.get("GRAPHREADER_CACHE") or CACHE)

# What is cleared below, for tests/live alone, and only where a person switches them on.
LIVE = dict(os.environ) if os.environ.get("GRAPHREADER_LIVE") == "1" else {}

WEIGHTS = os.environ.get("GRAPHREADER_TEST_WEIGHTS")
"""The file of a small model for tests/model, which `make test-model` names."""

PERSONAL = ("NEO4J_", "OPENAI_", "GRAPHREADER_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_")
for name in list(os.environ):
    if name.startswith(PERSONAL) or name.upper().endswith(("_API_KEY", *servers.PROXIES)):
        del os.environ[name]


@pytest.fixture(scope="session", autouse=True)
def bare_environment() -> Iterator[None]:
    """A home of the tests' own, and a working folder above which no `.env` lies."""
    with tempfile.TemporaryDirectory(prefix="graphreader-tests-") as home:
        os.environ["GRAPHREADER_HOME"] = home
        os.environ["GRAPHREADER_CACHE"] = str(CACHE)
        os.environ["GRAPHREADER_KEEP_REPLIES"] = "off"  # tests count requests
        os.environ["GRAPHREADER_NEO4J_JAVA_OPTIONS"] = servers.JAVA_OPTIONS
        os.environ["LANGSMITH_TRACING"] = "false"
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option that writes snapshots instead of comparing them; see `make snapshots`."""
    parser.addoption("--renew-snapshots", action="store_true", help="write snapshots anew")


def pytest_configure(config: pytest.Config) -> None:
    """In a whole run by several workers the servers start while these collect the tests."""
    whole = config.args_source is config.ArgsSource.TESTPATHS
    if whole and config.getoption("numprocesses", 0) and not TEST_URI[servers.VARIABLES[0]]:
        fast = config.getoption("markexpr") == "not slow"
        servers.begin_start(CACHE, servers.VERSIONS[:1] if fast else servers.VERSIONS)


def pytest_unconfigure() -> None:
    """Stop the servers at the end of the run."""
    servers.stop_embedded()


@pytest.fixture(scope="module")
def snapshots(request: pytest.FixtureRequest) -> Snapshots:
    """The snapshots of the test module: `fixed_prompts/` beside `test_fixed_prompts.py`."""
    path = request.path.with_name(request.path.stem.removeprefix("test_"))
    return Snapshots(path, renew=request.config.getoption("--renew-snapshots"))


@pytest.fixture(scope="session")
def neo4j_pool() -> Iterator[servers.Pool]:
    """The servers of this process, each started when first asked for."""
    with ExitStack() as stack:
        yield servers.Pool(TEST_URI, CACHE, stack)


@pytest.fixture(scope="session")
def neo4j(neo4j_pool: servers.Pool) -> Iterator[Settings]:
    """Settings of one Neo4j of the default version, offline otherwise.

    Of a statement that takes long on a busy machine nothing is said.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphreader.store.connection.SLOW_SECONDS", 60.0)
        yield neo4j_pool.settings(servers.VERSIONS[0])


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Commands in processes of their own that need not import everything first."""
    with Forks() as forks:
        yield forks


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL, started when it is first asked for."""
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, path: Path) -> Path | str:
    """A file, and an address of PostgreSQL; a module's `path` is the file."""
    if request.param == "sqlite":
        return path
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def slow_statements(neo4j: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that takes long is announced."""
    monkeypatch.setattr("graphreader.store.connection.SLOW_SECONDS", waiting.SLOW_SECONDS)


@pytest.fixture
def corpus() -> str:
    """A name that no other test uses."""
    return f"test-{uuid4().hex[:12]}"


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Terminal:
    """Commands in an empty folder."""
    return Terminal(monkeypatch, capsys, tmp_path)
