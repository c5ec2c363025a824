"""Short and variant forms of the names of one document, matched with their fullest form by rules.

"Soames", "Mr. Soames" and "Enoch" mean Enoch Soames if no other person of the document can be
meant; "CPS" means what the text says. A form that two names fit is left alone, as are places,
numbers and common words: a missing pair costs little, a wrong one gives wrong answers. There is no
model and no grammar; `name_lists.toml` has titles, given names, and words of organizations.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from types import MappingProxyType

import regex

from graphreader.text.abbreviations import abbreviations
from graphreader.text.scripts import HAN
from graphreader.text.turns import turns_of
from graphreader.text.words import CHINESE_JOINTS, fold, is_common, is_stop_word

_LISTS: dict[str, str] = tomllib.loads(
    files("graphreader").joinpath("text/name_lists.toml").read_text(encoding="utf-8")
)


def _list(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


_MEN_TITLES, _WOMEN_TITLES = _list("titles_of_men"), _list("titles_of_women")
_TITLES = _MEN_TITLES | _WOMEN_TITLES | _list("titles_of_both")
_RANKS, _FAMILY = _list("titles_of_rank"), _list("titles_of_family")
_GENERATIONS, _PARTICLES = _list("generations"), _list("particles")
_COMPANIES = _list("companies") | _list("legal_forms")
_LEGAL_FORMS, _KINDS, _PLACES = _list("legal_forms"), _list("kinds"), _list("places")
_WOMEN, _MEN = _list("women"), _list("men")
_GIVEN = _WOMEN | _MEN
_GIVEN_WORDS = _list("given_words") | _PLACES
_OF = frozenset(("of", "de", "del", "di", "da", "do", "dos", "du", "la", "las", "los"))
"""Particles before a name that is often a place: Jean de Metz is not Metz."""

LONGEST = 6  # words of a person's name
_WORD = regex.compile(r"(?:[dl]['’])?\p{Lu}[\p{L}\p{M}]*+(?:['’-]\p{L}[\p{L}\p{M}]*+){0,3}+")
_INITIAL = regex.compile(r"\p{Lu}\.?")
_INITIALS = regex.compile(r"(\p{Lu}\.)(?=\p{Lu})")
_SUBTITLE = re.compile(r"(?:: | [-–—] |; or,? |[：—]+| \()(?=\S)")
_PART = re.compile(r"(?i)\b(?:episode|part|vol(?:ume)?|book|season|chapter|act|no)\b|[第之]|\d")
_MARKS = "《》「」『』“”\"‘’'"
_DOTTED = re.compile(rf"[{HAN}]{{1,8}}(?:[·・•‧][{HAN}]{{1,8}}){{1,5}}")
_DOT = re.compile("[·・•‧]")
_HAN_TITLES = tuple(_LISTS["chinese_titles"].split())
_HAN_LEGAL = re.compile("(?:" + "|".join(_LISTS["chinese_legal_forms"].split()) + ")$")
_SURNAMES = frozenset(_LISTS["surnames"])


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
    def is_full(self) -> bool:
        """Whether the name has a given name, or its initial, and a last name."""
        return len(self.words) > 1 and len(self.words[-1]) > 1 and self.words[0] not in _PARTICLES


def short_names(names: Mapping[str, int], people: Container[str] = ()) -> dict[str, str]:
    """Map short and variant forms of the names of one document to the fullest form.

    `names` are given with their frequency; words in small letters among them are taken for common
    words. `people` are names that certainly mean a person, as written.
    """
    works = _subtitled(names)
    persons = _persons(names, people)
    return resolved(
        {
            **{
                f"the {name}": name
                for name in names
                if f"the {name}" in names and name[0].isupper()
            },
            **_unquoted(names),
            **_companies(names),
            **_with_subtitle(works, names),
            **_initials(names),
            **_chinese_persons(names, people),
            **{short: full for short, full in persons.items() if short not in works},
        }
    )


def document_names(text: str, names: Mapping[str, int] = MappingProxyType({})) -> dict[str, str]:
    """Map the short forms in a document, its abbreviations, and "I" or "我" of a named narrator.

    The full forms stand in the text, as do the short ones, or are among `names`, which are known
    to stand in the document, with their frequency.
    """
    found, people = _names_in(text)
    joins = {**short_names(found + Counter(names), people), **abbreviations(text)}
    joins |= _narrator(text)
    return resolved({short: full for short, full in joins.items() if short != full})


def is_full_name(phrase: str) -> bool:
    """Whether a folded phrase is a given name, perhaps initials, and one word more.

    Given names that are words or places, too, do not count: "rose gardens", "florence museums".
    """
    first, *middle, last = phrase.split() if " " in phrase else (phrase, "")
    return (
        first in _GIVEN
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


def resolved(joins: Mapping[str, str]) -> dict[str, str]:
    """Follow chains (A to B, B to C) to their end; what closes a circle is left out."""
    ends: dict[str, str] = {}
    for short in joins:
        seen, end = {short}, joins[short]
        while end in joins and end not in seen:
            seen.add(end)
            end = joins[end]
        if end not in seen:
            ends[short] = end
    return ends


def _person(name: str) -> _Person | None:
    """Take a name apart; None if no person can have it."""
    bare = name.removeprefix("the ").removeprefix("The ")
    bare = re.sub(r"['’]s$|(?<=s)['’]$", "", bare)
    words = _INITIALS.sub(r"\1 ", bare).replace(",", "").split()
    titles, at = set[str](), 0
    while at < len(words):
        size = next((n for n in (2, 1) if _key(words[at : at + n]) in _TITLES), 0)
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
    return all(part in _GIVEN for part in word.split("-"))


def _key(words: Sequence[str]) -> str:
    return "_".join(word.casefold().rstrip(".") for word in words)


def _is_personal(words: Sequence[str]) -> bool:
    is_mixed = not "".join(words).isupper()
    for word in words:
        low = fold(word)
        if word[0].islower() and (low in _PARTICLES or (low == "of" and fold(words[0]) in _GIVEN)):
            continue
        if not (_WORD.fullmatch(word) or _INITIAL.fullmatch(word)):
            return False
        if not _KINDS.isdisjoint(low.split("-")) or (word.isupper() and len(low) > 1 and is_mixed):
            return False
        if is_stop_word(word) and len(low) > 1 and low not in _GIVEN:
            return False
    return len(words) > 1 or _key(words) not in _TITLES or len(words[0]) == 1


def _persons(names: Mapping[str, int], people: Container[str]) -> dict[str, str]:
    """Join forms of persons' names: parts, titles, initials, middle names."""
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
        if (
            (words[0] in common and not _is_given(words[0]))
            or words[-1] in firms
            or any(words == one.words[-1:] and one.words[-2] in _OF for one in candidates)
        ):
            forms = [one for one in forms if one.titles or one.name in people]
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
        if len({one.titles for one in titled}) != 1 or titled[0].titles & _FAMILY:
            return {}
        head = max(titled, key=lambda one: (names[one.name], len(one.name), one.name))
        return {
            one.name: head.name
            for one in (*titled, *bare)
            if one is not head
            and not _may_be_place(one, people)
            and (one.titles or _is_given_name(one, head, names, people))
        }
    (head,) = candidates
    if generations and head.generation not in generations:
        return {}
    if words == head.words[-1:] and len(head.words) == 2 and all(map(_is_given, head.words)):
        forms = [one for one in forms if one.titles]  # "Sarah Jane" has two given names
    if words == head.words[:1]:
        forms = [one for one in forms if _is_given_name(one, head, names, people)]
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
        if one.generation in ("", head.generation) and not _may_be_place(one, people)
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
    if "saint" in head.titles or "st" in head.titles:
        return names[head.name] >= names[one.name]
    fewest = _OFTEN if "of" in head.words else 2
    return names[head.name] >= fewest and (_is_given(one.words[0]) or not head.is_full)


