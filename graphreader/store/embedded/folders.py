"""Folders that we write to: locked against other processes, private files, errors for people."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from graphreader.errors import ServerError
from graphreader.store.embedded.progress import Progress


@contextmanager
def writing(folder: Path, variable: str) -> Iterator[None]:
    """Turn the system's refusals (full disk, no permission) into a ServerError.

    The message names the folder and `variable`, the environment variable that chooses another.
    """
    try:
        yield
    except OSError as error:
        raise ServerError(
            f"{folder} cannot be written ({error.strerror or error}): make room or give the"
            f" permission, or set {variable} to another folder."
        ) from error


@contextmanager
def locked(folder: Path, variable: str, progress: Progress) -> Iterator[None]:
    """Hold `folder` against other processes and threads, by a lock file in it.

    Waits as long as somebody else holds it, telling `progress`. The system lets go of a lock
    whose holder dies, so a lock file left behind means nothing. Errors as of `writing`.
    """
    lock = FileLock(folder / "lock", mode=0o600)
    while not lock.is_locked:
        with writing(folder, variable), suppress(Timeout):
            lock.acquire(timeout=0.2, poll_interval=0.02)
        if not lock.is_locked:
            progress("waiting", 0, None)
    try:
        yield
    finally:
        lock.release()


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
