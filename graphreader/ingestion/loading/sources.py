"""The texts that a person names: files, folders, standard input, LangChain documents.

No file is opened before its documents are asked for, and bad content gives a `Refused`. A line of
JSON Lines is an object with `text`, mostly `title` and `id`; other keys are metadata.
"""

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from graphreader.documents import Document, identity
from graphreader.errors import DocumentError, UsageError
from graphreader.files import bounded_lines, file_source, structure_of
from graphreader.ingestion.loading.content import (
    Content,
    Refused,
    clean,
    document_of,
    read_text,
    refusal_reason,
)
from graphreader.ingestion.loading.formats import JSON_LINES, MAX_BYTES, SUFFIXES, load, open_file


@runtime_checkable
class LangChainDocument(Protocol):
    """A LangChain document, recognized by its attributes; it may have an `id` too."""

    page_content: str
    metadata: Any


@dataclass(frozen=True, slots=True)
class Source:
    """Something that is read in one go, by `read`; messages call it `shown`, or by its name."""

    title: str
    name: str
    read: Callable[[str], Iterable[Document | Refused]]
    shown: str = ""

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """Read the documents one after the other. Blocks; raises nothing for bad content."""
        try:
            yield from self.read(corpus)
        except Exception as error:  # of any library: the other sources are read all the same
            name = clean(self.name)
            yield Refused(clean(self.title), name, refusal_reason(error, self.shown or name))


Thing = str | PathLike[str] | LangChainDocument | Source
"""A source of text: a path, "-" for standard input, a LangChain document."""

T = TypeVar("T", bound=Thing)


def uploaded(path: Path, name: str) -> Source:
    """A file that was sent under a name; its place on this machine is told nowhere."""
    source = f"upload:{name}"

    def read(corpus: str) -> Iterable[Document | Refused]:
        if path.suffix.lower() == JSON_LINES:
            return read_json_lines(path, corpus, source=source)
        return [load(path, corpus, source=source)]

    return Source(path.stem, source, read)


def expand_home(things: Sequence[T]) -> list[T]:
    """The things with the home folder for `~` in paths. Raises UsageError for an empty path."""
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
    follow_links: Sequence[str | PathLike[str]] = (),
) -> list[Source]:
    """The sources of all things in order: the files of a folder sorted, each file once.

    Patterns and links are those in folders (see `files_in`). "-" is standard input, titled `id`.
    LangChain documents with the same source are numbered. Raises DocumentError without that id.
    """
    if not things:
        raise UsageError("Name at least one file or folder to read.")
    for one in things:
        if not isinstance(one, str | PathLike | LangChainDocument | Source):
            raise UsageError(f"{one!r:.80} is neither a path nor a document: give each by itself.")
    things = expand_home(things)
    if ("-" in map(_path, things)) != (id is not None):
        raise DocumentError(
            "Text from standard input needs a name: pass - as the path, and --id NAME with it."
        )
    targets = [os.path.realpath(os.path.expanduser(one)) for one in follow_links]
    sources: dict[str, Source] = {}
    times: Counter[str] = Counter()
    for thing in things:
        path = _path(thing)
        if isinstance(thing, Source):
            sources.setdefault(f"\0{thing.name}", thing)
        elif isinstance(thing, LangChainDocument):
            name = _langchain_name(thing)
            times[name] += 1
            name += f"#{times[name]}" if times[name] > 1 else ""
            sources.setdefault(f"\0{name}", _langchain(thing, name))
        elif path == "-" and id is not None:
            sources.setdefault("-", _standard_input(id))
        else:
            for real, source in _files(path, include, exclude, targets):
                sources.setdefault(real, source)
    return list(sources.values())


