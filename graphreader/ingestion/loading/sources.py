"""The texts that a person names: files, folders, standard input, LangChain documents.

`sources_of` turns them into sources, and a source gives documents. No file is opened before its
documents are asked for. Bad content never raises: it gives a `Refused` with one sentence, and the
other sources are read all the same.

JSON Lines are read line by line. A line is an object with `text`, mostly with `title` and `id`; all
other keys are metadata. A line of a question set has `documents` instead, each with a `title` and
`text` or `text_file`.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from graphreader.documents import Document
from graphreader.errors import DocumentError, UsageError
from graphreader.files import bounded_lines
from graphreader.ingestion.loading.content import (
    Content,
    Refused,
    clean,
    document_of,
    is_blank,
    read_text,
    refusal_reason,
)
from graphreader.ingestion.loading.formats import (
    JSON_LINES,
    MAX_BYTES,
    SUFFIXES,
    load,
    open_file,
)


@runtime_checkable
class LangChainDocument(Protocol):
    """A LangChain document, recognized by its attributes; it may have an `id` too."""

    page_content: str
    metadata: Any


Thing = str | PathLike[str] | LangChainDocument
"""A source of text: a path, "-" for standard input, a LangChain document."""

T = TypeVar("T", bound=Thing)


@dataclass(frozen=True, slots=True)
class Source:
    """Something that is read in one go.

    `read` gives its documents for a corpus. `size` is in bytes, as far as it is known without
    reading. Where it cannot be read, the refusal has the `title` and `name`, and its reason calls
    the source `shown`, else by its name.
    """

    title: str
    name: str
    read: Callable[[str], Iterable[Document | Refused]]
    size: int = 0
    shown: str = ""

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """Read the documents one after the other. Blocks; raises nothing for bad content."""
        try:
            yield from self.read(corpus)
        except Exception as error:  # of any library: the other sources are read all the same
            name = clean(self.name)
            yield Refused(clean(self.title), name, refusal_reason(error, self.shown or name))


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
            name = _langchain_name(thing)
            times[name] += 1
            name += f"#{times[name]}" if times[name] > 1 else ""
            sources.setdefault(f"\0{name}", _langchain(thing, name))
        elif path == "-" and id is not None:
            sources.setdefault("-", _standard_input(id))
        else:
            files = files_in(Path(path), SUFFIXES, patterns) if os.path.isdir(path) else []
            for one in files or [Path(path)]:  # reading a folder without files is refused
                sources.setdefault(_real_path(one), _file(one))
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


def _file(path: Path) -> Source:
    """A file: one document, or many of JSON Lines."""

    def read(corpus: str) -> Iterable[Document | Refused]:
        if path.suffix.lower() == JSON_LINES:
            return read_json_lines(path, corpus)
        return [load(path, corpus)]

    return Source(path.stem, str(path), read, _size(path))


def _standard_input(id_: str) -> Source:
    """Text that is piped in; it can be read once."""
    shown, name = "The standard input", f"stdin:{id_}"

    def read(corpus: str) -> Iterable[Document]:
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
        return [document_of(read_text(data, shown), clean(id_), corpus, name)]

    return Source(id_, name, read, shown=shown)


def _langchain(document: LangChainDocument, name: str) -> Source:
    """A LangChain document, titled by its metadata's title, else source, else its own source."""
    metadata = _metadata(document)
    title = clean(str(metadata.get("title") or metadata.get("source") or name))

    def read(corpus: str) -> Iterable[Document]:
        content = Content(document.page_content, metadata=metadata)
        return [document_of(content, title, corpus, name)]

    return Source(title, name, read, len(document.page_content or ""))


def _langchain_name(document: LangChainDocument) -> str:
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


def read_json_lines(path: Path, corpus: str) -> Iterator[Document | Refused]:
    """The documents of a file, each once, and a refusal for each line that gives none.

    The source of a document is the file with "#" and its id, else its title, else its line number.
    A second text of the same name has "#2" appended, and so on. A `text_file` is looked up in the
    folder of the file and is its own source. Raises DocumentError where the file has no lines.
    """
    reader = _LineReader(path, corpus)
    shown = clean(str(path))
    is_empty = True
    with open_file(path, shown) as file:
        for number, line in bounded_lines(file, MAX_BYTES):
            is_empty = False
            yield from reader.documents(number, line)
    if is_empty:
        raise DocumentError(f"{shown} has no text in it: leave it out or fill it.")


