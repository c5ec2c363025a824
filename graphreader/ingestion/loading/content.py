"""The content of a source, whatever its format, and the document that is made of it."""

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
"""Characters; Neo4j indexes no value of more than about 32 kB."""
MAX_HEADINGS = 5_000


@dataclass(frozen=True, slots=True)
class Content:
    """A text with its metadata; positions count characters. `title` may be empty."""

    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    headings: tuple[tuple[int, str], ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A source that gives no document; `reason` is one sentence that says what to do about it."""

    title: str
    source: str
    reason: str


def document_of(
    content: Content, title: str, corpus: str, source: str, shown: str = ""
) -> Document:
    """The document of a content; `title` serves where the content names none.

    NULs and lone surrogates become U+FFFD; metadata beyond MAX_CHARACTERS and headings beyond
    MAX_HEADINGS are `skipped`, titles and headings are cut at MAX_TITLE. Raises DocumentError,
    which calls the source `shown`, for a text of white space only.
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
    """The document of a text in memory. Raises DocumentError for a text of white space only."""
    return document_of(Content(text), title, corpus, source)


def read_text(data: bytes, shown: str, declared: str = "") -> Content:
    """Decode plain text; UTF-8 as `open(path, encoding="utf-8").read()` gives it, with its mark.

    The `declared` encoding counts where the text is not UTF-8; one other than UTF-8 is kept in
    the metadata. Bytes that are no character become U+FFFD and are counted in `skipped`. Raises
    DocumentError for binary data.
    """
    encoding = next((name for mark, name in _BOMS.items() if data.startswith(mark)), "")
    text = ""
    if not encoding:
        text = data.decode("utf-8", "replace")
        lost = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
        if _control_share(data) > (0.05 if lost else 0.3):
            raise DocumentError(f"{shown} is binary, not a text: leave it out, or save its text.")
        # A few broken bytes do not make it another encoding.
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
    """The text with U+FFFD for each NUL, at which programs stop, and lone surrogate."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")


def is_blank(text: str) -> bool:
    """Whether the text has nothing but white space and a byte order mark."""
    return not text.lstrip("\ufeff").strip()


def join_parts(parts: Sequence[str]) -> tuple[str, list[int]]:
    """The parts joined by blank lines, and where each starts; empty parts add nothing."""
    text = "\n\n".join(part for part in parts if part)
    starts = []
    start = 0
    for part in parts:
        starts.append(min(start, len(text)))
        start += len(part) + 2 if part else 0
    return text, starts


def error_text(error: Exception) -> str:
    """The message of an exception in one line of at most 200 characters; else its type."""
    return clean(" ".join(str(error).split()))[:200] or type(error).__name__


def refusal_reason(error: Exception, shown: str) -> str:
    """One sentence on why something cannot be read, for an exception of any library."""
    if isinstance(error, DocumentError):
        return str(error)
    problem = "not of the format that its name says"
    if isinstance(error, RecursionError):
        problem = "nested too deeply"
    return f"{shown} cannot be read, it is damaged or {problem}: save it anew, or leave it out."


_BOMS = {  # UTF-32 first: its marks begin like those of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1b"))

# Encodings that can be told apart, by Python's names; of equally likely ones the first is taken.
_LIKELY = (
    *("cp1252", "gb18030", "big5", "euc_kr", "euc_jp", "shift_jis", "cp1251", "koi8_r"),
    *("cp1250", "cp1254", "cp1253", "cp1255", "cp1256"),
)
_WESTERN = ("cp1252", "cp1250", "cp1254")
_JAPANESE = ("euc_jp", "shift_jis")

# As browsers do: texts under these labels often use the larger encoding.
_SUPERSETS = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_SAMPLE = 50_000  # bytes of lines that are not ASCII


def _control_share(data: bytes) -> float:
    """The share of bytes that are control characters which texts do not have."""
    return 1 - len(data.translate(None, _CONTROLS)) / len(data) if data else 0.0


def _declared_encoding(data: bytes, name: str) -> str:
    """Python's name of the declared encoding if the data are valid in it, or nothing."""
    try:
        known = codecs.lookup(name).name
        encoding = _SUPERSETS.get(known, known)
        data.decode(encoding)
    except (LookupError, UnicodeError, ValueError):
        return ""
    return encoding


def _likeliest_encoding(data: bytes) -> str:
    """The encoding in which the lines that are not ASCII look most like a language."""
    sample = b""
    for line in BytesIO(data.replace(b"\r", b"\n")):  # without a list of perhaps millions
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
    """Whether letters beyond ASCII are few and stand alone, as in Latin scripts."""
    runs = re.findall(rb"[\x80-\xff]+", sample)
    letters = len(re.findall(rb"[A-Za-z]", sample))
    return 3 * sum(map(len, runs)) < letters and any(len(run) % 2 for run in runs)


def _unlikeliness(match: CharsetMatch) -> tuple[float, bool, float, int]:
    """A sort key: how little the text looks like a language.

    Each Cyrillic encoding has small letters where the other has capitals; kana are Japanese.
    """
    text = str(match)
    kana = len(re.findall("[\u3041-\u30ff\u3131-\u318e]", text))
    odd = 2 * sum(map(str.isupper, text)) > sum(map(str.isalpha, text))
    odd |= 10 * kana > len(text) and match.encoding not in _JAPANESE
    return match.chaos, odd, -match.coherence, _LIKELY.index(match.encoding)


def plain(metadata: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[Skipped, ...]]:
    """The metadata as JSON values, and what is no JSON or exceeds MAX_CHARACTERS in all."""
    kept: dict[str, Any] = {}
    left_out = []
    room = MAX_CHARACTERS
    for key, value in metadata.items():
        name = clean(str(key))
        try:
            text = json.dumps(_with_text_keys(value), default=_jsonable, ensure_ascii=False)
            text = clean(text)
        except (TypeError, ValueError, RecursionError) as error:  # endless or too deep
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
    """The value with strings for the keys of every mapping in it."""
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(one) for key, one in value.items()}
    return [_with_text_keys(one) for one in value] if isinstance(value, list | tuple) else value


def _jsonable(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return value.isoformat() if isinstance(value, date | time) else str(value)
