"""Bytes become text: UTF-8, what a byte order mark says, what is declared, or what is likeliest."""

import codecs
import re
from dataclasses import dataclass

from charset_normalizer import CharsetMatch, from_bytes

from graphreader.documents import Skipped
from graphreader.errors import DocumentError

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
