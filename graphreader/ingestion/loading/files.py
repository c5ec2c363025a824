"""Files become documents: read whole, each by the reader of its format.

What cannot be read as a text is a DocumentError of one sentence that says how to mend it.

Which files a folder gives.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import Content, clean, document_of
from graphreader.ingestion.loading.formats import (
    read_docx,
    read_epub,
    read_html,
    read_markdown,
    read_pdf,
    read_text,
)

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


class Patterns:
    """Which paths in a folder are wanted: those that `include` matches and `exclude` does not.

    A pattern is matched against the path relative to the folder, with "/" between its parts, and
    what matches a folder holds for all that lies in it. `*` and `?` stand for characters of one
    part, `[...]` for one of several, `**` for any number of parts. A pattern without "/" may match
    at any depth, as in .gitignore. Without `include` everything is wanted.
    """

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include = [_compiled(pattern) for pattern in include]
        self._exclude = [_compiled(pattern) for pattern in exclude]

    def want(self, path: str) -> bool:
        """Whether a file of that relative path is wanted."""
        included = not self._include or any(one.fullmatch(path) for one in self._include)
        return included and not self.leave_out(path)

    def leave_out(self, path: str) -> bool:
        """Whether nothing at or below that relative path is wanted."""
        return any(one.fullmatch(path) for one in self._exclude)


def files_in(folder: Path, suffixes: Sequence[str], patterns: Patterns) -> list[Path]:
    """The files in a folder that end in one of `suffixes`, sorted, and folders that are closed.

    All that lies in it is searched, links are followed, each real folder once; hidden files and
    folders are left out. Folders that cannot be opened are given as they are, so that reading them
    says what is wrong.
    """
    return sorted(_walk(folder, tuple(suffixes), patterns))


def _walk(folder: Path, suffixes: tuple[str, ...], patterns: Patterns) -> Iterator[Path]:
    closed: list[Path] = []
    seen: set[str] = set()
    walk = os.walk(folder, onerror=lambda e: closed.append(Path(e.filename)), followlinks=True)
    for root, folders, files in walk:
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        inside = Path(root).relative_to(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not patterns.leave_out((inside / name).as_posix())
        )
        for name in files:
            if name.startswith(".") or not name.lower().endswith(suffixes):
                continue
            if patterns.want((inside / name).as_posix()):
                yield Path(root, name)
    yield from closed


def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern as an expression that matches a whole relative path, or all below it."""
    anchored = "/" in pattern.rstrip("/")
    parts = pattern.strip("/").split("/")
    expression = "" if anchored else "(?:.*/)?"
    for part in parts[:-1]:
        expression += "(?:.*/)?" if part == "**" else _part(part) + "/"
    expression += ".*" if parts[-1] == "**" else _part(parts[-1]) + "(?:/.*)?"
    return re.compile(expression, re.DOTALL)


def _part(pattern: str) -> str:
    """One part of a path: `*`, `?` and `[...]` stand for characters, all others for themselves.

    What follows a `*` is looked for once, where it first stands, but for the last: any other place
    would leave less to the rest. So many of them take no more time than few.
    """
    first, *others = re.sub(r"\*+", "*", pattern).split("*")
    if not others:
        return _signs(first)
    middle = "".join(f"(?>[^/]*?{_signs(one)})" for one in others[:-1])
    return f"{_signs(first)}{middle}[^/]*{_signs(others[-1])}"


def _signs(pattern: str) -> str:
    return "".join(map(_sign, re.findall(r"\[!?\]?[^\]/]+\]|.", pattern, re.DOTALL)))


def _sign(sign: str) -> str:
    if sign == "?":
        return "[^/]"
    if len(sign) == 1:
        return re.escape(sign)
    negated = sign.startswith("[!")
    inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", sign[2 if negated else 1 : -1])
    return f"(?!/)[{'^' if negated else ''}{inside}]"
