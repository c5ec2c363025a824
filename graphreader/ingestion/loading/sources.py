"""What a person names as texts becomes sources, and sources give documents.

A source is anything that is read in one go: a file, standard input, a LangChain document. Nothing
is opened before its documents are asked for, and no content makes it raise: what cannot be read is
a `Refused` with one sentence that says how to mend it, and the others are read all the same.

Documents of LangChain, known by their shape: any object with `page_content` and `metadata`.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import Content, Refused, clean, document_of, why_not
from graphreader.ingestion.loading.files import (
    JSON_LINES,
    MAX_BYTES,
    SUFFIXES,
    Patterns,
    either,
    files_in,
    load,
)
from graphreader.ingestion.loading.formats import read_text
from graphreader.ingestion.loading.json_lines import read_json_lines


@runtime_checkable
class LangChainDocument(Protocol):
    """What of a LangChain document is read; its `id` too, where it has one."""

    page_content: str
    metadata: Any


@dataclass(frozen=True, slots=True)
class LangChainSource:
    """A document of LangChain. `source` is where it comes from: see `source_of`."""

    document: LangChainDocument
    source: str

    @property
    def size(self) -> int:
        """Characters, which is nearly as good as bytes."""
        return len(self.document.page_content)

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """It as a document of ours; its title is that of its metadata, else its source."""
        metadata = self.document.metadata
        told: Mapping[Any, Any] = metadata if isinstance(metadata, Mapping) else {}
        title = clean(str(told.get("title") or told.get("source") or self.source))
        try:
            content = Content(self.document.page_content, metadata=told)
            yield document_of(content, title, corpus, self.source)
        except Exception as error:
            source = clean(self.source)
            yield Refused(title, source, why_not(error, source))


def source_of(document: LangChainDocument) -> str:
    """Its id, else the source in its metadata with the page, else a hash of its text."""
    metadata = document.metadata
    told: Mapping[Any, Any] = metadata if isinstance(metadata, Mapping) else {}
    if id_ := getattr(document, "id", None):
        return str(id_)
    if not told.get("source"):
        text = document.page_content.encode("utf-8", "surrogatepass")
        return f"langchain:{sha256(text).hexdigest()[:24]}"
    page = told.get("page")
    return str(told["source"]) + ("" if page is None else f"#page={page}")


__all__ = ["Refused", "Source", "Thing", "sources_of"]

Thing = str | PathLike[str] | LangChainDocument
"""What can be named as a text: a path, "-" for standard input, a document of LangChain."""


class Source(Protocol):
    """Gives documents. `size` is in bytes, 0 where it is not known."""

    @property
    def size(self) -> int:
        """How large it is, told without reading it."""

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """Read it, one document after the other. Blocks; raises nothing for bad content."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file: one document, or many of JSON Lines."""

    path: Path
    size: int

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """Read it."""
        shown = clean(str(self.path))
        try:
            if self.path.suffix.lower() == JSON_LINES:
                yield from read_json_lines(self.path, corpus)
            else:
                yield load(self.path, corpus)
        except Exception as error:  # of any library: one file is no reason to end a whole ingest
            yield Refused(clean(self.path.stem), shown, why_not(error, shown))


@dataclass(frozen=True, slots=True)
class StandardInput:
    """What is piped in; it can be read once."""

    id: str
    size: int = 0

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """Read it to its end as a plain text."""
        title, source = clean(self.id), f"stdin:{self.id}"
        try:
            yield document_of(read_text(self._read(), "The standard input"), title, corpus, source)
        except Exception as error:
            yield Refused(title, clean(source), why_not(error, "The standard input"))

    def _read(self) -> bytes:
        """All of it, unless it is too much or there is none."""
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
class EmptyFolder:
    """A folder in which no file is wanted."""

    path: Path
    size: int = 0

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """Tell so."""
        shown = clean(str(self.path))
        reason = (
            f"{shown} holds no {either(SUFFIXES)} file that is wanted: name a folder that does, "
            "other patterns, or the files themselves."
        )
        yield Refused(clean(self.path.name), shown, reason)


def sources_of(
    things: Sequence[Thing],
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    *,
    id: str | None = None,
) -> list[Source]:
    """The sources of all things in their order: the files of a folder sorted, each file once.

    `include` and `exclude` are patterns for the files in folders (see `Patterns`); what is named
    itself is always taken. "-" is standard input and needs an `id`, which becomes its title too; a
    file of that name is "./-". LangChain documents with the same source are told apart by their
    order: "#2" and so on. Raises DocumentError where "-" and `id` do not come together.
    """
    if ("-" in map(_path, things)) != (id is not None):
        raise DocumentError(
            "Text from standard input needs a name: pass - as the path, and --id NAME with it."
        )
    patterns = Patterns(include, exclude)
    found: dict[str, Source] = {}
    times: Counter[str] = Counter()
    for thing in things:
        path = _path(thing)
        if isinstance(thing, LangChainDocument):
            name = source_of(thing)
            times[name] += 1
            name += f"#{times[name]}" if times[name] > 1 else ""
            found.setdefault(f"\0{name}", LangChainSource(thing, name))
        elif path == "-" and id is not None:
            found.setdefault("-", StandardInput(id))
        else:
            for source in _of_path(Path(path), patterns):
                found.setdefault(_real(source.path), source)
    return list(found.values())


def _path(thing: Thing) -> str:
    """The path that it is, or nothing."""
    return "" if isinstance(thing, LangChainDocument) else os.fspath(thing)


def _of_path(path: Path, patterns: Patterns) -> list[FileSource] | list[EmptyFolder]:
    """The file, or the wanted files in the folder."""
    if not os.path.isdir(path):
        return [FileSource(path, _size(path))]
    files = files_in(path, SUFFIXES, patterns)
    return [FileSource(file, _size(file)) for file in files] or [EmptyFolder(path)]


def _real(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # a NUL in the path, which nobody can have; reading it says so
        return str(path)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0
