"""Sources of text that a user names: files, folders, web pages, stdin, LangChain documents.

No file is opened before its documents are requested, and bad content gives a `Refused`. A line of
JSON Lines is an object with `text`, mostly `title` and `id`; other keys are metadata.
"""

import asyncio
import codecs
import filecmp
import json
import os
import shutil
import sys
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Protocol, TypeVar, cast, runtime_checkable

from graphreader.documents import Document, Place, identity
from graphreader.errors import DocumentError, UsageError
from graphreader.files import bounded_lines, file_source, structural_bytes
from graphreader.ingestion.loading.content import (
    Content,
    Refused,
    clean,
    completed,
    content_of,
    document_of,
    read_as,
    read_text,
    refusal_reason,
)
from graphreader.ingestion.loading.encodings import (
    Decoded,
    encoding_of_start,
    known_encoding,
)
from graphreader.ingestion.loading.folders import files_in
from graphreader.ingestion.loading.formats import JSON_LINES, MAILBOX, MAX_BYTES, load, open_file
from graphreader.ingestion.loading.mail import messages_of
from graphreader.ingestion.loading.ocr import ocr_of
from graphreader.ingestion.loading.parser_process import FileParser, parse
from graphreader.ingestion.loading.web import document_of_page, is_address, load_page, retrieve

PAGES_AT_ONCE = 4


@runtime_checkable
class LangChainDocument(Protocol):
    """The attributes by which a LangChain document is recognized; it may have an `id` too."""

    page_content: str
    metadata: Any


@dataclass(frozen=True, slots=True)
class Source:
    """A file, stream or document that `read` reads at once; messages call it `shown` or `name`.

    `read` gets the name of the corpus, and the parser of files. `retrieved` gives the source of a
    web page with the page in it, so that an event loop need not wait for a thread.
    """

    title: str
    name: str
    read: Callable[[str, FileParser], Iterable[Document | Refused]]
    shown: str = ""
    retrieved: "Callable[[], Awaitable[Source]] | None" = None

    def documents(self, corpus: str, parse: FileParser = parse) -> Iterator[Document | Refused]:
        """Yield the documents one by one. Blocks; bad content gives Refused, not an error."""
        try:
            yield from self.read(corpus, parse)
        except Exception as error:  # of any library: the other sources are still read
            name = clean(self.name)
            yield Refused(clean(self.title), name, refusal_reason(error, self.shown or name))


SourceLike = str | PathLike[str] | LangChainDocument | Source
"""A source as callers give it: a path, an address of a web page ("https://..."), "-" for standard
input, a LangChain document, a Source."""

T = TypeVar("T", bound=SourceLike)


def uploaded(path: Path, name: str, encoding: str = "", ocr: str = "") -> Source:
    """A source for an uploaded file; only its `name` is shown, never its path on this machine.

    `encoding` is that of a text which does not declare one, "" if it is to be recognized; `ocr` as
    of `ocr_of`.
    """
    source = f"upload:{name}"

    def read(corpus: str, parse: FileParser) -> Iterable[Document | Refused]:
        return _documents(path, corpus, source=source, encoding=encoding, ocr=ocr, parse=parse)

    return Source(path.stem, source, read)


def expand_home(sources: Sequence[T]) -> list[T]:
    """Replace `~` in paths by the home folder. Raises UsageError for an empty path."""
    if any(isinstance(one, str) and not one.strip() for one in sources):
        raise UsageError("A path is empty: name a file or a folder, or leave it out.")
    return [
        # Not Path.expanduser, which takes the file `~backup.txt` for the home of an unknown user.
        cast(T, os.path.expanduser(cast(str, one))) if isinstance(one, str | PathLike) else one
        for one in sources
    ]


