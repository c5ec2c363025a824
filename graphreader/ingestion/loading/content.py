"""What a reader of one format finds in a source, and the document that becomes of it.

Bytes become text: UTF-8, what a byte order mark says, what is declared, or what is likeliest.

Metadata as plain JSON values of a bounded size, whatever a source holds.
"""

import codecs
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from hashlib import sha256
from typing import Any

from charset_normalizer import CharsetMatch, from_bytes

from graphreader.documents import Document, Skipped
from graphreader.errors import DocumentError
from graphreader.text.sentences import language_of

_BYTE_ORDER_MARKS = {  # those of UTF-32 first: they begin as those of UTF-16 do
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# What can be told apart, by Python's names; of those that fit alike the first is taken.
_LIKELY = (
    *("cp1252", "gb18030", "big5", "euc_kr", "euc_jp", "shift_jis", "cp1251", "koi8_r"),
    *("cp1250", "cp1254", "cp1253", "cp1255", "cp1256"),
)

_WESTERN = ("cp1252", "cp1250", "cp1254")
_JAPANESE = ("euc_jp", "shift_jis")

# Labels that promise less than what is written under them, read as browsers do.
_MEANT = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_SAMPLE = 50_000  # bytes of lines that are not ASCII
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1b"))


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, the encoding that it had, and what of it could not be decoded."""

    text: str
    encoding: str
    skipped: tuple[Skipped, ...] = ()

    @property
    def metadata(self) -> dict[str, str]:
        """The encoding, where it is worth telling."""
        return {} if self.encoding == "utf-8" else {"encoding": self.encoding}


def decode(data: bytes, shown: str, declared: str = "") -> Decoded:
    """The text as `open` reads it in its encoding: every line end is a newline.

    A byte order mark of UTF-8 stays, as with `open`. Bytes that fit no character become U+FFFD and
    are counted in `skipped`. `declared` is the encoding that the text itself names; it counts
    where the text is not UTF-8. Raises DocumentError where it is no text at all.
    """
    encoding = _by_mark(data) or _by_zeros(data)
    text = ""
    if not encoding:
        text = data.decode("utf-8", "replace")
        lost = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
        _check(data, shown, 0.05 if lost else 0.3)
        # A few bytes that went wrong make no other encoding of it.
        if 10 * lost <= len(text.encode("utf-8")) - len(text):
            encoding = "utf-8"
    if encoding != "utf-8":
        encoding = encoding or _declared(data, declared) or _likeliest(data)
        text = data.decode(encoding, "replace")
        lost = text.count("\ufffd")
    broken = f"no characters in {encoding}, became U+FFFD"
    skipped = (Skipped(f"{lost:,} bytes", broken),) if lost else ()
    return Decoded(text.replace("\r\n", "\n").replace("\r", "\n"), encoding, skipped)


def clean(text: str) -> str:
    """The text with U+FFFD for each NUL and each lone surrogate, pairs of surrogates joined.

    No database takes lone surrogates, and many programs end a text at a NUL.
    """
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")


def _by_mark(data: bytes) -> str:
    return next((name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), "")


def _by_zeros(data: bytes) -> str:
    """UTF-16 without a mark: every other byte of Western letters is zero."""
    for name, zeros, letters in (
        ("utf-16-le", data[1::2], data[::2]),
        ("utf-16-be", data[::2], data[1::2]),
    ):
        if letters and zeros.count(0) > len(zeros) / 3 and _controls(letters) < 0.05:
            return name
    return ""


def _check(data: bytes, shown: str, most: float) -> None:
    """Refuse what has more than this part of bytes that stand in no text."""
    if _controls(data) > most:
        raise DocumentError(f"{shown} is binary, not a text: leave it out, or save its text.")


def _controls(data: bytes) -> float:
    """The part of bytes that stand in no text."""
    return 1 - len(data.translate(None, _CONTROLS)) / len(data) if data else 0.0


def _declared(data: bytes, name: str) -> str:
    """The encoding of that name, if there is one and the text is in it."""
    try:
        known = codecs.lookup(name).name
        encoding = _MEANT.get(known, known)
        data.decode(encoding)
    except (LookupError, UnicodeError, ValueError):
        return ""
    return encoding


def _likeliest(data: bytes) -> str:
    """The encoding in which the lines that are not ASCII look most like a language."""
    sample = b""
    for line in data.splitlines():
        if not line.isascii():
            sample += line[:_SAMPLE] + b"\n"
        if len(sample) > _SAMPLE:
            break
    candidates = _WESTERN if _is_western(sample) else _LIKELY
    matches = from_bytes(sample, cp_isolation=list(candidates))
    if not matches:
        return "cp1252"
    best = min(matches, key=_unlikeliness).encoding
    # Western and Central European share most of their letters; the former is far more frequent.
    alike = {name for one in matches for name in one.could_be_from_charset}
    return "cp1252" if best == "cp1250" and "cp1252" in alike else best


def _is_western(sample: bytes) -> bool:
    """Whether letters beyond ASCII are few and stand alone, as in Latin scripts."""
    runs = re.findall(rb"[\x80-\xff]+", sample)
    letters = len(re.findall(rb"[A-Za-z]", sample))
    return 3 * sum(map(len, runs)) < letters and any(len(run) % 2 for run in runs)


def _unlikeliness(match: CharsetMatch) -> tuple[float, bool, float, int]:
    """How little the text looks like a language.

    Each of the Cyrillic encodings has small letters where the other has capitals; where Japanese
    has its kana, the Chinese encoding has them too, and the Korean one has single strokes.
    """
    text = str(match)
    kana = len(re.findall("[\u3041-\u30ff\u3131-\u318e]", text))
    odd = 2 * sum(map(str.isupper, text)) > sum(map(str.isalpha, text))
    odd |= 10 * kana > len(text) and match.encoding not in _JAPANESE
    return match.chaos, odd, -match.coherence, _LIKELY.index(match.encoding)


MAX_CHARACTERS = 20_000
"""Of the JSON of one document's metadata."""

_DEEPEST = 20


def plain(metadata: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[Skipped, ...]]:
    """What of the metadata JSON can hold, and what was left out.

    Dates and times become ISO 8601, other objects their words, keys strings. A value that would
    make it all larger than MAX_CHARACTERS is left out, and the next ones may still find room.
    """
    kept: dict[str, Any] = {}
    left_out = []
    room = MAX_CHARACTERS
    for key, value in metadata.items():
        name = clean(str(key))
        try:
            held = _Conversion(room).value(value, _DEEPEST)
        except _NoRoomError:
            size = f"metadata have room for {MAX_CHARACTERS:,} characters in all"
            left_out.append(Skipped(f"metadata {name[:100]}", size))
            continue
        room -= len(json.dumps({name: held}, ensure_ascii=False))
        kept[name] = held
    return kept, tuple(left_out)


class _NoRoomError(Exception):
    """The value is larger than what is left, or never ends."""


class _Conversion:
    """Copies a value into plain types, within a number of characters.

    Counting while copying, since a few lines of YAML can stand for millions of values.
    """

    def __init__(self, room: int) -> None:
        self._room = room

    def value(self, value: Any, depth: int) -> Any:
        if depth == 0:
            raise _NoRoomError
        if isinstance(value, Mapping):
            self._take(2)
            return {
                self.value(str(key), depth - 1): self.value(one, depth - 1)
                for key, one in value.items()
            }
        if isinstance(value, (list, tuple, set, frozenset)):
            self._take(2)
            items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
            return [self.value(one, depth - 1) for one in items]
        held = _scalar(value)
        self._take(len(json.dumps(held, ensure_ascii=False)) + 2)
        return held

    def _take(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            raise _NoRoomError


def _scalar(value: Any) -> Any:
    """The value as JSON has it, or in words."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    return clean(value if isinstance(value, str) else str(value))


@dataclass(frozen=True, slots=True)
class Content:
    """A text, and what came with it; positions count its characters.

    `title` is empty where the source names none; `metadata` may hold anything.
    """

    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    headings: tuple[tuple[int, str], ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that gives no document, and why, in one sentence that says how to mend it."""

    title: str
    source: str
    reason: str


def why_not(error: Exception, shown: str) -> str:
    """Why something cannot be read, in one sentence, whatever was raised: libraries raise a lot."""
    if isinstance(error, DocumentError):
        return str(error)
    return f"{shown} cannot be read ({told_by(error)}): is it damaged?"


def told_by(error: Exception) -> str:
    """What an exception says, in one line that is not too long; else its kind."""
    return clean(" ".join(str(error).split()))[:200] or type(error).__name__


def is_blank(text: str) -> bool:
    """Whether there is nothing but white space."""
    return not text.lstrip("\ufeff").strip()


def document_of(
    content: Content, title: str, corpus: str, source: str, shown: str = ""
) -> Document:
    """The document of a content; `title` is for one that names none.

    The id comes from `corpus` and `source`; an error names it as `shown`, where that is another.
    The text is cleaned of lone surrogates and NULs. Metadata become plain JSON values, and what of
    them finds no room is named in `skipped`. Raises DocumentError where there is nothing but white
    space.
    """
    text, source = clean(content.text), clean(source)
    if is_blank(text):
        raise DocumentError(f"{shown or source} has no text in it: leave it out or fill it.")
    metadata, left_out = plain(content.metadata)
    return Document(
        corpus=corpus,
        id=sha256(f"{clean(corpus)}\0{source}".encode()).hexdigest()[:24],
        title=clean(content.title or title),
        source=source,
        text=text,
        sha256=sha256(text.encode()).hexdigest(),
        language=language_of(text),
        metadata=metadata,
        page_starts=content.page_starts,
        headings=tuple((start, clean(heading)) for start, heading in content.headings),
        skipped=(*content.skipped, *left_out),
    )


def from_text(text: str, title: str, corpus: str, source: str) -> Document:
    """A document out of a text at hand. Raises DocumentError where it is blank."""
    return document_of(Content(text), title, corpus, source)


def joined(parts: Sequence[str]) -> tuple[str, list[int]]:
    """The parts with a blank line between them, and where each begins; empty ones take no room."""
    text = "\n\n".join(part for part in parts if part)
    starts = []
    start = 0
    for part in parts:
        starts.append(min(start, len(text)))
        start += len(part) + 2 if part else 0
    return text, starts
