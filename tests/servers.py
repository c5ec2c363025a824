"""The Neo4j servers that tests run against: a named one, else Docker, else embedded."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from shutil import rmtree, which
from typing import Any

import psutil
import pytest
from testcontainers.community.neo4j import Neo4jContainer

from graphreader.settings import Settings

VERSIONS = ("2026.08.1", "5.26.30")
EACH_VERSION = (VERSIONS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in VERSIONS[1:]))
# What depends on the version: vector search, full text, transactions, and a whole life of a corpus.
both_versions = pytest.mark.parametrize("connection", EACH_VERSION, indirect=True, scope="session")
VARIABLES = (
    "GRAPHREADER_TEST_NEO4J_URI",
    "GRAPHREADER_TEST_NEO4J_USERNAME",
    "GRAPHREADER_TEST_NEO4J_PASSWORD",
)
# Of servers that live for minutes the optimizing compiler takes half of the time, and the check of
# the bytecode of jars, whose hashes are known, a fifth of the start.
JAVA_OPTIONS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
ROOT = Path(__file__).parents[1]
_STARTER = [sys.executable, "-m", "tests.start_neo4j"]
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# Read before they are cleared: the jars may have to be fetched through one.
PROXY = {name: value for name, value in os.environ.items() if name.upper() in PROXIES}

# The home of the embedded servers of this run. The workers of pytest-xdist inherit it, and so share
# one server of each version: of several starts at once GraphReader makes one.
IS_OWNER = "TESTS_NEO4J_HOME" not in os.environ
if IS_OWNER:
    os.environ["TESTS_NEO4J_HOME"] = tempfile.mkdtemp(prefix="graphreader-neo4j-")
HOME = os.environ["TESTS_NEO4J_HOME"]


class Pool:
    """The servers of this process, each started when first asked for."""

    def __init__(self, named: Mapping[str, str | None], cache: Path, stack: ExitStack) -> None:
        self._named = named
        self._cache = cache
        self._stack = stack
        self._servers: dict[str, Settings] = {}

    def settings(self, version: str) -> Settings:
        """Settings of a running server of that version (a named server is what it is)."""
        if version not in self._servers:
            self._servers[version] = self._start(version)
        return self._servers[version]

    def _start(self, version: str) -> Settings:
        uri = self._named[VARIABLES[0]]
        if uri:
            return _settings(uri, self._named[VARIABLES[2]] or "", self._named[VARIABLES[1]])
        if _docker_answers():
            container = self._stack.enter_context(Neo4jContainer(f"neo4j:{version}"))
            return _settings(container.get_connection_url(), container.password)
        environment = _environment(version, self._cache)
        done = subprocess.run(
            _STARTER, env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, timeout=300
        )
        status = json.loads(done.stdout)
        return _settings(status["uri"], status["password"])


_STARTING: list["subprocess.Popen[bytes]"] = []


def begin_start(cache: Path, versions: Sequence[str]) -> None:
    """Begin to start the embedded servers, which the workers of a whole run then wait for."""
    for version in versions if IS_OWNER and not _docker_answers() else ():
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = _environment(version, cache)
        _STARTING.append(subprocess.Popen(_STARTER, env=environment, cwd=ROOT, **quiet))


def stop_embedded() -> None:
    """Kill the embedded servers of this run and delete them, once all of its workers have ended."""
    for starting in _STARTING:
        starting.wait()
    if IS_OWNER:
        for process in psutil.process_iter(["cmdline"]):
            if any(HOME in one for one in process.info["cmdline"] or ()):
                with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                    process.kill()
                    process.wait(30)
        rmtree(HOME, ignore_errors=True)


def _environment(version: str, cache: Path) -> dict[str, str]:
    return {
        **os.environ,
        "GRAPHREADER_HOME": HOME,
        "GRAPHREADER_CACHE": str(cache),
        "GRAPHREADER_NEO4J_VERSION": version,
        "GRAPHREADER_NEO4J_JAVA_OPTIONS": JAVA_OPTIONS,
        **PROXY,
    }


def command(
    arguments: list[str],
    environment: Mapping[str, str],
    cwd: str | Path | None = None,
    check: bool = True,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run `graphreader ...` as a person does, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "graphreader", *arguments],
        env={**os.environ, **environment},
        cwd=cwd or tempfile.gettempdir(),
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=options.pop("timeout", 300),
        **options,
    )
    assert not (check and done.returncode), done.stderr
    return done


def _settings(uri: str, password: str, username: str | None = None) -> Settings:
    """Offline and in mode `paper`, whose steps most tests script; the others name their mode."""
    return Settings.read(
        neo4j_uri=uri,
        neo4j_username=username or "neo4j",
        neo4j_password=password,
        model="offline",
        embeddings="offline",
        mode="paper",
    )


def _docker_answers() -> bool:
    docker = which("docker")
    return bool(docker) and (
        subprocess.run([docker, "info"], capture_output=True, check=False, timeout=20).returncode
        == 0
    )
