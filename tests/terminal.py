"""Commands as a person types them: in this process where that shows all, else in one of their own.

In this process a command takes a tenth of a second; alone it imports the libraries first.
"""

import io
import json
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from graphreader.cli.main import main
from graphreader.settings import Settings


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind: its exit code, its two outputs, the seconds it took."""

    code: int | str | None
    out: str
    err: str
    seconds: float

    @property
    def json(self) -> Any:
        """The one JSON object of stdout."""
        return json.loads(self.out)


class Keyboard(io.StringIO):
    """A stdin at which a person sits, or a stderr that is a screen."""

    def isatty(self) -> bool:
        return True


def environment_of(settings: Settings) -> dict[str, str]:
    """The variables that lead a command to the server of these settings, and its mode."""
    password = settings.neo4j_password
    return {
        "NEO4J_URI": settings.neo4j_uri or "",
        "NEO4J_USERNAME": settings.neo4j_username,
        "NEO4J_PASSWORD": password.get_secret_value() if password else "",
        "GRAPHREADER_MODE": settings.mode,
    }


class Terminal:
    """Runs commands in a folder, with an environment."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
    ) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(folder)

    def set(self, **variables: str) -> None:
        """Set environment variables; an empty value unsets."""
        for name, value in variables.items():
            self._monkeypatch.setenv(name, value)

    def run(self, *arguments: str) -> Outcome:
        """Run `graphreader ...` in this process."""
        self._monkeypatch.setattr(sys, "argv", ["graphreader", *arguments])
        self._capsys.readouterr()
        began = time.monotonic()
        with _signals_kept(), same_logging(), pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capsys.readouterr()
        return Outcome(ended.value.code, out, err, time.monotonic() - began)


@contextmanager
def _signals_kept() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def same_logging() -> Iterator[None]:
    """What is set up for logging meanwhile goes again."""
    root = logging.root
    level, handlers = root.level, list(root.handlers)
    levels = {one: one.level for one in _loggers()}
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
        for one in _loggers():
            one.setLevel(levels.get(one, logging.NOTSET))


def _loggers() -> list[logging.Logger]:
    found = logging.root.manager.loggerDict.values()
    return [one for one in found if isinstance(one, logging.Logger)]


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


class SilentService:
    """A loopback port that takes connections and never says a word.

    `asked_at` is when the first one came (`time.monotonic`).
    """

    def __init__(self) -> None:
        self.asked_at: float | None = None
        self._taken: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._take, daemon=True)
        self.port: int = self._server.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for one in (*self._taken, self._server):
            one.close()

    def _take(self) -> None:
        while True:
            try:
                self._taken.append(self._server.accept()[0])
            except OSError:
                return
            self.asked_at = self.asked_at or time.monotonic()


def closed_port() -> int:
    """A loopback port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