def sources_of(
    sources: Sequence[SourceLike],
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    *,
    id: str | None = None,
    follow_links: Sequence[str | PathLike[str]] = (),
    encoding: str | None = None,
    allow_private: bool = False,
    ocr: bool | str = False,
    unread: Counter[str] | None = None,
) -> list[Source]:
    """Resolve paths and LangChain documents to sources: a folder's files sorted, each file once.

    A text such as "https://..." is the address of a web page; only with `allow_private` may it lead
    to a machine that is not public. So callers pass no texts of others.

    Patterns and links apply to folders (see `files_in`). "-" is standard input, titled `id`.
    LangChain documents with the same source are numbered. `encoding` is that of texts which do not
    declare one. With `ocr` scans are recognized; a text names the languages for Tesseract.
    `unread` counts the files of unknown formats in folders by their suffixes. Raises
    DocumentError for "-" without `id`.
    """
    encoding = known_encoding(encoding) if encoding is not None else ""
    ocr = ocr_of(ocr)
    if not sources:
        raise UsageError("Name at least one file or folder to read.")
    for one in sources:
        if not isinstance(one, str | PathLike | LangChainDocument | Source):
            raise UsageError(f"{one!r:.80} is neither a path nor a document: give each by itself.")
    sources = expand_home(sources)
    if ("-" in map(_path, sources)) != (id is not None):
        raise DocumentError(
            "Text from standard input needs a name: pass - as the path, and --id NAME with it."
        )
    targets = [os.path.realpath(os.path.expanduser(one)) for one in follow_links]
    resolved: dict[str, Source] = {}  # by path without links, or by name
    paths: dict[str, str] = {}
    times: Counter[str] = Counter()
    for one in sources:
        path = _path(one)
        if isinstance(one, Source):
            resolved.setdefault(f"\0{one.name}", one)
        elif isinstance(one, LangChainDocument):
            name = _langchain_name(one)
            times[name] += 1
            name += f"#{times[name]}" if times[name] > 1 else ""
            resolved.setdefault(f"\0{name}", _langchain(one, name))
        elif path == "-" and id is not None:
            resolved.setdefault("-", _standard_input(id, encoding))
        elif isinstance(one, str) and is_address(one):
            resolved.setdefault(one, _web_page(one, encoding, ocr, allow_private))
        else:
            counts = Counter[str]() if unread is None else unread
            for real, source in _files(path, include, exclude, targets, encoding, ocr, counts):
                name = unicodedata.normalize("NFC", real)  # as in a document's source
                resolved.setdefault(name, source)
                if paths.setdefault(name, real) != real and not _have_same_text(paths[name], real):
                    resolved[real] = _left_out(Path(source.name), _OTHER_FORM)
    return list(resolved.values())


_OTHER_FORM = (
    "has the name of another file there, only with its accents written in another way: rename it."
)


def _have_same_text(path: str, other: str) -> bool:
    try:
        return filecmp.cmp(path, other, shallow=False)
    except OSError:  # refused when it is read
        return False


def _files(
    path: str,
    include: Sequence[str],
    exclude: Sequence[str],
    targets: Sequence[str],
    encoding: str,
    ocr: str,
    unread: Counter[str],
) -> Iterator[tuple[str, Source]]:
    """List a file, or a folder's files and its skipped entries, each with its real path."""
    files, left_out = list[Path](), dict[Path, str]()
    if os.path.isdir(path):
        files, left_out, unknown = files_in(Path(path), include, exclude, targets, ocr)
        unread.update(unknown)
    if not left_out:
        files = files or [Path(path)]  # an empty folder is refused when it is read
    for one in files:
        # A path with a NUL is refused when it is read.
        real = str(one) if "\0" in str(one) else os.path.realpath(one)
        yield real, _file(one, real, encoding, ocr)
    for one, reason in left_out.items():
        yield str(one), _left_out(one, reason)


def _path(source: SourceLike) -> str:
    return os.fspath(source) if isinstance(source, str | PathLike) else ""


def _file(path: Path, real: str, encoding: str, ocr: str) -> Source:
    """A source for a file; `real` was its path without links when the folder was listed."""

    def read(corpus: str, parse: FileParser) -> Iterable[Document | Refused]:
        return _documents(path, corpus, real, encoding=encoding, ocr=ocr, parse=parse)

    return Source(path.stem, str(path), read)


def _web_page(address: str, encoding: str, ocr: str, allow_private: bool) -> Source:
    """A source for a web page, which is retrieved when it is read, if it was not before."""

    def read(corpus: str, parse: FileParser) -> Iterable[Document]:
        load = partial(load_page, encoding=encoding, ocr=ocr, allow_private=allow_private)
        return [load(address, corpus, parse=parse)]

    async def retrieved() -> Source:
        try:
            page = await retrieve(address, allow_private)
        except Exception as error:  # of any library: the other sources are still read
            return _refused(address, address, refusal_reason(error, clean(address)))
        return Source(
            *(address, address),
            lambda corpus, parse: [document_of_page(page, corpus, encoding, ocr, parse)],
        )

    return Source(address, address, read, retrieved=retrieved)