def _files(
    path: str, include: Sequence[str], exclude: Sequence[str], targets: Sequence[str]
) -> Iterator[tuple[str, Source]]:
    """A file, or those of a folder and what is left out there, each with its real path."""
    files, left_out = list[Path](), dict[Path, str]()
    if os.path.isdir(path):
        files, left_out = files_in(Path(path), include, exclude, targets)
    if not left_out:
        files = files or [Path(path)]  # reading a folder without files is refused
    for one in files:
        # A NUL, which no path can have, is refused by reading it.
        real = str(one) if "\0" in str(one) else os.path.realpath(one)
        yield real, _file(one, real)
    for one, reason in left_out.items():
        yield str(one), _left_out(one, reason)


def _path(thing: Thing) -> str:
    return os.fspath(thing) if isinstance(thing, str | PathLike) else ""


def _file(path: Path, real: str) -> Source:
    """A file whose path, with links resolved, was `real` when its folder was walked."""

    def read(corpus: str) -> Iterable[Document | Refused]:
        if path.suffix.lower() == JSON_LINES:
            return read_json_lines(path, corpus, real)
        return [load(path, corpus, real)]

    return Source(path.stem, str(path), read)


def _left_out(path: Path, reason: str) -> Source:
    """A part of a folder that is not read."""

    def read(corpus: str) -> Iterable[Document]:
        raise DocumentError(clean(f"{path} {reason}"))

    return Source(path.stem, str(path), read)


def _standard_input(id_: str) -> Source:
    """Text that is piped in; it can be read once."""
    shown, name = "The standard input", f"stdin:{id_}"

    def read(corpus: str) -> Iterable[Document]:
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise DocumentError(
                f"{shown} has more than the limit of {MAX_BYTES / 2**20:,.0f} MiB: cut it into "
                "smaller parts."
            )
        return [document_of(read_text(data, shown), clean(id_), corpus, name)]

    return Source(id_, name, read, shown=shown)


def _langchain(document: LangChainDocument, name: str) -> Source:
    """A LangChain document, titled by its metadata's title, else source, else its own source."""
    metadata = _metadata(document)
    title = clean(str(metadata.get("title") or metadata.get("source") or name))

    def read(corpus: str) -> Iterable[Document]:
        content = Content(document.page_content, metadata=metadata)
        return [document_of(content, title, corpus, name)]

    return Source(title, name, read)


def _langchain_name(document: LangChainDocument) -> str:
    """The id of a LangChain document, else its metadata's source and page, else a text hash."""
    metadata = _metadata(document)
    if id_ := getattr(document, "id", None):
        return str(id_)
    if not metadata.get("source"):
        return f"langchain:{identity(clean(document.page_content))}"
    page = metadata.get("page")
    return str(metadata["source"]) + ("" if page is None else f"#page={page}")


def _metadata(document: LangChainDocument) -> Mapping[Any, Any]:
    return document.metadata if isinstance(document.metadata, Mapping) else {}


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


MAX_DEPTH = 100
"""Folders in each other that are read; Python walks 1,000 at most."""


