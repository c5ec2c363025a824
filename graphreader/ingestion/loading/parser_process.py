"""Processes that parse files, so that a malicious one takes neither time nor memory without end.

They have no environment but their import path, so no keys. One is started with the first file, more
where several files are parsed at once, and one that did not survive a file is replaced.
"""

import atexit
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import asdict
from queue import LifoQueue
from threading import Timer
from time import monotonic
from typing import Any

from graphreader.documents import Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import Content, refusal_reason

MAX_SECONDS, MAX_SECONDS_PER_MIB = 60.0, 30.0
"""The time that a file may take: a large PDF has thousands of pages at 0.1 s each."""

MAX_MEMORY = 3 * 2**30  # bytes of address space, where the system can limit it (not on Windows)

_PROGRAM = (
    "from graphreader.ingestion.loading import formats, parser_process;"
    "parser_process.serve(formats.READERS)"
)


Parse = Callable[[str, bytes, str], Content]

elsewhere: ContextVar[Parse | None] = ContextVar("elsewhere", default=None)
"""Parses the files of the calling code in place of a process of this machine."""


def parse(suffix: str, data: bytes, shown: str) -> Content:
    """The content of a file. Raises DocumentError, also beyond the bounds. Blocks."""
    if other := elsewhere.get():
        return other(suffix, data, shown)
    process = _free.get()
    try:
        return process.parse(suffix, data, shown)
    finally:
        _free.put(process)


class ParserProcess:
    """A child process that is asked for one file after the other, over pipes."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def parse(self, suffix: str, data: bytes, shown: str) -> Content:
        """See `parse`."""
        if self._process and self._process.poll() is not None:  # Control-C ends it, too
            self.close()
        process = self._process = self._process or _start()
        began = monotonic()
        seconds = MAX_SECONDS + MAX_SECONDS_PER_MIB * len(data) / 2**20
        timer = Timer(seconds, process.kill)
        timer.start()
        try:
            assert process.stdin
            assert process.stdout
            pickle.dump((suffix, data, shown, seconds), process.stdin)
            process.stdin.flush()
            reply = json.loads(process.stdout.readline())  # no pickle of what a file may control
        except (OSError, ValueError):
            timed_out = monotonic() - began >= seconds
            self.close()
            bound = f"{seconds:,.0f} s" if timed_out else f"{MAX_MEMORY / 2**30:,.0f} GiB of memory"
            raise DocumentError(
                f"{shown} takes more than {bound} to read, or its parser fails: cut it into "
                "smaller files, or save its text."
            ) from None
        finally:
            timer.cancel()
        if isinstance(reply, str):
            raise DocumentError(reply)
        return Content(
            reply["text"],
            reply["title"],
            reply["metadata"],
            tuple(reply["page_starts"]),
            tuple((start, heading) for start, heading in reply["headings"]),
            tuple(Skipped(**one) for one in reply["skipped"]),
        )

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with suppress(OSError):  # what was not yet sent
                self._process.communicate()
            self._process = None


def serve(readers: Mapping[str, Callable[[bytes, str], Content]]) -> None:
    """Answer requests from standard input with contents, or reasons, until it ends."""
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # no library writes between the replies
    if sys.platform != "win32":
        import resource  # noqa: PLC0415  # Windows has none

        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    while True:
        try:
            suffix, data, shown, seconds = pickle.load(requests)
        except EOFError:
            return
        if hasattr(signal, "alarm"):  # where nobody is left who ends it
            signal.alarm(int(seconds) + 10)
        reply: Any
        try:
            reply = asdict(readers[suffix](data, shown))
        except MemoryError:
            return
        except Exception as error:  # of any library
            reply = refusal_reason(error, shown)
        if hasattr(signal, "alarm"):
            signal.alarm(0)  # it waits for the next file as long as a model reads this one
        replies.write(json.dumps(reply, default=str).encode() + b"\n")
        replies.flush()


def _start() -> subprocess.Popen[bytes]:
    path = os.pathsep.join(one for one in sys.path if one)
    environment = {"PYTHONPATH": path} | {
        name: value for name, value in os.environ.items() if name in ("SYSTEMROOT", "LANG")
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


_processes = [ParserProcess() for _ in range(min(os.cpu_count() or 1, 4))]
_free: LifoQueue[ParserProcess] = LifoQueue()  # the one that was used last comes first
for _one in _processes:
    _free.put(_one)
    atexit.register(_one.close)
