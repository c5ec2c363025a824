"""The texts that a person names: files, folders, standard input, LangChain documents.

`sources_of` turns them into sources, and a source gives documents. No file is opened before its
documents are asked for. Bad content never raises: it gives a `Refused` with one sentence, and the
other sources are read all the same.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from graphreader.documents import Document
from graphreader.errors import DocumentError, UsageError
from graphreader.ingestion.loading.content import (
    Content,
    Refused,
    clean,
    document_of,
    read_text,
    refusal_reason,
)
from graphreader.ingestion.loading.formats import (
    JSON_LINES,
    MAX_BYTES,
    SUFFIXES,
    load,
)
from graphreader.ingestion.loading.json_lines import read_json_lines


@runtime_checkable
class LangChainDocument(Protocol):
    """A LangChain document, recognized by its attributes; it may have an `id` too."""

    page_content: str
    metadata: Any


Thing = str | PathLike[str] | LangChainDocument
"""What can be named as a text: a path, "-" for standard input, a LangChain document."""

T = TypeVar("T", bound=Thing)


class Source(Protocol):
    """Something that is read in one go. `size` is in bytes, 0 where it is not known."""

    @property
    def size(self) -> int:
        """The size, known without reading."""

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """Read the documents one after the other. Blocks; raises nothing for bad content."""


def expand_home(things: Sequence[T]) -> list[T]:
    """The same things, with the person's home folder for `~` in paths.

    Raises UsageError for an empty path, which would mean the working folder.
    """
    if any(isinstance(one, str) and not one.strip() for one in things):
        raise UsageError("A path is empty: name a file or a folder, or leave it out.")
    return [
        # Not Path.expanduser, which takes the file `~backup.txt` for the home of an unknown user.
        cast(T, os.path.expanduser(cast(str, one))) if isinstance(one, str | PathLike) else one
        for one in things
    ]


def sources_of(
    things: Sequence[Thing],
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    *,
    id: str | None = None,
) -> list[Source]:
    """The sources of all things in order: the files of a folder sorted, each file once.

    `include` and `exclude` are patterns for the files in folders (see `Patterns`); a file that is
    named itself is always read. "-" is standard input and needs an `id`, which becomes its title; a
    file of that name is "./-". LangChain documents with the same source are numbered in order:
    "#2" and so on. Raises DocumentError where only one of "-" and `id` is given.
    """
    if ("-" in map(_path, things)) != (id is not None):
        raise DocumentError(
            "Text from standard input needs a name: pass - as the path, and --id NAME with it."
        )
    patterns = Patterns(include, exclude)
    sources: dict[str, Source] = {}
    times: Counter[str] = Counter()
    for thing in things:
        path = _path(thing)
        if isinstance(thing, LangChainDocument):
            name = langchain_source(thing)
            times[name] += 1
            name += f"#{times[name]}" if times[name] > 1 else ""
            sources.setdefault(f"\0{name}", LangChainSource(thing, name))
        elif path == "-" and id is not None:
            sources.setdefault("-", StandardInput(id))
        else:
            files = files_in(Path(path), SUFFIXES, patterns) if os.path.isdir(path) else []
            for one in files or [Path(path)]:  # reading a folder without files is refused
                sources.setdefault(_real_path(one), FileSource(one, _size(one)))
    return list(sources.values())


def _path(thing: Thing) -> str:
    """The path of a thing; empty for a LangChain document."""
    return "" if isinstance(thing, LangChainDocument) else os.fspath(thing)


def _real_path(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # a NUL in the path; reading it gives the refusal
        return str(path)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file: one document, or many of JSON Lines."""

    path: Path
    size: int

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """Read the file."""
        shown = clean(str(self.path))
        try:
            if self.path.suffix.lower() == JSON_LINES:
                yield from read_json_lines(self.path, corpus)
            else:
                yield load(self.path, corpus)
        except Exception as error:  # of any library: the other files are read all the same
            yield Refused(clean(self.path.stem), shown, refusal_reason(error, shown))