def files_in(
    folder: Path, include: Sequence[str], exclude: Sequence[str], targets: Sequence[str] = ()
) -> tuple[list[Path], dict[Path, str]]:
    """The files of known formats below a folder that `include` matches and `exclude` does not.

    With them what is left out, and why: links out of the folder, except those into `targets`, and
    folders below MAX_DEPTH others. Sorted; hidden files are left out; a folder that cannot be
    opened is listed.
    Patterns match the path in the folder as in .gitignore: `*` and `?` in one part, `**` any
    parts; without "/" at any depth. One that matches a folder holds for all in it.
    """
    included = [_pattern_parts(pattern) for pattern in include or ["**"]]
    excluded = [_pattern_parts(pattern) for pattern in exclude]
    files: list[Path] = []
    left_out: dict[Path, str] = {}
    seen: set[str] = set()
    top = os.path.realpath(folder)

    def is_excluded(path: Path) -> bool:
        parts = path.relative_to(folder).parts
        return path.name.startswith(".") or any(_matches(one, parts) for one in excluded)

    def is_included(path: Path) -> bool:
        parts = path.relative_to(folder).parts
        is_known = path.name.lower().endswith(SUFFIXES)
        return is_known and any(_matches(one, parts) for one in included)

    def is_followed(path: Path) -> bool:
        """Whether it is no link or one to follow. A link in the folder doubles what is read."""
        real = os.path.realpath(path)
        if not path.is_symlink() or any(_is_in(real, target) for target in targets):
            return True
        if not _is_in(real, top):
            left_out[path] = (
                "is a link out of the folder: to follow it, name its target with --follow-links "
                f"{shlex.quote(real)}."
            )
        return False

    walk = os.walk(folder, onerror=lambda e: files.append(Path(e.filename)), followlinks=True)
    for root, folders, names in walk:
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        if len(Path(root).parts) - len(folder.parts) > MAX_DEPTH:
            left_out[Path(root)] = f"lies more than {MAX_DEPTH} folders deep: name it by itself."
            folders.clear()
            continue
        folders[:] = sorted(
            name
            for name in folders
            if not is_excluded(Path(root, name)) and is_followed(Path(root, name))
        )
        paths = [Path(root, name) for name in names]
        wanted = [path for path in paths if is_included(path) and not is_excluded(path)]
        files += [path for path in wanted if is_followed(path)]
    return sorted(files), dict(sorted(left_out.items()))


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def read_json_lines(
    path: Path, corpus: str, real: str = "", source: str = ""
) -> Iterator[Document | Refused]:
    """The documents of a file, and a refusal for each line that gives none.

    The source is `source`, by default the file, with "#" and id, title or line number. Of a second
    text of a name "#2"; the same text is left out, and so are lines that are appended meanwhile.
    Raises DocumentError where the file has no lines.
    """
    shown = clean(source or str(path))
    first = source or file_source(path)
    times: Counter[str] = Counter()
    seen: set[str] = set()
    number = 0
    with open_file(path, shown, real) as file:
        end = os.fstat(file.fileno()).st_size
        for number, line in bounded_lines(file, MAX_BYTES):
            if file.tell() - len(line) >= end:
                break
            try:
                name, content = _line_content(line, number)
                if (key := identity(clean(name), clean(content.text))) in seen:
                    continue
                seen.add(key)
                times[name] += 1
                source = f"{first}#{name}"
                source += f"#{times[name]}" if times[name] > 1 else ""
                document: Document | Refused
                document = document_of(content, f"{path.stem} {number}", corpus, source, "it")
            except Exception as error:  # of any library: the other lines are read all the same
                reason = f"{shown}, line {number}: {refusal_reason(error, 'it')}"
                title = f"{clean(path.stem)} {number}"
                document = Refused(title, f"{shown}#{number}", clean(reason))
            yield document
    if not number:
        raise DocumentError(f"{shown} has no text in it: leave it out or fill it.")


MAX_STRUCTURE = 2**20
"""Characters of a line outside its strings."""


def _line_content(line: bytes, number: int) -> tuple[str, Content]:
    if len(line) > MAX_BYTES:
        raise DocumentError(f"it has more than {MAX_BYTES / 2**20:,.0f} MiB.")
    if structure_of(line) > MAX_STRUCTURE:
        raise DocumentError(f"it has more than {MAX_STRUCTURE:,} characters beside its strings.")
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DocumentError("it is not UTF-8.") from None
    except ValueError:
        raise DocumentError("it is no JSON.") from None
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise DocumentError("it is no object with a `text`.")
    id_, title = (_name(record.get(key)) for key in ("id", "title"))
    metadata = {key: one for key, one in record.items() if key not in ("text", "title", "id")}
    inner = metadata.get("metadata")
    if isinstance(inner, dict):
        del metadata["metadata"]
        metadata |= inner
    return id_ or title or str(number), Content(record["text"], title or id_, metadata)


def _name(value: Any) -> str:
    """An id or a title as a string; empty where the value is neither text nor number."""
    is_name = isinstance(value, (str, int)) and not isinstance(value, bool)
    return str(value).strip()[:300] if is_name else ""
