"""Files become documents: read whole, each by the reader of its format.

What cannot be read as a text is a DocumentError of one sentence that says how to mend it.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.archives import read_docx, read_epub
from graphreader.ingestion.loading.content import Content, document_of
from graphreader.ingestion.loading.encodings import clean
from graphreader.ingestion.loading.markdown import read_markdown
from graphreader.ingestion.loading.markup import read_html
from graphreader.ingestion.loading.pdf import read_pdf
from graphreader.ingestion.loading.plain_text import read_text

MAX_BYTES = 64 * 1024 * 1024

_READERS: dict[str, Callable[[bytes, str], Content]] = {
    ".docx": read_docx,
    ".epub": read_epub,
    ".htm": read_html,
    ".html": read_html,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".pdf": read_pdf,
    ".txt": read_text,
    ".xhtml": read_html,
}
JSON_LINES = ".jsonl"  # many documents
SUFFIXES = tuple(sorted((*_READERS, JSON_LINES)))


def load(path: Path, corpus: str, max_bytes: int = MAX_BYTES, shown: str = "") -> Document:
    """Read one file that is one document of `corpus`.

    `title` is the one that the file gives itself, else its name without the ending, otherwise as
    it is ("joan_of_arc"). `source` is the absolute path with links resolved; the `id` comes from
    it and the corpus. Raises DocumentError, which names the file as `shown`, else by its path, and
    whatever a library raises.
    """
    shown = shown or clean(str(path))
    with opened(path, shown) as file:
        data = file.read(max_bytes + 1)
        size = max(os.stat(path).st_size, len(data))
    if len(data) > max_bytes:
        raise DocumentError(
            f"{shown} has {size / 2**20:,.1f} MiB, more than the limit of "
            f"{max_bytes / 2**20:,.1f} MiB: cut it into smaller files."
        )
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise DocumentError(f"{shown} holds many texts: name it on its own.")
    return document_of(read(data, shown), path.stem, corpus, os.path.realpath(path), shown)


@contextmanager
def opened(path: Path, shown: str) -> Iterator[BinaryIO]:
    """The bytes of a regular file with a known ending; failures are DocumentErrors."""
    try:
        mode = _mode(path)
        if stat.S_ISDIR(mode):
            os.listdir(path)
            raise DocumentError(f"{shown} is a folder, not a file: name the files in it.")
        if path.suffix.lower() not in SUFFIXES:
            raise DocumentError(
                f"{shown} is not a {either(SUFFIXES)} file, and no other is supported: "
                "save its text as one of these."
            )
        if not stat.S_ISREG(mode):
            raise DocumentError(f"{shown} is not a regular file: copy its text into one.")
        with open(path, "rb") as file:
            yield file
    except FileNotFoundError:
        raise DocumentError(f"{shown} does not exist: check the path.") from None
    except OSError as error:
        raise DocumentError(
            f"{shown} cannot be opened ({error.strerror or error}): check the path and its "
            "permissions."
        ) from None


def either(names: Sequence[str]) -> str:
    """The names as a sentence lists them: ".md, .pdf or .txt"."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _mode(path: Path) -> int:
    try:
        return os.stat(path).st_mode
    except ValueError as error:  # a NUL in the path
        raise OSError(str(error)) from None
