"""Files that are whole or not there: what is written takes its place only once it is done."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[BinaryIO]:
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