async def retrieved(sources: Iterable[Source]) -> list[Source]:
    """Retrieve the web pages among sources, some at once; a cancellation ends it at once."""
    turns = asyncio.Semaphore(PAGES_AT_ONCE)

    async def one(source: Source) -> Source:
        async with turns:
            return await source.retrieved() if source.retrieved else source

    return list(await asyncio.gather(*map(one, sources)))


def _documents(
    path: Path,
    corpus: str,
    real: str = "",
    source: str = "",
    *,
    encoding: str,
    ocr: str,
    parse: FileParser,
) -> Iterable[Document | Refused]:
    """Read the documents of a file; `real` and `source` are as in `load`."""
    suffix = path.suffix.lower()
    if suffix == JSON_LINES:
        return read_json_lines(path, corpus, real, source, encoding=encoding)
    if suffix == MAILBOX:
        return read_mailbox(path, corpus, real, source, parse=partial(parse, ocr=ocr))
    return [load(path, corpus, real, source, encoding=encoding, ocr=ocr, parse=parse)]


def _left_out(path: Path, reason: str) -> Source:
    """A source for a skipped part of a folder."""
    return _refused(path.stem, str(path), clean(f"{path} {reason}"))


def _refused(title: str, name: str, reason: str) -> Source:
    """A source that cannot be read, which gives a Refused."""

    def read(corpus: str, _: FileParser) -> Iterable[Document]:
        raise DocumentError(reason)

    return Source(title, name, read)


def _standard_input(id_: str, encoding: str) -> Source:
    """A source for standard input, which can be read once."""
    shown, name = "The standard input", f"stdin:{id_}"

    def read(corpus: str, _: FileParser) -> Iterable[Document]:
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise DocumentError(
                f"{shown} has more than the limit of {MAX_BYTES / 2**20:,.0f} MiB: cut it into "
                "smaller parts."
            )
        content = read_as(encoding, read_text, data, shown) if encoding else read_text(data, shown)
        return [document_of(completed(content), clean(id_), corpus, name)]

    return Source(id_, name, read, shown=shown)


def _langchain(document: LangChainDocument, name: str) -> Source:
    """A source for a LangChain document, titled by its metadata's title or source, or its name."""
    metadata = _metadata(document)
    title = clean(str(metadata.get("title") or metadata.get("source") or name))

    def read(corpus: str, _: FileParser) -> Iterable[Document]:
        content = completed(Content(document.page_content, metadata=metadata))
        return [document_of(content, title, corpus, name)]

    return Source(title, name, read)


def _langchain_name(document: LangChainDocument) -> str:
    """The id of a LangChain document, or its metadata's source and page, or a hash of the text."""
    metadata = _metadata(document)
    if id_ := getattr(document, "id", None):
        return str(id_)
    if not metadata.get("source"):
        return f"langchain:{identity(clean(document.page_content))}"
    page = metadata.get("page")
    return str(metadata["source"]) + ("" if page is None else f"#page={page}")


def _metadata(document: LangChainDocument) -> Mapping[Any, Any]:
    return document.metadata if isinstance(document.metadata, Mapping) else {}


def read_json_lines(
    path: Path, corpus: str, real: str = "", source: str = "", *, encoding: str = ""
) -> Iterator[Document | Refused]:
    """Yield the documents of a JSON Lines file, and a Refused for each unusable line.

    A file in another encoding than UTF-8, named or recognized by its beginning, is copied first.
    A document's source is `source`, by default the file, with "#" and id, title or line number; a
    second text of one name has "#2" added, a repeated text is skipped, and so are lines appended
    meanwhile. Raises DocumentError if the file has no lines.
    """
    shown = clean(source or str(path))
    parts = _DocumentsOfFile(path, corpus, shown, source or file_source(path))
    number = 0
    with (
        open_file(path, shown, real) as given,
        _in_utf8(given, encoding) as (file, encoding, is_sure),
    ):
        end = os.fstat(file.fileno()).st_size
        for number, line in bounded_lines(file, MAX_BYTES):
            if file.tell() - len(line) >= end:
                break
            read = partial(_line_content, line, number, encoding, is_sure)
            yield from parts.of(f"line {number}", number, read)
    if not number:
        raise DocumentError(f"{shown} has no text in it: leave it out or fill it.")


