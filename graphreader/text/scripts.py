"""Scripts: ranges of characters for patterns, and forms of characters that mean one thing."""

import re
import unicodedata
from functools import cache
from importlib.resources import files

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
"""Han characters, with the signs for a repeated and for an omitted character."""

KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
KANA = "\u3041-\u309f" + KATAKANA
HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"

CJK = HAN + KANA + HANGUL
"""Letters of Chinese, Japanese and Korean."""

SOUTHEAST_ASIAN = "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1780-\u17d3\u17d7\u17dc"
"""Letters of Thai, Lao, Burmese and Khmer."""

UNSPACED = CJK + SOUTHEAST_ASIAN
"""Letters of scripts whose words have no spaces between them, or endings without one: Chinese,
Japanese, Korean, Thai, Lao, Burmese and Khmer."""

FULL_WIDTH_SIGNS = (
    "\u3000-\u3004\u3008-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”…—"
)
"""Punctuation that Chinese and Japanese write between their characters."""

HAN_RUN = re.compile(f"[{HAN}]+")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")

# Signs that a text has only for its layout: soft hyphens, zero-width signs, byte order marks.
_INVISIBLE = re.compile("[\xad\u200b-\u200f\u2060\ufeff]")
_TYPOGRAPHIC = str.maketrans("‘’“”‐‑−–—", "''\"\"---  ")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")  # as in Arabic or Devanagari
_SUPERSCRIPTS = re.compile(r"(?<=\d)[\u00b2\u00b3\u00b9\u2070-\u207f]")


def compatible(text: str) -> str:
    """The text in ordinary characters, without compatibility forms and invisible characters.

    Full-width and half-width forms, ligatures and decomposed letters become ordinary (NFKC), as do
    typographic quotation marks, hyphens and the digits of other scripts. The exponent of a number
    stays apart from it: "10³" becomes "10 3".
    """
    if text.isascii():
        return text
    text = _INVISIBLE.sub("", text).translate(_TYPOGRAPHIC)
    text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.digit(digit[0])), text)
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFKC", _SUPERSCRIPTS.sub(r" \g<0>", text))


def simplified(text: str) -> str:
    """The text with simplified in place of traditional Chinese characters."""
    return text if text.isascii() else text.translate(_traditional())


@cache
def _traditional() -> dict[int, str]:
    file = files("graphreader").joinpath("text/traditional_chinese.txt")
    lines = (line for line in file.read_text("utf-8").splitlines() if not line.startswith("#"))
    return {ord(pair[0]): pair[1] for line in lines for pair in line.split()}


def unspaced_runs(text: str) -> list[str]:
    """List the runs of letters of unspaced scripts."""
    return [] if text.isascii() else _UNSPACED_RUN.findall(text)


def letters(text: str) -> list[str]:
    """List all letters of unspaced scripts in the text, in order."""
    return [letter for run in unspaced_runs(text) for letter in run]


def letter_pairs(text: str) -> list[str]:
    """List all pairs of adjacent letters of unspaced scripts; a single letter stands for itself."""
    runs = unspaced_runs(text)
    return [run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))]
