"""The encoding of a plain text, from its marks, its declaration or the look of its letters."""

import codecs
import math
import re
import unicodedata
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO, StringIO

from graphreader.errors import UsageError

SAMPLE = 50_000  # bytes of lines that are not ASCII, by which an encoding is recognized

NEARLY = 0.75  # share of the best confidence at which Windows-1252 is chosen
ODD = 3.0  # weight of the share of odd characters, which makes an encoding unlikely
RARE = 0.95  # weight of the encodings of old Macintoshes
DOUBTFUL = 0.04  # confidence of less than which a guess is unsure
FEWEST = 3  # letters by which any encoding but Windows-1252 is sure
MIXED, MOSTLY = 0.4, 0.88  # share of valid bytes in a text that is partly, mostly UTF-8
MARGIN = 0.3  # by which the best guess is ahead, for texts of few letters by more

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
_SUPERSETS = {
    **{"ascii": "cp1252", "iso8859-1": "cp1252"},
    **{"gb2312": "gb18030", "gbk": "gb18030", "utf-8-sig": "utf-8"},
}

# The encodings that texts are written in, by Python's names; a detector knows many others.
_USUAL = re.compile(
    r"cp125\d|iso8859-(?!1$|3|4|1[0346])|koi8|cp(866|874|932|949|950)|mac-(roman|cyrillic)|tis|gb|big5"
    r"|euc|shift"
)
_MULTIBYTE = re.compile(r"cp9|gb|big5|euc|shift")

# The usual encodings that do not have every byte; one such byte hides the rest from a detector.
_PARTIAL = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1257", "cp874"),
    *("iso8859-6", "iso8859-7", "iso8859-8"),
    *("gb18030", "big5", "cp949", "cp932", "euc_jp"),
)
_NO_TEXT = re.compile("idna|punycode|.*escape|undefined")  # encodings that no file is written in
_LOST_SHARE = 50  # where more than 1 of 50 characters is lost, the encoding is another one

