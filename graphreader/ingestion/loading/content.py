"""The text and metadata of a source in any format, and the document made from them."""

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from hashlib import sha256
from io import BytesIO
from typing import Any

from charset_normalizer import CharsetMatch, from_bytes

from graphreader.documents import Document, Skipped, identity, without_controls
from graphreader.errors import DocumentError
from graphreader.text.sentences import language_of

MAX_CHARACTERS = 20_000  # characters of a document's metadata as JSON
MAX_TITLE, MAX_SOURCE = 300, 8_000
"""Largest title and source in characters; Neo4j indexes no value above about 32 kB."""
MAX_HEADINGS = 5_000


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a source with its metadata; positions count characters, `title` may be empty."""

    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    headings: tuple[tuple[int, str], ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A source that gives no document; `reason` is one sentence with the remedy."""

    title: str
    source: str
    reason: str


def document_of(
    content: Content, title: str, corpus: str, source: str, shown: str = ""
) -> Document:
    """Make a document from a content; `title` is used where the content has no title.

    NULs and lone surrogates become U+FFFD; metadata beyond MAX_CHARACTERS and headings beyond
    MAX_HEADINGS are `skipped`, titles and headings are cut at MAX_TITLE. Raises DocumentError,
    which names the source as `shown`, for a text of white space only.
    """
    text, source = clean(content.text), clean(source)
    if len(source) > MAX_SOURCE:
        raise DocumentError(
            f"{clean(shown or source)[:100]}… has a name of more than {MAX_SOURCE:,} characters: "
            "give it a shorter one."
        )
    if is_blank(text):
        raise DocumentError(f"{shown or source} has no text in it: leave it out or fill it.")
    metadata, left_out = plain(content.metadata)
    if len(content.headings) > MAX_HEADINGS:
        left_out += (Skipped("headings", f"a document has at most {MAX_HEADINGS:,}"),)
    return Document(
        corpus=corpus,
        id=identity(clean(corpus), source),
        title=" ".join(without_controls(clean(content.title or title)).split())[:MAX_TITLE],
        source=source,
        text=text,
        sha256=sha256(text.encode()).hexdigest(),
        language=language_of(text),
        metadata=metadata,
        page_starts=content.page_starts,
        headings=tuple((at, clean(one)[:MAX_TITLE]) for at, one in content.headings[:MAX_HEADINGS]),
        skipped=(*content.skipped, *left_out),
    )


def from_text(text: str, title: str, corpus: str, source: str) -> Document:
    """Make a document from a text in memory. Raises DocumentError for white space only."""
    return document_of(Content(text), title, corpus, source)


def read_text(data: bytes, shown: str, declared: str = "") -> Content:
    """Decode plain text; UTF-8 keeps its byte order mark, as in `open(encoding="utf-8")`.

    The `declared` encoding is used where the text is not UTF-8. An encoding other than UTF-8 is
    stored in the metadata. Invalid bytes become U+FFFD and are counted in `skipped`. Raises
    DocumentError for binary data.
    """
    encoding = next((name for mark, name in _BOMS.items() if data.startswith(mark)), "")
    text = ""
    if not encoding:
        text = data.decode("utf-8", "replace")
        lost = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
        if _control_share(data) > (0.05 if lost else 0.3):
            raise DocumentError(f"{shown} is binary, not a text: leave it out, or save its text.")
        # UTF-8 with a few broken bytes is still UTF-8.
        if 10 * lost <= len(text.encode("utf-8")) - len(text):
            encoding = "utf-8"
    if encoding != "utf-8":
        encoding = encoding or _declared_encoding(data, declared) or _likeliest_encoding(data)
        text = data.decode(encoding, "replace")
        lost = text.count("\ufffd")
    reason = f"no characters in {encoding}, became U+FFFD"
    return Content(
        text.replace("\r\n", "\n").replace("\r", "\n"),
        metadata={} if encoding == "utf-8" else {"encoding": encoding},
        skipped=(Skipped(f"{lost:,} bytes", reason),) if lost else (),
    )


def clean(text: str) -> str:
    """Replace each NUL, at which programs stop, and each lone surrogate by U+FFFD."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")


def is_blank(text: str) -> bool:
    """Whether the text has nothing but white space and a byte order mark."""
    return not text.lstrip("\ufeff").strip()


def join_parts(parts: Sequence[str]) -> tuple[str, list[int]]:
    """Join non-empty parts by blank lines; return the text and the start of each part."""
    text = "\n\n".join(part for part in parts if part)
    starts = []
    start = 0
    for part in parts:
        starts.append(min(start, len(text)))
        start += len(part) + 2 if part else 0
    return text, starts


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


_BOMS = {  # UTF-32 first: its marks begin like the marks of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1b"))

# Distinguishable encodings by Python's names; the first of equally likely encodings is chosen.
_LIKELY = (
    *("cp1252", "gb18030", "big5", "euc_kr", "euc_jp", "shift_jis", "cp1251", "koi8_r"),
    *("cp1250", "cp1254", "cp1253", "cp1255", "cp1256"),
)
_WESTERN = ("cp1252", "cp1250", "cp1254")
_JAPANESE = ("euc_jp", "shift_jis")

# Browsers do this too: texts with these labels often use the larger encoding.
_SUPERSETS = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_SAMPLE = 50_000  # bytes of lines that are not ASCII


def _control_share(data: bytes) -> float:
    """The share of bytes (0-1) that are control characters unusual in texts."""
    return 1 - len(data.translate(None, _CONTROLS)) / len(data) if data else 0.0


def _declared_encoding(data: bytes, name: str) -> str:
    """Return Python's name of the declared encoding if the data are valid in it, else ""."""
    try:
        known = codecs.lookup(name).name
        encoding = _SUPERSETS.get(known, known)
        data.decode(encoding)
    except (LookupError, UnicodeError, ValueError):
        return ""
    return encoding


def _likeliest_encoding(data: bytes) -> str:
    """Return the encoding in which the non-ASCII lines look most like a language."""
    sample = b""
    for line in BytesIO(data.replace(b"\r", b"\n")):  # not split into a list of perhaps millions
        if not line.isascii():
            sample += line[:_SAMPLE]
        if len(sample) > _SAMPLE:
            break
    candidates = _WESTERN if _is_western(sample) else _LIKELY
    matches = from_bytes(sample, cp_isolation=list(candidates))
    if not matches:
        return "cp1252"
    best = min(matches, key=_unlikeliness).encoding
    # Western and Central European share most of their letters; Western is far more frequent.
    equivalent = {name for one in matches for name in one.could_be_from_charset}
    return "cp1252" if best == "cp1250" and "cp1252" in equivalent else best


def _is_western(sample: bytes) -> bool:
    """Whether non-ASCII letters are few and isolated, as in Latin scripts."""
    runs = re.findall(rb"[\x80-\xff]+", sample)
    letters = len(re.findall(rb"[A-Za-z]", sample))
    return 3 * sum(map(len, runs)) < letters and any(len(run) % 2 for run in runs)


def _unlikeliness(match: CharsetMatch) -> tuple[float, bool, float, int]:
    """Return a sort key: the higher, the less the text looks like a language.

    Each Cyrillic encoding has small letters where the other has capitals; kana are Japanese.
    """
    text = str(match)
    kana = len(re.findall("[\u3041-\u30ff\u3131-\u318e]", text))
    odd = 2 * sum(map(str.isupper, text)) > sum(map(str.isalpha, text))
    odd |= 10 * kana > len(text) and match.encoding not in _JAPANESE
    return match.chaos, odd, -match.coherence, _LIKELY.index(match.encoding)


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
