"""The text and metadata of a source in any format, and the document made from them."""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time
from functools import partial
from hashlib import sha256
from importlib import import_module
from itertools import islice
from typing import Any

from graphreader.documents import Document, Heading, Place, Skipped, identity, without_controls
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.encodings import BinaryDataError, Decoded, decode, decode_as
from graphreader.ingestion.loading.legibility import doubts_about
from graphreader.scope import tags_of
from graphreader.text.dates import date_of
from graphreader.text.headings import headings_of
from graphreader.text.sentences import language_of

MAX_CHARACTERS = 20_000  # characters of a document's metadata as JSON
MAX_TITLE, MAX_SOURCE = 300, 8_000
"""Largest title and source in characters; Neo4j indexes no value above about 32 kB."""
MAX_HEADINGS = 5_000
SUFFIXES = {
    "application/epub+zip": ".epub",
    "application/json": ".json",
    "application/msword": ".doc",
    "application/pdf": ".pdf",
    "application/rtf": ".rtf",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/x-ipynb+json": ".ipynb",
    "application/x-pdf": ".pdf",
    "application/xhtml+xml": ".xhtml",
    "message/rfc822": ".eml",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "text/rtf": ".rtf",
    "text/tab-separated-values": ".tsv",
    "text/vtt": ".vtt",
}
"""The suffixes of the formats of media types, of web pages and of parts of mails."""


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a source with its metadata; positions count characters, `title` may be empty.

    `headings` are the ones that its format marks, `places` its pages, slides or rows. `encoding` is
    empty for UTF-8 and for formats that have none; `notes` are sentences for the user about the
    reading.
    """

    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    headings: tuple[Heading, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    encoding: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A source that gives no document; `reason` is one sentence with the remedy."""

    title: str
    source: str
    reason: str


def completed(content: Content) -> Content:
    """Return a content as documents have it, with the headings that its text shows by their form.

    Byte order marks are left out; NULs and lone surrogates become U+FFFD; metadata beyond
    MAX_CHARACTERS and headings beyond MAX_HEADINGS are `skipped`, headings and names of places are
    cut at MAX_TITLE. A note says where the text looks as if it was read wrongly.
    """
    content = _without_marks(content)
    text = clean(content.text)
    metadata, left_out = plain(content.metadata)
    headings = list(islice(headings_of(text, content.headings), MAX_HEADINGS + 1))
    if len(headings) > MAX_HEADINGS:
        left_out += (Skipped("headings", f"a document has at most {MAX_HEADINGS:,}"),)
    return replace(
        content,
        text=text,
        title=clean(content.title),
        metadata=metadata,
        notes=(*content.notes, *doubts_about(text)),
        places=tuple(one._replace(name=_in_one_line(one.name)) for one in content.places),
        headings=tuple(
            one._replace(title=clean(one.title)[:MAX_TITLE]) for one in headings[:MAX_HEADINGS]
        ),
        skipped=(*content.skipped, *left_out),
    )


def _in_one_line(text: str) -> str:
    return " ".join(without_controls(clean(text)).split())[:MAX_TITLE]


def document_of(
    content: Content, title: str, corpus: str, source: str, shown: str = ""
) -> Document:
    """Make a document from a completed content; `title` is used where the content has no title.

    The title is cut at MAX_TITLE. Raises DocumentError, which names the source as `shown`, for a
    text of white space only.
    """
    text, source = content.text, clean(source)
    if len(source) > MAX_SOURCE:
        raise DocumentError(
            f"{clean(shown or source)[:100]}… has a name of more than {MAX_SOURCE:,} characters: "
            "give it a shorter one."
        )
    if is_blank(text):
        raise DocumentError(f"{shown or source} has no text in it: leave it out or fill it.")
    return Document(
        corpus=corpus,
        id=identity(clean(corpus), source),
        title=_in_one_line(content.title or title),
        source=source,
        text=text,
        sha256=sha256(text.encode()).hexdigest(),
        language=language_of(text),
        metadata=content.metadata,
        places=content.places,
        headings=content.headings,
        skipped=content.skipped,
        encoding=content.encoding,
        notes=content.notes,
        tags=tags_of(content.metadata),
        date=date_of(content.metadata),
    )


def _without_marks(content: Content) -> Content:
    """Leave out U+FEFF, which is invisible and parts words, and move the positions behind it."""
    marks = [one.start() for one in re.finditer("\ufeff", content.text)]
    if not marks:
        return content
    return replace(
        content,
        text=content.text.replace("\ufeff", ""),
        places=tuple(
            one._replace(start=one.start - bisect_left(marks, one.start)) for one in content.places
        ),
        headings=tuple(
            one._replace(start=one.start - bisect_left(marks, one.start))
            for one in content.headings
        ),
    )


def from_text(text: str, title: str, corpus: str, source: str) -> Document:
    """Make a document from a text in memory. Raises DocumentError for white space only."""
    return document_of(completed(Content(text)), title, corpus, source)


def read_text(data: bytes, shown: str, declared: str = "") -> Content:
    """Decode plain text, without byte order marks and control sequences of terminals.

    The `declared` encoding is used where the text is not UTF-8. Invalid bytes become U+FFFD and are
    counted in `skipped`; a note says that an encoding is a mere guess. Raises DocumentError for
    binary data.
    """
    return _content(partial(decode, declared=declared), data, shown)