def _may_be_place(one: _Person, people: Container[str]) -> bool:
    return not one.titles and one.words[0] in _PLACES and one.name not in people


def _has_common_word(one: _Person, common: Container[str]) -> bool:
    """Whether a word of a name is also a common word: "Suddenly Soames", "Poor Hughes"."""
    if _is_given(one.words[0]):
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
        kinds: dict[tuple[tuple[str, ...], str], list[_Person]] = defaultdict(list)
        for one in same_last:
            kinds[one.words, one.generation].append(one)
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
        if one.generation and other.generation and one.generation != other.generation:
            return False
        if {one.gender, other.gender} == {"m", "f"} or not _fits(one.words[:-1], other.words[:-1]):
            return False
        if one.titles & _RANKS and other.titles & _RANKS and one.titles != other.titles:
            return False
    return True


def _fits(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    """Whether given names begin another's given names, whole or as initials."""
    return len(shorter) <= len(longer) and all(map(_same, shorter, longer))


def _same(one: str, other: str) -> bool:
    return one == other or (1 in (len(one), len(other)) and one[0] == other[0])


def _unquoted(names: Mapping[str, int]) -> dict[str, str]:
    """Join 《Title》 and "Title" with the name without quotation marks."""
    pairs = ((name, name.strip(_MARKS + " ")) for name in names if name[:1] in _MARKS)
    return {name: bare for name, bare in pairs if bare in names and bare != name}


def _companies(names: Mapping[str, int]) -> dict[str, str]:
    """Join a company's name with the one that has its legal form, if one name has."""
    longer: dict[str, set[str]] = defaultdict(set)
    for name in names:
        words = name.replace(",", "").split()
        end = len(words)
        while end > 1 and _key(words[end - 1 : end]) in _LEGAL_FORMS:
            end -= 1
        if end < len(words) and words[0][0].isupper():
            longer[" ".join(words[:end])].add(name)
        bare = _HAN_LEGAL.sub("", name)
        if len(bare) > 1 and bare != name:
            longer[bare].add(name)
    return _unique(longer, names)


def _subtitled(names: Mapping[str, int]) -> dict[str, set[str]]:
    """The titles with a subtitle by what stands before it; "" for a part of a series."""
    longer: dict[str, set[str]] = defaultdict(set)
    for name in names:
        main, *rest = _SUBTITLE.split(name.strip(_MARKS + " "), maxsplit=1)
        if rest:
            is_part = bool(_PART.search(rest[0]))
            for short in (main, f"《{main}》"):
                longer[short].add("" if is_part else name)
    return longer


def _with_subtitle(longer: Mapping[str, set[str]], names: Mapping[str, int]) -> dict[str, str]:
    """Join "Silent Spring" with the only title that begins so; one word may be a hero's name."""
    several = {
        short: full
        for short, full in longer.items()
        if " " in short or short[:1] == "《" or (len(short) > 3 and re.match(f"[{HAN}]", short))
    }
    return _unique(several, names)


def _initials(names: Mapping[str, int]) -> dict[str, str]:
    """Join three or more capitals with the only name of which they are the initials."""
    longer: dict[str, set[str]] = defaultdict(set)
    for name in names:
        capitals = [word[0] for word in re.split(r"[\s-]+", name) if word[:1].isupper()]
        if len(capitals) > 2 and len(capitals) >= len(name.split()) - 2:
            longer["".join(capitals)].add(name)
    return _unique(longer, names)


def _unique(longer: Mapping[str, set[str]], names: Mapping[str, int]) -> dict[str, str]:
    """The short names that stand in `names` with their only longer one."""
    pairs = ((short, min(full)) for short, full in longer.items() if len(full) == 1)
    return {short: full for short, full in pairs if short in names and full and full != short}


def _chinese_persons(names: Mapping[str, int], people: Container[str]) -> dict[str, str]:
    """Join parts of names with a middle dot, and surname and title, if one person fits."""
    holders: dict[str, set[str]] = defaultdict(set)
    for name in names:
        if _DOTTED.fullmatch(name):
            parts = _DOT.split(name)
            for part in (parts[0], parts[-1], "·".join(parts[1:]), "·".join(parts[:-1])):
                holders[part].add(name)
        elif 2 <= len(name) <= 3 and name[0] in _SURNAMES:
            holders[name[0]].add(name)
            if len(name) == 3 and name[1:] in people:
                holders[name[1:]].add(name)
    joins: dict[str, str] = {}
    for name in names:
        title = next((one for one in _HAN_TITLES if name.endswith(one)), "")
        part = name.removesuffix(title)
        candidates = holders.get(part, set()) - {name}
        full = next(iter(candidates), "")
        if len(candidates) != 1 or not (len(part) > 1 or title):
            continue
        if full and (_DOTTED.fullmatch(full) or len(full) == 3):
            joins[name] = full
    return joins


_RUN = regex.compile(
    r"(?<![\p{L}\p{N}])(?:(?:Mr|Mrs|Ms|Dr|Prof|St|Sen|Rep|Gov|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Mme|Mlle)"
    r"\.? )?(?:\p{Lu}\.(?:\p{Lu}\.)*|\p{Lu}[\p{L}\p{M}]*+(?:['’-]\p{Lu}[\p{L}\p{M}]*+)*+)"
    r"(?:(?:(?: (?:of|the|and|de|del|della|der|di|da|do|dos|du|la|van|von|bin|ibn|al|el)){0,2})"
    r"[ \n](?:\p{Lu}\.(?:\p{Lu}\.)*|\p{Lu}[\p{L}\p{M}]*+(?:['’-]\p{Lu}[\p{L}\p{M}]*+)*+))*+"
)
_SAID = (
    "said|says|asked|replied|answered|cried|exclaimed|whispered|shouted|muttered|murmured|remarked"
    "|told|smiled|laughed|nodded|sighed|wrote|thought|added"
)
_SPEAKER = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}'’-])(?:(?P<a>{_WORD.pattern}(?: {_WORD.pattern}){{0,2}}+) (?:{_SAID})\b"
    rf"|\b(?:said|asked|replied|cried) (?P<b>{_WORD.pattern}(?: {_WORD.pattern}){{0,2}}+))"
)


