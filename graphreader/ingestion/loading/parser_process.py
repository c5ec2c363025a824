"""Child processes that parse files, with limits of time and memory against malicious files.

Their environment is only the import path, without API keys. The first file starts a process;
parallel parsing starts more, and a process that dies on a file is replaced.
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
from dataclasses import asdict, replace
from queue import LifoQueue
from threading import Timer
from time import monotonic
from typing import IO, Protocol

from graphreader.documents import Heading, Place, Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import Content, completed, refusal_reason

MAX_SECONDS, MAX_SECONDS_PER_MIB = 60.0, 30.0
"""Time limit of a file: a large PDF has thousands of pages at 0.1 s each."""

MAX_OCR_SECONDS = 3_600.0
"""Time limit of the pages that OCR reads: a dense page takes 5 to 15 s on one processor."""

MAX_MEMORY = 3 * 2**30  # bytes of address space, where the system can limit it (not on Windows)

MAX_REPLY = 2**30  # bytes of a text, and of all else

_PROGRAM = (
    "from graphreader.ingestion.loading import formats, parser_process;"
    "parser_process.serve(formats.READERS, formats.OCR_READERS)"
)


class FileParser(Protocol):
    """A function that parses a file. Blocks."""

    def __call__(self, suffix: str, data: bytes, shown: str, ocr: str = "") -> Content:
        """Parse bytes; `shown` is the name for messages, `ocr` as of `ocr_of`."""
        ...


def parse(suffix: str, data: bytes, shown: str, ocr: str = "") -> Content:
    """Parse a file in a local child process. Raises DocumentError, also beyond the limits."""
    process = _free.get()
    try:
        return process.parse(suffix, data, shown, ocr)
    finally:
        _free.put(process)


class ParserProcess:
    """A child process that parses one file after the other, over pipes."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def parse(self, suffix: str, data: bytes, shown: str, ocr: str = "") -> Content:
        """Parse a file into its content. Blocks. Raises DocumentError, also beyond the limits."""
        if self._process and self._process.poll() is not None:  # Control-C also ends the child
            self.close()
        process = self._process = self._process or _start()
        began = monotonic()
        seconds = MAX_SECONDS + MAX_SECONDS_PER_MIB * len(data) / 2**20
        seconds += 1.1 * MAX_OCR_SECONDS * bool(ocr)  # a reader itself ends within the limit
        timer = Timer(seconds, process.kill)
        timer.start()
        try:
            assert process.stdin
            assert process.stdout
            pickle.dump((suffix, data, shown, ocr, seconds), process.stdin)
            process.stdin.flush()
            reply = _read_reply(process.stdout)
        except Exception as error:  # a file may control the reply
            timed_out = monotonic() - began >= seconds
            self.close()
            bound = f"{seconds:,.0f} s" if timed_out else f"{MAX_MEMORY / 2**30:,.0f} GiB of memory"
            raise DocumentError(
                f"{shown} takes more than {bound} to read, or its parser fails: cut it into "
                "smaller files, or save its text."
            ) from error
        finally:
            timer.cancel()
        if isinstance(reply, str):
            raise DocumentError(reply)
        return reply

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with suppress(OSError):  # unsent data
                self._process.communicate()
            self._process = None


def _read_reply(replies: IO[bytes]) -> Content | str:
    """Read a content or a refusal; raises any error if the reply has not their form."""
    line = replies.readline(MAX_REPLY)
    reply = json.loads(line)  # no pickle, which runs code
    if isinstance(reply, str):
        return reply
    size = int(reply["bytes"])
    if not line.endswith(b"\n") or not 0 <= size <= MAX_REPLY:
        raise ValueError("too long a reply")
    text = replies.read(size)
    if len(text) != size:
        raise EOFError("half a reply")
    return Content(
        text.decode(),
        reply["title"],
        reply["metadata"],
        tuple(Place(*one) for one in reply["places"]),
        tuple(Heading(*one) for one in reply["headings"]),
        tuple(Skipped(**one) for one in reply["skipped"]),
        reply["encoding"],
        tuple(reply["notes"]),
    )


def serve(
    readers: Mapping[str, Callable[[bytes, str], Content]],
    ocr_readers: Mapping[str, Callable[[bytes, str, str], Content]] = {},
) -> None:
    """Answer parse requests on standard input until it ends, with `ocr_readers` if OCR is asked.

    A reply is a line of JSON, a refusal or a content with the length of its text, and the text:
    its escapes in JSON would take the parent seconds.
    """
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # so that no library writes between replies
    if sys.platform != "win32":
        import resource  # noqa: PLC0415  # Windows has none

        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    while True:
        try:
            suffix, data, shown, ocr, seconds = pickle.load(requests)
        except EOFError:
            return
        if hasattr(signal, "alarm"):  # in case the parent process is dead
            signal.alarm(int(seconds) + 10)
        try:
            if ocr and suffix in ocr_readers:
                content = completed(ocr_readers[suffix](data, shown, ocr))
            else:
                content = completed(readers[suffix](data, shown))
            text = content.text.encode()
            values = asdict(replace(content, text="")) | {"bytes": len(text)}
            reply = json.dumps(values)
        except MemoryError:
            return
        except Exception as error:  # of any library
            text, reply = b"", json.dumps(refusal_reason(error, shown))
        if hasattr(signal, "alarm"):
            signal.alarm(0)  # no limit while it waits for the next file
        replies.write(reply.encode() + b"\n")
        replies.write(text)
        replies.flush()


_PASSED = ("SYSTEMROOT", "LANG", "PATH", "TESSDATA_PREFIX")  # the last two for Tesseract


def _start() -> subprocess.Popen[bytes]:
    path = os.pathsep.join(one for one in sys.path if one)
    environment = {"PYTHONPATH": path} | {
        name: value for name, value in os.environ.items() if name in _PASSED
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


_processes = [ParserProcess() for _ in range(min(os.cpu_count() or 1, 4))]
_free: LifoQueue[ParserProcess] = LifoQueue()  # the most recently used process comes first
for _one in _processes:
    _free.put(_one)
    atexit.register(_one.close)
