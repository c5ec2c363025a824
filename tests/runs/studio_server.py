"""The server of LangGraph Studio as `make studio` starts it, in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from tests.terminal import closed_port, wait_for

SCRIPT = Path(__file__).parents[2] / "scripts" / "studio.py"
READY = "Ctrl-C ends the server."


class StudioServer:
    """Runs in a folder, where it keeps its threads; what it says goes into a file there."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.port = closed_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self._said = folder / "said.txt"
        # What conftest switches off is left to the command.
        mine = {name: value for name, value in os.environ.items() if name != "LANGSMITH_TRACING"}
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, str(SCRIPT), "--port", str(self.port)],
                cwd=folder,
                env={**mine, **environment},
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Self:
        wait_for(lambda: READY in self.said or self._process.poll() is not None, 60)
        assert self._process.poll() is None, self.said
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            children = psutil.Process(self._process.pid).children(recursive=True)
            for one in (*children, self._process):
                one.kill()
        self._process.wait(30)

    @property
    def said(self) -> str:
        """All that it has said so far."""
        return self._said.read_text("utf-8")

    def interrupt(self) -> int:
        """Press Ctrl-C, and wait for the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(30)
