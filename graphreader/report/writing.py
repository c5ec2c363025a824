"""From a reading to the file of its report; the file is looked at before anything is paid for."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from graphreader.errors import UsageError
from graphreader.reading import Reading
from graphreader.report.drawing import MOST, touched_ids
from graphreader.report.page import render
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.touched import touched
from graphreader.whole_file import whole

Target = str | os.PathLike[str]


def check(target: Target) -> Path:
    """The file of that name, `~` being the person's home. Raises UsageError if none can be made.

    It asks the disk itself, by making a file beside it. What is there already stays as it is; a
    pipe is not opened, as that would wait for its reader, or end it.
    """
    name = os.fspath(target)
    if not name or name == "-":
        raise UsageError("A report goes into a file: name one, such as report.html.")
    path = Path(os.path.expanduser(name))
    with _in_words(name):
        if path.is_dir():
            raise UsageError(f"{name} is a folder: name a file in it, such as report.html.")
        real = Path(os.path.realpath(path))
        if path.is_file():
            with path.open("ab"):
                pass
        if path.is_file() or not path.exists():  # into a pipe it goes as it is
            with NamedTemporaryFile(dir=real.parent, prefix=f".{real.name}."):
                pass
    return path


async def write_report(connection: Connection, reading: Reading, target: Target) -> Path:
    """Write the page of a reading, with what the graph knows of it, in place of what is there.

    Raises UsageError where the file cannot be written, and StoreError.
    """
    path = await asyncio.to_thread(check, target)
    explorer = GraphExplorer(connection, reading.corpus)
    places = [(one.document_id, one.chunk) for one in reading.citations]
    passages = await explorer.passages(places)
    known = await touched(connection, reading.corpus, touched_ids(reading, passages)[:MOST])

    def write() -> None:
        page = render(reading, passages, known)
        with _in_words(str(path)), whole(path) as file:
            file.write(page.encode())

    await asyncio.to_thread(write)
    return path


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"The report cannot be written to {name} ({reason}): name another file."
        ) from error