def read_as(
    encoding: str, read: Callable[[bytes, str], Content], data: bytes, shown: str
) -> Content:
    """Read a text in the encoding that its owner names by `read`, which takes UTF-8.

    Raises DocumentError for binary data.
    """
    named = _content(partial(decode_as, encoding=encoding), data, shown)
    content = read(named.text.encode("utf-8", "replace"), shown)
    return replace(
        content,
        encoding=named.encoding,
        skipped=(*named.skipped, *content.skipped),
        notes=(*named.notes, *content.notes),
    )


_TERMINAL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colors and movements
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # titles of windows, links
    r"|_\x08(?=\S)|(\S)\x08(?=\1)"  # letters that are overstruck, for bold and underlined type
)


def _content(decode: Callable[[bytes], Decoded], data: bytes, shown: str) -> Content:
    try:
        decoded = decode(data)
    except BinaryDataError:
        raise DocumentError(
            f"{shown} is binary, not a text: leave it out, or save its text."
        ) from None
    text = decoded.text
    if "\x1b" in text or "\b" in text:
        text = _TERMINAL.sub("", text)
    return content_of(replace(decoded, text=text.replace("\r\n", "\n").replace("\r", "\n")))


def content_of(decoded: Decoded) -> Content:
    """Make a content of a decoded text, with notes about invalid bytes and an unsure encoding."""
    encoding = decoded.encoding
    lost = f"{decoded.lost:,} character{'s' * (decoded.lost > 1)}"
    reason = f"invalid in {encoding}, became U+FFFD: another encoding is set by --encoding NAME"
    note = (
        f"Its encoding is taken for {encoding}, which is unsure: if letters are wrong, read it "
        "again with --encoding NAME."
    )
    return Content(
        decoded.text,
        skipped=(Skipped(lost, reason),) if decoded.lost else (),
        encoding="" if encoding == "utf-8" else encoding,
        notes=(note,) if decoded.unsure else (),
    )


def clean(text: str) -> str:
    """Replace each NUL, at which programs stop, and each lone surrogate by U+FFFD."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")


def is_blank(text: str) -> bool:
    """Whether the text has nothing but white space and byte order marks."""
    return not text.replace("\ufeff", "").strip()


def join_parts(parts: Sequence[str]) -> tuple[str, list[int]]:
    """Join non-empty parts by blank lines; return the text and the start of each part."""
    text = "\n\n".join(part for part in parts if part)
    starts = []
    start = 0
    for part in parts:
        starts.append(min(start, len(text)))
        start += len(part) + 2 if part else 0
    return text, starts


def join_contents(parts: Sequence[Content]) -> Content:
    """Join contents by blank lines, with their places, headings, skipped parts and notes."""
    text, starts = join_parts([part.text for part in parts])
    return Content(
        text,
        places=tuple(
            one._replace(start=start + one.start)
            for start, part in zip(starts, parts, strict=True)
            for one in part.places
        ),
        headings=tuple(
            one._replace(start=start + one.start)
            for start, part in zip(starts, parts, strict=True)
            for one in part.headings
        ),
        skipped=tuple(one for part in parts for one in part.skipped),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def optional_package(name: str, shown: str, extra: str = "documents") -> Any:
    """Import a package of an extra. Raises DocumentError, which names the extra, without it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise DocumentError(
            f"{shown} needs the package {package}, which the extra {extra!r} brings: "
            f'pip install -e ".[{extra}]".'
        ) from error


def error_text(error: Exception) -> str:
    """The message of an exception in one line of at most 200 characters, or its type."""
    return clean(" ".join(str(error).split()))[:200] or type(error).__name__


def refusal_reason(error: Exception, shown: str) -> str:
    """The reason, in one sentence, why a source cannot be read, from any library's exception."""
    if isinstance(error, DocumentError):
        return str(error)
    problem = "not of the format that its name says"
    if isinstance(error, RecursionError):
        problem = "nested too deeply"
    return f"{shown} cannot be read, it is damaged or {problem}: save it anew, or leave it out."


def plain(metadata: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[Skipped, ...]]:
    """Split metadata into JSON values and skipped values (no JSON, or beyond MAX_CHARACTERS)."""
    kept: dict[str, Any] = {}
    left_out = []
    room = MAX_CHARACTERS
    for key, value in metadata.items():
        name = clean(str(key))
        try:
            text = json.dumps(_with_text_keys(value), default=_jsonable, ensure_ascii=False)
            text = clean(text)
        except (TypeError, ValueError, RecursionError) as error:  # circular or too deep
            left_out.append(Skipped(f"metadata {name[:100]}", f"no JSON ({error_text(error)})"))
            continue
        if len(name) + len(text) > room:
            reason = f"metadata have at most {MAX_CHARACTERS:,} characters in all"
            left_out.append(Skipped(f"metadata {name[:100]}", reason))
        else:
            kept[name] = json.loads(text, parse_constant=str)
            room -= len(name) + len(text)
    return kept, tuple(left_out)


def _with_text_keys(value: Any) -> Any:
    """Convert the keys of every mapping in the value to strings."""
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(one) for key, one in value.items()}
    return [_with_text_keys(one) for one in value] if isinstance(value, list | tuple) else value


def _jsonable(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return value.isoformat() if isinstance(value, date | time) else str(value)