def read_mailbox(
    path: Path, corpus: str, real: str = "", source: str = "", *, parse: FileParser = parse
) -> Iterator[Document | Refused]:
    """Yield the messages of a mailbox as documents, and a Refused for each unusable message.

    A document's source is `source`, by default the file, with "#" and the id of the message, or
    its number; repeated messages are as repeated lines in `read_json_lines`. The places of message
    2 are "message 2", and those of its attachments. Raises DocumentError for an empty mailbox.
    """
    shown = clean(source or str(path))
    parts = _DocumentsOfFile(path, corpus, shown, source or file_source(path))
    number = 0
    with open_file(path, shown, real) as file:
        end = os.fstat(file.fileno()).st_size
        for number, data in messages_of(file, MAX_BYTES):
            read = partial(_message_content, data, number, parse)
            yield from parts.of(f"message {number}", number, read)
            if file.tell() >= end + MAX_BYTES:  # it grows as fast as it is read
                break
    if not number:
        raise DocumentError(f"{shown} has no text in it: leave it out or fill it.")


@dataclass(slots=True)
class _DocumentsOfFile:
    """The documents of one file, such as its lines: their sources and titles, repeated texts."""

    path: Path
    corpus: str
    shown: str
    source: str
    _times: Counter[str] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)

    def of(
        self, place: str, number: int, read: Callable[[], tuple[str, Content]]
    ) -> Iterator[Document | Refused]:
        """Yield the document of a part, a Refused if `read` raises, nothing for a repeated one.

        `read` gives the name of the part and its content.
        """
        title = f"{self.path.stem} {number}"
        try:
            name, content = read()
            if (key := identity(clean(name), clean(content.text))) in self._seen:
                return
            self._seen.add(key)
            self._times[name] += 1
            source = f"{self.source}#{name}"
            source += f"#{self._times[name]}" if self._times[name] > 1 else ""
            document: Document | Refused
            document = document_of(completed(content), title, self.corpus, source, "it")
        except Exception as error:  # of any library: the other parts are still read
            reason = f"{self.shown}, {place}: {refusal_reason(error, 'it')}"
            document = Refused(clean(title), f"{self.shown}#{number}", clean(reason))
        yield document


def _message_content(data: bytes, number: int, parse: FileParser) -> tuple[str, Content]:
    if len(data) > MAX_BYTES:
        raise DocumentError(f"it has more than {MAX_BYTES / 2**20:,.0f} MiB.")
    content = parse(".eml", data, "it")
    place = f"message {number}"
    inner = (one._replace(name=f"{place}, {one.name}") for one in content.places)
    name = str(content.metadata.get("message-id", "")).strip("<> ")[:300]
    return name or str(number), replace(content, places=(Place(0, place), *inner))


SAMPLE = 2**20
"""Number of bytes at the beginning of JSON Lines by which their encoding is recognized."""

MAX_STRUCTURE = 2**20
"""Largest number of characters outside of strings in a line: JSON structure takes memory."""


@contextmanager
def _in_utf8(file: BinaryIO, named: str) -> Iterator[tuple[BinaryIO, str, bool]]:
    """The lines of a file in UTF-8, their encoding in the file, and whether it is sure.

    A file in another encoding is copied to a temporary one; invalid bytes become U+FFFD.
    """
    encoding, is_sure = encoding_of_start(file.read(SAMPLE), named)
    file.seek(0)
    if encoding == "utf-8":
        yield file, encoding, is_sure
        return
    with TemporaryFile() as copy:
        shutil.copyfileobj(codecs.EncodedFile(file, "utf-8", encoding, "replace"), copy)
        copy.seek(0)
        yield copy, encoding, is_sure


def _line_content(line: bytes, number: int, encoding: str, is_sure: bool) -> tuple[str, Content]:
    if len(line) > MAX_BYTES:
        raise DocumentError(f"it has more than {MAX_BYTES / 2**20:,.0f} MiB.")
    if structural_bytes(line) > MAX_STRUCTURE:
        raise DocumentError(f"it has more than {MAX_STRUCTURE:,} characters outside its strings.")
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DocumentError(
            "it is not UTF-8: name the encoding of the file, if that is another, by --encoding "
            "NAME."
        ) from None
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
    text = record["text"]
    lost = text.count("\ufffd") if encoding != "utf-8" else 0
    decoded = Decoded(text, encoding, lost, unsure=not is_sure)
    content = content_of(Decoded(text, "utf-8") if text.isascii() else decoded)
    return id_ or title or str(number), replace(content, title=title or id_, metadata=metadata)


def _name(value: Any) -> str:
    """An id or title as a string; empty if the value is neither text nor number."""
    is_name = isinstance(value, (str, int)) and not isinstance(value, bool)
    return str(value).strip()[:300] if is_name else ""