_CAPITAL_IN_WORD = re.compile(r"(?<=[a-z])[^\W\d_a-z](?=[a-z])")
_IN_WORD = re.compile(r"(?<=[^\W\d_])[^\w\s\x00-\x7f’‘“”„«»…‐·–—\xad](?=[^\W\d_])")
_SIGN_AT_LETTER = re.compile(r"[±¶¦¬ˇ][^\W\d_]|[^\W\d_][±¶¦¬ˇ]|[©®][a-z]")
_TWO_SCRIPTS = re.compile(r"[A-Za-z](?=[\u0370-\u0fff])|[\u0370-\u0fff](?=[A-Za-z])")
_SIGNS = "…‘’“”•–—\xa0«»".encode("cp1252")  # in nearly all encodings of Windows
_ICELANDIC = re.compile("[ðþÐÞ]")  # which Baltic letters look like


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text without byte order marks, and Python's name of its encoding.

    `lost` counts the characters that became U+FFFD; an `unsure` encoding is a mere guess.
    """

    text: str
    encoding: str
    lost: int = 0
    unsure: bool = False


class BinaryDataError(ValueError):
    """The data are no text in any encoding."""


def decode(data: bytes, declared: str = "") -> Decoded:
    """Decode a text by its mark, as UTF-8, as it declares, or by the look of its letters.

    Lines of a text in UTF-8 that are not UTF-8 are decoded by themselves. Invalid bytes become
    U+FFFD; UTF-8 with a few of them is still UTF-8. Raises BinaryDataError.
    """
    if encoding := _marked_encoding(data):
        return _decoded(data, encoding)
    decoded = _decoded(data, "utf-8")
    if _control_share(data) > (0.05 if decoded.lost else 0.3):
        return _decoded(data, _wide_encoding(data))
    if data.isascii() and _JAPANESE_MAIL.search(data):
        return _decoded(data, "iso2022_jp")
    if not decoded.lost:
        return decoded
    if _utf8_share(decoded) > MIXED and (mixed := _mixed(data, decoded)):
        return mixed
    if data.startswith(codecs.BOM_UTF8):
        return decoded
    if encoding := _declared_encoding(data, declared):
        return _decoded(data, encoding)
    encoding, is_sure = _likeliest_encoding(_sample(data))
    return replace(_decoded(data, encoding), unsure=not is_sure)


def _utf8_share(decoded: Decoded) -> float:
    """The share of valid bytes (0-1) among those that are not ASCII, but for first bytes."""
    text = decoded.text
    several = len(text.encode()) - len(text) - 2 * decoded.lost
    return several / (several + decoded.lost) if several > 0 else 0.0


def _mixed(data: bytes, decoded: Decoded) -> Decoded | None:
    """Decode lines that are not UTF-8 by the look of their letters; None if no other line is."""
    others, is_utf8 = BytesIO(), False
    for line in BytesIO(data):
        if not _is_mostly_utf8(line):
            others.write(line)
        elif not line.isascii():
            is_utf8 = True
    if not is_utf8:
        return None
    if not others.tell():
        return decoded
    encoding, _ = _likeliest_encoding(_sample(others.getvalue()))
    text, lost = StringIO(newline=""), 0
    for line in BytesIO(data):
        part = _decoded(line, "utf-8" if _is_mostly_utf8(line) else encoding)
        text.write(part.text)
        lost += part.lost
    return Decoded(text.getvalue(), f"utf-8 and {encoding}", lost, unsure=True)


def _is_mostly_utf8(line: bytes) -> bool:
    decoded = _decoded(line, "utf-8")
    return not decoded.lost or _utf8_share(decoded) > MOSTLY


def decode_as(data: bytes, encoding: str) -> Decoded:
    """Decode a text in the encoding that its owner names (see `known_encoding`), or by its mark.

    A text that is equal in UTF-8 is in UTF-8. Raises BinaryDataError.
    """
    marked = "utf-8" if data.startswith(codecs.BOM_UTF8) else _marked_encoding(data)
    names = {marked} if marked else {encoding, _SUPERSETS.get(encoding, encoding)}
    decoded = min((_decoded(data, name) for name in sorted(names)), key=lambda one: one.lost)
    data_in_utf8 = decoded.text.encode("utf-8", "replace")
    if _control_share(data_in_utf8) > 0.3:
        raise BinaryDataError
    return replace(decoded, encoding="utf-8") if data_in_utf8 == data else decoded


def encoding_of_start(start: bytes, named: str = "") -> tuple[str, bool]:
    """The encoding of a text by its beginning, and whether it is sure.

    A mark, and letters in UTF-8, go before the encoding that the owner has `named`. Binary data,
    and lines in several encodings, are taken for UTF-8.
    """
    start = start[: start.rfind(b"\n") + 1] or start
    if marked := _marked_encoding(start):
        return marked, True
    is_utf8 = _decodes(start, "utf-8") and not start.isascii()
    if named and named not in _BOMS.values() and not is_utf8:
        return _SUPERSETS.get(named, named), True
    with suppress(BinaryDataError):
        decoded = decode(start)
        if not decoded.encoding.startswith("utf-8"):
            return decoded.encoding, not decoded.unsure
    return "utf-8", True


def known_encoding(name: str) -> str:
    """Return Python's name of an encoding of texts. Raises UsageError if there is none."""
    plain = name.strip().lower().removeprefix("x-")
    for one in (plain, re.sub("[-_ ]", "", plain)):  # "latin-2" is known as "latin2"
        with suppress(LookupError, ValueError, TypeError):
            encoding = codecs.lookup(one).name
            if not _NO_TEXT.match(encoding) and "a".encode(encoding).decode(encoding) == "a":
                return encoding
    raise UsageError(
        f"{name!r:.100} is no encoding: name one that Python knows, for example windows-1250, "
        "iso-8859-2, koi8-r, gb18030, shift_jis or mac-roman."
    )


