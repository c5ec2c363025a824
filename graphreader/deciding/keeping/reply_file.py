"""The SQLite file of kept replies on the disk: made whole, opened, put aside when it is damaged.

Several processes may do so at once: a lock file beside it keeps them apart, and the file's identity
tells each whether the file that it has opened is still the one that lies there.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, TypeAlias

from filelock import FileLock

Identity: TypeAlias = tuple[int, int]
"""Device and number of a file."""

FORM: Final = 1
"""The number of the table's form, in the file's `user_version`."""

_PATIENCE: Final = 5.0
"""Seconds that another process's writing is waited for."""

# A reply was paid for: FULL lets it survive a power cut, too.
_SAFE: Final = "PRAGMA synchronous = FULL"
_TABLE: Final = f"""
{_SAFE};
PRAGMA journal_mode = WAL;
PRAGMA user_version = {FORM};
CREATE TABLE replies (
    key BLOB PRIMARY KEY,
    model TEXT NOT NULL,
    kept_at REAL NOT NULL,
    reply BLOB NOT NULL
);
CREATE INDEX replies_of_model ON replies (model, kept_at);
"""


class NewerFormError(sqlite3.DatabaseError):
    """A newer version of GraphReader made the file: it is left to that."""


class OlderFormError(sqlite3.DatabaseError):
    """An older version made the file, or another program: it is as good as damaged."""


class ReplyFile:
    """The file at a path, which need not be there, and what lies beside it."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.expanduser(path))

    def identity(self) -> Identity | None:
        """Which file lies there now; None where none does."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def size(self) -> int:
        """Bytes on the disk, with the journal and what was put aside."""
        return sum(map(_size, map(self._beside, ("", "-wal", "-shm", ".broken", ".broken-wal"))))

    def make(self) -> None:
        """Make the file, for its owner only, unless it is there. It appears when it is whole."""
        if self.identity():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = self._beside(".new")
        with self._locked():
            if self.identity():
                return
            # A journal without its file would be played into the new one.
            self._remove(".new", ".new-wal", ".new-shm", "-wal", "-shm")
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(_connected(new)) as database:
                database.executescript(_TABLE)
            new.replace(self.path)

    def opened(self) -> sqlite3.Connection:
        """A connection to the file that is there.

        Raises `sqlite3.Error`, and NewerFormError or OlderFormError where its form is not ours.
        """
        connection = _connected(self.path)
        try:
            form = connection.execute("PRAGMA user_version").fetchone()[0]
            if form > FORM:
                raise NewerFormError("a newer version of GraphReader made it")
            if form < FORM:
                raise OlderFormError("GraphReader did not make it, or long ago")
            connection.execute(_SAFE)
        except BaseException:
            connection.close()
            raise
        return connection

    def put_aside(self, damaged: Identity) -> Path | None:
        """Rename the damaged file; None where another process has done so meanwhile.

        Only the last damaged one is kept: it holds texts, and helps nobody but who repairs it.
        """
        with self._locked():
            if self.identity() != damaged:
                return None
            self._remove("-shm", ".broken-wal")
            with suppress(FileNotFoundError):
                self._beside("-wal").replace(self._beside(".broken-wal"))
            return self.path.replace(self._beside(".broken"))

    def remove(self) -> None:
        """Remove the file."""
        with self._locked():
            self._remove("", "-wal", "-shm")

    def remove_put_aside(self) -> None:
        """Remove the damaged file that was put aside, if there is one."""
        self._remove(".broken", ".broken-wal")

    def _locked(self) -> FileLock:
        """Against other processes that make the file or put it aside."""
        return FileLock(self._beside(".lock"), timeout=_PATIENCE, mode=0o600)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def _remove(self, *suffixes: str) -> None:
        for suffix in suffixes:
            self._beside(suffix).unlink(missing_ok=True)


def is_damage(error: Exception) -> bool:
    """Whether the file will never be of use again."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    damage = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return damage or isinstance(error, OlderFormError)


def is_locked(error: Exception) -> bool:
    """Whether another program held the file for longer than we wait."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _connected(path: Path) -> sqlite3.Connection:
    """A connection to a file that is there; closing it is any thread's right."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(
        address, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