class _LineReader:
    """Turns lines into documents and leaves out those that came before."""

    def __init__(self, path: Path, corpus: str) -> None:
        self._path = path
        self._corpus = corpus
        self._source = os.path.realpath(path)
        self._digests: set[bytes] = set()
        self._names: Counter[str] = Counter()

    def documents(self, number: int, line: bytes) -> Iterator[Document | Refused]:
        """The documents of one line."""
        try:
            record = _json_object(line)
            listed = record.get("documents")
            if "text" in record or listed is None:
                yield from self._line_document(record, number)
                return
            if not isinstance(listed, list):
                raise DocumentError("`documents` is no list")
        except Exception as error:  # of any library: the other lines are read all the same
            yield self._refused(number, "", error)
            return
        for index, one in enumerate(listed):
            try:
                yield from self._listed_document(one)
            except Exception as error:
                yield self._refused(number, f", document {index}", error)

    def _line_document(self, record: Mapping[str, Any], number: int) -> Iterator[Document]:
        """The document that the line itself is."""
        text = _text(record)
        rest = {key: one for key, one in record.items() if key not in ("text", "title", "id")}
        inner = rest.pop("metadata", {})
        metadata = {**rest, **inner} if isinstance(inner, dict) else {**rest, "metadata": inner}
        id_, title = _name(record.get("id")), _name(record.get("title"))
        shown_title = title or id_ or f"{self._path.stem} {number}"
        yield from self._if_new(Content(text, shown_title, metadata), id_ or title or str(number))

    def _listed_document(self, record: Any) -> Iterator[Document]:
        """A document in the `documents` of a line."""
        if not isinstance(record, dict):
            raise DocumentError("it is no object")
        title = _name(record.get("title"))
        if "text" in record:
            text = _text(record)
            name = title or sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            yield from self._if_new(Content(text, name), name)
            return
        text_file = record.get("text_file")
        if not text_file or not isinstance(text_file, str):
            raise DocumentError("it has neither `text` nor `text_file`")
        path = self._resolve(text_file)
        if self._is_new(os.fsencode(path)):
            document = load(path, self._corpus, shown=clean(text_file))
            yield replace(document, title=title or document.title)

    def _if_new(self, content: Content, name: str) -> Iterator[Document]:
        """The document of a text, unless the same one came before."""
        if self._is_new(f"{name}\0{content.text}".encode("utf-8", "surrogatepass")):
            self._names[name] += 1
            times = self._names[name]
            source = f"{self._source}#{name}" + (f"#{times}" if times > 1 else "")
            yield document_of(content, content.title, self._corpus, source)

    def _is_new(self, identity: bytes) -> bool:
        digest = sha256(identity).digest()[:16]
        if digest in self._digests:
            return False
        self._digests.add(digest)
        return True

    def _resolve(self, name: str) -> Path:
        """The path of a `text_file`; files outside the folder of the question set are refused."""
        folder = os.path.dirname(self._source)
        file = os.path.realpath(os.path.join(folder, clean(name)))
        if os.path.commonpath([folder, file]) != folder:
            raise DocumentError(f"its `text_file` {name} lies outside of the folder of the file")
        return Path(file)

    def _refused(self, number: int, where: str, error: Exception) -> Refused:
        shown = clean(str(self._path))
        reason = clean(refusal_reason(error, "it"))
        reason += "" if reason[-1] in ".?" else "."
        return Refused(
            f"{clean(self._path.stem)} {number}",
            f"{shown}#{number}",
            f"{shown}, line {number}{where}: {reason}",
        )


def _json_object(line: bytes) -> dict[str, Any]:
    """Parse a line. Raises DocumentError."""
    if len(line) > MAX_BYTES:
        raise DocumentError(f"it has more than {MAX_BYTES / 2**20:,.0f} MiB")
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DocumentError("it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"it is no JSON ({error})") from None
    if not isinstance(record, dict):
        raise DocumentError("it is no object")
    return record


def _text(record: Mapping[str, Any]) -> str:
    """The text of a record. Raises DocumentError where it has none."""
    text = record.get("text")
    if not isinstance(text, str):
        raise DocumentError("it has no `text`")
    if is_blank(text):
        raise DocumentError("its `text` is empty")
    return text


def _name(value: Any) -> str:
    """An id or a title as a string; empty where the value is neither text nor number."""
    is_name = isinstance(value, (str, int)) and not isinstance(value, bool)
    return str(value).strip()[:300] if is_name else ""
