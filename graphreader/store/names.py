"""Key elements by name: the nearest wording, or the elements that make up the name together."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise

from graphreader.documents import KeyElement, identity
from graphreader.store.connection import Connection, Row
from graphreader.store.full_text import key_element_queries
from graphreader.store.records import DocumentsInScope
from graphreader.store.search import as_in_scope, within
from graphreader.text.words import alphanumeric_words, casefolded, fold, is_stop_word

_PARENTHESIS = re.compile(r"\s*[(（][^()（）]*[)）]$")
_ADDITION = re.compile(r"\s*[,，].*$")  # the state behind a city
_PARTS = re.compile(r"\s*[,，、;；/&]\s*")
_FIGURE = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")  # in RX350
_ELEMENTS_PER_NAME = 50
_LONG_WORD = 7  # letters; shorter words that differ in one letter are different words
_LEAST_LIKE = 8  # a distance larger than all others


@dataclass(frozen=True, slots=True)
class NamedElements:
    """The key elements that a name means: one, or several of which the name is made up, or none.

    `similar` are others with a similar wording.
    """

    elements: tuple[KeyElement, ...] = ()
    similar: tuple[KeyElement, ...] = ()


async def find_named(
    connection: Connection,
    corpus: str,
    names: Sequence[str],
    frequent: Collection[str] = (),
    documents: DocumentsInScope | None = None,
) -> list[NamedElements]:
    """Return, for each name, the key element with the nearest wording, or one for each part.

    The key element of which the name is the key is always considered, if `documents` have it; only
    they are searched, if they are given. "Columbia, South Carolina"
    and "Plankton SpongeBob" are made up of two names, where no wording is near to the whole.
    """
    queries = [_name_queries(name, corpus, frequent) for name in names]
    asked = list(chain(*queries))
    keys = [identity(corpus, " ".join(casefolded(name).split())) for name in names]
    ids = [key for key, own in zip(keys, queries, strict=True) for _ in own]
    if not asked:
        return [NamedElements() for _ in names]
    rows = await connection.read(
        "read/named_key_elements",
        corpus=corpus,
        queries=asked,
        ids=ids,
        limit=_ELEMENTS_PER_NAME,
        **within(documents),
    )
    groups = [row["rows"] for row in rows]
    found = iter(await as_in_scope(connection, corpus, groups, documents))
    return [
        _nearest(name, [one for rows in islice(found, len(own)) for one in rows])
        for name, own in zip(names, queries, strict=True)
    ]


def _name_queries(name: str, corpus: str, frequent: Collection[str]) -> list[str]:
    """Return queries for the words of a name; long words also misspelt or without accents.

    A figure is searched with and without the letters beside it: "RX 350" and "RX350".
    """
    text = " ".join([name, _FIGURE.sub(" ", name), *_figures(_name_words(name))])
    words = dict.fromkeys(w.lower() for w in alphanumeric_words(name) if len(w) > 3)
    return key_element_queries(text, corpus, frequent, list(words)[:20])


def _figures(words: Sequence[str]) -> list[str]:
    """The pairs of a word and a figure next to it, as one word."""
    return [a + b for a, b in pairwise(words) if a.isalpha() != b.isalpha()]


def _nearest(name: str, rows: Sequence[Row]) -> NamedElements:
    """Return the key elements with a near wording, sorted by distance, then by most facts."""
    elements = list(map(KeyElement.of, {row["id"]: row for row in rows}.values()))
    matches = []
    for element in elements:
        levels = [_distance(name, wording) for wording in {element.name, *element.aliases}]
        if (nearest := min(levels)) < _LEAST_LIKE:
            matches.append((nearest, -element.facts, element.name, element))
    if matches:
        first, *others = (match[3] for match in sorted(matches, key=lambda match: match[:3]))
        return NamedElements((first,), tuple(others))
    return NamedElements(tuple(_made_up(name, elements)))


def _made_up(name: str, elements: Sequence[KeyElement]) -> list[KeyElement]:
    """Return the key elements of which a name is made up: all its words are wordings of some.

    Of a name with commas, the parts that are wordings of key elements or made up of them.
    """
    by_words: dict[tuple[str, ...], KeyElement] = {}
    for element in sorted(elements, key=lambda one: (one.facts, one.id)):
        by_words |= {tuple(_name_words(one)): element for one in (*element.aliases, element.name)}
    parts = [_name_words(part) for part in _PARTS.split(name)]
    covers = [_cover(words, by_words) for words in parts]
    found = list(dict.fromkeys(chain(*covers)))
    return found if len(parts) > 1 or len(found) > 1 else []


def _cover(
    words: Sequence[str], wordings: Mapping[tuple[str, ...], KeyElement]
) -> list[KeyElement]:
    """Return the elements whose wordings, longest first, make up the words; [] if one is left."""
    found = []
    start = 0
    while start < len(words):
        ends = range(len(words), start, -1)
        end = next((n for n in ends if tuple(words[start:n]) in wordings), 0)
        if end:
            found.append(wordings[tuple(words[start:end])])
        elif not is_stop_word(words[start]):
            return []
        start = end or start + 1
    return found


def _distance(name: str, wording: str) -> int:
    """The distance of a wording from a name, 0 if equal; _LEAST_LIKE if it is another name."""
    if name == wording:
        return 0
    one, other = _name_words(name), _name_words(wording)
    if not one or not other:
        return _LEAST_LIKE
    if one == other:
        return 1
    if _joined(one) == _joined(other):
        return 2
    bare = _name_words(_PARENTHESIS.sub("", name)), _name_words(_PARENTHESIS.sub("", wording))
    if _joined(bare[0]) == _joined(bare[1]):
        return 3
    if _same_with_initials(*bare):
        return 4
    if len(bare[0]) == len(bare[1]) and all(map(_same_spelling, *bare)):
        return 5
    if one == _name_words(_ADDITION.sub("", wording)):
        return 6
    if _has_figure(one) and _is_in(one, other):
        return 7
    return _LEAST_LIKE


def _has_figure(words: Sequence[str]) -> bool:
    """Whether words are a name with a figure, as "RX 350": a figure alone is none."""
    joined = "".join(words)
    return any(map(str.isdigit, joined)) and any(map(str.isalpha, joined))


def _is_in(words: Sequence[str], longer: Sequence[str]) -> bool:
    """Whether words stand side by side in a longer name, perhaps as one word."""
    joined = "".join(words)
    ends = range(len(longer) + 1)
    return any("".join(longer[start:end]) == joined for end in ends for start in range(end))


def _name_words(name: str) -> list[str]:
    """The folded words of a name, without a possessive s and the article before it."""
    text = unicodedata.normalize("NFKC", name).replace("’", "'")
    words = [fold(word) for word in alphanumeric_words(re.sub(r"'s\b", "", text))]
    return words[1:] if len(words) > 1 and words[0] == "the" else words


def _joined(words: Iterable[str]) -> str:
    """Join the words without spaces and without a plural s."""
    joined = "".join(words)
    return joined.removesuffix("s") if len(joined) > 3 else joined


def _same_with_initials(one: list[str], other: list[str]) -> bool:
    """Whether two names are equal except for first names that are initials or missing."""
    if not one or not other or one[-1] != other[-1] or len(one[-1]) == 1:
        return False
    shorter, longer = sorted((one[:-1], other[:-1]), key=len)
    if not shorter or shorter[0][0] != longer[0][0]:
        return False
    places = iter(longer)
    return all(any(_same_initial(word, place) for place in places) for word in shorter) and all(
        len(word) == 1 for word in longer[len(shorter) :]
    )


def _same_initial(one: str, other: str) -> bool:
    return one == other or (1 in (len(one), len(other)) and one[0] == other[0])


def _same_spelling(one: str, other: str) -> bool:
    """Whether two words are equal, or long words that differ in one letter."""
    if one == other:
        return True
    if min(len(one), len(other)) < _LONG_WORD or not (one + other).isalpha():
        return False
    shorter, longer = sorted((one, other), key=len)
    at = next(
        (n for n, pair in enumerate(zip(shorter, longer, strict=False)) if pair[0] != pair[1]),
        len(shorter),
    )
    if len(shorter) == len(longer):
        return shorter[at + 1 :] == longer[at + 1 :]
    return len(longer) - len(shorter) == 1 and shorter[at:] == longer[at + 1 :]
