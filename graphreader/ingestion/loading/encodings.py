"""The encoding of a plain text, from its marks, its declaration or the look of its letters."""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from graphreader.errors import UsageError

SAMPLE = 50_000  # bytes of lines that are not ASCII, by which an encoding is guessed
NEARLY = 0.9  # share of the best confidence that is as good
SURE = 0.05  # confidence of the detector, under which a guess is named in a note

_BOMS = {  # UTF-32 first: its marks begin like the marks of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1b"))

_JAPANESE_MAIL = re.compile(rb"\x1b\$[@B]")  # to two bytes a character, in ISO-2022-JP

# Browsers do this too: texts with these labels often use the larger encoding.
_SUPERSETS = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}

_SIGN_IN_WORD = re.compile(r"[a-z][^\w\s\x00-\x7f’‘‐·–—\xad][a-z]|[±¶¦¬ˇ][^\W\d_]|[^\W\d_][±¶¦¬ˇ]")

# Encodings of several bytes a character, in which one broken byte hides the rest from a detector.
_MULTIBYTE = {
    "gb18030": {"gb18030"},
    "big5": {"big5", "cp950", "big5hkscs"},
    "cp949": {"cp949", "euc_kr"},
    "cp932": {"cp932", "shift_jis"},
    "euc_jp": {"euc_jp"},
}
_LOST_SHARE = 50  # where more than 1 of 50 characters is lost, the encoding is another one


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded text, Python's name of its encoding, and the number of lost characters.

    `is_guess`: the look of the letters decided, and another encoding is nearly as likely.
    """

    text: str
    encoding: str
    lost: int = 0
    is_guess: bool = False


class BinaryDataError(ValueError):
    """The data are no text in any encoding."""


def check_encoding(name: str) -> str:
    """Return Python's name of an encoding of texts. Raises UsageError for any other name."""
    try:
        "".encode(name)
        return codecs.lookup(name).name
    except (LookupError, UnicodeError):
        raise UsageError(
            f"There is no encoding {name!r}: give one such as utf-8, cp1252, gb18030 or shift_jis."
        ) from None


def decode(data: bytes, declared: str = "", chosen: str = "") -> Decoded:
    """Decode a text by its mark, as UTF-8, as it declares, or by the look of its letters.

    A `chosen` encoding goes before all. Invalid bytes become U+FFFD; UTF-8 with a few of them is
    still UTF-8, and keeps its byte order mark, as in `open(encoding="utf-8")`. Raises
    BinaryDataError.
    """
    encoding = chosen or next((name for mark, name in _BOMS.items() if data.startswith(mark)), "")
    if encoding:
        return _decoded(data, encoding)
    if _JAPANESE_MAIL.search(data, 0, SAMPLE):
        return _decoded(data, "iso2022_jp")
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    if _control_share(data) > (0.05 if lost else 0.3):
        return _decoded(data, _wide_encoding(data))
    if 10 * lost <= len(text.encode("utf-8")) - len(text):
        return Decoded(text, "utf-8", lost)
    if encoding := _declared_encoding(data, declared):
        return _decoded(data, encoding)
    encoding, confidence = _likeliest_encoding(_sample(data))
    return _decoded(data, encoding, is_guess=confidence < SURE)


def _decoded(data: bytes, encoding: str, *, is_guess: bool = False) -> Decoded:
    text = data.decode(encoding, "replace")
    return Decoded(text, encoding, text.count("\ufffd"), is_guess)


def _control_share(data: bytes) -> float:
    """The share of bytes (0-1) that are control characters unusual in texts."""
    return 1 - len(data.translate(None, _CONTROLS)) / len(data) if data else 0.0


def _wide_encoding(data: bytes) -> str:
    """The name of the UTF-16 or UTF-32 in which a text without a mark is written."""
    for name in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        try:
            start = data[: SAMPLE - SAMPLE % 4].decode(name)
        except UnicodeError:
            continue
        readable = sum(char.isprintable() or char.isspace() for char in start)
        usual = sum(char.isspace() or char in ".,，。、" for char in start)
        if readable == len(start) and 50 * usual >= len(start):
            return name
    raise BinaryDataError


def _declared_encoding(data: bytes, name: str) -> str:
    """Return Python's name of the declared encoding if the data are valid in it, else ""."""
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    encoding = _SUPERSETS.get(known, known)
    return encoding if _decodes(data, encoding) else ""


def _sample(data: bytes) -> bytes:
    """The lines of a text that are not ASCII, up to SAMPLE bytes."""
    sample = b""
    for line in BytesIO(data.replace(b"\r", b"\n")):  # not split into a list of perhaps millions
        if not line.isascii():
            sample += line[:SAMPLE]
        if len(sample) > SAMPLE:
            break
    return sample


def _likeliest_encoding(sample: bytes) -> tuple[str, float]:
    """The encoding in which a text looks most like a language, and the confidence (0-1).

    In a text of Latin letters, letters of another script and signs within words show a wrong guess.
    Windows-1252, far more frequent than the others, is chosen if it is nearly the likeliest.
    """
    guesses = list(_guesses(sample))
    if _is_latin(sample):
        latin = {name: sure for name, sure in guesses if _is_plausible(sample.decode(name))}
        best = next(iter(latin.items()), ("cp1252", 0.0))
        western = latin.get("cp1252", 0.0)
        return ("cp1252", western) if western > NEARLY * best[1] else best
    best = guesses[0] if guesses else ("cp1252", 0.0)
    for name, names in _MULTIBYTE.items():
        text = sample.decode(name, "replace")
        if 0 < text.count("\ufffd") * _LOST_SHARE <= len(text):
            whole = text.replace("\ufffd", "").encode(name, "ignore")
            found = next(_guesses(whole), ("", 0.0))
            if found[0] in names and found[1] > best[1]:
                best = name, found[1]
    return best


def _guesses(sample: bytes) -> Iterator[tuple[str, float]]:
    """Yield the encodings that the detector names, with its confidence, the likeliest first."""
    import chardet  # noqa: PLC0415  # its models take time to load, and most texts are UTF-8

    guesses = [
        (codecs.lookup(one["encoding"]).name, one["confidence"])
        for one in chardet.detect_all(sample)
        if one["encoding"] and _decodes(sample, one["encoding"])
    ]
    # Of equally likely encodings the most frequent is chosen: Windows-1252, then others of Windows.
    yield from sorted(
        guesses,
        key=lambda one: (-round(one[1], 4), one[0] != "cp1252", not one[0].startswith("cp125")),
    )


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _is_latin(sample: bytes) -> bool:
    """Whether bytes that are not ASCII are few and isolated, as in Latin scripts."""
    runs = re.findall(rb"[\x80-\xff]+", sample)
    letters = len(re.findall(rb"[A-Za-z]", sample))
    return 3 * sum(map(len, runs)) < letters and any(len(run) % 2 for run in runs)


def _is_plausible(text: str) -> bool:
    """Whether a text has no letters of other scripts than Latin, and no signs within words."""
    return not _SIGN_IN_WORD.search(text) and all(
        "LATIN" in unicodedata.name(char, "") or char in "ªº"
        for char in {*text} - {*map(chr, range(128))}
        if char.isalpha() or unicodedata.category(char) == "Cc"
    )
