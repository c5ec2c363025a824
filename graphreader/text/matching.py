"""Matching: the place of a quote in a text that has other signs, hyphens or capitals.

A quote is compared in a folded form, in which typography does not count but every word, number and
sign of a number does. Offsets point into the text as it is.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import regex

from graphreader.text.scripts import HAN_BLOCK, KANA

Span = tuple[int, int]

SHORTEST = 4  # characters; a shorter quote, "the" or "a", supports nothing

_ALIKE = (
    *("'‘’ʼ´\"“”„«»「」『』", "-‐‑–—−", ",，、", ".。", ":：", ";；", "?？", "!！", "(（", ")）"),
)
_SAME = {sign: signs[0] for signs in _ALIKE for sign in signs} | {"œ": "oe", "Œ": "oe", "⁄": "/"}
_SAME |= {"…": "...", "æ": "ae", "Æ": "ae"}
_SPECIAL = regex.compile(
    r"(?P<nothing>[\xad\u200b-\u200f\u2060\ufeff]|[*_`]+|!?\[(?=[^\]\n]*\]\()|\]\([^)\s]*\))"
    r"|(?P<break>(?<=\p{L})[-\u2010][ \t]*\n\s*(?=\p{Ll}))"
    r"|(?P<space>\s+)"
    r"|(?P<exponent>(?<=\d)[\u00b2\u00b3\u00b9\u2070-\u207f]+)"
    r"|(?P<other>[^\x00-\x7f]\p{M}*|[A-Za-z]\p{M}+|''|\")"
)
_EDGES = re.compile(r"^[\s.…\"'“”‘’「」『』]+|[\s…\"'“”‘’「」『』]+$")
_CJK = re.compile(f"[{KANA}{HAN_BLOCK}]")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; character n of it stands at `starts[n]` of the text, up to `ends[n]`."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]


@lru_cache(maxsize=64)
def fold_text(text: str, *, joined: bool = True) -> Folded:
    """Fold a text: lower case, ordinary signs and letters, single spaces, none next to Chinese.

    Invisible characters and marks of Markdown are left out. A hyphen at a line end is left out if
    `joined`, else only the line end.
    """
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []

    def add(written: str, start: int, end: int) -> None:
        if written == " " and parts and parts[-1].endswith(" "):
            return
        parts.append(written)
        starts.extend([start] * len(written))
        ends.extend([end] * len(written))

    def add_plain(start: int, end: int) -> None:
        if start == end:
            return
        parts.append(text[start:end].lower())
        starts.extend(range(start, end))
        ends.extend(range(start + 1, end + 1))

    at = 0
    for match in _SPECIAL.finditer(text):
        start, end = match.span()
        add_plain(at, start)
        at = end
        match match.lastgroup:
            case "space":
                beside = (text[start - 1 : start], text[end : end + 1])
                if not any(map(_CJK.match, beside)):
                    add(" ", start, end)
            case "break":
                add("" if joined else "-", start, end)
            case "exponent":
                add("^" + unicodedata.normalize("NFKC", match.group()), start, end)
            case "other":
                add(_ordinary(match.group()), start, end)
    add_plain(at, len(text))
    return Folded("".join(parts), tuple(starts), tuple(ends))


def _ordinary(character: str) -> str:
    """The folded form of one character with its marks."""
    whole = unicodedata.normalize("NFKC", _SAME.get(character, character))
    return "".join(_SAME.get(one, one) for one in whole).casefold()


def locate(quote: str, text: str) -> Span | None:
    """Find the span (start, end) of `quote` in `text`, or None.

    Signs around the quote do not count. It must begin and end with whole words and numbers.
    """
    bare = _EDGES.sub("", quote)
    if len(bare) < SHORTEST:
        return None
    for exact in (quote.strip(), bare):
        start = _find(exact, text)
        if start >= 0:
            return start, start + len(exact)
    for joined in (True, False):
        wanted, whole = fold_text(bare, joined=joined).text.strip(), fold_text(text, joined=joined)
        start = _find(wanted, whole.text) if len(wanted) >= SHORTEST else -1
        if start >= 0:
            return whole.starts[start], whole.ends[start + len(wanted) - 1]
    return None


def _find(wanted: str, text: str) -> int:
    """The start of the first place where `wanted` stands as whole words and numbers, or -1."""
    start = text.find(wanted)
    while start >= 0 and not _is_whole(wanted, text, start):
        start = text.find(wanted, start + 1)
    return start


def _is_whole(wanted: str, text: str, start: int) -> bool:
    end = start + len(wanted)
    return _may_begin(wanted, text, start) and _may_end(wanted, text, end)


def _may_begin(wanted: str, text: str, start: int) -> bool:
    first, before = wanted[0], text[max(0, start - 2) : start]
    if not first.isalnum() or not before or _CJK.match(first) or _CJK.match(before[-1]):
        return True
    if before[-1].isalnum() or unicodedata.category(before[-1])[0] == "M":
        return False
    if not first.isdigit():
        return True
    is_sign = before[-1] in "-−+" and not before[:-1].isalnum()
    is_part = before[-1] in ".,'’" and before[:-1].isdigit()
    return not (is_sign or is_part)


def _may_end(wanted: str, text: str, end: int) -> bool:
    last, after = wanted[-1], text[end : end + 2]
    if not last.isalnum() or not after or _CJK.match(last) or _CJK.match(after[0]):
        return True
    if after[0].isalnum() or unicodedata.category(after[0])[0] == "M":
        return False
    return not (last.isdigit() and after[0] in ".,'’" and after[1:].isdigit())
