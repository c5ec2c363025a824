"""A file of JSON lines that is added to while it is made, and gone on with whenever that broke off.

A line is on the disk before the next thing is done, so a killed process loses nothing that was paid
for. What stands behind the last line's end was cut off in the middle of writing, and goes.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from graphreader.errors import UsageError

Line = Mapping[str, Any]


class LinesFile(ABC):
    """Lines in a file that this process alone writes; `folder.Folder` sees to that.

    Each line is noted, those that are there already when the file is entered. Raises UsageError
    for a file that holds anything else than lines with all `keys`: it is not touched then.
    """

    def __init__(self, path: Path, keys: frozenset[str]) -> None:
        self.path = path
        self._keys = keys
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Note what is there, and open the file for more."""
        size = self._read() if self.path.exists() else 0
        self._file = self.path.open("ab")
        self._file.truncate(size)
        if size and not self._ends_with_line():
            self._write(b"\n")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file:
            self._file.close()

    @abstractmethod
    def note(self, line: Line) -> None:
        """Take notice of a line that is in the file."""

    def append(self, line: Line) -> None:
        """Write one line, and note it; it is on the disk when this returns."""
        # A lone surrogate in what a model wrote would otherwise fail a line that is paid for.
        self._write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self.note(line)

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> int:
        """Note all lines; return where the last whole one ends."""
        size = 0
        with self.path.open("rb") as file:
            for number, data in enumerate(file, 1):
                line = _parsed(data)
                if line is None and not data.endswith(b"\n"):
                    break
                if line is None or not self._keys <= line.keys():
                    raise UsageError(
                        f"{self.path}, line {number}: this is no line of an evaluation; name "
                        "another --out."
                    )
                self.note(line)
                size += len(data)
        return size

    def _ends_with_line(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"


def _parsed(data: bytes) -> dict[str, Any] | None:
    """The object of a line, None where it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
