"""Known key elements that stand in a fact's text though its extraction did not list them.

The paper links two nodes where the key element of one appears in a fact of the other (section
3.2). Wordings are compared as written: no plurals, no other forms, so "art" is not in "party".
"""

import re
import unicodedata
from collections.abc import Container, Iterator

from graphreader.deciding.offline.words import HAN, is_stop_word

LONGEST_MENTION = 6  # words
LONGEST_RUN = 8  # Chinese characters

_SAME_SIGNS = str.maketrans(dict.fromkeys("’‘ʼ`´", "'") | dict.fromkeys("‐‑–", "-"))
_WORD = re.compile(rf"[^\W_{HAN}]+(?:['.&-][^\W_{HAN}]+|,\d+)*")
_SHORT_NUMBER = re.compile(r"(?:\d[.,]?){,3}")
_OWNER = re.compile(r".*[^\W_](?='s\Z)")
_RUN = re.compile(rf"[{HAN}]+(?:·[{HAN}]+)*")
_AROUND = re.compile(r"\A[\W_]+|[\W_]+\Z")

Hit = tuple[int, int, str]  # start, end, what is known


def folded(surface: str) -> str:
    """The wording as mentions are looked up by; a single word keeps its capitals.

    So "Rose" is not in "he rose early". Empty where no letter or digit is left.
    """
    text = _AROUND.sub("", _plain(surface))
    return text.casefold() if " " in text else text


def mentions(text: str, known: Container[str]) -> list[str]:
    """What of `known` (folded wordings) stands in the text as whole words, the longest first.

    At most 6 words, or 2 to 8 Chinese characters; none inside another of the same place, each
    once. Nothing begins or ends with a stop word, unless that has a capital; no stop word, letter
    or short number alone is a mention. The first word may owe its capital to its place: there
    "Music" is "music" too.
    """
    text = _plain(text)
    hits = [*_hits_of_words(text, known), *_hits_of_runs(text, known)]
    kept: list[Hit] = []
    for start, end, mention in sorted(hits, key=_longest_first):
        if not any(first <= start and end <= last for first, last, _ in kept):
            kept.append((start, end, mention))
    return list(dict.fromkeys(mention for _, _, mention in kept))


def _hits_of_words(text: str, known: Container[str]) -> Iterator[Hit]:
    found = [(*match.span(), match.group()) for match in _WORD.finditer(text)]
    weak = [_is_weak(word) for _, _, word in found]
    for first, (start, end, word) in enumerate(found):
        if weak[first]:
            continue
        yield from _hits_of_word(start, end, word, known, is_first=first == 0)
        for last in range(first + 1, min(first + LONGEST_MENTION, len(found))):
            if not weak[last]:
                yield from _hits_of_phrase(text, start, found[last][1], known)


def _hits_of_word(
    start: int, end: int, word: str, known: Container[str], *, is_first: bool
) -> Iterator[Hit]:
    if _stands_alone(word):
        form = next((form for form in _forms(word, is_first=is_first) if form in known), None)
        if form:
            yield start, end, form


def _forms(word: str, *, is_first: bool) -> Iterator[str]:
    """A single word as it may be known: as written, without 's, at the beginning in small."""
    yield word
    owner = _OWNER.match(word)
    if owner:
        word = owner.group()
        yield word
    if is_first:
        yield word.lower()


def _hits_of_phrase(text: str, start: int, end: int, known: Container[str]) -> Iterator[Hit]:
    phrase = text[start:end].casefold()
    if phrase in known:
        yield start, end, phrase
    elif phrase.endswith("'s") and phrase[:-2] in known:
        yield start, end, phrase[:-2]


def _hits_of_runs(text: str, known: Container[str]) -> Iterator[Hit]:
    """Chinese has no spaces: of what overlaps, the longest counts, then the first."""
    for match in _RUN.finditer(text):
        run, offset = match.group(), match.start()
        free = [True] * len(run)
        for size in range(min(LONGEST_RUN, len(run)), 1, -1):
            for start in range(len(run) - size + 1):
                piece = run[start : start + size]
                if piece in known and all(free[start : start + size]):
                    free[start : start + size] = [False] * size
                    yield offset + start, offset + start + size, piece


def _is_weak(word: str) -> bool:
    """Whether no phrase begins or ends with it; that of "Never Too Loud" has a capital."""
    return is_stop_word(word) and not word[0].isupper() and not word.isdigit()


def _stands_alone(word: str) -> bool:
    """Whether it can be a mention alone; "US" and "WHO" are no stop words."""
    if len(word) == 1 or _SHORT_NUMBER.fullmatch(word):
        return False
    return not is_stop_word(word) or (word.isascii() and word.isupper())


def _longest_first(hit: Hit) -> tuple[int, int]:
    start, end, _ = hit
    return start - end, start


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_SAME_SIGNS).split())