def speakers_in(text: str) -> frozenset[str]:
    """The names in front of or behind words such as "said", which mean persons."""
    found = (match["a"] or match["b"] for match in _SPEAKER.finditer(text))
    speakers = {speaker for speaker in found if not is_stop_word(speaker.split()[0])}
    return frozenset(speakers.union(_HAN_SPEAKER.findall(text)))


_HAN_SPEAKER = re.compile(
    rf"(?<![{HAN}])([{HAN}]{{2,3}}?)(?:[笑忙哭叹冷便又][笑]?)?(?:道|说)(?=[：:，,“「])"
)
_LOWER = regex.compile(r"(?<![\p{L}\p{M}\p{N}'’-])\p{Ll}[\p{Ll}\p{M}]++")
_MOST_PARTS = 2000


def _names_in(text: str) -> tuple[Counter[str], frozenset[str]]:
    """Count the names of a text and its words in small letters; return names of speakers, too."""
    names = Counter[str]()
    lower = set(_LOWER.findall(text))
    for match in _RUN.finditer(text):
        words = match.group().split()
        while words and (is_stop_word(words[0]) or _is_lower(words[0], lower)):
            del words[0]  # the first word of a sentence
        if words and len(words) <= 2 * LONGEST:
            names[" ".join(words)] += 1
    people = speakers_in(text)
    names.update(people)
    names.update(lower)
    pieces = chain.from_iterable(map(CHINESE_JOINTS.split, _DOTTED.findall(text)))
    dotted = Counter(filter(_DOTTED.fullmatch, pieces))
    names.update(dotted)
    parts = {part for name in dotted for part in _DOT.split(name) if len(part) > 1}
    if parts:
        longest = sorted(sorted(parts)[:_MOST_PARTS], key=len, reverse=True)
        titles = "|".join(_HAN_TITLES)
        alone = re.compile(rf"(?<![·・•‧])(?:{'|'.join(longest)})(?:{titles})?(?![·・•‧])")
        names.update(alone.findall(text))
    return names, people


