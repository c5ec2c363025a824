"""Kept replies in a file, for one thread at a time: found, kept, counted, forgotten.

Several processes may use the same file at once. What is wrong with it is raised as an OSError or a
`sqlite3.Error`, but for damage: then the file is renamed and another one begun.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from graphreader.deciding.keeping.reply_file import Identity, NewerFormError, ReplyFile, is_damage

T = TypeVar("T")

_GET: Final = "SELECT reply FROM replies WHERE key = ?"
_PUT: Final = "INSERT OR REPLACE INTO replies (key, model, kept_at, reply) VALUES (?, ?, ?, ?)"
_STATS: Final = """
SELECT model, count(*), min(kept_at), max(kept_at) FROM replies GROUP BY model ORDER BY 2 DESC, 1
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A reply to keep."""

    key: str
    model: str
    reply: str


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What is kept: replies in all and by model, bytes on disk; times in seconds of the epoch."""

    replies: int = 0
    bytes: int = 0
    models: dict[str, int] = field(default_factory=dict)
    oldest: float | None = None
    newest: float | None = None


class ReplyStore:
    """Opens its file when it is first needed, and makes it for the first reply that is kept.

    `put_aside` is where a damaged file was left, if one was met.
    """

    def __init__(self, path: Path) -> None:
        self.put_aside: Path | None = None
        self._file = ReplyFile(path)
        self._connection: sqlite3.Connection | None = None
        self._opened: Identity | None = None

    @property
    def path(self) -> Path:
        """The file, which need not be there."""
        return self._file.path

    def get(self, key: str) -> str | None:
        """The reply that is kept under the key. Makes no file."""

        def read(database: sqlite3.Connection) -> bytes | None:
            for (reply,) in database.execute(_GET, (_bytes(key),)).fetchall():
                return bytes(reply)
            return None

        kept = self._mended(lambda: self._with(read))
        return None if kept is None else kept.decode("utf-8", "surrogatepass")

    def put(self, replies: Sequence[Kept]) -> None:
        """Keep replies, all or none; they are on the disk afterwards."""
        now = time.time()
        rows = [(_bytes(one.key), _text(one.model), now, _bytes(one.reply)) for one in replies]

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(_PUT, rows)

        def make_and_write() -> None:
            self._file.make()
            self._with(write)

        self._mended(make_and_write)

    def stats(self) -> CacheStats:
        """Count what is kept. Makes no file, and leaves a damaged one where it is."""
        rows = self._with(lambda database: database.execute(_STATS).fetchall()) or []
        return CacheStats(
            replies=sum(row[1] for row in rows),
            bytes=self._file.size(),
            models={row[0]: row[1] for row in rows},
            oldest=min((row[2] for row in rows), default=None),
            newest=max((row[3] for row in rows), default=None),
        )

    def clear(self) -> int:
        """Forget all replies, also while others write, and give the room back; how many it were.

        A file that cannot be read is removed, and counts nothing.
        """
        gone = 0
        try:
            gone = self._with(_empty) or 0
        except sqlite3.Error as error:
            if not (is_damage(error) or isinstance(error, NewerFormError)):
                raise
            self.close()
            self._file.remove()
        self._file.remove_put_aside()
        return gone

    def close(self) -> None:
        """Close the file. What is needed later opens it anew."""
        connection, self._connection, self._opened = self._connection, None, None
        if connection:
            with suppress(sqlite3.Error):  # a damaged file complains again
                connection.close()

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Work with the file that lies there now; None where there is none."""
        there = self._file.identity()
        if there != self._opened:  # others have put it aside, or removed it
            self.close()
        if there is None:
            return None
        self._opened = there
        if self._connection is None:
            self._connection = self._file.opened()
        return work(self._connection)

    def _mended(self, work: Callable[[], T]) -> T:
        """Work, and once more after a damaged file was put aside."""
        try:
            return work()
        except sqlite3.Error as error:
            if not is_damage(error) or self._opened is None:
                raise
        damaged = self._opened
        self.close()
        self.put_aside = self._file.put_aside(damaged)
        return work()


def _empty(database: sqlite3.Connection) -> int:
    with database:
        database.execute("BEGIN IMMEDIATE")
        gone = int(database.execute("SELECT count(*) FROM replies").fetchone()[0])
        database.execute("DELETE FROM replies")
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return gone


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
