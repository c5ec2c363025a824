"""Names of persons: taken apart, and short forms matched with the fullest one of a document.

"Soames", "Mr. Soames" and "Enoch" mean Enoch Soames if no other person of the document can be
meant. A form that two persons fit is left alone, as are places and common words: a missing pair
costs little, a wrong one gives wrong answers. There is no grammar; `name_lists.toml` has titles,
given names, and words of organizations and places.
"""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex

from graphreader.text.words import fold, is_common, is_stop_word, word_list

_MEN_TITLES, _WOMEN_TITLES = word_list("titles_of_men"), word_list("titles_of_women")
TITLES = _MEN_TITLES | _WOMEN_TITLES | word_list("titles_of_both")
_RANKS, _FAMILY = word_list("titles_of_rank"), word_list("titles_of_family")
_GENERATIONS, _PARTICLES = word_list("generations"), word_list("particles")
_COMPANIES = word_list("companies") | word_list("legal_forms")
_KINDS, _PLACES = word_list("kinds"), word_list("places")
_WOMEN, _MEN = word_list("women"), word_list("men")
GIVEN_NAMES = _WOMEN | _MEN
_SAINTS = frozenset(("saint", "st"))  # also of churches and places: St. Louis
_GIVEN_WORDS = word_list("given_words") | _PLACES
_COMMON_SURNAMES = word_list("common_surnames")
_OF = frozenset(("of", "de", "del", "di", "da", "do", "dos", "du", "la", "las", "los"))
"""Particles before a name that is often a place: Jean de Metz is not Metz."""

LONGEST = 6  # words of a person's name
WORD = regex.compile(r"(?:[dl]['’])?\p{Lu}[\p{L}\p{M}]*+(?:['’-]\p{L}[\p{L}\p{M}]*+){0,3}+")
_INITIAL = regex.compile(r"\p{Lu}\.?")
_INITIALS = regex.compile(r"(\p{Lu}\.)(?=\p{Lu})")
_SHORTEST_IN_CAPITALS = 4  # letters of the longest word: "FY" and "AI" are abbreviations


@dataclass(frozen=True, slots=True)
class _Person:
    """A name taken apart: folded titles, words without them, generation ("jr", "viii")."""

    name: str
    titles: frozenset[str]
    words: tuple[str, ...]
    generation: str

    @property
    def gender(self) -> str:
        """The gender by title or given name: "m", "f", or "" if unknown."""
        if self.titles & _MEN_TITLES:
            return "m"
        if self.titles & _WOMEN_TITLES:
            return "f"
        first = self.words[0]
        if (first in _MEN) == (first in _WOMEN):
            return ""
        return "m" if first in _MEN else "f"

    @property
    def is_wife(self) -> bool:
        """Whether the name may be the husband's: "Mrs. Newland Archer"."""
        return not self.titles.isdisjoint(_FAMILY) and self.words[0] not in _WOMEN

    @property
    def is_full(self) -> bool:
        """Whether the name has a given name, or its initial, and a last name."""
        return len(self.words) > 1 and len(self.words[-1]) > 1 and self.words[0] not in _PARTICLES


def is_full_name(phrase: str) -> bool:
    """Whether a folded phrase is a given name, perhaps initials, and one word more.

    Given names that are words or places, too, do not count: "rose gardens", "florence museums".
    """
    first, *middle, last = phrase.split() if " " in phrase else (phrase, "")
    return (
        first in GIVEN_NAMES
        and first not in _GIVEN_WORDS
        and last.isalpha()
        and all(len(word.rstrip(".")) == 1 for word in middle)
    )


def may_mean(name: str, full: str, names: Iterable[str]) -> bool:
    """Whether a name of a document may mean a full one, as far as the forms of both tell.

    It may not if both are full names of persons that do not fit, if their titles or generations
    differ, or if it is a part of several full names among `names`.
    """
    one, other = _person(name), _person(full)
    if one is None or other is None:
        return True
    if {one.gender, other.gender} == {"m", "f"} or len(
        {one.generation, other.generation} - {""}
    ) > 1:
        return False
    if one.is_full and other.is_full:
        return one.words[-1] == other.words[-1] and _may_be_one(one, [other])
    holders = {
        person.words
        for person in map(_person, names)
        if person and person.is_full and one.words in _parts(person.words)
    }
    return len(holders - {one.words}) < 2


def _person(name: str) -> _Person | None:
    """Take a name apart; None if no person can have it."""
    bare = name.removeprefix("the ").removeprefix("The ")
    bare = re.sub(r"['’]s$|(?<=s)['’]$", "", bare)
    words = _INITIALS.sub(r"\1 ", bare).replace(",", "").split()
    titles, at = set[str](), 0
    while at < len(words):
        size = next((n for n in (2, 1) if _key(words[at : at + n]) in TITLES), 0)
        if not size or at + size >= len(words):
            break
        titles.add(_key(words[at : at + size]))
        at += size
    words = words[at:]
    generation = ""
    for place in (1, len(words) - 1):  # "Henry VI of England", "Henry VI"
        is_last = words[place + 1 : place + 2] in ([], ["of"])
        if 0 < place < len(words) and is_last and _key([words[place]]) in _GENERATIONS:
            generation = _key([words.pop(place)])
            break
    if not 0 < len(words) <= LONGEST or not _is_personal(words):
        return None
    return _Person(name, frozenset(titles), tuple(map(fold, words)), generation)


