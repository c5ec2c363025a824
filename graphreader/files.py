"""Files that are whole or not there: what is written takes its place only once it is done.

A file of JSON lines that is added to while it is made, and gone on with whenever that broke off.

A line is on the disk before the next thing is done, so a killed process loses nothing that was paid
for. What stands behind the last line's end was cut off in the middle of writing, and goes.

A SQLite file of ours: private to its owner, shared by processes, its tables of a known form.

Only the standard library; whoever opens it decides in which thread.
"""

import json
import os
import secrets
import sqlite3
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Self

from graphreader.errors import UsageError


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file that takes the place of what stands at `path` when it is done, and is on the disk.

    A link stays one. What is no regular file, such as a pipe, is written to as it is. A new file is
    made with `mode`, less what the process's umask takes away; one that takes another's place has
    the rights which that had, and of these only those in `mode`.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    kept = stat.S_IMODE(target.stat().st_mode) & mode if target.exists() else None
    made = mode if kept is None else kept
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, made)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if kept is not None:
            with suppress(OSError):  # where no rights are kept; none was made with more than these
                beside.chmod(kept)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


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


class ForeignError(sqlite3.DatabaseError):
    """The file is of a newer version, or of another program."""


def opened(
    path: Path,
    form: int,
    tables: str,
    *,
    patience: float,
    synchronous: str,
    isolation: str | None = None,
) -> sqlite3.Connection:
    """A connection to the file, which is made, for its owner only, where it is missing.

    `form` is the number of the form that `tables`, a script, makes; `patience` the seconds that
    another process's writing is waited for; `isolation` is sqlite3's level, None: none of its own.
    Raises OSError, or sqlite3.Error.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        if _form(connection) != form:
            _make(connection, form, tables)
        with suppress(sqlite3.OperationalError):  # it is in use: who opens it next does it
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.isolation_level = isolation  # type: ignore[assignment]  # typed as its literals
    except BaseException:
        connection.close()
        raise
    return connection


def files_of(path: Path) -> list[Path]:
    """The file and its journal."""
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]


def is_lost(error: Exception) -> bool:
    """Whether the file will never be of use to this version."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(
        error, ForeignError
    )


def refusal(path: Path, what: str, error: Exception, anew: str) -> str:
    """A sentence on a file that cannot be `what` ("read"), which says what to do.

    `anew` is what to do about a file that is lost.
    """
    remedy = "make room or give the permission, or set GRAPHREADER_HOME to another folder"
    if is_lost(error):
        remedy = anew
    elif "locked" in str(error):
        remedy = "end the program that holds it, and try again"
    reason = getattr(error, "strerror", None) or error
    return f"{path} cannot be {what} ({reason}): {remedy}."


def _make(database: sqlite3.Connection, form: int, tables: str) -> None:
    """Make the tables in a file that is empty, unless another process does so right now."""
    with database:
        database.execute("BEGIN EXCLUSIVE")
        found = _form(database)
        if found > form:
            raise ForeignError("a newer version of GraphReader made it")
        if found < form and database.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise ForeignError("GraphReader did not make it")
        for statement in tables.split(";"):  # executescript would end the transaction
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {form}")


def _form(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])
