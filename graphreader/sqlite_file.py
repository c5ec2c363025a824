"""A SQLite file of ours: private to its owner, shared by processes, its tables of a known form.

Only the standard library; whoever opens it decides in which thread.
"""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path


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