def _is_given(word: str) -> bool:
    """Whether a folded word is a given name, or joins some: "jean-paul"."""
    return all(part in GIVEN_NAMES for part in word.split("-"))


def _key(words: Sequence[str]) -> str:
    return "_".join(word.casefold().rstrip(".") for word in words)


def _is_personal(words: Sequence[str]) -> bool:
    is_mixed = not "".join(words).isupper()
    if not is_mixed and max(map(len, words)) < _SHORTEST_IN_CAPITALS:
        return False
    if any(word.casefold().endswith(("'s", "’s")) for word in words):
        return False  # "Victoria's Wimmera"
    for word in words:
        low = fold(word)
        if word[0].islower() and (
            low in _PARTICLES or (low == "of" and fold(words[0]) in GIVEN_NAMES)
        ):
            continue
        if not (WORD.fullmatch(word) or _INITIAL.fullmatch(word)):
            return False
        if not _KINDS.isdisjoint(low.split("-")) or (word.isupper() and len(low) > 1 and is_mixed):
            return False
        if is_stop_word(word) and len(low) > 1 and low not in GIVEN_NAMES:
            return False
    return len(words) > 1 or _key(words) not in TITLES or len(words[0]) == 1


def joins_of_persons(names: Mapping[str, int], people: Container[str] = ()) -> dict[str, str]:
    """Map forms of persons' names to the fullest one: parts, titles, initials, middle names.

    `names` are given with their frequency; words in small letters among them are taken for common
    words. `people` are names that certainly mean a person, as written.
    """
    common = {fold(name) for name in names if name[:1].islower()}
    parsed = [one for one in map(_person, names) if one]
    full = [one for one in parsed if one.is_full and not _has_common_word(one, common)]
    titled = {one.words for one in parsed if one.titles}
    certain = {one.words for one in parsed if one.name in people} | titled
    joins: dict[str, str] = {}
    groups = _groups(full, names, joins)
    holders: dict[tuple[str, ...], set[str]] = defaultdict(set)  # parts of names: fullest names
    heads = {head.name: head for head, _ in groups}
    sure = set[str]()
    for head, members in groups:
        for one in members:
            for part in _parts(one.words):
                holders[part].add(head.name)
            if _is_given(one.words[0]) or _is_certain(one, certain, names):
                sure.add(head.name)
    split_names = (re.sub("[.,]", "", name).lower().split() for name in names)
    firms = {fold(word) for one in split_names if not _COMPANIES.isdisjoint(one) for word in one}
    by_words: dict[tuple[str, ...], list[_Person]] = defaultdict(list)
    for one in parsed:
        if not one.is_full:
            by_words[one.words].append(one)
    for words, forms in by_words.items():
        candidates = {heads[name] for name in holders.get(words, ())}
        if (words[0] in common and not _is_given(words[0])) or words[-1] in firms:
            forms = [one for one in forms if one.titles or one.name in people]
        if any(words == one.words[-1:] and one.words[-2] in _OF for one in candidates):
            forms = [one for one in forms if one.titles]
        joins |= _forms_of_one(words, forms, candidates, sure, names, people)
    return joins


def _forms_of_one(
    words: tuple[str, ...],
    forms: Sequence[_Person],
    candidates: set[_Person],
    sure: Container[str],
    names: Mapping[str, int],
    people: Container[str],
) -> dict[str, str]:
    """Join the forms "Soames", "Mr. Soames" of one part of a name, if one person fits them all."""
    genders = {one.gender for one in forms if one.titles} - {""}
    ranks = {title for one in forms for title in one.titles & _RANKS}
    generations = {one.generation for one in forms} - {""}
    if len(genders) > 1 or len(ranks) > 1 or len(generations) > 1 or len(candidates) > 1:
        return {}
    if not candidates:
        titled = [one for one in forms if one.titles or one.generation]
        bare = [one for one in forms if not one.titles and not one.generation]
        if len({one.titles for one in titled}) != 1 or titled[0].titles & (_FAMILY | _SAINTS):
            return {}
        head = max(titled, key=lambda one: (names[one.name], len(one.name), one.name))
        return {
            one.name: head.name
            for one in (*titled, *bare)
            if one is not head
            and not _may_be_place(one)
            and (one.titles or _is_given_name(one, head, names, people))
        }
    (head,) = candidates
    if generations and head.generation not in generations:
        return {}
    if words == head.words[-1:] and len(head.words) == 2 and all(map(_is_given, head.words)):
        forms = [one for one in forms if one.titles]  # "Sarah Jane" has two given names
    if words == head.words[:1]:
        forms = [one for one in forms if _is_given_name(one, head, names, people)]
    if words[-1] in _COMMON_SURNAMES and names[head.name] < 2:
        return {}
    if head.name not in sure or (genders and head.gender and {head.gender} != genders):
        return {}
    family = {title for one in forms for title in one.titles & _FAMILY}
    if family and (len(family) > 1 or head.gender != "f" or words != head.words[-len(words) :]):
        return {}
    if ranks and (not ranks <= head.titles or words == head.words[-len(words) :]):
        return {}  # "Prince Bolkónski": any of the family
    return {
        one.name: head.name
        for one in forms
        if one.generation in ("", head.generation) and not _may_be_place(one)
    }


