"""Commands in processes of their own, forked from one that has loaded all that they need.

A process that is started the common way imports for seconds what these have from the beginning.
Otherwise they are the same: a whole command, with an environment of its own, to be killed at will.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.terminal import Outcome

ROOT = Path(__file__).parents[2]


class Forks:
    """Starts commands until it is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.runs.forking"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.kill()  # it would take seconds to take down all that it has loaded
        self._server.communicate(timeout=30)

    def start(
        self, arguments: list[str], environment: Mapping[str, str], folder: Path, **options: Any
    ) -> "Fork":
        """Run `graphreader ...`; its outputs go to files of the folder.

        `stdin` is a file or a pipe; `largest` the most bytes that a file may have; with `jumps` the
        clock goes back and forth by so many seconds.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "out.txt").write_bytes(b"")
        number = self.ask(
            environment={**os.environ, **environment},
            arguments=arguments,
            out=str(folder / "out.txt"),
            err=str(folder / "err.txt"),
            **options,
        )
        return Fork(self, number, folder)

    def ask(self, **request: Any) -> Any:
        """Send one request and wait for its answer."""
        with self._lock:
            assert self._server.stdin
            assert self._server.stdout
            self._server.stdin.write(json.dumps(request) + "\n")
            self._server.stdin.flush()
            return json.loads(self._server.stdout.readline())


class Fork:
    """A command that was started."""

    def __init__(self, forks: Forks, process: int, folder: Path) -> None:
        self._forks = forks
        self._process = process
        self._folder = folder
        self._began = time.monotonic()
        self._code: int | None = None

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        if self._code is None:
            self._code = self._forks.ask(process=self._process)
        return self._code is None

    def kill(self) -> bool:
        """Take its life without a warning; False where it had ended before."""
        self.signal(signal.SIGKILL)
        return self.end().code == -signal.SIGKILL

    def signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.runs:
            os.kill(self._process, number)

    def end(self, answer: str = "") -> Outcome:
        """Wait for its end, or for this answer; the code is below 0 where a signal ended it."""
        while self.runs:
            if time.monotonic() - self._began > 300:
                os.kill(self._process, signal.SIGKILL)
                raise AssertionError("it does not end")
            if answer and answer in (self._folder / "out.txt").read_text("utf-8"):
                os.kill(self._process, signal.SIGTERM)
                return self.end()
            time.sleep(0.005)
        out, err = ((self._folder / name).read_text("utf-8") for name in ("out.txt", "err.txt"))
        return Outcome(self._code, out, err, time.monotonic() - self._began)
