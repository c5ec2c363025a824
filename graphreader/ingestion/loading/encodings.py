"""The encoding of a plain text, from its marks, its declaration or the look of its letters."""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

SAMPLE = 50_000  # bytes of lines that are not ASCII, by which an encoding is recognized

NEARLY = 0.75  # share of the best confidence at which Windows-1252 is chosen

_BOMS = {  # UTF-32 first: its marks begin like the marks of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1b"))
_JAPANESE_MAIL = re.compile(rb"\x1b\$[@B]")  # to two bytes a character, in ISO-2022-JP

# Browsers do this too: texts with these labels often use the larger encoding.
_SUPERSETS = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}

# The encodings that texts are written in, by Python's names; a detector knows many others.
_USUAL = re.compile(
    r"cp125\d|iso8859|koi8|cp(866|874|932|949|950)|mac-(roman|cyrillic)|tis|gb|big5|euc|shift"
)
_SIGN_IN_WORD = re.compile(r"[a-z][^\w\s\x00-\x7f’‘‐·–—\xad][a-z]|[±¶¦¬ˇ][^\W\d_]|[^\W\d_][±¶¦¬ˇ]")

_ICELANDIC = re.compile("[ðþÐÞ]")  # which Baltic letters look like

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
    """A decoded text, Python's name of its encoding, and the number of lost characters."""

    text: str
    encoding: str
    lost: int = 0


class BinaryDataError(ValueError):
    """The data are no text in any encoding."""


def decode(data: bytes, declared: str = "") -> Decoded:
    """Decode a text by its mark, as UTF-8, as it declares, or by the look of its letters.

    Invalid bytes become U+FFFD; UTF-8 with a few of them is still UTF-8, and keeps its byte order
    mark, as in `open(encoding="utf-8")`. Raises BinaryDataError.
    """
    if encoding := next((name for mark, name in _BOMS.items() if data.startswith(mark)), ""):
        return _decoded(data, encoding)
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    if _control_share(data) > (0.05 if lost else 0.3):
        return _decoded(data, _wide_encoding(data))
    if data.isascii() and _JAPANESE_MAIL.search(data):
        return _decoded(data, "iso2022_jp")
    if 10 * lost <= len(text.encode("utf-8")) - len(text):
        return Decoded(text, "utf-8", lost)
    return _decoded(data, _declared_encoding(data, declared) or _likeliest_encoding(_sample(data)))


def _decoded(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, "replace")
    return Decoded(text, encoding, text.count("\ufffd"))


def _control_share(data: bytes) -> float:
    """The share of bytes (0-1) that are control characters unusual in texts."""
    return 1 - len(data.translate(None, _CONTROLS)) / len(data) if data else 0.0


def _wide_encoding(data: bytes) -> str:
    """The UTF-16 or UTF-32 in which a text without a mark has most spaces and points."""
    best = 0.0, ""
    for name in _WIDE:
        try:
            start = codecs.getincrementaldecoder(name)().decode(data[:SAMPLE])
        except UnicodeError:
            continue
        readable = sum(map(_is_readable, start))
        usual = sum(char in " \t\n\r.,，。、\u3000" for char in start)
        if start and 50 * readable >= 49 * len(start) and 50 * usual >= len(start):
            best = max(best, (usual / len(start), name))
    if not best[1]:
        raise BinaryDataError
    return best[1]


def _is_readable(char: str) -> bool:
    return char.isprintable() or char.isspace() or unicodedata.category(char) == "Cf"


def _declared_encoding(data: bytes, name: str) -> str:
    """Return Python's name of the declared encoding if the data are valid in it, else ""."""
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    if known.startswith(("utf-16", "utf-32")):  # it would have a mark, or many zeros
        return ""
    encoding = _SUPERSETS.get(known, known)
    return encoding if _decodes(data, encoding) else ""


def _sample(data: bytes) -> bytes:
    """The lines of a text that are not ASCII, from shortly before such a byte on."""
    sample = b""
    for line in BytesIO(data.replace(b"\r", b"\n")):  # not split into a list of perhaps millions
        if first := re.search(rb"[\x80-\xff]", line):
            sample += line[max(0, first.start() - 200) :][:SAMPLE]
        if len(sample) > SAMPLE:
            break
    return sample


def _likeliest_encoding(sample: bytes) -> str:
    """The encoding in which a text looks most like a language.

    In a text of Latin letters, letters of another script and signs within words show a wrong guess.
    Windows-1252, far more frequent than the others, is chosen if it is nearly the likeliest, but
    for letters that only Icelandic has.
    """
    guesses = list(_guesses(sample))
    if _is_latin(sample):
        latin = {name: sure for name, sure in guesses if _is_plausible(sample.decode(name))}
        best, confidence = next(iter(latin.items()), ("cp1252", 0.0))
        is_nearly = latin.get("cp1252", 0.0) > NEARLY * confidence
        return "cp1252" if is_nearly and not _ICELANDIC.search(sample.decode("cp1252")) else best
    best, confidence = guesses[0] if guesses else ("cp1252", 0.0)
    for name, names in _MULTIBYTE.items():
        text = sample.decode(name, "replace")
        if 0 < text.count("\ufffd") * _LOST_SHARE <= len(text):
            whole = text.replace("\ufffd", "").encode(name, "ignore")
            guess, sure = next(_guesses(whole), ("", 0.0))
            if guess in names and sure > confidence:
                best, confidence = name, sure
    return best


def _guesses(sample: bytes) -> Iterator[tuple[str, float]]:
    """Yield the usual encodings that the detector names, with its confidence, the likeliest first.

    Of equally likely encodings the most frequent is first: Windows-1252, then others of Windows.
    """
    import chardet  # noqa: PLC0415  # its models take time to load, and most texts are UTF-8

    names = (
        (codecs.lookup(one["encoding"]).name, one["confidence"])
        for one in chardet.detect_all(sample)
        if one["encoding"]
    )
    guesses = [
        (name, sure) for name, sure in names if _USUAL.match(name) and _decodes(sample, name)
    ]
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
    number = sum(map(len, runs))
    return number == 1 or (3 * number <= letters and any(len(run) % 2 for run in runs))


def _is_plausible(text: str) -> bool:
    """Whether a text has no letters of other scripts than Latin, and no signs within words."""
    return not _SIGN_IN_WORD.search(text) and all(
        "LATIN" in unicodedata.name(char, "") or char in "ªº"
        for char in {*text} - {*map(chr, range(128))}
        if char.isalpha() or unicodedata.category(char) == "Cc"
    )