def _is_certain(
    one: _Person, certain: Container[tuple[str, ...]], names: Mapping[str, int]
) -> bool:
    """Whether an end of a name, as its last name, certainly means a person: "Fumio Kishida"."""
    if not one.titles and names[one.name] < 2 and one.words not in certain:
        return False  # a word before a name, as "In Moscow Pierre"
    return any(one.words[at:] in certain for at in range(len(one.words)))


def _is_given_name(
    one: _Person, head: _Person, names: Mapping[str, int], people: Container[str]
) -> bool:
    """Whether a first word alone may mean a person whom a longer form names.

    It is perhaps another person's if the longer form is mentioned once: a king's "Louis".
    """
    if one.titles or one.name in people:
        return True
    fewest = _OFTEN if "of" in head.words else 2
    return names[head.name] >= fewest and (_is_given(one.words[0]) or not head.is_full)


def _may_be_place(one: _Person) -> bool:
    return not one.titles and one.words[0] in _PLACES


def _has_common_word(one: _Person, common: Container[str]) -> bool:
    """Whether a word of a name is also a common word: "Suddenly Soames", "Poor Hughes"."""
    if _is_given(one.words[0]) and one.words[0] not in _PLACES:
        return False
    return any(
        word not in _PARTICLES and len(word) > 1 and (word in common or is_common(word))
        for word in one.words
    )


def _parts(words: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The beginnings and ends of a full name that may stand for it."""
    size = len(words)
    ends = {words[at:] for at in range(1, size)}
    starts = {words[:at] for at in range(1, size) if len(words[0]) > 1}
    return {part for part in ends | starts if len(part[-1]) > 1 and part[-1] not in _PARTICLES}


def _groups(
    full: Iterable[_Person], names: Mapping[str, int], joins: dict[str, str]
) -> list[tuple[_Person, list[_Person]]]:
    """Group full names of one person, with their fullest form; add their joins to `joins`."""
    by_last: dict[str, list[_Person]] = defaultdict(list)
    for one in full:
        by_last[one.words[-1]].append(one)
    groups: list[tuple[_Person, list[_Person]]] = []
    for same_last in by_last.values():
        kinds: dict[tuple[tuple[str, ...], str, str], list[_Person]] = defaultdict(list)
        for one in same_last:
            kinds[one.words, one.generation, one.gender].append(one)
        found: list[list[_Person]] = []
        for key in sorted(kinds, key=lambda key: (-len("".join(key[0])), key)):
            fitting = [group for group in found if _may_be_one(kinds[key][0], group)]
            if len(fitting) == 1 and len(found) < _MOST_OF_A_FAMILY:
                fitting[0].extend(kinds[key])
            elif not fitting:
                found.append(list(kinds[key]))
            # A name that fits several persons belongs to none.
        for group in found:
            head = max(
                group,
                key=lambda one: (
                    _fullness(one),
                    not one.titles,
                    not one.name.isupper(),
                    names[one.name],
                    one.name,
                ),
            )
            groups.append((head, group))
            joins |= {one.name: head.name for one in group if one is not head}
    return groups


_OFTEN = 4  # times that a text names Joan of Arc, so that Joan means her
_MOST_OF_A_FAMILY = 200


def _fullness(one: _Person) -> tuple[int, int]:
    return sum(map(len, one.words)), len(one.generation)


def _may_be_one(one: _Person, group: Sequence[_Person]) -> bool:
    """Whether a name with the last name of a group can mean its person, whose names are fuller."""
    for other in group:
        if one.is_wife != other.is_wife:
            return False
        if one.generation and other.generation and one.generation != other.generation:
            return False
        if {one.gender, other.gender} == {"m", "f"} or not _fits(one.words[:-1], other.words[:-1]):
            return False
        if one.titles & _RANKS and other.titles & _RANKS and one.titles != other.titles:
            return False
    return True


def _fits(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    """Whether given names begin another's given names, whole or as initials.

    Only initials may be left out: John Adams is the father of John Quincy Adams.
    """
    is_initial = (len(name) == 1 for name in longer[len(shorter) :])
    return len(shorter) <= len(longer) and all(map(_same, shorter, longer)) and all(is_initial)


def _same(one: str, other: str) -> bool:
    return one == other or (1 in (len(one), len(other)) and one[0] == other[0])