@dataclass(frozen=True, slots=True)
class StandardInput:
    """Text that is piped in; it can be read once."""

    id: str
    size: int = 0

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """Read it to its end as plain text."""
        title, source, shown = clean(self.id), f"stdin:{self.id}", "The standard input"
        try:
            yield document_of(read_text(self._read(), shown), title, corpus, source)
        except Exception as error:
            yield Refused(title, clean(source), refusal_reason(error, shown))

    def _read(self) -> bytes:
        """All bytes. Raises DocumentError where they are too many or cannot be read."""
        stream = getattr(sys.stdin, "buffer", None)
        try:
            data: bytes = stream.read(MAX_BYTES + 1) if stream else b""
        except (OSError, ValueError) as error:
            raise DocumentError(f"The standard input cannot be read ({error}).") from None
        if len(data) > MAX_BYTES:
            raise DocumentError(
                f"The standard input has more than the limit of {MAX_BYTES / 2**20:,.1f} MiB: "
                "cut it into smaller parts."
            )
        return data


@dataclass(frozen=True, slots=True)
class LangChainSource:
    """A LangChain document; see `langchain_source` for its `source`."""

    document: LangChainDocument
    source: str

    @property
    def size(self) -> int:
        """Characters, about as good as bytes."""
        return len(self.document.page_content)

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """The document, titled by its metadata's title, else source, else its own source."""
        metadata = _metadata(self.document)
        title = clean(str(metadata.get("title") or metadata.get("source") or self.source))
        try:
            content = Content(self.document.page_content, metadata=metadata)
            yield document_of(content, title, corpus, self.source)
        except Exception as error:
            source = clean(self.source)
            yield Refused(title, source, refusal_reason(error, source))


def langchain_source(document: LangChainDocument) -> str:
    """The id of a LangChain document, else its metadata's source and page, else a text hash."""
    metadata = _metadata(document)
    if id_ := getattr(document, "id", None):
        return str(id_)
    if not metadata.get("source"):
        text = document.page_content.encode("utf-8", "surrogatepass")
        return f"langchain:{sha256(text).hexdigest()[:24]}"
    page = metadata.get("page")
    return str(metadata["source"]) + ("" if page is None else f"#page={page}")


def _metadata(document: LangChainDocument) -> Mapping[Any, Any]:
    return document.metadata if isinstance(document.metadata, Mapping) else {}


class Patterns:
    """Selects paths in a folder: those that `include` matches and `exclude` does not.

    A pattern is matched against the path relative to the folder, with "/" between its parts; one
    that matches a folder holds for everything in it. `*` and `?` stand for characters of one part,
    `[...]` for one of several, `**` for any number of parts. A pattern without "/" matches at any
    depth, as in .gitignore. Without `include` everything is included.
    """

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include = [_pattern_parts(pattern) for pattern in include]
        self._exclude = [_pattern_parts(pattern) for pattern in exclude]

    def includes(self, path: str) -> bool:
        """Whether a file of that relative path is selected."""
        parts = path.split("/")
        included = not self._include or any(_matches(one, parts) for one in self._include)
        return included and not self.excludes(path)

    def excludes(self, path: str) -> bool:
        """Whether nothing at or below that relative path is selected."""
        return any(_matches(one, path.split("/")) for one in self._exclude)


def _pattern_parts(pattern: str) -> list[str]:
    parts = pattern.strip("/").split("/")
    return parts if "/" in pattern.rstrip("/") else ["**", *parts]


def _matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a pattern matches a path or a folder above it, both as their parts."""
    if not pattern or not path:
        return not pattern
    if pattern[0] == "**":
        rest = pattern[1:]
        return not rest or any(_matches(rest, path[at:]) for at in range(len(path)))
    return fnmatchcase(path[0], pattern[0]) and _matches(pattern[1:], path[1:])


def files_in(folder: Path, suffixes: Sequence[str], patterns: Patterns) -> list[Path]:
    """The files below a folder that end in one of `suffixes`, sorted.

    Links are followed, each real folder is searched once, hidden files and folders are left out.
    A folder that cannot be opened is listed itself, so that reading it gives the error.
    """
    files: list[Path] = []
    seen: set[str] = set()
    walk = os.walk(folder, onerror=lambda e: files.append(Path(e.filename)), followlinks=True)
    for root, folders, names in walk:
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        relative = Path(root).relative_to(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not patterns.excludes((relative / name).as_posix())
        )
        files += (
            Path(root, name)
            for name in names
            if not name.startswith(".")
            and name.lower().endswith(tuple(suffixes))
            and patterns.includes((relative / name).as_posix())
        )
    return sorted(files)