def _is_lower(word: str, lower: Container[str]) -> bool:
    low = word.casefold()
    return low in lower and low not in _TITLES and low not in _GIVEN


_NARRATOR = regex.compile(
    rf"(?:\b(?:[Mm]y name (?:is|was)|I am called|I am named|I, |I am|I'm|I’m)[ \n]?"
    rf"(?P<name>{_WORD.pattern}(?:[ \n]{_WORD.pattern}){{1,3}}))(?=[,.;]| and\b)"
    rf"|(?P<i>我)(?:的名字)?(?:叫做|叫|名叫|名字叫|姓名是|本名)(?P<han>[{HAN}·]{{2,12}}?)(?=[，。,；、])"
)
_OPENED = regex.compile(r"[“「『\"]")


def _narrator(text: str) -> dict[str, str]:
    """Map "I" to the name that the narrator gives outside of direct speech, if it is one."""
    found = {"I": set[str](), "我": set[str]()}
    for match in _NARRATOR.finditer(text):
        before = text[max(0, text.rfind("\n\n", 0, match.start())) : match.start()][-2000:]
        is_spoken = (
            before.count("“") > before.count("”")
            or before.count("「") > before.count("」")
            or before.count('"') % 2
        )
        if not is_spoken:
            name = match["han"] or " ".join(match["name"].split())
            found["我" if match["i"] else "I"].add(name)
    if not any(found.values()) or next(turns_of(text), None):
        return {}
    return {i: min(names) for i, names in found.items() if len(names) == 1}
