"""The Neo4j servers that tests run against: a named one, else Docker, else embedded."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from shutil import which
from types import TracebackType
from typing import Any, Self

from testcontainers.community.neo4j import Neo4jContainer

from graphreader.settings import Settings

VERSIONS = ("2026.08.1", "5.26.30")
VARIABLES = (
    "GRAPHREADER_TEST_NEO4J_URI",
    "GRAPHREADER_TEST_NEO4J_USERNAME",
    "GRAPHREADER_TEST_NEO4J_PASSWORD",
)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# Read before they are cleared: the jars may have to be fetched through one.
PROXY = {name: value for name, value in os.environ.items() if name.upper() in PROXIES}


class Pool:
    """Starts each version at most once."""

    def __init__(self, named: Mapping[str, str | None], cache: Path) -> None:
        self._named = named
        self._cache = cache
        self._servers: dict[str, Settings] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

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
            return self._container(version)
        return self._embedded(version)

    def _container(self, version: str) -> Settings:
        container = self._stack.enter_context(Neo4jContainer(f"neo4j:{version}"))
        return _settings(container.get_connection_url(), container.password)

    def _embedded(self, version: str) -> Settings:
        home = self._stack.enter_context(
            tempfile.TemporaryDirectory(prefix="graphreader-neo4j-", ignore_cleanup_errors=True)
        )
        environment = {
            "GRAPHREADER_HOME": home,
            "GRAPHREADER_CACHE": str(self._cache),
            "GRAPHREADER_NEO4J_VERSION": version,
            **PROXY,
        }
        self._stack.callback(command, ["neo4j", "stop"], environment)
        status = json.loads(command(["neo4j", "start", "--json"], environment).stdout)
        return _settings(status["uri"], status["password"])


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
    return Settings.read(
        neo4j_uri=uri,
        neo4j_username=username or "neo4j",
        neo4j_password=password,
        model="offline",
        embeddings="offline",
    )


def _docker_answers() -> bool:
    docker = which("docker")
    return bool(docker) and (
        subprocess.run([docker, "info"], capture_output=True, check=False, timeout=20).returncode
        == 0
    )