def is_binary(start: bytes) -> bool:
    """Whether the beginning of a file is neither text nor UTF-16 or UTF-32."""
    if not _marked_encoding(start) and _control_share(start) > 0.05:
        try:
            _wide_encoding(start[: len(start) // 4 * 4])
        except BinaryDataError:
            return True
    return False


def _marked_encoding(data: bytes) -> str:
    """The encoding of the byte order mark with which the data begin, "" without one."""
    return next((name for mark, name in _BOMS.items() if data.startswith(mark)), "")


def _decoded(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, "replace")
    lost = text.count("\ufffd") - (encoding == "utf-8") * data.count(b"\xef\xbf\xbd")
    return Decoded(text.replace("\ufeff", ""), encoding, lost)


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


def _likeliest_encoding(sample: bytes) -> tuple[str, bool]:
    """The encoding in which a text looks most like a language, and whether the choice is sure.

    Windows-1252, far more frequent than the others, is chosen if it is nearly the likeliest, but
    for letters that only Icelandic has.
    """
    guesses = _guesses(sample)
    best = guesses[0] if guesses else _Guess("cp1252", 0.0, "", 0)
    usual = next((one for one in guesses if one.encoding == "cp1252"), best)
    if _is_latin(sample) and not _ICELANDIC.search(usual.text):
        usual = replace(usual, confidence=usual.confidence / NEARLY)
        best = max(usual, best, key=lambda one: one.confidence)
    rivals = (one.confidence for one in guesses if one.text != best.text and one.odd <= best.odd)
    ahead = 1 - max(rivals, default=0.0) / best.confidence if best.confidence else 0.0
    letters = _letters(best.text)
    is_sure = best.confidence > DOUBTFUL and ahead * math.sqrt(letters) > MARGIN
    return best.encoding, is_sure and (letters >= FEWEST or best.encoding == "cp1252")


@dataclass(frozen=True, slots=True)
class _Guess:
    """An encoding with its confidence (0-1), the decoded sample and the odd characters in it."""

    encoding: str
    confidence: float
    text: str
    odd: int


def _guesses(sample: bytes) -> list[_Guess]:
    """List the usual encodings that the detector names, the likeliest first.

    Lost and odd characters make an encoding unlikely. Of equally likely encodings the most
    frequent is first: Windows-1252, then others of Windows.
    """
    import chardet  # noqa: PLC0415  # its models take time to load, and most texts are UTF-8

    partial = defaultdict[bytes, dict[str, str]](dict)  # by the bytes that the encodings have
    for name in _PARTIAL:
        text = sample.decode(name, "replace")
        if 0 < text.count("\ufffd") <= 1 + _letters(text) // _LOST_SHARE:
            partial[text.replace("\ufffd", "").encode(name)][name] = text
    is_latin = _is_latin(sample)
    guesses = []
    for known, texts in [(sample, {}), *partial.items()]:
        for guess in chardet.detect_all(known):
            name = codecs.lookup(guess["encoding"]).name if guess["encoding"] else ""
            text = texts.get(name, "")
            if known is sample and _USUAL.match(name) and _decodes(sample, name):
                text = sample.decode(name)
            if text:
                kept = text.replace("\ufffd", "")
                odd = len(text) - len(kept) + _odd_characters(kept, name, is_latin)
                share = max(0.0, 1 - ODD * odd / _letters(text)) * (RARE if "mac" in name else 1)
                guesses.append(_Guess(name, guess["confidence"] * share, text, odd))
    return sorted(
        guesses,
        key=lambda one: (
            *(-round(one.confidence, 4), one.odd),
            *(one.encoding != "cp1252", not one.encoding.startswith("cp125")),
        ),
    )


def _letters(text: str) -> int:
    """The number of characters that are not ASCII, at least 1."""
    return sum(not char.isascii() for char in text) or 1


def _odd_characters(text: str, encoding: str, is_latin: bool) -> int:
    """The number of characters that look wrongly decoded.

    These are control characters, signs within words, letters of two scripts side by side, and in
    Latin texts also capitals within words and letters of other scripts.
    """
    if _MULTIBYTE.match(encoding) and not is_latin:
        return 0
    odd = len(_SIGN_AT_LETTER.findall(text)) + len(_TWO_SCRIPTS.findall(text))
    odd += sum(map(str.isupper, _CAPITAL_IN_WORD.findall(text)))
    kinds = "SPC" if is_latin else "S"
    odd += sum(unicodedata.category(char)[0] in kinds for char in _IN_WORD.findall(text))
    counts = Counter(text)
    return odd + sum(counts[one] for one in counts if _is_foreign(one, is_latin))


def _is_foreign(char: str, is_latin: bool) -> bool:
    """Whether a character is a control character, or a letter of another script than Latin."""
    if char.isascii() or not (is_latin and char.isalpha()):
        return not char.isascii() and unicodedata.category(char) == "Cc"
    return "LATIN" not in unicodedata.name(char, "") and char not in "ªº"


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _is_latin(sample: bytes) -> bool:
    """Whether letters that are not ASCII are few and isolated, as in Latin scripts."""
    runs = [one for one in re.findall(rb"[\x80-\xff]+", sample) if one.strip(_SIGNS)]
    letters = len(re.findall(rb"[A-Za-z]", sample))
    number = sum(map(len, runs))
    return number <= 1 or (3 * number <= letters and any(len(run) % 2 for run in runs))
