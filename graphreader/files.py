"""Files that survive a crash: atomic writes and resumable JSON Lines. All functions block."""

import json
import os
import re
import secrets
import shutil
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

from graphreader.errors import UsageError


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` once the block ends and its bytes are on disk.

    Nothing changes if the block raises. Links and permissions stay; a new file gets `mode` less
    the umask. A target that is not a regular file is written directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            with suppress(OSError):  # a new file, or a file system without permissions
                shutil.copymode(target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def file_source(path: str | os.PathLike[str]) -> str:
    """The path with links resolved, in the form of `composed`."""
    return composed(os.path.realpath(path))


def composed(path: str) -> str:
    """The path as text, with an escape for each byte that is not valid in UTF-8.

    Accents are composed (NFC): systems write the same name in different ways.
    """
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return unicodedata.normalize("NFC", text)


_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


def relative_name(source: str) -> str:
    """The source of a document, of an absolute path only its last folder and its name.

    Whoever asks a server learns nothing else of the folders of its machine.
    """
    path, mark, place = source.partition("#")
    if not _ABSOLUTE.match(source):
        return source
    return "/".join(re.split(r"[\\/]+", path)[-2:]).lstrip("/") + mark + place


def bounded_lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of all lines with text, cut at a limit; numbers count from 1.

    A line with more than `limit` bytes is cut to `limit + 1`, so that a caller can refuse it.
    """
    number = 0
    while line := file.readline(limit + 1):
        number += 1
        if line.strip():
            yield number, line
        while len(line) > limit and not line.endswith(b"\n"):
            line = file.readline(limit + 1)


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


def structural_bytes(line: bytes) -> int:
    """Count the bytes outside of strings in a JSON text; parsed, they take 50 times the memory."""
    return len(line) - sum(one.end() - one.start() for one in _STRING.finditer(line))


Line = Mapping[str, Any]


class LinesFile(ABC):
    """A JSON Lines file that one process appends to and a later process continues.

    Entering it removes an incomplete last line. `note` is called with each line, read or appended.
    Raises UsageError, and leaves the file untouched, if a line is no object with all `keys`.
    """

    def __init__(self, path: Path, keys: frozenset[str]) -> None:
        self.path = path
        self._keys = keys
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Read the existing lines and open the file for appending."""
        kept = self._read() if self.path.exists() else 0
        self._file = self.path.open("ab")
        self._file.truncate(kept)
        if kept and not self.path.read_bytes().endswith(b"\n"):
            self._file.write(b"\n")
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
        if self._file:
            self._file.close()

    @abstractmethod
    def note(self, line: Line) -> None:
        """Process a line of the file; called once for each line, existing or appended."""

    def append(self, line: Line) -> None:
        """Write a line, wait until it is on disk, and call `note` with it."""
        assert self._file is not None
        self._file.write(json_line(line))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.note(line)

    def _read(self) -> int:
        """Call `note` with all complete lines, and return how many bytes they have."""
        size = 0
        for line, data in complete_lines(self.path, self._keys):
            self.note(line)
            size += len(data)
        return size


def json_line(value: Line) -> bytes:
    """One line of a JSON Lines file; a lone surrogate in a model's reply becomes `?`."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


_NOT_AN_EVALUATION = "this is no line of an evaluation: take it out, or name another folder."


def complete_lines(
    path: Path,
    keys: frozenset[str],
    *,
    accepts: Callable[[Line], bool] = lambda line: True,
    refusal: str = _NOT_AN_EVALUATION,
    beginning: bytes = b"{",
) -> Iterator[tuple[Line, bytes]]:
    """The lines of a JSON Lines file, parsed and as bytes, without a last line that was cut off.

    Only a last line that starts with `beginning` can have been cut off. Raises UsageError, with
    the number of the line and the `refusal`, for a line that is no object with all `keys`, or that
    `accepts` rejects.
    """
    with path.open("rb") as file:
        for number, data in enumerate(file, 1):
            line = _json_object(data)
            begins = beginning.startswith(data[: len(beginning)])
            if line is None and begins and not data.endswith(b"\n"):
                return
            if line is None or not (keys <= line.keys() and accepts(line)):
                raise UsageError(f"{path}, line {number}: {refusal}")
            yield line, data


def _json_object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
