"""Leads facts to known key elements that stand in them though extraction did not list them.

After all merges, so that a mention of one wording leads to the element that shows it. Which facts
are linked depends on the graph alone: a key element that came late is found in old facts too.

Known key elements that stand in a fact's text though its extraction did not list them.

The paper links two nodes where the key element of one appears in a fact of the other (section
3.2). Wordings are compared as written: no plurals, no other forms, so "art" is not in "party".

A set of any number of words in little memory.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from hashlib import blake2b

from graphreader.ingestion.extraction import identity
from graphreader.ingestion.normalization.rules import normalize
from graphreader.store.connection import Connection
from graphreader.store.links import Link, Links, Naming, Worded
from graphreader.text.words import HAN, is_stop_word

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


class BloomFilter:
    """Knows every word that was added, and takes few others for known: with a million, hardly any.

    4 MB, the same answers on every machine.
    """

    def __init__(self, bits: int = 1 << 25) -> None:
        self._bits = bytearray(bits // 8)

    def add(self, word: str) -> bool:
        """Put a word in; whether it was new."""
        places = self._places(word)
        new = not self._has(places)
        for place in places:
            self._bits[place >> 3] |= 1 << (place & 7)
        return new

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._has(self._places(word))

    def _has(self, places: list[int]) -> bool:
        return all(self._bits[place >> 3] & 1 << (place & 7) for place in places)

    def _places(self, word: str) -> list[int]:
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        size = len(self._bits) * 8
        return [int.from_bytes(digest[at : at + 4], "big") % size for at in range(0, 16, 4)]


class Linker:
    """Compares the links of one corpus with what the wordings in its facts ask for."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._links = Links(connection, corpus)
        self._corpus = corpus

    async def run(self, *, wanted: bool, keep: bool = True) -> tuple[int, int]:
        """Make, or without `wanted` take away, all links; how many are new, how many gone.

        Without `keep` nothing is written. Where none are wanted and none were made, it is quick.
        """
        if not wanted and not await self._links.made():
            return 0, 0
        if wanted and keep:
            await self._links.begin()
        known = _Known()
        if wanted:
            async for surface in self._links.wordings():
                known.add(folded(surface))
        new = old = 0
        async for page in self._links.facts():
            asked = await self._asked_for(page, known) if wanted else frozenset()
            there = {link for naming in page for link in naming.linked}
            added, gone = asked - there, there - asked
            if keep and (added or gone):
                await self._links.change(added, gone)
            new, old = new + len(added), old + len(gone)
        if keep and not wanted:
            await self._links.end()
        return new, old

    async def _asked_for(self, page: list[Naming], known: "_Known") -> frozenset[Link]:
        """The links that the facts of a page should have.

        What only seems to be known is found out by asking the graph, and looked over again.
        """
        elements: dict[str, Worded | None] = {}
        found: dict[str, list[str]] = {}
        left = {naming.fact: naming.text for naming in page}
        while left:
            found |= {fact: mentions(text, known) for fact, text in left.items()}
            elements |= await self._elements(
                {one for fact in left for one in found[fact]} - elements.keys()
            )
            wrong = {mention for mention, element in elements.items() if element is None}
            known.refuse(wrong)
            left = {fact: text for fact, text in left.items() if not wrong.isdisjoint(found[fact])}
        links: dict[tuple[str, str], Link] = {}
        for naming in page:
            for mention in found[naming.fact]:
                element = elements[mention]
                if element and element.node not in naming.named:
                    place = naming.fact, element.node
                    links.setdefault(place, (*place, mention))
        return frozenset(links.values())

    async def _elements(self, mentions_: set[str]) -> dict[str, Worded | None]:
        """The key element of each mention, None where none has that wording."""
        ids = {mention: identity(self._corpus, normalize(mention)) for mention in mentions_}
        there = await self._links.worded(set(ids.values())) if ids else {}
        return {
            mention: there[id_]
            if id_ in there and mention in map(folded, there[id_].surfaces)
            else None
            for mention, id_ in ids.items()
        }


class _Known:
    """The wordings that stand in a filter, but for those that it took in by mistake."""

    def __init__(self) -> None:
        self._filter = BloomFilter()
        self._mistaken: set[str] = set()

    def add(self, wording: str) -> None:
        self._filter.add(wording)

    def refuse(self, wordings: Iterable[str]) -> None:
        self._mistaken.update(wordings)

    def __contains__(self, wording: object) -> bool:
        return wording in self._filter and wording not in self._mistaken
