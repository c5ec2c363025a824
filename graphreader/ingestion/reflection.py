"""Whether a key element stands in its fact (paper, figure 6: they are to be reflected there).

Told by wording alone: white space, case and Unicode forms are no difference, nor is the ending of a
word ("canonize" stands in "was canonized"), nor words between its own. Numbers stand as they are.
"""

import re
import unicodedata
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_]+")
_ENDING = 3  # letters that inflection may change at the end of a word
_STEM = 4  # letters that must be the same at its beginning


def standing(elements: Iterable[str], fact: str) -> list[str]:
    """Those of the key elements that are worded in the fact."""
    text = _folded(fact)
    return [element for element in elements if _stands_in(_folded(element), text)]


def _stands_in(wanted: str, text: str) -> bool:
    if not wanted:
        return False
    if _stands_whole(wanted, text):
        return True
    words = _WORD.findall(text)
    return all(any(_alike(one, word) for word in words) for one in _WORD.findall(wanted))


def _stands_whole(wanted: str, text: str) -> bool:
    """As it is; in scripts with words, not as a part of one."""
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        inside = _is_within_word(text[start - 1 : start], wanted[0])
        if not inside and not _is_within_word(text[end : end + 1], wanted[-1]):
            return True
        start = text.find(wanted, start + 1)
    return False


def _is_within_word(beside: str, sign: str) -> bool:
    """Whether a sign belongs to one word with the one beside it, if there is one."""
    has_words = sign.isdecimal() or sign.lower() != sign.upper()
    return has_words and beside.isalnum()


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _alike(one: str, other: str) -> bool:
    """The same word, perhaps in another form; scripts without cases and numbers have no forms."""
    if one == other:
        return True
    if not (one.isalpha() and one.upper() != one):
        return False
    stem = max(_STEM, len(one) - _ENDING)
    alike = len(one) >= stem and abs(len(one) - len(other)) <= _ENDING
    return alike and other.startswith(one[:stem])
